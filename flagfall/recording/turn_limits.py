"""Comparison of a journal with a replay: values of turns, and limits computed again.

A journal has the time that each turn took, and not its limits. `Budget` has the same arithmetic here as in
the match, so the limits are those of the match, with two exceptions: a journal does not hold the durations of
`init` and `result`, which a `total` counts, nor how long an agent was busy before a turn.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from contextlib import suppress
from copy import copy
from math import isclose
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from flagfall.errors import UsageError
from flagfall.events import MatchStarted, SeatReady, TurnPlayed
from flagfall.kernel.channels.arrays import restore_arrays
from flagfall.kernel.channels.codecs import CodecError
from flagfall.kernel.usage import NOTHING, Usage
from flagfall.recording.journal.format import encode
from flagfall.timing import NEVER_NS, Budget, TimeControl
from flagfall.timing.budget import Limits, request_limits

# Comparison of recorded values with those of a replay. Pure.
#
# Values are compared as JSON: numbers digit by digit, arrays by type, shape and bytes. The floats that a
# task computes may differ by `FLOAT_TOLERANCE`: sines, exponentials and matrix products have other last
# digits on another processor, or with another version of a library, and a state that is computed from them
# drifts apart.

FLOAT_TOLERANCE: Final = 1e-5
"""Most that a float may differ, as a share of its value where that is above 1: three times what the chaotic
state of `gym:Acrobot-v1` drifted apart in the 500 steps of an episode."""

MAX_SHOWN_CHARS: Final = 80
"""Maximum length of a value in a message."""


def are_same(expected: Any, found: Any) -> bool:
    """Return whether two values have the same JSON."""
    if type(expected) is type(found) is int:
        return bool(expected == found)
    return _written(expected) == _written(found)


def are_close(expected: Any, found: Any) -> bool:
    """Return whether two values are the same but for the rounding of their floats."""
    try:
        one, other = (restore_arrays(msgspec.json.decode(_written(value))) for value in (expected, found))
        return _is_close(one, other)
    except (msgspec.DecodeError, CodecError, RecursionError):
        return False


def _is_close(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    match one:
        case dict():
            close = list(one) == list(other) and all(_is_close(one[key], other[key]) for key in one)
        case list():
            close = len(one) == len(other) and all(map(_is_close, one, other))
        case float():
            close = isclose(one, other, rel_tol=FLOAT_TOLERANCE, abs_tol=FLOAT_TOLERANCE)
        case str() | int() | None:
            close = one == other
        case _:
            close = _are_arrays_close(one, other)
    return close


def _are_arrays_close(one: Any, other: Any) -> bool:
    import numpy as np  # noqa: PLC0415 - imported already, as these are arrays

    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.kind not in "fc":
        return bool(np.array_equal(one, other))
    return bool(np.allclose(one, other, rtol=FLOAT_TOLERANCE, atol=FLOAT_TOLERANCE, equal_nan=True))


def shown(value: Any) -> str:
    """Return a value as the text of a message."""
    text = _written(value).decode()
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}... ({len(text)} characters)"


def forms_of(action: Any) -> Iterator[Any]:
    """Yield the actions that a JSON value may stand for: JSON has neither tuples nor bytes."""
    yield action
    if isinstance(action, list):
        yield tuple(action)
        yield _tuples(action)
    elif isinstance(action, str):
        with suppress(ValueError):
            yield b64decode(action, validate=True)


def _tuples(value: Any) -> Any:
    """Return a value with tuples in place of lists, at any depth."""
    if isinstance(value, dict):
        return {key: _tuples(of) for key, of in value.items()}
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def _written(value: Any) -> bytes:
    try:
        return encode(value)
    except (ValueError, TypeError, RecursionError) as error:
        return f"(no JSON: {error})".encode()


class TurnLimits(NamedTuple):
    """The limits of one turn, in nanoseconds; `None` where there is no such limit.

    Attributes:
        soft_ns: time from which an answer is late; at real-time pace the tick.
        hard_ns: time after which the seat is disqualified.
        bank_ns: thinking time left in the bank after the turn; `None` without a bank.
    """

    soft_ns: int | None = None
    hard_ns: int | None = None
    bank_ns: int | None = None


MAX_PARENTS: Final = 100
"""Branches of branches whose time controls are read: a header could name any number."""

NO_LIMITS: Final = TurnLimits()


class LimitsOfTurns:
    """The budgets of all seats of one recorded match, charged turn by turn.

    Args:
        header: the beginning of the match. It may come from others: a time control that cannot be read
            means no limits, and `problem` describes it.
        control: another time control, in place of that of the match.

    Attributes:
        problem: why the time control cannot be read; empty if it can.
        flat: the limits of all turns, if they never change; else `None`. No turn need be charged then.
    """

    def __init__(self, header: MatchStarted, control: TimeControl | None = None) -> None:
        self.problem: str = ""
        self.flat: TurnLimits | None = None
        self._seats = len(header.agents)
        self._tick_ns = header.tick_ns
        self._budgets: dict[int, Budget] = {}
        try:
            self.control: TimeControl = control or TimeControl.parse(header.time_control)
        except UsageError as error:
            self.problem = str(error)
            self.control = TimeControl()
        budget = Budget(self.control)
        # The limits of the turns before a number, if a branch has changed its time control there.
        self._earlier: list[tuple[int, LimitsOfTurns]] = []
        if control is None and any(one.time_control != header.time_control for one in header.parents):
            for parent in header.parents[:MAX_PARENTS]:
                then = replace(header, time_control=parent.time_control, parents=())
                self._earlier.append((parent.turn, LimitsOfTurns(then)))
        if budget.flat and not self._earlier:
            self.flat = self._of(budget)

    def take_start(self, event: SeatReady) -> None:
        """Charge the start of an agent, which a total counts; a seat that does not exist changes nothing."""
        for _, limits in self._earlier:
            limits.take_start(event)
        self.charge_start(event.seat, event.spent_ns)

    def charge_start(self, seat: int, spent_ns: int) -> None:
        """Charge the start of the agent of a seat."""
        budget = self._budget(seat)
        if budget is not None:
            budget.charge("start", max(0, spent_ns))

    def take_turn(self, event: TurnPlayed) -> TurnLimits:
        """Return the limits of a turn, and charge it; none for a seat that was disqualified before.

        Args:
            event: the record of the turn; every turn of a seat once, in the order of the journal.
        """
        if event.verdict == "absent":
            return NO_LIMITS
        return self.charge(event.turn, event.seat, event.spent_ns, Usage.of(event.note))

    def charge(self, turn: int, seat: int, spent_ns: int, usage: Usage = NOTHING) -> TurnLimits:
        """Return the limits of the next turn of a seat, and charge what it took.

        There are none for a seat that does not exist.

        Args:
            turn: the number of the turn.
            spent_ns: the time that it took.
            usage: what a language model used for it.
        """
        if self._earlier:
            charged = [
                (before, limits.charge(turn, seat, spent_ns, usage)) for before, limits in self._earlier
            ]
            earlier = (then for before, then in charged if turn < before)
            return next(earlier, self._charge(seat, spent_ns, usage))
        return self._charge(seat, spent_ns, usage)

    def _charge(self, seat: int, spent_ns: int, usage: Usage) -> TurnLimits:
        if self.flat is not None:
            return self.flat if 0 <= seat < self._seats else NO_LIMITS
        if not 0 <= seat < self._seats:
            return NO_LIMITS
        budget = self.budget_of(seat)
        limits = self._of(budget)
        budget.charge("act", max(0, spent_ns))
        usage.charge(budget)
        return limits._replace(bank_ns=budget.bank_ns)

    def budget_of(self, seat: int) -> Budget:
        """Return what is left of the time control for a seat."""
        return self._budget(seat) or Budget(self.control)

    def judged_by(self, turn: int, seat: int) -> Limits:
        """Return the limits by which the clock judges the next turn of a seat that is not busy before it.

        Args:
            turn: the number of the turn.
        """
        for before, earlier in self._earlier:
            if turn < before:
                return earlier.judged_by(turn, seat)
        budget = self._budgets.setdefault(seat, Budget(self.control))
        soft_ns, hard_ns, abort_ns = request_limits(budget.limits("act"), paced=self._tick_ns is not None)
        return Limits(soft_ns, hard_ns, hard_ns, abort_ns)

    def copy(self) -> LimitsOfTurns:
        """Return an independent copy, at the same point of the match."""
        same = copy(self)
        same._earlier = [(before, limits.copy()) for before, limits in self._earlier]  # noqa: SLF001
        same._budgets = {seat: copy(budget) for seat, budget in self._budgets.items()}  # noqa: SLF001 - of this class
        return same

    def _budget(self, seat: int) -> Budget | None:
        if self.flat is not None or not 0 <= seat < self._seats:
            return None
        return self._budgets.setdefault(seat, Budget(self.control))

    def _of(self, budget: Budget) -> TurnLimits:
        soft_ns = budget.limit("act") if self._tick_ns is None else self._tick_ns
        return TurnLimits(_or_none(soft_ns), _or_none(budget.hard_limit("act")), budget.bank_ns)


def _or_none(limit_ns: int) -> int | None:
    return None if limit_ns >= NEVER_NS else limit_ns
