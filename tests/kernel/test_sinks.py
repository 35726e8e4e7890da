"""Who is told of a turn in which form, and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flagfall.errors import HostFault
from flagfall.events import Event, TurnPlayed, TurnsPlayed
from flagfall.kernel.dispatcher import HELD_TURNS, BatchSink
from flagfall.timing import MS
from tests.fakes import CountTask, Sleeper, TogetherTask, play


class Many:
    """Takes many turns at a time; can fail at them, and can ask for them."""

    def __init__(self, *, fails: bool = False) -> None:
        self.events: list[Event] = []
        self.runs: list[TurnsPlayed] = []
        self.fails = fails
        self.hand_over: Callable[[], None] = lambda: None

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def write_batch(self, turns: TurnsPlayed) -> None:
        if self.fails:
            raise ValueError("no more room")
        self.runs.append(turns)
        self.events += turns.events()

    def set_flush(self, hand_over: Callable[[], None]) -> None:
        self.hand_over = hand_over

    def spans(self) -> list[tuple[int, int]]:
        return [(turns.turn, len(turns)) for turns in self.runs]


def test_plain_turns_come_together_and_everything_else_alone():
    sink = Many()
    assert isinstance(sink, BatchSink)
    played = play(CountTask(5), Sleeper(0.01, 0.05, 0.01, 0.02), sinks=[sink])
    assert sink.events == played.events
    assert sink.spans() == [(0, 1), (2, 3)]
    assert played.verdicts() == ["on time", "late", "on time", "on time", "on time"]


def test_no_more_than_so_many_are_held_back():
    sink = Many()
    played = play([CountTask(2 * HELD_TURNS + 22), CountTask(3)], Sleeper(0.001), sinks=[sink])
    assert sink.events == played.events
    assert sink.spans() == [
        (0, HELD_TURNS),
        (HELD_TURNS, HELD_TURNS),
        (2 * HELD_TURNS, 22),
        (2 * HELD_TURNS + 22, 3),
    ]


def test_those_that_are_held_back_can_be_asked_for():
    sink = Many()
    held: list[int] = []

    def watch(event: Event) -> None:
        if isinstance(event, TurnPlayed) and event.turn in {4, 9}:
            held.append(len(sink.events))
            sink.hand_over()
            sink.hand_over()
            held.append(len(sink.events))

    played = play(CountTask(12), Sleeper(0.001), sinks=[sink, watch])
    assert sink.events == played.events
    assert sink.spans() == [(0, 5), (5, 5), (10, 2)]
    assert held[1] - held[0] == 5


@pytest.mark.parametrize("action", [[1], 1.5, True, "1"])
def test_a_turn_with_something_else_than_whole_numbers_is_told_at_once(action: Any):
    class Anything(CountTask):
        def is_legal(self, _action: Any) -> bool:
            return True

        def step(self, _action: Any) -> Any:
            return super().step(1)

    sink = Many()
    played = play(Anything(3), Sleeper(0.001, say=action), sinks=[sink])
    assert sink.events == played.events
    assert played.actions() == [action] * 3
    assert not sink.runs


def test_at_real_time_pace_and_with_several_seats_every_turn_is_an_event():
    sink, other = Many(), Many()
    paced = play(CountTask(4), Sleeper(0.015), tick_ns=10 * MS, sinks=[sink])
    both = play(TogetherTask(2, 3), Sleeper(0.01), Sleeper(0.02), sinks=[other])
    assert (sink.events, other.events) == (paced.events, both.events)
    assert len(both.turns) == 6
    assert not sink.runs
    assert not other.runs


def test_what_a_sink_is_given_does_not_depend_on_who_else_looks():
    alone, beside = Many(), Many()
    play(CountTask(100), Sleeper(0.01, 0.05, 0.01), sinks=[alone])
    play(CountTask(100), Sleeper(0.01, 0.05, 0.01), sinks=[lambda _event: None, beside, Many()])
    assert alone.runs == beside.runs
    assert alone.events == beside.events


def test_a_sink_that_fails_voids_the_match_and_the_others_have_everything():
    sink, other = Many(fails=True), Many()
    with pytest.raises(HostFault, match="a sink failed: ValueError"):
        play(CountTask(5), Sleeper(0.01), sinks=[sink, other])
    assert other.spans() == [(0, 5)]
    assert [type(event) for event in sink.events] == [
        type(event) for event in other.events if not isinstance(event, TurnPlayed)
    ]
