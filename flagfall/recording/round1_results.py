"""The figures of a match as round 1 tells them: rewards, times and trials, in all and by task.

A reward is booked for the task that paid it, though its last one comes with the first observation of the
next. Time is counted in turns, as the original does: the answer to the last observation of a match counts,
though no task hears it. Of a task that is not recorded to end, the rewards that turns show are counted.
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
    """How one task went, all its trials together.

    Attributes:
        name: its id.
        time: turns.
        reward: the sum of what it paid, to all seats.
        trials: how often it was begun.
    """

    name: str
    time: int = 0
    reward: float = 0
    trials: int = 0

    @property
    def average(self) -> float:
        """Reward for a turn."""
        return self.reward / self.time if self.time else 0.0


@attrs.frozen
class Figures:
    """The figures of a match.

    Attributes:
        tasks: in the order in which they first came.
    """

    tasks: tuple[TaskFigures, ...]

    @property
    def time(self) -> int:
        """Turns of all tasks."""
        return sum(task.time for task in self.tasks)

    @property
    def reward(self) -> float:
        """What all tasks paid."""
        return sum(task.reward for task in self.tasks)

    def as_text(self) -> str:
        """The layout of the results file of round 1."""
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
        """The same, in plain numbers and words."""
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
    """Return a whole number without a point."""
    return int(reward) if isfinite(reward) and reward == int(reward) else reward


class ResultsSink:
    """Takes the events of a match, from the match itself or from its journal, and adds up.

    Attributes:
        begun: whether there was any event.
    """

    def __init__(self) -> None:
        self.begun = False
        self._tasks: dict[str, TaskFigures] = {}
        self._name: str | None = None
        self._open = TaskFigures("")  # what turns tell of the task that has not ended yet
        self._turn: int | None = None

    def __call__(self, event: Event) -> None:
        """Take an event."""
        self.begun = True
        kind = type(event)
        if kind is TurnPlayed:
            self._take_turn(event)  # type: ignore[arg-type]  # its type was just looked at
        elif kind is TaskStarted:
            self._begin(event.task)  # type: ignore[attr-defined]
        elif kind is TaskEnded:
            self._end(event)  # type: ignore[arg-type]
        elif kind is MatchEnded and self._open.time:
            self._open.reward += _sum(event.reward)  # type: ignore[attr-defined]

    def figures(self) -> Figures:
        """The figures so far."""
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
        if opened.time > 1:  # what came with the first observation was paid by the task before
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
