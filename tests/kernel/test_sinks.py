"""Who is told of a turn in which form."""

from __future__ import annotations

from typing import Any

import pytest

from flagfall.errors import HostFault
from flagfall.events import Event, TaskStarted, TurnPlayed
from flagfall.kernel.roles import TurnSink
from flagfall.timing import MS
from tests.fakes import CountTask, Sleeper, TogetherTask, play


class Bare:
    """Takes plain turns as bare values; can fail in one of them."""

    def __init__(self, fails_in: int | None = None) -> None:
        self.events: list[Event] = []
        self.plain: list[TurnPlayed] = []
        self.fails_in = fails_in

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def plain_turn(
        self, at_ns: int, turn: int, observation: Any, reward: Any, action: Any, spent_ns: int
    ) -> None:
        if turn == self.fails_in:
            raise ValueError("no more room")
        self.plain.append(TurnPlayed(at_ns, turn, observation, reward, action, spent_ns))
        self.events.append(self.plain[-1])


def test_plain_turns_come_bare_and_everything_else_as_events():
    sink = Bare()
    assert isinstance(sink, TurnSink)
    played = play(CountTask(5), Sleeper(0.01, 0.05, 0.01, 0.02), sinks=[sink])
    assert sink.events == played.events
    assert [turn.turn for turn in sink.plain] == [0, 2, 3, 4]
    assert played.verdicts() == ["on time", "late", "on time", "on time", "on time"]


def test_at_real_time_pace_an_answer_to_an_older_turn_is_not_plain():
    sink = Bare()
    played = play(CountTask(4), Sleeper(0.015), tick_ns=10 * MS, sinks=[sink])
    assert sink.events == played.events
    assert any(turn.answers is not None for turn in played.turns)
    assert all(turn.answers is None for turn in sink.plain)


def test_with_several_seats_no_turn_is_plain():
    sink = Bare()
    played = play(TogetherTask(2, 3), Sleeper(0.01), Sleeper(0.02), sinks=[sink])
    assert sink.events == played.events
    assert len(played.turns) == 6
    assert not sink.plain


def test_a_sink_that_fails_in_a_plain_turn_voids_the_match_and_the_others_have_it():
    sink, other = Bare(fails_in=2), Bare()
    with pytest.raises(HostFault, match="a sink failed: ValueError"):
        play(CountTask(5), Sleeper(0.01), sinks=[sink, other])
    assert [turn.turn for turn in other.plain] == [0, 1, 2]
    assert [turn.turn for turn in sink.plain] == [0, 1]
    assert sum(isinstance(event, TaskStarted) for event in sink.events) == 1
