"""The agents and the tasks of a plan: tables to values, with everything checked that needs no import."""

from __future__ import annotations

__all__ = ["names_said", "read_agents", "read_tasks"]

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from flagfall.agents.command_line import split_command
from flagfall.agents.process.isolation import DEFAULT_ISOLATION, Isolation
from flagfall.agents.registry import load_agent
from flagfall.agents.spec import REMOTE, STARTED_PROGRAMS, TRACK_CLIENTS, AgentSpec, agent_name
from flagfall.configfile.converter import structure
from flagfall.configfile.problems import Problems
from flagfall.errors import UsageError, suggest
from flagfall.playing import DEFAULT_TIME_CONTROL
from flagfall.tasks.building import TaskSetup, default_scheduler_text, is_endless, seats_of
from flagfall.tasks.commai.original.catalog import COMMAI_CATALOG
from flagfall.tasks.configs import config_of, load_config
from flagfall.tasks.vgdl.learning_track import TrackRules
from flagfall.tasks.vgdl.learning_track_tasks import TrackSetup
from flagfall.tasks.vgdl.task_id import PREFIX as VGDL
from flagfall.tasks.vgdl.task_id import TaskId
from flagfall.timing import TimeControl
from flagfall.tournament.plan.model import AgentEntry, TaskEntry
from flagfall.tournament.plan.schema import SaidAgent, SaidPlan, SaidTask

MAX_NAME: Final = 80
"""Characters of a name: it stands in every table."""

_SOURCES: Final = ("task", "each", "config", "track")
_BYTE_OPTIONS: Final = ("words", "bit_mode", "scramble", "max_reward_per_task", "fixes")
_TRACK_OPTIONS: Final = ("rules", "training", "games", "rounds")
_PLAIN: Final = SaidTask()


def read_agents(said: Any, usual: SaidPlan, folder: Path, mistakes: Problems) -> tuple[AgentEntry, ...]:
    """All agents without mistakes.

    Args:
        said: the tables.
        usual: what the plan says for all.
        folder: where relative paths begin.
        mistakes: get the others.
    """
    made: dict[str, AgentEntry] = {}
    for number, table in enumerate(_tables(said, "agents", mistakes)):
        agent = structure(table, SaidAgent, ("agents", number), mistakes)
        if agent is None:
            continue
        name = agent.name or agent_name(agent.spec)
        if name in made:
            mistakes.add(("agents", number), f"there are two agents {name!r}: give one of them another name")
            continue
        try:
            _check_name(name)
            made[name] = _agent(agent, name, usual, folder)
        except UsageError as error:
            mistakes.add(("agents", number), str(error))
    return tuple(made.values())


def names_said(said: Any) -> list[str]:
    """The names of all agents, also of those with mistakes: who names them elsewhere makes none by it."""
    tables = [table for table in said if isinstance(table, dict)] if isinstance(said, list) else []
    names = (table.get("name") or agent_name(str(table.get("spec", ""))) for table in tables)
    return list(dict.fromkeys(name for name in names if isinstance(name, str) and name))


def _tables(said: Any, what: str, mistakes: Problems) -> list[Any]:
    if isinstance(said, list) and said:
        return said
    mistakes.add((what,), f"name at least one, under a line [[{what}]]")
    return []


def _check_name(name: str) -> None:
    if len(name) > MAX_NAME or not name.isprintable() or name != name.strip():
        raise UsageError(f"{name!r} is no name: write at most {MAX_NAME} characters that can be printed")


def _agent(said: SaidAgent, name: str, usual: SaidPlan, folder: Path) -> AgentEntry:
    host = said.host or usual.host
    kind = said.isolation or usual.isolation
    limits = said.limits or usual.limits
    passed = said.pass_env or usual.pass_env
    show = said.show or (usual.show if kind == "sandbox" else None)
    virtual = usual.clock == "virtual"
    if virtual and host not in {None, "task"}:
        raise UsageError(f'{host!r} lives in real time: under clock = "virtual" leave host out')
    kept = Isolation.from_options(kind, limits, passed, show, folder)
    if kept != DEFAULT_ISOLATION and (virtual or host in {"task", "thread"}):
        raise UsageError("isolation, limits and pass_env are for agents in processes: leave them or host out")
    spec = AgentSpec.parse(said.spec)
    if virtual and spec.scheme in STARTED_PROGRAMS:
        raise UsageError(f'{said.spec!r} lives in real time: leave clock = "virtual" out')
    if spec.scheme in TRACK_CLIENTS and host not in {None, "process"}:
        raise UsageError(f"{said.spec!r} is a process of its own: leave host = {host!r} out")
    return AgentEntry(name=name, spec=_checked(spec, folder), host=host, isolation=kept)


