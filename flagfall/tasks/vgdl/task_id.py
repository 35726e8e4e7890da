"""What `vgdl:games/zelda.txt#3:observation=image` means: a game, a level of it, and how it is seen.

    vgdl:GAME[#LEVEL][:OPTION=VALUE]...

GAME is a file (its name ends in `.txt`) or the name of a game that comes with flagfall. LEVEL is a number,
for the file `GAME_lvl3.txt` beside the game, or a file of its own; without one it is level 0.
"""

from __future__ import annotations

__all__ = ["OBSERVATIONS", "PREFIX", "TaskId"]

from typing import TYPE_CHECKING, Any, Final

import attrs

from flagfall.errors import UsageError, suggest
from flagfall.tasks.vgdl.game_files import game_path, level_path
from flagfall.tasks.vgdl.language.game_parser import load_game
from flagfall.tasks.vgdl.language.level_parser import load_level

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.definition import GameDefinition, LevelDefinition

PREFIX: Final = "vgdl:"

OBSERVATIONS: Final = ("state", "planes", "image", "text")
"""How a play can be seen."""

USUAL_BLOCK: Final = 10
"""Pixels a cell: what the learning track plays all games with."""

MIN_BLOCK: Final = 2
"""Pixels a cell, at least, as in the original."""

MAX_BLOCK: Final = 200
"""Pixels a cell, at most: pictures grow with the square of it."""

_OWN_BLOCK: Final = "own"


def _is_observation(_task: TaskId, _field: Any, value: str) -> None:
    if value not in OBSERVATIONS:
        raise UsageError(f"observation={value}: there is no such observation{suggest(value, OBSERVATIONS)}")


def _is_pixels(_task: TaskId, field: Any, value: int | None) -> None:
    if value is not None and not (type(value) is int and MIN_BLOCK <= value <= MAX_BLOCK):
        raise UsageError(f"{field.name}={value}: write a whole number from {MIN_BLOCK} to {MAX_BLOCK}")


@attrs.frozen
class TaskId:
    """A game, a level, and how it is seen.

    Attributes:
        game: a file or a name.
        level: a number or a file.
        observation: one of `OBSERVATIONS`.
        block: pixels a cell, of which the speed of things depends; `None`, written `own`: as the game has it.
        pixels: pixels a cell in pictures.

    Raises:
        UsageError: an option cannot be.
    """

    game: str
    level: str = "0"
    observation: str = attrs.field(default="state", validator=_is_observation)
    block: int | None = attrs.field(default=USUAL_BLOCK, validator=_is_pixels)
    pixels: int = attrs.field(default=USUAL_BLOCK, validator=_is_pixels)

    @classmethod
    def parse(cls, text: str) -> TaskId:
        """What a text means; see the top of this file.

        Raises:
            UsageError: it means nothing.
        """
        place, *parts = text.removeprefix(PREFIX).split(":")
        game, _, level = place.partition("#")
        if not game:
            raise UsageError(f"{text}: name a game, such as {PREFIX}games/zelda.txt#0")
        chosen: dict[str, Any] = {"level": level} if level else {}
        known = [field.name for field in attrs.fields(cls)][2:]
        for part in parts:
            name, equals, value = part.partition("=")
            if not equals or name not in known:
                raise UsageError(f"{text}: a game has no option {part!r}{suggest(name, known)}")
            if name in chosen:
                raise UsageError(f"{text}: {name} is given twice")
            chosen[name] = int(value) if value.isdecimal() and value.isascii() else value
        if chosen.get("block") == _OWN_BLOCK:
            chosen["block"] = None
        return cls(game, **chosen)

    def __str__(self) -> str:
        """The shortest text that `parse` takes; it is the id of the task."""
        told = [f"{PREFIX}{self.game}#{self.level}"]
        for field in attrs.fields(type(self))[2:]:
            value = getattr(self, field.name)
            if value != field.default:
                told.append(f"{field.name}={_OWN_BLOCK if value is None else value}")
        return ":".join(told)

    def load(self) -> tuple[GameDefinition, LevelDefinition]:
        """Read the game and the level.

        Raises:
            UsageError: there is none of that name, or it cannot be played; names file, line and column.
        """
        game = game_path(self.game)
        definition = load_game(game)
        return definition, load_level(definition, level_path(game, self.level))
