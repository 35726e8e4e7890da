"""Pseudo-words for words: the same tasks in a language that nobody has met before.

What the teacher says is scrambled, what the learner says is translated back, so tasks only ever see plain
text. A word is made of the letters, digits and underscores of ASCII; all else stays as it is. Letters stand
for letters and digits for digits, so capitals find their way back. The vocabulary is an involution: if `say`
is `uje` then `uje` is `say`, which keeps every text legible whatever is in it.
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
"""How often a pseudo-word of one length is drawn before a longer one is taken. A single free one of the 26
with one letter is then missed once in 2,500 times."""


class Scrambler:
    """A vocabulary that grows by what the teacher says, and lasts as long as the object.

    Args:
        rng: where the pseudo-words come from.
    """

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._words: dict[str, str] = {}

    def scramble(self, text: str) -> str:
        """What the learner hears when the teacher says `text`; new words get their pseudo-words."""
        return _WORD.sub(lambda word: self._translate(word.group(), learn=True), text)

    def unscramble(self, text: str) -> str:
        """What the teacher hears when the learner says `text`; unknown words stay as they are."""
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
        """A pseudo-word of the same length that means nothing yet; a longer one where those are used up."""
        for more in count():
            for _ in range(_DRAWS):
                new = self._readable(word + more * word[-1])
                if new != word and new not in self._words:
                    return new
        raise AssertionError  # pragma: no cover - there is always a longer one

    def _readable(self, word: str) -> str:
        """Vowels and consonants by turns where the word has letters, digits where it has digits."""
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
    """`other` with the capitals of `word`, letter by letter, or only the first where lengths differ."""
    if len(word) != len(other):
        return other[:1].upper() + other[1:] if word[:1].isupper() else other
    return "".join([b.upper() if a.isupper() else b for a, b in zip(word, other, strict=True)])
