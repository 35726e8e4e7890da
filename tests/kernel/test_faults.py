"""Whose fault is it? What a task, a scheduler or a sink raises voids the match; an agent pays for its own."""

from __future__ import annotations

import asyncio
import gc
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trio

import flagfall
from flagfall.errors import HostFault, UsageError
from flagfall.events import MatchEnded, TaskEnded, TaskStarted, TurnPlayed
from flagfall.kernel.outcomes import MatchResult, StepResult
from flagfall.recording.journal.reader import read_journal
from flagfall.recording.journal.writer import Journal
from flagfall.timing import MS, VirtualClock
from tests.fakes import (
    ActorTask,
    CountTask,
    InTurnTask,
    ListScheduler,
    Played,
    Sleeper,
    TogetherTask,
    play,
    play_here,
)


def void(tasks: Any, *agents: Any, **options: Any) -> tuple[HostFault, Played]:
    """Play a match that must be void; the fault must come bare, and the record must say so."""
    into = Played()
    with pytest.raises(HostFault) as caught:
        play(tasks, *agents, into=into, **options)
    assert isinstance(into.events[-1], MatchEnded)
    return caught.value, into


@pytest.mark.parametrize("where", ["reset", "step", "result", "metrics", "close"])
@pytest.mark.parametrize("continuous", [False, True])
def test_a_task_that_raises_voids_the_match(where: str, continuous: bool):
    scheduler = ListScheduler([CountTask(continuous=continuous, fails_in=where)])
    fault, played = void(scheduler, Sleeper(0.01))
    assert isinstance(fault.__cause__, ValueError)
    assert f"failed in {where}" in str(fault)
    assert played.events[-1].reason == "void"
    assert "failed in" in played.events[-1].detail
    assert scheduler.closed == 1
    assert scheduler.tasks[0].closed == 1


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), -float("inf")])
def test_a_reward_that_is_no_number_voids_the_match_and_its_journal_is_sound(reward: float, tmp_path: Path):
    class Broken(CountTask):
        def step(self, action: Any) -> StepResult:
            return super().step(action)._replace(reward=reward if len(self.taken) == 2 else 1)

    path = tmp_path / "run.jsonl"
    fault, _played = void(Broken(3), Sleeper(0.01), sinks=[Journal(path)])
    assert "task count: its reward was" in str(fault)
    assert "finite" in str(fault)
    *_, ended = read_journal(path)
    assert isinstance(ended, MatchEnded)
    assert ended.reason == "void"


@pytest.mark.parametrize("where", ["set_seed", "next_task", "report", "close"])
def test_a_scheduler_that_raises_voids_the_match(where: str):
    scheduler = ListScheduler([CountTask()], fails_in=where)
    fault, played = void(scheduler, Sleeper(0.01))
    assert isinstance(fault.__cause__, ValueError)
    assert played.events[-1].reason == "void"
    assert scheduler.closed == 1


def test_the_agents_are_closed_all_the_same():
    class Closing(Sleeper):
        closed = 0

        def close(self) -> None:
            self.closed += 1

    agent = Closing(0.01)
    void(ListScheduler([CountTask()], fails_in="report"), agent)
    assert agent.closed == 1


@pytest.mark.parametrize("after", [0, 1, 2, 3, 4, 5])
def test_a_sink_that_raises_voids_the_match_and_the_others_hear_all(after: int):
    seen: list[Any] = []

    def bad(event: Any) -> None:
        seen.append(event)
        if len(seen) > after:
            raise ValueError("the sink failed")

    fault, played = void(CountTask(3), Sleeper(0.01), sinks=[bad])
    assert isinstance(fault.__cause__, ValueError)
    assert played.events[-1].reason == "void"
    assert seen == played.events

    later: list[Any] = []
    seen.clear()
    with pytest.raises(HostFault):
        play(CountTask(3), Sleeper(0.01), into=Played(), sinks=[bad, later.append])
    assert isinstance(later[-1], MatchEnded)


