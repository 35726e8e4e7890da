"""Configurations as values, and the tasks and scheduler built from them."""

from __future__ import annotations

__all__ = ["Config", "ConfigTask", "ConfiguredTasks"]

import json
from collections.abc import Mapping
from random import Random
from typing import Any, Final

import attrs

from flagfall.kernel.seeding import derive_seed
from flagfall.tasks.commai.bit_task import BitTask
from flagfall.tasks.commai.grid_world import GridWorld
from flagfall.tasks.commai.reward_cap import RewardCap
from flagfall.tasks.commai.scrambling import Scrambler
from flagfall.tasks.commai.vocabulary import Vocabulary
from flagfall.tasks.commai.world import WorldSwitch
from flagfall.tasks.configs.task_types import TASK_TYPES, WORLDS
from flagfall.tasks.scheduler_text import POLICIES, TaskScheduler, parse_policy
from flagfall.tasks.task import Task

_NOTHING: Final[Mapping[str, Any]] = {}


@attrs.frozen
class ConfigTask:
    """One task of a configuration.

    Attributes:
        type: an id of the catalog.
        world: the name of its world; `None` for none.
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
        if self.bit_mode:
            data["bit_mode"] = True
        if self.scramble:
            data["scramble"] = True
        if self.max_reward_per_task is not None:
            data["max_reward_per_task"] = self.max_reward_per_task
        if self.fixes:
            data["fixes"] = True
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
        """Forget all words and restart from a seed.

        Args:
            seed: the new seed.
        """
        self._seeded.seed(seed)
        self._words.clear()


class ConfiguredTasks(WorldSwitch):
    """The scheduler of a configuration: it also resets worlds, pseudo-words and reward caps.

    Args:
        tasks: the scheduler that chooses the tasks.
        scrambler: the pseudo-words of all tasks; `None` for none.
        cap: the cap of all tasks; `None` for none.

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
        """Set the seed of the choice of tasks and of pseudo-words.

        Args:
            seed: the new seed.
        """
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
