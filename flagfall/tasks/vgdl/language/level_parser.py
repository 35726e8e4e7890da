"""The text of a level to its definition.

The first line says the width: shorter lines are filled up with blanks, longer ones cut.
Every line is a row, empty ones included.
"""

from __future__ import annotations

__all__ = ["MAX_CELLS", "MAX_PLACED", "load_level", "read_level"]

from pathlib import Path
from typing import Final

from flagfall.tasks.vgdl.definition import GameDefinition, LevelDefinition, SourcePosition, SpriteType
from flagfall.tasks.vgdl.language.errors import GameError, Notices
from flagfall.tasks.vgdl.language.line_tree import load_text, numbered
from flagfall.tasks.vgdl.language.sprite_schema import SPRITE_CLASSES

MAX_CELLS: Final = 250_000
"""Cells of a level, filled up; the largest public level has 1,725."""

MAX_PLACED: Final = 10_000
"""Sprites of a level: the original refuses to make more."""


def load_level(definition: GameDefinition, path: str | Path) -> LevelDefinition:
    """The level in a file.

    Raises:
        GameError: it is no level of this game.
        OSError: it cannot be read.
    """
    return read_level(definition, load_text(path), str(path))


def read_level(definition: GameDefinition, text: str, file: str = "level") -> LevelDefinition:
    """The level in a text, for a game.

    Sprites come in the order in which they are made: row by row, left to right, in a cell as mapped.
    A second sprite of a singleton type is not made. Of several avatars only the first stays
    in a play (the others have taken their numbers); they are told.

    Args:
        definition: the game.
        text: the rows.
        file: what messages call it; its stem is the level's name.

    Raises:
        GameError: no rows, too large, too many sprites, a sprite that cannot be made, no avatar.
    """
    rows = list(numbered(text, file))
    width = len(rows[0][1]) if rows else 0
    if width == 0:
        raise GameError(
            SourcePosition(file, 1), "the first line of a level says its width; this one is empty"
        )
    if width * len(rows) > MAX_CELLS:
        raise GameError(SourcePosition(file, 1), f"{width} x {len(rows)} cells; {MAX_CELLS} are the most")
    building = _Building(definition, file)
    for y, (_, row) in enumerate(rows):
        for x, character in enumerate(row[:width]):
            building.place(character, x, y)
    building.finish()
    return LevelDefinition(
        name=Path(file).stem,
        width=width,
        height=len(rows),
        sprites=tuple(building.sprites),
        notices=building.notices.all(),
    )


class _Building:
    """A level as it grows."""

    def __init__(self, definition: GameDefinition, file: str) -> None:
        self._definition = definition
        self._file = file
        self._avatar_seen = False
        self._present: set[int] = set()
        self.sprites: list[tuple[int, int, int]] = []
        self.notices = Notices()

    def place(self, character: str, x: int, y: int) -> None:
        """Put what a character means into a cell."""
        types = self._definition.mapping.get(character)
        where = SourcePosition(self._file, y + 1, x + 1)
        if character in self._definition.unmapped:
            name, names = self._definition.unmapped[character], (it.name for it in self._definition.types)
            raise GameError.unknown(where, f"sprite behind {character!r}:", name, names)
        if types is None:
            if character != " ":
                self.notices.add(where, f"{character!r} is not mapped; the cell stays empty")
            return
        for type_id in types:
            self._make(type_id, x, y, where)

    def _make(self, type_id: int, x: int, y: int, where: SourcePosition) -> None:
        sprite_type = self._definition.types[type_id]
        if sprite_type.kind is None:
            raise GameError(where, f"{sprite_type.name!r} has no class, so no sprite can be made of it")
        if self._is_taken(sprite_type):
            return
        if SPRITE_CLASSES[sprite_type.kind].is_avatar:
            if self._avatar_seen:
                self.notices.add(where, f"a second avatar ({sprite_type.name!r}); the first one stays")
            self._avatar_seen = True
        self._present.add(type_id)
        if len(self.sprites) == MAX_PLACED:
            raise GameError(where, f"more than {MAX_PLACED} sprites")
        self.sprites.append((x, y, type_id))

    def _is_taken(self, sprite_type: SpriteType) -> bool:
        """It, or a type above it, is a singleton that there is already."""
        above = (self._definition.types[type_id] for type_id in sprite_type.path)
        return any(not self._present.isdisjoint(it.subtypes) for it in above if it.singleton)

    def finish(self) -> None:
        """See that somebody plays.

        Raises:
            GameError: no avatar.
        """
        if not self._avatar_seen:
            raise GameError(SourcePosition(self._file, 1), "no avatar in this level")
