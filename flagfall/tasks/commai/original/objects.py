"""Tasks about the objects in baskets and their properties.

A wrong answer costs nothing: some tasks then give the answer and ask again, others wait.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from random import Random
from string import ascii_lowercase
from typing import Final, TypeAlias

import attrs

from flagfall.tasks.commai.byte_task import Script
from flagfall.tasks.commai.conversation import SEARCHED_BYTES, Conversation, TaskSpec
from flagfall.tasks.commai.words import ITALIAN_NUMBERS, NUMBERS, a, listed, number, number_forms, praise

_ROWS: Final = """
apple | green sour hard cheap healthy juicy local | red sweet hard fresh juicy expensive crunchy
asparagus | | white soft old long expensive dirty
avocado | | green ripe exotic expensive large healthy smooth buttery
banana | yellow sweet soft cheap healthy exotic ripe | yellow tasteless soft sweet old exotic
beet | red dirty hard old cheap sweet healthy local large |
carrot | orange hard fresh local healthy sweet crunchy | orange hard old dirty local small crunchy
cucumber | green fresh juicy local cheap healthy frozen crunchy | green fresh hard cheap local long
mango | brown rotten | red green yellow juicy sweet expensive
onion | white pungent smelly cheap local healthy | yellow old cheap dry local large
pear | brown sweet dry cheap local big | green tasteless hard local cheap big
pineapple | yellow sweet hard exotic brown rough | yellow sweet dry fresh expensive exotic
potato | yellow old cheap hard tasteless dirty bumpy |
tomato | red soft sour juicy local cheap | red soft sour local cheap
"""

_CELLS: Final = [[cell.strip() for cell in row.split("|")] for row in _ROWS.strip().splitlines()]

OBJECTS: Final = tuple(cells[0] for cells in _CELLS)
"""All objects, in alphabetical order."""

BASKETS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    owner: {cells[0]: tuple(cells[column].split()) for cells in _CELLS if cells[column]}
    for column, owner in enumerate(["john", "mary"], 1)
}
"""The properties of objects, by owner and object."""


def properties(owner: str | None = None) -> list[str]:
    """Return all properties of the objects in a basket, sorted."""
    owners_asked = BASKETS if owner is None else [owner]
    return sorted({quality for name in owners_asked for thing in BASKETS[name].values() for quality in thing})


def things_that_are(quality: str, owner: str) -> list[str]:
    """Return the objects in a basket that have a property."""
    return [name for name, qualities in BASKETS[owner].items() if quality in qualities]


def owners(name: str, quality: str) -> list[str]:
    """Return the owners in whose baskets an object has a property."""
    return [owner for owner, basket in BASKETS.items() if quality in basket.get(name, ())]


_DELIMITER: Final = "(?:, and |, | and | )"
_ITALIAN_PRAISE: Final = ("ottimo lavoro.", "bravo.", "congratulazioni.", "giusto.", "corretto.")

Judge: TypeAlias = Callable[[str], bool]
"""Returns whether the learner's text ends with a right answer."""


def ends_with(*answers: str) -> Judge:
    """Return a judge of texts that end with one of the answers and a dot; anything may precede it."""
    endings = tuple(f"{answer}." for answer in answers)
    return lambda heard: heard.endswith(endings)


def ends_with_all(answers: Collection[str]) -> Judge:
    """Return a judge of texts that end with all answers in any order, and a dot."""
    # Starting at a whole word changes no match, and avoids trying a long word letter by letter.
    pattern = re.compile("(?<![a-z])" + _DELIMITER.join(["([a-z]+)"] * len(answers)) + r"\.$")

    def judge(heard: str) -> bool:
        found = pattern.search(heard, max(0, len(heard) - SEARCHED_BYTES))
        return found is not None and set(found.groups()) == set(answers)

    return judge


@attrs.frozen
class Quiz:
    """A question with its answer.

    Attributes:
        again: text before the question when it is asked again; empty if the teacher waits instead.
        praise: the reply to a right answer; empty for any praise.
    """

    question: str
    judge: Judge
    solution: str
    again: str = ""
    praise: str = ""


Draw: TypeAlias = Callable[[Random], Quiz]


