"""Who holds up the loop pays for it, and nobody else: in real time, with a host that stalls."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from flagfall.agents.hosts.process import ProcessHost
from flagfall.agents.hosts.thread import ThreadHost
from flagfall.events import StallSeen
from flagfall.kernel.channels.turn_channel import Envelope
from flagfall.kernel.seat import HostSeat
from flagfall.timing import MS, TimeControl
from flagfall.timing.deadlines import DeadlineQueue
from flagfall.timing.heartbeat import HostMeter
from flagfall.timing.stalls import NO_COST, StallLedger, StallMonitor
from tests.fakes import CountTask, Played, Sleeper, TogetherTask, play_here

CONTROL = "start=20s act=60ms/20s"

ROOMY = "start=20s act=400ms/20s"
"""Far more than what a busy machine takes from an agent in a thread or a process, at its own cost. A stall of
600 ms is longer, and shorter than `HEARING_NS` even so."""


def block(seconds: float) -> None:
    """Hold up the loop without using the CPU."""
    time.sleep(seconds)


async def stall_while(match: Any, after: float, seconds: float = 0.2) -> Played:
    """Play, and hold up the loop from another task; first when the match is under way."""
    async with trio.open_nursery() as nursery:
        result: list[Played] = []

        async def playing() -> None:
            result.append(await match())
            nursery.cancel_scope.cancel()

        async def stalling() -> None:
            while True:
                await trio.sleep(after)
                block(seconds)

        nursery.start_soon(playing)
        nursery.start_soon(stalling)
    return result[0]


def nap(_observation: Any) -> int:
    time.sleep(0.01)
    return 7


@pytest.fixture
def agent_file(tmp_path: Any) -> Any:
    path = tmp_path / "napping.py"
    path.write_text("import time\ndef nap(observation):\n    time.sleep(0.01)\n    return 7\n")
    return path


@pytest.mark.parametrize("kind", ["task", "thread", "process"])
async def test_what_the_host_loses_is_not_charged(kind: str, agent_file: Any):
    made = {
        "task": lambda: Sleeper(0.01),
        "thread": lambda: ThreadHost(nap, "napping"),
        "process": lambda: ProcessHost(f"{agent_file}:nap", "napping"),
    }
    # Were stalls charged, turns would be late in every match; those that a busy machine makes late, in some.
    for _ in range(5):
        played = await stall_while(lambda: play_here(CountTask(6), made[kind](), control=ROOMY), 0.025, 0.6)
        if "late" not in played.verdicts():
            break
    assert played.verdicts() == ["on time"] * 6
    stalls = [e for e in played.events if isinstance(e, StallSeen)]
    if kind == "task":  # the others go on meanwhile, and when they answered is known
        assert played.stats().credit_ns > 500 * MS
        assert stalls
    assert all(seen.seat is None for seen in stalls)


async def test_an_agent_that_blocks_is_convicted_and_the_others_are_not():
    class Blocks:
        async def act(self, observation: int) -> int:
            block(0.6 if observation in {1, 2, 3} else 0)
            return 1

    other = Played()
    played = Played()
    async with trio.open_nursery() as nursery:

        async def elsewhere() -> None:
            await play_here(CountTask(12), Sleeper(0.02), control=ROOMY, into=other)

        nursery.start_soon(elsewhere)
        await play_here(TogetherTask(2, 6), Blocks(), Sleeper(0.02), control=ROOMY, into=played)
    assert played.verdicts(0) == ["on time", "late", "late", "late", "on time", "on time"]
    assert played.verdicts(1) == ["on time"] * 6
    assert other.verdicts() == ["on time"] * 12
    culprits = {e.seat for e in played.events if isinstance(e, StallSeen)}
    assert culprits - {None} == {0}  # on a busy machine the host takes time, too


async def test_an_agent_that_blocks_between_its_reply_and_the_next_turn_pays_itself():
    async def run(seat: Any) -> None:
        async for turn in seat:
            seat.reply(1)
            block(0.1 if turn.number == 1 else 0)

    played = await play_here(CountTask(5), run, control=CONTROL)
    assert played.verdicts() == ["on time", "on time", "late", "on time", "on time"]


async def test_a_slow_world_gives_nobody_time():
    """The next turn's clock starts after the step: what the step took is no credit."""

    class SlowWorld(TogetherTask):
        def step(self, action: Any) -> Any:
            block(0.6)
            return super().step(action)

    async def late(_observation: int) -> int:
        await trio.sleep(0.7)  # 300 ms too long: on time only if the step were credited
        return 1

    played = await play_here(SlowWorld(2, 2), late, Sleeper(0.0), control=ROOMY)
    assert played.verdicts(0) == ["late"] * 2
    assert played.verdicts(1) == ["on time"] * 2


async def test_a_bank_is_charged_with_what_the_agent_used():
    played = await stall_while(
        lambda: play_here(CountTask(10), Sleeper(0.02), control="start=20s bank=700ms"), 0.03, 0.1
    )
    assert played.verdicts() == ["on time"] * 10
    assert sum(t.spent_ns for t in played.turns) < 500 * MS


