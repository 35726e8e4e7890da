"""Specifications of conversation tasks: script, time limit and manner of listening."""

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
"""The script of a task in the grid world."""


@attrs.frozen
class TaskSpec:
    """Specification of a task without a world.

    Attributes:
        play: runs one instance.
        max_time: time limit in steps.
        forgets: whether text that interrupts the teacher is forgotten.
    """

    play: DialogueScript
    max_time: float
    forgets: bool = True

    def task(self, task_id: str) -> ConversationTask:
        """Make a task.

        Args:
            task_id: its id.
        """
        return ConversationTask(task_id, self.play, max_time=self.max_time, forgets=self.forgets)


@attrs.frozen
class WorldTaskSpec:
    """Specification of a task in the grid world.

    Attributes:
        play: runs one instance.
        max_time: time limit in steps.
        forgets: whether text that interrupts the teacher is forgotten.
    """

    play: WorldScript
    max_time: float
    forgets: bool = True

    def task(self, task_id: str, world: GridWorld | None = None) -> ConversationTask:
        """Make a task.

        Args:
            task_id: its id.
            world: the world it is played in; `None` for a new one.
        """
        place = GridWorld() if world is None else world

        def play(talk: Conversation, rng: Random) -> Script:
            return self.play(place, talk, rng)

        return ConversationTask(task_id, play, max_time=self.max_time, forgets=self.forgets, world=place)
