"""From the tables of a configuration file in flagfall's form to a `Config`.

Every name and every value is checked, and all problems are noted. Only tables without any problem give a
`Config`, which has then been built once, so that it can be built again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any, Final, TypeAlias

import attrs

from flagfall.configfile.converter import Bounds, KeyPath, Problems, structure
from flagfall.errors import UsageError
from flagfall.kernel.safe_values import safe_repr
from flagfall.tasks.commai.catalog import MICRO_TASKS, ORIGINAL_NAMES
from flagfall.tasks.commai.words import Vocabulary
from flagfall.tasks.configs.config import MAX_SETTING, TASK_TYPES, WORLDS, Config, ConfigTask
from flagfall.tasks.schedulers import POLICIES

_MICRO: Final = {
    f"Micro{task_id.removeprefix('micro').replace('.', 'Sub')}Task": task_id for task_id in MICRO_TASKS
}

_MINI: Final = {f"TaskSet{number}": f"mini{number}" for number in range(6)}

# Each family with its original modules: that of the challenge, and that of its last drafts.
_MODULES: Final = (
    (_MICRO, ("tasks.challenge.round1.challenge_micro", "tasks.good_ai.micro")),
    (_MINI, ("tasks.challenge.round1.challenge_mini", "tasks.good_ai.comm_ai_mini")),
)

ORIGINAL_TASKS: Final[Mapping[str, str]] = {
    **{
        f"{module}.{name}": task_id
        for family, modules in _MODULES
        for module in modules
        for name, task_id in family.items()
    },
    **ORIGINAL_NAMES,
}
"""Types of tasks, by class path."""

ORIGINAL_SCHEDULERS: Final[Mapping[str, str]] = {
    "core.scheduler.RandomTaskScheduler": "random",
    "core.scheduler.SequentialTaskScheduler": "sequential",
    "core.scheduler.IncrementalTaskScheduler": "incremental",
    "core.scheduler.ConsecutiveTaskScheduler": "consecutive",
    "core.scheduler.DependenciesTaskScheduler": "dependencies",
}
"""Policies, by class path."""

ORIGINAL_WORLDS: Final[Mapping[str, str]] = {"worlds.grid_world.GridWorld": "grid"}
"""Types of worlds, by class path."""


ResolveWords: TypeAlias = Callable[[Any], Vocabulary]
"""Makes the vocabulary from the value of `words`; raises `UsageError`."""

MAX_LISTED: Final = 10_000
"""Most entries of a schedule, with what its patterns stand for, and most tables of tasks."""

MAX_PATTERNS: Final = 100
"""Most patterns in a schedule, and among the tables of tasks: each is compared with every known task."""

_TABLES: Final = ("scheduler", "tasks", "worlds", "words")
_WILDCARDS: Final = frozenset("*?[")
_SHOWN: Final = 3
"""Tasks that a message about many of them names."""


@attrs.frozen(kw_only=True)
class TopTable:
    """The top of a file, without `_TABLES`."""

    bit_mode: bool = False
    scramble: bool = False
    max_reward_per_task: Annotated[int | float, Bounds(-MAX_SETTING, MAX_SETTING)] | None = None
    fixes: bool = False


@attrs.frozen(kw_only=True)
class _WorldTable:
    type: str


def _is_pattern(name: str) -> bool:
    return not _WILDCARDS.isdisjoint(name)


def parse_tables(data: Mapping[str, Any], problems: Problems, resolve: ResolveWords) -> Config:
    """Make a configuration from tables in flagfall's form.

    Raises:
        UsageError: there are problems; the message has all of them.
    """
    rest = {key: value for key, value in data.items() if key not in _TABLES}
    top = structure(rest, TopTable, (), problems, also=_TABLES) or TopTable()
    worlds = {
        name: kind
        for name, table in problems.table(data, "worlds", ()).items()
        if (kind := world_type(table, name, problems, WORLDS)) is not None
    }
    written = problems.table(data, "tasks", ())
    patterns = [name for name in written if _is_pattern(name)]
    if len(written) > MAX_LISTED:
        problems.add(("tasks",), f"{len(written)} tables; the limit is {MAX_LISTED}")
        problems.raise_if_any()
    if len(patterns) > MAX_PATTERNS:
        problems.add(("tasks",), f"{len(patterns)} patterns; the limit is {MAX_PATTERNS}")
        problems.raise_if_any()
    scheduler = problems.table(data, "scheduler", (), needed=True)
    policy = _policy(scheduler, problems)
    known = dict.fromkeys([*(name for name in written if not _is_pattern(name)), *TASK_TYPES])
    schedule = _schedule(scheduler, known, problems) if scheduler else ()
    tables = {name: table for name, table in written.items() if _is_table(name, table, problems)}
    names = dict.fromkeys([*(name for name in tables if not _is_pattern(name)), *schedule])
    tasks = {
        name: task
        for name in names
        if name in known and (task := _task(name, tables, patterns, worlds, problems)) is not None
    }
    for pattern in patterns:
        if pattern in tables and not any(fnmatchcase(name, pattern) for name in names):
            problems.add(("tasks", pattern), "no task matches this pattern")
    arguments = {name: scheduler[name] for name in scheduler if name not in {"policy", "tasks"}}
    if policy is not None and arguments:
        check_arguments(policy, arguments, ("scheduler",), problems)
    config = Config(
        policy=policy or "",
        arguments=arguments,
        schedule=schedule,
        tasks=tasks,
        worlds=worlds,
        words=_words(data, problems, resolve),
        bit_mode=top.bit_mode,
        scramble=top.scramble,
        max_reward_per_task=top.max_reward_per_task,
        fixes=top.fixes,
    )
    return checked(config, ("scheduler",), problems)


def _is_table(name: str, table: Any, problems: Problems) -> bool:
    if isinstance(table, dict):
        return True
    problems.add(("tasks", name), f"expected a table such as {{ type = {name!r} }}, got {safe_repr(table)}")
    return False


def _policy(scheduler: Mapping[str, Any], problems: Problems) -> str | None:
    if not scheduler:
        return None
    policy = scheduler.get("policy")
    if not isinstance(policy, str):
        problems.add(("scheduler", "policy"), "required: write a text such as 'consecutive:5'")
        return None
    return policy


def _schedule(scheduler: Mapping[str, Any], known: Collection[str], problems: Problems) -> tuple[str, ...]:
    listed = scheduler.get("tasks")
    path: KeyPath = ("scheduler", "tasks")
    if not isinstance(listed, list) or not listed:
        problems.add(path, "required: write a list of at least one task")
        return ()
    if len(listed) > MAX_LISTED:
        problems.add(path, f"{len(listed)} entries; the limit is {MAX_LISTED}")
        return ()
    patterns = sum(isinstance(name, str) and _is_pattern(name) for name in listed)
    if patterns > MAX_PATTERNS:
        problems.add(path, f"{patterns} patterns; the limit is {MAX_PATTERNS}")
        return ()
    names: list[str] = []
    for index, name in enumerate(listed):
        matching = [name]
        if isinstance(name, str) and _is_pattern(name):
            matching = [task_id for task_id in known if fnmatchcase(task_id, name)]
            if not matching:
                problems.add((*path, index), f"no task matches the pattern {name!r}")
        elif not isinstance(name, str) or name not in known:
            problems.unknown((*path, index), "task", name, known)
        names += matching
    if len(names) > MAX_LISTED:
        problems.add(path, f"{len(names)} entries; the limit is {MAX_LISTED}")
        return ()
    return tuple(names)


def _task(
    name: str,
    tables: Mapping[str, dict[str, Any]],
    patterns: Sequence[str],
    worlds: Mapping[str, str],
    problems: Problems,
) -> ConfigTask | None:
    """Merge all tables that apply to a task: those of patterns in their order, then its own."""
    own = tables.get(name, {})
    type_id = own.get("type", name)
    if not isinstance(type_id, str) or type_id not in TASK_TYPES:
        if "type" in own:
            problems.unknown(("tasks", name, "type"), "type", type_id, TASK_TYPES)
        elif name in tables:
            problems.unknown(("tasks", name), "task", name, TASK_TYPES)
        return None
    kind = TASK_TYPES[type_id]
    world: str | None = None
    settings: dict[str, Any] = {}
    for source in (*(p for p in patterns if p in tables and fnmatchcase(name, p)), name):
        table = dict(tables.get(source, {}))
        path: KeyPath = ("tasks", source)
        if "type" in table and source != name:
            problems.add((*path, "type"), "a pattern cannot set the type; write it in the table of each task")
        table.pop("type", None)
        if "world" in table:
            world = world_of_task(table.pop("world"), type_id, worlds, (*path, "world"), problems)
        made = structure(
            table, kind.settings, path, problems, also=("type", "world"), name_kind=f"setting of {type_id}"
        )
        settings |= {key: getattr(made, key) for key in table if made is not None}
    return ConfigTask(type_id, world, settings)


def _words(data: Mapping[str, Any], problems: Problems, resolve: ResolveWords) -> Vocabulary | None:
    if "words" not in data:
        return None
    try:
        return resolve(data["words"])
    except UsageError as error:
        problems.add(("words",), str(error))
        return None


def world_type(value: Any, name: str, problems: Problems, known: Mapping[str, Any]) -> str | None:
    """Return the type of a world.

    Args:
        value: a text, or a table with nothing but its `type`.
        known: names of types, for hints.

    Returns:
        a key of `WORLDS`; `None` if there were problems.
    """
    path: KeyPath = ("worlds", name)
    if isinstance(value, dict):
        table = structure(value, _WorldTable, path, problems)
        if table is None:
            return None
        path, value = (*path, "type"), table.type
    kind = ORIGINAL_WORLDS.get(value, value) if isinstance(value, str) else None
    if kind in WORLDS:
        return kind
    problems.unknown(path, "world", value, known)
    return None


def world_of_task(
    value: Any, type_id: str, worlds: Mapping[str, str], path: KeyPath, problems: Problems
) -> str | None:
    """Return the name of the world of a task.

    Args:
        value: the value of `world` in the file.

    Returns:
        a key of `worlds`; `None` if there were problems.
    """
    if not TASK_TYPES[type_id].in_world:
        problems.add(path, f"{type_id} is not played in a world: leave it out")
    elif not isinstance(value, str) or value not in worlds:
        problems.unknown(path, "world", value, worlds)
    else:
        return value
    return None


def check_arguments(policy: str, arguments: Mapping[str, Any], path: KeyPath, problems: Problems) -> None:
    """Note the arguments that a policy does not take.

    Args:
        policy: a key of `POLICIES`, or the whole text of a policy, which takes no further arguments.
        path: the place of the table that holds them.
    """
    if policy not in POLICIES:  # also for an unknown policy: `parse_policy` reports that one
        problems.add((*path, next(iter(arguments))), f"policy {policy!r} takes no further arguments")
        return
    known = [name for name in inspect.signature(POLICIES[policy]).parameters if name != "tasks"]
    for name in arguments:
        if name not in known:
            problems.unknown((*path, name), f"argument of {policy}", name, known)


def checked(config: Config, path: KeyPath, problems: Problems) -> Config:
    """Return a configuration after it has been built once.

    Args:
        path: the place of the arguments of its policy.

    Raises:
        UsageError: there are problems, or it cannot be built.
    """
    if config.scramble:
        _check_scrambled(config, problems)
    if not problems:
        try:
            config.build().close()
        except UsageError as error:
            problems.add(path, str(error))
        except TypeError as error:  # an argument whose type the scheduler does not even expect
            problems.add(path, f"the scheduler refuses its arguments: {error}")
    problems.raise_if_any()
    return config


def _check_scrambled(config: Config, problems: Problems) -> None:
    if not config.bit_mode:
        problems.add(("scramble",), "words are scrambled in bit mode only: set bit_mode too")
    others = [
        name
        for name in dict.fromkeys(config.schedule)
        if name in config.tasks and not TASK_TYPES[config.tasks[name].type].is_conversation
    ]
    if others:
        more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        problems.add(
            ("scramble",), f"only conversations can be scrambled, unlike {', '.join(others[:_SHOWN])}{more}"
        )
