"""Sources of the questions of a micro-task; each instance has its own.

A source draws questions, judges answers and tracks what the learner could know. The loop around it is
`flagfall.tasks.commai.micro.engine`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from random import Random


class AnswerVerdict(NamedTuple):
    """The judgement of an answer.

    Attributes:
        correct: whether the answer was right.
    """

    correct: bool
    reward: int


RIGHT: Final = AnswerVerdict(correct=True, reward=1)
WRONG: Final = AnswerVerdict(correct=False, reward=-1)

Knowledge: TypeAlias = Callable[[bytes, bool], bool]
"""Takes each question and whether the answer was right; returns whether the learner should know by now."""

Feedback: TypeAlias = Callable[[bytes, bool], bytes]
"""Returns the text after an answer, from the right answer and whether it was given."""


class QuestionSource(ABC):
    """The questions of one instance.

    Attributes:
        fixes: whether answers are judged without the errors of the original.
    """

    fixes: bool = False

    @abstractmethod
    def draw(self) -> bytes:
        """Return the next question as it is sent, with its separator; at least one byte."""

    @abstractmethod
    def judge(self, heard: bytearray) -> AnswerVerdict | None:
        """Judge an answer; called after every byte of it.

        Args:
            heard: everything the learner sent since the question.

        Returns:
            the judgement; `None` while the answer is incomplete.
        """

    @abstractmethod
    def should_know(self, correct: bool) -> bool:
        """Return whether the learner has seen all it needs; called after every answer until it is true."""

    def feedback(self, correct: bool) -> bytes:  # noqa: ARG002 - most character tasks have none
        """Return the text after an answer, with its separator; may be empty."""
        return b""


class TableQuestions(QuestionSource):
    """Questions from a table of right answers.

    An answer is judged when it is as long as the right one, so the learner cannot end it early, and the
    length gives information away (quirks of the original that agents may rely on).

    Attributes:
        answers: the right answer to every key.
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
        self.key: bytes = b""
        self.answer: bytes = b""
        self._keys = keys
        self._knowledge = knowledge
        self._separator = separator
        self._feedback = feedback

    def draw(self) -> bytes:
        """Return the next key and the separator."""
        self.key = key = next(self._keys)
        self.answer = self.answers[key]
        return key + self._separator

    def judge(self, heard: bytearray) -> AnswerVerdict | None:
        """Judge an answer at exactly the length of the right one."""
        answer = self.answer
        if len(heard) < len(answer):
            return None
        return RIGHT if heard == answer else WRONG

    def should_know(self, correct: bool) -> bool:
        """Apply the knowledge rule."""
        return self._knowledge(self.key, correct)

    def feedback(self, correct: bool) -> bytes:
        """Apply the feedback rule, if there is one."""
        return b"" if self._feedback is None else self._feedback(self.answer, correct)


def uniformly(rng: Random, keys: Sequence[bytes]) -> Iterator[bytes]:
    """Yield keys for ever, drawn uniformly and independently."""
    # The draws of `rng.choice`, without its two calls a draw.
    count, random_bits = len(keys), rng.getrandbits
    bits = count.bit_length()
    while True:
        number = random_bits(bits)
        while number >= count > 0:  # without keys the next line raises
            number = random_bits(bits)
        yield keys[number]


def in_blocks(rng: Random, keys: Sequence[bytes]) -> Iterator[bytes]:
    """Yield keys for ever, in blocks of n * n that have each of the n keys exactly n times."""
    block = [key for key in keys for _ in keys]
    while True:
        rng.shuffle(block)
        yield from block


def one_by_one(characters: bytes) -> list[bytes]:
    """Return the characters of a text as texts of length one."""
    return [characters[at : at + 1] for at in range(len(characters))]


class OptionsLeft:
    """Knowledge by elimination: the learner should know once every key has one option left.

    A right answer leaves one option, a wrong one removes one.

    Args:
        options: number of options at the start, by key; other keys have one.
    """

    def __init__(self, options: Mapping[bytes, int]) -> None:
        self._open = {key: left for key, left in options.items() if left > 1}

    def __call__(self, key: bytes, correct: bool) -> bool:
        """Remove options; return whether every key has one left."""
        left = self._open.get(key)
        if left is not None:
            if correct or left == 2:  # noqa: PLR2004 - one of two goes, one is left
                del self._open[key]
            else:
                self._open[key] = left - 1
        return not self._open


class Patience:
    """Knowledge of one hidden target: from a right answer to certain keys, or after many wrong answers.

    The original counts down after it has checked, so the learner should know one question after
    `wrong_answers` wrong answers.

    Args:
        telling: the keys whose right answer reveals the target.
    """

    def __init__(self, wrong_answers: int, telling: Container[bytes]) -> None:
        self._left = wrong_answers
        self._telling = telling
        self._known = False

    def __call__(self, key: bytes, correct: bool) -> bool:
        """Count the answer; return whether the target should be known."""
        if self._left == 0 or (correct and key in self._telling):
            self._known = True
        if not correct:
            self._left -= 1
        return self._known
