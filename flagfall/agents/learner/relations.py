"""Answers to questions with two possible answers, such as `true` and `false`.

No program can make such an answer from the words of the question; it depends on relations among them. So a
question is reduced to a few relations between its last word and the others (containment, and whether it is
made of them), and the right answers for questions with the same relations are counted. No word has a given
meaning: that `anything` allows more and `not` forbids is learned from the answers.
"""

from __future__ import annotations

__all__ = ["Relations", "relate"]

from collections import Counter, deque
from typing import Final, TypeAlias

from flagfall.agents.learner.programs import Sentence

Features: TypeAlias = tuple[object, ...]

_ANSWERS: Final = 2
"""Number of possible answers."""

_RECENT: Final = 32
"""Recent questions from which the number of possible answers is estimated."""

_ENOUGH: Final = 4
"""Minimum number of those questions."""

_NEARLY_ALL: Final = 0.9
"""Minimum share of the two most frequent answers; the others may be errors."""

_MOST_KNOWN: Final = 4096
"""Kinds of questions that are kept; beyond it, all are dropped."""


def relate(sentence: Sentence) -> Features:
    """Return the relations of the last word to the others.

    Words written like the last one (in capitals, or not) are parts that it may contain; the others are
    *particles*, and a part is known by the particle before it. For the parts after each particle: does the
    last word contain any of them, and all? And is it made of the parts that it contains, without a gap?
    """
    *words, last = sentence.slots
    parts: dict[bytes, list[bytes]] = {}
    particle = b""
    particles = set()
    for word in words:
        if word.isupper() == last.isupper():
            parts.setdefault(particle, []).append(word)
        else:
            particle = word
            particles.add(word)
    held = {
        key: (any(part in last for part in some), all(part in last for part in some))
        for key, some in parts.items()
    }
    every = [part for some in parts.values() for part in some]
    return (frozenset(particles), frozenset(held.items()), _is_made_of(last, every))


def _is_made_of(word: bytes, parts: list[bytes]) -> bool:
    """Return whether every byte of the word lies in one of the parts, which may overlap."""
    covered: set[int] = set()
    for part in parts:
        at = word.find(part)
        while at >= 0:
            covered.update(range(at, at + len(part)))
            at = word.find(part, at + 1)
    return len(covered) == len(word)


class Relations:
    """Counts of the right answers for each set of relations."""

    def __init__(self) -> None:
        self._recent: dict[Features, deque[bytes]] = {}
        self._right: dict[Features, Counter[bytes]] = {}

    def answer(self, sentence: Sentence) -> bytes | None:
        """Return the answer that was right for the same relations, or most often.

        `None` where there are more than two possible answers.
        """
        commands = _commands(sentence)
        recent = self._recent.get(commands, ())
        if len(recent) < _ENOUGH:
            return None
        usual = Counter(recent).most_common(_ANSWERS)
        if sum(count for _, count in usual) < _NEARLY_ALL * len(recent):
            return None
        known = self._right.get((*commands, *relate(sentence)), Counter())
        return max(usual, key=lambda answer: (known[answer[0]], answer[1]))[0]

    def learn(self, sentence: Sentence, answer: bytes) -> None:
        """Take the right answer to a question."""
        if max(len(self._right), len(self._recent)) > _MOST_KNOWN:
            self._right.clear()
            self._recent.clear()
        commands = _commands(sentence)
        self._recent.setdefault(commands, deque(maxlen=_RECENT)).append(answer)
        if self.answer(sentence) is not None:
            self._right.setdefault((*commands, *relate(sentence)), Counter())[answer] += 1


def _commands(sentence: Sentence) -> Features:
    return tuple(word for word in sentence.shape if word != b"*")
