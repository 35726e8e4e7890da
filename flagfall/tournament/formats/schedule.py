"""Schedules: which matches can be played now, given what was played.

A schedule is a function of the plan and the records, so whoever has both has it: a run that goes on is the
same as one that was never interrupted. What it decides it decides on complete rounds, or on a complete
beginning of the schedule; in which order matches end makes no difference, nor does how many are played at a
time.
"""

from __future__ import annotations

__all__ = ["MAX_MATCHES", "Schedule", "most_matches", "schedule"]

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Final, TypeAlias

from flagfall.tournament.formats.knockout import walk_knockout
from flagfall.tournament.formats.round_robin import count_matches, walk_all
from flagfall.tournament.formats.sprt_stop import SprtWatch
from flagfall.tournament.formats.swiss import swiss_rounds, walk_swiss
from flagfall.tournament.plan.model import Benchmark, Format, Gauntlet, Knockout, Plan, RoundRobin, Swiss
from flagfall.tournament.records import MatchRecord, MatchSpec
from flagfall.tournament.stats.sprt import SprtState

Records: TypeAlias = Mapping[str, MatchRecord]
"""The records of matches that count, by id; void ones are not among them."""

MAX_MATCHES: Final = 10_000_000
"""The most matches of a plan. Standings walk the whole schedule, which takes some seconds for this many."""

_WALKS: Final[Mapping[type[Format], Callable[[Plan, Records], Iterator[MatchSpec]]]] = {
    Benchmark: walk_all,
    RoundRobin: walk_all,
    Gauntlet: walk_all,
    Swiss: walk_swiss,
    Knockout: walk_knockout,
}


class Schedule:
    """The matches of a tournament, in order.

    Its methods are given the records so far. A mapping that is given again may have grown, and must not have
    changed otherwise.

    Args:
        plan: of the tournament.

    Attributes:
        total: how many matches there are at most; `None` where that depends on what becomes of them.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.total = _total(plan)
        self._watch = None
        if plan.stop.sprt is not None:
            paired = any(task.seats > 1 for task in plan.tasks)
            self._watch = SprtWatch(plan.stop.sprt, paired, lambda: self.walk({}))

    def walk(self, records: Records) -> Iterator[MatchSpec]:
        """All matches that can be known, played or not."""
        yield from islice(_WALKS[type(self._plan.format)](self._plan, records), self._plan.stop.matches)

    def due(self, records: Records) -> Iterator[MatchSpec]:
        """The matches that can be played now. Matches that are being played are among them.

        It does not wait: where it ends before the tournament is over, there may be more of them after the
        next record. A whole walk takes some microseconds a match, so take a new one only when this one has
        ended.
        """
        state = self.sprt(records)
        if state is not None and state.decision is not None:
            return
        for spec in self.walk(records):
            if spec.id not in records:
                yield spec

    def over(self, records: Records) -> bool:
        """Whether there is nothing left to play."""
        if self.total is not None and len(records) >= self.total:
            return True
        if self._watch is not None:
            return self._watch.look(records).decision is not None
        return next(self.due(records), None) is None

    def sprt(self, records: Records) -> SprtState | None:
        """How the test stands; `None` where there is none."""
        return None if self._watch is None else self._watch.look(records)

    def played(self, records: Records) -> Iterator[tuple[MatchSpec, MatchRecord]]:
        """The records with what they are records of, in the order of the schedule.

        Where a test has stopped the tournament, matches count that were played beyond that point, too. Ends
        with the last record: what such a test left unplayed may be millions of matches.
        """
        known = (spec for spec in self.walk(records) if spec.id in records)
        for spec in islice(known, len(records)):
            yield spec, records[spec.id]


def schedule(plan: Plan) -> Schedule:
    """The schedule of a plan."""
    return Schedule(plan)


def _total(plan: Plan) -> int | None:
    if isinstance(plan.format, Knockout) or plan.stop.falls is not None:
        return plan.stop.matches
    return most_matches(plan)


def most_matches(plan: Plan) -> int:
    """Return the number of matches that a plan can have at most."""
    sides = 2 * len(plan.tasks) * plan.repeats  # both sides of a game, or each of the two alone
    if isinstance(plan.format, Knockout):
        count = (len(plan.agents) - 1) * (1 + plan.format.replays) * sides
    elif isinstance(plan.format, Swiss):
        count = swiss_rounds(plan) * (len(plan.agents) // 2) * sides
    else:
        count = count_matches(plan)
    return count if plan.stop.matches is None else min(count, plan.stop.matches)
