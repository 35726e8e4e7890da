"""Ids of VGDL tasks: a game, a level, and the form of observations.

vgdl:GAME[#LEVEL][:OPTION=VALUE]...

for example `vgdl:games/zelda.txt#3:observation=image`. GAME is a file whose name ends in `.txt`, or the name
of a game that is part of flagfall. LEVEL is a number, for the file `GAME_lvl3.txt` beside the game, or a
file; the default is level 0.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import attrs

from flagfall.errors import UsageError, suggest
from flagfall.tasks.vgdl.definition import GameDefinition, LevelDefinition

LEVELS: Final = 5
"""Number of levels of each game that is part of flagfall."""

_GAMES: Final = Path(__file__).parent / "games"
_END: Final = ".txt"
_LEVEL: Final = re.compile(r"_lvl([0-9]+)\.txt$")
_MAX_DIGITS: Final = 9
_MAX_FILES: Final = 1000  # a search for similar names takes too long among more


def game_ids() -> tuple[str, ...]:
    """Return the names of the games that are part of flagfall."""
    return tuple(sorted(path.stem for path in _GAMES.glob(f"*{_END}") if not _LEVEL.search(path.name)))


def game_path(game: str) -> Path:
    """Return the file of a game.

    Raises:
        UsageError: there is no such game.
    """
    if game in game_ids():
        return _GAMES / f"{game}{_END}"
    if not game.endswith(_END):
        raise UsageError(f"no game {game!r}{suggest(game, game_ids())}; a file's name ends in {_END}")
    path = Path(game)
    if not path.is_file():
        raise UsageError(f"no file {game!r}{_beside(path)}")
    return path


def level_path(game: Path, level: str | int) -> Path:
    """Return the file of a level.

    Args:
        level: its number, or its file.

    Raises:
        UsageError: there is no such level.
    """
    text = str(level)
    if text.isdecimal() and text.isascii():
        levels = level_paths(game)
        if len(text) > _MAX_DIGITS or int(text) not in levels:
            known = (
                f"it has {', '.join(map(str, levels))}"
                if levels
                else f"there is no {game.stem}_lvl0{_END} beside it"
            )
            raise UsageError(f"{game.stem} has no level {text}; {known}")
        return levels[int(text)]
    path = Path(text)
    if not path.is_file():
        raise UsageError(f"no level {text!r}: write a number or the name of a file{_beside(path)}")
    return path


def level_paths(game: Path) -> dict[int, Path]:
    """Return the levels beside a game's file, by number."""
    found = {}
    for path in game.parent.glob("*" + _END):
        number = _LEVEL.search(path.name)
        if number and path.name == f"{game.stem}{number.group()}" and len(number[1]) <= _MAX_DIGITS:
            found[int(number[1])] = path
    return dict(sorted(found.items()))


def _beside(path: Path) -> str:
    """Return a hint to files with similar names."""
    if not path.parent.is_dir():
        return f"; there is no folder {str(path.parent)!r}"
    names = [other.name for other in path.parent.glob(f"*{_END}")]
    return suggest(path.name, names) if path.suffix == _END and len(names) <= _MAX_FILES else ""


PREFIX: Final = "vgdl:"

OBSERVATIONS: Final = ("state", "planes", "image", "text")
"""Forms of observations."""

DEFAULT_BLOCK: Final = 10
"""Pixels a cell, as in the learning track."""

MIN_BLOCK: Final = 2
"""Least pixels a cell, as in the original."""

MAX_BLOCK: Final = 200
"""Limit of pixels a cell: the size of pictures grows with its square."""

_OWN_BLOCK: Final = "own"


def _is_observation(_task: TaskId, _field: Any, value: str) -> None:
    if value not in OBSERVATIONS:
        raise UsageError(f"unknown observation {value!r}{suggest(value, OBSERVATIONS)}")


def _is_pixels(_task: TaskId, field: Any, value: int | None) -> None:
    if value is not None and not (type(value) is int and MIN_BLOCK <= value <= MAX_BLOCK):
        raise UsageError(f"{field.name}={value}: write a whole number from {MIN_BLOCK} to {MAX_BLOCK}")


@attrs.frozen
class TaskId:
    """Id of a VGDL task.

    Attributes:
        game: a file or a name.
        level: a number or a file.
        block: pixels a cell, which affect speeds; `None`, written `own`, for the game's own.
        pixels: pixels a cell in pictures.

    Raises:
        UsageError: an option is invalid.
    """

    game: str
    level: str = "0"
    observation: str = attrs.field(default="state", validator=_is_observation)
    block: int | None = attrs.field(default=DEFAULT_BLOCK, validator=_is_pixels)
    pixels: int = attrs.field(default=DEFAULT_BLOCK, validator=_is_pixels)

    @classmethod
    def parse(cls, text: str) -> TaskId:
        """Return the id that a text represents; see the top of this module.

        Args:
            text: with or without `vgdl:`.

        Raises:
            UsageError: the text is invalid.
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
        """Return the shortest text that `parse` accepts: the id of the task."""
        parts = [f"{PREFIX}{self.game}#{self.level}"]
        for field in attrs.fields(type(self))[2:]:
            value = getattr(self, field.name)
            if value != field.default:
                parts.append(f"{field.name}={_OWN_BLOCK if value is None else value}")
        return ":".join(parts)

    def load(self) -> tuple[GameDefinition, LevelDefinition]:
        """Read the game and the level.

        Raises:
            UsageError: one does not exist, or is invalid; names file, line and column.
        """
        # The parsers take longer to import than all that a plan needs, and most plans name no game.
        from flagfall.tasks.vgdl.language.game_parser import load_game  # noqa: PLC0415
        from flagfall.tasks.vgdl.language.level_parser import load_level  # noqa: PLC0415

        game = game_path(self.game)
        definition = load_game(game)
        return definition, load_level(definition, level_path(game, self.level))
