"""Growth with the number of matches in one event loop, and with the seats of one match."""

from __future__ import annotations

__all__ = ["matches", "seats"]

import gc
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import attrs
import trio

from benchmarks.curves import curve, sizes_up_to
from benchmarks.echo_task import EchoTask, OneTask
from benchmarks.kernel import echo
from benchmarks.measure import ROUNDS, Row, reduced
from benchmarks.waiting_turns import late_turn_us
from flagfall.agents.hosts.this_process import LoopHost
from flagfall.kernel.match import play_match
from flagfall.kernel.outcomes import StepResult
from flagfall.kernel.roles import SchedulerRole
from flagfall.timing import TimeControl

MATCHES: Final = (1, 4, 16, 64, 256, 1_024, 4_096, 16_384)
OPEN_MATCHES: Final = (64, 256, 1_024, 4_096, 16_384)
"""Memory of fewer matches is lost in the noise of the allocator."""

SEATS: Final = (1, 2, 4, 8, 16, 32, 64)
TURNS: Final = 400_000
LATE_TURNS: Final = 30_000
LEAST_TURNS: Final = 10
"""Turns of each match that are measured at the largest size."""

SHORT_MATCHES: Final = 1_024
CONTROL: Final = TimeControl.parse("act=1h start=1h")
"""Every turn has a deadline; none is reached, however many matches take turns."""


@attrs.define
class Together:
    """Agents of many matches: they wait until all of them play, and then answer at once.

    Attributes:
        players: number of agents.
        turns: of each agent, measured after all of them have had their first one.
        all_play: set when every agent waits in its first turn.
        over: set when the turns are played.
        seconds: CPU time of these turns.
    """

    players: int
    turns: int
    all_play: trio.Event = attrs.field(factory=trio.Event)
    over: trio.Event = attrs.field(factory=trio.Event)
    seconds: float = 0.0
    _waiting: int = 0
    _answers: int = 0

    async def answer(self, observation: int) -> int:
        """Return the number of the next turn; the observation is the number of this one.

        Args:
            observation: 0 in the first turn.
        """
        if observation == 0:
            self._waiting += 1
            if self._waiting == self.players:
                self.all_play.set()
            await self.all_play.wait()
        else:
            self._answers += 1
            if self._answers == self.players:
                self.seconds = time.process_time()
            elif self._answers == self.players * (self.turns + 1):
                self.seconds = time.process_time() - self.seconds
                self.over.set()
        return observation + 1


async def _play_together(
    count: int, together: Together, tasks: Callable[[], SchedulerRole] = OneTask, each: int = 1
) -> None:
    """Play matches until their agents say so.

    Args:
        count: number of matches.
        together: their agents.
        tasks: creates the tasks of a match.
        each: seats of a match.
    """
    async with trio.open_nursery() as nursery:
        for number in range(count):
            hosts = [LoopHost(together.answer, "together") for _ in range(each)]
            play = partial(play_match, tasks(), hosts, control=CONTROL, seed=number, stop=together.over)
            nursery.start_soon(play)


