"""A tournament plan as a value. `flagfall.tournament.plan.parser` reads one from a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Protocol, TypeAlias

import attrs

from flagfall.agents.process.isolation import DEFAULT_ISOLATION, Isolation
from flagfall.configfile.converter import Problems
from flagfall.errors import UsageError
from flagfall.kernel.hosting import LocalHostKind
from flagfall.kernel.outcomes import derive_seed
from flagfall.tasks.building import TaskSetup
from flagfall.timing import TimeControl
from flagfall.timing.latency import SeatLatency
from flagfall.tournament.records import MatchSpec, Opening, Records

MAX_REPEATS: Final = 100_000
"""Most repeats, rounds and replays: standings walk through them all, which takes some seconds for this
many."""

OMIT_DEFAULT: Final[Mapping[str, Any]] = {"omit_default": True}
"""Metadata of fields that stored plans of earlier versions do not have: at its default, such a field is
left out of the plan's fingerprint, so that those tournaments can be resumed."""

Points: TypeAlias = Mapping[str, tuple[float, float | None]]
"""By agent: the points that rank it, and its Buchholz score in formats that have one."""

Scoring: TypeAlias = str
"""Ranking where the format has none of its own: `DEFAULT_SCORING`, `FORMULA_ONE`, or the key of a rating."""

DEFAULT_SCORING: Final = "ratings"
"""By Elo, or by score if no agent has an Elo."""

FORMULA_ONE: Final = "formula-one"
"""By points for places on each task."""

Seatings: TypeAlias = Literal["cyclic", "balanced", "all"]
"""Orders in which the agents of a meeting take the seats of a game; see
`flagfall.tournament.formats.pairing.seat_orders`."""

MAX_ALL_SEATS: Final = 6
"""Most seats of a game that a meeting plays in all orders: 720 matches."""


def _check_seatings(task: PlannedTask, _field: object, seatings: Seatings) -> None:
    if seatings == "all" and task.seats > MAX_ALL_SEATS:
        raise UsageError(
            f"{task.name} seats {task.seats} agents, whom a meeting cannot play in all orders (most:"
            f' {MAX_ALL_SEATS} seats): write seatings = "balanced"'
        )


class Format(Protocol):
    """A tournament format: a frozen attrs class whose fields are the settings of its table in a plan file.

    Each is an entry of `flagfall.tournament.formats.schedule.FORMATS`; nothing else enumerates them.

    Attributes:
        exact_total: `total` is the number of matches, not just a bound on it.
        own_ranking: the format ranks the agents, by `ranks` or by their Elo, not the scoring of the plan.
    """

    kind: ClassVar[str]
    exact_total: ClassVar[bool]
    own_ranking: ClassVar[bool]

    @property
    def elo_level(self) -> float:
        """Level at which intervals of Elo, which are for a fixed number of matches, are computed."""
        ...

    def check(
        self, names: Sequence[str], tasks: Sequence[PlannedTask], stop: Stop, problems: Problems
    ) -> None:
        """Report everything in a plan that does not fit the format."""

    def schedule(self, plan: TournamentPlan, records: Records) -> Iterator[MatchSpec | None]:
        """Yield all matches in order, played or not, each once.

        Args:
            records: results so far; read again whenever the iterator is continued.

        Yields:
            A match, or `None` where the next one depends on results that are missing.
        """
        ...

    def total(self, plan: TournamentPlan) -> int:
        """Return the number of matches if no agent is withdrawn, or an upper bound; see `exact_total`."""
        ...

    def ranks(self, plan: TournamentPlan, records: Records) -> Points:
        """Return the points by which the format ranks agents; empty if it leaves ranking to the scoring."""
        ...

    def remarks(self, plan: TournamentPlan, records: Records) -> Sequence[str]:
        """Return what the format has to say to readers of the standings."""
        ...


@attrs.frozen(kw_only=True)
class PlannedAgent:
    """An agent of a plan.

    Attributes:
        spec: text that names the agent, as on the command line, with absolute paths.
        host: where it runs; `None`: in a process; under the virtual clock in the event loop, if it can.
        think: the time that its turns take on the virtual clock.
    """

    name: str
    spec: str
    host: LocalHostKind | None = None
    isolation: Isolation = DEFAULT_ISOLATION
    think: SeatLatency | None = attrs.field(default=None, metadata=OMIT_DEFAULT)


