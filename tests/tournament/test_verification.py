"""Verification of results folders: what was changed or is missing is named, wherever it is."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random

import attrs
import pytest
import trio

from flagfall.errors import UsageError
from flagfall.tournament import blocks
from flagfall.tournament.code_folder import carry_code
from flagfall.tournament.folder import Lock
from flagfall.tournament.lock_file import add_made, write_lock_file
from flagfall.tournament.plan.parser import parse_plan
from flagfall.tournament.run import match
from flagfall.tournament.run.api import run_tournament
from flagfall.tournament.standings import agent_rows, export, stored_standings
from flagfall.tournament.store import Store
from flagfall.tournament.verification import FolderVerification, verify_folder

FLIPS = 250
DELETIONS = 50
"""Of each of two folders."""

PLAN = """
clock = "virtual"
jobs = 1
repeats = 2
time_control = "act=1s"
[[agents]]
spec = "random"
[[agents]]
name = "own"
spec = "bot.py:act"
[[tasks]]
task = "micro1"
steps = 300
[[tasks]]
task = "duel:heaps"
[[tasks]]
task = "own.py:Sum"
"""

BOT = """
def act(observation):
    return 32 if type(observation) is int else 0
"""

TASK = """
import helper
from gymnasium.spaces import Discrete
from flagfall.tasks import StepResult, Task

class Sum(Task):
    observation_space = action_space = Discrete(40)
    nil_action = 0
    def __init__(self, size=3):
        super().__init__(max_steps=size)
    def _reset(self, seed):
        return helper.least(seed)
    def _step(self, action):
        return StepResult(helper.least(action), action / 10)
    def reached_terminal_state(self):
        return False
    def result(self):
        return None
"""

HELPER = """
def least(number):
    return number % 40
"""


def play(home: Path, folder: Path, plan: str = PLAN) -> Path:
    """Play a plan with code of its own, and write what a command writes besides."""
    for name, text in {"bot.py": BOT, "own.py": TASK, "helper.py": HELPER}.items():
        (home / name).write_text(text)
    made = parse_plan(plan, folder=home)
    trio.run(partial(run_tournament, made, folder, resume=True))
    with closing(Store(folder)) as store:
        rows = agent_rows(stored_standings(store, made))
    for form in ("csv", "json"):
        (folder / f"standings.{form}").write_bytes(export(rows, form))
        add_made(folder, folder / f"standings.{form}")
    return folder


@pytest.fixture(scope="module", params=["plain", "compressed"])
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A results folder, with plain or compressed journals."""
    home = tmp_path_factory.mktemp("home")
    suffix = {"plain": ".jsonl", "compressed": ".jsonl.zst"}[request.param]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(match, "_suffix", lambda: suffix)
        yield play(home, home / "made")


@pytest.fixture
def results(played: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(played, tmp_path / "sent"))


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def named(found: FolderVerification) -> set[str]:
    return {problem.path for problem in found.problems}


def test_what_a_run_left_is_verified(results: Path) -> None:
    found = verify_folder(results)
    assert found.problems == ()
    assert (found.matches, found.journals) == (12, 12)
    assert found.files == len(files_of(results)) - 1
    assert found.tree in str(found)


def test_coreutils_read_the_lock_file(results: Path) -> None:
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", "flagfall.lock"],
        cwd=results,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked
    assert checked.stdout.count(": OK") == len(files_of(results)) - 1
    head = (results / "flagfall.lock").read_bytes().partition(b"# tree: ")[0]
    summed = subprocess.run(["sha256sum"], input=head, capture_output=True, check=True).stdout
    assert summed.split()[0].decode() == verify_folder(results).tree


def test_the_lock_file_is_written_alike_each_time(results: Path) -> None:
    before = (results / "flagfall.lock").read_bytes()
    write_lock_file(results)
    for form in ("csv", "json"):
        add_made(results, results / f"standings.{form}")
    assert (results / "flagfall.lock").read_bytes() == before


@pytest.mark.release
def test_every_changed_byte_is_named(results: Path) -> None:
    random = Random(1)
    files = files_of(results)
    for number in range(FLIPS):
        path = files[number % len(files)]
        whole = path.read_bytes()
        at = random.randrange(len(whole))
        changed = bytearray(whole)
        changed[at] ^= 1 << random.randrange(8)
        path.write_bytes(changed)
        found = verify_folder(results)
        assert str(path.relative_to(results)) in named(found), (path, at)
        assert "\n" not in str(found)
        path.write_bytes(whole)
    assert verify_folder(results).ok


