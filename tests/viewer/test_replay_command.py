"""`flagfall replay`: one HTML file, or a page on a loopback server."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flagfall.cli.runs import plan
from flagfall.errors import UsageError
from flagfall.events import TaskStarted, TurnPlayed
from flagfall.playing import run
from flagfall.viewer.pages import bundle
from flagfall.viewer.replay import page as page_module
from flagfall.viewer.replay.page import replay_blocks, replay_page
from tests.command_line import Ended, call_main
from tests.viewer.journals import bytes_match, header, write
from tests.viewer.reference_frames import decoded

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    """Call the command line in this process."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    return partial(call_main, capfd)


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A match of a game."""
    path = tmp_path_factory.mktemp("game") / "game.jsonl"
    run("vgdl:windfall#0", "random", clock="virtual", steps=30, seed=3, journal=path)
    return path


def chunk_in(blocks: dict[str, Any], number: int, prefix: str = "") -> dict[str, Any]:
    """Return a chunk out of the blocks of a page."""
    data: dict[str, Any] = json.loads(zlib.decompress(blocks[f"{prefix}chunk-{number}"]))
    return data


IN_PAGE = "async () => {{ {script}; {rest} }}"


def in_page(page: Page, rest: str) -> Any:
    """Run a script in a page beside the modules of the sources, which see the blocks of the page."""
    return page.evaluate(IN_PAGE.format(script=bundle("replay/source.js"), rest=rest))


# One file.


def test_a_file_holds_the_match_with_its_pictures(call, game, tmp_path, open_page):
    output = tmp_path / "game.html"
    ended = call("replay", game, "-o", output)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == f"{output}: {output.stat().st_size / 1024**2:,.1f} MB\n"
    page = open_page(output)
    page.wait_for_selector("body[data-turn='0']")
    found = in_page(
        page,
        """const source = await openSource();
        const [summary, chunk] = [await source.summary(), await source.chunk(0)];
        const frames = await source.frames(0);
        source.subscribe(() => {})();
        const facts = [frames.kind, frames.has(29), frames.has(29, "end"), frames.width];
        return { summary, chunk, frames: facts };""",
    )
    blocks = replay_blocks(game)
    assert found["summary"] == json.loads(json.dumps(blocks["summary"]))
    assert found["chunk"] == chunk_in(blocks, 0)
    assert found["frames"] == ["pictures", True, True, 90]


def test_an_existing_file_is_kept_where_the_new_one_cannot_be_made(call, tmp_path):
    output = tmp_path / "a.html"
    output.write_text("before")
    wrong = tmp_path / "a.jsonl"
    wrong.write_text("no journal\n")
    ended = call("replay", wrong, "-o", output)
    assert (ended.code, ended.out, output.read_text()) == (2, "", "before")
    assert ended.err.startswith(f"flagfall: {wrong}: line 1: this is not a journal: ")
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("--turns 5:9", "--turns chooses what -o writes: add -o FILE.html"),
        ("--turns 5 -o x.html", "--turns '5': write the first and the last turn, such as 0:5000"),
        ("--turns 9:5 -o x.html", "there are no turns 9:5; the journal has 0:29"),
        ("--turns 30:50 -o x.html", "there are no turns 30:50; the journal has 0:29"),
        ("-o /nowhere/x.html", "/nowhere/x.html cannot be written: No such file or directory"),
        ("-o .", "is a folder; name a file in it"),
        ("--config nothing.py -o x.html", "nothing.py"),
        ("--token-file nothing", "nothing"),
    ],
)
def test_mistakes_get_one_line(call, game, tmp_path, monkeypatch, words, what):
    monkeypatch.chdir(tmp_path)
    ended = call(f"replay {words}", game)
    assert (ended.code, ended.out) == (2, "")
    assert what in ended.err
    assert ended.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["other.jsonl", "other.jsonl.zst"])
def test_a_page_never_replaces_a_journal(call, game, tmp_path, name):
    journal = tmp_path / name
    run("micro1", "random", clock="virtual", steps=5, journal=journal)
    before = journal.read_bytes()
    ended = call("replay", game, "-o", journal)
    assert (ended.code, ended.out, journal.read_bytes()) == (2, "", before)
    assert f"{journal} is a journal or a database, which would be lost; name another file" in ended.err


def test_a_missing_extra_is_named_with_what_works_without_it(call, game, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "starlette", None)
    ended = call("replay", game)
    assert ended.code == 2
    assert ended.err == (
        "flagfall: pages are served with the extra viewer: pip install 'flagfall[viewer]';"
        " or write a file, with -o FILE.html\n"
    )
    assert call("replay", game, "-o", tmp_path / "a.html").code == 0


def test_some_turns_of_a_match_are_written_with_their_own_aggregates(tmp_path):
    path = write(tmp_path / "a.jsonl", bytes_match(3000))
    blocks = replay_blocks(path, prefix="x-", turns=(1050, 2950))
    summary: Any = blocks["x-summary"]
    chunks = [chunk_in(blocks, number, "x-") for number in range(len(summary["chunks"]))]
    turns = [turn for chunk in chunks for turn in chunk["turn"]]
    assert turns == list(range(1050, 2951))
    assert summary["turn_span"] == [1050, 2950]
    assert "only turns 1,050 to 2,950 are part of this page" in summary["state_detail"]
    for entry, chunk in zip(summary["chunks"], chunks, strict=True):
        assert entry["first"] == chunk["turn"][0] == chunk["first"]
        assert entry["turns"] == len(chunk["turn"])
        assert entry["late"] == chunk["verdict"].count("late")
        assert entry["at_ns"] == [chunk["at_ns"][0], chunk["at_ns"][-1]]
        assert entry["max_spent_ns"] == [max(chunk["spent_ns"])]
        assert len(chunk["numbers"]["observation"]) == len(chunk["turn"])
    events = [event for chunk in chunks for event in chunk["events"]]
    assert events == []


def test_some_turns_of_a_game_have_their_pictures(game):
    blocks = replay_blocks(game, turns=(7, 12))
    _, found = decoded(blocks["frames-0"])  # type: ignore[arg-type]
    assert sorted(found) == [(turn, "b") for turn in range(7, 13)]


def test_a_match_that_no_page_can_hold_names_the_part_that_fits(tmp_path):
    path = write(tmp_path / "a.jsonl", bytes_match(5000))
    whole = replay_blocks(path)
    lengths = [len(block) for block in whole.values() if isinstance(block, bytes)]
    third = chunk_in(whole, 3)["first"]
    with pytest.raises(UsageError) as refused:
        replay_blocks(path, max_bytes=sum(lengths[:3]))
    assert f"from turn {third} on: choose a part of it with --turns 0:{third - 1}" in str(refused.value)
    replay_blocks(path, turns=(0, third - 1), max_bytes=sum(lengths[:3]))
    assert page_module.MAX_PAGE_BYTES * 4 / 3 == 32 * 1024**2


def test_the_page_of_a_game_is_small(game):
    assert len(replay_page(game)) < 300_000


# Trust, asked as by verify.


def test_a_user_at_a_terminal_is_asked_and_others_get_a_page_without_pictures(call, tmp_path, monkeypatch):
    (tmp_path / "planted.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    events = TaskStarted(0, "gym:planted:G-v0", 0, 1), TurnPlayed(1, 0, "x", 0, "y")
    path = write(tmp_path / "a.jsonl", [header(tasks=["gym:planted:G-v0"]), *events])
    monkeypatch.chdir(tmp_path)
    assert call("replay a.jsonl -o a.html").code == 0
    assert not (tmp_path / "ran").exists()
    assert b"would import module 'planted'" in (tmp_path / "a.html").read_bytes()
    asked: list[str] = []

    def agree(file: Path, error: Exception) -> bool:
        asked.append(f"{file}: {error}")
        return True

    monkeypatch.setattr(plan, "_agrees", agree)
    assert call("replay a.jsonl -o a.html").code == 0
    assert (tmp_path / "ran").exists()
    assert asked[0].startswith("a.jsonl: task 'gym:planted:G-v0' would import module 'planted'")
    assert path.exists()


def test_the_configuration_of_a_match_is_given_as_for_verify(call, tmp_path, monkeypatch):
    (tmp_path / "goals.py").write_text(
        "from flagfall.tasks.catalog import make_task\n"
        "from flagfall.tasks.schedulers import parse_policy\n"
        "def create_tasks():\n"
        "    return parse_policy('sequential:1', [make_task('vgdl:windfall#0')])\n"
    )
    monkeypatch.chdir(tmp_path)
    assert call("run --config goals.py -a random --steps 5 --clock virtual --journal a.jsonl").code == 0
    assert call("replay a.jsonl -o without.html").code == 0
    assert call("replay a.jsonl --config goals.py -o with.html").code == 0
    without, given = ((tmp_path / f"{name}.html").read_bytes() for name in ("without", "with"))
    assert b"pictures and names of actions need --config" in without
    assert [b'id="frames-0"' in page for page in (without, given)] == [False, True]


# On a server.


@contextmanager
def served(*words: object) -> Iterator[str]:
    """Run the command as a program, and yield the address that it prints."""
    program = [sys.executable, "-m", "flagfall", "replay", *map(str, words), "--no-open"]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        match = re.search(r"http://127\.0\.0\.1:\d+/", line)
        assert match is not None, line
        yield match[0]
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    finally:
        process.kill()
        process.communicate()


def fetched(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=30) as response:  # noqa: S310 - on loopback
        data: bytes = response.read()
        return data


def test_the_server_gives_what_the_file_holds(game, open_page):
    blocks = replay_blocks(game)
    with served(game) as url:
        assert json.loads(fetched(url + "data/summary")) == json.loads(json.dumps(blocks["summary"]))
        assert json.loads(fetched(url + "data/chunk/0")) == chunk_in(blocks, 0)
        assert fetched(url + "data/frames/0") == blocks["frames-0"]
        for number in ("1", "99999999999999999999", "1" * 3000):
            with pytest.raises(urllib.error.HTTPError, match="400") as failed:
                fetched(url + f"data/chunk/{number}")
            assert b"there is no part" in failed.value.read()[:100]
        page = open_page(url)
        page.wait_for_selector("body[data-turn='0']")
        assert in_page(page, "return (await (await openSource()).frames(0)).has(29, 'end');") is True


def test_the_page_gets_what_is_added_to_a_match(tmp_path, open_page):
    whole = write(tmp_path / "b.jsonl", bytes_match(2500)).read_bytes()
    path = tmp_path / "a.jsonl"
    path.write_bytes(whole[: len(whole) // 10])
    with served(path) as url:
        page = open_page(url)
        page.wait_for_selector("body[data-turn='0']")
        page.evaluate(
            IN_PAGE.format(
                script=bundle("replay/source.js"),
                rest="""const source = await openSource();
                window.seen = [(await source.summary()).turns, (await source.chunk(0)).turn.length];
                source.subscribe(async (now) => window.seen.push(now.turns, now.state));""",
            )
        )
        turns, rows = page.evaluate("window.seen")
        assert 0 < turns == rows < 1000
        path.write_bytes(whole)
        until = time.monotonic() + 30
        while page.evaluate("window.seen.length") < 4 and time.monotonic() < until:
            page.wait_for_timeout(50)
        assert page.evaluate("window.seen.slice(-2)") == [2500, "complete"]


def test_a_journal_that_is_removed_stays_shown(game, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(game.read_bytes())
    with served(path) as url:
        assert json.loads(fetched(url + "data/summary"))["turns"] == 30
        path.unlink()
        assert json.loads(fetched(url + "data/summary"))["turns"] == 30
        with pytest.raises(urllib.error.HTTPError, match="400") as failed:
            fetched(url + "data/chunk/0")
        assert b"No such file" in failed.value.read()
    assert list(tmp_path.iterdir()) == []
