"""`flagfall explore`: what it prints, its exit codes, and the command that shows a case again."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time

import pytest

from tests.command_line import call_main
from tests.tournament.runs import plan_text

MATCH = "explore --task micro1 --agent random --host task"


@pytest.fixture
def mine(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "def is_on_time(run):\n"
        '    "Check that nobody is ever late."\n'
        "    for event in run.events:\n"
        "        assert getattr(event, 'verdict', '') != 'late', f'turn {event.turn} was late'\n"
    )
    return f"{file}:is_on_time"


def test_invariants_that_hold_are_a_success_with_counts(capfd):
    ended = call_main(capfd, f"{MATCH} --runs 60")
    assert ended.code == 0, ended.err
    assert "60 simulations (" in ended.out
    assert "every invariant held" in ended.out
    assert "crash " in ended.out
    assert call_main(capfd, f"{MATCH} --runs 3 --quiet").out == ""


def test_a_broken_invariant_is_shown_again_by_the_command_that_is_printed(capfd, mine):
    ended = call_main(capfd, f"{MATCH} --runs 500 --invariant", mine)
    assert ended.code == 1
    assert "is_on_time: nobody is ever late" in ended.out
    line = ended.out.partition("again:   ")[2].splitlines()[0]
    words = shlex.split(line)
    assert words[0] == "flagfall"
    again = call_main(capfd, words[1], *words[2:])
    assert again.code == 1
    assert again.out.partition("is_on_time")[2] == ended.out.partition("is_on_time")[2]
    assert len(words[-1].split(";")) <= 6  # seed, time control, steps, and at most three faults


def test_a_search_as_data(capfd, mine):
    found = call_main(capfd, f"{MATCH} --runs 500 --json --invariant", mine).data()
    assert found["finding"]["rule"] == "is_on_time"
    assert found["again"].endswith(shlex.quote(found["finding"]["case"]))
    assert found["runs"] <= 500


def test_a_plan_is_explored_with_its_tournament(capfd, tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text(plan_text(1))
    found = call_main(capfd, f"explore {plan} --runs 120 --json")
    assert found.code == 0, found.out
    assert {"crash", "kill runner", "store full"} <= found.data()["happened"].keys()


@pytest.mark.parametrize(
    ("line", "last", "why"),
    [
        ("explore", [], "name at least one agent"),
        ("explore --task micro1", [], "name at least one agent"),
        ("explore plan.toml --task micro1", [], "a plan has its own tasks and agents"),
        (f"{MATCH} --runs 0", [], "--runs 0: write a whole number, at least 1"),
        (f"{MATCH} --seed -1", [], "seed -1: a seed is a whole number from 0 to"),
        (f"{MATCH} --time x", [], "x"),
        (f"{MATCH} --invariant mine", [], "--invariant 'mine': write module:function or file.py:function"),
        (f"{MATCH} --again", ["seed x"], "'seed x': write a whole number behind seed"),
        (f"{MATCH} --again", ["ground 7"], "ground 7: write 0 to 0"),
        (
            f"{MATCH} --again",
            ["seat 0: disconnect @turn 2"],
            "only agents with host remote (remote: without --host)",
        ),
        ("explore --task micro1 --agent", ["cmd:true"], "cannot be simulated"),
        ("explore nowhere", [], "unknown plan 'nowhere'"),
    ],
)
def test_what_cannot_be_explored_is_refused_in_one_line(capfd, line, last, why):
    ended = call_main(capfd, line, *last)
    assert ended.code == 2, ended.err
    assert why in ended.err
    assert len(ended.err.splitlines()) == 1


def test_ctrl_c_prints_what_is_known(tmp_path):
    seen = tmp_path / "seen"
    (tmp_path / "mine.py").write_text(f"def seen(run): open({str(seen)!r}, 'w').close()\n")
    command = [sys.executable, "-m", "flagfall", *MATCH.split(), "--runs", "1000000", "--json"]
    command += ["--invariant", f"{tmp_path / 'mine.py'}:seen"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        while not seen.exists():
            assert running.poll() is None
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        out, _err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert json.loads(out)["runs"] > 0