@pytest.mark.release
def test_every_deleted_file_is_named(results: Path, tmp_path: Path) -> None:
    random = Random(2)
    files = files_of(results)
    for _ in range(DELETIONS):
        gone = random.sample(files, random.choice([1, 1, 1, 2, 5]))
        for path in gone:
            path.rename(tmp_path / path.name)
        names = {str(path.relative_to(results)) for path in gone}
        if {"flagfall.lock", "tournament.db"} <= names:
            with pytest.raises(UsageError, match=r"no tournament\.db in it"):
                verify_folder(results)
        elif "flagfall.lock" in names:  # what has no digest any more is missed where something names it
            kept = {name for name in names if name.startswith("journals/")} | {"flagfall.lock"}
            assert kept <= named(verify_folder(results))
        else:
            assert names <= named(verify_folder(results))
        for path in gone:
            (tmp_path / path.name).rename(path)
    assert verify_folder(results).ok


def sql(folder: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(folder / "tournament.db")) as connection:
        connection.execute(statement, values)
        connection.commit()


def forge(folder: Path) -> FolderVerification:
    """Write the lock file anew, as somebody would who hides a change; return what is found then."""
    write_lock_file(folder)
    return verify_folder(folder)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE seats SET reward = reward + 1",
        "UPDATE seats SET late = late + 1 WHERE match = 1",
        "UPDATE seats SET turns = turns - 1 WHERE match = 2",
        "UPDATE seats SET think_ns = 5 WHERE match = 3",
        "UPDATE matches SET reason = 'finished' WHERE reason = 'steps'",
        "UPDATE matches SET turns = 1",
        "UPDATE matches SET stalls = 1 WHERE number = 4",
    ],
)
def test_records_that_differ_from_their_journals_are_named(results: Path, statement: str) -> None:
    sql(results, statement)
    assert "tournament.db" in named(verify_folder(results))
    found = forge(results)
    assert found.problems[0].kind == "different"
    assert "in tournament.db it is" in found.problems[0].what


def test_a_winner_who_was_exchanged_is_named(results: Path) -> None:
    with closing(Store(results)) as store:
        record = next(one for one in store.records() if len(one.seats) == 2)
    assert {seat.score for seat in record.seats} == {0.0, 1.0}
    for seat in (0, 1):
        other = record.seats[1 - seat]
        sql(
            results,
            "UPDATE seats SET reward = ?, score = ? WHERE seat = ? AND match ="
            " (SELECT number FROM matches WHERE id = ?)",
            *(other.reward, other.score, seat, record.id),
        )
    found = forge(results)
    assert f"of match {record.id} is" in found.problems[0].what
    assert found.problems[0].path == record.journal


def test_journals_that_were_exchanged_are_named(results: Path) -> None:
    first, second, *_ = sorted((results / "journals").iterdir())
    first.rename(results / "journals" / "aside")
    second.rename(first)
    (results / "journals" / "aside").rename(second)
    assert f"journals/{first.name}" in named(forge(results))


def test_a_match_that_is_gone_with_its_journal_is_not_counted(results: Path) -> None:
    sql(results, "DELETE FROM seats WHERE match = 1")
    sql(results, "DELETE FROM matches WHERE number = 1")
    found = forge(results)
    assert any("is the journal of no match" in problem.what for problem in found.problems)
    for name in named(found):
        (results / name).unlink()
    found = forge(results)
    assert (found.matches, found.total, found.complete) == (11, 12, False)
    assert "11 of 12 matches played, 11 journals" in str(found)


def test_standings_that_were_written_by_hand_are_named(results: Path) -> None:
    path = results / "standings.csv"
    text = path.read_text()
    path.write_text(text.replace("own", "mine"))
    assert named(forge(results)) == {"standings.csv"}
    path.write_text(text.replace(",12,", ",12.000000001,"))
    assert forge(results).ok, "rounded otherwise by another processor"


def test_a_database_that_was_written_without_a_change_is_told_apart(results: Path) -> None:
    with closing(sqlite3.connect(results / "tournament.db")) as connection:
        connection.execute("CREATE TABLE passing (number)")
        connection.execute("DROP TABLE passing")
    (problem,) = verify_folder(results).problems
    assert problem.path == "tournament.db"
    assert "though its rows are the same" in problem.what


def test_reading_leaves_a_folder_sound(results: Path) -> None:
    before = {path: path.read_bytes() for path in files_of(results)}
    with closing(Store(results)) as store:
        stored = store.plan()
        assert stored is not None
        assert stored_standings(store, stored.for_display()).over
    assert verify_folder(results).ok
    assert {path: path.read_bytes() for path in files_of(results)} == before


def test_what_no_run_wrote_is_told_and_is_no_problem(results: Path) -> None:
    (results / "notes.txt").write_text("mine\n")
    found = verify_folder(results)
    assert found.ok
    assert found.unrecorded == ("notes.txt",)
    assert str(found).endswith("; not of the tournament: notes.txt")


