"""Pseudo-words for words: the same tasks in an unknown language.

The teacher's text is scrambled and the learner's is translated back, so tasks only see plain text. A word
consists of ASCII letters, digits and underscores; everything else is unchanged. Letters are replaced by
letters and digits by digits, so capitals can be restored. The vocabulary is an involution: if `say` becomes
`uje`, then `uje` becomes `say`, so every text can be translated back.
"""

from __future__ import annotations

__all__ = ["Scrambler"]

import re
from collections.abc import Iterator
from itertools import count, cycle
from random import Random
from string import ascii_lowercase, digits
from typing import Final

_VOWELS: Final = "aeiouy"
_CONSONANTS: Final = "bcdfghjklmnpqrstvwxz"
_WORD: Final = re.compile(r"\w*[a-z0-9]\w*", re.ASCII | re.IGNORECASE)

_DRAWS: Final = 200
"""Attempts to draw a pseudo-word of one length before a longer one is taken. A single free one among the 26
of length one is missed once in 2,500 times."""


class Scrambler:
    """A vocabulary of pseudo-words that grows with the teacher's texts.

    Args:
        rng: the source of the pseudo-words.
    """

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._words: dict[str, str] = {}

    def scramble(self, text: str) -> str:
        """Translate a text of the teacher; new words get new pseudo-words.

        Args:
            text: plain text.
        """
        return _WORD.sub(lambda word: self._translate(word.group(), learn=True), text)

    def unscramble(self, text: str) -> str:
        """Translate a text of the learner back; unknown words are unchanged.

        Args:
            text: text in pseudo-words.
        """
        return _WORD.sub(lambda word: self._translate(word.group(), learn=False), text)

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
