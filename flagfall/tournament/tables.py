"""Standings of agents: one row of `COLUMNS` for each column, ratings among them, and one `AgentRow` an agent.

Tables of terminals, pages and notebooks, JSON, exports, plots and the settings of a plan read the columns;
nothing else enumerates them. A program adds columns and ratings of its own by `add_column`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

import attrs
import numpy as np

from flagfall.errors import UsageError, suggest
from flagfall.tournament.columns import NOT_DISQUALIFIED, Array, Groups, ResultColumns
from flagfall.tournament.database import NotedSum
from flagfall.tournament.model import DEFAULT_SCORING, FORMULA_ONE, Points, TournamentPlan
from flagfall.tournament.records import TimeHistogram
from flagfall.tournament.scoring import ranked
from flagfall.tournament.stats.differences import find_cycles
from flagfall.tournament.stats.duels import Duels, duels_of, meeting_points, pairs_of_games
from flagfall.tournament.stats.elo import Ratings, rate_duels
from flagfall.tournament.stats.intervals import Interval, bounded_mean

RankKeys: TypeAlias = Mapping[str, tuple[float, ...]]
"""By agent: numbers that rank it before its rating does, the most important first; larger is better."""

_NO_POINTS: Final[Points] = MappingProxyType({})


@attrs.frozen(kw_only=True, eq=False)
class Column:
    """A column of the standings; a rating, if agents can be ranked by it.

    Attributes:
        key: its name in JSON and exports; `AgentRow` has an attribute of this name.
        values: returns a value for each agent of `AgentTable.agents`, `None` where it has none. Raises
            `ImportError` where `needs` is not installed.
        form: of its values: `interval` is an `Interval`, `number` and `count` are plain numbers, `duration`
            is in ns, `dollars` in US dollars.
        decimals: digits after the point of an interval.
        note: explanation for readers of pages.
        label: heading on pages; by default `heading` with a capital letter.
        best: whether the highest or the lowest value ranks first; `None` if it is not a rating. A plan ranks
            by a rating with `scoring = KEY`.
        needs: what `pip install` makes it available; empty if nothing is needed.
        remarks: yields remarks for readers of the tables.
        shown: tables that have it, besides JSON and exports.
        spare: place in the order in which a narrow terminal leaves columns out; `None` if it never does.
        mark: `late` or `bad`: pages show counts above zero in this colour.
    """

    key: str
    heading: str
    values: Callable[[AgentTable], Sequence[Any] | Array]
    form: Literal["interval", "number", "count", "duration", "dollars"] = "count"
    decimals: int = 0
    note: str = ""
    label: str = attrs.field()
    best: Literal["high", "low"] | None = None
    needs: str = ""
    remarks: Callable[[AgentTable], Iterable[str]] = lambda _table: ()
    shown: Literal["everywhere", "terminal", "pages", "files"] = "everywhere"
    spare: int | None = 0
    mark: Literal["", "late", "bad"] = ""

    @label.default
    def _label(self) -> str:
        return self.heading[:1].upper() + self.heading[1:]

    def as_data(self) -> dict[str, Any]:
        """Return what pages need to know of it, as plain data for JSON."""
        names = ("key", "label", "note", "form", "decimals", "best", "mark")
        return {name: getattr(self, name) for name in names}


@attrs.frozen(kw_only=True)
class AgentRow:
    """One agent over all its matches. Each of its values is an attribute as well: `row.elo`.

    Attributes:
        place: one-based; equal agents share one.
    """

    place: int = 0
    agent: str
    values: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        try:
            return object.__getattribute__(self, "values")[name]
        except KeyError:
            raise AttributeError(f"no column {name!r}{suggest(name, COLUMNS)}") from None

    def as_data(self) -> dict[str, Any]:
        """Return the row as plain data for JSON."""
        data = attrs.asdict(self)
        return {**{name: data[name] for name in ("place", "agent")}, **data["values"]}


class AgentTable:
    """All agents over some matches. What columns share is computed once, where it is needed.

    Args:
        points: the points of the format or the scoring.
        noted: sums of the numbers that agents noted on their turns.

    Attributes:
        agents: names of the agents; columns have their values in this order.
    """

    def __init__(
        self,
        plan: TournamentPlan,
        results: ResultColumns,
        points: Points = _NO_POINTS,
        noted: Iterable[NotedSum] = (),
    ) -> None:
        self.plan = plan
        self.results = results
        self.points = points
        self._noted = {(one.agent, one.name): one.total for one in noted}
        self.agents: tuple[str, ...] = results.agents

    @cached_property
    def seats(self) -> Groups:
        """Seats of all matches by agent."""
        return Groups(self.results.agent, len(self.agents))

    @cached_property
    def duels(self) -> Duels:
        """All duels, in the order of the schedule."""
        return duels_of(self.results)

    @cached_property
    def outcomes(self) -> Array:
        """How many duels each agent has lost, drawn and won: a row for each."""
        return self.duels.outcomes(len(self.agents))

    @cached_property
    def elo(self) -> Ratings:
        """Elo of all agents."""
        return rate_duels(self.agents, self.duels, self.plan.anchor, self.plan.format.elo_level)

    @cached_property
    def pairs(self) -> Duels:
        """All pairs of games for more than two seats, in the order of the schedule."""
        return pairs_of_games(self.results)

    @cached_property
    def skill(self) -> Ratings:
        """Ratings of all agents from games for more than two seats."""
        return rate_duels(self.agents, self.pairs, self.plan.anchor)

    @cached_property
    def disqualifications(self) -> Array:
        """Matches in which each agent was disqualified: in all, and by the clock."""
        disqualified = self.results.disqualified != NOT_DISQUALIFIED
        return np.stack([self.seats.sums(disqualified), self.seats.sums(self.results.time_losses())])

    @cached_property
    def times(self) -> Sequence[TimeHistogram]:
        """Distribution of the turn times of each agent."""
        thinking = self.results.thinking
        return [
            TimeHistogram((int(bucket), int(count)) for _, _, bucket, count in thinking[thinking[:, 0] == me])
            for me in range(len(self.agents))
        ]

    def sums(self, counter: str) -> Array:
        """Return the sum of a counter of `SeatRecord` for each agent.

        Args:
            counter: a name in `flagfall.tournament.columns.SEAT_COUNTERS`.
        """
        return self.seats.sums(self.results.seat_counters[counter])

    def noted_a_match(self, *names: str) -> Sequence[float | None]:
        """Return for each agent what it noted under some names, a match; `None` if it noted none of them."""
        found: list[float | None] = []
        for agent, matches in zip(self.agents, self.seats.counts.tolist(), strict=True):
            sums = [self._noted[agent, name] for name in names if (agent, name) in self._noted]
            found.append(sum(sums) / matches if sums else None)
        return found

    @cached_property
    def task_points(self) -> Sequence[Sequence[Array]]:
        """By agent, its points of each meeting on each task, in the order in which it played them first."""
        points, tasks = meeting_points(self.results), len(self.plan.tasks)
        groups = Groups(points.agent * tasks + points.task, len(self.agents) * tasks)
        values = [points.points[rows] for rows in groups.rows()]
        found: list[list[Array]] = [[] for _ in self.agents]
        for group in np.argsort(groups.firsts(), kind="stable"):
            found[int(groups.keys[group]) // tasks].append(values[group])
        return found

    @cached_property
    def _computed(self) -> tuple[dict[str, Sequence[Any]], tuple[str, ...]]:
        """The values of all columns by key, and remarks on them."""
        found: dict[str, Sequence[Any]] = {}
        remarks: list[str] = []
        for column in COLUMNS.values():
            try:
                values = column.values(self)
                remarks += column.remarks(self)
            except ImportError:
                if not column.needs:
                    raise
                values = [None] * len(self.agents)
                remarks.append(f"{column.heading} is not computed: pip install '{column.needs}'")
            found[column.key] = [one.item() if isinstance(one, np.generic) else one for one in values]
            if len(values) != len(self.agents):
                raise UsageError(
                    f"column {column.key} has {len(values)} values: return one for each of the"
                    f" {len(self.agents)} agents"
                )
        return found, tuple(remarks)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks for readers of the tables."""
        return self._computed[1]

    def rows(self, keys: RankKeys) -> tuple[AgentRow, ...]:
        """Return the rows, the best first.

        Args:
            keys: rank agents before their ratings do.
        """
        place = {name: number for number, name in enumerate(self.agents)}
        values = self._computed[0]
        rows = [
            AgentRow(agent=name, values={key: column[place[name]] for key, column in values.items()})
            for name in (agent.name for agent in self.plan.agents)
        ]
        order = [] if self.plan.scoring == FORMULA_ONE and keys else ratings_of(self.plan.scoring)

        def key(row: AgentRow) -> tuple[float, ...]:
            return (*(-number for number in keys.get(row.agent, ())), *_rating_key(row, order))

        return tuple(attrs.evolve(row, place=place) for place, row in ranked(rows, key))


