"""Meetings and encounters: agents, a task and a seed, and the matches that they take.

Agents that share a game play one match for each rotation of the seats, so that with two seats both sides are
played, all with one seed; for more seats a task may have more orders (`seat_orders`). On a task with one seat
each agent plays alone with the same seed, and the scores are compared. All matches of a meeting go on from
the same opening, if the task has openings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

import attrs

from flagfall.configfile.converter import Problems
from flagfall.tournament.formats.pairing import seat_orders
from flagfall.tournament.model import PlannedTask, SprtRule, Stop, TournamentPlan
from flagfall.tournament.records import MatchRecord, MatchSpec, Records, compare_solo
from flagfall.tournament.stats.duels import SprtState, points_of, sprt_state


def meeting_matches(
    name: str, task: PlannedTask, agents: Sequence[str], seed: int, round_number: int, number: int
) -> Iterator[MatchSpec]:
    """Yield the matches of one meeting.

    Args:
        agents: as many as the task has seats, or any number if it has one.
        number: of the meeting, among those of the same agents on the task: each has the next opening.
    """
    game, size = 0, len(agents)
    opening = task.openings[number % len(task.openings)] if task.openings else None
    for order in task_orders(task):
        for turn in range(size):
            entrants = tuple([agents[(place + turn) % size] for place in order])
            yield MatchSpec(f"{name}-g{game}", entrants, task.name, seed, round_number, opening)
            game += 1


def task_orders(task: PlannedTask) -> Sequence[Sequence[int]]:
    """Return the orders of seats in a meeting, each for as many matches as agents meet; see `seat_orders`."""
    return ((0,),) if task.seats == 1 else seat_orders(task.seatings, task.seats)


def until_played(specs: Iterable[MatchSpec], records: Records) -> Iterator[None]:
    """Yield `None` while one of some matches has no result; see `Format.schedule`.

    Each match is looked up until it is found, and not again.
    """
    for spec in specs:
        while spec.id not in records:
            yield None


@attrs.frozen
class Encounter:
    """Two agents that meet on every task, in every repeat.

    Attributes:
        part: 0, or the number of the replay of a drawn encounter.
    """

    plan: TournamentPlan
    round: int
    number: int
    agents: tuple[str, str]
    part: int = 0

    def _meetings(self) -> Iterator[list[MatchSpec]]:
        count = 0
        for repeat in range(self.plan.repeats):
            number = (self.round + self.part) * self.plan.repeats + repeat  # later rounds have other openings
            for task in self.plan.tasks:
                name = f"r{self.round}-p{self.number}-m{self.part}.{count}"
                seed = self.plan.match_seed(repeat, task, self.round, self.part, *sorted(self.agents))
                yield list(meeting_matches(name, task, self.agents, seed, self.round, number))
                count += 1

    def matches(self) -> Iterator[MatchSpec]:
        """Yield all matches of the encounter."""
        for specs in self._meetings():
            yield from specs

    def points(self, records: Records) -> tuple[float, float] | None:
        """Return the points of the two agents, or `None` while a match has no result."""
        mine = theirs = 0.0
        for specs in self._meetings():
            if any(spec.id not in records for spec in specs):
                return None
            for points in self._scores(specs, [records[spec.id] for spec in specs]):
                mine, theirs = mine + points[0], theirs + points[1]
        return mine, theirs

    def _scores(self, specs: list[MatchSpec], played: list[MatchRecord]) -> Iterator[tuple[float, float]]:
        if len(specs[0].entrants) == 1:
            yield compare_solo(*played)
            return
        for spec, record in zip(specs, played, strict=True):
            scores = {agent: seat.score for agent, seat in zip(spec.entrants, record.seats, strict=True)}
            yield scores[self.agents[0]], scores[self.agents[1]]


PAIR: Final = 2
"""Agents of an encounter."""


def check_entrants(kind: str, names: Sequence[str], problems: Problems) -> None:
    """Report a plan with fewer than two agents."""
    if len(names) < PAIR:
        problems.add(
            ("agents",), f"the format {kind} needs at least two agents; a single one can play a benchmark"
        )


def check_no_sprt(stop: Stop, problems: Problems) -> None:
    """Report a sequential test in a format whose two agents do not meet again and again."""
    if stop.sprt is not None:
        problems.add(("stop", "sprt"), "a test needs two agents that meet again and again: use a round-robin")


def check_pairs_on_every_task(
    kind: str, names: Sequence[str], tasks: Sequence[PlannedTask], stop: Stop, problems: Problems
) -> None:
    """Report what does not fit a format of encounters, in which two agents meet on every task."""
    check_entrants(kind, names, problems)
    check_no_sprt(stop, problems)
    for task in tasks:
        if task.seats > PAIR:
            problems.add(
                ("tasks",),
                f"{task.name} seats {task.seats} agents, but in the format {kind} two meet: remove the task",
            )
        if set(task.agents) != set(names):
            problems.add(("tasks",), f"{task.name}: in the format {kind} every agent plays every task")


def check_whole_rounds(kind: str, stop: Stop, problems: Problems) -> None:
    """Report a limit that ends a round early in a format that ranks agents by whole rounds."""
    if stop.matches is not None:
        problems.add(
            ("stop", "matches"),
            f"stop.matches is not supported for a {kind}: a partial round has no ranking",
        )


class Withdrawals:
    """Count of disqualifications by agent.

    Args:
        limit: number of disqualifications at which an agent is withdrawn; `None`: no agent is.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._disqualified: Counter[str] = Counter()

    def add(self, records: Iterable[MatchRecord]) -> None:
        """Count the disqualifications in matches."""
        for record in records:
            self._disqualified.update(seat.agent for seat in record.seats if seat.fell is not None)

    @property
    def withdrawn(self) -> frozenset[str]:
        """Names of the withdrawn agents."""
        counts = self._disqualified.items()
        return frozenset(agent for agent, count in counts if self._limit and count >= self._limit)


class SprtMonitor:
    """Test over the complete beginning of a schedule: the first meeting that decides it ends it.

    The decision therefore depends neither on the order in which meetings end nor on how many were played
    beyond that one.

    Args:
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
        return sprt_state(self._counts, self._rule)
