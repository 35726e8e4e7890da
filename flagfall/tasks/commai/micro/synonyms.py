"""Micro-tasks 19 and 20: known instructions with synonyms, and with new words that the question explains."""

from __future__ import annotations

__all__ = ["SYNONYM_TASKS", "NewWordQuestions", "SynonymQuestions"]

import re
from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Final

from flagfall.tasks.commai.micro.engine import MicroRow
from flagfall.tasks.commai.micro.limits import LENIENT_RULES
from flagfall.tasks.commai.micro.sentences import (
    CORRECTING,
    Draw,
    Question,
    SentenceQuestions,
    after_letter,
    edit_letters,
    operate,
    say_words,
)
from flagfall.tasks.commai.vocabulary import SYNONYMS, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

_DRAWS: Final[Sequence[Draw]] = (say_words, operate, edit_letters, after_letter)

_ORIGINAL: Final = re.compile(rf"\b(?:{'|'.join(SYNONYMS)})\b")


class _Rephrased(ABC):
    """The questions of four other tasks, rephrased: each instance has those of one task, in random order.

    The order continues from instance to instance: it belongs to the task object, not to a seed.
    """

    def __init__(self, words: Vocabulary) -> None:
        self._words = words
        self._bag: list[Draw] = []

    def __call__(self, rng: Random) -> SentenceQuestions:
        """Return the questions of the next instance."""
        if not self._bag:
            self._bag = rng.sample(_DRAWS, len(_DRAWS))
        return self._questions(rng, self._bag.pop())

    @abstractmethod
    def _questions(self, rng: Random, draw: Draw) -> SentenceQuestions:
        """Return the questions of one instance."""


class SynonymQuestions(_Rephrased):
    """Micro-task 19: each word of an instruction may be replaced by a synonym."""

    def _questions(self, rng: Random, draw: Draw) -> SentenceQuestions:
        plain = partial(draw, rng, partial(rng.choice, self._words.free))
        return SentenceQuestions(lambda: self._rephrased(rng, plain()), CORRECTING)

    def _rephrased(self, rng: Random, question: Question) -> Question:
        called = {original: rng.choice(options) for original, options in SYNONYMS.items()}
        return question._replace(text=_renamed(question.text, called))


class NewWordQuestions(_Rephrased):
    """Micro-task 20: one word of every instruction is replaced by a new one, which the question explains."""

    def _questions(self, rng: Random, draw: Draw) -> SentenceQuestions:
        called = dict(zip(SYNONYMS, rng.sample(self._words.new, len(SYNONYMS)), strict=True))

        def word() -> str:
            while True:
                drawn = rng.choice(self._words.free)
                if not any(new in drawn for new in called.values()):
                    return drawn

        return SentenceQuestions(lambda: self._explained(rng, draw(rng, word), called), CORRECTING)

    def _explained(self, rng: Random, question: Question, called: Mapping[str, str]) -> Question:
        original = rng.choice(sorted(set(_ORIGINAL.findall(question.text))))
        new = called[original]
        text = _renamed(question.text, {original: new})
        return question._replace(text=f"{new} is as {original} - {text}")


def _renamed(text: str, called: Mapping[str, str]) -> str:
    return _ORIGINAL.sub(lambda found: called.get(found[0], found[0]), text)


SYNONYM_TASKS: Final = {
    "micro19": MicroRow(SynonymQuestions, rules=LENIENT_RULES, has_words=True),
    "micro20": MicroRow(NewWordQuestions, rules=LENIENT_RULES, has_words=True),
}
"""Micro-tasks 19 and 20, by id."""
