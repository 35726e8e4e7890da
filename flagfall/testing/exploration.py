"""Exploration: a search for a seed and a schedule of faults under which a match breaks an invariant.

A case that breaks one is shrunk: to fewer faults, a shorter match, earlier and shorter faults, a smaller
seed.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import attrs

from flagfall.errors import UsageError
from flagfall.playing import MatchRequest
from flagfall.testing.cases import Case, Cases, Ground, Rule, smaller
from flagfall.testing.contracts import violation_of
from flagfall.testing.invariants import INVARIANTS

MOST_SHRINKING: Final = 500
"""Most matches that are played to shrink a case."""

RARE: Final = 4
"""Of the cases that led to new behaviour one in so many is checked by rules that take further simulations: so
they take a tenth of the time."""

INERT_AFTER: Final = 30
"""A kind of fault that has been in so many schedules, and has never happened, is inert."""


@attrs.frozen
class Finding:
    """A broken invariant.

    Attributes:
        rule: the name of the invariant.
        invariant: it, as a sentence.
        found: what is wrong in the shrunk case; empty if the invariant's function does not say.
        case: the smallest case that breaks it.
        first: the case that broke it first.
    """

    rule: str
    invariant: str
    found: str
    case: Case
    first: Case

    def __str__(self) -> str:
        found = f"\n  broken:  {self.found}" if self.found else ""
        return f"{self.rule}: {self.invariant}{found}\n  by:      {self.case}"

    def as_data(self) -> dict[str, Any]:
        """Return it as an object for JSON; cases as texts."""
        return {**attrs.asdict(self, recurse=False), "case": str(self.case), "first": str(self.first)}


@attrs.define(eq=False)
class Exploration:
    """A search, as far as it has come.

    Args:
        grounds: what is explored.
        seed: of all draws.

    Attributes:
        runs: cases that were played, without those for shrinking.
        scheduled: how many schedules had a fault of each kind.
        happened: in how many matches one has happened.
        finding: the broken invariant, with which a search ends; `None` if there is none yet.
    """

    grounds: Sequence[Ground]
    seed: int = 0
    runs: int = 0
    seconds: float = 0
    scheduled: Counter[str] = attrs.Factory(Counter)
    happened: Counter[str] = attrs.Factory(Counter)
    finding: Finding | None = None
    cases: Cases = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.cases = Cases(self.grounds, self.seed)

    @property
    def behaviours(self) -> int:
        """The number of different behaviours that were seen."""
        return len(self.cases.behaviours)

    @property
    def inert(self) -> list[str]:
        """Kinds of faults that were scheduled often and never happened: such a search would show nothing."""
        return sorted(
            kind for kind, count in self.scheduled.items() if count >= INERT_AFTER and not self.happened[kind]
        )

    def as_data(self) -> dict[str, Any]:
        """Return the counts and the finding as an object for JSON."""
        return {
            "runs": self.runs,
            "seconds": round(self.seconds, 3),
            "behaviours": self.behaviours,
            "scheduled": dict(self.scheduled),
            "happened": dict(self.happened),
            "inert": self.inert,
            "finding": None if self.finding is None else self.finding.as_data(),
        }

    def search(self, runs: int, seconds: float | None = None) -> Finding | None:
        """Play cases until an invariant is broken, and shrink the case that breaks it.

        Args:
            runs: the most matches.
            seconds: real time after which no other is begun; `None` for no limit.

        Raises:
            UsageError: a case cannot be simulated.
        """
        began = time.monotonic()
        try:
            while self.finding is None and self.runs < runs:
                if seconds is not None and time.monotonic() - began >= seconds:
                    break
                rule = self._try(self.cases.next())
                if rule is not None:
                    self._shrink(rule)
        finally:
            self.seconds += time.monotonic() - began
        return self.finding

    def check(self, case: Case) -> Finding | None:
        """Play one case, and keep and return the invariant that it breaks, if it does.

        Raises:
            UsageError: it cannot be simulated.
        """
        if case.ground >= len(self.grounds):
            raise UsageError(f"ground {case.ground}: write 0 to {len(self.grounds) - 1}")
        self._try(case, in_full=True)
        return self.finding

    def _try(self, case: Case, *, in_full: bool = False) -> Rule | None:
        ground = self.grounds[case.ground]
        run = ground.play(case)
        self.runs += 1
        self.scheduled.update({fault.kind for fault in case.faults})
        self.happened.update(set(run.happened))
        is_new = self.cases.learn(case, ground.behaviour(run))
        in_full = in_full or (is_new and self.cases.kept % RARE == 1)
        for rule in (*ground.rules, *(ground.rare_rules if in_full else ())):
            if (violation := violation_of(rule, run)) is not None:
                self.finding = _finding(rule, violation, case, case)
                return rule
        return None

    def _shrink(self, rule: Rule) -> None:
        """Replace the finding by the smallest case found that breaks the same invariant."""
        assert self.finding is not None
        candidates, left = smaller(self.finding.case, self.grounds), MOST_SHRINKING
        while left and (case := next(candidates, None)) is not None:
            left -= 1
            violation = violation_of(rule, self.grounds[case.ground].play(case))
            if violation is not None:
                self.finding = _finding(rule, violation, case, self.finding.first)
                candidates = smaller(case, self.grounds)


def explore(
    match: MatchRequest,
    *,
    runs: int = 1_000,
    seconds: float | None = None,
    seed: int = 0,
    time_controls: Sequence[str] = (),
    invariants: Sequence[Rule] = (),
    again: str = "",
) -> None:
    """Search for a seed and faults under which a match breaks an invariant; for tests of agents and tasks.

    The match is simulated over and over (`simulate`), under other seeds, lengths and schedules of faults.
    Every simulation is checked against the invariants of flagfall's documents, and those that are given.

    Args:
        match: its tasks and agents must be fit to be played again, as ids, classes and functions are. Its
            `steps` are the most turns, 20 if it has none.
        runs: matches to simulate.
        seconds: real time after which no other is begun; `None` for no limit.
        seed: of the search; equal searches play equal matches.
        time_controls: texts of those to play under; by default that of the match.
        invariants: further invariants: functions that take a `SimulatedRun` and raise `AssertionError`.
        again: simulate only this case, as the message of a failure has it.

    Raises:
        AssertionError: an invariant is broken, or a kind of fault never happened; the message has the
            smallest case that was found.
        UsageError: the match cannot be simulated.
    """
    ground = Ground.of_match(match, time_controls, (*INVARIANTS, *invariants))
    exploration = Exploration([ground], seed)
    if again:
        exploration.check(Case.parse(again))
    else:
        exploration.search(runs, seconds)
    if exploration.finding is not None:
        again = f"explore(..., again={str(exploration.finding.case)!r}), or --explore-again"
        raise AssertionError(f"{exploration.finding}\n  again:   {again}")
    assert not exploration.inert, f"kinds of faults that never happened: {', '.join(exploration.inert)}"


def _finding(rule: Rule, violation: AssertionError, case: Case, first: Case) -> Finding:
    invariant = (rule.__doc__ or rule.__name__).strip().partition("\n")[0].removeprefix("Check that ")
    found = str(violation).replace("\n", "\n           ")
    return Finding(rule.__name__, invariant.rstrip("."), found, case, first)
