"""Tasks of repeating a text, of keeping silent, and of counting listed objects."""

from __future__ import annotations

__all__ = ["COUNTING", "LETTERS", "REPETITION"]

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from functools import partial
from itertools import permutations
from random import Random
from string import ascii_letters, ascii_uppercase
from types import MappingProxyType
from typing import Final

from flagfall.tasks.commai.byte_task import Script
from flagfall.tasks.commai.conversation import Conversation
from flagfall.tasks.commai.original.task_specs import TaskSpec
from flagfall.tasks.commai.phrases import NUMBERS, a, blame, listed, number, plural, praise

_PHRASES: Final = ("apple", "banana", "cat", "hello world")
_PROMISES: Final = (
    "and you will get a reward",
    "and a reward is yours",
    "and you will pass this task",
    "and you will solve this problem",
)
_PAST: Final = {
    "sing": "sang",
    "smile": "smiled",
    "rest": "rested",
    "relax": "relaxed",
    "jump": "jumped",
    "dance": "danced",
}
_COUNTED: Final = (
    "banana",
    "beet",
    "carrot",
    "cucumber",
    "mango",
    "onion",
    "pear",
    "pineapple",
    "potato",
    "tomato",
)


def _verb(rng: Random) -> str:
    return rng.choice(["say", "repeat"])


def _one_sentence(talk: Conversation, *right: str) -> Generator[int, int, bool]:
    """Return whether the first sentence of the learner ends with one of the right texts."""
    yield from talk.hear(r"\.$")
    return not talk.timed_out and talk.heard.endswith(tuple(f"{text}." for text in right))


def _keep_silent(talk: Conversation, rng: Random) -> Script:
    talk.max_time = rng.randint(100, 1000)
    talk.say(rng.choice(["be silent now.", "do not say anything."]))
    kept = not (yield from talk.hear("[^ ]"))
    talk.say(praise(rng) if kept else blame(rng))
    return kept


def _letter(rng: Random) -> tuple[str, str]:
    letter = rng.choice(ascii_letters)
    return f"{_verb(rng)} {letter}.", letter


def _phrase(rng: Random) -> tuple[str, str]:
    phrase = rng.choice(_PHRASES)
    return f"{_verb(rng)} {phrase}.", phrase


def _promised_phrase(rng: Random) -> tuple[str, str]:
    phrase = rng.choice(_PHRASES)
    return f"{_verb(rng)} {phrase} {rng.choice(_PROMISES)}.", phrase


def _repeat(draw: Callable[[Random], tuple[str, str]], talk: Conversation, rng: Random) -> Script:
    order, target = draw(rng)
    talk.say(order)
    right = yield from _one_sentence(talk, target)
    talk.say(praise(rng) if right else blame(rng))
    return right


def _repeat_often(how: str, comma: str, last: str, talk: Conversation, rng: Random) -> Script:
    phrase, times = rng.choice(_PHRASES), rng.choice([2, 3])
    target = last.join([comma.join([phrase] * (times - 1)), phrase])
    ending = how or f" {rng.choice(_PROMISES)}"
    talk.say(f"{_verb(rng)} {phrase} {number(times, rng)} times{ending.rstrip()}.")
    right = yield from _one_sentence(talk, target)
    talk.say(praise(rng) if right else f"{blame(rng)} correct answer is: {target}.")
    return right


def _exactly(talk: Conversation, accepted: Collection[str]) -> Generator[int, int, bool]:
    """Return whether the first sentence is one of the accepted ones, with only spaces before it."""
    yield from talk.hear(r"\.$")
    return not talk.timed_out and talk.heard.lstrip(" ")[:-1] in accepted


def _either(talk: Conversation, rng: Random) -> Script:
    phrases = rng.choice(_PHRASES), rng.choice(_PHRASES)
    talk.say(f"{_verb(rng)} {' or '.join(phrases)}.")
    right = yield from _exactly(talk, phrases)
    talk.say(praise(rng) if right else blame(rng))
    return right


