"""Agents and tasks of a plan: tables to values, with every check that needs no import."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import attrs

from flagfall.agents.hosts.registry import Player
from flagfall.agents.process.isolation import Isolation, IsolationKind
from flagfall.agents.registry import load_agent
from flagfall.agents.spec import AgentSpec, agent_name, split_command
from flagfall.code_loader import check_file
from flagfall.configfile.converter import Bounds, Count, KeyPath, Parsed, Problems, Texts, structure
from flagfall.errors import UsageError, suggest
from flagfall.kernel.hosting import LocalHostKind
from flagfall.kernel.outcomes import MAX_SEED
from flagfall.playing import DEFAULT_TIME_CONTROL
from flagfall.recording.latency import load_model
from flagfall.tasks.building import TaskSetup, is_endless, seats_of, tasks_of
from flagfall.tasks.catalog import in_folder
from flagfall.tasks.configs import load_config
from flagfall.tasks.vgdl.learning_track import TrackRules
from flagfall.tasks.vgdl.learning_track_setup import TrackSetup
from flagfall.timing import TimeControl
from flagfall.timing.durations import parse_duration
from flagfall.timing.latency import SeatLatency
from flagfall.tournament.model import (
    DEFAULT_SCORING,
    MAX_ELO,
    MAX_REPEATS,
    EloModel,
    PlannedAgent,
    PlannedTask,
    Seatings,
)
from flagfall.tournament.openings import find_openings
from flagfall.tournament.tables import scorings


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
EloDifference = Annotated[float, Bounds(-MAX_ELO, MAX_ELO)]
Duration = Annotated[int, Parsed(_positive_duration)]
Control = Annotated[TimeControl, Parsed(TimeControl.parse)]
Model = Annotated[SeatLatency, Parsed(SeatLatency.parse)]


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
    think: Model | None = None


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
    seatings: Seatings = "cyclic"
    openings: Texts | None = None
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
    elo0: EloDifference = 0.0
    elo1: EloDifference = 10.0
    alpha: float = 0.05
    beta: float = 0.05
    model: EloModel = "logistic"


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


MAX_NAME: Final = 80
"""Most characters of a name, which is a column of every table."""

_SOURCES: Final = ("task", "each", "config", "track")
_BYTE_OPTIONS: Final = ("words", "bit_mode", "scramble", "max_reward_per_task", "fixes")
_NOT_OF_TRACKS: Final = (*_BYTE_OPTIONS, "scheduler", "episodes", "steps", "openings")
_TRACK_OPTIONS: Final = ("rules", "training", "games", "rounds")
_PLAIN: Final = TaskTable()


def read_agents(
    tables: Any, defaults: PlanTable, folder: Path, problems: Problems
) -> tuple[PlannedAgent, ...]:
    """Return all valid agents.

    Args:
        problems: collects the problems of the others.
    """
    made: dict[str, PlannedAgent] = {}
    numbers: list[int] = []
    for number, table in enumerate(_check_tables(tables, "agents", problems)):
        agent = structure(table, AgentTable, ("agents", number), problems)
        if agent is None:
            continue
        name = agent.name or agent_name(agent.spec)
        if name in made:
            problems.add(("agents", number), f"there are two agents {name!r}: give one of them another name")
            continue
        try:
            _check_name(name)
            made[name] = _agent(agent, name, defaults, folder)
            numbers.append(number)
        except UsageError as error:
            problems.add(("agents", number), str(error))
    for number, problem in zip(numbers, _incomparable([*made.values()]), strict=False):
        if problem:
            problems.add(("agents", number), problem)
    return tuple(made.values())


def _incomparable(agents: Sequence[PlannedAgent]) -> Iterator[str]:
    """Yield for each agent why its think time cannot be compared with that of the others, or an empty text.

    Measured think times (`flagfall.timing.rates`) are compared with times of the same measure, and with drawn
    ones; different rates are a handicap that the plan states. No agent has a problem if none is measured.
    """
    rates = [None if agent.think is None else agent.think.rate for agent in agents]
    measured = next(((agent, rate) for agent, rate in zip(agents, rates, strict=True) if rate), None)
    if measured is None:
        return
    first, rate_of_first = measured
    beside = f"beside {first.name!r}, whose think time is measured by {rate_of_first}"
    for agent, rate in zip(agents, rates, strict=True):
        if rate is not None and rate.measures != rate_of_first.measures:
            why = "instructions and tokens have no common measure; play them in two tournaments"
            yield f"{agent.name!r} has {rate} {beside}: {why}"
        elif agent.think is None:
            what = f"{agent.name!r} would take no time and never be late, {beside}"
            yield f'{what}: add its think, measured or drawn, such as "20ms"'
        else:
            yield ""


def agent_names(tables: Any) -> list[str]:
    """Return the names of all agents, including invalid ones, which other tables may refer to."""
    valid = [table for table in tables if isinstance(table, dict)] if isinstance(tables, list) else []
    names = (table.get("name") or agent_name(str(table.get("spec", ""))) for table in valid)
    return list(dict.fromkeys(name for name in names if isinstance(name, str) and name))


def _check_tables(tables: Any, what: str, problems: Problems) -> list[Any]:
    if isinstance(tables, list) and tables:
        return tables
    problems.add((what,), f"name at least one, under a line [[{what}]]")
    return []


def _check_name(name: str) -> None:
    if len(name) > MAX_NAME or not name.isprintable() or name != name.strip():
        raise UsageError(f"{name!r} is not a valid name: write at most {MAX_NAME} printable characters")


def _agent(table: AgentTable, name: str, defaults: PlanTable, folder: Path) -> PlannedAgent:
    host = table.host or defaults.host
    kind = table.isolation or defaults.isolation
    limits = table.limits or defaults.limits
    passed = table.pass_env or defaults.pass_env
    show = table.show or (defaults.show if kind == "sandbox" else None)
    kept = Isolation.from_options(kind, limits, passed, show, folder)
    model = None if table.think is None else load_model(table.think, folder)
    spec = _checked(AgentSpec.parse(table.spec), folder)
    player = Player(spec, host, name, kept, think=model, apart=True)
    player.check(_named, virtual=defaults.clock == "virtual")
    return PlannedAgent(name=name, spec=spec, host=host, isolation=kept, think=model)


def _named(field: str) -> str:
    """Return a field of a request as plans write it."""
    return {"isolation": "isolation, limits, pass_env"}.get(field, field)


def _checked(spec: AgentSpec, folder: Path) -> str:
    """Return the text of an agent, with an absolute path; its code is not imported."""
    if spec.form.is_person:
        raise UsageError(
            f"{spec.text!r}: a human can play only single matches, with `flagfall play` or `flagfall run`"
        )
    if spec.form.connects:
        raise UsageError(
            f"{spec.text!r} is a single agent at one address, but matches are played in parallel: let"
            " flagfall start it, as cmd:PROGRAM"
        )
    if spec.form.is_command:
        split_command(spec.target)
    elif spec.scheme == "sample":
        load_agent(spec)
        return spec.in_folder(folder.resolve()).text
    elif spec.is_file:
        path = folder / spec.target
        check_file(path, "agent")
        return spec.in_folder(folder.resolve()).text
    return spec.text


def read_tasks(
    tables: Any,
    defaults: PlanTable,
    agents: Sequence[str],
    folder: Path,
    problems: Problems,
) -> tuple[PlannedTask, ...]:
    """Return all valid tasks.

    Args:
        problems: collects the problems of the others.
    """
    made: dict[str, PlannedTask] = {}
    for number, table in enumerate(_check_tables(tables, "tasks", problems)):
        place = ("tasks", number)
        task = structure(table, TaskTable, place, problems)
        is_sound = task is not None
        task = task or structure(_sound_fields(table), TaskTable, place, Problems("its other fields"))
        if task is None:
            continue
        who = task.agents or tuple(agents)
        _check_players(who, agents, (*place, "agents"), problems)
        for one in _split(task):
            try:
                entry = _task(one, defaults, tuple(who), folder)
            except UsageError as error:
                problems.add(place, str(error))
                continue
            if entry.name in made:
                problems.add(place, f"there are two tasks {entry.name!r}: give one of them another name")
            if one.openings is not None:
                found = find_openings(one.openings, entry, folder, (*place, "openings"), problems)
                entry = attrs.evolve(entry, openings=found)
            if is_sound:
                made[entry.name] = entry
    return tuple(made.values())


def _check_players(who: Sequence[str], agents: Sequence[str], place: KeyPath, problems: Problems) -> None:
    """Report players of a task that are no agents of the plan, or named twice."""
    for agent in who:
        if agent not in agents and agents:
            problems.unknown(place, "agent", agent, agents)
    if len(set(who)) < len(who):
        problems.add(place, "an agent is named twice")


def _sound_fields(table: Any) -> dict[str, Any]:
    """Return the fields of a task's table that are valid by themselves, so that these are checked too."""
    if not isinstance(table, dict):
        return {}
    return {
        name: value
        for name, value in table.items()
        if structure({name: value}, TaskTable, (), Problems("one field")) is not None
    }


