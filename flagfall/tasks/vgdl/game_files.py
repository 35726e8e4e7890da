"""Files of games and levels: those that are part of flagfall, and others by path.

A game is a name (`windfall`) or a file (`games/zelda.txt`). Its level N is the file beside it whose name ends
in `_lvlN.txt`; a level can also be a file with any other name.
"""

from __future__ import annotations

__all__ = ["LEVELS", "game_ids", "game_path", "level_path", "level_paths"]

import re
from pathlib import Path
from typing import Final

from flagfall.errors import UsageError, suggest

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

    Args:
        game: name of a game that is part of flagfall, or a file whose name ends in `.txt`.

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
        game: file of its game.
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
    """Return the levels beside a game's file, by number.

    Args:
        game: its file.
    """
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
