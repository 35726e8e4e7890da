"""`flagfall capacity`, and `tournament --jobs auto`."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from flagfall.tournament.run.turn_delays import counts_delays
from tests.cli.conftest import PATIENCE_SECONDS

Call = Callable[..., Any]
Start = Callable[..., Any]


class Ended(NamedTuple):
    out: str
    err: str


PLAN = """
repeats = 2
time_control = "act=1s/10s"

[[agents]]
spec = "random"
host = "task"

[[tasks]]
task = "micro1"
steps = 20
"""

BREAKS = """
class Breaks:
    def start(self, briefing):
        raise SystemExit(3)

    def act(self, observation):
        return 1
"""

needs_counters = pytest.mark.skipif(not counts_delays(), reason="the kernel counts no delays")


@pytest.fixture
def plan(folder: Path) -> Path:
    path = folder / "mine.toml"
    path.write_text(PLAN)
    return path


@pytest.fixture
def interrupted(start: Start, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Ended]:
    """Measure without end, press Ctrl-C when hundreds of turns were played, and return the output."""
    temporary = folder / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))

    def measure(words: str) -> Ended:
        runner = start(f"capacity mine.toml --time 1h {words}")
        end = time.monotonic() + PATIENCE_SECONDS
        while not any(file.stat().st_size > 20_000 for file in temporary.glob("*/delays")):
            assert time.monotonic() < end, "no turn was played"
            time.sleep(0.05)
        runner.send_signal(signal.SIGINT)
        out, err = runner.communicate(timeout=PATIENCE_SECONDS)
        assert runner.returncode == 130, err
        assert "Traceback" not in err
        assert list(temporary.iterdir()) == []
        return Ended(out, err)

    return measure


@needs_counters
@pytest.mark.usefixtures("plan")
def test_the_answer_stands_first_and_nothing_is_recorded(
    interrupted: Callable[[str], Ended], folder: Path
) -> None:
    before = sorted(folder.rglob("*"))
    ended = interrupted("--bound 1h")
    assert ended.out.startswith("at least 1 match at once\n")
    assert "bound: 3600s in 99 of 100 turns" in ended.out
    assert "memory: " in ended.out
    assert "processes: " in ended.out
    assert sorted(folder.rglob("*")) == before


@needs_counters
@pytest.mark.usefixtures("plan")
def test_json_has_all_measurements(interrupted: Callable[[str], Ended]) -> None:
    found = json.loads(interrupted("--bound 50% --json").out)
    assert found["bound_ns"] == 500_000_000
    (first,) = found["levels"]
    assert first["jobs"] == 1
    assert sum(window["turns"] for window in first["windows"]) == first["turns"] >= 100


def test_the_virtual_clock_needs_no_measurement(plan: Path, call: Call) -> None:
    plan.write_text('clock = "virtual"\n' + PLAN)
    cores = len(os.sched_getaffinity(0))
    ended = call("capacity mine.toml --time 1h")
    assert ended.out.startswith(f"{cores} match")
    assert "one match for each processor" in ended.out


@pytest.mark.usefixtures("plan")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("mine.toml --time 10", "--time: '10' has no unit"),
        ("mine.toml --time 2h", "--time 2h: write a duration from 1s to 1h"),
        ("mine.toml --bound 0%", "bound 0%: write a time above 0"),
        ("mine.toml --bound fast", "'fast' is not a duration"),
        ("untimed.toml --bound 5%", "no turn of the plan is limited"),
        ("missing.toml", "missing.toml"),
        ("broken.toml", "agents"),
        ("nobody.toml", "has no 'Nobody'"),
    ],
)
def test_wrong_words_and_plans_are_refused_in_one_line(
    call: Call, folder: Path, words: str, message: str
) -> None:
    (folder / "broken.toml").write_text("agents = 3")
    (folder / "untimed.toml").write_text(PLAN.replace("act=1s/10s", "untimed"))
    (folder / "nobody.toml").write_text(PLAN + '\n[[agents]]\nspec = "bots.py:Nobody"\n')
    ended = call(f"capacity {words}")
    assert ended.code == 2
    assert ended.out == ""
    assert message in ended.err
    assert "Traceback" not in ended.err


@needs_counters
def test_agents_that_never_start_are_the_reason(plan: Path, call: Call, folder: Path) -> None:
    (folder / "breaks.py").write_text(BREAKS)
    plan.write_text(PLAN.replace('spec = "random"\nhost = "task"', 'spec = "breaks.py:Breaks"'))
    ended = call("capacity mine.toml --time 1m")
    assert ended.code == 1
    assert ended.out == ""
    (line,) = ended.err.splitlines()
    assert "no turn was played in the probe: Breaks was disqualified" in line


@needs_counters
@pytest.mark.release
@pytest.mark.usefixtures("plan")
def test_a_tournament_plays_as_many_as_the_machine_carries(call: Call) -> None:
    ended = call("tournament mine.toml -o out --jobs auto --json")
    assert ended.code == 0
    assert re.search(r"jobs auto: [1-9]\d* at once; this machine carries ", ended.err)
    assert ended.data()["rows"][0]["matches"] == 2
    again = call("tournament mine.toml -o out --jobs auto --resume --json")
    assert "jobs auto" not in again.err


@pytest.mark.usefixtures("plan")
def test_other_words_for_jobs_are_refused(call: Call) -> None:
    assert call("tournament mine.toml --jobs 0").code == 2
    ended = call("tournament mine.toml --jobs many")
    assert ended.code == 2
    assert "auto" in ended.err
    assert "at the same time" in call("tournament mine.toml --jobs auto --dry-run").out
