"""What a match's record says, and which stalls touch it."""

from __future__ import annotations

import pytest

from flagfall.events import (
    Event,
    ReplyDropped,
    SeatDisqualified,
    StallSeen,
    TaskEnded,
    TurnPlayed,
    TurnsPlayed,
)
from flagfall.kernel.outcomes import MatchResult, SeatReport, SeatStats
from flagfall.timing import TimeControl
from flagfall.timing.durations import MS
from flagfall.tournament.records import MatchRecord, MatchSpec
from flagfall.tournament.run.match_observer import NEAR_NS, MatchObserver

CONTROL = TimeControl.parse("act=40ms/1s")
SPEC = MatchSpec("r0-m0-g0", ("one", "other"), "task", 1)


def late(at_ms: int, seat: int = 0, spent_ms: int = 40, credit_ms: int = 0) -> TurnPlayed:
    return TurnPlayed(
        at_ms * MS, 3, 0, 0, 0, spent_ms * MS, seat=seat, verdict="late", credit_ns=credit_ms * MS
    )


def stall(at_ms: int, lost_ms: int, seat: int | None = None) -> StallSeen:
    return StallSeen(at_ms * MS, lost_ms * MS, seat)


def answered(at_ms: int, turn: int = 3, seat: int = 0) -> ReplyDropped:
    """The answer to a late turn, which is dropped."""
    return ReplyDropped(at_ms * MS, seat, turn, "stale")


def watch(*events: Event) -> MatchObserver:
    made = MatchObserver(2, CONTROL)
    for event in events:
        made(event)
    return made


@pytest.mark.parametrize(
    "events",
    [
        (stall(100, 10), late(100, credit_ms=10)),
        (late(100, credit_ms=10), stall(100, 10)),
        (late(100), stall(150, 48)),  # it began within NEAR_NS of the verdict
        (stall(58, 30), late(100)),
        (SeatDisqualified(900 * MS, 0, "late"), stall(901, 20)),
        (stall(100, 10), late(100), answered(110)),  # it was late by no more than what was lost
        (stall(80, 6), stall(95, 5), late(100), answered(110)),
        (late(100), answered(110), stall(105, 10)),
        (stall(100, 10), late(100), TurnPlayed(130 * MS, 4, 0, 0, 0, 20 * MS)),  # it took the next at 110
        (stall(100, 10), late(100), late(140), answered(110), answered(300, 4)),
    ],
)
def test_a_late_turn_that_coincides_with_a_stall_touches_the_match(events: tuple[Event, ...]) -> None:
    assert NEAR_NS == 5 * MS
    assert "while the host stalled" in watch(*events).stalled


@pytest.mark.parametrize(
    "events",
    [
        (late(100),),
        (stall(100, 10), TurnPlayed(100 * MS, 3, 0, 0, 0, 30 * MS, credit_ns=10 * MS)),  # it was on time
        (stall(100, 10, seat=1), late(100, credit_ms=10)),  # the other agent's doing
        (stall(50, 10), late(100)),  # long before the turn began
        (late(100), stall(160, 50)),
        (SeatDisqualified(900 * MS, 0, "crashed"), stall(900, 20)),
        (stall(100, 10), late(100), answered(111)),  # it was late by more than what was lost
        (stall(100, 10), late(100, spent_ms=45), answered(106)),
        (late(100), answered(140), stall(103, 5)),
        (stall(100, 10), late(100), answered(111, seat=1), answered(112, turn=2), answered(113)),
        (stall(100, 10), late(100), TurnPlayed(131 * MS, 4, 0, 0, 0, 20 * MS)),
        (stall(100, 10), late(100), SeatDisqualified(1_060 * MS, 0, "gone")),
        (stall(100, 10), late(100), *(late(200 + n, seat=1) for n in range(70)), answered(150)),
    ],
)
def test_what_does_not_touch_it(events: tuple[Event, ...]) -> None:
    assert watch(*events).stalled == ""


