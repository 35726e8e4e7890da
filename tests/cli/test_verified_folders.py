"""`flagfall verify` on tournaments that grew, were interrupted or killed, set aside, or played in parts."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ended, until
from tests.tournament.test_verification import BOT, HELPER, TASK

Call = Callable[..., Any]

BEFORE = """
clock = "virtual"
jobs = 1
repeats = {repeats}
time_control = "act=1s"
[output]
tables = ["csv", "json"]
[[tasks]]
task = "own.py:Sum"
[[tasks]]
task = "duel:heaps"
[[agents]]
spec = "random"
[[agents]]
name = "own"
spec = "bot.py:act"
"""

THIRD = """
[[agents]]
name = "third"
spec = "third.py:act"
"""


@pytest.fixture
def home(folder: Path) -> Path:
    """The folder of a plan with agents and a task of its own."""
    home = folder / "home"
    home.mkdir()
    os.chdir(home)
    for name, text in {"bot.py": BOT, "third.py": BOT, "own.py": TASK, "helper.py": HELPER}.items():
        (home / name).write_text(text)
    write_plan()
    return home


def write_plan(repeats: int = 2, *, more: str = "") -> None:
    Path("plan.toml").write_text(BEFORE.format(repeats=repeats) + more)


def play(call: Call, options: str = "--resume", *, folder: str = "made") -> Any:
    played = call(f"tournament plan.toml --output {folder} --quiet {options}")
    assert played.code == 0, played.err
    return played


def verify(call: Call, folder: str = "made") -> str:
    """Verify a folder where the user's own code is not, and execute its matches."""
    here, sent = Path.cwd(), Path.cwd().parent / "sent"
    shutil.rmtree(sent, ignore_errors=True)
    shutil.copytree(folder, sent / folder)
    os.chdir(sent)
    try:
        checked = call(f"verify {folder} --replay --trust")
        assert call(f"verify {folder} --json").data()["unrecorded"] == []
    finally:
        os.chdir(here)
    assert (checked.code, checked.err) == (0, ""), checked
    assert checked.out.startswith("OK  ")
    return str(checked.out)


def count(folder: str = "made") -> int:
    with closing(sqlite3.connect(f"file:{folder}/tournament.db?mode=ro", uri=True)) as database:
        try:
            return int(database.execute("SELECT count(*) FROM matches").fetchone()[0])
        except sqlite3.Error:
            return 0


@pytest.mark.usefixtures("home")
def test_a_grown_tournament_is_verified(call: Call) -> None:
    play(call)
    assert "12 journals" not in verify(call)
    first = call("verify made --json").data()["tree"]
    write_plan(3, more=THIRD)
    Path("bot.py").write_text(BOT + "# better\n")
    play(call)
    assert "27 matches, 27 journals" in verify(call)
    assert call("verify made --json").data()["tree"] != first


@pytest.mark.usefixtures("home")
def test_what_was_set_aside_is_verified_with_the_tournament_and_alone(call: Call) -> None:
    write_plan(more=THIRD)
    play(call)
    before = Path("made/code.json").read_bytes()
    write_plan(1)
    play(call, "--resume --set-aside")
    assert Path("made/former-1/code.json").read_bytes() == before
    assert "4 matches" in verify(call)
    assert "18 matches, 18 journals" in verify(call, "made/former-1")
    for path in sorted(path for path in Path("made/former-1").rglob("*") if path.is_file()):
        whole = path.read_bytes()
        changed = bytearray(whole)
        changed[len(whole) // 2] ^= 1
        path.unlink()  # journals have a second name in the tournament
        path.write_bytes(changed)
        assert str(path.relative_to("made")) in problems(call), path
        path.unlink()
        assert str(path.relative_to("made")) in problems(call), path
        path.write_bytes(whole)
    shutil.rmtree("made/former-1")
    assert call("verify made").out.startswith("MISSING  made: former-1/flagfall.lock: ")


def problems(call: Call) -> set[str]:
    found = call("verify made --json")
    assert found.code == 1, found
    return {problem["path"] for problem in found.data()["problems"]}


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_grown_tournament_that_was_interrupted_or_killed_is_verified(
    call: Call, start: Any, number: signal.Signals
) -> None:
    play(call)
    write_plan(3000, more=THIRD)
    runner = start("tournament plan.toml --output made --quiet --resume")
    until(lambda: count() >= 40)
    runner.send_signal(number)
    ended(runner)
    assert count() < 27_000
    if number == signal.SIGINT:
        assert re.search(r"made: \d+ of 27,000 matches played, ", verify(call))
    else:
        assert call("verify made").out.startswith("MISSING  made: flagfall.lock: ")
    write_plan(12, more=THIRD)
    play(call, "--resume --set-aside")
    assert "108 matches" in verify(call)


@pytest.mark.usefixtures("home")
def test_parts_and_what_is_merged_of_them_are_verified(call: Call) -> None:
    for part in (1, 2, 3):
        play(call, f"--part {part}/3", folder=f"part{part}")
        assert re.search(rf"part{part}: \d of 8 matches played, ", verify(call, f"part{part}"))
    assert call("merge part1 part2 --output some").code == 0
    assert re.search(r"some: \d of 8 matches played, ", verify(call, "some"))
    assert call("merge part1 part2 part3 --output all").code == 0
    assert "all: 8 matches, 8 journals" in verify(call, "all")
    assert Path("all/code.json").read_bytes() == Path("part1/code.json").read_bytes()
    play(call, folder="all")
    write_plan(3, more=THIRD)
    play(call, folder="all")
    assert "27 matches" in verify(call, "all")


@pytest.mark.usefixtures("home")
def test_code_that_differs_between_parts_is_told_and_all_of_it_is_kept(program: Call) -> None:
    # Each command is a program of its own: this one has modules of the same names from other tests.
    play(program, "--part 1/2", folder="a")
    Path("helper.py").write_text(HELPER.replace("40", "39"))
    play(program, "--part 2/2", folder="b")
    merged = program("merge a b --output all")
    assert merged.code == 0
    assert "code:    other files of agents or tasks than in a were played in b" in merged.out
    assert "all: 8 matches" in verify(program, "all")
