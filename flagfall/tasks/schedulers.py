"""The five task schedulers of round 1 of the General AI Challenge.

Only the result `True` counts as a success; `False` and `None` both count as failures.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from inspect import signature
from itertools import pairwise
from random import Random
from typing import Any, Final, TypeAlias

from flagfall.errors import UsageError, suggest
from flagfall.kernel.outcomes import Outcome
from flagfall.tasks.task import Task, TaskSampler

SUCCESS_THRESHOLD: Final = 2
"""Successes after which a task counts as learned."""

UNLOCK_THRESHOLD: Final = 10
"""Successes after which a task unlocks the tasks that depend on it."""


class TaskScheduler(TaskSampler):
    """A list of tasks, and a rule for which one comes next.

    A task may be listed several times. Everything random is determined by `set_seed`.

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
        """Return the next task under the rule; `None` if there are no more."""
        task = self._choose()
        if task is not None:
            self._last = task
        return task

    def set_seed(self, seed: int) -> None:
        """Restart the generator of random choices."""
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
        """Count a success."""
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
        """Count a success; restart the count after anything else."""
        self._count = self._count + 1 if outcome.result is True else 0


class DependenciesTaskScheduler(TaskScheduler):
    """Draws uniformly from the available tasks; a task is available once all tasks it depends on are solved.

    Solved tasks stay available. Successes are counted by task id, so two tasks with the same id unlock
    together; listing a task twice does not make it more likely.

    Args:
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
        """Count a success of the task, and unlock the tasks that depend on it."""
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


# A text is the name of a policy, optionally followed by a colon and arguments separated by semicolons, each
# a value or `name=value`. The arguments are those of the policy's class; a value without a name is the
# first:
#
#     random   sequential   sequential:1   incremental:3   consecutive:success_threshold=5
#     dependencies:micro1>micro2,micro2>micro3;unlock_threshold=4
#
# In dependencies, `a>b` means that `b` stays locked until `a` is solved; `a>b>c` is short for `a>b,b>c`.
# Spaces around words are ignored.

POLICIES: Final[Mapping[str, type[TaskScheduler]]] = {
    "random": RandomTaskScheduler,
    "sequential": SequentialTaskScheduler,
    "incremental": IncrementalTaskScheduler,
    "consecutive": ConsecutiveTaskScheduler,
    "dependencies": DependenciesTaskScheduler,
}
"""The task schedulers, by their name in texts."""

MAX_DIGITS: Final = 9
"""Most digits of a number of rounds or successes; no match reaches a billion."""

MAX_SHOWN_CHARS: Final = 200
"""Most characters of a text that are shown in a message."""


def parse_policy(text: str, tasks: Iterable[Task]) -> TaskScheduler:
    """Make the task scheduler that a text describes, in the grammar of this module.

    Args:
        text: such as `consecutive:5`.

    Raises:
        UsageError: the text is invalid, or the policy refuses the tasks.
    """
    name, colon, rest = text.partition(":")
    policy = POLICIES.get(name.strip())
    if policy is None:
        hint = suggest(name.strip(), POLICIES)
        raise UsageError(f"policy {_shown(text)}: unknown policy {_shown(name.strip())}{hint}")
    try:
        settings = _settings(policy, rest, len(name) + 1) if colon else {}
        return policy(tasks, **settings)
    except UsageError as error:
        raise UsageError(f"policy {_shown(text)}: {error}") from error


def _shown(text: str) -> str:
    return repr(text if len(text) <= MAX_SHOWN_CHARS else f"{text[: MAX_SHOWN_CHARS - 3]}...")


def _settings(policy: type[TaskScheduler], text: str, at: int) -> dict[str, Any]:
    """Return the arguments in a text that starts at offset `at` of the whole text."""
    readers = _readers(policy)
    if not readers:
        raise UsageError(f"at column {at + 1}: this policy takes no arguments, got {_shown(text)}")
    settings: dict[str, Any] = {}
    for number, (argument, place) in enumerate(_split(text, ";", at)):
        parts = list(_split(argument, "=", place))
        if len(parts) == 1 and number == 0:
            parts.insert(0, (next(iter(readers)), place))
        name = parts[0][0]
        if name not in readers:
            raise UsageError(
                f"at column {place + 1}: unknown argument {_shown(name)}{suggest(name, readers)}"
            )
        if len(parts) != 2:  # noqa: PLR2004 - a name and a value
            raise UsageError(f"at column {place + 1}: expected `{name}=value`, got {_shown(argument)}")
        if name in settings:
            raise UsageError(f"at column {place + 1}: {name} is given twice")
        settings[name] = readers[name](*parts[1])
    return settings


@cache  # a signature takes 30 us, and matches name the scheduler by a text
def _readers(policy: type[TaskScheduler]) -> Mapping[str, _Reader]:
    arguments = signature(policy).parameters.values()
    return {one.name: _READERS[one.annotation] for one in arguments if one.annotation in _READERS}


def _number(text: str, at: int) -> int:
    if text.isdecimal() and len(text) > MAX_DIGITS:
        raise UsageError(
            f"at column {at + 1}: {_shown(text)} is too large: write at most {MAX_DIGITS} digits"
        )
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"at column {at + 1}: {_shown(text)} is not a whole number, at least 1")
    return int(text)


def _pairs(text: str, at: int) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for chain, place in _split(text, ",", at):
        links = list(_split(chain, ">", place))
        empty = [column for link, column in links if not link]
        if empty or len(links) == 1:
            column = empty[0] if empty else place
            raise UsageError(f"at column {column + 1}: expected `before>after`, got {_shown(chain)}")
        pairs += pairwise(link for link, _ in links)
    return pairs


def _split(text: str, separator: str, at: int) -> Iterator[tuple[str, int]]:
    """Yield the stripped parts of a text, each with its offset."""
    for part in text.split(separator):
        yield part.strip(), at + len(part) - len(part.lstrip())
        at += len(part) + len(separator)


_Reader: TypeAlias = Callable[[str, int], Any]
"""Parses one argument from its text and the offset of that in the whole text."""

_READERS: Final[Mapping[str, _Reader]] = {
    "int": _number,
    "int | None": _number,
    "Iterable[Sequence[str]]": _pairs,
}
"""Readers of the arguments of policies, by the types in their signatures."""