def record(
    made: MatchObserver, *, last: int | None = None, seats: int = 2, elapsed_ns: int = 7
) -> MatchRecord:
    tally = SeatStats(reward=3, turns=4)
    reports = tuple(SeatReport(name, None, "", tally) for name in SPEC.entrants[:seats])
    result = MatchResult("finished", 4, reports, (), elapsed_ns)
    spec = MatchSpec(SPEC.id, SPEC.entrants[:seats], SPEC.task, SPEC.seed)
    return made.record(spec, 2, result, measure="result", last=last)


def test_an_agent_that_was_not_heard_of_again_was_late_to_the_end_of_the_match() -> None:
    for elapsed_ms, is_touched in ((105, True), (400, False)):
        made = watch(stall(100, 10), late(100))
        record(made, elapsed_ns=elapsed_ms * MS)
        assert bool(made.stalled) is is_touched


def test_how_far_beyond_the_limit_late_turns_went() -> None:
    made = watch(late(100, spent_ms=45), late(300, spent_ms=41), late(300, seat=1, spent_ms=40))
    assert [seat.over_ns for seat in record(made).seats] == [6 * MS, 0]


@pytest.mark.parametrize(("lost_by", "scores"), [(None, [0.5, 0.5]), ("crashed", [0.0, 1.0])])
def test_a_crash_after_the_last_turn_costs_no_score(lost_by: str | None, scores: list[float]) -> None:
    tally = SeatStats(reward=3)
    reports = SeatReport("a", "crashed", "", tally, (), lost_by), SeatReport("b", None, "", tally)
    made = watch().record(SPEC, 1, MatchResult("finished", 4, reports, (), 7), measure="result", last=None)
    assert [(seat.fell, seat.score) for seat in made.seats] == [(lost_by, scores[0]), (None, scores[1])]


def test_only_the_last_instances_count_where_the_task_says_so() -> None:
    ended = [TaskEnded(0, "t", n, result, 0.0, 1) for n, result in enumerate([True, True, False, None])]
    made = MatchObserver(1, CONTROL)
    for event in (*ended, TaskEnded(0, "t", 4, None, 0.0, 1, "cut")):
        made(event)
    whole, part = record(made, seats=1), record(made, last=2, seats=1)
    assert (whole.solved, whole.tasks, whole.seats[0].score) == (2, 4, 0.5)
    assert (part.solved, part.tasks, part.seats[0].score) == (0, 2, 0.0)


def ended(phase: str, result: bool | None, score: object, ticks: object) -> TaskEnded:
    return TaskEnded(0, "t", 0, result, 0.0, 1, "finished", {"phase": phase, "score": score, "ticks": ticks})


def test_training_counts_for_nothing_where_only_the_last_instances_count() -> None:
    made = MatchObserver(1, CONTROL)
    for event in (
        ended("validation", None, -2.5, 30),
        ended("training", True, 99, 7),
        ended("validation", True, 4, 10),
        ended("training", True, 99, 7),
    ):
        made(event)
    part = record(made, last=2, seats=1)
    assert (part.solved, part.tasks, part.game_score, part.ticks) == (1, 2, 1.5, 40)
    assert part.seats[0].score == 0.5
    whole = record(made, seats=1)
    assert (whole.solved, whole.tasks, whole.game_score, whole.ticks) == (3, 4, 199.5, 54)


@pytest.mark.parametrize("value", [None, "9", float("nan"), float("inf"), 10**30, True])
def test_scores_and_ticks_that_are_no_figures_count_as_none(value: object) -> None:
    made = MatchObserver(1, CONTROL)
    made(ended("validation", True, value, value))
    made(ended("validation", True, 3, 5))
    kept = record(made, last=2, seats=1)
    assert (kept.solved, kept.game_score, kept.ticks) == (2, 3.0 + (value is True), 5 + (value is True))


def test_plain_turns_that_come_together_count_one_by_one() -> None:
    made = MatchObserver(1, CONTROL)
    made.write_batch(TurnsPlayed(0, [0, 10, 10], [0] * 3, [0] * 3, [0] * 3, [5, 7, 9]))
    assert record(made, seats=1).seats[0].thinking == ((5, 1), (7, 1), (9, 1))
    assert record(made, seats=1).seats[0].think_p50_ns == 7