@pytest.mark.parametrize("clock", [None, VirtualClock()], ids=["wall", "virtual"])
@pytest.mark.parametrize("seconds", [0.2, 0.02], ids=["a deadline", "a reply"])
def test_a_turn_that_no_journal_can_hold_voids_its_own_match_alone(
    seconds: float, clock: VirtualClock | None, tmp_path: Path
):
    class ShowsObjects(TogetherTask):
        def reset(self, _seed: int) -> Any:
            return dict.fromkeys(self.players, object())

    path = tmp_path / "run.jsonl"
    bad, other, faults = Played(), Played(), list[HostFault]()

    async def play_bad() -> None:
        try:
            agents = Sleeper(0.0), Sleeper(seconds)
            await play_here(ShowsObjects(), *agents, control="act=50ms/60s", into=bad, sinks=[Journal(path)])
        except HostFault as fault:
            faults.append(fault)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(play_bad)
            await play_here(CountTask(5), Sleeper(0.03), control="act=60s", into=other)

    trio.run(main, clock=clock)
    assert [f"journal {path}: turn 0 cannot be written" in str(fault) for fault in faults] == [True]
    assert bad.disqualified == []
    assert other.verdicts() == ["on time"] * 5
    *_, ended = read_journal(path)
    assert isinstance(ended, MatchEnded)
    assert ended.reason == "void"


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), asyncio.CancelledError()], ids=repr)
@pytest.mark.parametrize("crashes", [False, True])
@pytest.mark.parametrize("seats", [1, 2])
def test_a_turn_in_which_a_sink_fails_is_over_for_everybody(seats: int, crashes: bool, error: BaseException):
    def fail_once(event: Any) -> None:
        if isinstance(event, TurnPlayed) and event.turn == 1 and not failed:
            failed.append(event)
            raise error

    class Crashes(Sleeper):
        def close(self) -> None:
            if crashes:
                raise ValueError("after the end")

    failed: list[TurnPlayed] = []
    task = CountTask(3) if seats == 1 else TogetherTask(seats, 3)
    fault, played = void(task, *(Crashes(0.01) for _ in range(seats)), sinks=[fail_once])
    assert fault.__cause__ is error
    assert len(task.taken) == 2
    assert [(turn.turn, turn.seat) for turn in played.turns] == [(n, s) for n in (0, 1) for s in range(seats)]
    assert [end.steps for end in played.events if isinstance(end, TaskEnded)] == [2]
    assert played.events[-1].turns == 2
    assert {seat.reason for seat in played.disqualified} <= {"crashed"}
    assert len(played.disqualified) == seats * crashes


@pytest.mark.parametrize("clock", [None, VirtualClock()], ids=["wall", "virtual"])
def test_what_breaks_at_a_deadline_voids_its_own_match_alone(clock: VirtualClock | None):
    class BrokenHost:
        kind = "task"
        name = "broken"

        async def run(self, seat: Any, _briefing: Any) -> None:
            def absence() -> None:
                raise SystemExit("no idea")

            seat.absence = absence
            await trio.sleep_forever()

    bad, other = Played(), Played()

    async def play_bad() -> None:
        with pytest.raises(HostFault, match="SystemExit: no idea"):
            await play_here(CountTask(), BrokenHost(), control="start=50ms", into=bad)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(play_bad)
            await play_here(CountTask(5), Sleeper(0.03), control="act=60s", into=other)

    trio.run(main, clock=clock)
    assert bad.events[-1].reason == "void"
    assert other.verdicts() == ["on time"] * 5


class Writer:
    """A sink that writes; `fails_in` says where it does not."""

    def __init__(self, fails_in: str = "", pause_at: int = 10**9) -> None:
        self.fails_in = fails_in
        self.pause_at = pause_at
        self.events: list[Any] = []
        self.finished = trio.Event()
        self.drained = 0
        self.written = False

    def __call__(self, event: Any) -> None:
        self.events.append(event)
        if len(self.events) % self.pause_at == 0:
            self.pause()

    def attach(self, pause: Any, _real_work: Any) -> None:
        self.pause = pause

    async def run(self) -> None:
        self._maybe_fail("run")
        await self.finished.wait()
        await trio.sleep(1)
        self.written = True

    async def drain(self) -> None:
        self.drained += 1
        self._maybe_fail("drain")

    def finish(self) -> None:
        self.finished.set()

    def _maybe_fail(self, where: str) -> None:
        if where == self.fails_in:
            raise OSError(f"no room in {where}")


@pytest.mark.parametrize("error", [OSError("no room"), UsageError("it is used already")], ids=repr)
def test_a_writer_that_refuses_a_match_gets_nothing_of_it(error: Exception):
    class Refuses(Writer):
        def attach(self, _pause: Any, _real_work: Any) -> None:
            raise error

    task, writer = CountTask(), Refuses()
    with pytest.raises((HostFault, UsageError)) as caught:
        play(task, Sleeper(0.01), sinks=[writer])
    assert error in {caught.value, caught.value.__cause__}
    assert (writer.events, writer.finished.is_set(), task.taken) == ([], False, [])


