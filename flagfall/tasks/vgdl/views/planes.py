"""A state as arrays for learners: a plane of ones and zeros for each type, and facts of the avatar."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, TypedDict

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from flagfall.errors import UsageError
from flagfall.kernel.descriptions import has_shapes
from flagfall.tasks.vgdl.definition import GameDefinition
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite
from flagfall.tasks.vgdl.views.cells import cells_at, first_moment, visible_types
from flagfall.tasks.vgdl.views.observer import Cell, Column, Grid, StateObservation

AVATAR_FACTS: Final = ("x", "y", "orientation x", "orientation y", "speed", "alive", "health")
"""First facts of the avatar; x and y in cells, speed in cells a tick. The amount of each resource follows."""

MAX_FACT: Final = 1e6
"""Bound of the absolute value of a fact; larger ones are clipped."""

MAX_VALUES: Final = 10**8
"""Limit of the values of all planes together; the public games need 17,360."""


MAX_KEPT_VALUES: Final = 100_000
"""Maximum number of values of a first moment whose planes are kept."""


class Planes(TypedDict):
    """Arrays of one state.

    Attributes:
        planes: `[type, row, column]`, 1 in cells with a sprite of the type, else 0.
        avatar: the facts; see `AVATAR_FACTS`.
    """

    planes: NDArray[np.uint8]
    avatar: NDArray[np.float32]


class PlanesView:
    """Layout of the planes of one level, and conversion of states; unchanged columns are not converted again.

    `PlanesObserver` makes the same planes of a play without its states.

    Attributes:
        types: type of each plane; see `visible_types`.
        resources: types whose amounts are the last facts.
        shape: numbers of planes, rows and columns.

    Raises:
        UsageError: the level is too large.
    """

    def __init__(self, definition: GameDefinition, width: int, height: int) -> None:
        self.types: tuple[int, ...] = visible_types(definition)
        if len(self.types) * height * width > MAX_VALUES:
            size = f"{len(self.types)} planes of {width} x {height} cells"
            raise UsageError(f"{size}: more than {MAX_VALUES} values; use observation=state for such a level")
        self.resources: tuple[int, ...] = tuple(
            number for number, limit in enumerate(definition.limits) if limit > 0
        )
        self.shape: tuple[int, int, int] = (len(self.types), height, width)
        self._plane_of = {number: plane for plane, number in enumerate(self.types)}
        self._planes: NDArray[np.uint8] | None = None
        self._columns: list[Column] = []

    @cached_property
    def space(self) -> spaces.Dict:
        """Space of the results."""
        facts = len(AVATAR_FACTS) + len(self.resources)
        return spaces.Dict(
            {
                "planes": spaces.Box(0, 1, self.shape, np.uint8),
                "avatar": spaces.Box(-MAX_FACT, MAX_FACT, (facts,), np.float32),
            }
        )

    def has_made(self, value: Any) -> bool:
        """Return whether a value has the form of the results."""
        facts = len(AVATAR_FACTS) + len(self.resources)
        return has_shapes(value, planes=self.shape, avatar=(facts,))

    def view(self, state: StateObservation) -> Planes:
        """Return the planes of a state, as new arrays."""
        planes, plane_of = self._planes, self._plane_of
        if planes is None:
            planes = self._planes = np.zeros(self.shape, np.uint8)
            self._columns = [((),) * self.shape[1]] * self.shape[2]
        for at, column in enumerate(state.observation_grid):
            if column is not self._columns[at]:
                planes[:, :, at] = 0
                for row, cell in enumerate(column):
                    for seen in cell:
                        planes[plane_of[seen.itype], row, at] = 1
                self._columns[at] = column
        x, y = state.avatar_position
        amounts = state.avatar_resources
        facts = [
            x / state.block_size,
            y / state.block_size,
            *state.avatar_orientation,
            state.avatar_speed,
            state.is_avatar_alive,
            state.avatar_health_points,
            *[amounts.get(number, 0) for number in self.resources],
        ]
        return {"planes": planes.copy(), "avatar": _facts(facts)}


class PlanesObserver:
    """Planes of one play, updated each tick from the changes of that tick.

    It is fast if it is called after every tick; after several, it examines all sprites again.

    Args:
        play: at any tick; each play needs an observer of its own.
    """

    def __init__(self, play: Play, view: PlanesView) -> None:
        self._play = play
        self._shape = view.shape
        self._resources = view.resources
        self._tick: int | None = None
        _, height, width = view.shape
        self._cells_at = cells_at(width, height, play.block_size, by_rows=True)
        # By type: the place of its plane among the values; `None` if it is hidden.
        starts: list[int | None] = [None] * len(play.game.kinds)
        for plane, type_id in enumerate(view.types):
            starts[type_id] = plane * height * width
        self._starts = starts

    def observe(self) -> Planes:
        """Return the planes of the current tick, as new arrays."""
        play = self._play
        if play.tick != self._tick:
            if self._tick is not None and play.tick == self._tick + 1:
                self._follow(play)
            else:
                self._begin(play)
            self._tick = play.tick
        return {"planes": self._planes.copy(), "avatar": self._avatar_facts()}

    def _begin(self, play: Play) -> None:
        """Examine all sprites, or take what was found for another play that began alike."""
        moment = first_moment(play)
        parts = None if moment is None else moment.parts.get("planes")
        if parts is None:
            size = self._shape[0] * self._shape[1] * self._shape[2]
            # By sprite, its cells. By value, how many sprites of the type are in the cell.
            self._at: dict[int, tuple[int, ...]] = {}
            self._counts = [0] * size
            self._values = bytearray(size)
            for group in play.groups:
                for sprite in group:
                    self._add(sprite)
            if moment is not None and size <= MAX_KEPT_VALUES:
                moment.keep("planes", (self._at.copy(), self._counts.copy(), bytes(self._values)))
        else:
            at, counts, values = parts
            self._at = at.copy()
            self._counts = counts.copy()
            self._values = bytearray(values)
        self._planes = np.frombuffer(self._values, np.uint8).reshape(self._shape)

    def _follow(self, play: Play) -> None:
        """Apply the changes of one tick."""
        at, cells_at = self._at, self._cells_at
        known = at.get
        for sprite in play.moved:
            number = sprite.id
            before = known(number)
            if before is not None:
                cells = cells_at[sprite.x][sprite.y]
                if cells is not before:
                    at[number] = cells
                    self._move(sprite.type, before, cells)
        for sprite in play.born:
            self._add(sprite)
        for sprite in play.died:
            before = at.pop(sprite.id, None)
            if before is not None:
                self._move(sprite.type, before, ())

    def _add(self, sprite: Sprite) -> None:
        if self._starts[sprite.type] is not None:
            cells = self._at[sprite.id] = self._cells_at[sprite.x][sprite.y]
            self._move(sprite.type, (), cells)

    def _move(self, type_id: int, before: tuple[int, ...], after: tuple[int, ...]) -> None:
        """Move a sprite from some cells to others."""
        counts, values = self._counts, self._values
        start = self._starts[type_id]
        assert start is not None  # hidden sprites have no cells
        for cell in after:
            place = start + cell
            counts[place] += 1
            values[place] = 1
        for cell in before:
            place = start + cell
            counts[place] -= 1
            if not counts[place]:
                values[place] = 0

    def _avatar_facts(self) -> NDArray[np.float32]:
        play, avatar = self._play, self._play.avatar
        block = play.block_size
        if avatar is None:
            return _facts([-1 / block, -1 / block, -1, -1, 0, 0, 0, *[0 for _ in self._resources]])
        amounts = avatar.resources
        alive, health = not avatar.disabled, avatar.health
        more = [amounts.get(number, 0) for number in self._resources] if self._resources else ()
        if play.over:
            return _facts([-1 / block, -1 / block, -1, -1, 0, alive, health, *more])
        x, y = avatar.x / block, avatar.y / block
        return _facts([x, y, avatar.ox, avatar.oy, avatar.speed, alive, health, *more])


def _facts(values: Sequence[float]) -> NDArray[np.float32]:
    """Return facts as an array, those out of bounds clipped."""
    if max(values) > MAX_FACT or min(values) < -MAX_FACT:
        values = [max(-MAX_FACT, min(value, MAX_FACT)) for value in values]
    return np.array(values, np.float32)


EMPTY: Final = " "
"""Character of a cell without visible sprites."""

_STATUS_CHARS: Final = 120
"""Limit of the status line, without names."""

_SPARE_CHARACTERS: Final = string.ascii_letters + string.digits + "@#$%&*+=?!<>^~:;"


def characters(definition: GameDefinition) -> Mapping[int, str]:
    """Return a character for each visible type.

    It is the level's character for a cell in which the type is on top; for types that no level character puts
    on top, an unused letter of their name, or any other unused character.
    """
    seen = visible_types(definition)
    height = {number: at for at, number in enumerate(seen)}
    chosen: dict[int, str] = {}
    for character, numbers in definition.mapping.items():
        shown = [number for number in numbers if number in height]
        if shown and character != EMPTY:
            chosen.setdefault(max(shown, key=height.__getitem__), character)
    taken = {*chosen.values(), EMPTY}
    for number in seen:
        if number not in chosen:
            name = definition.types[number].name
            wanted = name.upper() + name + _SPARE_CHARACTERS
            free = (c for c in wanted if c not in taken and c in _SPARE_CHARACTERS)
            chosen[number] = next(free, "?")
            taken.add(chosen[number])
    return chosen


class TextView:
    """Writes states of one game as text."""

    def __init__(self, definition: GameDefinition) -> None:
        self._types = definition.types
        self._characters = characters(definition)
        self._height = {number: at for at, number in enumerate(visible_types(definition))}
        self._columns: list[tuple[Column | None, str, frozenset[int]]] = []

    def show(self, state: StateObservation) -> str:
        """Return a status line, the board, and a legend of the characters on it."""
        board = self.board(state)
        present = frozenset().union(*[types for _, _, types in self._columns])
        return "\n".join([self._status(state), *board, self._legend(present)])

    def space(self, width: int, height: int) -> spaces.Text:
        """Return the space of the texts of a level."""
        names = [self._types[number].name for number in self._characters]
        # A name is in the legend, and beside an amount of at most ten digits.
        longest = height * (width + 1) + sum(2 * len(name) + 16 for name in names) + _STATUS_CHARS
        letters = {*string.printable, *self._characters.values(), *"".join(names)}
        return spaces.Text(longest, charset="".join(sorted(letters)))

    def board(self, state: StateObservation) -> list[str]:
        """Return the rows of the level: in each cell the sprite that is drawn last."""
        return ["".join(row) for row in zip(*self._read(state.observation_grid), strict=True)]

    def show_planes(self, seen: Planes, view: PlanesView) -> str:
        """Return planes as text: the board of `show`, and the facts of the avatar by their names."""
        planes = seen["planes"]
        height = np.arange(1, len(planes) + 1, dtype=np.uint16)[:, None, None]
        top = ((planes != 0) * height).max(axis=0)  # planes are in the order in which sprites are drawn
        letters = [EMPTY, *(self._characters[number] for number in view.types)]
        rows = ["".join([letters[cell] for cell in row]) for row in top.tolist()]
        names = [*AVATAR_FACTS, *(self._types[number].name for number in view.resources)]
        facts = zip(names, seen["avatar"].tolist(), strict=True)
        status = "  ".join(f"{name} {fact:.4g}" for name, fact in facts)
        present = {view.types[plane] for plane in np.flatnonzero(planes.any(axis=(1, 2))).tolist()}
        return "\n".join([status, *rows, self._legend(present)])

    def _read(self, grid: Grid) -> list[str]:
        """Return the columns of the level as text; unchanged ones are reused."""
        if len(self._columns) != len(grid):
            self._columns = [(None, "", frozenset())] * len(grid)
        for at, column in enumerate(grid):
            if self._columns[at][0] is not column:
                text = "".join([self._top(cell) for cell in column])
                self._columns[at] = (
                    column,
                    text,
                    frozenset([seen.itype for cell in column for seen in cell]),
                )
        return [text for _, text, _ in self._columns]

    def _top(self, cell: Cell) -> str:
        if not cell:
            return EMPTY
        height = self._height
        top = cell[0] if len(cell) == 1 else max(cell, key=lambda seen: height[seen.itype])
        return self._characters[top.itype]

    def _status(self, state: StateObservation) -> str:
        parts = [f"score {state.game_score:g}", f"tick {state.game_tick}"]
        if state.avatar_health_points or state.avatar_max_health_points:
            parts.append(f"health {state.avatar_health_points}/{state.avatar_max_health_points}")
        parts += [
            f"{self._types[number].name} {n}" for number, n in sorted(state.avatar_resources.items()) if n
        ]
        if state.is_game_over:
            parts.append(
                {"PLAYER_WINS": "won", "PLAYER_LOSES": "lost"}.get(state.game_winner, "disqualified")
            )
        return "  ".join(parts)

    def _legend(self, present: Iterable[int]) -> str:
        """Return the legend of the characters of some types."""
        return "  ".join(
            [f"{self._characters[number]} {self._types[number].name}" for number in sorted(present)]
        )
