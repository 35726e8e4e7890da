"""Replays as one file, in a real browser: compared with the journal and with what tasks draw."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from flagfall.events import (
    MatchEnded,
    MatchStarted,
    Printed,
    SeatDisqualified,
    SeatReady,
    TaskStarted,
    TurnPlayed,
)
from flagfall.recording.journal.format import encode
from flagfall.viewer.replay.page import replay_page
from flagfall.viewer.replay.texts import text_of
from tests.viewer.browser import (
    NARROW,
    SCHEMES,
    WIDE,
    Complaints,
    OpenPage,
    Scheme,
    Screenshots,
    check_accessibility,
    check_width,
    in_schemes,
)
from tests.viewer.journals import bytes_match, write
from tests.viewer.recorded import Dawdler, Picture, Ponderer, Recorded, picture_of, record

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

MINUS = "\N{MINUS SIGN}"
CONNECT_FOUR = "pettingzoo:classic/connect_four_v3"
MATCHES: dict[str, Callable[[Path], Recorded]] = {
    "vgdl": lambda path: record(path, "vgdl:windfall#0", Dawdler(), steps=120, seed=3),
    "langroom": lambda path: record(path, "langroom", "langroom-solver", steps=60),
    "bytes": lambda path: record(path, "micro1", "memorizing", steps=400, pictures=False),
    "gymnasium": lambda path: record(path, "gym:CartPole-v1", "random", steps=60),
    "pettingzoo": lambda path: record(path, CONNECT_FOUR, ["random", "random"], steps=30),
    "two-seats": lambda path: record(path, "duel:lamps", ["random", "random"], steps=40),
}


@pytest.fixture(scope="session")
def replays(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Recorded, Path]]:
    """Return a match of a family and its page; each is made once."""
    folder = tmp_path_factory.mktemp("replays")
    made: dict[str, tuple[Recorded, Path]] = {}

    def replay(family: str) -> tuple[Recorded, Path]:
        if family == "pettingzoo" and importlib.util.find_spec("pettingzoo") is None:
            pytest.skip("PettingZoo is not installed")
        if family not in made:
            recorded = MATCHES[family](folder / f"{family}.jsonl")
            page = folder / f"{family}.html"
            page.write_bytes(replay_page(recorded.path))
            made[family] = recorded, page
        return made[family]

    return replay


def wait_for_turn(page: Page, turn: int, *, end: bool = False) -> None:
    """Wait until a turn is drawn."""
    page.locator(f"body[data-turn='{turn}'][data-end='{str(end).lower()}']").wait_for(state="attached")


def wait_for_value(field: Locator, value: str) -> None:
    """Wait until a field has a value; controls follow with the next frame."""
    from playwright.sync_api import expect  # noqa: PLC0415 - not everywhere installed

    expect(field).to_have_value(value, timeout=30_000)


def shown(page: Page, name: str, seat: int = 0) -> str:
    return page.locator(".seat-card").nth(seat).locator(f".row-{name} dd").inner_text()


def check_values(page: Page, recorded: Recorded, turn: int) -> None:
    """Compare the panel of a turn with the journal."""
    assert page.locator(".turn h2").inner_text() == f"Turn {turn:,}"
    played = recorded.turns(turn)
    assert played
    for event in played:
        card = page.locator(".seat-card").nth(event.seat)
        assert card.locator(".tag").inner_text() == event.verdict
        action = shown(page, "action", event.seat).replace("\n", " / ")  # perhaps behind words of the task
        assert text_of(event.action).replace("\n", " / ") in action
        earned = f"{recorded.earned(turn, event.seat):g}"
        assert shown(page, "reward", event.seat) == earned.replace("-", MINUS)
        assert shown(page, "time", event.seat).startswith(duration(event.spent_ns))


def duration(ns: int) -> str:
    """Return a time as the page writes it, for those that occur in these matches."""
    if ns == 10**9:
        return "1 s"
    return f"{ns / 1e6:.3g} ms" if ns else "0 ns"


def check_picture(page: Page, picture: Picture) -> None:
    canvas = page.locator("canvas.picture")
    assert np.array_equal(picture_of(canvas), picture)
    size = canvas.bounding_box()
    assert size is not None
    scale = size["width"] / picture.shape[1]
    assert scale < 1 or scale == round(scale), (
        "pixels are crisp: whole multiples, or a picture too large for them"
    )


@pytest.mark.parametrize("family", MATCHES)
def test_a_replay_shows_the_journal_and_the_pictures_of_its_task(
    family: str, replays: Callable[[str], tuple[Recorded, Path]], open_page: OpenPage
) -> None:
    recorded, path = replays(family)
    page = open_page(path)
    wait_for_turn(page, 0)
    check_values(page, recorded, 0)
    for turn, reach in ((17, by_keyboard), (29, by_slider), (8, by_number)):
        reach(page, turn)
        wait_for_turn(page, turn)
        check_values(page, recorded, turn)
        if recorded.before:
            check_picture(page, recorded.before[turn])


def by_keyboard(page: Page, turn: int) -> None:
    """Go to a turn from the first one, with the arrows."""
    page.keyboard.press("Home")
    wait_for_turn(page, 0)
    for _ in range(turn // 10):
        page.keyboard.press("Shift+ArrowRight")
    wait_for_turn(page, turn // 10 * 10)
    page.keyboard.press("Shift+ArrowRight")
    wait_for_turn(page, turn // 10 * 10 + 10)
    while page.locator(f"body[data-turn='{turn}']").count() == 0:
        page.keyboard.press("ArrowLeft")
        page.evaluate("() => new Promise(requestAnimationFrame)")


def by_slider(page: Page, turn: int) -> None:
    page.locator("input.scrub").fill(str(turn))


def by_number(page: Page, turn: int) -> None:
    page.keyboard.press("g")
    page.keyboard.type(str(turn))
    page.keyboard.press("Enter")


def test_a_world_without_pictures_is_shown_as_text(open_page: OpenPage, tmp_path: Path) -> None:
    recorded = record(tmp_path / "text.jsonl", "duel:heaps", ["random", "random"], steps=6, mode="ansi")
    path = tmp_path / "text.html"
    path.write_bytes(replay_page(recorded.path))
    page = open_page(f"{path.as_uri()}#turn=2")
    wait_for_turn(page, 2)
    assert page.locator(".world-text").inner_text().strip() == str(recorded.before[2]).strip()
    check_values(page, recorded, 2)


def test_the_end_of_a_task_has_a_picture_of_its_own(
    replays: Callable[[str], tuple[Recorded, Path]], open_page: OpenPage
) -> None:
    recorded, path = replays("gymnasium")
    turn, picture = next(iter(recorded.end.items()))
    page = open_page(f"{path.as_uri()}#turn={turn}")
    wait_for_turn(page, turn)
    check_picture(page, recorded.before[turn])
    page.keyboard.press("ArrowRight")
    wait_for_turn(page, turn, end=True)
    check_picture(page, picture)
    page.keyboard.press("ArrowRight")
    wait_for_turn(page, turn + 1)
    check_picture(page, recorded.before[turn + 1])
    page.keyboard.press("ArrowLeft")
    wait_for_turn(page, turn, end=True)


def test_jumps_lead_to_late_illegal_and_rewarded_turns(
    replays: Callable[[str], tuple[Recorded, Path]], open_page: OpenPage
) -> None:
    recorded, path = replays("vgdl")
    page = open_page(path)
    wait_for_turn(page, 0)
    first = recorded.first("late")
    page.keyboard.press("l")
    wait_for_turn(page, first)
    check_values(page, recorded, first)
    page.get_by_role("button", name="Next late turn").click()
    wait_for_turn(page, recorded.first("late", first))
    page.keyboard.press("Shift+L")
    wait_for_turn(page, first)
    page.keyboard.press("i")
    illegal = recorded.first("illegal", first)
    wait_for_turn(page, illegal)
    assert shown(page, "refused") == "'no action'"
    page.keyboard.press("Home")
    page.keyboard.press("r")
    paid = next(e.turn for e in recorded.events if isinstance(e, TurnPlayed) and e.turn and e.reward)
    wait_for_turn(page, paid - 1)  # the action that earned it
    check_values(page, recorded, paid - 1)


def test_playing_moves_on_and_stops_at_the_end(
    replays: Callable[[str], tuple[Recorded, Path]], open_page: OpenPage
) -> None:
    _, path = replays("vgdl")
    page = open_page(f"{path.as_uri()}#turn=100")
    wait_for_turn(page, 100)
    for _ in range(6):
        page.keyboard.press("]")
    wait_for_value(page.get_by_role("combobox", name="Speed"), "64")
    page.keyboard.press(" ")
    wait_for_turn(page, 119, end=True)
    page.get_by_role("button", name="Play", exact=True).wait_for()
    page.keyboard.press("Home")
    page.keyboard.press("p")
    wait_for_value(page.get_by_role("combobox", name="Speed"), "real")
    page.keyboard.press(" ")
    wait_for_turn(page, 15)  # for a second, as the turn after it is late


def test_events_are_filtered_and_lead_to_their_turns(
    replays: Callable[[str], tuple[Recorded, Path]], open_page: OpenPage
) -> None:
    recorded, path = replays("vgdl")
    page = open_page(path)
    wait_for_turn(page, 0)
    for kind in ("Rewards", "Tasks", "Illegal", "Dropped", "Seats and match"):
        page.get_by_role("button", name=kind, exact=True).click()
    late = [e.turn for e in recorded.events if isinstance(e, TurnPlayed) and e.verdict == "late"]
    page.locator(".event-row").nth(len(late)).wait_for(state="detached")
    rows = page.locator(".event-row")
    assert rows.evaluate_all("rows => rows.map((row) => Number(row.dataset.turn))") == late
    rows.nth(1).locator("button").click()
    wait_for_turn(page, late[1])
    page.keyboard.press("f")
    page.keyboard.type("no such text")
    page.locator(".event-row").first.wait_for(state="detached")


def test_the_tape_marks_the_turn_and_leads_to_another(
    replays: Callable[[str], tuple[Recorded, Path]], open_page: OpenPage
) -> None:
    recorded, path = replays("bytes")
    page = open_page(path)
    wait_for_turn(page, 0)
    before = picture_of(page.locator("canvas.tape"))
    page.locator("canvas.tape").click(position={"x": 62 + 13 * 4 + 6, "y": 12})
    wait_for_turn(page, 4)
    check_values(page, recorded, 4)
    assert not np.array_equal(picture_of(page.locator("canvas.tape")), before)


def test_the_tape_follows_the_colours_of_the_system(
    replays: Callable[[str], tuple[Recorded, Path]], open_page: OpenPage
) -> None:
    page = open_page(replays("bytes")[1])
    wait_for_turn(page, 0)
    tape = page.locator("canvas.tape")
    shown = {scheme: picture_of(tape) for scheme in in_schemes(page)}
    assert shown["light"].mean() > shown["dark"].mean() + 50


def test_a_lane_leads_to_a_turn_and_zooms(
    replays: Callable[[str], tuple[Recorded, Path]], open_page: OpenPage
) -> None:
    _, path = replays("vgdl")
    page = open_page(path)
    wait_for_turn(page, 0)
    lane = page.locator(".lane-room", has=page.locator("canvas"))
    box = lane.bounding_box()
    assert box is not None
    lane.click(position={"x": box["width"] * 60.5 / 120, "y": 40})
    wait_for_turn(page, 60)
    page.keyboard.press("+")
    assert page.locator(".lanes header").inner_text().startswith("Rewards and think time\nturns 30 to 89")
    page.keyboard.press("0")
    assert "120 turns" in page.locator(".lanes header").inner_text()


def test_the_command_writes_a_page_that_opens_from_disk(
    replays: Callable[[str], tuple[Recorded, Path]], open_page: OpenPage, tmp_path: Path
) -> None:
    recorded, _ = replays("bytes")
    path = tmp_path / "match.html"
    command = [sys.executable, "-m", "flagfall", "replay", str(recorded.path), "-o", str(path)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    page = open_page(f"{path.as_uri()}#turn=33")
    wait_for_turn(page, 33)
    check_values(page, recorded, 33)


def test_a_page_follows_a_journal_that_grows(
    replays: Callable[[str], tuple[Recorded, Path]], open_page: OpenPage, tmp_path: Path
) -> None:
    recorded, _ = replays("vgdl")
    lines = recorded.path.read_bytes().splitlines(keepends=True)
    path = tmp_path / "growing.jsonl"
    path.write_bytes(b"".join(lines[:40]))
    os.utime(path, (time.time() + 60,) * 2)  # still growing when a busy machine has opened the page
    with serving(path) as url:
        page = open_page(url)
        wait_for_turn(page, 0)
        page.get_by_text("growing", exact=True).wait_for()
        page.keyboard.press("End")
        last = page.locator("input.scrub").get_attribute("max")
        assert last is not None
        assert int(last) < 40
        wait_for_turn(page, int(last))
        with path.open("ab") as journal:
            journal.write(b"".join(lines[40:]))
        wait_for_turn(page, 119, end=True)  # its picture is made by execution, and comes later
        page.keyboard.press("ArrowLeft")
        wait_for_turn(page, 119)
        check_values(page, recorded, 119)
        until = time.monotonic() + 60
        while not np.array_equal(picture_of(page.locator("canvas.picture")), recorded.before[119]):
            assert time.monotonic() < until
            page.wait_for_timeout(100)
        page.get_by_text("growing", exact=True).wait_for(state="detached")


THINK = (0x4D, 0x86, 0xB3)
"""Colour of bars of think time in the light theme."""


def test_a_long_match_is_drawn_from_the_summaries_of_its_parts(open_page: OpenPage, tmp_path: Path) -> None:
    recorded = record(tmp_path / "long.jsonl", "micro1", Ponderer(), steps=12_000, pictures=False)
    with serving(recorded.path) as url:
        page = open_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(url)
        wait_for_turn(page, 0)
        page.locator(".lanes").get_by_text("12,000 turns").wait_for()
        bars = (picture_of(page.locator("canvas.lane")) == THINK).all(axis=2)
        assert bars.any(axis=0).all(), "there is a bar over the whole width"
        assert len([url for url in asked if "/chunk/" in url]) <= 3
        page.keyboard.press("End")
        wait_for_turn(page, 11_999)
        check_values(page, recorded, 11_999)
        by_number(page, 6_000)
        wait_for_turn(page, 6_000)
        check_values(page, recorded, 6_000)


def test_a_part_that_could_not_be_read_comes_when_the_network_is_back(
    open_page: OpenPage, complaints: Complaints, tmp_path: Path
) -> None:
    with serving(write(tmp_path / "a.jsonl", bytes_match(40_000))) as url:
        page = open_page(url)
        wait_for_turn(page, 0)
        page.context.set_offline(True)  # as a machine that sleeps
        page.keyboard.press("End")
        page.get_by_text("Part of the replay cannot be read").wait_for()
        page.context.set_offline(False)
        wait_for_turn(page, 39_999)
        page.get_by_text("Part of the replay cannot be read").wait_for(state="hidden")
    assert all("ERR_INTERNET_DISCONNECTED" in one for one in complaints.found)
    complaints.found.clear()


@contextmanager
def serving(journal: Path) -> Iterator[str]:
    """Run `flagfall replay` on a journal, and yield the address that it prints."""
    command = [sys.executable, "-m", "flagfall", "replay", str(journal), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            found = re.search(r"http://\S+", program.stdout.readline())
            assert found is not None
            yield found[0]
        finally:
            program.terminate()


def test_a_part_that_cannot_be_read_is_reported_in_a_line(
    replays: Callable[[str], tuple[Recorded, Path]], open_page: OpenPage, tmp_path: Path
) -> None:
    _, whole = replays("bytes")
    text = whole.read_text()
    path = tmp_path / "damaged.html"
    path.write_text(re.sub(r'(id="chunk-0">)[^<]*', r"\1AAAA", text))
    page = open_page(path)
    page.get_by_role("alert").get_by_text("Part of the replay cannot be read").wait_for()
    assert page.locator("h1").inner_text() == "memorizing on micro1"


def test_the_sheet_of_keys_is_the_table_in_the_documents(
    replays: Callable[[str], tuple[Recorded, Path]], open_page: OpenPage
) -> None:
    page = open_page(replays("bytes")[1])
    wait_for_turn(page, 0)
    page.keyboard.press("?")
    rows = page.locator("dialog dl > div").all()
    sheet = {" ".join(row.locator("kbd").all_inner_texts()): row.locator("dd").inner_text() for row in rows}
    text = (Path(__file__).parents[2] / "docs" / "replay.md").read_text()
    table = (
        text.partition("## Keyboard")[2].partition("| key | effect |\n|---|---|\n")[2].partition("\n\n")[0]
    )
    described = dict(row.strip("| ").split(" | ") for row in table.splitlines())
    assert described == sheet


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u202ereversed\x00\x1b[2J"
SHOWN = r"</script><script>alert(1)</script><img src=x onerror=alert(2)>\u202ereversed\x00\e[2J"
LONG = "<b>long</b>" * 1_000_000


@pytest.fixture(scope="session")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a journal in which everything that can be text is hostile."""
    journal = tmp_path_factory.mktemp("hostile") / f"{HOSTILE.replace('/', '').replace(chr(0), '')}.jsonl"
    events = [
        MatchStarted(
            at_ns=0,
            schema=3,
            flagfall=HOSTILE,
            tasks=[HOSTILE],
            scheduler=HOSTILE,
            agents=[HOSTILE, LONG],
            seed=2**53 + 1,
            time_control=HOSTILE,
            clock="wall",
            begun=HOSTILE,
        ),
        SeatReady(at_ns=1, seat=0, spent_ns=1, host=HOSTILE),
        TaskStarted(at_ns=2, task=HOSTILE, index=0, seed=2**60),
        TurnPlayed(at_ns=3, turn=0, observation=HOSTILE, reward=0, action=HOSTILE, seat=0),
        TurnPlayed(at_ns=4, turn=0, observation=LONG, reward={HOSTILE: 1}, action=[HOSTILE], seat=1),
        TurnPlayed(
            at_ns=5, turn=1, observation=1, reward=1e300, action=0, verdict="illegal", refused=HOSTILE, seat=0
        ),
        SeatDisqualified(at_ns=6, seat=0, reason=HOSTILE, detail=f"`start` took 2 s\n{HOSTILE}\n{LONG}"),
        MatchEnded(
            at_ns=7,
            reason="void",
            turns=2,
            detail=f"{HOSTILE}: `flagfall verify` says why",
            printed=(Printed(1, 2**62, HOSTILE), *[Printed(1, 1, LONG, 2**62)] * 2),
        ),
    ]
    journal.write_bytes(b"".join(encode(event) + b"\n" for event in events))
    os.utime(journal, (0, 0))  # nothing writes to it any more
    path = journal.with_name("hostile.html")
    path.write_bytes(replay_page(journal))
    return path