@pytest.mark.parametrize("where", ["run", "drain"])
def test_a_writer_that_fails_voids_the_match(where: str):
    writer = Writer(where, pause_at=4)
    fault, _ = void(CountTask(30), Sleeper(0.01), sinks=[writer])
    assert isinstance(fault.__cause__, OSError)
    assert writer.finished.is_set()


def test_a_writer_is_waited_for_even_in_tasks_that_run_by_themselves():
    async def body(referee: Any) -> None:
        for _ in range(10):
            await referee.ask(0)

    writer = Writer(pause_at=4)
    assert play(ActorTask(body), Sleeper(0.01), sinks=[writer]).reason == "finished"
    assert writer.drained >= 2
    assert writer.written


@pytest.mark.parametrize("shown", [{"nobody": 1}, 5, None], ids=repr)
def test_a_task_that_shows_nonsense_does_not_strike_an_agent(shown: Any):
    class Nonsense(TogetherTask):
        def step(self, action: Any) -> Any:
            return super().step(action)._replace(observation=shown, terminated=False)

    fault, played = void(Nonsense(2), Sleeper(0.01), Sleeper(0.02))
    assert played.disqualified == []
    assert "together" in str(fault)


def test_what_is_legal_may_raise_anything():
    class Strict(CountTask):
        def is_legal(self, _action: Any) -> bool:
            raise SystemExit(1)

    assert play(Strict(2), Sleeper(0.01)).verdicts() == ["illegal"] * 2
    assert play(Strict(2), Sleeper(0.01), tick_ns=20 * MS).verdicts() == ["illegal"] * 2


def test_the_wrong_number_of_agents_is_the_hosts_fault():
    fault, _ = void(TogetherTask(3), Sleeper(0.01))
    assert "seats 3 agents, and 1 are here" in str(fault)


def test_what_cannot_be_played_is_said_before():
    for control, agents in (("clock=cpu", [Sleeper(0)]), ("act=1s", [])):
        with pytest.raises(UsageError):
            play(CountTask(), *agents, control=control)


@pytest.mark.parametrize("name", ["steps", "tick_ns"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "3", True, float("nan")], ids=repr)
def test_a_number_of_steps_or_a_tick_that_cannot_be_is_said_before(name: str, value: Any):
    task = CountTask(3)
    with pytest.raises(UsageError, match=rf"{name}={value!r}: it must be a whole number, at least 1"):
        play(task, Sleeper(0.01), **{name: value})
    assert task.taken == []


def test_playing_in_the_event_loop_of_asyncio_names_the_way_out():
    async def main() -> MatchResult:
        with pytest.raises(UsageError, match=r"await asyncio.to_thread\(flagfall.run, \.\.\.\)"):
            await flagfall.play("micro1", "random", steps=1)
        return await asyncio.to_thread(flagfall.run, "micro1", "random", steps=1)

    # In a thread of its own: the driver of a browser may have left its event loop in this one.
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(asyncio.run, main()).result().turns == 1


class Breaking:
    """Raises something in one of its methods."""

    def __init__(self, where: str, error: BaseException) -> None:
        self.where, self.error = where, error

    def _maybe(self, where: str) -> None:
        if where == self.where:
            raise self.error

    async def start(self, _briefing: Any) -> None:
        self._maybe("start")

    async def init(self, _observation: Any) -> None:
        self._maybe("init")

    async def act(self, _observation: Any) -> int:
        self._maybe("act")
        return 1

    async def result(self, _observation: Any, _reward: Any) -> None:
        self._maybe("result")

    async def close(self) -> None:
        self._maybe("close")


ERRORS = [
    ValueError("boom"),
    SystemExit(3),
    GeneratorExit(),
    asyncio.CancelledError(),
    trio.EndOfChannel(),
    BaseExceptionGroup("several", [SystemExit(1), ValueError("boom")]),
]


@pytest.mark.parametrize("where", ["start", "init", "act", "result", "close"])
@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
def test_an_agent_that_raises_loses_its_seat_only(where: str, error: BaseException):
    scheduler = ListScheduler([TogetherTask(2, 3)])
    played = play(scheduler, Breaking(where, error), Sleeper(0.01))
    assert played.reason == "finished"
    assert [f.seat for f in played.disqualified] == [0]
    assert played.verdicts(1) == ["on time"] * 3
    if not isinstance(error, trio.EndOfChannel):
        assert type(error).__name__ in played.disqualified[0].detail
        assert "_maybe" in played.disqualified[0].detail
    assert len(scheduler.outcomes) == 1


