"""Guessing tasks: a number that can be asked for, and strings that belong together.

They give no hint after wrong answers, and judge nothing before the opening is sent.
"""

from __future__ import annotations

__all__ = ["GUESSING", "prime_pairs"]

from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial
from random import Random
from string import ascii_lowercase
from types import MappingProxyType
from typing import Final, TypeAlias

from flagfall.tasks.commai.byte_task import Script
from flagfall.tasks.commai.conversation import Conversation
from flagfall.tasks.commai.original.task_specs import TaskSpec
from flagfall.tasks.commai.phrases import praise

_MOST_DIGITS: Final = 5
_PAIRS: Final = 5
_ASKING: Final = ("please tell me the {}.", "what's the {}?", "what is the {}?", "can you tell me the {}?")


def _open(talk: Conversation, text: str, *, blank: bool = False) -> Generator[int, int, None]:
    """Send the opening but for its last byte, the first one whose reply counts; `blank` drops the others."""
    talk.say(text)
    for _ in range(len(text) - 1):
        yield from talk.listen()
    if blank:
        talk.heard = " " * len(talk.heard)


def _draw_number(rng: Random) -> str:
    digits = rng.randint(1, _MOST_DIGITS)
    return str(rng.randrange(10 ** (digits - 1), 10**digits))


Replies: TypeAlias = Iterator[str]
"""The replies of the teacher to successive questions."""


def _whole(number: str) -> Replies:
    while True:
        yield f"{number}."


def _digit_by_digit(number: str) -> Replies:
    for digit in number:
        yield f"{digit}."
    while True:
        yield f"the number has only {len(number)} digits."


def _guess(by_digits: bool, model: bool, talk: Conversation, rng: Random) -> Script:
    number = _draw_number(rng)
    noun = "next digit" if by_digits else "number"
    questions = tuple(question.format(noun) for question in _ASKING)
    hint = f": {rng.choice(questions)}" if model else f" for the {noun}."
    opening = f"guess the {len(number)}-digit number I am thinking of; you can ask me{hint}"
    yield from _open(talk, opening, blank=True)
    replies = _digit_by_digit(number) if by_digits else _whole(number)
    revealed = 0
    while (yield from talk.listen()):
        if talk.heard.endswith(f"{number}."):
            talk.say(praise(rng))
            return True
        if talk.heard.endswith(questions):
            talk.say(next(replies))
            revealed += 1
    if not by_digits:
        talk.say(f"if you asked: {rng.choice(questions)}, I would have said: {number}.")
        return None
    if revealed < len(number):
        talk.say(f"if you asked: {rng.choice(questions)}, I would have said: {number[revealed]}. ")
    talk.say(f"the number is {number}.")
    return None


Draw: TypeAlias = Callable[[Random], str]


def _string(shortest: int, longest: int, rng: Random) -> str:
    return "".join(rng.choices(ascii_lowercase, k=rng.randint(shortest, longest)))


def _repeat(draw: Draw, talk: Conversation, rng: Random) -> Script:
    text = draw(rng)
    yield from _open(talk, f"{text}.")
    return (yield from talk.wait(lambda: talk.heard.endswith(f"{text}."))) or None


def prime_pairs(draw: Draw, owner: str, seed: int = 0) -> Mapping[str, str]:
    """Draw the target of each prime.

    Args:
        draw: draws a prime or a target.
        owner: name of the task; each has its own pairs.
        seed: the same seed gives the same pairs in every match.
    """
    rng = Random(f"{owner}/{seed}")
    primes: dict[str, str] = {}
    while len(primes) < _PAIRS:
        primes[draw(rng)] = draw(rng)
    return MappingProxyType(primes)


def _target(pairs: Mapping[str, str], shown: str, ending: str, talk: Conversation, rng: Random) -> Script:
    prime, target = rng.choice(list(pairs.items()))
    yield from _open(talk, shown.format(prime=prime, target=target))
    # Text sent during the opening is not judged alone, but it is part of what was heard.
    return (yield from talk.wait(lambda: talk.heard.endswith(target + ending))) or None


_LENGTHS: Final[Mapping[str, Draw]] = {
    "character": partial(_string, 1, 1),
    "string_max_4": partial(_string, 1, 4),
    "string_min_5_max_10": partial(_string, 5, 10),
}


def _late(play: Callable[..., Script], *arguments: object, max_time: int) -> TaskSpec:
    return TaskSpec(partial(play, *arguments), max_time, forgets=False)


def _primes() -> Iterator[tuple[str, TaskSpec]]:
    for scope in ("global", "local"):
        for length, draw in _LENGTHS.items():
            owner = f"{scope} {length}"
            pairs = prime_pairs(draw, owner)
            yield f"{scope}_{length}_prime_target", _late(_target, pairs, "{prime}.", ".", max_time=500)
            if scope == "local":
                pairs = prime_pairs(draw, f"{owner} associated")
            alone = length == "character"
            shown, ending = ("{prime}{target}.", ".") if alone else ("{prime}#{target}.", "")
            yield f"{scope}_two_associated_{length}", _late(_target, pairs, shown, ending, max_time=500)


GUESSING: Final[Mapping[str, TaskSpec]] = MappingProxyType(
    {
        "guess_number_explicit": _late(_guess, False, True, max_time=3000),
        "guess_number": _late(_guess, False, False, max_time=3000),
        "guess_digits_explicit": _late(_guess, True, True, max_time=3500),
        "guess_digits": _late(_guess, True, False, max_time=3500),
        **{f"repeat_{length}": _late(_repeat, draw, max_time=500) for length, draw in _LENGTHS.items()},
        **dict(_primes()),
    }
)
"""The guessing tasks, by name."""