def _checked(spec: AgentSpec, folder: Path) -> str:
    """Return the text of an agent, with an absolute path; its code is not imported."""
    if spec.scheme in STARTED_PROGRAMS:
        split_command(spec.target)
    elif spec.scheme == "sample":
        load_agent(spec)
    elif spec.scheme == "human":
        raise UsageError(f"{spec.text!r}: a human plays one match at a time, with `flagfall run`")
    elif spec.scheme in REMOTE:
        raise UsageError(
            f"{spec.text!r} is one agent at one address, and matches are played side by side: let flagfall"
            " start it, as cmd:PROGRAM"
        )
    elif spec.is_file:
        path = folder / spec.target
        if not path.is_file():
            beside = [file.name for file in path.parent.glob("*.py")] if path.parent.is_dir() else []
            raise UsageError(f"no such agent file: {path}{suggest(path.name, beside)}")
        return f"{path.resolve()}:{spec.member}"
    return spec.text


def read_tasks(
    said: Any,
    usual: SaidPlan,
    agents: Sequence[str],
    folder: Path,
    mistakes: Problems,
    seats: Mapping[str, int] | None = None,
) -> tuple[TaskEntry, ...]:
    """Return all tasks without mistakes.

    Args:
        said: the tables.
        usual: what the plan says for all.
        agents: the names of all agents.
        folder: where relative paths begin.
        mistakes: get the others.
        seats: see `flagfall.tournament.plan.parser.parse_plan`.
    """
    made: dict[str, TaskEntry] = {}
    for number, table in enumerate(_tables(said, "tasks", mistakes)):
        task = structure(table, SaidTask, ("tasks", number), mistakes)
        if task is None:
            continue
        who = task.agents or tuple(agents)
        for agent in who:
            if agent not in agents and agents:
                mistakes.unknown(("tasks", number, "agents"), "agent", agent, agents)
        if len(set(who)) < len(who):
            mistakes.add(("tasks", number, "agents"), "somebody is named twice")
        for one in _split(task):
            try:
                entry = _task(one, usual, tuple(who), folder, seats)
            except UsageError as error:
                mistakes.add(("tasks", number), str(error))
                continue
            if entry.name in made:
                mistakes.add(
                    ("tasks", number), f"there are two tasks {entry.name!r}: give one of them another name"
                )
            made[entry.name] = entry
    return tuple(made.values())


def _split(said: SaidTask) -> Iterator[SaidTask]:
    """A task for each of `each`, and for each game of a track; any other is one."""
    if said.each is not None and said.task is None:
        for task in said.each:
            name = task if said.name is None else f"{said.name} {task}"
            yield attrs.evolve(said, each=None, task=(task,), name=name)
    elif said.track is not None and len(said.track) > 1:
        for game in said.track:
            name = f"track {game}" if said.name is None else f"{said.name} {game}"
            yield attrs.evolve(said, track=(game,), name=name)
    else:
        yield said


