"""Figures of long trainings: what is kept is bounded, and the sums are exact."""

from __future__ import annotations

from typing import Any

import pytest

from flagfall.events import SeatDisqualified, TaskEnded, TaskStarted, TurnPlayed
from flagfall.gvgai.track_statistics import MAX_POINTS, MAX_TRAINING_GAMES, TrackSink


def play(sink: TrackSink, number: int, phase: str = "training", **told: Any) -> None:
    """A game of two turns, the second late; it ends at `number` ms, with that score."""
    at_ns = number * 1_000_000
    sink(TaskStarted(at_ns - 900_000, "game", number, 0))
    sink(TurnPlayed(at_ns, 0, None, 0, "NIL", 10, 0))
    sink(TurnPlayed(at_ns, 1, None, 0, "NIL", 40, 0, "late"))
    metrics = {"phase": phase, "level": number % 3, "winner": number % 2, "score": float(number), "ticks": 7}
    sink(TaskEnded(at_ns, "game", number, None, 0, 2, "finished", metrics | told))


def trained(games: int) -> TrackSink:
    sink = TrackSink()
    for number in range(1, games + 1):
        play(sink, number)
    return sink


@pytest.mark.parametrize(
    "games", [0, 1, 9, MAX_POINTS, MAX_POINTS + 1, 2 * MAX_POINTS + 1, MAX_TRAINING_GAMES + 5]
)
def test_sums_are_exact_however_long_it_was(games):
    statistics = trained(games).statistics
    assert len(statistics.games) == min(games, MAX_TRAINING_GAMES)
    assert len(statistics.curve) <= MAX_POINTS
    assert sum(point.games for point in statistics.curve) == games
    assert sum(point.score for point in statistics.curve) == games * (games + 1) / 2
    assert [p.until_ns for p in statistics.curve] == sorted(p.until_ns for p in statistics.curve)
    assert len({point.games for point in statistics.curve[:-1]}) <= 1, "equally many in each"
    rows = statistics.curve_in(10)
    assert len(rows) == min(games, 10)
    assert sum(row.games for row in rows) == games
    if not games:
        assert (statistics.phases, statistics.levels) == ((), ())
        return
    (phase,) = statistics.phases
    assert (phase.games, phase.wins, phase.losses) == (games, (games + 1) // 2, games // 2)
    assert (phase.turns, phase.late, phase.think_ns) == (2 * games, games, 50 * games)
    assert phase.elapsed_ns == games * 900_000
    assert (phase.mean_score, phase.best, phase.mean_ticks) == ((games + 1) / 2, games, 7)
    assert sum(level.games for level in statistics.levels) == games
    assert phase.until_ns == games * 1_000_000


def test_validation_is_kept_in_full_after_any_training():
    sink = trained(MAX_TRAINING_GAMES + 50)
    for number in range(20):
        play(sink, MAX_TRAINING_GAMES + 100 + number, "validation")
    statistics = sink.statistics
    assert len(statistics.of("validation")) == 20
    assert statistics.sums("validation") is not None
    assert sum(point.games for point in statistics.curve) == MAX_TRAINING_GAMES + 50


def test_games_that_were_cut_and_tasks_of_other_kinds_are_left_out():
    sink = TrackSink()
    sink(TaskStarted(0, "game", 0, 0))
    sink(TaskEnded(5, "game", 0, None, 0, 2, "cut", {"phase": "training", "level": 0}))
    sink(TaskStarted(5, "other", 1, 0))
    sink(TaskEnded(9, "other", 1, None, 0, 2))
    assert sink.statistics.games == ()
    assert sink.statistics.sums("training") is None


def test_fall_is_told():
    sink = trained(1)
    sink(SeatDisqualified(9, 0, "late", "busy for 1200.0 ms"))
    assert (sink.statistics.disqualified, sink.statistics.detail) == ("late", "busy for 1200.0 ms")
    assert sink.statistics.as_data()["disqualified"] == "late"