def test_a_cancellation_of_its_own_making_is_a_crash():
    async def act(_observation: Any) -> int:
        raise trio.Cancelled._create(source="unknown")

    played = play(CountTask(3), act)
    assert played.reason == "seats"
    assert played.disqualified[0].reason in {"crashed", "gone"}


def test_an_agent_that_breaks_while_it_is_stopped_does_not_break_the_match():
    async def worker() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise ValueError("in the way out")

    async def run(seat: Any) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(worker)
            async for _turn in seat:
                seat.reply(1)
            await trio.sleep_forever()

    assert play(TogetherTask(2, 3), run, Sleeper(0.01)).reason == "finished"
    assert play(CountTask(3), run).reason == "finished"


def test_an_agent_that_breaks_between_tasks_does_not_leave_the_match_waiting():
    class Once:
        async def run(self, seat: Any) -> None:
            await seat.turn()
            seat.reply(1)
            raise ValueError("done with it")

    played = play(ListScheduler([CountTask(1, continuous=True)] * 2, asynchronous=True), Once())
    assert played.reason == "seats"
    assert len(played.turns) == 1


@pytest.mark.parametrize("after_ms", [30, 40, 50])
def test_a_crash_costs_the_turn_that_was_taken_and_no_newer_one(after_ms: int):
    """Turn 0 is late at 40 ms, so turn 1 waits from then on; at 40 ms the crash comes first."""

    async def crashes(seat: Any) -> None:
        await seat.turn()
        await trio.sleep(after_ms / 1000)
        raise ValueError("boom")

    first = "late" if after_ms > 40 else "disqualified"
    alone = play(CountTask(3), crashes)
    assert (alone.reason, alone.verdicts()) == ("seats", [first])  # a turn that was not taken has no record
    beside = play(TogetherTask(2, 3), crashes, Sleeper(0.0))
    assert (beside.reason, beside.verdicts()) == ("finished", [first, "absent", "absent"])
    for played in (alone, beside):
        assert [(seat.at_ns // MS, seat.reason) for seat in played.disqualified] == [(after_ms, "crashed")]
        assert played.result is not None
        assert played.result.seats[0].lost_by == "crashed"


@pytest.mark.parametrize("where", ["act", "result", "close"])
@pytest.mark.parametrize("seats", [1, 2])
def test_a_match_that_is_decided_is_not_lost_by_a_crash(seats: int, where: str):
    class Breaks(Breaking):
        async def act(self, observation: Any) -> int:
            if observation == 2:
                self._maybe("act")
            return 1

    task = CountTask(3) if seats == 1 else TogetherTask(2, 3)
    played = play(task, Breaks(where, ValueError("boom")), *[Sleeper(0.0)] * (seats - 1))
    assert played.result is not None
    assert [seat.reason for seat in played.disqualified] == ["crashed"]
    assert played.result.seats[0].disqualified == "crashed"
    decided = where != "act"
    assert played.result.seats[0].lost_by == (None if decided else "crashed")
    assert played.reason == ("finished" if decided or seats == 2 else "seats")


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_crash_between_tasks_loses_those_that_follow(asynchronous: bool):
    scheduler = ListScheduler([CountTask(2), CountTask(2)], asynchronous=asynchronous)
    played = play(scheduler, Breaking("result", ValueError("boom")))
    assert (played.reason, len(played.turns)) == ("seats", 2)
    assert played.result is not None
    assert played.result.seats[0].lost_by == "crashed"
    assert sum(isinstance(event, TaskStarted) for event in played.events) == 1


def test_a_long_run_of_absent_turns_needs_no_stack():
    task = InTurnTask([0, *[1] * 3000, 0])

    async def leaves(seat: Any) -> None:
        await seat.turn()

    played = play(task, Sleeper(0.01), leaves)
    assert played.reason == "finished"
    assert played.verdicts(1)[-1] == "absent"
    assert len(played.turns) == 3002
    assert played.stats(1).absent == 2999


def test_stopping_ends_the_match_wherever_it_is():
    async def main(after: float, scheduler: Any) -> Played:
        stop = trio.Event()
        async with trio.open_nursery() as nursery:

            async def stopping() -> None:
                await trio.sleep(after)
                stop.set()

            nursery.start_soon(stopping)
            played = await play_here(scheduler, Breaking("", ValueError()), stop=stop)
            assert trio.current_time() == after
        return played

    async def never() -> Any:
        await trio.sleep_forever()

    class Stuck(ListScheduler):
        def next_task(self) -> Any:
            return never()

    assert trio.run(main, 5.0, Stuck([]), clock=VirtualClock()).reason == "stopped"


def test_stopping_in_the_middle_of_a_turn_books_what_was_played():
    async def main() -> Played:
        stop = trio.Event()
        async with trio.open_nursery() as nursery:

            async def stopping() -> None:
                await trio.sleep(0.025)
                stop.set()

            nursery.start_soon(stopping)
            return await play_here(CountTask(30), Sleeper(0.01), stop=stop)

    played = trio.run(main, clock=VirtualClock())
    assert played.reason == "stopped"
    assert len(played.turns) == 2
    assert [(e.steps, e.ended) for e in played.events if isinstance(e, TaskEnded)] == [(2, "cut")]


@pytest.mark.parametrize("phase", ["init", "result"])
def test_every_task_that_starts_ends(phase: str):
    played = play(CountTask(2), Breaking(phase, ValueError()))
    kinds = [type(e) for e in played.events if isinstance(e, TaskStarted | TaskEnded)]
    assert kinds == [TaskStarted, TaskEnded]
    assert played.events[-2].ended == ("cut" if phase == "init" else "finished")


def test_agents_that_swallow_their_cancellation_are_let_go_of():
    async def act(_observation: Any) -> int:
        while True:
            with suppress(BaseException):
                await trio.sleep_forever()

    played = play(CountTask(100), act)
    assert played.reason == "seats"
    gc.collect()


@pytest.mark.parametrize("after_ms", range(0, 120, 7))
def test_cancelling_from_outside_leaves_nothing_and_finishes_the_sinks(after_ms: int):
    class Slow(Breaking):
        async def start(self, _briefing: Any) -> None:
            await trio.sleep(0.02)

        async def act(self, _observation: Any) -> int:
            await trio.sleep(0.01)
            return 1

        async def close(self) -> None:
            await trio.sleep(0.05)

    writer = Writer()

    async def main() -> int:
        before = trio.lowlevel.current_statistics().tasks_living
        with trio.move_on_after(after_ms / 1000):
            await play_here(
                ListScheduler([CountTask(2)], asynchronous=after_ms % 2 == 0),
                Slow("", ValueError()),
                sinks=[writer],
            )
        return trio.lowlevel.current_statistics().tasks_living - before

    assert trio.run(main, clock=VirtualClock()) == 0
    if writer.events:
        assert isinstance(writer.events[-1], MatchEnded)
        assert writer.written


class CannotHost:
    kind = "task"
    name = "unhostable"

    async def run(self, _seat: Any, _briefing: Any) -> None:
        raise UsageError("there is no such sandbox here")


def test_a_host_that_cannot_play_as_asked_says_so_to_the_caller():
    into = Played()
    with pytest.raises(UsageError, match="no such sandbox here"):
        play(TogetherTask(2), CannotHost(), Sleeper(0.01), into=into)
    assert into.events[-1].reason == "void"
    assert "no such sandbox" in into.events[-1].detail
    assert into.disqualified == []


@pytest.mark.parametrize("where", ["reset", "step", "result", "metrics"])
def test_a_task_that_exits_voids_its_match_and_nothing_else(where: str):
    class Exits(CountTask):
        def _maybe_fail(self, here: str) -> None:
            if here == where:
                raise SystemExit(3)

    fault, into = void(Exits(), Sleeper(0.01))
    assert str(fault) == "task count: SystemExit: 3"
    assert (into.events[-1].reason, into.disqualified) == ("void", [])


def test_an_actor_or_a_scheduler_that_exits_voids_its_match_and_nothing_else():
    async def body(turns: Any) -> None:
        await turns.ask(0)
        raise SystemExit(3)

    assert str(void(ActorTask(body), Sleeper(0.01))[0]) == "task runs: SystemExit: 3"

    class Exits(ListScheduler):
        def next_task(self) -> Any:
            raise SystemExit(3)

    assert str(void(Exits([CountTask()]), Sleeper(0.01))[0]) == "task scheduler: SystemExit: 3"