def _split(table: TaskTable) -> Iterator[TaskTable]:
    """Yield a task for each entry of `each` and each game of a track; any other task as it is."""
    if table.each is not None and table.task is None:
        for task in table.each:
            name = task if table.name is None else f"{table.name} {task}"
            yield attrs.evolve(table, each=None, task=(task,), name=name)
    elif table.track is not None and len(table.track) > 1:
        for game in table.track:
            name = f"track {game}" if table.name is None else f"{table.name} {game}"
            yield attrs.evolve(table, track=(game,), name=name)
    else:
        yield table


def _task(
    table: TaskTable,
    defaults: PlanTable,
    agents: tuple[str, ...],
    folder: Path,
) -> PlannedTask:
    sources = [name for name in _SOURCES if getattr(table, name) is not None]
    if len(sources) != 1:
        found = f"{' and '.join(sources)} are given" if sources else "nothing to play is given"
        raise UsageError(f"{found}: write exactly one of {', '.join(_SOURCES)}")
    _refuse(table, sources[0])
    if table.episodes is not None and (table.scheduler is not None or table.config is not None):
        raise UsageError("episodes sets the scheduler: leave out either episodes or scheduler (or config)")
    name, tasks, scheduler, last = _name_and_tasks(table, folder)
    _check_name(name)
    if table.track is None and is_endless(tasks, scheduler, table.steps):
        raise UsageError(f"{name}: its scheduler has no end: set steps")
    rules = table.rules if table.track else DEFAULT_TIME_CONTROL
    control = table.time_control or defaults.time_control or TimeControl.parse(rules)
    if table.track is not None:  # its total is the time for training, which is part of the rules
        control = attrs.evolve(control, total=None, grace=None)
    entry = PlannedTask(
        name=name,
        tasks=tasks,
        scheduler=scheduler,
        seats=seats_of(tasks) if isinstance(tasks, tuple) else 1,
        agents=agents,
        control=control,
        steps=table.steps,
        tick_ns=table.tick,
        score=table.score,
        last=last,
        seatings=table.seatings,
    )
    if len(agents) < entry.seats:
        raise UsageError(f"{name} seats {entry.seats} agents, but only {len(agents)} play it: name more")
    return entry


