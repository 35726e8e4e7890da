"""The five task schedulers of round 1 of the General AI Challenge.

Only the result `True` counts as a success; `False` and `None` both count as failures.
"""

from __future__ import annotations

__all__ = [
    "SUCCESS_THRESHOLD",
    "UNLOCK_THRESHOLD",
    "ConsecutiveTaskScheduler",
    "DependenciesTaskScheduler",
    "IncrementalTaskScheduler",
    "RandomTaskScheduler",
    "SequentialTaskScheduler",
    "TaskScheduler",
]

import math
from abc import abstractmethod
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from random import Random
from typing import TYPE_CHECKING, Final

from flagfall.errors import UsageError, suggest
from flagfall.tasks.task import Task, TaskSampler

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from flagfall.kernel.outcomes import Outcome

SUCCESS_THRESHOLD: Final = 2
"""Successes after which a task counts as learned."""

UNLOCK_THRESHOLD: Final = 10
"""Successes after which a task unlocks the tasks that depend on it."""


class TaskScheduler(TaskSampler):
    """A list of tasks, and a rule for which one comes next.

    A task may be listed several times. Everything random is determined by `set_seed`.

    Args:
        tasks: the tasks, in order; at least one.

    Raises:
        UsageError: there is no task.
    """

    def __init__(self, tasks: Iterable[Task]) -> None:
        self.tasks: Sequence[Task] = tuple(tasks)
        if not self.tasks:
            raise UsageError(f"{type(self).__name__} needs at least one task")
        self._seed = 0
        self._generator: Random | None = None
        self._last: Task | None = None
        self._closed = False
        self.reset()

    @abstractmethod
    def _choose(self) -> Task | None:
        """Return the next task; `None` if there are no more."""

    @property
    def length(self) -> float:
        """The number of tasks left: `math.inf`, there is always a next one."""
        return math.inf

    @property
    def last_sampled_task(self) -> Task | None:
        """The task returned last; `None` before the first."""
        return self._last

    @property
    def all_observation_spaces_equal(self) -> bool:
        """True if all tasks have the same observation space."""
        first = self.tasks[0].observation_space
        return all(task.observation_space == first for task in self.tasks)

    def next_task(self, force_advance_scene: bool = False) -> Task | None:  # noqa: ARG002 - there are no scenes
        """Return the next task under the rule; `None` if there are no more.

        Args:
            force_advance_scene: not used.
        """
        task = self._choose()
        if task is not None:
            self._last = task
        return task

    def set_seed(self, seed: int) -> None:
        """Restart the generator of random choices.

        Args:
            seed: the new seed.
        """
        self._seed = seed
        self._generator = None

    def reset(self) -> None:
        """Forget all outcomes and restart the generator from the current seed."""
        self._last = None
        self._generator = None

    @property
    def _random(self) -> Random:
        """The generator of random choices; made at the first of them, since it takes 2.5 KB and 8 us."""
        if self._generator is None:
            self._generator = Random(self._seed)
        return self._generator

    def close(self) -> None:
        """Close every task exactly once, even if it is listed twice or `close` is called twice."""
        if self._closed:
            return
        self._closed = True
        for task in _distinct(self.tasks):
            task.close()


class RandomTaskScheduler(TaskScheduler):
    """Draws uniformly from the list, regardless of outcomes."""

    def _choose(self) -> Task:
        return self._random.choice(self.tasks)


class SequentialTaskScheduler(TaskScheduler):
    """Goes through the list in order and starts again, regardless of outcomes.

    Args:
        tasks: the tasks, in order; at least one.
        rounds: number of passes through the list, at least 1; `None` for no end.
    """

    def __init__(self, tasks: Iterable[Task], rounds: int | None = None) -> None:
        self.rounds: int | None = None if rounds is None else _at_least_one("rounds", rounds)
        super().__init__(tasks)

    @property
    def length(self) -> float:
        """The number of tasks left in all rounds; `math.inf` without an end."""
        return math.inf if self.rounds is None else self.rounds * len(self.tasks) - self._given

    def reset(self) -> None:
        """Start again from the first task."""
        super().reset()
        self._given = 0

    def _choose(self) -> Task | None:
        if self.length == 0:
            return None
        task = self.tasks[self._given % len(self.tasks)]
        self._given += 1
        return task


class _ThresholdScheduler(TaskScheduler):
    """Repeats a task until it has been solved often enough, then moves on.

    Args:
        tasks: the tasks, in order; at least one.
        success_threshold: number of successes to move on, at least 1.
    """

    def __init__(self, tasks: Iterable[Task], success_threshold: int = SUCCESS_THRESHOLD) -> None:
        self.success_threshold: int = _at_least_one("success_threshold", success_threshold)
        super().__init__(tasks)

    def reset(self) -> None:
        """Start again from the first task."""
        super().reset()
        self._index = 0
        self._count = 0

    def _advance(self) -> None:
        if self._count >= self.success_threshold:
            self._count = 0
            self._index += 1


