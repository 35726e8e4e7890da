"""Parser of indentation: from text to a tree of lines, with the position of every word.

The rules are the original's. A comment runs from `#` to the end of the line; blank lines are ignored. The
indent is the number of characters before the first word, a tab being one. A line belongs to the nearest line
before it that is indented less. Mistakes that are noted and ignored: a second line at the level of the first
is dropped, and so is a line with a parameter that has no value (`key=`); lines below one parent whose indents
differ are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

from flagfall.tasks.vgdl.definition import SourcePosition
from flagfall.tasks.vgdl.language.values import GameError, Notices

MAX_TEXT: Final = 2**20
"""Limit of characters in a file. The largest public game has 4,906, the largest level file 1,750."""

MAX_LINES: Final = 20_000
"""Limit of lines that are not blank."""

MAX_DEPTH: Final = 64
"""Limit of nested lines; the public games need 5."""

MAX_WORDS: Final = 256
"""Limit of words on a line; the public games need 12."""

MAX_WORD: Final = 1000
"""Limit of characters in a word; the public games need 42."""

_MAX_UTF8_BYTES: Final = 4  # of one character
_WORD: Final = re.compile(r"[^\x00-\x20]+")  # the original trims and splits at everything up to the blank
_MAPPING: Final = "levelmapping"
_BLOCKS: Final = frozenset({"spriteset", "levelmapping", "interactionset", "terminationset", "parameterset"})


@attrs.frozen
class Word:
    """A word and its position."""

    text: str
    place: SourcePosition

    @property
    def is_parameter(self) -> bool:
        """True for a word of the form `key=value`."""
        return "=" in self.text

    @property
    def has_value(self) -> bool:
        """True if text follows the `=`."""
        return bool(self.text.partition("=")[2].strip("="))

    def split(self) -> tuple[str, str]:
        """Return key and value: the text before the first `=`, and between the first and the second."""
        key, value, *_ = self.text.split("=")
        return key, value


@attrs.define(eq=False)
class Line:
    """A line that is not blank.

    Attributes:
        words: at least one.
        indent: characters before the first word.
        depth: number of lines to which it belongs; 0 for the first line of the file.
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
        """Its first word."""
        return self.words[0]

    @property
    def place(self) -> SourcePosition:
        """Position of its first word."""
        return self.words[0].place


def load_text(path: str | Path) -> str:
    """Return the text of a file.

    Raises:
        GameError: it is too long, or not UTF-8.
        OSError: it cannot be read.
    """
    file = str(path)
    with Path(path).open("rb") as source:
        data = source.read(_MAX_UTF8_BYTES * MAX_TEXT + 1)
    if len(data) > _MAX_UTF8_BYTES * MAX_TEXT:
        raise GameError(SourcePosition(file, 1), f"more than {MAX_TEXT} characters")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as bad:
        place = SourcePosition(file, data.count(b"\n", 0, bad.start) + 1)
        raise GameError(place, "this is not UTF-8 text") from None


def numbered_lines(text: str, file: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of every line; lines end at a newline, a carriage return or both.

    Raises:
        GameError: the text is too long.
    """
    if len(text) > MAX_TEXT:
        raise GameError(SourcePosition(file, 1), f"more than {MAX_TEXT} characters")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines and not lines[-1]:
        lines.pop()  # nothing follows the end of the last line
    return enumerate(lines, start=1)


def parse_lines(text: str, file: str, notices: Notices) -> Line:
    """Return the first line of a text, with all others below it.

    Raises:
        GameError: there is no line, or a limit is exceeded.
    """
    last: Line | None = None
    root: Line | None = None
    block = ""
    count = 0
    for number, raw in numbered_lines(text, file):
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
        raise GameError(SourcePosition(file, 1), "the file is empty; a game begins with BasicGame")
    return root


def report_strays(line: Line, notices: Notices) -> None:
    """Report the lines below a line that can have none."""
    for stray in line.below:
        text = f"indented below {line}, which takes no lines; it is ignored"
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
    """Report a parameter without a value; return whether there is one."""
    for word in line.words:
        if word.is_parameter and not word.has_value:
            notices.add(word.place, f"{word.text!r} has no value; the line is ignored")
            return True
    return False


def _attach(line: Line, last: Line | None, notices: Notices) -> bool:
    """Put a line below its parent; return whether it has one."""
    parent = last
    while parent is not None and parent.indent >= line.indent:
        parent = parent.above
    if parent is None:
        notices.add(line.place, f"a second line at the level of the first; {line.first.text!r} is ignored")
        return False
    line.above, line.depth = parent, parent.depth + 1
    if line.depth > MAX_DEPTH:
        raise GameError(line.place, f"more than {MAX_DEPTH} nested lines")
    if parent.below and parent.below[0].indent != line.indent:
        here, there = line.indent, parent.below[0].indent
        notices.add(line.place, f"indented by {here}, but its siblings by {there}; it is kept with them")
    parent.below.append(line)
    return True
