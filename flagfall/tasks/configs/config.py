"""Configurations as values, and the tasks and scheduler built from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from random import Random
from typing import Annotated, Any, Final, TypeAlias

import attrs

from flagfall.configfile.converter import Bounds
from flagfall.kernel.outcomes import derive_seed
from flagfall.tasks.commai.byte_task import ByteTask
from flagfall.tasks.commai.catalog import CATALOG, COMMAI_CATALOG, MICRO_TASKS, commai_tasks, make_catalog
from flagfall.tasks.commai.micro.engine import MicroTask
from flagfall.tasks.commai.words import Scrambler, Vocabulary
from flagfall.tasks.commai.world import GridWorld, WorldSwitch
from flagfall.tasks.commai.wrapped_task import BitTask, RewardCap
from flagfall.tasks.schedulers import POLICIES, TaskScheduler, parse_policy
from flagfall.tasks.task import Task

WORLDS: Final[Mapping[str, Callable[[], GridWorld]]] = {"grid": GridWorld}
"""Types of worlds."""

MAX_SETTING: Final = 10**9
"""The greatest value of a setting that has no limit of its own: more steps than a match can have."""


def _whole(least: int, most: int | None = None) -> Any:
    return Annotated[int, Bounds(least, MAX_SETTING if most is None else most)]


_TOLERANCE: Final = Annotated[int | float, Bounds(0, MAX_SETTING)]


MakeTask: TypeAlias = Callable[[Mapping[str, Any], GridWorld | None, Vocabulary | None, bool], ByteTask]


@attrs.frozen
class TaskType:
    """A type of tasks.

    Attributes:
        settings: attrs class whose fields are the settings that may be changed.
        is_conversation: whether it exchanges whole texts, which can be scrambled.
        make: makes a task from the changed settings, the world, the vocabulary (`None`: the default one) and
            `Config.fixes`.
    """

    settings: type[Any]
    in_world: bool
    is_conversation: bool
    make: MakeTask


_RULES: Final = {
    "required": _whole(1),
    "success_tolerance": _TOLERANCE,
    "failed_task_tolerance": _TOLERANCE,
    "max_time": _whole(1),
}


@cache
def _settings_class(fields: tuple[tuple[str, Any], ...]) -> type[Any]:
    """Return the class of a table with these settings, all optional; `None` is not a value of any."""
    return attrs.make_class(
        "Settings",
        {name: attrs.field(default=None, type=kind) for name, kind in fields},
        frozen=True,
        kw_only=True,
    )


def _settings(fields: Mapping[str, Any]) -> type[Any]:
    return _settings_class(tuple(fields.items()))


def _micro(
    task_id: str, settings: Mapping[str, Any], _world: GridWorld | None, words: Vocabulary | None, fixes: bool
) -> MicroTask:
    return MICRO_TASKS[task_id].make(task_id, words, fixes=fixes, **settings)


def _mini(
    task_id: str, settings: Mapping[str, Any], world: GridWorld | None, _words: Vocabulary | None, fixes: bool
) -> ByteTask:
    task: Any = make_catalog(world=world, fixes=fixes)[task_id]()
    task.max_time = settings.get("max_time", task.max_time)
    return task  # type: ignore[no-any-return]  # the catalog says so


def _commai(
    task_id: str,
    settings: Mapping[str, Any],
    world: GridWorld | None,
    _words: Vocabulary | None,
    _fixes: bool,
) -> ByteTask:
    (task,) = commai_tasks([task_id], world)
    task.max_time = settings.get("max_time", task.max_time)
    task.world = task.world if world is None else world
    return task


def _task_types() -> dict[str, TaskType]:
    only_time = _settings({"max_time": _whole(1)})
    types = {}
    for task_id in CATALOG:
        if task_id in MICRO_TASKS:
            own = MICRO_TASKS[task_id].settings
            settings = _settings({**_RULES, **{name: _whole(*limits) for name, limits in own.items()}})
            types[task_id] = TaskType(settings, False, False, partial(_micro, task_id))
        else:
            types[task_id] = TaskType(only_time, True, False, partial(_mini, task_id))
    for task_id in COMMAI_CATALOG:
        types[task_id] = TaskType(only_time, True, True, partial(_commai, task_id))
    return types


TASK_TYPES: Final[Mapping[str, TaskType]] = _task_types()
"""Types of tasks, by the ids of the catalogs."""


_NOTHING: Final[Mapping[str, Any]] = {}


@attrs.frozen
class ConfigTask:
    """One task of a configuration.

    Attributes:
        settings: settings that differ from the defaults.
    """

    type: str
    world: str | None = None
    settings: Mapping[str, Any] = _NOTHING


@attrs.frozen(kw_only=True)
class Config:
    """A configuration. The constructor checks nothing; `parse_config` does.

    Attributes:
        policy: a text for `parse_policy`, or the bare name of a policy with `arguments`.
        arguments: arguments of the policy, by name.
        schedule: names of tasks, in the order of the policy.
        tasks: the tasks, by their name in journals and results.
        worlds: types of worlds, by name. Tasks with the same world share it.
        words: vocabulary of the sentence tasks; `None` for the default one.
        bit_mode: whether one step is one bit.
        scramble: whether words become pseudo-words, in bit mode only.
        max_reward_per_task: see `RewardCap`; `None` for no limit.
        fixes: whether micro-tasks and mini-tasks are played without the quirks of the original that
            `docs/round1.md` lists for this option.
    """

    policy: str
    schedule: tuple[str, ...]
    tasks: Mapping[str, ConfigTask]
    arguments: Mapping[str, Any] = _NOTHING
    worlds: Mapping[str, str] = _NOTHING
    words: Vocabulary | None = None
    bit_mode: bool = False
    scramble: bool = False
    max_reward_per_task: float | None = None
    fixes: bool = False

    def build(self) -> ConfiguredTasks:
        """Build new tasks, in new worlds, and their scheduler.

        Raises:
            UsageError: the policy refuses its arguments, or a task cannot be scrambled.
        """
        scrambler = _SeededScrambler() if self.scramble else None
        cap = None if self.max_reward_per_task is None else RewardCap(self.max_reward_per_task)
        worlds = {name: WORLDS[kind]() for name, kind in self.worlds.items()}
        made = {name: self._task(name, worlds, scrambler, cap) for name in dict.fromkeys(self.schedule)}
        tasks = [made[name] for name in self.schedule]
        if self.arguments:
            scheduler = POLICIES[self.policy](tasks, **self.arguments)
        else:
            scheduler = parse_policy(self.policy, tasks)
        return ConfiguredTasks(scheduler, scrambler, cap)

    def _task(
        self,
        name: str,
        worlds: Mapping[str, GridWorld],
        scrambler: Scrambler | None,
        cap: RewardCap | None,
    ) -> Task:
        entry = self.tasks[name]
        world = None if entry.world is None else worlds[entry.world]
        plain = TASK_TYPES[entry.type].make(entry.settings, world, self.words, self.fixes)
        plain.id = name
        task = BitTask(plain, scrambler) if self.bit_mode else plain
        return task if cap is None else cap(task)

    def header(self) -> dict[str, Any]:
        """Return the fields of `flagfall.events.MatchStarted` from which the configuration can be parsed."""
        text = json.dumps(self.as_data(), separators=(",", ":"), ensure_ascii=False)
        return {"scheduler": self._policy_text(), "tasks": list(self.schedule), "config": text}

    def _policy_text(self) -> str:
        if not self.arguments:
            return self.policy
        arguments = ";".join(f"{name}={_shown(value)}" for name, value in self.arguments.items())
        return f"{self.policy}:{arguments}"

    def as_data(self) -> dict[str, Any]:
        """Return the configuration as the tables of a file, without default values."""
        data: dict[str, Any] = {}
        if self.words is not None:
            data["words"] = list(self.words.all)
        for name in ("bit_mode", "scramble", "max_reward_per_task", "fixes"):
            value = getattr(self, name)
            if value is not None and value is not False:
                data[name] = value
        data["scheduler"] = {"policy": self.policy, "tasks": list(self.schedule), **self.arguments}
        if self.worlds:
            data["worlds"] = dict(self.worlds)
        tasks = {name: table for name, entry in self.tasks.items() if (table := _table(name, entry))}
        if tasks:
            data["tasks"] = tasks
        return data


def _shown(value: Any) -> str:
    """Return an argument of a policy as text, for people."""
    return ",".join(">".join(pair) for pair in value) if isinstance(value, list) else str(value)


def _table(name: str, entry: ConfigTask) -> dict[str, Any]:
    table = {} if entry.type == name else {"type": entry.type}
    if entry.world is not None:
        table["world"] = entry.world
    return table | dict(entry.settings)


class _SeededScrambler(Scrambler):
    """A scrambler whose vocabulary can be restarted from a seed."""

    def __init__(self) -> None:
        self._seeded = Random(0)
        super().__init__(self._seeded)

    def begin(self, seed: int) -> None:
        """Forget all words and restart from a seed."""
        self._seeded.seed(seed)
        self._words.clear()


class ConfiguredTasks(WorldSwitch):
    """The scheduler of a configuration: it also resets worlds, pseudo-words and reward caps.

    Attributes:
        policy: the scheduler that chooses the tasks.
    """

    def __init__(
        self, tasks: TaskScheduler, scrambler: _SeededScrambler | None, cap: RewardCap | None
    ) -> None:
        super().__init__(tasks)
        self.policy = tasks
        self._scrambler = scrambler
        self._cap = cap
        self._seed = 0

    def set_seed(self, seed: int) -> None:
        """Set the seed of the choice of tasks and of pseudo-words."""
        super().set_seed(seed)
        self._seed = seed
        self._begin()

    def reset(self) -> None:
        """Return to the original state, except for the state of the tasks themselves."""
        super().reset()
        self._begin()

    def _begin(self) -> None:
        if self._scrambler is not None:
            self._scrambler.begin(derive_seed(self._seed, "scrambler"))
        if self._cap is not None:
            self._cap.paid.clear()
