"""Agents in the event loop, on the CPU clock too."""

from __future__ import annotations

import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import outcome
import pytest
import trio

import flagfall
from flagfall.agents.hosts.this_process import LoopHost
from flagfall.errors import HostFault, UsageError
from flagfall.timing import MS, NEVER_NS, VirtualClock
from flagfall.timing.clocks import StepClock
from tests.fakes import CountTask, Played, Sleeper, TogetherTask, play, play_here


def burn(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


async def test_on_the_cpu_clock_sleeping_costs_nothing():
    async def act(_observation: int) -> int:
        await trio.sleep(0.06)
        return 1

    played = await play_here(CountTask(3), act, control="start=1s act=30ms/1s clock=cpu")
    assert played.verdicts() == ["on time"] * 3


async def test_on_the_cpu_clock_computing_counts_and_only_the_agents_own():
    async def act(observation: int) -> int:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep, 0.001)
            burn(0.05 if observation == 1 else 0.001)
        return 1

    async def noise() -> None:
        while True:
            burn(0.01)
            await trio.sleep(0.001)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(noise)
        played = await play_here(CountTask(4), act, control="start=1s act=30ms/10s clock=cpu")
        nursery.cancel_scope.cancel()
    assert played.verdicts() == ["on time", "late", "on time", "on time"]
    assert 50 * MS <= played.turns[1].spent_ns < 70 * MS


async def test_on_the_cpu_clock_waiting_for_the_loop_makes_no_turn_late():
    async def act(_observation: int) -> int:
        await trio.sleep(0.001)
        return 1

    async def hold_up() -> None:
        while True:
            time.sleep(0.4)  # longer than ten times the limit  # noqa: ASYNC251 - that is the point
            await trio.sleep(0.001)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(hold_up)
        played = await play_here(CountTask(3), act, control="start=1s act=30ms/10s clock=cpu")
        nursery.cancel_scope.cancel()
    assert played.verdicts() == ["on time"] * 3


async def test_on_the_cpu_clock_a_sleeper_ends_all_the_same():
    async def act(_observation: int) -> int:
        await trio.sleep(60)
        return 1

    began = time.perf_counter()
    played = await play_here(CountTask(2), act, control="start=1s act=5ms late=out clock=cpu")
    assert played.reason == "seats"
    assert 0.05 <= time.perf_counter() - began < 1
    installed = trio._core._run.GLOBAL_RUN_CONTEXT.runner.instruments["_all"]
    assert not any(isinstance(instrument, StepClock) for instrument in installed)


def test_agents_of_every_kind_are_asked_alike():
    class Bytes:
        def reply(self, byte: int, reward: float) -> Any:
            return byte if reward else "A"

    class Timed:
        def act(self, observation: int, timer: Any) -> int:
            assert timer.remaining_ns == 40 * MS
            return observation

    async def act(observation: int) -> int:
        return observation

    async def actor(seat: Any) -> None:
        async for turn in seat:
            seat.reply(turn.observation)

    for agent in (Timed, Timed(), act, actor, lambda observation: observation):
        assert play(CountTask(3), LoopHost(agent, "any")).actions() == [0, 1, 2]
    assert play(CountTask(3), Bytes).actions() == [65, 1, 2]


def test_arguments_go_by_their_names():
    seen: list[Any] = []

    class Rewarded:
        def act(self, observation: int, reward: float) -> int:
            seen.append(reward)
            return observation + 5

        def result(self, _observation: int, elapsed_timer: Any) -> None:
            seen.append(elapsed_timer.limit_ns)

    class Both:
        def act(self, observation: int, timer: Any, speed: int = 5, *, last_reward: float = 9) -> int:
            assert timer.limit_ns == 40 * MS
            seen.append(last_reward)
            return observation + speed

    class Byte:
        def reply(self, byte: int, timer: Any, _reward: float) -> int:
            assert timer.limit_ns == 40 * MS
            seen.append(_reward)
            return byte + 5

    for agent in (Rewarded, Both, Byte):
        assert play(CountTask(3), agent).actions() == [5, 6, 7]
    assert seen == [0, 5, 6, NEVER_NS, 0, 5, 6, 0, 5, 6]


@pytest.mark.parametrize("method", ["act", "init", "reply", "result"])
def test_arguments_of_no_meaning_are_refused(method: str):
    def taken(self: Any, observation: int, reward: float, info: Any) -> None: ...

    methods = {} if method == "reply" else {"act": lambda _self, _observation: 1}
    agent = type("Odd", (), {**methods, method: taken})
    (fell,) = play(CountTask(3), agent).disqualified
    assert fell.reason == "not started"
    assert "taken(observation, reward, info): no agent gets 'info'; the arguments behind" in fell.detail


def test_what_is_no_agent_does_not_start():
    for agent in (object(), 5, None):
        played = play(CountTask(1), LoopHost(agent, "none"))
        assert (played.reason, played.disqualified[0].reason) == ("seats", "not started")
        assert "is not an agent" in played.disqualified[0].detail


