"""Parser of games: from the text of a VGDL game to its definition.

Rule for mistakes: those that the original ignores, with a message or without, become a `GameNotice`. Those
with which it stops reading, or crashes later on, raise one `GameError` with the position, the word and
similar valid words. One mistake is noted here and rejected later: a level character whose line names an
undefined sprite. Two public games have such lines, and none of their levels uses them.
"""

from __future__ import annotations

__all__ = ["MAX_COUNTERS", "MAX_SQUARE", "load_game", "read_game"]

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from flagfall.tasks.vgdl.definition import (
    AVATAR,
    WALL,
    EffectRule,
    GameDefinition,
    TerminationRule,
)
from flagfall.tasks.vgdl.language.effect_schema import TERMINATIONS
from flagfall.tasks.vgdl.language.errors import CutShortWarning, GameError, Notices, UnknownNameError
from flagfall.tasks.vgdl.language.interaction_set import read_interactions
from flagfall.tasks.vgdl.language.line_tree import Line, Word, load_text, parse_lines, report_strays
from flagfall.tasks.vgdl.language.parameters import Names, by_key, read_parameters, require
from flagfall.tasks.vgdl.language.schema import Parameters, text, whole
from flagfall.tasks.vgdl.language.sprite_set import SpriteSet, read_sprite_set

MAX_SQUARE: Final = 1000
"""Limit of pixels a cell; the public games have 80 at most."""

MAX_COUNTERS: Final = 1000
"""Limit of counters of a game."""

_BLOCKS: Final = ("SpriteSet", "LevelMapping", "InteractionSet", "TerminationSet")
_STOPS_AT_UNKNOWN: Final = ("InteractionSet", "TerminationSet")
"""Blocks in which the original logs an undefined name, stops reading, and plays what it has."""

_HEADER: Final[Parameters] = {
    "square_size": whole(-1),
    "key_handler": text(),
    "no_players": whole(1),
    "no_counters": whole(0),
    "obs": text(),
}


def load_game(path: str | Path) -> GameDefinition:
    """Read a game from a file.

    Args:
        path: the path of the file.

    Raises:
        GameError: the game is invalid.
        OSError: the file cannot be read.
    """
    return read_game(load_text(path), str(path))


def read_game(text: str, file: str = "game") -> GameDefinition:
    """Parse the text of a game.

    Args:
        text: VGDL.
        file: name of the file in messages; its stem is the name of the game.

    Raises:
        GameError: the game is invalid.
    """
    notices = Notices()
    root = parse_lines(text, file, notices)
    return _GameParser(root, file, notices).definition()


