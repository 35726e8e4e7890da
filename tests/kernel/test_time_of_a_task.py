"""A task whose time is up while it is played; schedulers that go by the clock."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import trio

from flagfall.recording.journal.writer import Journal
from flagfall.recording.verify import verify
from flagfall.timing import MS, S, VirtualClock
from tests.fakes import NIL, CountTask, ListScheduler, Sleeper, TogetherTask, play, play_here


def timed(task: Any, play_until_ns: int | None = None, result_until_ns: int | None = None) -> Any:
    if play_until_ns is not None:
        task.play_until_ns = play_until_ns
    if result_until_ns is not None:
        task.result_until_ns = result_until_ns
    return task


class Hearer(Sleeper):
    """Remembers results; takes its time over them."""

    def __init__(self, *seconds: float, over_result: float = 0.0) -> None:
        super().__init__(*seconds)
        self.over_result = over_result
        self.results: list[Any] = []
        self.had_ms: list[int] = []

    async def result(self, observation: Any, reward: Any, timer: Any) -> str:
        self.results.append((observation, reward))
        self.had_ms.append(timer.remaining_ms)
        await trio.sleep(self.over_result)
        return "heard"


def test_task_ends_at_the_first_turn_that_would_open_after_its_time():
    scheduler = ListScheduler([timed(CountTask(100), play_until_ns=25 * MS), CountTask(1)])
    agent = Hearer(0.01)
    played = play(scheduler, agent)
    first, second = scheduler.outcomes
    assert (first.ended, first.steps, first.reward, first.at_ns) == ("time", 3, 21, 30 * MS)
    assert (second.ended, second.steps, second.at_ns) == ("finished", 1, 40 * MS)
    assert first.answers == {0: "heard"}
    assert agent.results[0] == (3, 7), "the last observation and reward still come"
    assert played.reason == "finished"


def test_time_that_comes_exactly_with_the_turn_ends_the_task():
    scheduler = ListScheduler([timed(CountTask(100), play_until_ns=20 * MS)])
    play(scheduler, Hearer(0.01))
    assert scheduler.outcomes[0].steps == 2


def test_task_that_ends_by_itself_with_its_last_moment_is_finished():
    scheduler = ListScheduler([timed(CountTask(2), play_until_ns=20 * MS)])
    play(scheduler, Hearer(0.01))
    assert scheduler.outcomes[0].ended == "finished"


def test_task_whose_time_was_up_before_it_began_has_one_turn():
    scheduler = ListScheduler([timed(CountTask(100), play_until_ns=0)])
    play(scheduler, Hearer(0.01))
    assert scheduler.outcomes[0].steps == 1


def test_tasks_after_it_have_their_own_time():
    scheduler = ListScheduler([timed(CountTask(100), play_until_ns=15 * MS), CountTask(50)])
    play(scheduler, Hearer(0.01))
    assert [o.steps for o in scheduler.outcomes] == [2, 50]


def test_several_seats_end_together():
    scheduler = ListScheduler([timed(TogetherTask(2, 100), play_until_ns=25 * MS)])
    play(scheduler, Hearer(0.01), Hearer(0.001))
    assert (scheduler.outcomes[0].ended, scheduler.outcomes[0].steps) == ("time", 3)
    assert scheduler.outcomes[0].answers == {0: "heard", 1: "heard"}


def test_late_turn_before_the_end_is_still_told():
    told: list[Any] = []

    class Told(Hearer):
        async def result(self, observation: Any, reward: Any, timer: Any) -> str:
            told.append(timer.late)
            return await super().result(observation, reward, timer)

    play(ListScheduler([timed(CountTask(100), play_until_ns=30 * MS)]), Told(0.05))
    assert [(late.turn, late.played) for late in told] == [(0, NIL)]


@pytest.mark.parametrize(
    ("until_ns", "takes", "falls"),
    [
        (5 * S, 4.0, False),  # more than the control's second: there is time left
        (5 * S, 4.995, True),
        (1 * S, 0.9, False),  # less than a second is left: the control's holds
        (1 * S, 1.0, True),
        (0, 1.0, True),
        (None, 1.0, True),
    ],
)
def test_result_may_be_thought_about_until_the_given_moment(until_ns, takes, falls):
    scheduler = ListScheduler([timed(CountTask(1), result_until_ns=until_ns)])
    played = play(scheduler, Hearer(0.01, over_result=takes), control="act=40ms/1s result=1s")
    assert [f.reason for f in played.disqualified] == (["late"] if falls else [])


def test_agent_sees_how_long_it_has_for_the_result():
    agent = Hearer(0.01)
    play(ListScheduler([timed(CountTask(1), result_until_ns=5 * S)]), agent, control="result=1s")
    assert agent.had_ms == [4990]


class Until:
    """Gives tasks while outcomes are reported to end before a moment."""

    def __init__(self, until_ns: int) -> None:
        self.until_ns = until_ns
        self.at_ns = 0

    def set_seed(self, _seed: int) -> None: ...

    def next_task(self) -> Any:
        return timed(CountTask(20), play_until_ns=self.until_ns) if self.at_ns < self.until_ns else None

    def report(self, outcome: Any) -> None:
        self.at_ns = outcome.at_ns

    def close(self) -> None: ...


@pytest.mark.parametrize("until_ns", [450 * MS, 400 * MS])
def test_journal_of_a_scheduler_that_goes_by_the_clock_verifies(tmp_path, until_ns):
    path = tmp_path / "match.jsonl"
    trio.run(partial(play_here, Until(until_ns), Hearer(0.01), sinks=[Journal(path)]), clock=VirtualClock())
    found = verify(path, lambda _header: Until(until_ns))
    assert found.ok, str(found)
    assert found.turns == until_ns // (10 * MS)


def test_journal_of_several_seats_that_ran_out_of_time_verifies(tmp_path):
    def tasks() -> ListScheduler:
        return ListScheduler([timed(TogetherTask(2, 100), play_until_ns=25 * MS), TogetherTask(2, 3)])

    path = tmp_path / "match.jsonl"
    agents = [Hearer(0.01), Hearer(0.001)]
    trio.run(partial(play_here, tasks(), *agents, sinks=[Journal(path)]), clock=VirtualClock())
    found = verify(path, lambda _header: tasks())
    assert found.ok, str(found)
    assert found.turns == 6


def test_verifying_finds_an_end_by_time_that_came_too_early(tmp_path):
    path = tmp_path / "match.jsonl"
    trio.run(partial(play_here, Until(50 * MS), Hearer(0.01), sinks=[Journal(path)]), clock=VirtualClock())
    found = verify(path, lambda _header: Until(60 * MS))
    assert found.difference is not None
    assert "by time" in found.difference.what
