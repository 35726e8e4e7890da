"""Facts of a plan: every setting that a resumed run must share with the interrupted one, as stored with it.

A plan for display is made from them alone. Reading the text of a plan looks for the files of agents and
configurations that it names, which are not there when a results folder has been moved to another machine; a
plan that a program made has no text at all. Nothing that the facts name is imported or opened.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

import attrs
import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from flagfall.agents.process.isolation import Isolation
from flagfall.configfile.converter import Problems, structure
from flagfall.errors import UsageError
from flagfall.kernel.outcomes import MAX_SEED
from flagfall.tasks.building import TaskSetup
from flagfall.tasks.vgdl.learning_track_setup import TrackSetup
from flagfall.texts import one_line
from flagfall.timing import TimeControl
from flagfall.timing.durations import format_duration
from flagfall.timing.latency import SeatLatency
from flagfall.tournament.formats.schedule import FORMATS, MAX_MATCHES, most_matches
from flagfall.tournament.model import (
    DEFAULT_SCORING,
    MAX_ELO,
    MAX_REPEATS,
    EloModel,
    Format,
    Output,
    PlannedAgent,
    PlannedTask,
    Seatings,
    SprtRule,
    Stop,
    TournamentPlan,
)
from flagfall.tournament.records import Opening

_FREE: Final = frozenset({"text", "folder", "jobs", "output", "name"})
"""Settings that affect neither the schedule nor the result of a match."""

_MAX_REASON_CHARS: Final = 200
_MAX_NAME_CHARS: Final = 1000
"""Longest name of an agent or a task; plan files allow 80 characters, and programs that make plans any."""

_Count = Annotated[int, Meta(ge=0)] | None
_Elo = Annotated[float, Meta(ge=-MAX_ELO, le=MAX_ELO)]
_Rate = Annotated[float, Meta(gt=0.0, lt=0.5)]
_StructT = TypeVar("_StructT", bound=Struct)


class _Top(Struct, kw_only=True):
    repeats: Annotated[int, Meta(ge=1, le=MAX_REPEATS)]
    seeds: tuple[int, ...] = ()
    clock: Literal["wall", "virtual"] = "wall"
    anchor: str | None = None
    scoring: str = DEFAULT_SCORING


class _Agent(Struct, kw_only=True):
    spec: str
    host: Any


class _Task(Struct, kw_only=True):
    tasks: Any
    seats: Annotated[int, Meta(ge=1, le=9999)]
    agents: tuple[str, ...]
    scheduler: str | None = None
    steps: _Count = None
    tick_ns: _Count = None
    score: Literal["result", "reward"] = "result"
    last: _Count = None
    seed: int | None = None
    seatings: Seatings = "cyclic"
    openings: tuple[str, ...] = ()


class _Stop(Struct, kw_only=True):
    matches: _Count = None
    falls: _Count = None


class _Sprt(Struct, kw_only=True):
    agents: tuple[str, str]
    elo0: _Elo
    elo1: _Elo
    alpha: _Rate
    beta: _Rate
    model: EloModel = "logistic"


def plan_facts(plan: TournamentPlan) -> dict[str, str]:
    """Return the settings of a plan as text, by path: `agents.learner.spec`, `tasks.micro.steps`, ..."""
    fields = [field for field in attrs.fields(TournamentPlan) if field.name not in _FREE]
    facts = dict(fact for field in fields for fact in _field_facts(field.name, field, plan))
    return without_folder(facts, str(plan.folder.resolve()))


def without_folder(facts: Mapping[str, str], folder: str) -> dict[str, str]:
    """Return facts with paths relative to the folder of their plan, which may be elsewhere the next time."""
    above = f"{folder}{os.sep}"
    if above.count(os.sep) < 2:  # noqa: PLR2004 - the root of the file system, or no folder
        return dict(facts)
    return {place: fact.replace(above, "") for place, fact in facts.items()}


def with_models(facts: Mapping[str, str]) -> dict[str, str]:
    """Return facts in which a fixed time of each action, as former versions stored it, is a model."""
    renewed = dict(facts)
    for place, fact in facts.items():
        if place.startswith("agents.") and place.endswith(".think_ns") and fact.isdecimal():
            del renewed[place]
            renewed[place.removesuffix("_ns")] = f"act={format_duration(int(fact))}"
    return renewed


def _field_facts(place: str, field: attrs.Attribute[Any], owner: Any) -> Iterator[tuple[str, str]]:
    value = getattr(owner, field.name)
    # Plans stored by versions without this field lack its fact.
    if not field.metadata.get("omit_default") or value != field.default:
        yield from _facts(place, value)


def _facts(place: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, TimeControl | SeatLatency | Isolation | Path):
        yield place, str(value)
    elif isinstance(value, tuple) and value and isinstance(value[0], Opening):
        yield place, json.dumps([opening.name for opening in value])
        for opening in value:
            yield f"{place}.{opening.name}", opening.sha256
    elif attrs.has(type(value)) and not isinstance(value, TaskSetup):
        yield place, getattr(value, "name", type(value).__name__)
        for field in attrs.fields(type(value)):
            yield from _field_facts(f"{place}.{field.name}", field, value)
    elif isinstance(value, tuple) and value and attrs.has(type(value[0])):
        yield place, " ".join(entry.name for entry in value)
        for entry in value:
            yield from _facts(f"{place}.{entry.name}", entry)
    elif isinstance(value, TaskSetup):
        yield place, json.dumps(value.header(), sort_keys=True, default=str)
    else:
        yield place, json.dumps(value)


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the differences between two sets of facts, one line each.

    For an agent or a task that was added or removed, that is the only line: its settings are not listed.
    """
    nothing = "(nothing)"
    places = [place for place in dict.fromkeys([*before, *now]) if before.get(place) != now.get(place)]
    whole = tuple(f"{place}." for place in places if place not in before or place not in now)
    return [
        f"{place}: was {before.get(place, nothing)}, is {now.get(place, nothing)}"
        for place in places
        if not place.startswith(whole)
    ]