def _turn_us(turns: int, most_rounds: int, count: int) -> float:
    """Return the CPU time of a turn of one of many matches, in microseconds."""
    spent = []
    for _ in range(_rounds(count, most_rounds)):
        gc.collect()  # of earlier matches
        together = Together(count, max(LEAST_TURNS, turns // count))
        trio.run(_play_together, count, together)
        spent.append(together.seconds / (count * together.turns) * 1e6)
    return min(spent)


def _rounds(count: int, most: int) -> int:
    """Return how often to measure so that setting up the matches takes seconds, not minutes."""
    return max(1, min(most, MATCHES[-1] // count // 2))


async def _short_matches(count: int, repeats: int) -> float:
    """Return the CPU time of matches of one turn, some at a time, in seconds."""
    await _play_one()
    gc.collect()  # of earlier matches
    began = time.process_time()
    for _ in range(repeats):
        async with trio.open_nursery() as nursery:
            for number in range(count):
                host = LoopHost(echo, "echo")
                play = partial(play_match, OneTask(), [host], control=CONTROL, seed=number, steps=1)
                nursery.start_soon(play)
    return time.process_time() - began


def _match_us(least: int, most_rounds: int, count: int) -> float:
    """Return the CPU time of a match of one turn, from `play_match` to its result, in microseconds."""
    repeats = -(-least // count)
    spent = [trio.run(_short_matches, count, repeats) for _ in range(_rounds(count, most_rounds))]
    return min(spent) / (repeats * count) * 1e6


def resident_kb() -> float:
    """Return the memory of this process that is in use."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4.096


async def _hold_open(count: int) -> float:
    """Return the memory of an open match in kilobytes, while all play."""
    await _play_one()
    before = resident_kb()
    together = Together(count, 1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_play_together, count, together)
        await together.all_play.wait()
        grown = resident_kb() - before
    return grown / count


async def _play_one() -> None:
    """Play one match, so that what the first one imports is no part of the memory of the others."""
    await _play_together(1, Together(1, 1))


def _open_kb(count: int) -> float:
    code = f"import trio; from benchmarks import growth_matches as g; print(trio.run(g._hold_open, {count}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def matches(scale: int) -> Iterator[Row]:
    """Measure busy turns, late turns, short matches and the memory of open matches.

    Args:
        scale: divides the amount of work.
    """
    sizes = sizes_up_to(MATCHES, scale)
    turns, rounds = reduced(TURNS, scale), reduced(ROUNDS, scale)
    yield from curve(
        "busy turn", "µs", sizes, partial(_turn_us, turns, rounds), reference=64, target="≤ 1.15 at 4,096"
    )
    late = reduced(LATE_TURNS, scale)
    yield from curve("late turn", "µs", sizes, partial(late_turn_us, late))
    least = reduced(SHORT_MATCHES, scale)
    yield from curve("match of one turn", "µs", sizes, partial(_match_us, least, rounds), target="≤ 200 µs")
    yield from curve("open match", "KB", sizes_up_to(OPEN_MATCHES, scale), _open_kb, target="≤ 20 KB")


class CrowdTask(EchoTask):
    """Endless task of two or more players who move at the same time; each observes its last action.

    Args:
        seats: number of players.
    """

    id = "crowd"

    def __init__(self, seats: int) -> None:
        self.players = tuple(f"player_{seat}" for seat in range(seats))
        self._nothing = dict.fromkeys(self.players, 0)

    def reset(self, seed: int) -> dict[str, int]:  # noqa: ARG002 - nothing is random in it
        return self._nothing

    def step(self, action: dict[str, int]) -> StepResult:
        return StepResult(action, self._nothing)


class CrowdScheduler(OneTask):
    """Scheduler of one crowd.

    Args:
        seats: number of its players, at least two.
    """

    def __init__(self, seats: int) -> None:
        self._seats = seats

    def next_task(self) -> CrowdTask:
        return CrowdTask(self._seats)


def _seat_us(turns: int, rounds: int, count: int) -> float:
    """Return the CPU time of a turn for each of its seats, in microseconds."""
    spent = []
    for _ in range(rounds):
        together = Together(count, max(LEAST_TURNS, turns // count))
        tasks = partial(CrowdScheduler, count) if count > 1 else OneTask
        trio.run(_play_together, 1, together, tasks, count)
        spent.append(together.seconds / (count * together.turns) * 1e6)
    return min(spent)


def seats(scale: int) -> Iterator[Row]:
    """Measure turns of a match in which all seats move at the same time.

    Args:
        scale: divides the amount of work.
    """
    turns, rounds = reduced(TURNS, scale), reduced(ROUNDS, scale)
    yield from curve("turn of a seat", "µs", sizes_up_to(SEATS, scale), partial(_seat_us, turns, rounds))
