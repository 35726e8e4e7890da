"""The interface of worlds that tasks are played in, and the sampler that starts them.

A world lasts across tasks: a task finds it in the state in which the last one left it. It hears the learner
as the task does, changes its state and may answer; the teacher's texts take precedence over its answers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias, runtime_checkable

import attrs

from flagfall.kernel.outcomes import Outcome
from flagfall.kernel.roles import complete_task
from flagfall.tasks.commai.words import a
from flagfall.tasks.task import Task, TaskSampler


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
        """Return the next task, and reset its world if the last task was not played in it."""
        task = self._tasks.next_task(force_advance_scene)
        world: World | None = None if task is None else complete_task(task).world
        if world is not None and world is not self.world:
            world.start()
        self.world = world
        return task

    def report(self, outcome: Outcome) -> None:
        """Pass on the outcome of the last task."""
        self._tasks.report(outcome)

    def set_seed(self, seed: int) -> None:
        """Pass on the seed."""
        self._tasks.set_seed(seed)

    def reset(self) -> None:
        """Return to the original state; the world of the next task is reset."""
        self.world = None
        self._tasks.reset()

    def close(self) -> None:
        """Close the tasks."""
        self._tasks.close()


# The grid world: an unbounded plane on which a learner turns, walks, looks, picks up and gives.
#
# Commands are sentences such as `I turn left.`; one is obeyed whenever the learner's text ends with it. The
# world pays no rewards: tasks observe its state and pay for what they asked for.

Position: TypeAlias = tuple[int, int]
"""x grows to the east, y to the south."""

DIRECTIONS: Final[dict[str, Position]] = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}
"""One step each way, clockwise."""

_CLOCKWISE: Final = tuple(DIRECTIONS)

# Far longer than any command, so that the rest of a long text is not searched.
_LONGEST_COMMAND: Final = 100

_RADIUS: Final = 2
_CELL_WIDTH: Final = 3
_CELL_HEIGHT: Final = 2


@attrs.frozen
class Entity:
    """The content of a cell."""

    name: str
    pickable: bool = True
    traversable: bool = True


class GridWorld:
    """The plane, the learner on it, and the possessions of learner and teacher.

    Attributes:
        position: the cell of the learner.
        direction: the direction it faces, a key of `DIRECTIONS`.
        entities: contents of the cells, at most one entity each.
        learner_has: counts of the objects that the learner owns; negative for debts.
        accepted: the objects that the teacher accepts.
        changes: how often the learner has changed the world.
    """

    def __init__(self) -> None:
        self._commands: tuple[tuple[re.Pattern[str], Callable[..., str]], ...] = (
            (re.compile(r"I turn (left|right)\.$"), self._turn),
            (re.compile(r"I move forward\.$"), self._move),
            (re.compile(r"I look\.$"), self._look),
            (re.compile(r"I pick up the (\w+)\.$"), self._pick_up),
            (re.compile(r"I give you an? (\w+)\.$"), self._give),
        )
        self.start()

    def start(self) -> None:
        """Empty the plane; put the learner at the origin, facing north."""
        self.position: Position = (0, 0)
        self.direction: str = "north"
        self.entities: dict[Position, Entity] = {}
        self.learner_has: Counter[str] = Counter()
        self.teacher_has: Counter[str] = Counter()
        self.accepted: set[str] = set()
        self.changes: int = 0

    def place(self, name: str, at: Position, *, pickable: bool = True, traversable: bool = True) -> None:
        """Put an entity into a cell, replacing its content."""
        self.entities[at] = Entity(name, pickable, traversable)

    def remove(self, at: Position) -> None:
        """Empty a cell."""
        self.entities.pop(at, None)

    def neighbour(self, direction: str) -> Position:
        """Return the cell next to the learner.

        Args:
            direction: a key of `DIRECTIONS`.
        """
        (x, y), (dx, dy) = self.position, DIRECTIONS[direction]
        return x + dx, y + dy

    @property
    def ahead(self) -> Position:
        """The cell that the learner faces."""
        return self.neighbour(self.direction)

    def beside(self, side: str) -> str:
        """Return the absolute direction of a side of the learner.

        Args:
            side: `left` or `right`.
        """
        turn = 1 if side == "right" else -1
        return _CLOCKWISE[(_CLOCKWISE.index(self.direction) + turn) % len(_CLOCKWISE)]

    def hear(self, heard: str) -> str | None:
        """Obey the command that the learner's text ends with, if any."""
        if heard.endswith("."):
            end = heard[-_LONGEST_COMMAND:]
            for command, obey in self._commands:
                if found := command.search(end):
                    return obey(*found.groups())
        return None

    def _look(self) -> str:
        seen = self.entities.get(self.ahead)
        return f"There is a {seen.name}." if seen else "There is nothing here."

    def _turn(self, side: str) -> str:
        self.direction = self.beside(side)
        self.changes += 1
        return f"You turned {side}, you are now facing {self.direction}."

    def _move(self) -> str:
        blocking = self.entities.get(self.ahead)
        if blocking is not None and not blocking.traversable:
            return "You can't move."
        self.position = self.ahead
        self.changes += 1
        return "You moved."

    def _pick_up(self, name: str) -> str:
        seen = self.entities.get(self.ahead)
        if seen is None or seen.name != name:
            return f"There is no {name} here."
        if not seen.pickable:
            return f"You can't pick up the {name}."
        self.learner_has[name] += 1
        self.remove(self.ahead)
        self.changes += 1
        return f"You picked up the {name}."

    def _give(self, name: str) -> str:
        if name not in self.accepted:
            return f"I haven't asked you for {a(name)}."
        self.learner_has[name] -= 1
        self.teacher_has[name] += 1
        self.changes += 1
        return f"You gave me {a(name)}."

    def render(self) -> str:
        """Return the five by five cells around the learner as text, with their coordinates.

        The learner's cell is filled with the first letter of its direction; another cell shows the first six
        letters of its entity, three per line.
        """
        centre_x, centre_y = self.position
        columns = range(centre_x - _RADIUS, centre_x + _RADIUS + 1)
        rule = "     " + "+".join(["", *["-" * _CELL_WIDTH] * len(columns), ""])
        lines = ["      " + " ".join([f"{x:>{_CELL_WIDTH}}" for x in columns]), rule]
        for y in range(centre_y - _RADIUS, centre_y + _RADIUS + 1):
            cells = [self._picture((x, y)) for x in columns]
            for row in range(_CELL_HEIGHT):
                part = slice(row * _CELL_WIDTH, (row + 1) * _CELL_WIDTH)
                label = str(y) if row == 0 else ""
                lines.append("|".join([f"{label:>4} ", *[cell[part] for cell in cells], ""]))
            lines.append(rule)
        return "\n".join(lines)

    def _picture(self, at: Position) -> str:
        size = _CELL_WIDTH * _CELL_HEIGHT
        if at == self.position:
            return self.direction[0] * size
        entity = self.entities.get(at)
        return f"{entity.name if entity else '':{size}.{size}}"
