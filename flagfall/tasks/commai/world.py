"""What a world is to the tasks that are played in it, and who starts one.

A world lives across tasks: tasks that share one find it as the last of them left it. It listens to the
learner beside the task, changes its own state and may answer; the teacher's words go before its own.
"""

from __future__ import annotations

__all__ = ["World", "WorldSwitch"]

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from flagfall.tasks.task import Task, TaskSampler

if TYPE_CHECKING:
    from flagfall.kernel.outcomes import Outcome


@runtime_checkable
class World(Protocol):
    """A place that a learner acts in by talking."""

    def start(self) -> None:
        """Begin anew: nothing of what happened before is left."""

    def hear(self, heard: str) -> str | None:
        """Take note of what the learner said.

        Args:
            heard: all that the learner said in this instance, one character a byte, up to the one just
                said. A command counts when the text *ends* with it.

        Returns:
            The answer, which is said unless the teacher is speaking (its priority is 0); `None` for none.
        """

    def render(self) -> str:
        """The world as text, for people."""


class WorldSwitch(TaskSampler):
    """A task sampler that starts a world whenever a task comes that is played in another one than the last.

    So a world survives from task to task, but not a task that has another world or none. Tasks say where
    they are played by an attribute `world`.

    Args:
        tasks: the sampler that chooses the tasks.
    """

    def __init__(self, tasks: TaskSampler) -> None:
        self._tasks = tasks
        self.world: World | None = None

    @property
    def length(self) -> float:
        """How many tasks can still be sampled."""
        return self._tasks.length

    @property
    def last_sampled_task(self) -> Task | None:
        """The task given last."""
        return self._tasks.last_sampled_task

    @property
    def all_observation_spaces_equal(self) -> bool:
        """Whether all tasks share one observation space."""
        return self._tasks.all_observation_spaces_equal

    def next_task(self, force_advance_scene: bool = False) -> Task | None:
        """The next task, its world started if the last task was not played in it."""
        task = self._tasks.next_task(force_advance_scene)
        world: World | None = getattr(task, "world", None)
        if world is not None and world is not self.world:
            world.start()
        self.world = world
        return task

    def report(self, outcome: Outcome) -> None:
        """Pass on how the last task went."""
        self._tasks.report(outcome)

    def set_seed(self, seed: int) -> None:
        """Pass on the seed."""
        self._tasks.set_seed(seed)

    def reset(self) -> None:
        """Back to the original state; the next task's world starts anew."""
        self.world = None
        self._tasks.reset()

    def close(self) -> None:
        """Close the tasks."""
        self._tasks.close()
