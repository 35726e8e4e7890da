"""Questions with two answers, such as `true` and `false`: which does a question's last word call for?

No program can make such an answer from the question's words; it depends on how they relate. So a question is
reduced to a few relations between its last word and the others (does it contain them, is it made of them?),
and what was right for questions with the same relations is remembered. Nothing is known beforehand of what
any word means: that `anything` allows more and `not` forbids shows in the answers that go with them.
"""

from __future__ import annotations

__all__ = ["Relations", "relate"]

from collections import Counter, deque
from typing import Final, TypeAlias

from flagfall.agents.learner.programs import Sentence

Features: TypeAlias = tuple[object, ...]

_ANSWERS: Final = 2
"""How many answers there may be."""

_RECENT: Final = 32
"""How many questions tell how many answers there are."""

_ENOUGH: Final = 4
"""How many of them it takes at least."""

_NEARLY_ALL: Final = 0.9
"""The share of them that two answers must have; the others may be misheard."""

_MOST_KNOWN: Final = 4096
"""Kinds of questions remembered; then all are forgotten."""


def relate(sentence: Sentence) -> Features:
    """How the last word relates to the others.

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
    """Whether every byte of the word lies in one of the parts; they may overlap."""
    covered: set[int] = set()
    for part in parts:
        at = word.find(part)
        while at >= 0:
            covered.update(range(at, at + len(part)))
            at = word.find(part, at + 1)
    return len(covered) == len(word)


class Relations:
    """Remembers which of two answers goes with which relations."""

    def __init__(self) -> None:
        self._recent: dict[Features, deque[bytes]] = {}
        self._right: dict[Features, Counter[bytes]] = {}

    def answer(self, sentence: Sentence) -> bytes | None:
        """What was right for the same relations, or most often; `None` if there are more than two answers."""
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
        """This is the right answer to that."""
        if max(len(self._right), len(self._recent)) > _MOST_KNOWN:
            self._right.clear()
            self._recent.clear()
        commands = _commands(sentence)
        self._recent.setdefault(commands, deque(maxlen=_RECENT)).append(answer)
        if self.answer(sentence) is not None:
            self._right.setdefault((*commands, *relate(sentence)), Counter())[answer] += 1


def _commands(sentence: Sentence) -> Features:
    return tuple(word for word in sentence.shape if word != b"*")
