"""A spec is what a task is made from: its play, its time limit and its manners."""

from __future__ import annotations

__all__ = ["TaskSpec", "WorldScript", "WorldTaskSpec"]

from collections.abc import Callable
from random import Random
from typing import TypeAlias

import attrs

from flagfall.tasks.commai.byte_task import Script
from flagfall.tasks.commai.conversation import Conversation, ConversationTask, DialogueScript
from flagfall.tasks.commai.grid_world import GridWorld

WorldScript: TypeAlias = Callable[[GridWorld, Conversation, Random], Script]
"""A play in the grid world."""


@attrs.frozen
class TaskSpec:
    """A task that is played nowhere.

    Attributes:
        play: one instance.
        max_time: the time limit in steps.
        forgets: whether what the learner says into the teacher's words is forgotten.
    """

    play: DialogueScript
    max_time: float
    forgets: bool = True

    def task(self, task_id: str) -> ConversationTask:
        """A task by this spec."""
        return ConversationTask(task_id, self.play, max_time=self.max_time, forgets=self.forgets)


@attrs.frozen
class WorldTaskSpec:
    """A task that is played in the grid world.

    Attributes:
        play: one instance.
        max_time: the time limit in steps.
        forgets: whether what the learner says into the teacher's words is forgotten.
    """

    play: WorldScript
    max_time: float
    forgets: bool = True

    def task(self, task_id: str, world: GridWorld | None = None) -> ConversationTask:
        """A task by this spec, in a world of its own if none is given."""
        place = GridWorld() if world is None else world

        def play(talk: Conversation, rng: Random) -> Script:
            return self.play(place, talk, rng)

        return ConversationTask(task_id, play, max_time=self.max_time, forgets=self.forgets, world=place)
