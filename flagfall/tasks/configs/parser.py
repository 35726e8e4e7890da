"""From tables to a `Config`: tables of ours, and tables as round 1 has them.

Rule 1: nothing is believed: every name and every value is looked at, and every mistake is noted.
Rule 2: only a reader without any mistakes gives a `Config`, and that one can be built.
"""

from __future__ import annotations

__all__ = ["Resolve", "read_ours", "read_round1"]

import inspect
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final, TypeAlias

from flagfall.configfile.problems import Mistakes, Path
from flagfall.errors import UsageError
from flagfall.kernel.safe_values import safe_repr
from flagfall.tasks.commai.vocabulary import Words
from flagfall.tasks.configs.config import Config, TaskEntry
from flagfall.tasks.configs.round1_names import ORIGINAL_SCHEDULERS, ORIGINAL_TASKS, ORIGINAL_WORLDS
from flagfall.tasks.configs.task_types import MAX_SETTING, TASK_KINDS, WORLDS
from flagfall.tasks.scheduler_text import POLICIES

Resolve: TypeAlias = Callable[[Any], Words]
"""Gives the words that a configuration means; raises `UsageError`."""

_PARTS: Final = (
    "scheduler",
    "tasks",
    "worlds",
    "words",
    "bit_mode",
    "scramble",
    "max_reward_per_task",
    "fixes",
)
_WILD: Final = frozenset("*?[")

MAX_LISTED: Final = 10_000
"""Entries of a schedule, and tables of tasks: each may be compared with every task that there is."""


def _is_pattern(name: str) -> bool:
    return not _WILD.isdisjoint(name)


# Ours.


def read_ours(data: Mapping[str, Any], mistakes: Mistakes, resolve: Resolve) -> Config:
    """A configuration in our form.

    Args:
        data: the tables, as TOML gives them.
        mistakes: takes what is wrong.
        resolve: makes the words.

    Raises:
        UsageError: something is wrong; the message has all of it.
    """
    mistakes.names(data, _PARTS, ())
    worlds = {
        name: kind
        for name, said in mistakes.table(data, "worlds", ()).items()
        if (kind := _world_type(said, name, mistakes, WORLDS)) is not None
    }
    said = mistakes.table(data, "tasks", ())
    if len(said) > MAX_LISTED:
        mistakes.add(("tasks",), f"{len(said)} tables; {MAX_LISTED} are the most")
        mistakes.raise_any()
    scheduler = mistakes.table(data, "scheduler", (), needed=True)
    policy = _policy(scheduler, mistakes)
    known = list(dict.fromkeys([*(name for name in said if not _is_pattern(name)), *TASK_KINDS]))
    schedule = _schedule(scheduler, known, mistakes) if scheduler else ()
    tables = {name: table for name, table in said.items() if _is_a_table(name, table, mistakes)}
    names = dict.fromkeys([*(name for name in tables if not _is_pattern(name)), *schedule])
    tasks = {
        name: entry
        for name in names
        if (name in known) and (entry := _our_task(name, tables, said, worlds, mistakes)) is not None
    }
    for pattern in tables:
        if _is_pattern(pattern) and not any(fnmatchcase(name, pattern) for name in names):
            mistakes.add(("tasks", pattern), "no task has such a name")
    arguments = {name: scheduler[name] for name in scheduler if name not in {"policy", "tasks"}}
    if policy is not None and arguments:
        _check_arguments(policy, arguments, ("scheduler",), mistakes)
    config = Config(
        policy=policy or "",
        arguments=arguments,
        schedule=schedule,
        tasks=tasks,
        worlds=worlds,
        words=_words(data, mistakes, resolve),
        bit_mode=mistakes.flag(data, "bit_mode"),
        scramble=mistakes.flag(data, "scramble"),
        max_reward_per_task=_cap(data, mistakes),
        fixes=mistakes.flag(data, "fixes"),
    )
    return _checked(config, ("scheduler",), mistakes)


def _is_a_table(name: str, table: Any, mistakes: Mistakes) -> bool:
    if isinstance(table, dict):
        return True
    mistakes.add(("tasks", name), f"{table!r} should be a table, such as {{ type = {name!r} }}")
    return False


def _policy(scheduler: Mapping[str, Any], mistakes: Mistakes) -> str | None:
    if not scheduler:
        return None
    policy = scheduler.get("policy")
    if not isinstance(policy, str):
        mistakes.add(("scheduler",), "policy is missing: write a text such as 'consecutive:5'")
        return None
    return policy


