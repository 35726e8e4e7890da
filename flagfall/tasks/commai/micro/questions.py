"""Where the questions of a micro-task come from: one fresh source for each instance.

A source draws questions, judges answers and knows what the learner could know. The loop that speaks,
punishes and listens is `micro_engine`; it takes any source.
"""

from __future__ import annotations

__all__ = [
    "RIGHT",
    "WRONG",
    "AnswerVerdict",
    "Feedback",
    "Knowledge",
    "OptionsLeft",
    "Patience",
    "QuestionSource",
    "TableQuestions",
    "in_blocks",
    "one_by_one",
    "uniformly",
]

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from random import Random


class AnswerVerdict(NamedTuple):
    """What an answer was worth.

    Attributes:
        correct: whether it was right.
        reward: what is paid for it.
    """

    correct: bool
    reward: int


RIGHT: Final = AnswerVerdict(correct=True, reward=1)
WRONG: Final = AnswerVerdict(correct=False, reward=-1)

Knowledge: TypeAlias = Callable[[bytes, bool], bool]
"""Told of each question and whether it was answered rightly, says whether the learner should know by now."""

Feedback: TypeAlias = Callable[[bytes, bool], bytes]
"""The text said after an answer, from the right answer and whether it was given."""


class QuestionSource(ABC):
    """The questions of one instance.

    Attributes:
        fixes: answers are judged without the slips of the original.
    """

    fixes: bool = False

    @abstractmethod
    def draw(self) -> bytes:
        """The next question, as it is said, separator included; at least one byte."""

    @abstractmethod
    def judge(self, heard: bytearray) -> AnswerVerdict | None:
        """What the learner's answer is worth; `None` while it goes on.

        Args:
            heard: all that the learner said since the question; asked about anew with every byte.
        """

    @abstractmethod
    def should_know(self, correct: bool) -> bool:
        """Take note of the answer just judged; whether the learner has what it needs from now on.

        Asked after every answer until it says yes.
        """

    def feedback(self, correct: bool) -> bytes:  # noqa: ARG002 - most character tasks say nothing
        """What is said after an answer, separator included; may be empty."""
        return b""


class TableQuestions(QuestionSource):
    """Questions from a table of right answers.

    An answer is judged when it is as long as the right one, so the learner cannot end it early, and
    its length tells the learner something (quirks of the original that agents may rely on).

    Attributes:
        answers: the right answer to every key.
        key: the key of the present question.
        answer: the right answer to it.
    """

    def __init__(
        self,
        answers: Mapping[bytes, bytes],
        keys: Iterator[bytes],
        knowledge: Knowledge,
        separator: bytes = b"",
        feedback: Feedback | None = None,
    ) -> None:
        self.answers = answers
        self.key = self.answer = b""
        self._keys = keys
        self._knowledge = knowledge
        self._separator = separator
        self._feedback = feedback

    def draw(self) -> bytes:
        """The next key and the separator."""
        self.key = key = next(self._keys)
        self.answer = self.answers[key]
        return key + self._separator

    def judge(self, heard: bytearray) -> AnswerVerdict | None:
        """Right or wrong at exactly the length of the right answer."""
        answer = self.answer
        if len(heard) < len(answer):
            return None
        return RIGHT if heard == answer else WRONG

    def should_know(self, correct: bool) -> bool:
        """What the knowledge rule says."""
        return self._knowledge(self.key, correct)

    def feedback(self, correct: bool) -> bytes:
        """What the feedback rule says; nothing where there is none."""
        return b"" if self._feedback is None else self._feedback(self.answer, correct)


def uniformly(rng: Random, keys: Sequence[bytes]) -> Iterator[bytes]:
    """Keys for ever, each drawn uniformly and independently."""
    while True:
        yield rng.choice(keys)


def in_blocks(rng: Random, keys: Sequence[bytes]) -> Iterator[bytes]:
    """Keys for ever: among each n * n of them, every one of the n keys comes exactly n times."""
    block = [key for key in keys for _ in keys]
    while True:
        rng.shuffle(block)
        yield from block


def one_by_one(characters: bytes) -> list[bytes]:
    """The characters of a text, each as a text of its own."""
    return [characters[at : at + 1] for at in range(len(characters))]


class OptionsLeft:
    """Knowledge by elimination: the learner should know once every key has one option left.

    A right answer leaves one option, a wrong one strikes one out. Keys that are not mentioned have one.
    """

    def __init__(self, options: Mapping[bytes, int]) -> None:
        self._open = {key: left for key, left in options.items() if left > 1}

    def __call__(self, key: bytes, correct: bool) -> bool:
        """Strike out; whether nothing is open any more."""
        left = self._open.get(key)
        if left is not None:
            if correct or left == 2:  # noqa: PLR2004 - one of two goes, one is left
                del self._open[key]
            else:
                self._open[key] = left - 1
        return not self._open


class Patience:
    """Knowledge of one hidden target: by a right answer to a telling key, or by patience running out.

    It is the question after `wrong_answers` wrong ones that decides, because the original counts down only
    after it has looked; so the learner should know one question later than one would think.
    """

    def __init__(self, wrong_answers: int, telling: Container[bytes]) -> None:
        self._left = wrong_answers
        self._telling = telling
        self._known = False

    def __call__(self, key: bytes, correct: bool) -> bool:
        """Count; whether the target is known."""
        if self._left == 0 or (correct and key in self._telling):
            self._known = True
        if not correct:
            self._left -= 1
        return self._known
