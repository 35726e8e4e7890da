"""Remaining time of one seat under a time control, and the verdict of a turn, in integer arithmetic.

Rule 1: a tie is late; `is_late` owns that, and no other code compares.
Rule 2: this file does not know what time it is. It is given what was spent.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import attrs

from flagfall.events import ON_TIME, Verdict
from flagfall.timing.control import PHASES, Phase
from flagfall.timing.durations import NEVER_NS

if TYPE_CHECKING:
    from flagfall.timing.control import TimeControl

PhaseLimits: TypeAlias = tuple[int, int, int]
"""Limit, hard limit and abort limit of a phase, in nanoseconds."""

_MAX_CACHED_CONTROLS: Final = 64
"""Time controls whose limits are kept: a program plays its matches under a few."""


def is_late(spent_ns: int, limit_ns: int) -> bool:
    """Return whether a time is over a limit; exactly the limit is."""
    return spent_ns >= limit_ns


def _or_never(limit_ns: int | None) -> int:
    return NEVER_NS if limit_ns is None else limit_ns


@attrs.define(eq=False)
class Budget:
    """Remaining time of one seat in one match, under a `TimeControl`.

    `limit` before a turn, `charge` after it. For every phase `limit <= hard_limit`; where the two are
    equal, to be late is to be disqualified.

    Attributes:
        flat: the limits never change (no `bank`, `total` or `budget`): nothing need be charged.
    """

    control: TimeControl
    flat: bool = attrs.field(init=False)
    _bank_ns: int | None = attrs.field(init=False)
    _used_ns: int = attrs.field(init=False, default=0)
    _tokens: int = attrs.field(init=False, default=0)
    _cost: int = attrs.field(init=False, default=0)
    _flat_limits: Mapping[Phase, PhaseLimits] | None = attrs.field(init=False, default=None, repr=False)

    def __attrs_post_init__(self) -> None:
        control = self.control
        amounts = control.bank, control.total, control.budget_tokens, control.budget_cost
        self.flat = all(amount is None for amount in amounts)
        self._bank_ns = control.bank

    @property
    def bank_ns(self) -> int | None:
        """Return the thinking time left in the bank; `None` where there is no bank."""
        return self._bank_ns

    @property
    def total_ns(self) -> int | None:
        """Return the remaining total, without the grace; `None` where there is no total."""
        total = self.control.total
        return None if total is None else max(0, total - self._used_ns)

    @property
    def left(self) -> tuple[int | None, int | None]:
        """Return what is left of the budget of tokens, and in billionths of a dollar of that of cost.

        `None` where there is no such budget.
        """
        budgets = (self.control.budget_tokens, self._tokens), (self.control.budget_cost, self._cost)
        tokens, cost = (None if budget is None else max(0, budget - used) for budget, used in budgets)
        return tokens, cost

    def limits(self, phase: Phase) -> PhaseLimits:
        """Return `limit`, `hard_limit` and `abort_limit`; those that never change are computed once."""
        if not self.flat:
            return self.limit(phase), self.hard_limit(phase), self.abort_limit(phase)
        if self._flat_limits is None:
            self._flat_limits = _flat_limits_of(self.control)
        return self._flat_limits[phase]

    def limit(self, phase: Phase) -> int:
        """Return how long this phase may take from its start before it is late.

        For `act` that is `act` and what the bank holds (the bank alone where there is no `act`), and
        `act_hard` at most, and nothing once the budget of tokens or of cost is spent; for every phase, what
        is left of total and grace at most.

        Returns:
            Nanoseconds, 0 or more; `NEVER_NS` where there is no limit.
        """
        own = self._act_ns() if phase == "act" else _or_never(getattr(self.control, phase))
        return min(own, self._left_ns())

    def hard_limit(self, phase: Phase) -> int:
        """Return how long a seat may be busy with this phase before it is disqualified.

        That is `limit`, except for a turn that is late with `late="nil"`: then `act_hard` is, and what is
        left of total and grace.
        """
        if phase == "act" and self.control.late == "nil":
            return min(_or_never(self.control.act_hard), self._left_ns())
        return self.limit(phase)

    def abort_limit(self, phase: Phase) -> int:
        """Return the time after which this phase aborts the episode; `NEVER_NS` where it never does."""
        return _or_never(self.control.act_abort) if phase == "act" else NEVER_NS

    def charge(self, phase: Phase, spent_ns: int) -> None:
        """Book the time that one phase took, late or not; after a turn, add the increment.

        Args:
            phase: the phase that took the time. Only turns draw on the bank.
            spent_ns: nanoseconds, 0 or more. More than was left leaves nothing, never a debt.

        Raises:
            ValueError: the time is negative.
        """
        if spent_ns < 0:
            raise ValueError(f"time spent is not negative: {spent_ns} ns")
        self._used_ns += spent_ns
        if phase == "act" and self._bank_ns is not None:
            overdraft = max(0, spent_ns - (self.control.act or 0))
            self._bank_ns = max(0, self._bank_ns - overdraft) + (self.control.increment or 0)

    def use(self, tokens: int, cost: int) -> None:
        """Book what a language model used, in tokens and in billionths of a US dollar, each 0 or more."""
        self._tokens += tokens
        self._cost += cost

    def _act_ns(self) -> int:
        if 0 in self.left:
            return 0
        control = self.control
        soft = _or_never(control.act) if self._bank_ns is None else (control.act or 0) + self._bank_ns
        return min(soft, _or_never(control.act_hard), NEVER_NS)

    def _left_ns(self) -> int:
        total = self.control.total
        if total is None:
            return NEVER_NS
        return max(0, total + (self.control.grace or 0) - self._used_ns)


class Reading(NamedTuple):
    """Reading of the clock of a turn, in nanoseconds.

    Attributes:
        spent_ns: time used of the turn.
        credit_ns: time that the host lost while the turn ran; not in `spent_ns`.
        busy_ns: for how long the agent has been busy without an answer.
        grace_ns: grace period for an answer whose arrival is unknown, on a host that stalled; else 0.
    """

    spent_ns: int
    credit_ns: int = 0
    busy_ns: int = 0
    grace_ns: int = 0


class Limits(NamedTuple):
    """The limits of a turn, in nanoseconds; `NEVER_NS` for none.

    Attributes:
        soft_ns: time from which an answer is late.
        busy_ns: time of being busy after which the agent is disqualified.
        hard_ns: the same for this turn alone.
        abort_ns: time from which the episode is aborted; until then a late turn stays open.
    """

    soft_ns: int = NEVER_NS
    busy_ns: int = NEVER_NS
    hard_ns: int = NEVER_NS
    abort_ns: int = NEVER_NS


def request_limits(limits: PhaseLimits, *, paced: bool = False, least_ns: int = 0) -> PhaseLimits:
    """Return the limits by which a request is judged, from those of its phase.

    Args:
        paced: a turn at real-time pace, which the tick ends: only the hard limit is the agent's own.
        least_ns: time in which it is not late in any case.
    """
    soft_ns, hard_ns, abort_ns = limits
    if paced:
        return NEVER_NS, hard_ns, NEVER_NS
    soft_ns = max(soft_ns, least_ns)
    return soft_ns, max(hard_ns, soft_ns), abort_ns


def verdict_of(reading: Reading, limits: Limits, *, abortable: bool) -> Verdict:
    """Judge a turn by the clock. Pure.

    Args:
        abortable: the task has an action that aborts its episode.

    Returns:
        `on time`, `late`, `overrun` or `disqualified`. Exactly a limit is over it.
    """
    grace_ns = reading.grace_ns
    if is_late(reading.busy_ns, limits.busy_ns + grace_ns):
        return "disqualified"
    if not is_late(reading.spent_ns, limits.soft_ns + grace_ns):
        return ON_TIME
    if limits.soft_ns >= limits.hard_ns:  # to be late is to be disqualified
        return "disqualified"
    if not is_late(reading.spent_ns, limits.abort_ns + grace_ns):
        return "late"
    return "overrun" if abortable else "disqualified"


@lru_cache(maxsize=_MAX_CACHED_CONTROLS)
def _flat_limits_of(control: TimeControl) -> Mapping[Phase, PhaseLimits]:
    """Return the limits of every phase under a time control without `bank` and `total`."""
    budget = Budget(control)
    return {
        phase: (budget.limit(phase), budget.hard_limit(phase), budget.abort_limit(phase)) for phase in PHASES
    }
