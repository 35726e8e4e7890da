"""Adaptive tournament: those agents meet next whose games tell most about what is asked, until it is known.

1. After each round the agents are rated (`flagfall.tournament.stats.elo`). What is asked are differences of
   strengths: of neighbours in the ranking that are not settled, or of an agent whose Elo is not yet precise
   from the mean or the anchor.
2. A game of agents with the expected scores p and 1 - p has the information p (1 - p) in the model of Bradley
   and Terry. An encounter goes to the pair by which the sum of the variances of all that is asked falls most
   (the criterion A of V. V. Fedorov, "Theory of Optimal Experiments", 1972, encounter by encounter). About
   two neighbours their own games tell most, and only these decide which of them is stronger.
3. A round has an eighth of the encounters that its pairs had before. So rounds are few, however many matches
   there are, and a pair plays at most an eighth more than it needs.

Which of two neighbours is stronger is decided by a confidence sequence
(`flagfall.tournament.stats.sequences`), which holds although it is looked at after every round.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, count, pairwise
from types import MappingProxyType
from typing import Annotated, ClassVar, Final, Literal, TypeAlias

import attrs
import numpy as np

from flagfall.configfile.converter import Bounds, Problems
from flagfall.errors import UsageError
from flagfall.timing.durations import parse_duration
from flagfall.tournament.columns import Array
from flagfall.tournament.formats.encounters import (
    Withdrawals,
    check_pairs_on_every_task,
    meeting_matches,
    until_played,
)
from flagfall.tournament.model import PlannedTask, Points, Stop, TournamentPlan
from flagfall.tournament.records import MatchRecord, MatchSpec, Records
from flagfall.tournament.stats.duels import ELO_SCALE, Duels, points_of
from flagfall.tournament.stats.elo import Ratings, rate_duels
from flagfall.tournament.stats.intervals import LEVEL, Interval
from flagfall.tournament.stats.sequences import PointCounts, is_above, swapped

Elo: TypeAlias = Annotated[float, Bounds(1, 1000)]
Pair: TypeAlias = tuple[int, int]
"""Places of two agents in the plan, the smaller one first."""

GROWTH: Final = 8
"""A round has at most one encounter for so many that its pairs had before."""

CHOICES: Final = 64
"""A round is divided into so many equal parts, each of which goes to one pair; a larger number takes longer,
and finds hardly better pairs."""

PRIOR: Final = 0.25
"""Information on each agent before its first game: that of one game against the mean."""

STOPPED_LEVEL: Final = 0.99
"""Level of the intervals of Elo where decisions end the games of a pair. They end them while the difference
looks large, so that it is estimated too large, by a tenth for strengths with a standard deviation of 200 Elo.
Intervals of 99 % then contain the true Elo about as often as others of 95 % do."""

_DIGITS: Final = 9
"""Digits to which pairs are compared. Matrix products have other last digits on another processor. Rounded,
equally good pairs are equal, and two machines choose the first of them, except at an edge of rounding."""

_LEAST: Final = 1e-300
"""Stands for a gain of zero, by which nothing can be divided."""

_State: TypeAlias = Literal["decided", "equivalent", "precise", "open"]

_TITLES: Final[Mapping[_State, str]] = MappingProxyType(
    {
        "decided": "stronger, with an error of at most {error:.0%} a pair however often it was looked at",
        "equivalent": "closer than {form.equivalence:g} Elo, with the same error",
        "precise": "not decided, but their difference is known to {form.precision:g} Elo",
        "open": "not decided",
    }
)
"""Remarks on neighbours in the ranking, by what is known of them."""


@attrs.frozen(kw_only=True)
class Adaptive:
    """The pairs meet whose games tell most about what is asked; each at most `repeats` times.

    Attributes:
        goal: `order`: which of two neighbours in the ranking is stronger; `ratings`: the Elo of every agent.
        precision: how far an interval may reach to either side, in Elo: of `ratings`, that of every agent; of
            `order`, that of the difference of neighbours that are not decided. `None`: there is no such end.
        equivalence: difference in Elo below which neighbours count as equal, so that they are settled as soon
            as they are certainly closer; `None`: none are.
        duration: time after which no further round begins, such as `2h`: the sum over all matches.
    """

    kind: ClassVar[str] = "adaptive"
    exact_total: ClassVar[bool] = False
    own_ranking: ClassVar[bool] = True

    goal: Literal["order", "ratings"] = "order"
    precision: Elo | None = None
    equivalence: Elo | None = None
    duration: str | None = None

    def check(
        self, names: Sequence[str], tasks: Sequence[PlannedTask], stop: Stop, problems: Problems
    ) -> None:
        """Report what does not fit encounters of two or the goal; see `Format.check`."""
        check_pairs_on_every_task(self.kind, names, tasks, stop, problems)
        if self.goal == "ratings" and self.precision is None:
            problems.add(("format", "precision"), "the goal ratings needs it: precision = 20, for example")
        if self.goal == "ratings" and self.equivalence is not None:
            problems.add(("format", "equivalence"), "only the goal order has it: leave one of the two out")
        try:
            if self.duration_ns() == 0:
                problems.add(("format", "duration"), "expected a time above zero; leave it out for none")
        except UsageError as error:
            problems.add(("format", "duration"), str(error))

    @property
    def elo_level(self) -> float:
        """Level of the intervals of Elo; see `Format.elo_level`."""
        return STOPPED_LEVEL if self.goal == "order" else LEVEL

    def duration_ns(self) -> int | None:
        """Return the duration in nanoseconds; `None` if there is none."""
        return None if self.duration is None else parse_duration(self.duration)

    def schedule(self, plan: TournamentPlan, records: Records) -> Iterator[MatchSpec | None]:
        """Yield the matches of each round after the one before it; see `Format.schedule`."""
        return self._schedule(plan, records, Progress(plan, self))

    def total(self, plan: TournamentPlan) -> int:
        """Return the number of matches if all pairs meet in every repeat; see `Format.total`."""
        pairs = len(plan.agents) * (len(plan.agents) - 1) // 2
        return pairs * 2 * len(plan.tasks) * plan.repeats  # both sides of a game, or each of the two alone

    def ranks(self, plan: TournamentPlan, records: Records) -> Points:  # noqa: ARG002 - see `Format`
        """Return nothing: Elo ranks the agents."""
        return {}

    def remarks(self, plan: TournamentPlan, records: Records) -> tuple[str, ...]:
        """Return what the complete rounds tell about neighbours in the ranking; see `Format.remarks`."""
        progress = Progress(plan, self)
        for spec in self._schedule(plan, records, progress):
            if spec is None:
                break
        return progress.remarks()

    def _schedule(
        self, plan: TournamentPlan, records: Records, progress: Progress
    ) -> Iterator[MatchSpec | None]:
        """Yield the matches as `schedule` does, and add the complete rounds to the progress."""
        withdrawals = Withdrawals(plan.stop.falls)
        for number in count():
            meetings = progress.next_round(number, withdrawals.withdrawn)
            specs = [spec for meeting in meetings for spec in meeting]
            if not specs:
                return
            yield from specs
            yield from until_played(specs, records)
            withdrawals.add(records[spec.id] for spec in specs)
            progress.add([records[spec.id] for spec in meeting] for meeting in meetings)


class Progress:
    """What the complete rounds of an adaptive tournament tell, and the pairs of the next one."""

    def __init__(self, plan: TournamentPlan, form: Adaptive) -> None:
        self._plan = plan
        self._form = form
        self._names = [agent.name for agent in plan.agents]
        size = len(self._names)
        self._elo = np.zeros(size)
        self._ratings: Ratings | None = None
        self._met = np.zeros((size, size), dtype=np.int64)
        self._counts: defaultdict[Pair, Counter[float]] = defaultdict(Counter)
        self._duels = np.empty((0, 4))  # places of both agents, score of the first one, number of the meeting
        self._meetings = 0
        self._elapsed_ns = 0
        self._present = list(range(size))

    def next_round(self, number: int, withdrawn: frozenset[str]) -> list[list[MatchSpec]]:
        """Return the meetings of the next round; none if all that is asked is known."""
        self._present = [one for one, name in enumerate(self._names) if name not in withdrawn]
        limit_ns = self._form.duration_ns()
        if limit_ns is not None and self._elapsed_ns >= limit_ns:
            return []
        pairs, asked = self._questions()
        left = [pair for pair in pairs if self._met[pair] < self._plan.repeats]
        if not left:
            return []
        chosen = self._choose(np.array(left), asked)
        meetings: list[list[MatchSpec]] = []
        for pair, encounters in chosen.items():
            agents = [self._names[one] for one in pair]
            for repeat in range(self._met[pair], self._met[pair] + encounters):
                for task in self._plan.tasks:
                    seed = self._plan.match_seed(repeat, task, *sorted(agents))
                    name = f"r{number}-m{len(meetings)}"
                    meetings.append(list(meeting_matches(name, task, agents, seed, number, repeat)))
            self._met[pair] += encounters
        return meetings

    def add(self, meetings: Iterable[list[MatchRecord]]) -> None:
        """Add the results of a complete round, in the order of its meetings."""
        place = {name: one for one, name in enumerate(self._names)}
        duels: list[tuple[float, ...]] = []
        for records in meetings:
            first, second = sorted({place[seat.agent] for record in records for seat in record.seats})
            shares = []
            for points in points_of(records):
                mine, theirs = points[self._names[first]], points[self._names[second]]
                shares.append((1 + mine - theirs) / 2)
                if mine or theirs:
                    duels.append((first, second, mine, self._meetings))
            self._counts[first, second][sum(shares) / len(shares)] += 1
            self._meetings += 1
            self._elapsed_ns += sum(record.elapsed_ns for record in records)
        self._duels = np.concatenate([self._duels, np.reshape(duels, (-1, 4))])
        first_of, second_of, scores, meeting = self._duels.T
        rated = Duels(first_of.astype(int), second_of.astype(int), scores, meeting.astype(int))
        self._ratings = rate_duels(self._names, rated, self._plan.anchor)
        for name, elo in self._ratings.elo.items():
            self._elo[place[name]] = elo.value

    def _is_precise(self, interval: Interval | None) -> bool:
        """Return whether the interval of an Elo or of a difference is as narrow as the plan wants it."""
        if self._form.precision is None or interval is None or interval.low is None or interval.high is None:
            return False
        reach = max(interval.high - interval.value, interval.value - interval.low)
        return reach <= self._form.precision

    def _neighbours(self) -> list[Pair]:
        """Return the neighbours in the ranking without withdrawn agents, the better one first."""
        return list(pairwise(sorted(self._present, key=lambda one: -self._elo[one])))

    def _state(self, better: int, worse: int) -> _State:
        """Return what is known of two neighbours in the ranking."""
        counts: PointCounts = self._counts[min(better, worse), max(better, worse)]
        if better > worse:
            counts = swapped(counts)
        near = self._form.equivalence
        if is_above(counts, 0.0):
            return "decided"
        if near is not None and is_above(counts, -near) and is_above(swapped(counts), -near):
            return "equivalent"
        if self._form.goal == "order" and self._ratings is not None:
            difference = self._ratings.difference(self._names[better], self._names[worse])
            if difference is not None and self._is_precise(difference.interval()):
                return "precise"
        return "open"

    def _questions(self) -> tuple[list[Pair], Array]:
        """Return the pairs that may meet, and what is asked: rows of weights of the strengths."""
        unit = np.eye(len(self._names))
        if self._form.goal == "order":
            open_pairs = [pair for pair in self._neighbours() if self._state(*pair) == "open"]
            asked = [unit[better] - unit[worse] for better, worse in open_pairs]
            return [(min(pair), max(pair)) for pair in open_pairs], np.array(asked)
        anchor = self._plan.anchor
        base = unit.mean(axis=0) if anchor is None else unit[self._names.index(anchor)]
        elo = {} if self._ratings is None else self._ratings.elo
        asked = [unit[one] - base for one in self._present if not self._is_precise(elo.get(self._names[one]))]
        return list(combinations(self._present, 2)) if asked else [], np.array(asked)

    def _choose(self, pairs: Array, asked: Array) -> Counter[Pair]:
        """Return how many encounters each pair has in the next round."""
        strengths = self._elo / ELO_SCALE
        games = 2 * len(self._plan.tasks)
        expected = 1 / (1 + np.exp(strengths[:, None] - strengths))
        weights = games * expected * (1 - expected)
        between = weights * (self._met + self._met.T)
        variances = np.linalg.inv(np.diag(between.sum(axis=1) + PRIOR) - between)
        first, second = pairs.T
        weights, room = weights[first, second], self._plan.repeats - self._met[first, second]
        met = int(self._met[first, second].sum())
        budget = max(min(len(pairs), len(self._names) - 1), met // GROWTH)
        part = max(1, budget // CHOICES)
        chosen: Counter[Pair] = Counter()
        while budget > 0 and room.any():
            apart = variances[first] - variances[second]  # of each pair, its covariances with all strengths
            own = apart[np.arange(len(pairs)), first] - apart[np.arange(len(pairs)), second]
            encounters = np.minimum(min(part, budget), room)
            gains = (
                encounters * weights * ((apart @ asked.T) ** 2).sum(axis=1) / (1 + encounters * weights * own)
            )
            gains[room == 0] = -1.0
            best = int(np.argmax(np.round(gains / max(gains.max(), _LEAST), _DIGITS)))
            number = int(encounters[best])
            chosen[int(first[best]), int(second[best])] += number
            learned = number * weights[best]
            variances = variances - learned * np.outer(apart[best], apart[best]) / (1 + learned * own[best])
            room[best] -= number
            budget -= number
        return chosen

    def remarks(self) -> tuple[str, ...]:
        """Return what is known of the neighbours in the ranking: a remark for each state of a pair."""
        pairs: defaultdict[_State, list[str]] = defaultdict(list)
        for better, worse in self._neighbours() if self._meetings else ():
            state = self._state(better, worse)
            word = "over" if state == "decided" else "and"
            pairs[state].append(f"{self._names[better]} {word} {self._names[worse]}")
        return tuple(
            f"{title.format(form=self._form, error=1 - LEVEL)}: {', '.join(pairs[state])}"
            for state, title in _TITLES.items()
            if state in pairs
        )