SWALLOWING = """
import pytest
import trio
from tests.fakes import CountTask, play
async def act(observation):
    while True:
        try:
            await trio.sleep_forever()
        except BaseException:
            pass
print(play(CountTask(100), act).reason)
"""


def test_a_program_ends_though_an_agent_of_its_ignored_everything():
    ended = subprocess.run(
        [sys.executable, "-c", SWALLOWING], capture_output=True, text=True, timeout=60, check=True
    )
    assert ended.stdout == "seats\n"
    assert ended.stderr == ""


@pytest.mark.parametrize("where", ["start", "act"])
def test_a_traceback_begins_with_the_agents_own_code(where: str):
    class Broken:
        def start(self, _briefing: Any) -> None:
            if where == "start":
                raise ValueError("boom")

        def act(self, _observation: int) -> int:
            raise ValueError("boom") from KeyError("why")

    detail = play(CountTask(1), Broken).disqualified[0].detail
    assert detail.rstrip().endswith("ValueError: boom")
    frames = [line for line in detail.splitlines() if line.lstrip().startswith("File")]
    assert [Path(__file__).name in frame for frame in frames] == [True]
    assert ("KeyError: 'why'" in detail) == (where == "act")


def test_a_traceback_of_an_agent_that_cannot_be_called_is_not_empty():
    class Takes:
        act = staticmethod(len)  # has no frame of its own

    detail = play(CountTask(1), Takes).disqualified[0].detail
    assert "File" in detail
    assert "TypeError" in detail


def test_an_agents_own_usage_error_is_a_crash_and_not_the_callers():
    def act(_observation: int) -> int:
        raise UsageError("asked for nonsense")

    played = play(CountTask(1), act)
    assert played.disqualified[0].reason == "crashed"
    assert "asked for nonsense" in played.disqualified[0].detail


async def leaves_a_scope_open(seat: Any) -> None:
    trio.CancelScope(shield=True).__enter__()
    async for _turn in seat:
        seat.reply(1)


async def leaves_a_nursery_open(seat: Any) -> None:
    nursery = await trio.open_nursery().__aenter__()
    nursery.start_soon(trio.sleep_forever)
    async for _turn in seat:
        seat.reply(1)


async def cancels_its_parent(seat: Any) -> None:
    trio.lowlevel.current_task().parent_nursery.cancel_scope.cancel()  # type: ignore[union-attr]
    async for _turn in seat:
        seat.reply(1)


async def starts_what_fails_in_its_parent(seat: Any) -> None:
    async def fails() -> None:
        raise ValueError("boom")

    trio.lowlevel.current_task().parent_nursery.start_soon(fails)  # type: ignore[union-attr]
    async for _turn in seat:
        seat.reply(1)


@pytest.mark.parametrize("clock", ["wall", "virtual"])
@pytest.mark.parametrize(
    "agent",
    [
        leaves_a_scope_open,
        leaves_a_nursery_open,
        cancels_its_parent,
        starts_what_fails_in_its_parent,
    ],
)
def test_what_an_agent_does_to_its_scopes_and_nurseries_ends_its_own_match_at_most(agent: Any, clock: str):
    honest, other = Sleeper(0.002), Played()
    faults: list[HostFault] = []
    bad = Played()

    async def play_bad() -> None:
        try:
            await play_here(TogetherTask(2, 3), agent, honest, into=bad)
        except HostFault as fault:
            faults.append(fault)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(play_bad)
            await play_here(CountTask(5), Sleeper(0.003), control="act=60s", into=other)

    trio.run(main, clock=VirtualClock() if clock == "virtual" else None)
    assert other.verdicts() == ["on time"] * 5
    assert all(seat.seat == 0 for seat in bad.disqualified)
    assert bad.events[-1].reason == ("void" if faults else "finished")
    assert faults or bad.disqualified


async def detaches() -> None:
    await trio.lowlevel.permanently_detach_coroutine_object(outcome.Value(None))


async def raises_the_fault_of_a_host() -> None:
    raise HostFault("it is not mine")


@pytest.mark.parametrize("clock", ["wall", "virtual"])
@pytest.mark.parametrize("bad", [detaches, raises_the_fault_of_a_host])
def test_an_agent_that_plays_tricks_on_the_event_loop_ends_alone(bad: Any, clock: str) -> None:
    async def agent(seat: Any) -> None:
        await seat.turn()
        seat.reply(0)
        await bad()

    async def both() -> Any:
        with trio.fail_after(30):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(partial(flagfall.play, "micro1", "silent", steps=30, host="task"))
                return await flagfall.play(
                    "micro1", agent, steps=30, time_control="start=5s act=100ms/300ms", host="task"
                )

    result = trio.run(both, clock=VirtualClock() if clock == "virtual" else None)
    assert result.reason == "seats"
    assert result.seats[0].disqualified in {"crashed", "late"}