class IncrementalTaskScheduler(_ThresholdScheduler):
    """Moves on after `success_threshold` successes in total, cyclically; failures cost nothing."""

    def _choose(self) -> Task:
        self._advance()
        self._index %= len(self.tasks)
        return self.tasks[self._index]

    def report(self, outcome: Outcome) -> None:
        """Count a success.

        Args:
            outcome: the outcome of the last task.
        """
        self._count += outcome.result is True


class ConsecutiveTaskScheduler(_ThresholdScheduler):
    """Moves on after `success_threshold` successes in a row; ends when the last task is learned."""

    @property
    def length(self) -> float:
        """The number of tasks left: `math.inf` until every task is learned, then 0."""
        left = len(self.tasks) - self._index - (self._count >= self.success_threshold)
        return math.inf if left > 0 else 0

    def _choose(self) -> Task | None:
        self._advance()
        return self.tasks[self._index] if self._index < len(self.tasks) else None

    def report(self, outcome: Outcome) -> None:
        """Count a success; restart the count after anything else.

        Args:
            outcome: the outcome of the last task.
        """
        self._count = self._count + 1 if outcome.result is True else 0


class DependenciesTaskScheduler(TaskScheduler):
    """Draws uniformly from the available tasks; a task is available once all tasks it depends on are solved.

    Solved tasks stay available. Successes are counted by task id, so two tasks with the same id unlock
    together; listing a task twice does not make it more likely.

    Args:
        tasks: the tasks; at least one.
        tasks_dependencies: pairs of task ids; the second stays locked until the first is solved.
        unlock_threshold: number of successes that solve a task, at least 1.

    Raises:
        UsageError: there is no task, an id is unknown, or the pairs form a cycle.
    """

    def __init__(
        self,
        tasks: Iterable[Task],
        tasks_dependencies: Iterable[Sequence[str]] = (),
        unlock_threshold: int = UNLOCK_THRESHOLD,
    ) -> None:
        self.unlock_threshold: int = _at_least_one("unlock_threshold", unlock_threshold)
        listed = tuple(tasks)
        ids = dict.fromkeys(task.id for task in listed)
        self._before = _requirements(ids, tasks_dependencies)
        _refuse_cycles(self._before)
        super().__init__(listed)

    def reset(self) -> None:
        """Lock all tasks again that depend on others."""
        super().reset()
        self._successes: Counter[str] = Counter()
        self._solved: set[str] = set()
        self._refresh()

    def _refresh(self) -> None:
        self._available = [task for task in _distinct(self.tasks) if self._before[task.id] <= self._solved]

    def _choose(self) -> Task:
        return self._random.choice(self._available)

    def report(self, outcome: Outcome) -> None:
        """Count a success of the task, and unlock the tasks that depend on it.

        Args:
            outcome: the outcome of the last task.
        """
        if outcome.result is not True:
            return
        self._successes[outcome.task] += 1
        if self._successes[outcome.task] == self.unlock_threshold:
            self._solved.add(outcome.task)
            self._refresh()


def _distinct(tasks: Iterable[Task]) -> list[Task]:
    return list({id(task): task for task in tasks}.values())


def _at_least_one(name: str, value: int) -> int:
    if type(value) is not int or value < 1:
        raise UsageError(f"{name} must be a whole number, at least 1; got {value!r}")
    return value


def _requirements(ids: Iterable[str], pairs: Iterable[Sequence[str]]) -> Mapping[str, set[str]]:
    """Return the ids of the tasks that must be solved before each task."""
    before: dict[str, set[str]] = {task_id: set() for task_id in ids}
    for number, pair in enumerate(pairs, start=1):
        if isinstance(pair, str) or len(pair) != 2:  # noqa: PLR2004 - a pair
            raise UsageError(f"tasks_dependencies: entry {number} must be a pair of task ids, got {pair!r}")
        for task_id in pair:
            if task_id not in before:
                raise UsageError(
                    f"tasks_dependencies: entry {number}: unknown task {task_id!r}{suggest(task_id, before)}"
                )
        first, then = pair
        before[then].add(first)
    return before


def _refuse_cycles(before: Mapping[str, set[str]]) -> None:
    """Refuse tasks that can never be unlocked because they depend on themselves."""
    try:
        TopologicalSorter(before).prepare()
    except CycleError as error:
        locked = ", ".join(sorted(set(error.args[1])))
        raise UsageError(
            f"tasks_dependencies: a cycle locks {locked} for ever; take out one of its pairs"
        ) from error
