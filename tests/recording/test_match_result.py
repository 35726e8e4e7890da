"""The result of a match, made again from its events: equal to that of the match, whatever happened in it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import attrs
import pytest

from flagfall.errors import HostFault, UsageError
from flagfall.events import Event, MatchEnded, MatchStarted, Printed, SeatDisqualified, TaskEnded, TurnPlayed
from flagfall.kernel.outcomes import MatchResult, StepResult
from flagfall.recording.journal.reader import read_journal
from flagfall.recording.journal.writer import Journal
from flagfall.recording.match_result import CUT_OFF, ResultReader
from flagfall.tasks.catalog import make_task
from tests.fakes import ActorTask, CountTask, InTurnTask, ListScheduler, Played, Sleeper, TogetherTask, play


def read(events: Iterable[Event]) -> MatchResult:
    reader = ResultReader()
    for event in events:
        reader(event)
    return reader.result()


def comparable(result: MatchResult | None) -> dict[str, Any]:
    """Without what no event tells."""
    assert result is not None
    for seat in result.seats:
        seat.stats.skipped = 0
    return attrs.asdict(result)


def constant(action: Any) -> Any:
    return lambda _observation: action


async def rewarding(turns: Any) -> None:
    for paid in (0, 3, 1):
        await turns.ask({"player_0": 1, "player_1": 2}, {"player_0": paid, "player_1": -paid} if paid else 0)


def noting() -> Any:
    class Noting:
        def start(self, briefing: Any) -> None:
            self.note = briefing.note

        def act(self, observation: Any) -> Any:
            self.note({"seen": observation, "why": "so"})
            return 1

    return Noting()


MATCHES: dict[str, Any] = {
    "several episodes": lambda: ([CountTask(n) for n in (3, 5, 2)], constant(4)),
    "continuous tasks": lambda: ([CountTask(3, continuous=True), CountTask(4, continuous=True)], constant(2)),
    "cut by steps": lambda: (CountTask(30), constant(4), {"steps": 7}),
    "cut in a later task": lambda: ([CountTask(3), CountTask(9)], constant(4), {"steps": 7}),
    "cut between tasks": lambda: (
        [CountTask(3, continuous=True), CountTask(9, continuous=True)],
        constant(4),
        {"steps": 3},
    ),
    "rounded rewards": lambda: ([CountTask(n) for n in (3, 5, 7)], constant(0.1)),
    "rounded rewards of two": lambda: ([TogetherTask(2, n) for n in (3, 5)], constant(0.1), constant(0.7)),
    "two seats": lambda: ([TogetherTask(2, 3), TogetherTask(2, 4)], constant(3), constant(5)),
    "three seats, cut": lambda: (TogetherTask(3, 30), *map(constant, (3, 5, 9)), {"steps": 7}),
    "in turn": lambda: (InTurnTask([0, 1, 1, 0, 1]), constant(3), constant(5)),
    "in turn, cut": lambda: (InTurnTask([0, 1, 1, 0, 1]), constant(3), constant(5), {"steps": 3}),
    "late, then disqualified": lambda: (TogetherTask(2, 9), Sleeper(0.01, 0.5, 0.01, 2.0), constant(5)),
    "never answers": lambda: (CountTask(3), Sleeper(100)),
    "illegal actions": lambda: (TogetherTask(2, 3), constant(1000), constant("x")),
    "an actor": lambda: (ActorTask(rewarding, players=2), constant(1), constant(2)),
    "an actor, cut": lambda: (ActorTask(rewarding, players=2), constant(1), constant(2), {"steps": 2}),
    "notes": lambda: (CountTask(4), noting()),
    "lamps": lambda: (make_task("duel:lamps"), constant(0), constant(1)),
    "heaps": lambda: (make_task("duel:heaps"), Sleeper(0.5), Sleeper(0.5)),
}


def played(name: str, **options: Any) -> Played:
    tasks, *agents = MATCHES[name]()
    more = agents.pop() if isinstance(agents[-1], dict) else {}
    return play(tasks, *agents, **more, **options)


@pytest.mark.parametrize("name", MATCHES)
def test_a_result_is_made_again_from_the_events(name: str):
    match = played(name)
    assert comparable(read(match.events)) == comparable(match.result)


@pytest.mark.parametrize("name", ["several episodes", "in turn, cut", "late, then disqualified", "notes"])
def test_a_result_is_made_again_from_the_journal(name: str, tmp_path: Path):
    path = tmp_path / "m.jsonl"
    match = played(name, sinks=[Journal(path)])
    assert comparable(read(read_journal(path))) == comparable(match.result)


def test_returns_of_episodes_have_a_mean_and_a_standard_deviation():
    returns = [4 * steps for steps in (3, 5, 2)]
    stats = played("several episodes").stats()
    assert stats.episodes == 3
    assert stats.return_mean == pytest.approx(mean(returns))
    assert stats.return_sd == pytest.approx(stdev(returns))
    assert played("cut by steps").stats().episodes == 0
    assert played("notes").stats().return_sd is None


def test_an_agent_of_several_is_paid_for_its_last_action_too():
    (end,) = [event for event in played("in turn").events if isinstance(event, TaskEnded)]
    assert end.rewards == (6, 15)
    assert read(played("in turn").events).seats[1].stats.reward == 15
    (cut,) = [event for event in played("in turn, cut").events if isinstance(event, TaskEnded)]
    assert cut.rewards == (3, 5)  # no task took the actions of the last turn


def test_rewards_of_two_that_cancel_out_are_finite_each():
    class Huge(TogetherTask):
        def step(self, action: Any) -> StepResult:
            return super().step(action)._replace(reward={"player_0": 1e308, "player_1": -1e308})

    with pytest.raises(HostFault, match="rewards must be finite"):
        play(Huge(2, 3), constant(3), constant(5))


def test_scheduler_gets_the_rewards_of_the_seats():
    scheduler = ListScheduler([TogetherTask(2, 3)])
    play(scheduler, constant(3), constant(5))
    assert [outcome.rewards for outcome in scheduler.outcomes] == [(9, 15)]


def test_a_record_that_is_cut_off_has_the_result_so_far():
    events = played("two seats").events
    turns = [place for place, event in enumerate(events) if isinstance(event, TurnPlayed)]
    reader = ResultReader()
    for event in events[: turns[-2]]:  # before the last turn, which shows what the one before it paid
        reader(event)
    result = reader.result()
    assert (result.reason, result.turns, reader.has_rewards) == (CUT_OFF, 6, True)
    assert [seat.stats.reward for seat in result.seats] == [9 + 2 * 3, 15 + 2 * 5]
    assert [seat.stats.episodes for seat in result.seats] == [1, 1]


def test_of_older_journals_the_rewards_of_several_seats_are_not_known():
    reader = ResultReader()
    for event in played("two seats").events:
        reader(without_rewards(event))
    assert not reader.has_rewards


def without_rewards(event: Event) -> Event:
    if not isinstance(event, TaskEnded):
        return event
    return TaskEnded(event.at_ns, event.task, event.index, event.result, event.reward, event.steps)


HEADER = MatchStarted(
    0, schema=3, flagfall="", tasks=[], scheduler="", agents=["a", "b"], seed=0, time_control="", clock="wall"
)


@pytest.mark.parametrize(
    "event",
    [
        TurnPlayed(1, 0, 0, 0, 0, seat=2),
        SeatDisqualified(1, -1, "late"),
        TaskEnded(1, "t", 0, None, 3, 1, rewards=(1, 2, 3)),
        MatchEnded(1, "finished", 0, printed=(Printed(7, 0, "x"),)),
    ],
)
def test_an_event_that_contradicts_the_match_is_refused(event: Event):
    reader = ResultReader()
    reader(HEADER)
    with pytest.raises(UsageError, match="seat"):
        reader(event)
