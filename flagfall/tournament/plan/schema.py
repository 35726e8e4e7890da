"""Schema of a plan file: one attrs class for each table, read by `flagfall.configfile.converter`."""

from __future__ import annotations

__all__ = ["AgentTable", "PlanTable", "SprtTable", "StopTable", "TaskTable"]

from typing import Annotated, Literal

import attrs

from flagfall.agents.process.isolation import IsolationKind
from flagfall.configfile.converter import Bounds, Count, Parsed, Texts
from flagfall.errors import UsageError, suggest
from flagfall.kernel.hosting import LocalHostKind
from flagfall.kernel.seeding import MAX_SEED
from flagfall.timing import TimeControl
from flagfall.timing.durations import parse_duration
from flagfall.tournament.model import DEFAULT_SCORING, MAX_REPEATS
from flagfall.tournament.tables.agents import scorings


def _positive_duration(text: str) -> int:
    duration = parse_duration(text)
    if not duration:
        raise UsageError(f"expected a time above zero, got {text!r}; leave the key out for none")
    return duration


def _scoring(text: str) -> str:
    if text not in scorings():
        raise UsageError(f"unknown value {text!r}{suggest(text, scorings())}")
    return text


ScoringName = Annotated[str, Parsed(_scoring)]
Seed = Annotated[int, Bounds(0, MAX_SEED)]
Repeats = Annotated[int, Bounds(1, MAX_REPEATS)]
Duration = Annotated[int, Parsed(_positive_duration)]
Control = Annotated[TimeControl, Parsed(TimeControl.parse)]


@attrs.frozen(kw_only=True)
class AgentTable:
    """A table of `agents`; missing settings are those of the plan."""

    spec: str
    name: str | None = None
    host: LocalHostKind | None = None
    isolation: IsolationKind | None = None
    limits: str | None = None
    pass_env: Texts | None = None
    show: Texts | None = None


@attrs.frozen(kw_only=True)
class TaskTable:
    """A table of `tasks`; exactly one of `task`, `each`, `config`, `track` is required."""

    name: str | None = None
    task: Texts | None = None
    each: Texts | None = None
    config: str | None = None
    track: Texts | None = None
    agents: Texts | None = None
    scheduler: str | None = None
    steps: Count | None = None
    episodes: Count | None = None
    time_control: Control | None = None
    tick: Duration | None = None
    score: Literal["result", "reward"] = "result"
    words: str | None = None
    bit_mode: bool = False
    scramble: bool = False
    max_reward_per_task: float | None = None
    fixes: bool = False
    rules: str = "gvgai-document"
    training: Duration | None = None
    games: Count | None = None
    rounds: Count | None = None


@attrs.frozen(kw_only=True)
class SprtTable:
    """The table `stop.sprt`."""

    agents: Texts | None = None
    elo0: float = 0.0
    elo1: float = 10.0
    alpha: float = 0.05
    beta: float = 0.05


@attrs.frozen(kw_only=True)
class StopTable:
    """The table `stop`, without its inner tables."""

    matches: Count | None = None
    falls: Count | None = None


@attrs.frozen(kw_only=True)
class PlanTable:
    """The top level of a plan, without its tables."""

    name: str | None = None
    seed: Seed = 0
    repeats: Repeats | None = None
    seeds: tuple[Seed, ...] | None = None
    clock: Literal["wall", "virtual"] = "wall"
    time_control: Control | None = None
    host: LocalHostKind | None = None
    isolation: IsolationKind | None = None
    limits: str | None = None
    pass_env: Texts | None = None
    show: Texts | None = None
    anchor: str | None = None
    scoring: ScoringName = DEFAULT_SCORING
    jobs: Count | None = None
