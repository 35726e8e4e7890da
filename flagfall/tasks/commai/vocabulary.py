"""Vocabulary of the sentence tasks, from frequent to rare words; the default one is in `words.txt`.

A vocabulary file has one word per line, in lower-case letters; empty lines and lines that start with `#` are
skipped.
"""

from __future__ import annotations

__all__ = [
    "COMMON_WORDS",
    "LEAST_FREE_WORDS",
    "NEW_WORDS",
    "SYNONYMS",
    "Vocabulary",
    "default_vocabulary",
    "load_vocabulary",
    "parse_vocabulary",
]

import re
from functools import cache
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import attrs

from flagfall.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_CHARS: Final = 8 * 2**20
"""Longest vocabulary file; half a million words take five million characters."""

COMMON_WORDS: Final = 200
"""Number of the most frequent words, from which micro-task 6 draws."""

NEW_WORDS: Final = slice(200, 400)
"""The free words that micro-task 20 may give a new meaning."""

LEAST_FREE_WORDS: Final = NEW_WORDS.stop
"""Least number of free words: enough for all of `NEW_WORDS`."""

SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "say": ("say", "print", "write"),
        "after": ("after", "behind", "next"),
        "union": ("union", "consolidate", "joint"),
        "exclude": ("exclude", "prohibit", "ignore", "remove"),
    }
)
"""Synonyms of the words of instructions, used in micro-task 19."""

# The original has synonyms of `and` and `or`, too: no question shows them, but they exclude words.
_UNSEEN: Final = ("and", "together with", "&", "also", "or", "alternative", "/")

_RESERVED: Final = re.compile("|".join(map(re.escape, chain(_UNSEEN, *SYNONYMS.values()))))
_WORD: Final = re.compile("[a-z]+")


@attrs.frozen(eq=False)
class Vocabulary:
    """A vocabulary.

    Attributes:
        all: all words, from frequent to rare.
        common: the most frequent words.
        free: the words that contain no word of an instruction and none of its synonyms.
        new: the free words that may be given a new meaning.
    """

    all: tuple[str, ...]
    common: tuple[str, ...] = attrs.field(init=False)
    free: tuple[str, ...] = attrs.field(init=False)
    new: tuple[str, ...] = attrs.field(init=False)

    @common.default
    def _common(self) -> tuple[str, ...]:
        return self.all[:COMMON_WORDS]

    @free.default
    def _free(self) -> tuple[str, ...]:
        return tuple(word for word in self.all if not _RESERVED.search(word))

    @new.default
    def _new(self) -> tuple[str, ...]:
        return self.free[NEW_WORDS]


@cache
def default_vocabulary() -> Vocabulary:
    """Return the vocabulary shipped with flagfall."""
    return load_vocabulary(Path(__file__).with_name("words.txt"))


def load_vocabulary(path: Path) -> Vocabulary:
    """Load a vocabulary from a file.

    Args:
        path: the file.

    Raises:
        UsageError: the file cannot be read or is not a vocabulary; the message names the line.
    """
    try:
        with path.open(encoding="ascii") as file:
            text = file.read(MAX_CHARS + 1)
    except OSError as error:
        raise UsageError(f"words {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        line = 1 + error.object.count(b"\n", 0, error.start)
        raise UsageError(f"words {path}: line {line}: only the letters a to z make words") from error
    if len(text) > MAX_CHARS:
        raise UsageError(f"words {path}: more than {MAX_CHARS} characters")
    return parse_vocabulary(text.splitlines(), str(path))


def parse_vocabulary(lines: Iterable[str], name: str) -> Vocabulary:
    """Parse a vocabulary.

    Args:
        lines: the lines of a vocabulary file.
        name: the name of the vocabulary in messages.

    Raises:
        UsageError: a line is not a word or a word is repeated (the message names the line), or there are
            too few words for the tasks.
    """
    first_seen: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        word = line.strip()
        if not word or word.startswith("#"):
            continue
        if not _WORD.fullmatch(word):
            raise UsageError(
                f"words {name}: line {number}: {word!r} is not one word in lower-case letters a to z"
            )
        if word in first_seen:
            raise UsageError(f"words {name}: line {number}: {word!r} is in line {first_seen[word]} already")
        first_seen[word] = number
    words = Vocabulary(tuple(first_seen))
    _refuse_shortage(words, name)
    return words


def _refuse_shortage(words: Vocabulary, name: str) -> None:
    if len(words.free) < LEAST_FREE_WORDS:
        raise UsageError(
            f"words {name}: at least {LEAST_FREE_WORDS} words must be free of {_RESERVED.pattern!r}, "
            f"{len(words.free)} of {len(words.all)} are"
        )
    # Micro-task 20 draws words that contain none of its new words: some must always remain.
    holding = {new: sum(new in word for word in words.free) for new in words.new}
    worst = sorted(words.new, key=holding.__getitem__)[-len(SYNONYMS) :]
    if sum(holding[new] for new in worst) >= len(words.free):
        raise UsageError(f"words {name}: too many words contain {' or '.join(worst)}: move these up or down")