@attrs.frozen(kw_only=True)
class PlannedTask:
    """A task of a plan: what is played in one match, and how.

    Attributes:
        tasks: ids of tasks, or a setup that builds them: a configuration, or a GVGAI track.
        scheduler: text of a task scheduler; `None` for the default one, or if `tasks` includes one.
        tick_ns: real-time pace; `None` for lock-step.
        score: measure of a match with one seat, see `flagfall.tournament.records.seat_scores`.
        last: number of task instances, from the end of a match, that count as solved or not; `None`: all. Of
            a track validation counts, and training does not.
        seed: root seed of its matches in place of the plan's; `None` for the plan's.
        seatings: orders of the agents in which a meeting plays a game; for two seats all are the same.
        openings: where its matches begin, one after another; empty for the beginning of the task.

    Raises:
        UsageError: too many seats for `all` orders.
    """

    name: str
    tasks: tuple[str, ...] | TaskSetup
    scheduler: str | None = None
    seats: int = 1
    agents: tuple[str, ...]
    control: TimeControl
    steps: int | None = None
    tick_ns: int | None = None
    score: Literal["result", "reward"] = "result"
    last: int | None = None
    seed: int | None = attrs.field(default=None, metadata=OMIT_DEFAULT)
    seatings: Seatings = attrs.field(default="cyclic", metadata=OMIT_DEFAULT, validator=_check_seatings)
    openings: tuple[Opening, ...] = attrs.field(default=(), metadata=OMIT_DEFAULT)


EloModel: TypeAlias = Literal["logistic", "normalized"]
"""Scale of the hypotheses of a sequential test: Elo, or Elo for standard deviations of a game."""


MAX_ELO: Final = 4000
"""Largest Elo difference of a hypothesis: the weaker agent wins one game in ten thousand million."""


@attrs.frozen(kw_only=True)
class SprtRule:
    """A sequential test of two agents that ends the tournament as soon as it has decided.

    Attributes:
        agents: the test is on the Elo of the first less the Elo of the second.
        elo0: Elo difference under the hypothesis H0.
        elo1: Elo difference under the hypothesis H1, above `elo0`.
        alpha: probability of accepting H1 if H0 is true.
        beta: probability of accepting H0 if H1 is true.
        model: scale of `elo0` and `elo1`; see `flagfall.tournament.stats.duels`.
    """

    agents: tuple[str, str]
    elo0: float = 0.0
    elo1: float = 10.0
    alpha: float = 0.05
    beta: float = 0.05
    model: EloModel = attrs.field(default="logistic", metadata=OMIT_DEFAULT)


@attrs.frozen(kw_only=True)
class Stop:
    """Conditions that end a tournament before its schedule does.

    Attributes:
        matches: most matches that are played, from the beginning of the schedule.
        falls: an agent that was disqualified in this many matches is withdrawn: it is not paired from the
            next round on.
    """

    matches: int | None = None
    sprt: SprtRule | None = None
    falls: int | None = None


@attrs.frozen(kw_only=True)
class Output:
    """Files that a tournament writes.

    Attributes:
        tables: file formats in which the standings are also written.
        report: write the report at the end; it takes a second, and some for a hundred thousand matches.
    """

    folder: Path
    journals: bool = True
    tables: tuple[Literal["csv", "json", "parquet"], ...] = ()
    report: bool = False


@attrs.frozen(kw_only=True)
class TournamentPlan:
    """A tournament.

    Attributes:
        seed: all random choices derive from it.
        repeats: how often each meeting takes place on each task, each time with another seed.
        seeds: root seeds of the repeats; empty if they derive from `seed`.
        clock: `virtual`: waiting takes no time, and equal plans give equal results.
        anchor: agent with an Elo of 0; `None`: the mean of all agents is 0.
        jobs: matches played at the same time; `None` for as many as the machine has processors for.
        text: content of the plan file.
        folder: where relative paths in the text start.
    """

    name: str
    agents: tuple[PlannedAgent, ...]
    tasks: tuple[PlannedTask, ...]
    format: Format
    seed: int = 0
    repeats: int = 1
    seeds: tuple[int, ...] = ()
    clock: Literal["wall", "virtual"] = "wall"
    stop: Stop = Stop()
    anchor: str | None = None
    scoring: Scoring = attrs.field(default=DEFAULT_SCORING, metadata=OMIT_DEFAULT)
    jobs: int | None = None
    output: Output
    text: str = ""
    folder: Path = Path()

    def agent(self, name: str) -> PlannedAgent:
        """Return the agent with a name."""
        return next(agent for agent in self.agents if agent.name == name)

    def task(self, name: str) -> PlannedTask:
        """Return the task with a name."""
        return next(task for task in self.tasks if task.name == name)

    def without_openings(self) -> TournamentPlan:
        """Return the plan with all matches from the beginning of their tasks."""
        return attrs.evolve(self, tasks=tuple(attrs.evolve(task, openings=()) for task in self.tasks))

    def match_seed(self, repeat: int, task: PlannedTask, *meeting: str | int) -> int:
        """Return the seed of a match.

        Args:
            meeting: identifies the meeting; empty if all agents get the same seed.
        """
        if task.seed is not None:
            return derive_seed(task.seed, repeat, *meeting) if repeat or meeting else task.seed
        if not self.seeds:
            return derive_seed(self.seed, "match", task.name, repeat, *meeting)
        root = self.seeds[repeat]
        return derive_seed(root, *meeting) if meeting else root
