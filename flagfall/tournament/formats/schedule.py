"""Schedules: which matches can be played now, given the results so far.

A schedule is a function of the plan and the records, so a resumed tournament is the same as one that was
never interrupted. Every decision is based on complete rounds, or on a complete beginning of the schedule: it
depends neither on the order in which matches end nor on how many are played at the same time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, islice
from operator import attrgetter
from random import Random
from types import MappingProxyType
from typing import Final

import attrs

from flagfall.errors import UsageError
from flagfall.kernel.outcomes import derive_seed
from flagfall.tournament.formats.adaptive import Adaptive
from flagfall.tournament.formats.encounters import SprtMonitor
from flagfall.tournament.formats.fixed_rounds import Benchmark, FixedRounds, Gauntlet, RoundRobin
from flagfall.tournament.formats.swiss import Knockout, Swiss
from flagfall.tournament.model import Format, TournamentPlan
from flagfall.tournament.records import MatchRecord, MatchSpec, Records
from flagfall.tournament.stats.duels import SprtState

MAX_MATCHES: Final = 10_000_000
"""The most matches of a plan. Standings walk the whole schedule, which takes some seconds for this many."""


@attrs.frozen
class Part:
    """One of several parts of a tournament, which different machines play.

    Meetings stay whole. Of each group of meetings that follow each other, as many as there are parts, every
    part has one, drawn by the plan's seed: so parts have equally many, and none has always the same task.

    Args:
        number: from 1 to `of`.
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: str, plan: TournamentPlan) -> Part:
        """Return the part of a plan that a text such as `1/3` names.

        Raises:
            UsageError: it names none, or a match of the plan depends on results of others.
        """
        found = re.fullmatch("([0-9]{1,6})/([0-9]{1,6})", text, re.ASCII)
        part = cls(*map(int, found.groups())) if found else cls(0, 0)
        if not 1 <= part.number <= part.of:
            raise UsageError(f"part {text!r}: write its number and how many there are, such as 1/3")
        if not has_fixed_schedule(plan):
            raise UsageError(
                f"part {text}: the matches of this plan depend on results (by its format, `falls` or `sprt`),"
                " so it has no parts: play it on one machine, or on several with --engine ray"
            )
        return part

    def matches(self, plan: TournamentPlan, specs: Iterable[MatchSpec]) -> Iterator[MatchSpec]:
        """Yield the matches of this part.

        Args:
            specs: all matches of the plan, in order.
        """
        first = 0
        for place, (_, meeting) in enumerate(groupby(specs, attrgetter("meeting"))):
            group, index = divmod(place, self.of)
            if index == 0:
                first = Random(derive_seed(plan.seed, "part", group)).randrange(self.of)
            if index == (first + self.number) % self.of:
                yield from meeting


class Schedule:
    """The matches of a tournament, in order.

    The methods take the records so far. A mapping that is passed again may have grown, and must not have
    changed otherwise.

    Args:
        part: only these matches, of a plan whose schedule does not depend on results; `None` for all.

    Attributes:
        total: number of matches; `None` if it depends on their results.
    """

    def __init__(self, plan: TournamentPlan, part: Part | None = None) -> None:
        self._plan = plan
        self._part = part
        exact = plan.format.exact_total and plan.stop.falls is None
        self.total: int | None = most_matches(plan) if exact else plan.stop.matches
        if part is not None:
            self.total = sum(1 for _ in self.walk({}))
        self._sprt = None
        if plan.stop.sprt is not None:
            paired = any(task.seats > 1 for task in plan.tasks)
            self._sprt = SprtMonitor(plan.stop.sprt, paired, lambda: self.walk({}))

    def walk(self, records: Records) -> Iterator[MatchSpec]:
        """Yield all matches that are determined by the records, played or not."""
        for spec in self.live(records):
            if spec is None:
                return
            yield spec

    def live(self, records: Records) -> Iterator[MatchSpec | None]:
        """Yield all matches of the tournament, each once, while the records grow.

        The whole walk takes some microseconds a match, however often it waits for records.

        Args:
            records: results so far; read again whenever the iterator is continued.

        Yields:
            A match, or `None` where the next match depends on results that are missing: continue the iterator
            when there are more.
        """
        specs = self._live(records)
        return specs if self._part is None else self._part.matches(self._plan, filter(None, specs))

    def _live(self, records: Records) -> Iterator[MatchSpec | None]:
        left = self._plan.stop.matches
        for spec in self._plan.format.schedule(self._plan, records):
            if spec is not None and left is not None:
                if not left:
                    return
                left -= 1
            yield spec

    def due(self, records: Records) -> Iterator[MatchSpec]:
        """Yield the matches that can be played now, including those that are being played.

        The iterator does not wait: if it ends before the tournament is over, the next record may make more
        matches due. `live` continues there.
        """
        state = self.sprt(records)
        if state is not None and state.decision is not None:
            return
        for spec in self.walk(records):
            if spec.id not in records:
                yield spec

    def over(self, records: Records) -> bool:
        """Return whether no match is left to play."""
        if self.total is not None and self._part is None and len(records) >= self.total:
            return True
        if self._sprt is not None:
            return self._sprt.state(records).decision is not None
        return next(self.due(records), None) is None

    def sprt(self, records: Records) -> SprtState | None:
        """Return the state of the sequential test, or `None` if the plan has none."""
        return None if self._sprt is None else self._sprt.state(records)

    def played(self, records: Records) -> Iterator[tuple[MatchSpec, MatchRecord]]:
        """Yield each played match with its record, in the order of the schedule.

        Matches that were played beyond the decision of a sequential test count as well. The walk ends with
        the last record: a test may leave millions of matches unplayed.
        """
        known = (spec for spec in self.walk(records) if spec.id in records)
        for spec in islice(known, len(records)):
            yield spec, records[spec.id]


def schedule(plan: TournamentPlan, part: Part | None = None) -> Schedule:
    """Return the schedule of a plan, or of a part of it."""
    return Schedule(plan, part)


def has_fixed_schedule(plan: TournamentPlan) -> bool:
    """Return whether no match of a plan depends on results, nor its end."""
    return isinstance(plan.format, FixedRounds) and plan.stop.falls is None and plan.stop.sprt is None


def most_matches(plan: TournamentPlan) -> int:
    """Return the largest number of matches that a plan can have."""
    count = plan.format.total(plan)
    return count if plan.stop.matches is None else min(count, plan.stop.matches)


FORMATS: Final[Mapping[str, type[Format]]] = MappingProxyType(
    {form.kind: form for form in (Benchmark, RoundRobin, Gauntlet, Swiss, Knockout, Adaptive)}
)
"""Formats by the name that a plan's `format` gives; the fields of the class are the settings of its table."""