def _refuse(table: TaskTable, source: str) -> None:
    """Refuse options that do not apply to what is played."""
    others = _NOT_OF_TRACKS if source == "track" else _TRACK_OPTIONS
    for name in others:
        if getattr(table, name) != getattr(_PLAIN, name):
            raise UsageError(f"{name} does not apply to {source}: leave it out")
    if table.config is not None and table.scheduler is not None:
        raise UsageError("config sets the order of its tasks: leave scheduler out")


def _name_and_tasks(
    table: TaskTable, folder: Path
) -> tuple[str, tuple[str, ...] | TaskSetup, str | None, int | None]:
    """Return the name, the tasks, their scheduler, and how many instances count."""
    if table.track is not None:
        return _track(table, table.track[0], folder)
    options = {
        name: value for name in _BYTE_OPTIONS if (value := getattr(table, name)) != getattr(_PLAIN, name)
    }
    if table.words is not None:
        options["words"] = str((folder / table.words).resolve())
    if table.config is not None:
        if options:
            raise UsageError(f"config sets {', '.join(options)} itself: leave it out here")
        path = folder / table.config
        config = load_config(path if path.suffix in {".json", ".toml"} else table.config)
        return table.name or path.stem, config, None, None
    ids = tuple(in_folder(task, folder) for task in table.task or ())
    name = table.name or (table.task or ("",))[0] + (f" +{len(ids) - 1}" if len(ids) > 1 else "")
    policy = table.scheduler if table.episodes is None else f"sequential:{table.episodes}"
    tasks, scheduler = tasks_of(ids, policy, options, table.steps, name=name)
    return name, tasks, scheduler, None


def _track(table: TaskTable, game: str, folder: Path) -> tuple[str, TaskSetup, None, int]:
    training: int | None = table.training
    if training is None and table.time_control is not None:
        training = table.time_control.total
    rules = TrackRules.named(table.rules, training_ns=training, games=table.games, rounds=table.rounds)
    path = str((folder / game).resolve()) if game.endswith(".txt") else game
    setup = TrackSetup(path, rules)
    setup.build().close()
    return table.name or f"track {game}", setup, None, len(rules.validation) * rules.rounds
