"""The share of turns that agents lose, over the limit of a turn or over a rate, and limits that are enough.

Everything comes from recorded think times, and holds for agents that think as they did: an agent that adapts
to its limit will do better. Turns of one match depend on each other, so intervals are between matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil, floor, log10
from typing import Final

import attrs
import numpy as np

from flagfall.recording.think_times import ThinkTimes, bank_needed_ns, lost_turns
from flagfall.timing import TimeControl
from flagfall.timing.rates import Rate
from flagfall.tournament.columns import Array
from flagfall.tournament.stats.clusters import LEAST_HITS, Trials, worth_of
from flagfall.tournament.stats.intervals import LEVEL

POINTS: Final = 25
"""Limits of a curve, besides those that are asked for."""

DIGITS: Final = 3
"""Digits of a limit that is chosen here."""

LOST: Final = 0.001
"""Share of turns that a limit may cost, by default."""

_SHOWN_SHARE: Final = 0.5
"""A curve begins at a limit that loses about this share of the think times."""

_MARGIN: Final = 1.25
"""A curve ends at this multiple of the longest think time, where nothing is lost."""


@attrs.frozen(kw_only=True)
class LimitAdvice:
    """The smallest limits at which an agent loses few enough turns, in nanoseconds.

    Attributes:
        lost: share of its turns that it may lose.
        act_ns: the smallest limit of a turn at which it loses no larger share; of a longer one nothing is
            known where `is_least`.
        low_ns: lower end of its 95 % interval; `None` if there is none.
        high_ns: upper end; `None` if there are too few turns to say.
        is_least: the share is above `lost` at every limit that the record says something about.
        longest_ns: the longest think time, which a hard limit has to exceed.
        longer: share of matches that may have a longer one, with 95 % confidence.
        bank_ns: under a bank, the smallest one that no match used up; `None` without one.
        turns_needed: number of independent turns from which there is an upper end.
    """

    lost: float
    act_ns: int
    low_ns: int | None
    high_ns: int | None
    is_least: bool
    longest_ns: int
    longer: float
    bank_ns: int | None
    turns_needed: int


@attrs.frozen(kw_only=True)
class LimitCurve:
    """Share of turns that an agent loses over the limit of a turn, if it thinks as it did.

    Attributes:
        agent: its name; empty for all agents together.
        control: text of the time control of its matches.
        soft_ns: `act` of that; `None` without one.
        hard_ns: `act_hard` of that; `None` without one.
        matches: number of matches with think times.
        turns: number of think times.
        worth: number of independent turns that these are worth, at the advised limit.
        limits_ns: limits, ascending.
        share: by limit, the share of turns lost.
        low: lower end of its 95 % interval.
        high: upper end.
        at_least: by limit, whether some think times are not known that far: the share and its interval are
            of those that are, and at least that many turns are lost.
        advice: the smallest limits that are enough.
    """

    agent: str
    control: str
    soft_ns: int | None
    hard_ns: int | None
    matches: int
    turns: int
    worth: int
    limits_ns: tuple[int, ...]
    share: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    at_least: tuple[bool, ...]
    advice: LimitAdvice


@attrs.frozen(kw_only=True)
class RateCurve:
    """Share of turns that an agent loses over the rate of its work, under the time control of its matches.

    Attributes:
        agent: its name.
        control: text of the time control.
        matches: number of matches with think times.
        turns: number of think times.
        rates: texts of the rates.
        per_second: what they are called by: tokens of answers a second, or units of fuel.
        share: by rate, the share of turns lost.
        low: lower end of its 95 % interval.
        high: upper end.
        at_least: by rate, whether some think times are not known: they count as in time.
    """

    agent: str
    control: str
    matches: int
    turns: int
    rates: tuple[str, ...]
    per_second: tuple[float, ...]
    share: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    at_least: tuple[bool, ...]


def rate_curve(agent: str, control: TimeControl, thinking: Mapping[Rate, ThinkTimes]) -> RateCurve:
    """Return the curve of an agent, from its think times under each rate, at least one."""
    order = sorted(thinking, key=lambda rate: (rate.per_second, str(rate)))
    rows = [Loss.of([(thinking[rate], control)]) for rate in order]
    ends = [trials.share(row.share) for row, trials in zip(rows, _worths(rows), strict=True)]
    one = thinking[order[0]]
    return RateCurve(
        agent=agent,
        control=str(control),
        matches=len(np.unique(one.match)),
        turns=len(one),
        rates=tuple(map(str, order)),
        per_second=tuple(rate.per_second for rate in order),
        share=tuple(row.share for row in rows),
        low=tuple(low for low, _ in ends),
        high=tuple(high for _, high in ends),
        at_least=tuple(bool(row.unknown) for row in rows),
    )


def limits_for(thinking: ThinkTimes, control: TimeControl, asked: Iterable[int] = ()) -> tuple[int, ...]:
    """Return the limits of a curve: from one that loses half of the turns to one that loses none.

    Args:
        control: the time control of the matches; its limit is one of them.
        asked: further limits, in nanoseconds.
    """
    if not len(thinking) or not thinking.think_ns.any():
        return ()
    low = max(1, int(np.quantile(thinking.think_ns, 1 - _SHOWN_SHARE)))
    high = _MARGIN * max(int(thinking.think_ns.max()), low)
    chosen = {rounded(ns, floor) for ns in np.geomspace(low, high, POINTS)}
    return tuple(sorted(chosen | {limit for limit in (control.act, *asked) if limit}))


def curve_of(
    agent: str, control: TimeControl, thinking: ThinkTimes, limits: Sequence[int], *, lost: float = LOST
) -> LimitCurve | None:
    """Return the curve of an agent; `None` if it has no think times, as those of the virtual clock are 0.

    Args:
        agent: its name; empty for all agents.
        control: the time control of the matches.
        limits: the limits, ascending; see `limits_for`.
        lost: share of turns that the advised limit may cost.
    """
    if not len(thinking) or not thinking.think_ns.any():
        return None
    losses = _Losses(thinking)
    rows = [losses.at(limit) for limit in limits]
    ends = [trials.share(row.share) for row, trials in zip(rows, _worths(rows), strict=True)]
    advice, worth = _advise(losses, control, lost)
    return LimitCurve(
        agent=agent,
        control=str(control),
        soft_ns=control.act,
        hard_ns=control.act_hard,
        matches=len(np.unique(thinking.match)),
        turns=len(thinking),
        worth=floor(worth.worth),
        limits_ns=tuple(limits),
        share=tuple(row.share for row in rows),
        low=tuple(low for low, _ in ends),
        high=tuple(high for _, high in ends),
        at_least=tuple(bool(row.unknown) for row in rows),
        advice=advice,
    )


@attrs.frozen(eq=False)
class Loss:
    """Turns that an agent loses under a time control, by match."""

    lost: Array
    turns: Array
    unknown: int

    @classmethod
    def of(cls, groups: Sequence[tuple[ThinkTimes, TimeControl]]) -> Loss:
        """Return what is lost of some groups of think times, at least one, each under a time control."""
        _, match = np.unique(np.concatenate([group.match for group, _ in groups]), return_inverse=True)
        found = [lost_turns(group, control) for group, control in groups]
        lost, turns = (
            np.bincount(match, np.concatenate([getattr(one, name) for one in found]))
            for name in ("lost", "turns")
        )
        return cls(lost, turns, sum(one.unknown for one in found))

    @property
    def share(self) -> float:
        """The share of all turns."""
        return float(self.lost.sum() / max(1, self.turns.sum()))

    def trials(self) -> Trials:
        """Return the independent turns that the matches are worth."""
        return worth_of(self.lost, self.turns)


class _Losses:
    """Turns that an agent loses at any limit, without a hard one."""

    def __init__(self, thinking: ThinkTimes) -> None:
        self.thinking = thinking

    def at(self, limit_ns: int) -> Loss:
        """Return the turns lost by match."""
        return Loss.of([(self.thinking, TimeControl(act=limit_ns))])

    def smallest(self, share: float, most_ns: int) -> int:
        """Return the smallest limit at which no larger share is lost, and `most_ns` at most."""
        low, high = 0, most_ns
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.at(middle).share <= share else (middle, high)
        return high


def _worths(rows: Sequence[Loss]) -> list[Trials]:
    """Return the independent turns that matches are worth at each limit.

    Where few turns are lost, as many as at the longest limit at which enough are: how turns of a match depend
    on each other shows only there.
    """
    found: list[Trials] = []
    for row in rows:
        few = min(row.lost.sum(), (row.turns - row.lost).sum()) < LEAST_HITS
        found.append(found[-1] if few and found else row.trials())
    return found


def rounded(ns: float, to: Callable[[float], int] = ceil) -> int:
    """Return a duration with `DIGITS` digits, so that it reads well; by default not a shorter one."""
    step: int = 10 ** max(0, floor(log10(max(1, ns))) + 1 - DIGITS)
    return to(ns / step) * step


def _advise(losses: _Losses, control: TimeControl, share: float) -> tuple[LimitAdvice, Trials]:
    """Return the smallest limits, and the independent turns that the matches are worth for them."""
    thinking = losses.thinking
    longest_ns = int(thinking.think_ns.max())
    # Beyond the least of the think times that are not exact, nothing is known.
    known_ns = int(thinking.think_ns[~thinking.exact].min(initial=longest_ns + 1))
    act_ns = losses.smallest(share, max(1, known_ns))
    is_least = losses.at(act_ns).share > share
    common = losses.at(losses.smallest(max(share, LEAST_HITS / len(thinking)), max(1, known_ns)))
    trials = common.trials()
    low_share, high_share = trials.observed(share)
    high_ns = None
    if low_share is not None and losses.at(known_ns).share <= low_share:
        high_ns = rounded(losses.smallest(low_share, known_ns))
    matches = len(np.unique(thinking.match))
    advice = LimitAdvice(
        lost=share,
        act_ns=act_ns if is_least else rounded(act_ns),
        low_ns=rounded(losses.smallest(high_share, known_ns), floor) if trials.worth else None,
        high_ns=high_ns,
        is_least=is_least,
        longest_ns=longest_ns,
        longer=1 - (1 - LEVEL) ** (1 / matches),
        bank_ns=None if control.bank is None else rounded(int(bank_needed_ns(thinking, control).max())),
        turns_needed=ceil(np.log((1 - LEVEL) / 2) / np.log1p(-share)),
    )
    return advice, trials
