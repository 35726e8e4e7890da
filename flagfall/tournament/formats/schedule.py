"""Schedules: which matches can be played now, given the results so far.

A schedule is a function of the plan and the records, so a resumed tournament is the same as one that was
never interrupted. Every decision is based on complete rounds, or on a complete beginning of the schedule: it
depends neither on the order in which matches end nor on how many are played at the same time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Final

from flagfall.tournament.formats.encounters import SprtMonitor
from flagfall.tournament.formats.fixed_rounds import Benchmark, Gauntlet, RoundRobin
from flagfall.tournament.formats.swiss import Knockout, Swiss
from flagfall.tournament.model import Format, TournamentPlan
from flagfall.tournament.records import MatchRecord, MatchSpec, Records
from flagfall.tournament.stats.duels import SprtState

MAX_MATCHES: Final = 10_000_000
"""The most matches of a plan. Standings walk the whole schedule, which takes some seconds for this many."""


class Schedule:
    """The matches of a tournament, in order.

    The methods take the records so far. A mapping that is passed again may have grown, and must not have
    changed otherwise.

    Attributes:
        total: number of matches; `None` if it depends on their results.
    """

    def __init__(self, plan: TournamentPlan) -> None:
        self._plan = plan
        exact = plan.format.exact_total and plan.stop.falls is None
        self.total: int | None = most_matches(plan) if exact else plan.stop.matches
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
        if self.total is not None and len(records) >= self.total:
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


def schedule(plan: TournamentPlan) -> Schedule:
    """Return the schedule of a plan."""
    return Schedule(plan)


def most_matches(plan: TournamentPlan) -> int:
    """Return the largest number of matches that a plan can have."""
    count = plan.format.total(plan)
    return count if plan.stop.matches is None else min(count, plan.stop.matches)


FORMATS: Final[Mapping[str, type[Format]]] = MappingProxyType(
    {form.kind: form for form in (Benchmark, RoundRobin, Gauntlet, Swiss, Knockout)}
)
"""Formats by the name that a plan's `format` gives; the fields of the class are the settings of its table."""
