"""Parser of levels: from the text of a level to its definition.

The first line determines the width: shorter lines are padded with blanks, longer ones are truncated. Every
line is a row, empty ones included.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from flagfall.tasks.vgdl.definition import GameDefinition, LevelDefinition, SourcePosition
from flagfall.tasks.vgdl.language.line_tree import load_text, numbered_lines
from flagfall.tasks.vgdl.language.tables import SPRITE_CLASSES
from flagfall.tasks.vgdl.language.values import GameError, Notices

MAX_CELLS: Final = 250_000
"""Limit of cells of a level, padded; the largest public level has 1,725."""

MAX_PLACED: Final = 10_000
"""Limit of sprites of a level, as in the original."""


def load_level(definition: GameDefinition, path: str | Path) -> LevelDefinition:
    """Read a level from a file.

    Raises:
        GameError: the level is invalid.
        OSError: the file cannot be read.
    """
    return read_level(definition, load_text(path), str(path))


def read_level(definition: GameDefinition, text: str, file: str = "level") -> LevelDefinition:
    """Parse the text of a level.

    Sprites are in the order in which they are made: row by row, left to right, in a cell as mapped. A second
    sprite of a singleton type is left out. Of several avatars only the first stays in a play (the others have
    used up their numbers), with a notice.

    Args:
        file: name of the file in messages; its stem is the name of the level.

    Raises:
        GameError: no rows, too large, too many sprites, a sprite that cannot be made, no avatar.
    """
    rows = list(numbered_lines(text, file))
    width = len(rows[0][1]) if rows else 0
    if width == 0:
        raise GameError(
            SourcePosition(file, 1), "the first line of a level determines its width, and this one is empty"
        )
    if width * len(rows) > MAX_CELLS:
        raise GameError(SourcePosition(file, 1), f"{width} x {len(rows)} cells: the limit is {MAX_CELLS}")
    builder = _LevelBuilder(definition, file)
    for y, (_, row) in enumerate(rows):
        for x, character in enumerate(row[:width]):
            builder.add(character, x, y)
    if not builder.has_avatar:
        raise GameError(SourcePosition(file, 1), "no avatar in this level")
    return LevelDefinition(
        name=Path(file).stem,
        width=width,
        height=len(rows),
        sprites=tuple(builder.sprites),
        notices=builder.notices.all(),
    )


class _LevelBuilder:
    """Collects the sprites of a level."""

    def __init__(self, definition: GameDefinition, file: str) -> None:
        self._definition = definition
        self._file = file
        self.has_avatar = False
        self._present: set[int] = set()
        self.sprites: list[tuple[int, int, int]] = []
        self.notices = Notices()

    def add(self, character: str, x: int, y: int) -> None:
        """Add the sprites of a character."""
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
        above = (self._definition.types[type_id] for type_id in sprite_type.path)
        if any(not self._present.isdisjoint(it.subtypes) for it in above if it.singleton):
            return
        if SPRITE_CLASSES[sprite_type.kind].is_avatar:
            if self.has_avatar:
                self.notices.add(where, f"a second avatar ({sprite_type.name!r}); the first one stays")
            self.has_avatar = True
        self._present.add(type_id)
        if len(self.sprites) == MAX_PLACED:
            raise GameError(where, f"more than {MAX_PLACED} sprites")
        self.sprites.append((x, y, type_id))
