"""Results in the form of round 1: rewards, times and trials of a match, in total and by task.

A reward counts for the task that paid it, although the last reward of a task comes with the first
observation of the next one. Time is counted in turns, as the original program does: the answer to the last
observation of a match counts, although no task receives it. For a task whose end was not recorded, the
rewards of its turns are added up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import isfinite
from typing import Any

import attrs

from flagfall.errors import UsageError
from flagfall.events import (
    Event,
    MatchEnded,
    MatchStarted,
    Reward,
    TaskEnded,
    TaskStarted,
    TurnPlayed,
    total_reward,
)
from flagfall.kernel.safe_values import safe_repr

# Transcripts: a match of byte tasks as plain records, one for each step.
#
# They are for people to read, and for checkers that share no code with this project.
#
# {"event": "start", "task": "micro3"} {"t": 0, "env": "a", "reward": 0, "agent": " "} {"event": "end",
# "task": "micro3", "result": true}


def transcript(events: Iterable[Event]) -> Iterator[dict[str, Any]]:
    """Yield the records of a match in the order of its events.

    The record of a step has the character that the environment sent (`env`), the reward that came with it,
    and the action that was played (`agent`). Characters are those of Latin-1, and `t` counts steps from 0
    over the whole match. A reward without a fraction is a whole number. If a reward was still owed when the
    match ended, the last `end` record has it as `reward`. A task that was cut short ends with the result
    `null`.

    Args:
        events: the events of one match, from the match itself or from its journal.

    Raises:
        UsageError: the match has several agents, or a turn is not one of a byte task; names the turn.
    """
    open_task: str | None = None
    end: dict[str, Any] | None = None  # held back: the last one may get the reward that is still owed
    steps = 0
    for event in events:
        if type(event) is TurnPlayed:
            yield _step(steps, event)
            steps += 1
        elif type(event) is TaskStarted:
            if end is not None:
                yield end
                end = None
            open_task = event.task
            yield {"event": "start", "task": event.task}
        elif type(event) is TaskEnded:
            open_task = None
            end = {"event": "end", "task": event.task, "result": event.result}
        elif type(event) is MatchEnded:
            end = _last_end(end, open_task, event)
        elif type(event) is MatchStarted and len(event.agents) != 1:
            raise UsageError(f"a transcript needs a match with one agent; this one has {len(event.agents)}")
    if end is not None:
        yield end


def _last_end(end: dict[str, Any] | None, open_task: str | None, event: MatchEnded) -> dict[str, Any] | None:
    if open_task is not None:  # a void match may leave its task without an end
        end = {"event": "end", "task": open_task, "result": None}
    if end is not None and event.reward:
        end["reward"] = _number_at(event.reward, "the end of the match")
    return end


def _step(t: int, event: TurnPlayed) -> dict[str, Any]:
    return {
        "t": t,
        "env": _character(event.observation, event, "observation"),
        "reward": _number_at(event.reward, f"turn {event.turn}"),
        "agent": _character(event.action, event, "action"),
    }


def _character(value: Any, event: TurnPlayed, what: str) -> str:
    if not _is_byte(value):
        raise UsageError(
            f"turn {event.turn}: a transcript needs byte tasks; this {what} is not a whole number from 0"
            f" to 255: {safe_repr(value)}"
        )
    return chr(value)


def _is_byte(value: Any) -> bool:
    return type(value) is int and 0 <= value <= 255  # noqa: PLR2004 - a byte


def _number_at(reward: Reward, place: str) -> float:
    if isinstance(reward, dict):
        raise UsageError(f"{place}: a transcript needs a match with one agent; this reward is for several")
    return _number(reward)


@attrs.define
class TaskFigures:
    """Results of one task, summed over its trials.

    Attributes:
        reward: the sum of the rewards it paid, over all seats.
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
        lines = ["* General results", f"Average reward: {average}"]
        lines += [f"Total time: {self.time}", f"Total reward: {_number(self.reward)}"]
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
        begun: there was an event.
        is_bytes: a single seat played turns of bytes only, as in round 1.
    """

    def __init__(self) -> None:
        self.begun: bool = False
        self.is_bytes: bool = False
        self._tasks: dict[str, TaskFigures] = {}
        self._name: str | None = None
        self._open = TaskFigures("")  # sums over the turns of the task that has not ended yet
        self._turn: int | None = None

    def __call__(self, event: Event) -> None:
        """Count one event."""
        self.begun = True
        kind = type(event)
        if kind is TurnPlayed:
            self._take_turn(event)  # type: ignore[arg-type]  # narrowed by `kind`
        elif kind is TaskStarted:
            self._begin(event.task)  # type: ignore[attr-defined]
        elif kind is TaskEnded:
            self._end(event)  # type: ignore[arg-type]
        elif kind is MatchEnded and self._open.time:
            self._open.reward += total_reward(event.reward)  # type: ignore[attr-defined]

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
        is_bytes = event.seat == 0 and _is_byte(event.observation) and _is_byte(event.action)
        self.is_bytes = is_bytes and (self.is_bytes or self._turn is None)
        if event.turn != self._turn:
            self._turn = event.turn
            opened.time += 1
        if opened.time > 1:  # the first observation brings a reward of the previous task
            opened.reward += total_reward(event.reward)

    def _end(self, event: TaskEnded) -> None:
        task = self._tasks.setdefault(event.task, TaskFigures(event.task))
        task.time += self._open.time
        task.reward += event.reward
        self._name = None
        self._open = TaskFigures("")
