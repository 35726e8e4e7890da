"""Thousands of matches in one run: nothing grows but the records, nothing is left, nothing slows down."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flagfall.tournament.store import Store
from tests.tournament.runs import plan_text

MATCHES = int(os.environ.get("FLAGFALL_MATCHES", "4000"))
"""`FLAGFALL_MATCHES=10000` for a longer run by hand."""

QUARTER = MATCHES // 4
PAGES = os.sysconf("SC_PAGE_SIZE")

SCRIPT = """
import json, os, sqlite3, sys
from functools import partial
from pathlib import Path
import trio
from flagfall.agents.process.supervisor import descendants
from flagfall.tournament.plan.parser import load_plan
from flagfall.tournament.run.api import run_tournament

count, calls, steps, rows = 0, 0, 0, []

def called(frame, event, value):
    global calls
    calls += event != "return"

def stepped():
    global steps
    steps += 1

def connected(*arguments, connect=sqlite3.connect, **more):
    connection = connect(*arguments, **more)
    connection.set_progress_handler(stepped, 10)
    return connection

def resident(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1])

def noticed(record):
    global count
    count += 1
    if count % int(sys.argv[3]) == 0:
        workers = sorted(resident(pid) for pid in descendants(os.getpid()))
        rows.append([calls, steps, resident(os.getpid()), workers, len(os.listdir("/proc/self/fd"))])

sqlite3.connect = connected
sys.setprofile(called)
trio.run(partial(run_tournament, load_plan(sys.argv[1]), Path(sys.argv[2]), jobs=2, on_record=noticed))
sys.setprofile(None)
print(json.dumps(rows), descendants(os.getpid()))
"""


@pytest.mark.release
def test_thousands_of_matches(tmp_path: Path) -> None:
    plan, out = tmp_path / "plan.toml", tmp_path / "out"
    plan.write_text(plan_text(QUARTER, steps=2, journals=False))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, plan, out, str(QUARTER)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told, _, left = done.stdout.rpartition(" ")
    assert json.loads(left) == [], "a process is left"
    rows = json.loads(told)
    assert len(rows) == 4
    calls, steps, runner, workers, descriptors = zip(*rows, strict=True)
    assert len(set(map(len, workers))) == 1
    for early, late in zip(workers[0], workers[-1], strict=True):
        assert (late - early) * PAGES < 3 * QUARTER * 550, "a worker grows"
    assert (runner[-1] - runner[0]) * PAGES < 3 * QUARTER * 6000, "the runner keeps more than the records"
    assert len(set(descriptors)) == 1
    for work in (calls, steps):  # of Python's functions and SQLite's operations
        assert work[3] - work[2] < 2 * (work[1] - work[0]), "storing a match takes more and more work"
    store = Store(out)
    assert len(store.played()) == MATCHES
    store.close()
    assert {path.name for path in out.iterdir()} == {
        "tournament.db",
        "plan.toml",
        "flagfall.lock",
        "journals",
    }
    assert not list((out / "journals").iterdir())