def _rating_key(row: AgentRow, order: Sequence[Column]) -> tuple[float, ...]:
    """Return a sort key of a row by the first rating that it has, smaller is better."""
    for number, column in enumerate(order):
        if (value := row.values[column.key]) is not None:
            estimate = value.value if column.form == "interval" else value
            return (number, estimate if column.best == "low" else -estimate)
    return (len(order), 0.0)


def ratings_of(scoring: str) -> list[Column]:
    """Return the columns that rank agents where the format has no points: the first that has a value.

    Raises:
        UsageError: this program does not have the rating.
    """
    key = "elo" if scoring in {DEFAULT_SCORING, FORMULA_ONE} else scoring
    if key not in COLUMNS or COLUMNS[key].best is None:
        raise UsageError(f"the tournament is ranked by {scoring!r}, which this program does not have")
    return [COLUMNS[key], COLUMNS["score"]]


def scorings() -> list[str]:
    """Return the values of `scoring` in a plan."""
    return [
        DEFAULT_SCORING,
        FORMULA_ONE,
        *(key for key, column in COLUMNS.items() if column.best is not None),
    ]


def drawn_column(scoring: str, rows: Sequence[AgentRow]) -> Column:
    """Return the column whose intervals are drawn beside the standings."""
    pages = shown_columns("pages")
    drawn = [column for column in ratings_of(scoring) if column.form == "interval" and column in pages]
    return next((one for one in drawn if any(row.values[one.key] for row in rows)), drawn[-1])