class _GameParser:
    """Parses the blocks of one game in file order."""

    def __init__(self, root: Line, file: str, notices: Notices) -> None:
        self._root = root
        self._file = file
        self._notices = notices
        self._sprites: SpriteSet | None = None
        self._mapping: dict[str, tuple[Word, ...]] = {}
        self._rules: list[EffectRule] = []
        self._terminations: list[TerminationRule] = []

    def definition(self) -> GameDefinition:
        """Parse all blocks."""
        header = self._header()
        self._blocks()
        if self._sprites is None:
            raise GameError(self._root.place, "no SpriteSet below this line")
        square, counters = header["square_size"], header["no_counters"]
        assert isinstance(square, int)
        assert isinstance(counters, int)
        return GameDefinition(
            name=Path(self._file).stem,
            types=self._sprites.types,
            order=self._sprites.order,
            limits=self._sprites.limits,
            mapping=self._characters(self._sprites.names),
            rules=tuple(self._rules),
            terminations=tuple(self._terminations),
            square_size=None if square == -1 else square,
            counters=counters,
            unmapped=self._unmapped(self._sprites.names),
            obstacles=self._obstacles(self._sprites.names),
            notices=self._notices.all(),
        )

    def _blocks(self) -> None:
        """Parse the blocks, up to an undefined name at which the original stops."""
        for block in self._root.below:
            try:
                self._block(block)
            except UnknownNameError as unknown:
                if block.first.text not in _STOPS_AT_UNKNOWN:
                    raise
                text = f"{unknown.text}; nothing from this line on is read, as in the original"
                self._notices.add(unknown.place, text)
                warnings.warn(f"{unknown.place}: {text}", CutShortWarning, stacklevel=2)
                return

    def _header(self) -> Mapping[str, object]:
        first = self._root.first
        if first.text != "BasicGame":
            raise GameError.unknown(first.place, "game class", first.text, ["BasicGame"])
        for word in self._root.words:
            if word.is_parameter and not word.has_value:
                raise GameError(word.place, f"{word.text!r} has no value")
        given = by_key(self._root.words)
        for key, word in given.items():
            if key not in _HEADER:
                self._notices.add(word.place, f"a game has no parameter {key!r}")
        values = read_parameters(_HEADER, given, Names(), self._notices)
        _within(given, values, "square_size", 1, MAX_SQUARE, -1)
        _within(given, values, "no_counters", 0, MAX_COUNTERS, 0)
        players = values["no_players"]
        if isinstance(players, int) and players > 1:
            text = f"a game for {players} players: only games for one player can be played"
            raise GameError(given["no_players"].place, text)
        _within(given, values, "no_players", 1, 1, 1)
        return values

    def _block(self, block: Line) -> None:
        name = block.first.text
        if name not in _BLOCKS:
            text = f"{name!r} is not a block and is ignored; the blocks are {', '.join(_BLOCKS)}"
            self._notices.add(block.place, text, logged=False)
        elif name == "SpriteSet":
            if self._sprites is not None:
                raise GameError(block.place, "a second SpriteSet")
            self._sprites = read_sprite_set(block, self._notices)
        elif name == "LevelMapping":
            self._map(block)
        elif name == "InteractionSet":
            for rule in read_interactions(block, self._names(block), self._notices):
                self._rules.append(rule)  # one by one: those before an undefined name count
        else:
            for end in self._ends(block):
                self._terminations.append(end)

    def _names(self, block: Line) -> Names:
        if self._sprites is None:
            raise GameError(
                block.place, f"{block.first.text} must come after the SpriteSet, whose names it uses"
            )
        return self._sprites.names

    def _map(self, block: Line) -> None:
        for line in block.below:
            character, *rest = line.words
            if len(character.text) > 1:
                text = f"only {character.text[0]!r} of {character.text!r} counts"
                self._notices.add(character.place, text, logged=False)
            if not rest or rest[0].text != ">":
                self._notices.add(line.place, "a mapping is 'character > sprite ...'", logged=False)
            self._mapping[character.text[0]] = tuple(rest[1:])
            report_strays(line, self._notices)

    def _characters(self, names: Names) -> dict[str, tuple[int, ...]]:
        """Return the mapping with type numbers; two characters are mapped by default."""
        mapping: dict[str, tuple[int, ...]] = {"w": (WALL,), "A": (AVATAR,)}
        for character, words in self._mapping.items():
            mapping[character] = tuple(names.ids[word.text] for word in words if word.text in names)
        return mapping

    def _unmapped(self, names: Names) -> dict[str, str]:
        """Return the characters that cannot be used in a level, with their undefined sprites."""
        unmapped: dict[str, str] = {}
        for character, words in self._mapping.items():
            for word in words:
                if word.text not in names:
                    unmapped.setdefault(character, word.text)
                    text = f"{character!r} cannot be used in a level: unknown sprite {word.text!r}"
                    self._notices.add(word.place, text, logged=False)
        return unmapped

    def _ends(self, block: Line) -> Iterator[TerminationRule]:
        names = self._names(block)
        for line in block.below:
            kind = line.first
            if kind.text not in TERMINATIONS:
                raise GameError.unknown(kind.place, "termination", kind.text, TERMINATIONS)
            known, given = TERMINATIONS[kind.text].parameters, by_key(line.words[1:])
            values = read_parameters(known, given, names, self._notices)
            for key, word in given.items():
                if key not in known:
                    self._notices.add(word.place, f"{kind.text} has no parameter {key!r}")
            require(kind, known, given, values)
            yield TerminationRule(kind.text, values, kind.place)
            report_strays(line, self._notices)

    def _obstacles(self, names: Names) -> tuple[int, ...] | None:
        word = by_key(self._root.words).get("obs")
        if word is None:
            return None
        return names.ids_of(word.split()[1], word)


def _within(
    given: Mapping[str, Word], values: Mapping[str, object], key: str, least: int, most: int, free: int
) -> None:
    """Reject a number of the header that is out of bounds."""
    value = values[key]
    assert isinstance(value, int)
    if value != free and not least <= value <= most:
        raise GameError(given[key].place, f"{key} must be from {least} to {most}")
