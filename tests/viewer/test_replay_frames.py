"""Pictures come out of their format as they went in, in Python and in the browser."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flagfall.viewer.pages import bundle
from flagfall.viewer.replay import frames
from flagfall.viewer.replay.frames import FrameEncoder, NotAPicture, no_frames
from tests.viewer.reference_frames import decoded

if TYPE_CHECKING:
    from playwright.sync_api import Page


@st.composite
def pictures(draw: Any) -> list[Any]:
    """Draw pictures of few sizes that differ in few places, and texts between them."""
    sizes = draw(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=3))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    boards = [random.integers(0, 3, (*size, 3)).astype(np.uint8) for size in sizes]
    shown: list[Any] = []
    for _ in range(draw(st.integers(0, 80))):
        if random.random() < 0.1:
            shown.append(str(random.integers(0, 3)))
            continue
        board = boards[random.integers(len(boards))]
        for _ in range(random.integers(0, 3)):
            board[random.integers(len(board)), random.integers(len(board[0]))] = random.integers(0, 256, 3)
        shown.append(board.copy())
    return shown


def encoded(shown: list[Any]) -> bytes:
    encoder = FrameEncoder()
    for turn, picture in enumerate(shown):
        encoder.add(turn, "before", picture)
    return encoder.finish()


def same(one: Any, other: Any) -> bool:
    return one == other if isinstance(one, str) else np.array_equal(one, other)


@given(pictures())
@settings(deadline=None, max_examples=60)
def test_decoding_gives_the_pictures_that_were_encoded(shown):
    head, found = decoded(encoded(shown))
    assert head["turns"] == list(range(len(shown)))
    assert [turn for turn, picture in enumerate(shown) if not same(found[turn, "b"], picture)] == []


def test_there_is_a_key_frame_at_least_every_32_frames_and_in_each_scene():
    one, other = np.zeros((20, 20, 3), np.uint8), np.ones((30, 20, 3), np.uint8)
    head, _ = decoded(encoded([one] * 70 + [other] + [one] * 3))
    whole = [turn for turn, length in enumerate(head["lengths"]) if length > 2]
    assert whole == [0, 32, 64, 70, 71]


def test_equal_tiles_are_stored_once():
    picture = np.zeros((240, 300, 3), np.uint8)
    picture[100:110, 100:110] = 7
    head, _ = decoded(encoded([np.roll(picture, 10 * turn, axis=1) for turn in range(20)]))
    assert (head["scenes"][0]["tile"], head["scenes"][0]["tiles"]) == (10, 2)


def test_grey_transparent_and_sliced_pictures_are_taken():
    grey = np.arange(100, dtype=np.uint8).reshape(10, 10)
    clear = np.dstack([grey, grey, grey, grey])
    _, found = decoded(encoded([grey, clear, np.dstack([grey] * 3)[::-1]]))
    assert same(found[0, "b"], np.dstack([grey] * 3))
    assert same(found[1, "b"], np.dstack([grey] * 3))
    assert same(found[2, "b"], np.dstack([grey] * 3)[::-1])


def test_large_pictures_are_reduced_by_a_whole_number():
    picture = np.arange(3000 * 20 * 3, dtype=np.uint64).reshape(3000, 20, 3).astype(np.uint8)
    head, found = decoded(encoded([picture]))
    assert head["scenes"][0] | {"tile": 0, "tiles": 0} == {
        "width": 7,
        "height": 1000,
        "tile": 0,
        "tiles": 0,
        "scale": 3,
    }
    assert same(found[0, "b"], picture[::3, ::3])


@pytest.mark.parametrize(
    "rendered",
    [
        None,
        7,
        [[1]],
        np.zeros((2, 2, 3)),
        np.zeros((2, 2, 2), np.uint8),
        np.zeros((0, 2, 3), np.uint8),
        np.zeros(7, np.uint8),
        np.zeros((2, 2, 2, 2), np.uint8),
        np.zeros((30_000, 30_000), np.uint8)[:, ::1],
    ],
    ids=["None", "number", "list", "float", "two colours", "empty", "line", "four dimensions", "huge"],
)
def test_what_is_no_picture_is_named(rendered):
    with pytest.raises(NotAPicture, match=r"it renders"):
        FrameEncoder().add(0, "before", rendered)


def test_too_many_different_tiles_leave_pictures_out(monkeypatch):
    monkeypatch.setattr(frames, "MAX_TILE_BYTES", 100_000)
    random = np.random.default_rng(0)
    head, found = decoded(
        encoded([random.integers(0, 256, (100, 100, 3)).astype(np.uint8) for _ in range(9)])
    )
    assert 1 < len(found) < 6
    assert head["why"] == (
        f"pictures are left out from turn {len(found)} on: more than 100,000 bytes of different tiles"
        " in one part of the match"
    )


def test_texts_are_stored_once_and_bounded(monkeypatch):
    monkeypatch.setattr(frames, "MAX_TEXTS_CHARS", 50_000)
    head, found = decoded(encoded(["a", "b", "a", "c" * 30_000, "d" * 30_000, "e" * 30_000, "\ud800"]))
    assert head["texts"][:2] == ["a", "b"]
    assert found[2, "b"] == "a"
    assert len(str(found[3, "b"])) == frames.MAX_TEXT_CHARS
    assert "characters" in head["why"]


def test_words_of_tasks_are_stored_once_and_bounded(monkeypatch):
    monkeypatch.setattr(frames, "MAX_TEXTS_CHARS", 50)
    encoder = FrameEncoder()
    for turn in range(100):
        encoder.describe(turn, 0, "a board", "UP")
    encoder.describe(100, 0, "b" * 60, "UP")
    encoder.describe(101, 0, "b" * 60, None)
    head, _ = decoded(encoder.finish())
    assert head["texts"] == ["a board", "UP"]
    assert head["described"]["turn"] == list(range(101))
    assert head["described"]["observation"] == [*[0] * 100, -1]
    assert set(head["described"]["action"]) == {1}


def test_a_part_without_pictures_says_why():
    head, found = decoded(no_frames("add --trust"))
    assert (head["kind"], head["why"], found) == ("none", "add --trust", {})


# In the browser.

DRAW = """async ([data, wanted]) => {
  const frames = await decodeFrames(Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0)));
  const canvas = document.createElement("canvas");
  const found = [];
  for (const [turn, which] of wanted) {
    const text = frames.text(turn, which);
    if (text !== null) { found.push(text); continue; }
    Object.assign(canvas, frames.size(turn, which));
    const context = canvas.getContext("2d", { willReadFrequently: true });
    if (!frames.has(turn, which)) throw new Error(`no picture of ${turn}`);
    if (!frames.draw(context, turn, which)) throw new Error(`nothing drawn of ${turn}`);
    const { data: pixels } = context.getImageData(0, 0, canvas.width, canvas.height);
    found.push(await hash(pixels));
  }
  return { found, kind: frames.kind, why: frames.why, width: frames.width, height: frames.height,
           none: [frames.has(999), frames.size(999), frames.text(999), frames.draw(null, 999)],
           words: [[3, 1], [3, 0], [4, 1], [5, 0]].map(([turn, seat]) =>
             ["observation", "action"].map((name) => frames.description(turn, seat, name))),
           players: [2, 3, 6, 7].map((turn) => frames.playersAt(turn)) };
}"""

HASH = """
async function hash(pixels) {
  // FNV-1a over all bytes of the pixels.
  let value = 2166136261;
  for (const byte of pixels) value = Math.imul(value ^ byte, 16777619) >>> 0;
  return value;
}
"""


def fnv(picture: Any) -> int:
    opaque = np.dstack([picture, np.full(picture.shape[:2], 255, np.uint8)])
    value = 2166136261
    for byte in opaque.tobytes():
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value


def test_the_browser_shows_the_same_pixels_in_any_order(page: Page):
    random = np.random.default_rng(3)
    board, wide = random.integers(0, 256, (30, 45, 3)).astype(np.uint8), np.zeros((16, 70, 3), np.uint8)
    shown: list[Any] = []
    for turn in range(100):
        if turn % 25 == 24:
            shown.append(f"text {turn} \u202e<b>")
        elif turn % 10 == 9:
            wide[:, turn % 70] = turn
            shown.append(wide.copy())
        else:
            board[turn % 30, 2 * turn % 45] = turn
            shown.append(board.copy())
    encoder = FrameEncoder()
    for turn, picture in enumerate(shown):
        encoder.add(turn, "before", picture)
    encoder.add(99, "end", board[:, ::-1])
    encoder.describe(3, 1, "made again", "UP")
    encoder.describe(4, 1, None, "UP")
    encoder.describe(5, 0, None, None)
    for turn in range(3, 7):
        encoder.name_players(turn, ["white", "black"])
    encoder.name_players(7, ["X", "O"])
    order = [*range(100), *reversed(range(100)), *random.permutation(100).tolist()]
    wanted = [*((turn, "before") for turn in order), (99, "end")]
    page.goto("about:blank")
    page.add_script_tag(content=HASH + bundle("replay/frames.js"))
    result = page.evaluate(DRAW, [b64encode(encoder.finish()).decode(), wanted])
    hashes = [picture if isinstance(picture, str) else fnv(picture) for picture in shown]
    assert result["found"] == [*(hashes[turn] for turn in order), fnv(board[:, ::-1])]
    assert (result["kind"], result["width"], result["height"]) == ("pictures", 70, 30)
    assert result["none"] == [False, None, None, False]
    assert result["words"] == [["made again", "UP"], [None, None], [None, "UP"], [None, None]]
    assert result["players"] == [[], ["white", "black"], ["white", "black"], ["X", "O"]]
    assert json.dumps(result["why"]) == '""'