def _schedule(scheduler: Mapping[str, Any], known: list[str], mistakes: Mistakes) -> tuple[str, ...]:
    listed = scheduler.get("tasks")
    if not isinstance(listed, list) or not listed:
        mistakes.add(("scheduler",), "tasks is missing: write a list of at least one task")
        return ()
    if len(listed) > MAX_LISTED:
        mistakes.add(("scheduler", "tasks"), f"{len(listed)} entries; {MAX_LISTED} are the most")
        return ()
    names: list[str] = []
    for number, name in enumerate(listed):
        path = ("scheduler", "tasks", number)
        meant = [name]
        if isinstance(name, str) and _is_pattern(name):
            meant = [task_id for task_id in known if fnmatchcase(task_id, name)]
            if not meant:
                mistakes.add(path, f"no task has a name like {name!r}")
        elif name not in known:
            mistakes.unknown(path, "task", name, known)
        names += meant
    return tuple(names)


def _our_task(
    name: str,
    tables: Mapping[str, dict[str, Any]],
    said: Mapping[str, Any],
    worlds: Mapping[str, str],
    mistakes: Mistakes,
) -> TaskEntry | None:
    """What all tables together say of a task: those of patterns first, its own last."""
    own = tables.get(name, {})
    kind_id = own.get("type", name)
    if not isinstance(kind_id, str) or kind_id not in TASK_KINDS:
        if "type" in own:
            mistakes.unknown(("tasks", name, "type"), "type", kind_id, TASK_KINDS)
        elif name in said:
            mistakes.unknown(("tasks", name), "task", name, TASK_KINDS)
        return None
    world: str | None = None
    settings: dict[str, Any] = {}
    for source in (*(p for p in tables if _is_pattern(p) and fnmatchcase(name, p)), name):
        for key, value in tables.get(source, {}).items():
            path = ("tasks", source, key)
            if key == "world":
                world = _named_world(value, kind_id, worlds, path, mistakes)
            elif key == "type":
                if source != name:
                    mistakes.add(path, "a pattern cannot say of which type a task is")
            else:
                _set(settings, kind_id, key, value, path, mistakes)
    return TaskEntry(kind_id, world, settings)


def _set(
    settings: dict[str, Any], kind_id: str, key: str, value: Any, path: Path, mistakes: Mistakes
) -> None:
    known = TASK_KINDS[kind_id].settings
    if key not in known:
        mistakes.unknown(path, f"setting of {kind_id}", key, ["type", "world", *known])
    elif (complaint := known[key].complaint(value)) is not None:
        mistakes.add(path, complaint)
    else:
        settings[key] = value


def _words(data: Mapping[str, Any], mistakes: Mistakes, resolve: Resolve) -> Words | None:
    if "words" not in data:
        return None
    try:
        return resolve(data["words"])
    except UsageError as error:
        mistakes.add(("words",), str(error))
        return None


def _cap(data: Mapping[str, Any], mistakes: Mistakes) -> float | None:
    most: Any = data.get("max_reward_per_task")
    if most is not None and (type(most) not in {int, float} or not -MAX_SETTING <= most <= MAX_SETTING):
        limits = f"from {-MAX_SETTING} to {MAX_SETTING}"
        mistakes.add(("max_reward_per_task",), f"{safe_repr(most)} is not a number, {limits}")
        return None
    return most  # type: ignore[no-any-return]  # a number, or None


# As round 1 has them.


def read_round1(data: Mapping[str, Any], mistakes: Mistakes) -> Config:
    """A configuration in the form of round 1.

    Args:
        data: the tables, as JSON gives them.
        mistakes: takes what is wrong.

    Raises:
        UsageError: something is wrong; the message has all of it.
    """
    mistakes.names(data, ("worlds", "tasks", "scheduler"), ())
    worlds = {
        name: kind
        for name, said in mistakes.table(data, "worlds", (), needed=True).items()
        if (kind := _world_type(said, name, mistakes, ORIGINAL_WORLDS)) is not None
    }
    listed = mistakes.table(data, "tasks", (), needed=True)
    tasks = {
        name: entry
        for name, said in listed.items()
        if (entry := _original_task(said, name, worlds, mistakes)) is not None
    }
    scheduler = mistakes.table(data, "scheduler", (), needed=True)
    policy = _original_policy(scheduler, mistakes) if scheduler else None
    arguments = dict(mistakes.table(scheduler, "args", ("scheduler",), needed=bool(scheduler)))
    path = ("scheduler", "args")
    for name, value in arguments.items():
        if name.startswith("tasks"):
            for at, task in _leaves(value, (*path, name)):
                if task not in listed:
                    mistakes.unknown(at, "task", task, listed)
    schedule = arguments.pop("tasks", None)
    if scheduler and (not isinstance(schedule, list) or not schedule):
        mistakes.add(path, "tasks is missing: write a list of at least one task")
    if policy is not None:
        _check_arguments(policy, arguments, path, mistakes)
    flat = tuple(name for _, name in _leaves(schedule or [], ()))
    config = Config(policy=policy or "", arguments=arguments, schedule=flat, tasks=tasks, worlds=worlds)
    return _checked(config, path, mistakes)


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Everything in a list, and in lists in it, with its place."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _leaves(item, (*path, number))
    else:
        yield path, value if not isinstance(value, dict) else str(value)


