"""Ctrl-C, once and twice, sent to a real program."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time

import pytest

from flagfall.cli.console.interrupts import BLOCKED_SECONDS, interruptible

from .conftest import FLAGFALL, PATIENCE_SECONDS, ended, has_pending, last_event, until, until_played

pytestmark = pytest.mark.release

ENDLESS = "run -t micro1 --scheduler random --no-timeout --json -o run.jsonl -a "
LONG = ["run", "-t", "micro1", "-a", "random", "silent", "--steps", "200000"]
"""Matches of more than a second, where progress is drawn four times a second."""


@pytest.mark.parametrize("clock", ["wall", "virtual"])
def test_the_first_one_ends_the_match_cleanly(start, call, folder, clock):
    process = start(f"{ENDLESS} random silent --steps 100000000 --clock {clock}")
    until_played(folder / "run-0.jsonl")
    process.send_signal(signal.SIGINT)
    result = ended(process)
    assert result.code == 130
    assert result.err == "flagfall: stopping after this turn; Ctrl-C again to cancel at once\n"
    assert result.data()["ended"] == "signal"
    (match,) = result.data()["matches"]  # the second agent does not play any more
    assert match["reason"] == "stopped"
    assert last_event(folder / "run-0.jsonl").reason == "stopped"
    assert last_event(folder / "run-0.jsonl").turns == match["turns"] > 0
    assert call("verify run-0.jsonl").code == 0


def test_sigterm_does_the_same(start, folder):
    process = start(f"{ENDLESS} random")
    until_played(folder / "run.jsonl")
    process.terminate()
    result = ended(process)
    assert result.code == 143
    assert result.data()["matches"][0]["reason"] == "stopped"


def test_the_first_one_stops_an_agent_in_its_process(start, folder):
    process = start(f"{ENDLESS} bots.py:Block")
    until_played(folder / "run.jsonl")
    process.send_signal(signal.SIGINT)
    result = ended(process)
    assert result.code == 130
    assert result.data()["matches"][0]["reason"] == "stopped"
    until(lambda: not children_of(process.pid))


def children_of(pid: int) -> list[str]:
    done = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return done.stdout.split()


def test_the_second_one_cancels_a_match_that_is_still_ending(start, folder):
    (folder / "clingy.py").write_text(
        "import os, trio\n"
        "class Bot:\n"
        "    def act(self, observation):\n"
        "        return 32\n"
        "    async def close(self):\n"
        "        open('closing', 'w').close()\n"
        "        with trio.CancelScope(shield=True):\n"
        "            while not os.path.exists('enough'):\n"
        "                await trio.sleep(0.1)\n"
    )
    process = start(f"{ENDLESS} clingy.py:Bot --host task --steps 100000000")
    until_played(folder / "run.jsonl")
    process.send_signal(signal.SIGINT)
    until((folder / "closing").exists)
    process.send_signal(signal.SIGINT)
    until(lambda: not has_pending(process, signal.SIGINT))
    time.sleep(1)  # it is handled in the loop, beside the match
    (folder / "enough").touch()
    result = ended(process)
    assert result.code == 130
    assert result.data() == {"ended": "signal", "matches": []}  # a match that is cut off has no result
    assert last_event(folder / "run.jsonl").reason == "stopped"


@pytest.mark.parametrize("host", ["task", "thread"])
def test_two_are_enough_for_an_agent_that_blocks(start, folder, blocking, host):
    process = start(f"{ENDLESS} block.py:Bot --host {host}")
    until(blocking.exists)
    process.send_signal(signal.SIGINT)
    until(lambda: not has_pending(process, signal.SIGINT))
    time.sleep(2 * BLOCKED_SECONDS)
    process.send_signal(signal.SIGINT)
    result = ended(process)
    assert result.code == 130
    assert "Traceback" not in result.err
    assert json.loads(result.out)["ended"] == "signal"
    assert last_event(folder / "run.jsonl").reason == "stopped"


async def test_many_at_once_wait_for_the_event_loop() -> None:
    said: list[str] = []
    async with interruptible(said.append) as interrupts:
        for _ in range(5):
            signal.raise_signal(signal.SIGTERM)
        await interrupts.stop.wait()
    assert len(said) == 1
    assert interrupts.number == signal.SIGTERM
    assert not interrupts.cancelled


def test_while_agents_are_checked_nothing_is_left(start, folder, loading):
    process = start("run -t micro1 -a heavy.py:Bot -o run.jsonl")
    until(loading.exists)
    process.send_signal(signal.SIGINT)
    result = ended(process)
    assert (result.code, result.out, result.err) == (130, "", "")
    assert not (folder / "run.jsonl").exists()


# --- progress ----------------------------------------------------------------------------------------------


def test_progress_is_shown_on_a_terminal_only():
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [*FLAGFALL, *LONG],
            stdout=subprocess.PIPE,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        )
        os.close(theirs)
        shown = bytearray()
        try:
            while chunk := os.read(ours, 4096):
                shown += chunk
        except OSError:  # Linux says so when the other end is closed
            pass
        out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        os.close(ours)
    assert process.returncode == 0
    assert b"match 0 (1 of 2): random" in shown
    assert b"match 1 (2 of 2): silent" in shown
    assert b"match 0 (1 of 2)" not in out
