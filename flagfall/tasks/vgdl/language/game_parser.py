"""Parser of games: from the text of a VGDL game to its definition.

Rule for mistakes: those that the original ignores, with a message or without, become a `GameNotice`. Those
with which it stops reading, or crashes later on, raise one `GameError` with the position, the word and
similar valid words. One mistake is noted here and rejected later: a level character whose line names an
undefined sprite. Two public games have such lines, and none of their levels uses them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from flagfall.tasks.vgdl.definition import (
    AVATAR,
    WALL,
    EffectContext,
    EffectRule,
    GameDefinition,
    TerminationRule,
)
from flagfall.tasks.vgdl.language.line_tree import Line, Word, load_text, parse_lines, report_strays
from flagfall.tasks.vgdl.language.schema import (
    Names,
    Parameters,
    by_key,
    read_parameters,
    require,
    text,
    whole,
)
from flagfall.tasks.vgdl.language.sprite_set import SpriteSet, read_sprite_set
from flagfall.tasks.vgdl.language.tables import EFFECTS, TERMINATIONS, TIMED
from flagfall.tasks.vgdl.language.values import CutShortWarning, GameError, Notices, UnknownNameError

MAX_REPEAT: Final = 1000
"""Limit of how often one line runs on a pair in a tick; the public games need 10."""


def read_interactions(block: Line, names: Names, notices: Notices) -> Iterator[EffectRule]:
    """Yield the rules of the lines below `InteractionSet`.

    A line makes one rule, or two if `EOS` is among other sprites (`ghost EOS ghost`); both have the same
    `place`, and share the state of the effect.

    Raises:
        UnknownNameError: an unknown effect or an undefined sprite.
        GameError: a line without `>` or without an effect.
    """
    for line in block.below:
        yield from _LineParser(line, names, notices).rules()
        report_strays(line, notices)


class _LineParser:
    """Parses one line."""

    def __init__(self, line: Line, names: Names, notices: Notices) -> None:
        self._names = names
        self._notices = notices
        self._line = line
        bare = [word for word in line.words if not word.is_parameter]
        arrow = next((number for number, word in enumerate(bare) if word.text == ">"), None)
        if arrow is None:
            raise GameError(line.place, "no '>': an interaction is 'sprite sprite > effect'")
        self._sprites, after = bare[:arrow], [word for word in bare[arrow:] if word.text != ">"]
        if len(self._sprites) < 2:  # noqa: PLR2004 - the first and at least one other
            raise GameError(
                line.place, "an interaction needs two sprites, or a sprite and EOS or TIME, before '>'"
            )
        if not after:
            raise GameError(
                bare[arrow].place, f"no effect after '>'; some are {', '.join(list(EFFECTS)[:5])}"
            )
        for word in after[:-1]:
            notices.add(
                word.place, f"{word.text!r} is ignored; {after[-1].text!r} is the effect", logged=False
            )
        self._effect = after[-1]
        self._given = by_key(line.words)

    def rules(self) -> Iterator[EffectRule]:
        """Yield the rules of the line."""
        first, *seconds = self._sprites
        if self._is_special(first, "TIME") or self._is_special(seconds[0], "TIME"):
            yield self._timed(first, seconds)
            return
        if self._is_special(first, "EOS"):
            for second in seconds:
                yield self._rule(EffectContext.EDGE, self._id(second), ())
            return
        edges = [word for word in seconds if self._is_special(word, "EOS")]
        others = tuple(self._id(word) for word in seconds if word not in edges)
        if others:
            yield self._rule(EffectContext.PAIR, self._id(first), others)
        for _ in edges:
            yield self._rule(EffectContext.EDGE, self._id(first), ())

    def _is_special(self, word: Word, special: str) -> bool:
        """Return whether a word is `EOS` or `TIME`; a sprite of that name takes precedence."""
        return word.text not in self._names and word.text.upper() == special

    def _id(self, word: Word) -> int:
        return self._names.id(word.text, word)

    def _timed(self, first: Word, seconds: list[Word]) -> EffectRule:
        if len(seconds) > 1:
            raise GameError(seconds[1].place, "TIME takes one sprite")
        target = seconds[0] if self._is_special(first, "TIME") else first
        rule = self._rule(EffectContext.TIME, self._id(target), (), TIMED)
        if rule.parameters["repeating"] and rule.parameters["timer"] < 1:
            raise GameError(self._line.place, "a repeating TIME effect needs timer=1 or more")
        return rule

    def _rule(
        self, context: EffectContext, first: int, seconds: tuple[int, ...], more: Parameters | None = None
    ) -> EffectRule:
        name = self._effect.text
        if name not in EFFECTS:
            raise UnknownNameError.unknown(self._effect.place, "effect", name, EFFECTS)
        values = self._values(name, {**EFFECTS[name].parameters, **(more or {})})
        shielded = self._given.get("ftype")
        if name == "shieldFrom" and shielded is not None and values["ftype"] not in EFFECTS:
            self._notices.add(shielded.place, f"there is no effect {values['ftype']!r}", logged=False)
        inner = self._inner(first) if name == "addTimer" else None
        known = values.keys() | (inner.parameters.keys() if inner else set())
        timed = context is EffectContext.TIME or inner is not None
        for key, word in self._given.items():
            if key not in known:
                self._notices.add(word.place, f"{name} has no parameter {key!r}", logged=not timed)
        return EffectRule(
            effect=name,
            context=context,
            first=first,
            seconds=seconds,
            parameters=values,
            written=frozenset(self._given),
            place=self._line.place,
            inner=inner,
        )

    def _inner(self, first: int) -> EffectRule:
        """Return the effect that an `addTimer` runs later, from the same line."""
        word = self._given.get("ftype")
        name = word.split()[1] if word else ""
        if name not in EFFECTS or name == "addTimer":
            raise GameError.unknown(word.place if word else self._line.place, "effect (ftype)", name, EFFECTS)
        values = self._values(name, EFFECTS[name].parameters)
        return EffectRule(
            name, EffectContext.PAIR, first, (), values, frozenset(self._given), self._line.place
        )

    def _values(self, name: str, known: Parameters) -> Mapping[str, Any]:
        values = read_parameters(known, self._given, self._names, self._notices)
        require(Word(name, self._effect.place), known, self._given, values)
        if values["repeat"] > MAX_REPEAT:
            raise GameError(self._given["repeat"].place, f"repeat must be at most {MAX_REPEAT}")
        return values


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

    Raises:
        GameError: the game is invalid.
        OSError: the file cannot be read.
    """
    return read_game(load_text(path), str(path))


def read_game(text: str, file: str = "game") -> GameDefinition:
    """Parse the text of a game.

    Args:
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
        square = header["square_size"]
        return GameDefinition(
            name=Path(self._file).stem,
            types=self._sprites.types,
            order=self._sprites.order,
            limits=self._sprites.limits,
            mapping=self._characters(self._sprites.names),
            rules=tuple(self._rules),
            terminations=tuple(self._terminations),
            square_size=None if square == -1 else square,
            counters=header["no_counters"],
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

    def _header(self) -> Mapping[str, Any]:
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
        if values["no_players"] > 1:
            text = f"a game for {values['no_players']} players: only games for one player can be played"
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
        return None if word is None else names.ids_of(word.split()[1], word)


def _within(
    given: Mapping[str, Word], values: Mapping[str, Any], key: str, least: int, most: int, free: int
) -> None:
    """Reject a number of the header that is out of bounds."""
    if values[key] != free and not least <= values[key] <= most:
        raise GameError(given[key].place, f"{key} must be from {least} to {most}")
