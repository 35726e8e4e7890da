"""Text to a tree of lines: who is indented below whom, and where every word stands.

The rules are the original's. A comment runs from `#` to the end of the line; a blank line is nothing. The
indent is the number of characters before the first word, a tab being one. A line belongs to the nearest line
before it that is indented less. Mistakes that are told and read on with: a second line at the level of the
first is dropped, and so is a line with a parameter that has no value (`key=`); lines below one parent
whose indents differ are kept.
"""

from __future__ import annotations

__all__ = [
    "MAX_DEPTH",
    "MAX_LINES",
    "MAX_TEXT",
    "MAX_WORD",
    "MAX_WORDS",
    "Line",
    "Word",
    "load_text",
    "numbered",
    "read_lines",
    "tell_strays",
]

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

from flagfall.tasks.vgdl.definition import SourcePosition
from flagfall.tasks.vgdl.language.errors import GameError, Notices

MAX_TEXT: Final = 2**20
"""Characters in a file. The largest public game has 4,906, the largest level file 1,750."""

MAX_LINES: Final = 20_000
"""Lines that say something."""

MAX_DEPTH: Final = 64
"""Lines above each other; the public games need 5."""

MAX_WORDS: Final = 256
"""Words on a line; the public games need 12."""

MAX_WORD: Final = 1000
"""Characters of a word; the public games need 42."""

_LONGEST_CODE: Final = 4  # bytes of a character in UTF-8
_WORD: Final = re.compile(r"[^\x00-\x20]+")  # the original trims and splits at everything up to the blank
_MAPPING: Final = "levelmapping"
_BLOCKS: Final = frozenset({"spriteset", "levelmapping", "interactionset", "terminationset", "parameterset"})


@attrs.frozen
class Word:
    """A word and where it stands."""

    text: str
    place: SourcePosition

    @property
    def is_parameter(self) -> bool:
        """It has the form `key=value`."""
        return "=" in self.text

    @property
    def has_value(self) -> bool:
        """Something follows the `=`."""
        return bool(self.text.partition("=")[2].strip("="))

    def split(self) -> tuple[str, str]:
        """Key and value: what stands before the first `=` and between the first and the second."""
        key, value, *_ = self.text.split("=")
        return key, value


@attrs.define(eq=False)
class Line:
    """A line that says something.

    Attributes:
        words: at least one.
        indent: characters before the first word.
        depth: lines above it; 0 is the first line of the file.
        below: the lines that belong to it.
    """

    words: tuple[Word, ...]
    indent: int
    depth: int = 0
    above: Line | None = None
    below: list[Line] = attrs.Factory(list)

    def __str__(self) -> str:
        return f"{self.first.text!r} of line {self.place.line}"

    @property
    def first(self) -> Word:
        """The first word."""
        return self.words[0]

    @property
    def place(self) -> SourcePosition:
        """Where the line begins."""
        return self.words[0].place


def load_text(path: str | Path) -> str:
    """The text of a file.

    Raises:
        GameError: it is too long, or no UTF-8.
        OSError: it cannot be read.
    """
    file = str(path)
    with Path(path).open("rb") as source:
        data = source.read(_LONGEST_CODE * MAX_TEXT + 1)
    if len(data) > _LONGEST_CODE * MAX_TEXT:
        raise GameError(SourcePosition(file, 1), f"more than {MAX_TEXT} characters")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as bad:
        place = SourcePosition(file, data.count(b"\n", 0, bad.start) + 1)
        raise GameError(place, "this is no UTF-8 text") from None


def numbered(text: str, file: str) -> Iterator[tuple[int, str]]:
    """Number and text of every line; they end at a newline, a carriage return or both.

    Raises:
        GameError: the text is too long.
    """
    if len(text) > MAX_TEXT:
        raise GameError(SourcePosition(file, 1), f"more than {MAX_TEXT} characters")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines and not lines[-1]:
        lines.pop()  # the end of the last line is no further line
    return enumerate(lines, start=1)


def read_lines(text: str, file: str, notices: Notices) -> Line:
    """The first line of a text, with all others below it.

    Raises:
        GameError: there is no line, or too much of something.
    """
    last: Line | None = None
    root: Line | None = None
    block = ""
    count = 0
    for number, raw in numbered(text, file):
        line = _line(raw, number, file)
        if line is None:
            continue
        count += 1
        if count > MAX_LINES:
            raise GameError(line.place, f"more than {MAX_LINES} lines")
        opens = len(line.words) == 1 and line.first.text.lower() in _BLOCKS
        if opens:
            block = line.first.text.lower()
        if root is not None and block != _MAPPING and _lacks_value(line, notices):
            continue
        if root is None:
            root = last = line
        elif _attach(line, last, notices):
            last = line
            if opens and line.depth != 1:
                below = f"it is indented below {line.above}"
                raise GameError(
                    line.place, f"{line.first.text} must stand directly below the first line; {below}"
                )
    if root is None:
        raise GameError(SourcePosition(file, 1), "this is empty; a game begins with BasicGame")
    return root


def tell_strays(line: Line, notices: Notices) -> None:
    """Tell of lines below one that can have none."""
    for stray in line.below:
        text = f"indented below {line}, where nothing can stand; it is left out"
        notices.add(stray.place, text, logged=False)


def _line(raw: str, number: int, file: str) -> Line | None:
    content = raw.partition("#")[0]
    words = tuple(
        Word(m.group(), SourcePosition(file, number, m.start() + 1)) for m in _WORD.finditer(content)
    )
    if not words:
        return None
    if len(words) > MAX_WORDS:
        raise GameError(words[MAX_WORDS].place, f"more than {MAX_WORDS} words on a line")
    for word in words:
        if len(word.text) > MAX_WORD:
            raise GameError(word.place, f"a word of more than {MAX_WORD} characters")
    return Line(words, words[0].place.column - 1)


def _lacks_value(line: Line, notices: Notices) -> bool:
    """Tell of a parameter without a value."""
    for word in line.words:
        if word.is_parameter and not word.has_value:
            notices.add(word.place, f"{word.text!r} has no value; the line is left out")
            return True
    return False


def _attach(line: Line, last: Line | None, notices: Notices) -> bool:
    """Put a line below its parent; False where it has none."""
    parent = last
    while parent is not None and parent.indent >= line.indent:
        parent = parent.above
    if parent is None:
        notices.add(line.place, f"a second line at the level of the first; {line.first.text!r} is left out")
        return False
    line.above, line.depth = parent, parent.depth + 1
    if line.depth > MAX_DEPTH:
        raise GameError(line.place, f"more than {MAX_DEPTH} lines above each other")
    if parent.below and parent.below[0].indent != line.indent:
        here, there = line.indent, parent.below[0].indent
        notices.add(line.place, f"indented by {here}, but its siblings by {there}; it is kept with them")
    parent.below.append(line)
    return True