def plan_of_facts(name: str, seed: int, facts: Mapping[str, str]) -> TournamentPlan:
    """Return a plan for display; it cannot be played, because its tasks are only named.

    Args:
        facts: see `plan_facts`; they may come from a damaged file.

    Raises:
        UsageError: the facts are not those of a plan.
    """
    try:
        return _plan(name, seed, facts)
    except (KeyError, TypeError, ValueError, RecursionError, UsageError, msgspec.MsgspecError) as error:
        reason = one_line(str(error) or type(error).__name__, _MAX_REASON_CHARS)
        raise UsageError(f"the stored plan cannot be read ({reason})") from error


def _read(facts: Mapping[str, str], place: str, kind: type[_StructT]) -> _StructT:
    """Return the settings whose paths begin with `place`."""
    fields = [field for field in kind.__struct_fields__ if f"{place}{field}" in facts]
    return msgspec.convert({field: json.loads(facts[f"{place}{field}"]) for field in fields}, kind)


def _names(facts: Mapping[str, str], place: str) -> list[str]:
    """Return the names of the entries of a table, such as `agents.`, in their order."""
    found = [
        key[len(place) : -len(".name")] for key in facts if key.startswith(place) and key.endswith(".name")
    ]
    if any(len(name) > _MAX_NAME_CHARS for name in found):
        raise ValueError(f"a name in {place} is too long")
    return [name for name in found if json.loads(facts[f"{place}{name}.name"]) == name]


def _plan(name: str, seed: int, facts: Mapping[str, str]) -> TournamentPlan:
    names = _names(facts, "agents.")
    tasks = tuple(_task(facts, one, names) for one in _names(facts, "tasks."))
    if not names or not tasks:
        raise ValueError("no agents or no tasks")
    top = _read(facts, "", _Top)
    if not all(0 <= one <= MAX_SEED for one in top.seeds):
        raise ValueError("seeds has what is no seed")
    if top.seeds and len(top.seeds) != top.repeats:
        raise ValueError(f"{len(top.seeds)} seeds for {top.repeats} repeats")
    sprt = _sprt(facts, names) if "stop.sprt.agents" in facts else None
    stop = Stop(sprt=sprt, **asdict(_read(facts, "stop.", _Stop)))
    plan = TournamentPlan(
        name=name,
        agents=tuple(_agent(facts, one) for one in names),
        tasks=tasks,
        format=_format(facts, names, tasks, stop),
        seed=seed,
        stop=stop,
        output=Output(folder=Path()),
        **asdict(top),
    )
    if most_matches(plan) > MAX_MATCHES:
        raise ValueError("too many matches")
    return plan


def _agent(facts: Mapping[str, str], name: str) -> PlannedAgent:
    think = facts.get(f"agents.{name}.think")
    model = None if think is None else SeatLatency.parse(think)
    return PlannedAgent(name=name, think=model, **asdict(_read(facts, f"agents.{name}.", _Agent)))