def test_a_hostile_journal_shows_as_text(hostile_page: Path, open_page: OpenPage) -> None:
    assert hostile_page.stat().st_size < 1_000_000
    page = open_page(hostile_page)
    wait_for_turn(page, 0)
    assert SHOWN in page.locator("h1").inner_text()
    assert shown(page, "observation") == SHOWN
    assert shown(page, "action") == SHOWN
    assert shown(page, "observation", 1).startswith("<b>long</b><b>long</b>")
    assert re.search(r"11,000,000 bytes|more characters", shown(page, "observation", 1))
    assert page.locator(".prints").inner_text().count(SHOWN) == 3  # reason, detail, print
    assert page.locator("code", has_text="flagfall verify").count() == 2  # notice, event
    assert SHOWN in page.locator(".settings").inner_text()
    page.keyboard.press("i")
    wait_for_turn(page, 1)
    assert shown(page, "refused") == SHOWN
    page.keyboard.press("Home")
    page.keyboard.press("d")
    wait_for_turn(page, 1)
    assert page.locator("img, iframe, object, embed").count() == 0
    assert page.locator("main script").count() == 0
    assert page.evaluate("document.body.innerText.length") < 50_000
    assert "\u202e" not in page.evaluate("document.body.innerText")
    check_width(page)


LOOKS: list[tuple[str, int, tuple[Scheme, ...]]] = [
    ("vgdl", NARROW, SCHEMES),
    ("vgdl", WIDE, SCHEMES),
    *[(family, NARROW, ("dark",)) for family in ("bytes", "two-seats", "hostile")],
    *[(family, WIDE, ("light",)) for family in ("bytes", "two-seats", "hostile")],
]


@pytest.mark.parametrize(("family", "width", "schemes"), LOOKS)
def test_replays_look_right(
    family: str,
    width: int,
    schemes: tuple[Scheme, ...],
    replays: Callable[[str], tuple[Recorded, Path]],
    hostile_page: Path,
    open_page: OpenPage,
    screenshot: Screenshots,
) -> None:
    path = hostile_page if family == "hostile" else replays(family)[1]
    turn = 0 if family == "hostile" else 16
    page = open_page(f"{path.as_uri()}#turn={turn}", width=width)
    wait_for_turn(page, turn)
    for scheme in in_schemes(page, schemes):
        check_accessibility(page)
        check_width(page)
        screenshot(page, f"replay-{family}-{width}-{scheme}", full_page=True)
