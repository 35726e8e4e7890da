"""How the teacher of the CommAI tasks puts things: praise and blame, numbers, articles, lists."""

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
"""The words of 0 to 10; greater numbers are only written in digits."""

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
"""The same in Italian."""


def praise(rng: Random) -> str:
    """What is said of a right answer."""
    return rng.choice(_PRAISE)


def blame(rng: Random) -> str:
    """What is said of a wrong answer."""
    return rng.choice(_BLAME)


def too_late(rng: Random) -> str:
    """What is said when time is up."""
    return rng.choice(_TOO_LATE)


def number_forms(value: int, words: Sequence[str] = NUMBERS) -> tuple[str, ...]:
    """Every way to write a number: digits, and its word if it has one."""
    return (str(value), words[value]) if 0 <= value < len(words) else (str(value),)


def number(value: int, rng: Random, words: Sequence[str] = NUMBERS) -> str:
    """One of the ways to write a number."""
    return rng.choice(number_forms(value, words))


def a(noun: str) -> str:
    """A noun with its indefinite article, which goes by the first letter."""
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def plural(noun: str, count: int = 2) -> str:
    """The noun as it stands after a number; the plural is `s` and no more, so potatos."""
    return noun if count == 1 else f"{noun}s"


def listed(items: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)
