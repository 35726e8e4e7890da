"""A program that is stopped as a whole charges no agent; an agent that blocks is charged all the same."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from flagfall.agents.hosts.process import ProcessHost
from flagfall.agents.hosts.thread import ThreadHost
from tests.fakes import CountTask, play_here

CONTROL = "start=20s act=500ms/1500ms"
STOP_SECONDS, LONG_STOP_SECONDS = 0.7, 1.8
"""Beyond the limit of a turn, and beyond the hard one. An honest agent needs 10 ms of the limit; the rest is
for what a busy machine takes from it."""

MATCH = """
import sys, time, trio
from tests.fakes import CountTask, Sleeper, play_here
from flagfall.agents.hosts.process import ProcessHost
from flagfall.agents.hosts.thread import ThreadHost

async def computes(observation):
    until = time.thread_time() + 0.004
    while time.thread_time() < until:
        pass
    return 7

async def naps_in_the_loop(observation):
    time.sleep(0.01)
    return 7

def naps(observation):
    time.sleep(0.01)
    return 7

async def main():
    agents = {
        "sleeps": lambda: Sleeper(0.01),
        "computes": lambda: computes,
        "naps in the loop": lambda: naps_in_the_loop,
        "thread": lambda: ThreadHost(naps, "napping"),
        "process": lambda: ProcessHost(sys.argv[3], "napping"),
    }
    stop = trio.Event()
    async def until_input_ends():
        await trio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
        stop.set()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(until_input_ends)
        print("go", flush=True)
        played = await play_here(CountTask(10**9), agents[sys.argv[1]](), control=sys.argv[2], stop=stop)
        nursery.cancel_scope.cancel()
    print(played.stats().late, len(played.disqualified), len(played.turns), flush=True)

trio.run(main)
"""

AGENTS = ["sleeps", "computes", "naps in the loop", "thread", "process"]
STOPS = int(os.environ.get("FLAGFALL_STOPS", "8"))
FREEZER = Path("/sys/fs/cgroup/freezer")


@pytest.fixture
def agent_file(tmp_path: Path) -> Path:
    path = tmp_path / "napping.py"
    path.write_text("import time\ndef nap(observation):\n    time.sleep(0.01)\n    return 7\n")
    return path


@contextmanager
def matches(agent_file: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """A program for each kind of agent, all of them playing."""
    with ExitStack() as stack:
        programs = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", MATCH, agent, CONTROL, f"{agent_file}:nap"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for agent in AGENTS
        ]
        for program in programs:
            assert program.stdout is not None
            program.stdout.readline()
        time.sleep(0.5)  # the process is up
        yield programs


def outcome(program: subprocess.Popen[str]) -> tuple[int, int, bool]:
    """Late turns, seats that are out, and whether it played at all."""
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.close()
    late, out, turns = map(int, program.stdout.readline().split())
    return late, out, turns > STOPS


@pytest.mark.release
def test_a_program_that_is_stopped_charges_no_honest_agent(agent_file: Path):
    with matches(agent_file) as programs:
        for number in range(STOPS + 1):
            for program in programs:
                program.send_signal(signal.SIGSTOP)
            time.sleep(LONG_STOP_SECONDS if number == STOPS else STOP_SECONDS)
            for program in programs:
                program.send_signal(signal.SIGCONT)
            time.sleep(0.05 + number % 8 * 0.003)
        outcomes = {agent: outcome(program) for agent, program in zip(AGENTS, programs, strict=True)}
    assert outcomes == dict.fromkeys(AGENTS, (0, 0, True))


@pytest.mark.release
@pytest.mark.skipif(not os.access(FREEZER / "cgroup.procs", os.W_OK), reason="no cgroup can be frozen here")
def test_a_program_in_a_frozen_cgroup_charges_no_honest_agent(agent_file: Path):
    group = FREEZER / f"flagfall-test-{os.getpid()}"
    group.mkdir()
    try:
        with matches(agent_file) as programs:
            try:
                for program in programs:
                    (group / "cgroup.procs").write_text(str(program.pid))
                for number in range(STOPS // 2):
                    (group / "freezer.state").write_text("FROZEN")
                    time.sleep(STOP_SECONDS)
                    (group / "freezer.state").write_text("THAWED")
                    time.sleep(0.05 + number % 8 * 0.003)
            finally:
                (group / "freezer.state").write_text("THAWED")
            outcomes = {agent: outcome(program) for agent, program in zip(AGENTS, programs, strict=True)}
    finally:
        group.rmdir()
    assert outcomes == dict.fromkeys(AGENTS, (0, 0, True))


BLOCKED_SECONDS = 0.2
"""Much longer than a turn may take: on a busy machine part of it is credited as load."""


def sleeps() -> None:
    time.sleep(BLOCKED_SECONDS)


def reads() -> None:
    with subprocess.Popen(["sleep", str(BLOCKED_SECONDS)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.read()


def spins() -> None:
    until = time.thread_time() + BLOCKED_SECONDS
    while time.thread_time() < until:
        pass


def holds_the_gil() -> None:
    ctypes.PyDLL(None).usleep(int(BLOCKED_SECONDS * 1e6))


BLOCKS = [sleeps, reads, spins, holds_the_gil]


@contextmanager
def continued() -> Iterator[None]:
    """Another process sends this one SIGCONT all the time, though it is not stopped."""
    program = "import os, sys, time\nwhile True:\n os.kill(int(sys.argv[1]), 18)\n time.sleep(0.002)"
    with subprocess.Popen([sys.executable, "-c", program, str(os.getpid())]) as sender:
        try:
            yield
        finally:
            sender.kill()


@pytest.mark.release
@pytest.mark.parametrize("block", BLOCKS)
async def test_an_agent_in_the_loop_that_blocks_is_charged_and_a_signal_buys_it_no_time(
    block: Callable[[], None],
):
    async def act(_observation: Any) -> int:
        block()
        return 7

    with continued():
        played = await play_here(CountTask(4), act, control="start=20s act=60ms/20s")
    assert played.verdicts() == ["late"] * 4


@pytest.mark.release
@pytest.mark.parametrize("kind", ["thread", "process"])
async def test_an_agent_elsewhere_that_is_slow_is_charged_and_a_signal_buys_it_no_time(
    kind: str, tmp_path: Path
):
    path = tmp_path / "slow.py"
    path.write_text(f"import time\ndef slow(observation):\n    time.sleep({BLOCKED_SECONDS})\n    return 7\n")

    def slow(_observation: Any) -> int:
        sleeps()
        return 7

    agent = ThreadHost(slow, "slow") if kind == "thread" else ProcessHost(f"{path}:slow", "slow")
    with continued():
        played = await play_here(CountTask(4), agent, control="start=20s act=60ms/20s")
    assert set(played.verdicts()) == {"late"}