def _ask(draw: Draw, talk: Conversation, rng: Random) -> Script:
    quiz = draw(rng)
    talk.say(quiz.question)
    while (yield from talk.hear(r"\.")):
        if quiz.judge(talk.heard):
            talk.say(quiz.praise or praise(rng))
            return True
        if quiz.again:
            talk.say(f"{quiz.again} please try again. {quiz.question}")
    talk.say(quiz.solution)
    return None


def _asked_again(question: str, judge: Judge, solution: str) -> Quiz:
    return Quiz(question, judge, f"you are too slow. {solution}", solution)


def _list(kind: str, answers: Collection[str], rng: Random) -> str:
    shuffled = rng.sample(sorted(answers), len(answers))
    return f"the right {kind}: {' '.join(shuffled)}."


def _basket(rng: Random) -> str:
    return rng.choice(list(BASKETS))


def _thing(rng: Random) -> tuple[str, str, tuple[str, ...]]:
    """Draw an owner, an object and its properties."""
    owner = _basket(rng)
    name = rng.choice(list(BASKETS[owner]))
    return owner, name, BASKETS[owner][name]


def _quality(rng: Random) -> tuple[str, str]:
    """Draw an owner, and a property of an object in the basket."""
    owner = _basket(rng)
    return owner, rng.choice(properties(owner))


def _shared_thing(rng: Random) -> tuple[str, str]:
    """Draw an owner, and an object that is in both baskets."""
    owner = _basket(rng)
    return owner, rng.choice([name for name in OBJECTS if all(name in basket for basket in BASKETS.values())])


def _game(talk: Conversation, rng: Random) -> Script:
    had = rng.choice(OBJECTS)
    asked = had if rng.random() < 0.5 else rng.choice(OBJECTS)  # noqa: PLR2004 - a coin, or it is always no
    question = f"Do I have {asked}?"
    talk.say(f"Let's play game with objects. I have {had}. {question}")
    answer, have = ("yes", "do") if had == asked else ("no", "do not")
    while (yield from talk.hear("(yes|no).$")):
        if talk.heard.endswith(f"{answer}."):
            talk.say("Correct!")
            return True
        talk.say(f"Wrong, I {have} have {asked}. {question}")
    talk.say("You are too slow! Let's try something else.")
    return False


def _existence(talk: Conversation, rng: Random) -> Script:
    had = rng.choices(OBJECTS, k=rng.randint(1, 5))
    asked = rng.choice(had) if rng.random() < 0.5 else rng.choice(OBJECTS)  # noqa: PLR2004 - a coin
    talk.say(f"I have {listed([a(name) for name in had])}. Do I have {a(asked)}? ")
    yield from talk.hear(r"\.")
    if not talk.timed_out and talk.heard.endswith("Yes." if asked in had else "No."):
        talk.say(praise(rng))
        return True
    talk.say(f"Wrong. I do {'' if asked in had else 'not '}have {a(asked)}.")
    return False


def _how_is(rng: Random) -> Quiz:
    owner, name, qualities = _thing(rng)
    quality = rng.choice(qualities)
    question = f"{name} in {owner}'s basket is {quality}. how is {name}?"
    return Quiz(question, ends_with(quality), f"the right answer is: {quality}.")


def _verify(rng: Random) -> Quiz:
    owner, name, qualities = _thing(rng)
    answer = rng.choice(["yes", "no"])
    others = [quality for quality in properties() if quality not in qualities]
    quality = rng.choice(qualities if answer == "yes" else others)
    # The stray quotation mark is in the original.
    question = f"is {name} {quality} in {owner}'s basket?'"
    return Quiz(question, ends_with(answer), f"the right answer is: {answer}.")


def _list_properties(rng: Random) -> Quiz:
    owner, name, qualities = _thing(rng)
    question = f"which properties does {name} have in {owner}'s basket?"
    return Quiz(question, ends_with_all(qualities), _list("properties are", qualities, rng))


def _name_property(rng: Random) -> Quiz:
    owner, name, qualities = _thing(rng)
    question = f"can you tell me a property of {name} in {owner}'s basket?"
    return Quiz(question, ends_with(*qualities), f"one right answer is: {rng.choice(qualities)}.")


