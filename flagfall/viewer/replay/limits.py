"""Limits of every turn of a recorded match, computed again from its time control. Pure."""

from __future__ import annotations

__all__ = ["TurnLimits"]

from copy import copy
from typing import TYPE_CHECKING

from flagfall.errors import UsageError
from flagfall.timing import NEVER_NS, Budget, TimeControl

if TYPE_CHECKING:
    from flagfall.events import MatchStarted


class TurnLimits:
    """Limits and banks of all seats, in the order of the recorded turns.

    The time that agents took in the phases `init` and `result` is not recorded, so a limit by `total` may have
    been shorter than computed here. At real-time pace, the tick is the soft limit.

    Args:
        header: the header of the journal.
        seats: the number of seats.

    Attributes:
        problem: one line if the time control cannot be read; there are no limits then.
        control: the time control; `None` if it cannot be read.
        flat: the limits are the same for all turns.
    """

    def __init__(self, header: MatchStarted, seats: int) -> None:
        self.problem = ""
        self.control: TimeControl | None = None
        self._tick_ns = header.tick_ns
        try:
            self.control = TimeControl.parse(header.time_control)
        except (UsageError, ValueError):
            self.problem = "its time control cannot be read, so no limits are shown"
        control = self.control or TimeControl()
        self.flat = Budget(control).flat
        self._budgets = [Budget(control)] * (seats if self.flat else 0)
        if not self.flat:
            self._budgets = [Budget(control) for _ in range(seats)]

    def copy(self) -> TurnLimits:
        """Return an independent copy at the same point of the match."""
        if self.flat:
            return self
        same = copy(self)
        same._budgets = [copy(budget) for budget in self._budgets]  # noqa: SLF001 - of the same class
        return same

    def ready(self, seat: int, spent_ns: int) -> None:
        """Charge the start of an agent.

        Args:
            seat: the number of the seat.
            spent_ns: the time that it took.
        """
        if not self.flat:
            self._budgets[seat].charge("start", max(0, spent_ns))

    def soft_ns(self, seat: int) -> int | None:
        """Return the soft limit of the next turn of a seat; `None` for no limit."""
        if self._tick_ns is not None:
            return self._tick_ns
        return _finite(self._budgets[seat].limit("act"))

    def hard_ns(self, seat: int) -> int | None:
        """Return the hard limit of the next turn of a seat; `None` for no limit."""
        return _finite(self._budgets[seat].hard_limit("act"))

    def charge(self, seat: int, spent_ns: int) -> int | None:
        """Charge a turn.

        Args:
            seat: the number of the seat.
            spent_ns: the time that it was charged.

        Returns:
            What is left in its bank after the turn; `None` without a bank.
        """
        budget = self._budgets[seat]
        if not self.flat:
            budget.charge("act", max(0, spent_ns))
        return budget.bank_ns


def _finite(limit_ns: int) -> int | None:
    return None if limit_ns >= NEVER_NS else limit_ns
