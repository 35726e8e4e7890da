"""A state as text: one character a cell, as in the game's own levels if they have one for the type."""

from __future__ import annotations

__all__ = ["EMPTY", "TextView", "characters"]

import string
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from gymnasium import spaces

from flagfall.tasks.vgdl.views.visible_types import visible_types

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.definition import GameDefinition
    from flagfall.tasks.vgdl.views.state_observation import Cell, Column, Grid, StateObservation

EMPTY: Final = " "
"""Character of a cell without visible sprites."""

_STATUS_CHARS: Final = 120
"""Limit of the status line, without names."""

_SPARE_CHARACTERS: Final = string.ascii_letters + string.digits + "@#$%&*+=?!<>^~:;"


def characters(definition: GameDefinition) -> Mapping[int, str]:
    """Return a character for each visible type.

    It is the level's character for a cell in which the type is on top; for types that no level character puts
    on top, an unused letter of their name, or any other unused character.

    Args:
        definition: the definition of the game.
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
    """Writes states of one game as text.

    Args:
        definition: the definition of the game.
    """

    def __init__(self, definition: GameDefinition) -> None:
        self._types = definition.types
        self._characters = characters(definition)
        self._height = {number: at for at, number in enumerate(visible_types(definition))}
        self._columns: list[tuple[Column | None, str, frozenset[int]]] = []

    def show(self, state: StateObservation) -> str:
        """Return a status line, the board, and a legend of the characters on it.

        Args:
            state: the state of the game.
        """
        return "\n".join([self._status(state), *self.board(state), self._legend()])

    def space(self, width: int, height: int) -> spaces.Text:
        """Return the space of the texts of a level.

        Args:
            width: the width of the level, in cells.
            height: the height of the level, in cells.
        """
        names = [self._types[number].name for number in self._characters]
        # A name is in the legend, and beside an amount of at most ten digits.
        longest = height * (width + 1) + sum(2 * len(name) + 16 for name in names) + _STATUS_CHARS
        letters = {*string.printable, *self._characters.values(), *"".join(names)}
        return spaces.Text(longest, charset="".join(sorted(letters)))

    def board(self, state: StateObservation) -> list[str]:
        """Return the rows of the level: in each cell the sprite that is drawn last.

        Args:
            state: the state of the game.
        """
        return ["".join(row) for row in zip(*self._read(state.observation_grid), strict=True)]

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

    def _legend(self) -> str:
        """Return the legend of the characters on the last board."""
        present = frozenset().union(*[types for _, _, types in self._columns])
        return "  ".join(
            [f"{self._characters[number]} {self._types[number].name}" for number in sorted(present)]
        )