def _original_policy(scheduler: Mapping[str, Any], mistakes: Mistakes) -> str | None:
    mistakes.names(scheduler, ("type", "args"), ("scheduler",))
    said = scheduler.get("type")
    names = {**ORIGINAL_SCHEDULERS, **{name: name for name in POLICIES}}
    if isinstance(said, str) and said in names:
        return names[said]
    if "type" in scheduler:
        mistakes.unknown(("scheduler", "type"), "scheduler", said, ORIGINAL_SCHEDULERS)
    else:
        mistakes.add(("scheduler",), "type is missing")
    return None


def _original_task(said: Any, name: str, worlds: Mapping[str, str], mistakes: Mistakes) -> TaskEntry | None:
    path = ("tasks", name)
    if not isinstance(said, dict):
        mistakes.add(path, f'{said!r} should be a table, such as {{"type": "..."}}')
        return None
    mistakes.names(said, ("type", "world"), path)
    kind = said.get("type")
    names = {**ORIGINAL_TASKS, **{task_id: task_id for task_id in TASK_KINDS}}
    if not isinstance(kind, str) or kind not in names:
        if "type" in said:
            mistakes.unknown((*path, "type"), "type", kind, ORIGINAL_TASKS)
        else:
            mistakes.add(path, "type is missing")
        return None
    world = said.get("world")
    if "world" in said:
        world = _named_world(world, names[kind], worlds, (*path, "world"), mistakes)
    return TaskEntry(names[kind], world)


# Both.


def _world_type(said: Any, name: str, mistakes: Mistakes, names: Mapping[str, Any]) -> str | None:
    """The type of a world: a text, or a table with nothing but its `type`."""
    path: Path = ("worlds", name)
    if isinstance(said, dict):
        mistakes.names(said, ("type",), path)
        if "type" not in said:
            mistakes.add(path, "type is missing")
            return None
        path, said = (*path, "type"), said["type"]
    kind = ORIGINAL_WORLDS.get(said, said) if isinstance(said, str) else None
    if kind in WORLDS:
        return kind
    mistakes.unknown(path, "world", said, names)
    return None


def _named_world(
    said: Any, kind_id: str, worlds: Mapping[str, str], path: Path, mistakes: Mistakes
) -> str | None:
    if not TASK_KINDS[kind_id].in_world:
        mistakes.add(path, f"{kind_id} is played in no world")
    elif not isinstance(said, str) or said not in worlds:
        mistakes.unknown(path, "world", said, worlds)
    else:
        return said
    return None


def _check_arguments(policy: str, arguments: Mapping[str, Any], path: Path, mistakes: Mistakes) -> None:
    if policy not in POLICIES:  # a text with arguments of its own, or no policy at all: `parse_policy` tells
        mistakes.add((*path, next(iter(arguments))), f"policy {policy!r} takes no further arguments")
        return
    known = [name for name in inspect.signature(POLICIES[policy]).parameters if name != "tasks"]
    for name in arguments:
        if name not in known:
            mistakes.unknown((*path, name), f"argument of {policy}", name, known)


def _checked(config: Config, path: Path, mistakes: Mistakes) -> Config:
    """The same, if it can be built."""
    if config.scramble:
        _check_scrambled(config, mistakes)
    if not mistakes:
        try:
            config.build().close()
        except UsageError as error:
            mistakes.add(path, str(error))
        except TypeError as error:  # an argument of a scheduler that is not even of the right type
            mistakes.add(path, f"the scheduler refuses its arguments: {error}")
    mistakes.raise_any()
    return config


def _check_scrambled(config: Config, mistakes: Mistakes) -> None:
    if not config.bit_mode:
        mistakes.add(("scramble",), "words are scrambled in bit mode only: set bit_mode too")
    others = [
        name
        for name in dict.fromkeys(config.schedule)
        if name in config.tasks and not TASK_KINDS[config.tasks[name].type].is_conversation
    ]
    if others:
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""  # noqa: PLR2004 - enough to see which
        mistakes.add(
            ("scramble",), f"only conversations can be scrambled, unlike {', '.join(others[:3])}{more}"
        )
