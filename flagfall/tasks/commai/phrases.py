"""Phrases of the teacher in the CommAI tasks: praise and blame, numbers, articles, lists."""

from __future__ import annotations

__all__ = [
    "ITALIAN_NUMBERS",
    "NUMBERS",
    "a",
    "blame",
    "listed",
    "number",
    "number_forms",
    "plural",
    "praise",
    "too_late",
]

from collections.abc import Sequence
from random import Random
from typing import Final

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
    """Return a phrase for a right answer.

    Args:
        rng: the source of the choice.
    """
    return rng.choice(_PRAISE)


def blame(rng: Random) -> str:
    """Return a phrase for a wrong answer.

    Args:
        rng: the source of the choice.
    """
    return rng.choice(_BLAME)


def too_late(rng: Random) -> str:
    """Return a phrase for the end of the time.

    Args:
        rng: the source of the choice.
    """
    return rng.choice(_TOO_LATE)


def number_forms(value: int, words: Sequence[str] = NUMBERS) -> tuple[str, ...]:
    """Return all ways to write a number: digits, and its word if it has one.

    Args:
        value: the number.
        words: the words for 0, 1, 2 and so on.
    """
    return (str(value), words[value]) if 0 <= value < len(words) else (str(value),)


def number(value: int, rng: Random, words: Sequence[str] = NUMBERS) -> str:
    """Return one of the ways to write a number.

    Args:
        value: the number.
        rng: the source of the choice.
        words: the words for 0, 1, 2 and so on.
    """
    return rng.choice(number_forms(value, words))


def a(noun: str) -> str:
    """Return a noun with its indefinite article, which depends on the first letter only.

    Args:
        noun: the noun.
    """
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def plural(noun: str, count: int = 2) -> str:
    """Return a noun as it follows a number; the plural only appends `s`, so `potatos`.

    Args:
        noun: the singular.
        count: the number.
    """
    return noun if count == 1 else f"{noun}s"


def listed(items: Sequence[str]) -> str:
    """Join items as in `a, b and c`.

    Args:
        items: the items, in order.
    """
    return " and ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)