def _count_properties(rng: Random) -> Quiz:
    owner, name, qualities = _thing(rng)
    count = len(qualities)
    question = f"how many property does {name} have in {owner}'s basket?"
    return Quiz(question, ends_with(*number_forms(count)), f"the right answer is: {number(count, rng)}.")


def _count_properties_in_italian(rng: Random) -> Quiz:
    owner, name, qualities = _thing(rng)
    count = len(qualities)
    return Quiz(
        f"quante proprieta' ha {name} nel cestino di {owner}?",
        ends_with(*number_forms(count, ITALIAN_NUMBERS)),
        f"la risposta corretta e': {number(count, rng, ITALIAN_NUMBERS)}.",
        praise=rng.choice(_ITALIAN_PRAISE),
    )


def _list_objects(rng: Random) -> Quiz:
    owner, quality = _quality(rng)
    names = things_that_are(quality, owner)
    question = f"which objects are {quality} in {owner}'s basket?"
    return _asked_again(question, ends_with_all(names), _list("objects are", names, rng))


def _name_object(rng: Random) -> Quiz:
    owner, quality = _quality(rng)
    names = things_that_are(quality, owner)
    question = f"can you tell me an object that is {quality} in {owner}'s basket?"
    return _asked_again(question, ends_with(*names), f"one right answer is: {rng.choice(names)}.")


_MEANINGLESS: Final = 6
"""Number of made-up properties among those asked for, in addition to those of the basket."""


def _count_objects(rng: Random) -> Quiz:
    owner = _basket(rng)
    known = properties(owner)
    place = rng.randrange(len(known) + _MEANINGLESS)
    made_up = "".join(rng.sample(ascii_lowercase, rng.randint(1, 10)))
    quality = known[place] if place < len(known) else made_up
    count = len(things_that_are(quality, owner))
    question = f"how many objects are {quality} in {owner}'s basket?"
    solution = f"the right answer is: {number(count, rng, NUMBERS)}."
    return _asked_again(question, ends_with(*number_forms(count)), solution)


def _who_has(rng: Random) -> Quiz:
    quality, name = rng.choice(properties()), rng.choice(OBJECTS)
    answers = owners(name, quality) or ["nobody"]
    question = f"who has {a(quality)} {name} in the basket?"
    return _asked_again(question, ends_with_all(answers), _list("answer is", answers, rng))


def _properties_only(rng: Random) -> Quiz:
    owner, name = _shared_thing(rng)
    elsewhere = {quality for other in BASKETS if other != owner for quality in BASKETS[other][name]}
    answers = set(BASKETS[owner][name]) - elsewhere or {"none"}
    question = f"which properties does {name} have in {owner}'s basket only?"
    return _asked_again(question, ends_with_all(answers), _list("properties are", answers, rng))


def _properties_in_all(rng: Random) -> Quiz:
    _, name = _shared_thing(rng)
    answers = set.intersection(*[set(basket[name]) for basket in BASKETS.values()]) or {"none"}
    question = f"which properties does {name} have in all baskets?"
    return _asked_again(question, ends_with_all(answers), _list("properties are", answers, rng))


def _quiz(draw: Draw, max_time: int) -> TaskSpec:
    return TaskSpec(partial(_ask, draw), max_time)


OBJECT_TASKS: Final[Mapping[str, TaskSpec]] = {
    "existence_1": TaskSpec(_game, 3000),
    "existence_2": TaskSpec(_existence, 3000),
    "associate_property": _quiz(_how_is, 3000),
    "verify_property": _quiz(_verify, 3000),
    "list_properties": _quiz(_list_properties, 3500),
    "name_property": _quiz(_name_property, 3000),
    "count_properties": _quiz(_count_properties, 3000),
    "list_objects": _quiz(_list_objects, 3500),
    "name_object": _quiz(_name_object, 3000),
    "count_objects": _quiz(_count_objects, 3000),
    "who_has": _quiz(_who_has, 3500),
    "properties_in_one_basket_only": _quiz(_properties_only, 3500),
    "properties_in_all_baskets": _quiz(_properties_in_all, 3500),
    "italian_count_properties": TaskSpec(partial(_ask, _count_properties_in_italian), 3000, forgets=False),
}
"""The tasks about objects in baskets, by name."""
