"""Rewards of a journal, each with the action that earned it. Pure."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from flagfall.events import total_reward

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flagfall.events import Amount, Reward, TaskEnded

_ROUNDING: Final = 1e-9
"""Greatest share of the rewards of a task that its sum in floats may be wrong by."""


def rewards_of_seats(event: TaskEnded, seats: int) -> Sequence[Amount]:
    """Return what each seat was paid in a task; empty where an older journal has the sum of several seats."""
    if len(event.rewards) == seats:
        return event.rewards
    return (event.reward,) if seats == 1 else ()


class EarnedRewards:
    """Finds the action that earned each reward, in one pass.

    A turn carries the reward of the seat's action before it. That of the last action of a task is the rest of
    what the seat was paid in the task. The first turn of a task that follows another one without a break
    carries that rest again, and is left out.

    Args:
        seats: the number of seats of the match.

    Attributes:
        is_continuous: such a turn was found, as continuous tasks alone have it.
    """

    def __init__(self, seats: int) -> None:
        self._seats = seats
        self._paid: defaultdict[int, float] = defaultdict(float)  # by seat, in the open task
        self._held: dict[int, float] = {}  # by seat that has acted: what came before it could have earned it
        self._first_turn: int | None = None  # of the open task
        self._follows = False
        self.is_continuous: bool = False

    def copy(self) -> EarnedRewards:
        """Return an equal one, to go on from here again."""
        other = EarnedRewards(self._seats)
        other._paid, other._held = self._paid.copy(), self._held.copy()
        other._first_turn, other._follows = self._first_turn, self._follows
        return other

    def paid(self, seat: int) -> float:
        """Return what the turns of the open task have paid a seat."""
        return self._paid.get(seat, 0.0)

    def begin_task(self) -> None:
        """Take the beginning of a task."""
        self._paid.clear()
        self._held.clear()
        self._first_turn = None

    def take_turn(self, turn: int, seat: int, reward: Reward) -> float | None:
        """Return what the seat's action before this turn earned; `None` if it has not acted in this task."""
        if self._first_turn is None:
            self._first_turn = turn
        amount = float(total_reward(reward))
        if self._follows and turn == self._first_turn:
            self.is_continuous |= amount != 0
            amount = 0.0
        self._paid[seat] += amount
        held = self._held.get(seat)
        self._held[seat] = amount if held is None else 0.0
        return None if held is None else held + amount

    def take_turns(self, turn: int, rewards: Sequence[Amount]) -> tuple[float | None, float]:
        """Take consecutive turns of the only seat.

        Returns:
            What the action before them earned, as `take_turn` does, and the sum of what all of these
            actions but the last earned.
        """
        before = self.take_turn(turn, 0, rewards[0])
        if len(rewards) == 1:
            return before, 0.0
        inside = float(sum(rewards[1:]))
        self._paid[0] += inside
        inside, self._held[0] = inside + self._held[0], 0.0
        return before, inside

    def end_task(self, event: TaskEnded) -> dict[int, float | None]:
        """Return by seat what its last action in the task earned; `None` where the journal does not tell."""
        totals = rewards_of_seats(event, self._seats)
        found = {
            seat: held + _rest(float(totals[seat]), self._paid[seat]) if totals else None
            for seat, held in self._held.items()
        }
        self.begin_task()
        self._follows = True
        return found


def _rest(total: float, paid: float) -> float:
    rest = total - paid
    return 0.0 if abs(rest) <= _ROUNDING * max(abs(total), abs(paid)) else float(f"{rest:.12g}")