def _task(
    said: SaidTask,
    usual: SaidPlan,
    agents: tuple[str, ...],
    folder: Path,
    stored_seats: Mapping[str, int] | None,
) -> TaskEntry:
    sources = [name for name in _SOURCES if getattr(said, name) is not None]
    if len(sources) != 1:
        told = " and ".join(sources) or "nothing"
        raise UsageError(f"it says {told}; write one of {', '.join(_SOURCES)}")
    _refuse(said, "track" if said.track is not None else "task", sources[0])
    if said.episodes is not None and (said.scheduler is not None or said.config is not None):
        raise UsageError("episodes means a scheduler: leave episodes or scheduler (or config) out")
    control = said.time_control or usual.time_control
    name, tasks, scheduler, last = _name_and_tasks(said, folder, check=stored_seats is None)
    _check_name(name)
    ids = tasks if isinstance(tasks, tuple) else None
    if stored_seats is not None:
        if name not in stored_seats:
            raise UsageError(f"{name}: the run that was stored has no such task")
        seats = stored_seats[name]
    else:
        if said.track is None and is_endless(tasks, scheduler, said.steps):
            raise UsageError(f"{name}: its scheduler goes on until it is stopped: say how many steps")
        seats = seats_of(ids) if ids is not None else 1
    entry = TaskEntry(
        name=name,
        tasks=tasks,
        scheduler=scheduler,
        seats=seats,
        agents=agents,
        control=control or TimeControl.parse(said.rules if said.track else DEFAULT_TIME_CONTROL),
        steps=said.steps,
        tick_ns=said.tick,
        score=said.score,
        last=last,
    )
    if said.track is not None:  # its total is the time for training, which its rules have
        entry = attrs.evolve(entry, control=attrs.evolve(entry.control, total=None, grace=None))
    if len(agents) < entry.seats:
        raise UsageError(f"{name} seats {entry.seats} agents, and {len(agents)} play it: name more")
    return entry


def _refuse(said: SaidTask, kind: str, source: str) -> None:
    """Options of another kind of task."""
    others = {
        "track": (*_BYTE_OPTIONS, "scheduler", "episodes", "steps"),
        "task": _TRACK_OPTIONS,
    }[kind]
    for name in others:
        if getattr(said, name) != getattr(_PLAIN, name):
            raise UsageError(f"{name} means nothing together with {source}: leave it out")
    if said.config is not None and said.scheduler is not None:
        raise UsageError("config says which tasks come in which order: leave scheduler out")


def _name_and_tasks(
    said: SaidTask, folder: Path, *, check: bool
) -> tuple[str, tuple[str, ...] | TaskSetup, str | None, int | None]:
    """The name, what is played, its scheduler, and how many instances count."""
    if said.track is not None:
        return _track(said, said.track[0], folder, check=check)
    options = {
        name: value for name in _BYTE_OPTIONS if (value := getattr(said, name)) != getattr(_PLAIN, name)
    }
    if said.words is not None:
        options["words"] = str((folder / said.words).resolve())
    if said.config is not None:
        if options:
            raise UsageError(f"config says {', '.join(options)} itself: leave it out here")
        path = folder / said.config
        config = load_config(path if path.suffix in {".json", ".toml"} else said.config)
        return said.name or path.stem, config, None, None
    ids = tuple(_placed(task, folder) for task in said.task or ())
    name = said.name or (said.task or ("",))[0] + (f" +{len(ids) - 1}" if len(ids) > 1 else "")
    policy = said.scheduler if said.episodes is None else f"sequential:{said.episodes}"
    if options or any(task in COMMAI_CATALOG for task in ids):
        return (
            name,
            config_of(ids, policy or default_scheduler_text(said.steps), options, name=name),
            None,
            None,
        )
    return name, ids, policy, None


def _placed(task: str, folder: Path) -> str:
    """The id of a task, where it names a file with an absolute path."""
    if not task.startswith(VGDL):
        return task
    level = TaskId.parse(task)
    if not level.game.endswith(".txt"):
        return task
    return str(attrs.evolve(level, game=str((folder / level.game).resolve())))


def _track(said: SaidTask, game: str, folder: Path, *, check: bool) -> tuple[str, TaskSetup, None, int]:
    training: int | None = said.training
    if training is None and said.time_control is not None:
        training = said.time_control.total
    rules = TrackRules.named(said.rules, training_ns=training, games=said.games, rounds=said.rounds)
    path = str((folder / game).resolve()) if game.endswith(".txt") else game
    setup = TrackSetup(path, rules)
    if check:
        setup.build().close()
    return said.name or f"track {game}", setup, None, len(rules.validation) * rules.rounds
