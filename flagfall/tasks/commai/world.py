"""The interface of worlds that tasks are played in, and the sampler that starts them.

A world lasts across tasks: a task finds it in the state in which the last one left it. It hears the learner
as the task does, changes its state and may answer; the teacher's texts take precedence over its answers.
"""

from __future__ import annotations

__all__ = ["World", "WorldSwitch"]

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from flagfall.kernel.roles import complete_task
from flagfall.tasks.task import Task, TaskSampler

if TYPE_CHECKING:
    from flagfall.kernel.outcomes import Outcome


@runtime_checkable
class World(Protocol):
    """A place in which a learner acts by sending commands."""

    def start(self) -> None:
        """Reset the world to its initial state."""

    def hear(self, heard: str) -> str | None:
        """Take the learner's text.

        Args:
            heard: the whole text of the learner in this instance, one character for each byte, up to the
                latest one. A command counts when the text *ends* with it.

        Returns:
            the answer, which is sent unless the teacher is speaking (its priority is 0); `None` for none.
        """

    def render(self) -> str:
        """Return the world as text, for people."""


class WorldSwitch(TaskSampler):
    """A task sampler that resets a world when a task is played in another world than the task before it.

    So a world lasts from task to task, until a task with another world, or without one, comes between. Tasks
    name their world in an attribute `world`.

    Args:
        tasks: the sampler that chooses the tasks.
    """

    def __init__(self, tasks: TaskSampler) -> None:
        self._tasks = tasks
        self.world: World | None = None

    @property
    def length(self) -> float:
        """The number of tasks that can still be sampled."""
        return self._tasks.length

    @property
    def last_sampled_task(self) -> Task | None:
        """The task returned last."""
        return self._tasks.last_sampled_task

    @property
    def all_observation_spaces_equal(self) -> bool:
        """True if all tasks have the same observation space."""
        return self._tasks.all_observation_spaces_equal

    def next_task(self, force_advance_scene: bool = False) -> Task | None:
        """Return the next task, and reset its world if the last task was not played in it.

        Args:
            force_advance_scene: passed on.
        """
        task = self._tasks.next_task(force_advance_scene)
        world: World | None = None if task is None else complete_task(task).world
        if world is not None and world is not self.world:
            world.start()
        self.world = world
        return task

    def report(self, outcome: Outcome) -> None:
        """Pass on the outcome of the last task.

        Args:
            outcome: the outcome.
        """
        self._tasks.report(outcome)

    def set_seed(self, seed: int) -> None:
        """Pass on the seed.

        Args:
            seed: the new seed.
        """
        self._tasks.set_seed(seed)

    def reset(self) -> None:
        """Return to the original state; the world of the next task is reset."""
        self.world = None
        self._tasks.reset()

    def close(self) -> None:
        """Close the tasks."""
        self._tasks.close()
