"""Results of a match, by seat."""

from __future__ import annotations

__all__ = ["SeatTally"]

import attrs


@attrs.define(eq=False)
class SeatTally:
    """Counts and times of a seat in a match, in nanoseconds.

    Attributes:
        reward: the sum of the rewards that it was paid.
        turns: the turns that were judged.
        late: turns for which it was late (the one that put it out included).
        illegal: turns answered with something outside the action space.
        absent: turns played for it after it was out.
        dropped: replies that answered no open turn.
        skipped: turns that it never took, because a newer one was there first.
        think_ns: all the time that it was charged for turns.
        think_max_ns: the most that it was charged for one turn.
        credit_ns: time that the host lost while it had a turn; not charged.
        start_ns: how long it took to come up.
    """

    reward: float = 0
    turns: int = 0
    late: int = 0
    illegal: int = 0
    absent: int = 0
    dropped: int = 0
    skipped: int = 0
    think_ns: int = 0
    think_max_ns: int = 0
    credit_ns: int = 0
    start_ns: int = 0