def shown_columns(place: Literal["terminal", "pages"], drawn: str = "") -> list[Column]:
    """Return the columns of a table: what may rank agents first, then counts, durations and costs.

    Args:
        drawn: key of the column that stands beside its drawing, before all others.
    """
    shown = [column for column in COLUMNS.values() if column.shown in {"everywhere", place}]
    return sorted(shown, key=lambda column: (column.key != drawn, column.form not in {"interval", "number"}))


def add_column(column: Column) -> None:
    """Add a column or a rating to all standings that this process computes.

    Raises:
        UsageError: there is one with its key.
    """
    if column.key in {*COLUMNS, *scorings(), "place", "agent", "values"}:
        raise UsageError(f"column {column.key}: there is one with this key: choose another one")
    COLUMNS[column.key] = column


def _rating(
    key: str, heading: str, rated: Callable[[AgentTable], tuple[Duels, Ratings]], **options: Any
) -> Column:
    """Return the column of ratings by duels, with remarks on what they cannot say."""

    def values(table: AgentTable) -> Sequence[Any]:
        return [rated(table)[1].elo.get(name) for name in table.agents]

    def remarks(table: AgentTable) -> Iterator[str]:
        duels, found = rated(table)
        for group in found.groups[1:]:
            yield (
                f"{', '.join(group)}: no chain of duels connects them to the other agents, so compare"
                f" {heading} only within this group"
            )
        if found.unbounded:
            order = [agent.name for agent in table.plan.agents if agent.name in found.unbounded]
            names = ", ".join(sorted(order, key=lambda name: -found.elo[name].value))
            why = "won or lost everything against rated agents"
            yield f"{names}: {why}, so the {heading} is bounded on one side only"
        if (cycles := find_cycles(table.agents, duels, found)) is not None:
            who = " beats ".join((*cycles.strongest, cycles.strongest[0])) if cycles.strongest else ""
            yield (
                f"{100 * cycles.share:.0f} % of the differences between agents are cyclic"
                f"{f' ({who})' if who else ''}, which {heading} cannot show"
            )

    return Column(
        key=key, heading=heading, values=values, form="interval", best="high", remarks=remarks, **options
    )


def _counter(key: str, heading: str, **options: Any) -> Column:
    """Return the column of the sum of a counter of `SeatRecord`."""
    return Column(key=key, heading=heading, values=lambda table: table.sums(key), **options)


def _duels(key: str, heading: str, outcome: int, spare: int | None) -> Column:
    return Column(
        key=key,
        heading=heading,
        values=lambda table: table.outcomes[:, outcome],
        note=f"Duels {heading}",
        spare=spare,
    )