async def test_waiting_in_the_queue_behind_busy_matches_is_not_charged():
    async def busy(observation: int) -> int:
        return observation % 100

    matches = [Played() for _ in range(64)]
    async with trio.open_nursery() as nursery:
        for into in matches:

            async def one(into: Played = into) -> None:
                await play_here(CountTask(300), busy, control="start=20s act=20ms/10s", into=into)

            nursery.start_soon(one)
    for played in matches:
        assert played.verdicts() == ["on time"] * 300


def test_the_step_that_runs_is_looked_at_too():
    ledger = StallLedger()
    meter = HostMeter(time.perf_counter_ns())
    watch = StallMonitor(time.perf_counter_ns, ledger, meter)
    began_ns = time.perf_counter_ns()
    block(0.02)
    cost = watch.cost_of_this_step(time.perf_counter_ns())
    watch.close()
    assert cost.own_ns >= 15 * MS  # it slept: its own doing
    assert cost.stopped_ns == 0
    assert ledger.step_began_ns <= began_ns


def judged(
    stalls: list[tuple[float, float]], control: str = "act=40ms/20s", phase: Any = "act"
) -> tuple[float, str]:
    """When a seat that never answers is judged, in ms, and how.

    Args:
        stalls: when the loop began to stand still, and for how long, in ms; it is entered when it is over.
        control: the seat's time control.
        phase: what it is asked.
    """
    now_ns = 0
    verdicts: list[tuple[float, str]] = []
    keeper: Any = SimpleNamespace(
        now=lambda: now_ns,
        deadlines=DeadlineQueue(),
        ledger=StallLedger(),
        cost_of_this_step=lambda _now_ns: NO_COST,
    )
    referee: Any = SimpleNamespace(
        abortable=False,
        result_until_ns=0,
        is_paced=lambda _phase: False,
        deadline=lambda _seat, verdict, _spent_ns, _credit_ns: verdicts.append((now_ns / MS, verdict)),
        disqualified=lambda _seat, _reason, _detail: verdicts.append((now_ns / MS, "disqualified")),
    )
    seat = HostSeat(0, TimeControl.parse(control), keeper, referee)
    seat.post(Envelope(0, None, 0, phase, None), 0)
    left = list(stalls)
    while not verdicts:
        now_ns = max(now_ns, seat.clock.due_ns)
        while left and left[0][0] * MS <= now_ns:
            began, lost = left.pop(0)
            now_ns = max(now_ns, int((began + lost) * MS))
            keeper.ledger.book(int(lost * MS), None, int((began + lost) * MS))
        seat.fire(now_ns)
    return verdicts[0]


@pytest.mark.parametrize(
    ("stalls", "at_ms"),
    [
        ([], 40),
        ([(10, 4)], 49),  # the agent has 40 ms of its own, and 5 for what the stall may have kept back
        ([(39, 4)], 49),
        ([(10, 100)], 145),
        ([(40, 4)], 45),  # what was lost after the deadline moves nothing
        ([(40, 100)], 140),  # it had all of its time: what lies ready is heard at once
        ([(10, 4), (44, 3)], 49),
        ([(10, 4), (44, 3), (49, 6), (56, 6)], 55),  # one grace period, whatever is lost while it lasts
    ],
)
def test_a_turn_has_one_grace_period_and_what_is_lost_in_it_begins_no_other(
    stalls: list[tuple[float, float]], at_ms: float
):
    passes_ms = 0.003 if stalls else 0
    assert judged(stalls) == (at_ms + passes_ms, "late")


@pytest.mark.parametrize("stalls", [[], [(10, 4)], [(40, 4)], [(10, 4), (44, 3)]])
@pytest.mark.parametrize(
    ("control", "phase"),
    [("start=40ms act=1s", "start"), ("act=40ms late=out", "act"), ("init=40ms", "init")],
)
def test_where_lateness_is_the_end_a_stall_does_not_make_it_less(stalls: Any, control: str, phase: str):
    at_ms, verdict = judged(stalls, control, phase)
    assert verdict == "disqualified"
    assert 40 <= at_ms <= judged(stalls)[0]


SUSPENDED = """
import sys, trio
from tests.fakes import CountTask, Sleeper, play_here
from flagfall.agents.hosts.process import ProcessHost
def announce(event):
    if getattr(event, "turn", None) == 0:
        print("go", flush=True)
async def main():
    agent = ProcessHost(sys.argv[1], "napping") if len(sys.argv) > 1 else Sleeper(0.01)
    control = "start=20s act=250ms/20s"
    played = await play_here(CountTask(60), agent, control=control, sinks=[announce])
    print(played.verdicts().count("late"), played.stats().credit_ns, flush=True)
trio.run(main)
"""


@pytest.mark.release
@pytest.mark.parametrize("in_process", [False, True])
def test_a_program_that_is_suspended_charges_nobody(agent_file: Any, in_process: bool):
    spec = [f"{agent_file}:nap"] if in_process else []
    with subprocess.Popen(
        [sys.executable, "-c", SUSPENDED, *spec], stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "go\n"  # turns are being played
        for _ in range(3):
            os.kill(program.pid, signal.SIGSTOP)
            time.sleep(0.4)  # longer than the limit, which is long enough for an agent on a busy machine
            os.kill(program.pid, signal.SIGCONT)
            time.sleep(0.06)
        late, credit_ns = map(int, program.stdout.readline().split())
    assert late == 0
    assert in_process or credit_ns > 100 * MS  # a process is not stopped, and when it answered is known
