"""What is handed around in a tournament: a match to be played, and what became of it."""

from __future__ import annotations

__all__ = ["TIME_LOSSES", "MatchRecord", "MatchSpec", "SeatRecord", "seat_scores", "without_time_loss"]

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import attrs

TIME_LOSSES: Final = frozenset({"late"})
"""Reasons of a fall that the clock gave; see `SeatReport.fell`."""


@attrs.frozen
class MatchSpec:
    """What is to be played: everything that a worker needs besides the plan.

    Attributes:
        id: made from its place in the schedule, such as `r3-m2-g1`: round, meeting, game. Unique, and fit for
            a file's name.
        entrants: names of agents of the plan, in the order of the seats.
        task: the name of a task of the plan.
        seed: the root seed; matches that are compared share it.
        round: from 0; a later one may depend on what became of those before.
    """

    id: str
    entrants: tuple[str, ...]
    task: str
    seed: int
    round: int = 0

    @property
    def meeting(self) -> str:
        """What the matches have in common that are compared: same task, same seed, agents who meet."""
        return self.id.rpartition("-")[0]


@attrs.frozen(kw_only=True)
class SeatRecord:
    """What became of one seat; see `flagfall.kernel.outcomes.SeatStats` for the counts.

    Attributes:
        agent: its name in the plan.
        score: see `seat_scores`.
        reward: the sum that it was paid.
        fell: why it is out; `None` where it stayed.
        turns: how many were judged.
        late: turns for which it was late.
        illegal: turns answered with something outside the action space.
        absent: turns played for it after it was out.
        dropped: replies that answered no open turn.
        skipped: turns that it never took.
        think_ns: all the time that it was charged for turns.
        think_p50_ns: what half of its turns took at most.
        think_p99_ns: what 99 of 100 took at most.
        think_max_ns: the most that one took.
        over_ns: how far it went beyond its limits in all; 0 where none of its turns was late.
        credit_ns: time that the host lost while it had a turn.
        start_ns: how long it took to come up.
        thinking: how many turns took how long, the pairs of a
            `flagfall.tournament.stats.time_histogram.ThinkTimes`; from them the quantiles over many matches
            are made.
    """

    agent: str
    score: float
    reward: float = 0.0
    fell: str | None = None
    turns: int = 0
    late: int = 0
    illegal: int = 0
    absent: int = 0
    dropped: int = 0
    skipped: int = 0
    think_ns: int = 0
    think_p50_ns: int = 0
    think_p99_ns: int = 0
    think_max_ns: int = 0
    over_ns: int = 0
    credit_ns: int = 0
    start_ns: int = 0
    thinking: tuple[tuple[int, int], ...] = ()


@attrs.frozen(kw_only=True)
class MatchRecord:
    """What became of a match.

    Attributes:
        id: of its spec.
        attempt: from 1; every void one is followed by another, with the same seed.
        status: `void`: a fault or a stall of the host touched it, and it counts for nothing.
        why: what made it void.
        reason: see `flagfall.events.MatchEnded`.
        seats: in the order of the seats.
        solved: instances of tasks that were solved.
        tasks: instances of tasks that were played.
        turns: how many were played.
        elapsed_ns: from the first event to the last.
        stalls: of the host while it was played.
        journal: its file, relative to the folder of the tournament.
    """

    id: str
    attempt: int = 1
    status: Literal["played", "void"] = "played"
    why: str = ""
    reason: str = "finished"
    seats: tuple[SeatRecord, ...] = ()
    solved: int = 0
    tasks: int = 0
    turns: int = 0
    elapsed_ns: int = 0
    stalls: int = 0
    journal: str | None = None


def seat_scores(
    measure: Literal["result", "reward"],
    rewards: Sequence[float],
    fell: Sequence[str | None],
    *,
    solved: int,
    tasks: int,
) -> tuple[float, ...]:
    """The score of each seat of a match.

    Several seats are compared by their rewards: a seat's score is the share of the others that it beat, where
    a tie is half a win. So for two seats it is 1, 0.5 or 0. A seat that fell scores 0, and everybody who did
    not beats it. One seat scores by the measure of its task: `result` is the share of the instances that
    were solved, 0 where none was played or the seat fell; `reward` is the sum of what it was paid.

    Args:
        measure: of the task, for one seat.
        rewards: by seat.
        fell: by seat; `None` where it did not.
        solved: instances of tasks that were solved.
        tasks: instances that were played.
    """
    if len(rewards) == 1:
        if measure == "reward":
            return (float(rewards[0]),)
        return (solved / tasks if tasks and fell[0] is None else 0.0,)
    worth = [(out is None, reward) for out, reward in zip(fell, rewards, strict=True)]
    return tuple(
        sum(_beats(mine, theirs) for seat, theirs in enumerate(worth) if seat != me) / (len(worth) - 1)
        if mine[0]
        else 0.0
        for me, mine in enumerate(worth)
    )


def _beats(mine: tuple[bool, float], theirs: tuple[bool, float]) -> float:
    if mine[0] != theirs[0]:
        return float(mine[0])
    return 0.5 if mine[1] == theirs[1] else float(mine[1] > theirs[1])


def without_time_loss(records: Mapping[str, MatchRecord]) -> dict[str, MatchRecord]:
    """The records of matches in which the clock put nobody out."""
    return {
        name: record
        for name, record in records.items()
        if not any(seat.fell in TIME_LOSSES for seat in record.seats)
    }
