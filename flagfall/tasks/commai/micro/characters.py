"""Micro-tasks 1 to 4: questions and answers of one character, without feedback.

Alphabets, sizes and patience are those of round 1 of the General AI Challenge.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from functools import partial
from string import ascii_letters, ascii_lowercase, digits
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import attrs

from flagfall.tasks.commai.micro.engine import LENIENT_RULES, MAX_DRAWN, MicroRow
from flagfall.tasks.commai.micro.questions import (
    OptionsLeft,
    Patience,
    TableQuestions,
    in_blocks,
    one_by_one,
    uniformly,
)
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
from flagfall.tasks.commai.words import SYNONYMS, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random


LETTERS: Final = one_by_one(ascii_lowercase.encode())

PUNCTUATION: Final = one_by_one(b' !":?.,;')
"""The eight characters that micro-tasks 2 and 3 always want echoed."""

TARGET_ALPHABET: Final = one_by_one(ascii_letters.encode() + digits.encode() + b" ,.!;?-")
"""The 69 characters that micro-task 1 draws its alphabet from."""

TARGET_ALPHABET_SIZE: Final = 10
"""Number of characters in an instance of micro-task 1."""

ALPHABET_SIZE: Final = 4
"""Number of characters in an instance of micro-tasks 2, 3 and 4."""

# Wrong answers after which the learner should have tried everything; see `Patience` for the last one.
_TARGET_PATIENCE: Final = 69
_LETTER_PATIENCE: Final = 26

_LETTER_OPTIONS: Final = 26
"""Possible meanings of a letter in micro-task 3 before the first answer: 25 wrong answers leave one."""


def hidden_target(
    rng: Random, *, alphabet_size: int = TARGET_ALPHABET_SIZE, patience: int = _TARGET_PATIENCE
) -> TableQuestions:
    """Return the questions of micro-task 1: one character is the right answer to all of them.

    Args:
        alphabet_size: characters in use, 1 to 69; the target is one of them.
        patience: wrong answers to allow before the learner should know.
    """
    alphabet = rng.sample(TARGET_ALPHABET, alphabet_size)
    target = rng.choice(alphabet)
    return TableQuestions(
        dict.fromkeys(alphabet, target), uniformly(rng, alphabet), Patience(patience, alphabet)
    )


def hidden_letter(
    rng: Random, *, alphabet_size: int = ALPHABET_SIZE, patience: int = _LETTER_PATIENCE
) -> TableQuestions:
    """Return the questions of micro-task 2: one letter answers every letter; punctuation is echoed.

    Args:
        alphabet_size: letters in use, 1 to 26; the target is one of them.
        patience: wrong answers to allow before the learner should know.
    """
    letters = rng.sample(LETTERS, alphabet_size)
    answers = dict.fromkeys(letters, rng.choice(letters)) | _echoed(PUNCTUATION)
    return TableQuestions(answers, in_blocks(rng, list(answers)), Patience(patience, letters))


def letter_mapping(
    rng: Random, *, alphabet_size: int = ALPHABET_SIZE, options: int = _LETTER_OPTIONS
) -> TableQuestions:
    """Return the questions of micro-task 3: letters are permuted; punctuation is echoed.

    Args:
        alphabet_size: letters in use, 1 to 26.
        options: number of possible answers to each letter, as far as the learner knows at the start.
    """
    letters = rng.sample(LETTERS, alphabet_size)
    images = rng.sample(letters, alphabet_size)
    answers = dict(zip(letters, images, strict=True)) | _echoed(PUNCTUATION)
    knowledge = OptionsLeft(dict.fromkeys(letters, options))
    return TableQuestions(answers, in_blocks(rng, list(answers)), knowledge)


def echo(rng: Random, *, alphabet_size: int = ALPHABET_SIZE) -> TableQuestions:
    """Return the questions of micro-task 4: every character is its own answer, known from the start.

    Args:
        alphabet_size: characters in use, 1 to 34.
    """
    keys = rng.sample(LETTERS + PUNCTUATION, alphabet_size)
    return TableQuestions(_echoed(keys), in_blocks(rng, keys), OptionsLeft({}))


def _echoed(keys: list[bytes]) -> dict[bytes, bytes]:
    return {key: key for key in keys}


CHARACTER_TASKS: Final = {
    "micro1": MicroRow(
        hidden_target, settings={"alphabet_size": (1, len(TARGET_ALPHABET)), "patience": (1, None)}
    ),
    "micro2": MicroRow(hidden_letter, settings={"alphabet_size": (1, len(LETTERS)), "patience": (1, None)}),
    "micro3": MicroRow(
        letter_mapping, settings={"alphabet_size": (1, len(LETTERS)), "options": (1, MAX_DRAWN)}
    ),
    "micro4": MicroRow(echo, settings={"alphabet_size": (1, len(LETTERS + PUNCTUATION))}),
}
"""Micro-tasks 1 to 4, by id."""


# Micro-tasks 5.1 to 5.18: a mapping of digits to digits, with feedback after every answer.
#
# The tasks differ only in data: one row each. Sizes and separators are those of round 1 of the General AI
# Challenge.

MAPPING_SIZE: Final = 10
"""Number of keys drawn for an instance; duplicates collapse, so a mapping may be smaller."""

_DIGITS: Final = one_by_one(b"0123456789")

Digits: TypeAlias = tuple[int, int]
"""The least and the greatest number of digits, drawn uniformly."""


@attrs.frozen(kw_only=True)
class FeedbackRow:
    """The parameters of one task.

    Attributes:
        keys: `each` for every digit, or the number of digits drawn for a key.
        answers: `permutation` of the keys, or the number of digits drawn for an answer.
        dot: terminator of a drawn answer, which the learner has to send, too.
        noise: number of random digits, drawn each time, at the beginning of the feedback.
        plain_if_right: whether the dot is left out of the feedback to a right answer.
    """

    keys: Literal["each"] | Digits = "each"
    answers: Literal["permutation"] | Digits
    dot: bytes = b"."
    asks: bytes = b"."
    tells: bytes = b";"
    noise: Digits = (0, 0)
    plain_if_right: bool = False


ROWS: Final[Mapping[str, FeedbackRow]] = MappingProxyType(
    {
        "micro5.1": FeedbackRow(answers="permutation", dot=b"", asks=b"", tells=b""),
        "micro5.2": FeedbackRow(answers="permutation", dot=b"", asks=b""),
        "micro5.3": FeedbackRow(answers="permutation", dot=b""),
        "micro5.4": FeedbackRow(answers=(2, 2), dot=b""),
        "micro5.5": FeedbackRow(answers=(1, 1)),
        "micro5.6": FeedbackRow(answers=(1, 1), plain_if_right=True),
        "micro5.7": FeedbackRow(answers=(1, 2)),
        "micro5.8": FeedbackRow(keys=(2, 2), answers=(1, 1)),
        "micro5.9": FeedbackRow(keys=(1, 2), answers=(1, 1)),
        "micro5.10": FeedbackRow(answers=(1, 1), noise=(1, 1)),
        "micro5.11": FeedbackRow(answers=(1, 1), noise=(0, 1)),
        "micro5.12": FeedbackRow(answers=(3, 5)),
        "micro5.13": FeedbackRow(keys=(3, 5), answers=(1, 1)),
        "micro5.14": FeedbackRow(answers=(1, 1), noise=(2, 4)),
        "micro5.15": FeedbackRow(answers=(1, 5)),
        "micro5.16": FeedbackRow(keys=(1, 5), answers=(1, 1)),
        "micro5.17": FeedbackRow(keys=(1, 5), answers=(1, 5)),
        "micro5.18": FeedbackRow(keys=(1, 10), answers=(1, 10)),
    }
)
"""The tasks, by id."""


def feedback_mapping(rng: Random, *, row: FeedbackRow, mapping_size: int = MAPPING_SIZE) -> TableQuestions:
    """Return the questions of one instance.

    Args:
        mapping_size: number of keys drawn; at most 10 if each digit is a key.
    """
    keys = _keys(rng, row, mapping_size)
    answers = dict(zip(keys, _answers(rng, row, keys), strict=True))  # of equal keys the last one counts
    return TableQuestions(
        answers,
        in_blocks(rng, list(answers)),
        OptionsLeft(dict.fromkeys(answers, 2)),  # each key needs to be answered once
        separator=row.asks,
        feedback=partial(_feedback, rng, row),
    )


def _keys(rng: Random, row: FeedbackRow, size: int) -> list[bytes]:
    if row.keys == "each":
        return _DIGITS[:size]
    return [_draw(rng, row.keys) for _ in range(size)]


def _answers(rng: Random, row: FeedbackRow, keys: list[bytes]) -> list[bytes]:
    if row.answers == "permutation":
        return rng.sample(keys, len(keys))
    return [_draw(rng, row.answers) + row.dot for _ in keys]


def _draw(rng: Random, how_many: Digits) -> bytes:
    return b"".join(rng.choices(_DIGITS, k=rng.randint(*how_many)))


def _feedback(rng: Random, row: FeedbackRow, answer: bytes, correct: bool) -> bytes:
    shown = answer.removesuffix(row.dot) if row.plain_if_right and correct else answer
    noise = _draw(rng, row.noise) if row.noise[1] else b""
    return noise + shown + row.tells


FEEDBACK_TASKS: Final = {
    task_id: MicroRow(
        partial(feedback_mapping, row=row),
        settings={"mapping_size": (1, len(_DIGITS) if row.keys == "each" else MAX_DRAWN)},
    )
    for task_id, row in ROWS.items()
}
"""Micro-tasks 5.1 to 5.18, by id."""


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