def _both_or_not(talk: Conversation, rng: Random) -> Script:
    verb = _verb(rng)
    phrases = rng.choice(_PHRASES), rng.choice(_PHRASES)
    negations = [rng.choice(["", rng.choice(["do not", "don't"])]) for _ in phrases]
    # An absent negation leaves its space, as in the original: two spaces in the middle, or one in front.
    orders = [f"{negation} {verb} {phrase}" for negation, phrase in zip(negations, phrases, strict=True)]
    talk.say(f"{' and '.join(orders)}.")
    right = yield from _exactly(talk, _demanded(phrases, negations))
    talk.say(praise(rng) if right else blame(rng))
    return right


def _demanded(phrases: Sequence[str], negations: Sequence[str]) -> set[str]:
    """Return the accepted texts; with both negated it is the first phrase, though it should be silence."""
    first, second = phrases
    if not any(negations):
        wanted = {first, second}
        return {" and ".join(order) for order in permutations(wanted)}
    return {second if negations[0] and not negations[1] else first}


def _act(talk: Conversation, rng: Random) -> Script:
    verb = rng.choice(list(_PAST))
    talk.say(f"Say 'I {verb}' to {verb}.")
    right = yield from _one_sentence(talk, verb)
    talk.say(f"You {_PAST[verb]}." if right else blame(rng))
    return right


def _letters(alphabet: int, longest: int, talk: Conversation, rng: Random) -> Script:
    text = "".join(rng.choices(ascii_uppercase[:alphabet], k=rng.randint(1, longest)))
    talk.say(f"repeat: {text}.")
    right = yield from _one_sentence(talk, text)
    talk.say("correct." if right else f"wrong: {text}.")
    return right


def _count(talk: Conversation, rng: Random) -> Script:
    objects = rng.choices(_COUNTED, k=rng.randint(1, 10))
    asked = rng.choice(_COUNTED)
    answer = NUMBERS[objects.count(asked)]
    talk.say(f"I have {listed([a(name) for name in objects])}. How many {plural(asked)} do I have? ")
    right = yield from _one_sentence(talk, answer)
    talk.say(praise(rng) if right else f"Wrong. The right answer is: {answer}.")
    return right


def _often(how: str, comma: str, last: str) -> TaskSpec:
    return TaskSpec(partial(_repeat_often, how, comma, last), 10_000)


REPETITION: Final[Mapping[str, TaskSpec]] = MappingProxyType(
    {
        "be_silent": TaskSpec(_keep_silent, 1000, forgets=False),
        "repeat_character": TaskSpec(partial(_repeat, _letter), 1000),
        "repeat_what_i_say": TaskSpec(partial(_repeat, _phrase), 1000),
        "repeat_what_i_say_2": TaskSpec(partial(_repeat, _promised_phrase), 1000),
        "repeat_multiple_times": _often(" ", " ", " "),
        "repeat_multiple_times_2": _often("", " ", " "),
        "repeat_separated_by_comma": _often(" separated by comma (,)", ", ", ", "),
        "repeat_separated_by_and": _often(" separated by and", " and ", " and "),
        "repeat_separated_by_comma_and": _often(" separated by comma and and", ", ", " and "),
        "repeat_disjunction": TaskSpec(_either, 3000),
        "repeat_conjunction_negation": TaskSpec(_both_or_not, 3000),
        "verb": TaskSpec(_act, 896, forgets=False),
    }
)
"""The repetition tasks. The time limit of `be_silent` is drawn each time, from 100 to 1000 steps."""

COUNTING: Final[Mapping[str, TaskSpec]] = MappingProxyType({"simple_counting": TaskSpec(_count, 3000)})
"""The counting task; answers are words, never digits."""

LETTERS: Final[Mapping[str, TaskSpec]] = MappingProxyType(
    {
        "repeat_1v1l": TaskSpec(partial(_letters, 1, 1), 112),
        "repeat_3v1l": TaskSpec(partial(_letters, 3, 1), 112),
        "repeat_3v2l": TaskSpec(partial(_letters, 3, 2), 136),
    }
)
"""Repetition of one or two capital letters out of the first one or three."""
