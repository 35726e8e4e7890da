"""Results in the form of round 1: rewards, times and trials of a match, in total and by task.

A reward counts for the task that paid it, although the last reward of a task comes with the first
observation of the next one. Time is counted in turns, as the original program does: the answer to the last
observation of a match counts, although no task receives it. For a task whose end was not recorded, the
rewards of its turns are added up.
"""

from __future__ import annotations

__all__ = ["Figures", "ResultsSink", "TaskFigures"]

from math import isfinite
from typing import TYPE_CHECKING, Any

import attrs

from flagfall.events import Event, MatchEnded, TaskEnded, TaskStarted, TurnPlayed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@attrs.define
class TaskFigures:
    """Results of one task, summed over its trials.

    Attributes:
        name: the id of the task.
        time: the number of turns.
        reward: the sum of the rewards it paid, over all seats.
        trials: the number of times it was started.
    """

    name: str
    time: int = 0
    reward: float = 0
    trials: int = 0

    @property
    def average(self) -> float:
        """The mean reward of a turn; 0 without turns."""
        return self.reward / self.time if self.time else 0.0


@attrs.frozen
class Figures:
    """Results of a match.

    Attributes:
        tasks: the results of each task, in the order in which they were first started.
    """

    tasks: tuple[TaskFigures, ...]

    @property
    def time(self) -> int:
        """The number of turns, over all tasks."""
        return sum(task.time for task in self.tasks)

    @property
    def reward(self) -> float:
        """The sum of the rewards, over all tasks."""
        return sum(task.reward for task in self.tasks)

    def as_text(self) -> str:
        """Return the text of a results file of round 1."""
        average = self.reward / self.time if self.time else 0.0
        lines = [
            "* General results",
            f"Average reward: {average}",
            f"Total time: {self.time}",
            f"Total reward: {_number(self.reward)}",
        ]
        by_time = sorted(self.tasks, key=lambda task: task.time)
        by_reward = sorted(self.tasks, key=lambda task: -task.reward)
        by_trials = sorted(self.tasks, key=lambda task: task.trials)
        lines += _section("Average reward per task", by_time, lambda task: task.average)
        lines += _section("Total reward per task", by_reward, lambda task: _number(task.reward))
        lines += _section("Total time per task", by_time, lambda task: task.time)
        lines += _section("Number of trials per task", by_trials, lambda task: task.trials)
        return "".join(f"{line}\n" for line in lines)

    def as_data(self) -> dict[str, Any]:
        """Return the results as plain data for JSON."""
        return {
            "average_reward": self.reward / self.time if self.time else 0.0,
            "total_time": self.time,
            "total_reward": _number(self.reward),
            "tasks": {
                task.name: {
                    "average_reward": task.average,
                    "total_reward": _number(task.reward),
                    "time": task.time,
                    "trials": task.trials,
                }
                for task in self.tasks
            },
        }


def _section(title: str, tasks: Iterable[TaskFigures], value: Callable[[TaskFigures], object]) -> list[str]:
    return [f"* {title}", *(f"{task.name}: {value(task)}" for task in tasks)]


def _number(reward: float) -> float:
    """Return a reward, as an `int` if it has no fraction."""
    return int(reward) if isfinite(reward) and reward == int(reward) else reward


class ResultsSink:
    """Sink that adds up the results of a match, from the match itself or from its journal.

    Attributes:
        begun: whether an event has been received.
    """

    def __init__(self) -> None:
        self.begun: bool = False
        self._tasks: dict[str, TaskFigures] = {}
        self._name: str | None = None
        self._open = TaskFigures("")  # sums over the turns of the task that has not ended yet
        self._turn: int | None = None

    def __call__(self, event: Event) -> None:
        """Count one event.

        Args:
            event: the next event of the match.
        """
        self.begun = True
        kind = type(event)
        if kind is TurnPlayed:
            self._take_turn(event)  # type: ignore[arg-type]  # narrowed by `kind`
        elif kind is TaskStarted:
            self._begin(event.task)  # type: ignore[attr-defined]
        elif kind is TaskEnded:
            self._end(event)  # type: ignore[arg-type]
        elif kind is MatchEnded and self._open.time:
            self._open.reward += _sum(event.reward)  # type: ignore[attr-defined]

    def figures(self) -> Figures:
        """Return the results of the events so far."""
        tasks = {name: attrs.evolve(task) for name, task in self._tasks.items()}
        if self._name is not None:
            tasks[self._name].time += self._open.time
            tasks[self._name].reward += self._open.reward
        return Figures(tuple(tasks.values()))

    def _begin(self, name: str) -> None:
        self._tasks.setdefault(name, TaskFigures(name)).trials += 1
        self._name = name
        self._open = TaskFigures(name)

    def _take_turn(self, event: TurnPlayed) -> None:
        opened = self._open
        if event.turn != self._turn:
            self._turn = event.turn
            opened.time += 1
        if opened.time > 1:  # the first observation brings a reward of the previous task
            opened.reward += _sum(event.reward)

    def _end(self, event: TaskEnded) -> None:
        task = self._tasks.setdefault(event.task, TaskFigures(event.task))
        task.time += self._open.time
        task.reward += event.reward
        self._name = None
        self._open = TaskFigures("")


def _sum(reward: Any) -> float:
    total: float = sum(reward.values()) if isinstance(reward, dict) else reward
    return total
