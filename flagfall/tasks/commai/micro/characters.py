"""Micro-tasks 1 to 4: questions and answers of one character, without feedback.

Alphabets, sizes and patience are those of round 1 of the General AI Challenge.
"""

from __future__ import annotations

__all__ = [
    "ALPHABET_SIZE",
    "CHARACTER_TASKS",
    "LETTERS",
    "PUNCTUATION",
    "TARGET_ALPHABET",
    "TARGET_ALPHABET_SIZE",
    "echo",
    "hidden_letter",
    "hidden_target",
    "letter_mapping",
]

from string import ascii_letters, ascii_lowercase, digits
from typing import TYPE_CHECKING, Final

from flagfall.tasks.commai.micro.engine import MAX_DRAWN, MicroRow
from flagfall.tasks.commai.micro.questions import (
    OptionsLeft,
    Patience,
    TableQuestions,
    in_blocks,
    one_by_one,
    uniformly,
)

if TYPE_CHECKING:
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
        rng: the source of everything random.
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
        rng: the source of everything random.
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
        rng: the source of everything random.
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
        rng: the source of everything random.
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
