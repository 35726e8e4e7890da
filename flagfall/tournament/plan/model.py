"""What a tournament is to be, as a value. `flagfall.tournament.plan.parser` makes it from a file."""

from __future__ import annotations

__all__ = [
    "AgentEntry",
    "Benchmark",
    "Format",
    "Gauntlet",
    "Knockout",
    "Output",
    "Plan",
    "RoundRobin",
    "SprtRule",
    "Stop",
    "Swiss",
    "TaskEntry",
]

from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

import attrs

from flagfall.agents.process.isolation import DEFAULT_ISOLATION, Isolation
from flagfall.configfile.converter import Bounds
from flagfall.kernel.hosting import LocalHostKind
from flagfall.kernel.seeding import derive_seed
from flagfall.tasks.building import TaskSetup
from flagfall.timing import TimeControl

MAX_REPEATS: Final = 100_000
"""Repeats, rounds and replays: standings walk through them all, which takes some seconds for this many."""


@attrs.frozen(kw_only=True)
class AgentEntry:
    """An agent that takes part.

    Attributes:
        name: what it is called in records and tables.
        spec: what names it, as on the command line; paths in it are absolute.
        host: where it runs; `None`: in a process, and in the event loop under the virtual clock.
        isolation: how it is kept apart in a process.
    """

    name: str
    spec: str
    host: LocalHostKind | None = None
    isolation: Isolation = DEFAULT_ISOLATION


@attrs.frozen(kw_only=True)
class TaskEntry:
    """What is played in one match, and how. `flagfall.playing.play` takes its fields as they are.

    Attributes:
        name: what it is called in records and tables.
        tasks: ids of tasks, or what makes them: a configuration, or a GVGAI track.
        scheduler: the text of a policy; `None` where `tasks` says it, or for the usual one.
        seats: how many agents a match has.
        agents: the names of those that play it.
        control: the time control of every seat.
        steps: turns of a match, at most.
        tick_ns: the pace; `None` for lock-step.
        score: what counts where there is one seat, see `flagfall.tournament.records.seat_scores`.
        last: only so many instances, the last ones of a match, count as solved or not; `None`: all of them.
            Of a track the validation counts, and training does not.
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


@attrs.frozen
class Benchmark:
    """Every agent plays every task with every seed; at games for several seats all meet all."""


@attrs.frozen
class RoundRobin:
    """Everybody meets everybody equally often, in rounds."""


@attrs.frozen(kw_only=True)
class Gauntlet:
    """Everybody meets the champions, and nobody else.

    Attributes:
        champions: their names.
    """

    champions: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Swiss:
    """In each round those meet who have done equally well, and have not met yet.

    Attributes:
        rounds: how many; `None` for as many as a knockout would have.
    """

    rounds: Annotated[int, Bounds(0, MAX_REPEATS)] | None = None


@attrs.frozen(kw_only=True)
class Knockout:
    """Who loses an encounter is out. The order of the agents in the plan is their seeding.

    Attributes:
        replays: how often a drawn encounter is played again, with other seeds. If it is drawn still, the one
            who stands first in the plan goes on.
    """

    replays: Annotated[int, Bounds(0, MAX_REPEATS)] = 3


Format: TypeAlias = Benchmark | RoundRobin | Gauntlet | Swiss | Knockout


@attrs.frozen(kw_only=True)
class SprtRule:
    """The tournament is over as soon as a sequential test of its two agents has decided.

    Attributes:
        agents: whose difference is tested: the first one's Elo less the second one's.
        elo0: the difference under the hypothesis H0.
        elo1: the difference under the hypothesis H1, above `elo0`.
        alpha: how often H1 may be accepted where H0 is true.
        beta: how often H0 may be accepted where H1 is true.
    """

    agents: tuple[str, str]
    elo0: float = 0.0
    elo1: float = 10.0
    alpha: float = 0.05
    beta: float = 0.05


@attrs.frozen(kw_only=True)
class Stop:
    """What ends a tournament before its schedule does.

    Attributes:
        matches: so many are played at most, the first of the schedule.
        sprt: a sequential test.
        falls: an agent that fell in so many matches is withdrawn: from the next round on it is not paired.
    """

    matches: int | None = None
    sprt: SprtRule | None = None
    falls: int | None = None


@attrs.frozen(kw_only=True)
class Output:
    """What is left of a tournament.

    Attributes:
        folder: where it all lies.
        journals: whether each match leaves its journal.
        tables: what the standings are also written as.
    """

    folder: Path
    journals: bool = True
    tables: tuple[Literal["csv", "json", "parquet"], ...] = ()


@attrs.frozen(kw_only=True)
class Plan:
    """A tournament.

    Attributes:
        name: for people.
        agents: who takes part, in the order of the file.
        tasks: what is played.
        format: who meets whom.
        seed: everything random derives from it.
        repeats: how often each meeting takes place on each task, each time with another seed.
        seeds: the root seeds of the repeats; empty where they derive from `seed`.
        clock: `virtual`: waiting takes no time, and the same plan gives the same results.
        stop: what ends it before its schedule does.
        anchor: the agent whose Elo is 0; `None`: the mean of all is 0.
        jobs: how many matches are played at a time; `None` for what the machine can carry.
        output: what is left of it.
        text: the file that it was read from.
    """

    name: str
    agents: tuple[AgentEntry, ...]
    tasks: tuple[TaskEntry, ...]
    format: Format
    seed: int = 0
    repeats: int = 1
    seeds: tuple[int, ...] = ()
    clock: Literal["wall", "virtual"] = "wall"
    stop: Stop = Stop()
    anchor: str | None = None
    jobs: int | None = None
    output: Output
    text: str = ""

    def agent(self, name: str) -> AgentEntry:
        """The agent of that name."""
        return next(agent for agent in self.agents if agent.name == name)

    def task(self, name: str) -> TaskEntry:
        """The task of that name."""
        return next(task for task in self.tasks if task.name == name)

    def match_seed(self, repeat: int, task: str, *meeting: str | int) -> int:
        """The seed of a match.

        Args:
            repeat: which one, from 0.
            task: its name.
            meeting: what tells this meeting from others; nothing where all agents face the same.
        """
        if not self.seeds:
            return derive_seed(self.seed, "match", task, repeat, *meeting)
        root = self.seeds[repeat]
        return derive_seed(root, *meeting) if meeting else root