def _quantile(key: str, heading: str, share: float, **options: Any) -> Column:
    return Column(
        key=key,
        heading=heading,
        values=lambda table: [times.quantile_ns(share) for times in table.times],
        form="duration",
        **options,
    )


_ROWS: Final = (
    Column(key="matches", heading="matches", values=lambda table: table.seats.counts, spare=5),
    Column(
        key="duels",
        heading="duels",
        values=lambda table: table.outcomes.sum(axis=1),
        note="Games for two, and comparisons with each agent that played the same match alone",
        spare=6,
    ),
    _duels("wins", "won", 2, spare=None),
    _duels("draws", "drawn", 1, spare=8),
    _duels("losses", "lost", 0, spare=None),
    Column(
        key="points",
        heading="points",
        values=lambda table: [table.points.get(name, (None, None))[0] for name in table.agents],
        form="number",
        note="Swiss: 1 for an encounter won, 0.5 for a drawn one. Knockout: rounds survived. Formula One:"
        " points for places",
        spare=None,
    ),
    Column(
        key="buchholz",
        heading="Buchholz",
        values=lambda table: [table.points.get(name, (None, None))[1] for name in table.agents],
        form="number",
        note="Points of the agents that it met",
        spare=4,
    ),
    Column(
        key="score",
        heading="score",
        values=lambda table: [
            bounded_mean(tasks).interval() if tasks else None for tasks in table.task_points
        ],
        form="interval",
        decimals=2,
        note="Share of the others that it beat",
        best="high",
        spare=None,
    ),
    Column(
        key="score_beyond",
        heading="score beyond",
        values=lambda table: [_score_beyond(tasks) if tasks else None for tasks in table.task_points],
        form="interval",
        decimals=2,
        note="The score, with the interval for all tasks of which those of the plan are a sample",
        shown="files",
    ),
    _rating(
        "elo",
        "Elo",
        lambda table: (table.duels, table.elo),
        note="From duels, by the model of Bradley and Terry",
        spare=None,
    ),
    _rating(
        "skill",
        "skill",
        lambda table: (table.pairs, table.skill),
        note="From games for more than two seats, by the model of Plackett and Luce; on the scale of Elo",
        spare=10,
    ),
    _counter("turns", "turns", shown="files"),
    _counter("late", "late", note="Turns for which it was late", spare=9, mark="late"),
    Column(
        key="fell",
        heading="disq.",
        label="Disqualified",
        values=lambda table: table.disqualifications[0],
        note="Matches in which it was disqualified",
        spare=None,
        mark="bad",
    ),
    Column(
        key="time_losses",
        heading="disq. late",
        values=lambda table: table.disqualifications[1],
        shown="terminal",
        spare=7,
    ),
    Column(
        key="crashes",
        heading="disq. other",
        values=lambda table: table.disqualifications[0] - table.disqualifications[1],
        shown="files",
    ),
    _counter("illegal", "illegal", shown="terminal", spare=3),
    _counter("dropped", "dropped", shown="files"),
    _quantile("think_p50_ns", "p50", 0.5, label="Median", note="Median think time of a turn", spare=2),
    _quantile(
        "think_p99_ns", "p99", 0.99, label="99 %", note="Time that 99 % of the turns did not exceed", spare=1
    ),
    Column(
        key="think_max_ns",
        heading="longest",
        values=lambda table: table.seats.largest(table.results.seat_counters["think_max_ns"]),
        form="duration",
        shown="files",
    ),
    _counter("over_ns", "over", form="duration", shown="files"),
    Column(
        key="tokens",
        heading="tokens",
        values=lambda table: [
            None if tokens is None else round(tokens)
            for tokens in table.noted_a_match("prompt_tokens", "answer_tokens")
        ],
        note="Tokens of prompts and answers of a language model, a match",
        spare=8,
    ),
    Column(
        key="cost",
        heading="cost",
        values=lambda table: table.noted_a_match("cost"),
        form="dollars",
        note="Cost of a language model in US dollars, a match",
        spare=9,
    ),
)

COLUMNS: Final[dict[str, Column]] = {row.key: row for row in _ROWS}
"""All columns by key, in the order of exports."""


def _score_beyond(tasks: Sequence[Array]) -> Interval:
    """Return the mean score of the tasks; between them differ the tasks themselves and their repeats."""
    return bounded_mean([np.array([points.mean() for points in tasks])]).interval()
