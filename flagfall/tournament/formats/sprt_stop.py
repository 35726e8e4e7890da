"""Sequential test over the meetings of a schedule, in its order."""

from __future__ import annotations

__all__ = ["SprtMonitor"]

from collections.abc import Callable, Iterator
from itertools import groupby

from flagfall.tournament.model import SprtRule
from flagfall.tournament.records import MatchRecord, MatchSpec, Records
from flagfall.tournament.stats.duels import points_of
from flagfall.tournament.stats.sprt import SprtState, sprt_state


class SprtMonitor:
    """Test over the complete beginning of a schedule: the first meeting that decides it ends it.

    The decision therefore depends neither on the order in which meetings end nor on how many were played
    beyond that one.

    Args:
        rule: the test.
        paired: the plan has games for two seats, whose outcomes come in quarters.
        specs: returns an iterator over the whole schedule, which must not depend on records.
    """

    def __init__(self, rule: SprtRule, paired: bool, specs: Callable[[], Iterator[MatchSpec]]) -> None:
        self._rule = rule
        self._outcomes = (0.0, 0.25, 0.5, 0.75, 1.0) if paired else (0.0, 0.5, 1.0)
        self._specs = specs
        self._seen: Records | None = None

    def state(self, records: Records) -> SprtState:
        """Return the state of the test.

        Args:
            records: results so far. A mapping passed again is read on from where the last call ended.
        """
        if records is not self._seen:
            self._seen = records
            self._counts = dict.fromkeys(self._outcomes, 0)
            self._meetings = (list(specs) for _, specs in groupby(self._specs(), lambda spec: spec.meeting))
            self._next = next(self._meetings, [])
            self._state = self._evaluate()
        while self._next and self._state.decision is None and all(spec.id in records for spec in self._next):
            self._add([records[spec.id] for spec in self._next])
            self._next = next(self._meetings, [])
        return self._state

    def _add(self, meeting: list[MatchRecord]) -> None:
        first, second = self._rule.agents
        shares = [(1 + points[first] - points[second]) / 2 for points in points_of(meeting)]
        self._counts[sum(shares) / len(shares)] += 1
        self._state = self._evaluate()

    def _evaluate(self) -> SprtState:
        rule = self._rule
        return sprt_state(self._counts, elo0=rule.elo0, elo1=rule.elo1, alpha=rule.alpha, beta=rule.beta)