def test_links_and_pipes_are_neither_followed_nor_waited_for(results: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    journal = min((results / "journals").iterdir())
    for path in (journal, results / "plan.toml", results / "standings.csv"):
        path.unlink()
    journal.symlink_to(tmp_path / "mine")
    os.mkfifo(results / "plan.toml")
    (results / "standings.csv").symlink_to(tmp_path / "mine")
    os.mkfifo(results / "code" / ("0" * 64))
    found = verify_folder(results)
    assert named(found) == {f"journals/{journal.name}", "plan.toml", "standings.csv"}
    (results / "flagfall.lock").unlink()
    os.mkfifo(results / "flagfall.lock")
    assert "flagfall.lock" in named(verify_folder(results))


def test_a_lock_file_names_no_file_outside(results: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    lines = ["a" * 64 + "  ../mine", "a" * 64 + "  journals/../../mine", "a" * 64 + f"  {tmp_path}/mine"]
    (results / "flagfall.lock").write_text("\n".join(lines))
    assert "mine" not in str(verify_folder(results).problems)


def test_a_run_that_goes_on_is_waited_for(results: Path) -> None:
    with closing(Lock(results)), pytest.raises(UsageError, match="is being played"):
        verify_folder(results)
    assert not (results / "lock").exists()


def test_a_run_that_stopped_is_verified_and_its_rest_is_not_counted(tmp_path: Path) -> None:
    async def play_some() -> None:
        stop = trio.Event()
        plan = parse_plan(PLAN, folder=tmp_path)
        await run_tournament(plan, tmp_path / "made", stop=stop, on_record=lambda _record: stop.set())

    for name, text in {"bot.py": BOT, "own.py": TASK, "helper.py": HELPER}.items():
        (tmp_path / name).write_text(text)
    trio.run(play_some)
    stopped = verify_folder(tmp_path / "made")
    assert stopped.ok
    assert not stopped.complete
    assert f"{stopped.matches} of 12 matches played, " in str(stopped)
    play(tmp_path, tmp_path / "made")
    found = verify_folder(tmp_path / "made")
    assert found.ok
    assert found.complete
    assert found.tree != stopped.tree


def test_a_killed_run_has_no_lock_file(results: Path) -> None:
    with closing(Store(results, "make")) as store:
        store.prepare()  # as a run does that is killed then
    found = verify_folder(results)
    assert [problem.path for problem in found.problems] == ["flagfall.lock"]
    assert found.tree == ""


def test_code_that_changes_between_two_runs_stays_in_both_versions(tmp_path: Path) -> None:
    made = play(tmp_path, tmp_path / "made")
    before = {path.name for path in (made / "code").iterdir()}
    (tmp_path / "bot.py").write_text(BOT + "# better\n")
    plan = parse_plan(PLAN, folder=tmp_path)
    trio.run(partial(run_tournament, plan, made, resume=True))
    after = {path.name for path in (made / "code").iterdir()}
    assert before < after
    assert len(after - before) == 1
    assert verify_folder(made).ok


def test_a_file_that_is_too_long_is_left_out_and_told(tmp_path: Path) -> None:
    for name, content in {"bot.py": BOT, "own.py": TASK, "helper.py": HELPER}.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "long").write_bytes(b"#!/bin/sh\n" + b"#" * 2_000_000)
    plan = parse_plan(PLAN, folder=tmp_path)
    command = attrs.evolve(plan.agents[0], name="c", spec=f"cmd:{tmp_path / 'long'}")
    (tmp_path / "long").chmod(0o755)
    (tmp_path / "made").mkdir()
    said = carry_code(attrs.evolve(plan, agents=(*plan.agents, command)), tmp_path / "made")
    assert [line.partition(":")[0] for line in said] == ["long is not copied into the results"]


def test_blocks_of_other_results_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_MATCHES", 8)
    text = 'clock = "virtual"\nrepeats = 10\njobs = 1\n'
    text += '[[agents]]\nspec = "random"\n[[tasks]]\ntask = "micro1"\nsteps = 50\n'
    for seed in (1, 2):
        trio.run(partial(run_tournament, parse_plan(text, seed=seed), tmp_path / str(seed)))
    with closing(sqlite3.connect(tmp_path / "2" / "tournament.db")) as other:
        ((data,),) = other.execute("SELECT data FROM blocks").fetchall()
    assert verify_folder(tmp_path / "1").ok
    sql(tmp_path / "1", "UPDATE blocks SET data = ?", data)
    (problem,) = forge(tmp_path / "1").problems
    assert "table blocks, from which standings are read, has other results" in problem.what
