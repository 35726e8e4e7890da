"""CPU time of turns that wait: deadline, verdict and record, against `move_on_after` around a sleep.

The baseline is a bare task of trio that does this and nothing else, over and over:

    with trio.move_on_after(limit):
        await trio.sleep(seconds)

It has no counterpart, moves no world, gives no verdict and keeps no record. In a match, an agent in the event
loop sleeps by `trio.sleep` before each answer; a task answers, the clock judges, and a sink gets an event for
each turn. The time is the CPU time of the process between two moments at which all matches play, so that
neither setting up nor closing is part of it.

Timely: the players sleep for half of the limit. Late: the deadline comes first. In a match, the turn ends by
it, with NIL, while the agent goes on sleeping. It answers half a limit too late, and that answer is dropped;
so for each turn there is a deadline, a sleep and an answer. A bare task's sleep is cancelled. Spread: the
first turns begin one after another, evenly over the time of a turn. Together: all begin at one moment.
"""

from __future__ import annotations

__all__ = ["late_turn_us", "waiting_turns"]

import statistics
import time
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import attrs
import trio

from benchmarks.echo_task import OneTask
from benchmarks.measure import Row, reduced
from flagfall.agents.hosts.this_process import LoopHost
from flagfall.events import Event, TurnPlayed
from flagfall.kernel.match import play_match
from flagfall.timing import ElapsedTimer, TimeControl

_TARGET: Final = "≤ 1.3"
_WARM_UP_TURNS: Final = 2
_TURN_SECONDS: Final = 0.000_2
"""The time of a turn for each match in the loop, so that the loop is idle for more than half of it."""

_SHORTEST_SECONDS: Final = 0.02
_MEASURED_TURNS: Final = 30_000
_ROUNDS: Final = 3
_MOST_TURNS: Final = 50
"""Turns of each match of a growth curve: a few matches wait most of the time."""


@attrs.define
class _Play:
    """One measurement, with the CPU time from when all play to when enough turns are over.

    Attributes:
        players: number of matches, or of bare tasks.
        turns: number of turns to be measured, of all players together.
        limit_s: the limit of a turn.
        is_late: every turn is late.
        spread_s: the time in which the first turns of the players begin.
        all_ready: set when all players are set up.
        over: set when the turns are played.
    """

    players: int
    turns: int
    limit_s: float
    is_late: bool
    spread_s: float
    all_ready: trio.Event = attrs.field(factory=trio.Event)
    over: trio.Event = attrs.field(factory=trio.Event)
    _ready: int = 0
    _played: int = 0
    _cpu_seconds: float = 0

    async def get_ready(self) -> None:
        number = self._ready
        self._ready += 1
        if self._ready == self.players:
            self.all_ready.set()
        await self.all_ready.wait()
        await trio.sleep(self.spread_s * number / self.players)

    def count_turn(self) -> None:
        self._played += 1
        first = self.players * _WARM_UP_TURNS
        if self._played == first:
            self._cpu_seconds = time.process_time()
        elif self._played == first + self.turns:
            self._cpu_seconds = time.process_time() - self._cpu_seconds
            self.over.set()

    @property
    def cost_us(self) -> float:
        return self._cpu_seconds / self.turns * 1e6


class _Sleeper:
    """An agent that sleeps before each answer."""

    def __init__(self, play: _Play) -> None:
        self._play = play

    async def start(self, _briefing: Any) -> None:
        await self._play.get_ready()

    async def act(self, _observation: int, timer: ElapsedTimer) -> int:
        limit_s = self._play.limit_s
        # On a host that stalled, the next turn may be late before the agent gets to it.
        seconds = timer.remaining_ns / 1e9 + limit_s / 2 if self._play.is_late else limit_s / 2
        await trio.sleep(max(0, seconds))
        return 1


async def _matches(play: _Play) -> float:
    control = TimeControl.parse(f"act={round(play.limit_s * 1e6)}us/1h start=1h")

    def sink(event: Event) -> None:
        if type(event) is TurnPlayed:
            play.count_turn()

    async with trio.open_nursery() as nursery:
        for number in range(play.players):
            host = LoopHost(_Sleeper(play), "sleeper")
            match = partial(play_match, OneTask(), [host], control=control, seed=number, sinks=[sink])
            nursery.start_soon(partial(match, stop=play.over))
    return play.cost_us


async def _bare_tasks(play: _Play) -> float:
    sleep_s = play.limit_s * 1.5 if play.is_late else play.limit_s / 2

    async def player() -> None:
        await play.get_ready()
        while True:
            with trio.move_on_after(play.limit_s):
                await trio.sleep(sleep_s)
            play.count_turn()

    async with trio.open_nursery() as nursery:
        for _ in range(play.players):
            nursery.start_soon(player)
        await play.over.wait()
        nursery.cancel_scope.cancel()
    return play.cost_us


def late_turn_us(most_turns: int, matches: int) -> float:
    """Return the CPU time of a turn for which the agent is late, in microseconds.

    Args:
        most_turns: of all matches together; fewer are played where they would take long.
        matches: number of matches, whose turns begin one after another.
    """
    each = max(1, min(_MOST_TURNS, most_turns // matches))
    turn_s = max(_SHORTEST_SECONDS, matches * _TURN_SECONDS)
    play = _Play(matches, each * matches, turn_s, is_late=True, spread_s=turn_s)
    return trio.run(_matches, play)


def waiting_turns(scale: int) -> Iterator[Row]:
    """CPU time of a turn that waits, against `move_on_after` around a sleep.

    Args:
        scale: divides the amount of work.
    """
    for matches in (64, 1_024, 8_192):
        players = reduced(matches, scale, least=16)
        turns = players * reduced(_MEASURED_TURNS, scale * players, least=2)
        turn_s = max(_SHORTEST_SECONDS, players * _TURN_SECONDS)
        rounds = reduced(_ROUNDS, scale)
        for name, limit_s, is_late, spread_s in (
            ("timely, spread", 2 * turn_s, False, turn_s),
            ("late, spread", turn_s, True, turn_s),
            ("late, together", turn_s, True, 0),
        ):
            make = partial(_Play, players, turns, limit_s, is_late, spread_s)
            costs = [(trio.run(_bare_tasks, make()), trio.run(_matches, make())) for _ in range(rounds)]
            yield Row(
                f"CPU of a waiting turn, {name}, {matches:,} matches",
                f"{statistics.median(ours for _, ours in costs):.1f} µs",
                f"trio {statistics.median(bare for bare, _ in costs):.1f} µs",
                f"{statistics.median(ours / bare for bare, ours in costs):.2f}",
                _TARGET,
            )
