"""Results of many matches as arrays, from which standings are computed.

A match is a row of the arrays of matches, and a seat a row of the arrays of seats. Matches are in the order
of the schedule, and so are the sums over them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs
import numpy as np

from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.records import TIME_LOSSES, MatchRecord, MatchSpec

Array: TypeAlias = np.ndarray[Any, Any]

NOT_DISQUALIFIED: Final = -1
"""Code in `ResultColumns.disqualified` of a seat that was not disqualified."""

SEAT_COUNTERS: Final = ("turns", "late", "illegal", "dropped", "over_ns", "think_max_ns")
"""Counters of `flagfall.tournament.records.SeatRecord` that standings contain."""

MATCH_COUNTERS: Final = ("solved", "tasks", "game_score", "ticks")
"""Fields of `flagfall.tournament.records.MatchRecord` that standings contain."""


@attrs.frozen(kw_only=True, eq=False)
class ResultColumns:
    """Results of matches that count.

    Attributes:
        task: of each match, the place of its task in the plan.
        meeting: of each match, the number of its meeting; matches of one meeting follow each other.
        first_seat: of each match, the place of its first seat; one more for the end.
        counters: of each match, by the names of `MATCH_COUNTERS`.
        agent: of each seat, the place of its agent in `agents`.
        disqualified: of each seat, the place in `disqualifications` or `NOT_DISQUALIFIED`.
        seat_counters: of each seat, by the names of `SEAT_COUNTERS`.
        thinking: distribution of turn times: rows of agent, whether the match has a time loss, bucket, count.
    """

    agents: tuple[str, ...]
    disqualifications: tuple[str, ...]
    task: Array
    meeting: Array
    first_seat: Array
    counters: Mapping[str, Array]
    agent: Array
    score: Array
    reward: Array
    disqualified: Array
    seat_counters: Mapping[str, Array]
    thinking: Array

    def __len__(self) -> int:
        return len(self.task)

    def is_same(self, other: ResultColumns) -> bool:
        """Return whether others have the same results, but for the distribution of turn times."""
        return all(
            np.array_equal(one, theirs) for one, theirs in zip(self._results(), other._results(), strict=True)
        )

    def _results(self) -> Iterator[Array]:
        yield from (self.task, self.first_seat, self.score, self.reward)
        yield from (self.counters[name] for name in MATCH_COUNTERS)
        yield from (self.seat_counters[name] for name in SEAT_COUNTERS)
        yield np.array(self.agents)[self.agent]
        yield np.array([*self.disqualifications, ""])[self.disqualified]

    @property
    def seats(self) -> Array:
        """Number of seats of each match."""
        return np.diff(self.first_seat)

    @property
    def match_of_seat(self) -> Array:
        """Match of each seat."""
        return np.repeat(np.arange(len(self)), self.seats)

    def time_losses(self) -> Array:
        """Return of each seat whether the clock disqualified its agent."""
        codes = [code for code, reason in enumerate(self.disqualifications) if reason in TIME_LOSSES]
        return np.isin(self.disqualified, codes)

    def without_time_losses(self) -> ResultColumns:
        """Return the matches in which the clock disqualified no agent; itself if these are all."""
        kept = np.ones(len(self), dtype=bool)
        kept[self.match_of_seat[self.time_losses()]] = False
        if kept.all():
            return self
        first_seat = np.concatenate([[0], np.cumsum(self.seats[kept])])
        found = self._part(kept, np.repeat(kept, self.seats), first_seat)
        return attrs.evolve(found, thinking=self.thinking[self.thinking[:, 1] == 0])

    def beginning(self, matches: int) -> ResultColumns:
        """Return the first matches, with the turn times of all."""
        first_seat = self.first_seat[: matches + 1]
        return self._part(slice(matches), slice(int(first_seat[-1])), first_seat)

    def _part(self, kept: Array | slice, seats: Array | slice, first_seat: Array) -> ResultColumns:
        return attrs.evolve(
            self,
            task=self.task[kept],
            meeting=self.meeting[kept],
            first_seat=first_seat,
            counters={name: values[kept] for name, values in self.counters.items()},
            agent=self.agent[seats],
            score=self.score[seats],
            reward=self.reward[seats],
            disqualified=self.disqualified[seats],
            seat_counters={name: values[seats] for name, values in self.seat_counters.items()},
        )


def columns_of(plan: TournamentPlan, played: Iterable[tuple[MatchSpec, MatchRecord]]) -> ResultColumns:
    """Return records as columns.

    Args:
        played: matches that count, in the order of the schedule.
    """
    task_of = {task.name: place for place, task in enumerate(plan.tasks)}
    agents = codes(agent.name for agent in plan.agents)
    disqualifications: dict[str, int] = {}
    tasks, meetings, first_seat = array("q"), array("q"), array("q", [0])
    matches = {name: array("d" if name == "game_score" else "q") for name in MATCH_COUNTERS}
    agent, disqualified, score, reward = array("q"), array("q"), array("d"), array("d")
    seats = {name: array("q") for name in SEAT_COUNTERS}
    thinking: dict[tuple[int, int, int], int] = {}
    meeting, number = None, -1
    for spec, record in played:
        if spec.meeting != meeting:
            meeting, number = spec.meeting, number + 1
        tasks.append(task_of[spec.task])
        meetings.append(number)
        for name, values in matches.items():
            values.append(getattr(record, name))
        lost = int(any(seat.fell in TIME_LOSSES for seat in record.seats))
        for seat in record.seats:
            code = agents.setdefault(seat.agent, len(agents))
            agent.append(code)
            disqualified.append(
                NOT_DISQUALIFIED
                if seat.fell is None
                else disqualifications.setdefault(seat.fell, len(disqualifications))
            )
            score.append(seat.score)
            reward.append(seat.reward)
            for name, values in seats.items():
                values.append(getattr(seat, name))
            for bucket, count in seat.thinking:
                key = code, lost, bucket
                thinking[key] = thinking.get(key, 0) + count
        first_seat.append(len(agent))
    return ResultColumns(
        agents=tuple(agents),
        disqualifications=tuple(disqualifications),
        task=_whole(tasks),
        meeting=_whole(meetings),
        first_seat=_whole(first_seat),
        counters={name: np.array(values) for name, values in matches.items()},
        agent=_whole(agent),
        score=np.array(score, dtype=float),
        reward=np.array(reward, dtype=float),
        disqualified=_whole(disqualified),
        seat_counters={name: _whole(values) for name, values in seats.items()},
        thinking=_whole([(*key, count) for key, count in sorted(thinking.items())]).reshape(-1, 4),
    )


def codes(names: Iterable[str]) -> dict[str, int]:
    """Return the numbers of different names, in their order from zero on."""
    return {name: code for code, name in enumerate(dict.fromkeys(names))}


def _whole(values: Sequence[Any]) -> Array:
    return np.array(values, dtype=np.int64)


_SMALL: Final = 1 << 16


class Groups:
    """Rows of a column, by a key.

    Args:
        keys: key of each row, at least 0.
        size: number of possible keys.
    """

    def __init__(self, keys: Array, size: int) -> None:
        self.counts: Array = np.bincount(keys, minlength=size)
        self.keys: Array = np.flatnonzero(self.counts)
        # numpy sorts numbers of 16 bits in linear time.
        small = keys.astype(np.uint16) if size <= _SMALL else keys
        self._order = np.argsort(small, kind="stable")
        self._starts = (np.cumsum(self.counts) - self.counts)[self.keys]
        self._size = size

    def firsts(self) -> Array:
        """Return the first row of each key that occurs."""
        rows: Array = self._order[self._starts]
        return rows

    def rows(self) -> Iterator[Array]:
        """Yield the rows of each key that occurs, in order."""
        return iter(np.split(self._order, self._starts[1:]) if len(self.keys) else ())

    def sums(self, values: Array) -> Array:
        """Return the sum of whole numbers for each key."""
        return self._reduced(np.add, values.astype(np.int64))

    def largest(self, values: Array) -> Array:
        """Return the largest of numbers from 0 on for each key; 0 where there is none."""
        return self._reduced(np.maximum, values)

    def _reduced(self, operation: np.ufunc, values: Array) -> Array:
        reduced = np.zeros(self._size, dtype=np.int64)
        if len(self.keys):
            reduced[self.keys] = operation.reduceat(values[self._order], self._starts)
        return reduced
