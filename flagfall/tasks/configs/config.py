"""What a configuration says, as a value, and the tasks and the scheduler that it means."""

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
    """One task.

    Attributes:
        type: an id of the catalog.
        world: the name of its world; `None` for none.
        settings: constants that differ from the usual ones.
    """

    type: str
    world: str | None = None
    settings: Mapping[str, Any] = _NOTHING


@attrs.frozen(kw_only=True)
class Config:
    """A configuration. Whoever makes one by hand, rather than by `parse_config`, checks nothing.

    Attributes:
        policy: a text for `parse_policy`, or the bare name of a policy with `arguments`.
        arguments: of the policy, by name.
        schedule: names of tasks, in the order in which the policy has them.
        tasks: what there is, by name. A task is called by that name in journals and results.
        worlds: types of worlds, by name. Tasks that name the same one share it.
        words: what sentence tasks speak of; `None` for the usual words.
        bit_mode: one step is one bit.
        scramble: words become pseudo-words, in bit mode.
        max_reward_per_task: see `RewardCap`; `None` for no limit.
        fixes: micro-tasks and mini-tasks are played without the quirks of the original that
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
        """New tasks, in new worlds, and their scheduler.

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
        """The fields of `flagfall.events.MatchStarted` from which it can be built again."""
        text = json.dumps(self.as_data(), separators=(",", ":"), ensure_ascii=False)
        return {"scheduler": self._policy_text(), "tasks": list(self.schedule), "config": text}

    def _policy_text(self) -> str:
        if not self.arguments:
            return self.policy
        told = ";".join(f"{name}={_told(value)}" for name, value in self.arguments.items())
        return f"{self.policy}:{told}"

    def as_data(self) -> dict[str, Any]:
        """The same in tables, as they stand in a file; what is as usual is left out."""
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


def _told(value: Any) -> str:
    """An argument of a policy, for people."""
    return ",".join(">".join(pair) for pair in value) if isinstance(value, list) else str(value)


def _table(name: str, entry: ConfigTask) -> dict[str, Any]:
    table = {} if entry.type == name else {"type": entry.type}
    if entry.world is not None:
        table["world"] = entry.world
    return table | dict(entry.settings)


class _SeededScrambler(Scrambler):
    """A vocabulary that begins anew with a seed."""

    def __init__(self) -> None:
        self._seeded = Random(0)
        super().__init__(self._seeded)

    def begin(self, seed: int) -> None:
        """Forget all words, and draw from this seed."""
        self._seeded.seed(seed)
        self._words.clear()


class ConfiguredTasks(WorldSwitch):
    """The scheduler of a configuration: it also starts worlds, and counts what a cap allows.

    Args:
        tasks: the scheduler that chooses the tasks.
        scrambler: the vocabulary of all tasks, if there is one.
        cap: the cap over all tasks, if there is one.
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
        """Draw tasks and pseudo-words from this seed on."""
        super().set_seed(seed)
        self._seed = seed
        self._begin()

    def reset(self) -> None:
        """Back to the original state, except for what tasks remember themselves."""
        super().reset()
        self._begin()

    def _begin(self) -> None:
        if self._scrambler is not None:
            self._scrambler.begin(derive_seed(self._seed, "scrambler"))
        if self._cap is not None:
            self._cap.paid.clear()
