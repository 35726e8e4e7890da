"""Words of the CommAI tasks: the vocabulary, the teacher's phrases, and pseudo-words for words.

A vocabulary file has one word per line, in lower-case letters; empty lines and lines that start with `#` are
skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, count, cycle
from pathlib import Path
from random import Random
from string import ascii_lowercase, digits
from typing import Final

import attrs

from flagfall.errors import UsageError

MAX_CHARS: Final = 8 * 2**20
"""Longest vocabulary file; half a million words take five million characters."""

COMMON_WORDS: Final = 200
"""Number of the most frequent words, from which micro-task 6 draws."""

NEW_WORDS: Final = slice(200, 400)
"""The free words that micro-task 20 may give a new meaning."""

LEAST_FREE_WORDS: Final = NEW_WORDS.stop
"""Least number of free words: enough for all of `NEW_WORDS`."""

SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = {
    "say": ("say", "print", "write"),
    "after": ("after", "behind", "next"),
    "union": ("union", "consolidate", "joint"),
    "exclude": ("exclude", "prohibit", "ignore", "remove"),
}
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


_PRAISE: Final = ("good job.", "bravo.", "congratulations.", "nice work.", "correct.")
_BLAME: Final = ("wrong!", "wrong.", "you failed!", "incorrect.")
_TOO_LATE: Final = ("time is out!", "sorry, time is out!", "too bad, time out!")

NUMBERS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
"""The words for 0 to 10; greater numbers are written in digits only."""

ITALIAN_NUMBERS: Final = (
    "zero",
    "uno",
    "due",
    "tre",
    "quattro",
    "cinque",
    "sei",
    "sette",
    "otto",
    "nove",
    "dieci",
)
"""The Italian words for 0 to 10."""


def praise(rng: Random) -> str:
    """Return a phrase for a right answer."""
    return rng.choice(_PRAISE)


def blame(rng: Random) -> str:
    """Return a phrase for a wrong answer."""
    return rng.choice(_BLAME)


def too_late(rng: Random) -> str:
    """Return a phrase for the end of the time."""
    return rng.choice(_TOO_LATE)


def number_forms(value: int, words: Sequence[str] = NUMBERS) -> tuple[str, ...]:
    """Return all ways to write a number: digits, and its word if it has one.

    Args:
        words: the words for 0, 1, 2 and so on.
    """
    return (str(value), words[value]) if 0 <= value < len(words) else (str(value),)


def number(value: int, rng: Random, words: Sequence[str] = NUMBERS) -> str:
    """Return one of the ways to write a number."""
    return rng.choice(number_forms(value, words))


def a(noun: str) -> str:
    """Return a noun with its indefinite article, which depends on the first letter only."""
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def plural(noun: str, count: int = 2) -> str:
    """Return a noun as it follows a number; the plural only appends `s`, so `potatos`."""
    return noun if count == 1 else f"{noun}s"


def listed(items: Sequence[str]) -> str:
    """Join items as in `a, b and c`."""
    return " and ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)


# Pseudo-words for words: the same tasks in an unknown language.
#
# The teacher's text is scrambled and the learner's is translated back, so tasks only see plain text. A word
# consists of ASCII letters, digits and underscores; everything else is unchanged. Letters are replaced by
# letters and digits by digits, so capitals can be restored. The vocabulary is an involution: if `say`
# becomes `uje`, then `uje` becomes `say`, so every text can be translated back.

_VOWELS: Final = "aeiouy"
_CONSONANTS: Final = "bcdfghjklmnpqrstvwxz"
_SCRAMBLED_WORD: Final = re.compile(r"\w*[a-z0-9]\w*", re.ASCII | re.IGNORECASE)

_DRAWS: Final = 200
"""Attempts to draw a pseudo-word of one length before a longer one is taken. A single free one among the 26
of length one is missed once in 2,500 times."""


class Scrambler:
    """A vocabulary of pseudo-words that grows with the teacher's texts."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._words: dict[str, str] = {}

    def scramble(self, text: str) -> str:
        """Translate a text of the teacher; new words get new pseudo-words."""
        return _SCRAMBLED_WORD.sub(lambda word: self._translate(word.group(), learn=True), text)

    def unscramble(self, text: str) -> str:
        """Translate a text of the learner back; unknown words are unchanged."""
        return _SCRAMBLED_WORD.sub(lambda word: self._translate(word.group(), learn=False), text)

    def _translate(self, word: str, *, learn: bool) -> str:
        plain = word.lower()
        if plain not in self._words:
            if not learn:
                return word
            new = self._draw(plain)
            self._words[plain] = new
            self._words[new] = plain
        return _with_capitals_of(word, self._words[plain])

    def _draw(self, word: str) -> str:
        """Return an unused pseudo-word of the same length; a longer one if those are used up."""
        for more in count():
            for _ in range(_DRAWS):
                new = self._readable(word + more * word[-1])
                if new != word and new not in self._words:
                    return new
        raise AssertionError  # pragma: no cover - there is always a longer one

    def _readable(self, word: str) -> str:
        """Return vowels and consonants in alternation in place of letters, digits in place of digits."""
        kinds = [_VOWELS, _CONSONANTS]
        if self._rng.random() < 0.5:  # noqa: PLR2004 - a coin
            kinds.reverse()
        letters = cycle(kinds)
        return "".join([self._instead_of(char, letters) for char in word])

    def _instead_of(self, char: str, letters: Iterator[str]) -> str:
        if char in ascii_lowercase:
            return self._rng.choice(next(letters))
        return self._rng.choice(digits) if char in digits else char


def _with_capitals_of(word: str, other: str) -> str:
    """Return `other` with the capitals of `word`; only with its first one if the lengths differ."""
    if len(word) != len(other):
        return other[:1].upper() + other[1:] if word[:1].isupper() else other
    return "".join([b.upper() if a.isupper() else b for a, b in zip(word, other, strict=True)])