def _task(facts: Mapping[str, str], name: str, names: Sequence[str]) -> PlannedTask:
    place = f"tasks.{name}."
    read = _read(facts, place, _Task)
    if not set(read.agents) <= set(names) or len(set(read.agents)) < max(read.seats, len(read.agents)):
        raise ValueError(f"{place}agents does not fit the agents")
    ids = read.tasks if isinstance(read.tasks, list) else ()
    read.tasks = tuple(one for one in ids if isinstance(one, str))
    control = TimeControl.parse(facts[f"{place}control"])
    openings = tuple(Opening(one, facts[f"{place}openings.{one}"]) for one in read.openings)
    return PlannedTask(name=name, control=control, **asdict(read) | {"openings": openings})


def _format(
    facts: Mapping[str, str], names: Sequence[str], tasks: Sequence[PlannedTask], stop: Stop
) -> Format:
    form = {form.__name__: form for form in FORMATS.values()}[facts["format"]]
    table = {
        field.name: value
        for field in attrs.fields(form)  # type: ignore[arg-type]  # every format is an attrs class
        if (value := json.loads(facts[f"format.{field.name}"])) is not None
    }
    problems = Problems("the stored plan")
    made = structure(table, form, ("format",), problems)
    if made is not None:
        made.check(names, tasks, stop, problems)
    problems.raise_if_any()
    assert made is not None
    return made


def _sprt(facts: Mapping[str, str], names: Sequence[str]) -> SprtRule:
    rule = SprtRule(**asdict(_read(facts, "stop.sprt.", _Sprt)))
    if set(rule.agents) != set(names) or rule.agents[0] == rule.agents[1] or not rule.elo0 < rule.elo1:
        raise ValueError("stop.sprt is not a test of the agents")
    return rule


def changed_settings(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[set[str], set[str]]:
    """Return the names of agents and of tasks that are in both plans, but are played with other settings.

    What only chooses or ranks matches (agents, seatings and openings of a task, seeds, scoring) is none of
    these settings. Another clock changes all tasks.

    Args:
        before: see `plan_facts`.
    """
    agents = {
        name for name in _names(before, "agents.") if _differ(before, now, f"agents.{name}", PlannedAgent)
    }
    tasks = {
        name
        for name in _names(before, "tasks.")
        if before.get("clock") != now.get("clock") or _differ(before, now, f"tasks.{name}", PlannedTask)
    }
    return agents, tasks


def _differ(before: Mapping[str, str], now: Mapping[str, str], place: str, kind: type) -> bool:
    """Return whether both sets of facts have an entry, and it is played differently."""
    fields = [f"{place}.{field.name}" for field in attrs.fields(kind) if field.name not in _CHOOSING]
    return place in now and any(before.get(field) != now.get(field) for field in fields)


_CHOOSING: Final = frozenset({"agents", "seed", "seatings", "openings"})
"""Settings of a task that choose its matches, and do not change how one is played."""


def as_begun(plan: TournamentPlan, facts: Mapping[str, str]) -> TournamentPlan:
    """Return a plan whose presets mean what they meant when its tournament began.

    A plan names a preset, and a later version of flagfall may correct what that stands for. A tournament goes
    on under the rules of its first matches, so that all of its matches are played alike.

    Returns:
        The plan; tasks whose former meaning gives the stored facts have it.
    """
    return attrs.evolve(plan, tasks=tuple(_task_as_begun(task, facts) for task in plan.tasks))


def _task_as_begun(task: PlannedTask, facts: Mapping[str, str]) -> PlannedTask:
    former, place = _before_rounds_broke(task), f"tasks.{task.name}"
    is_former = place in facts and not _differ(facts, dict(_facts(place, former)), place, PlannedTask)
    return former if is_former else task


def _before_rounds_broke(task: PlannedTask) -> PlannedTask:
    """Return a task with `gvgai-2017` as it was at first.

    A tick over 50 ms disqualified the agent then, instead of aborting the level, and a client that declared
    itself too slow lost the match, instead of the rest of its round.
    """
    setup = task.tasks
    if not isinstance(setup, TrackSetup) or setup.rules.name != "gvgai-2017":
        return task
    rules, control = attrs.evolve(setup.rules, breaks_rounds=False), task.control
    if control.act_abort is not None:
        control = attrs.evolve(control, act_abort=None, act_hard=control.act_abort)
    return attrs.evolve(task, tasks=attrs.evolve(setup, rules=rules), control=control)
