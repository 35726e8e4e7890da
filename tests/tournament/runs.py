"""Tournaments that tests play: small ones, on the virtual clock."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs
import trio

from flagfall.agents.process.supervisor import descendants
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.plan.parser import parse_plan
from flagfall.tournament.records import MatchRecord
from flagfall.tournament.store import Store
from tests.children import STARTED

TEXT = """
clock = "virtual"
repeats = {repeats}
time_control = "act=1s"

[output]
journals = {journals}

[[agents]]
spec = "random"

[[agents]]
spec = "learner"

[[tasks]]
each = ["micro1", "micro2"]
steps = {steps}
"""


def plan_text(repeats: int, *, steps: int = 10, journals: bool = True) -> str:
    """A benchmark of 4 matches a repeat."""
    return TEXT.format(repeats=repeats, steps=steps, journals=str(journals).lower())


def small_plan(repeats: int, *, steps: int = 10, journals: bool = True) -> TournamentPlan:
    return parse_plan(plan_text(repeats, steps=steps, journals=journals), title="small")


def stored(folder: Path) -> dict[str, MatchRecord]:
    """The matches that count, without how often they had to be played; each must be there once."""
    store = Store(folder)
    records = [record for record in store.records() if record.status == "played"]
    store.close()
    assert len({record.id for record in records}) == len(records)
    return {record.id: attrs.evolve(record, attempt=1) for record in records}


def count(folder: Path) -> int:
    """The matches that count so far, of a run that may be writing."""
    with suppress(sqlite3.Error):
        database = sqlite3.connect(f"{(folder / 'tournament.db').as_uri()}?mode=ro", uri=True)
        try:
            found: int = database.execute("SELECT count(*) FROM matches WHERE status = 'played'").fetchone()[
                0
            ]
            return found
        finally:
            database.close()
    return 0


def has_come_to(folder: Path, goal: int, runner: subprocess.Popen[str]) -> bool:
    """Whether a run has so many matches, or has ended."""
    return count(folder) >= goal or runner.poll() is not None


def journal_bytes(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (folder / "journals").iterdir()}


def program(*words: object, **options: Any) -> subprocess.Popen[str]:
    """The real program, in a session of its own; it ends with the test at the latest."""
    started = subprocess.Popen(
        [sys.executable, "-m", "flagfall", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "COLUMNS": "100"},
        **options,
    )
    STARTED.append(started)
    return started


def workers_of(runner: int) -> list[int]:
    """The workers of a runner."""
    return [pid for pid in descendants(runner) if b"flagfall.tournament.run.worker" in _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def is_gone(pid: int) -> bool:
    """Whether a process has ended; a zombie that nobody has waited for yet, too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in {"Z", "X"}
    except OSError:
        return True


def is_heard(folder: Path) -> bool:
    """Whether the run in a folder can be asked."""
    return (folder / "control").exists()


async def until(true: Callable[[], bool]) -> None:
    with trio.fail_after(60):
        while not true():  # noqa: ASYNC110 - what is waited for tells nobody
            await trio.sleep(0.005)


def wait_until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.005)
