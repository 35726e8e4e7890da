"""CommAI's sample tasks: small ones, each of which shows one technique for authors of tasks."""

from __future__ import annotations

__all__ = ["SAMPLES", "SAMPLES_IN_THE_WORLD"]

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from types import MappingProxyType
from typing import Final

from flagfall.tasks.commai.byte_task import Script
from flagfall.tasks.commai.conversation import Conversation
from flagfall.tasks.commai.grid_world import GridWorld, Position
from flagfall.tasks.commai.original.task_specs import TaskSpec, WorldTaskSpec

# 27 characters: the last one is an error of the original, kept because learners have met it.
_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz{"
_RANGE: Final = 2


def _repeat_character(talk: Conversation, rng: Random) -> Script:
    character = rng.choice(_ALPHABET)
    talk.say(character)
    found = yield from talk.hear("[^ ]$")
    return found and found[0] == character


def _yes_or_no(talk: Conversation, rng: Random) -> Script:
    subject, quality = ("".join(rng.choices(_ALPHABET, k=5)) for _ in range(2))
    holds = rng.choice([True, False])
    talk.say(f"{subject} is {'' if holds else 'not '}{quality}. Is {subject} {quality}?")
    found = yield from talk.hear("yes|no")
    return found and (found[0] == "yes") is holds


def _be_silent(talk: Conversation, _: Random) -> Script:
    talk.say("Please, be quiet.")
    return (yield from talk.hear("1")) is None


def _repeat_phrase(talk: Conversation, _: Random) -> Script:
    talk.say("Say 'I am not Mr Robot'.")
    return (yield from talk.hear(r"I am not Mr Robot\.$")) is not None or None


def _conflicting_messages(talk: Conversation, _: Random) -> Script:
    """Refuse other replies while the first one is sent, which has a higher priority."""
    talk.say("Say my name")
    while found := (yield from talk.hear("(Say|my name|Heisenberg)$")):
        match found[1]:
            case "Say":
                talk.say("I'm Heisenberg, you don't give me orders.", priority=5)
            case "my name":
                talk.say("Are you repeating everything I say?")
            case _:
                talk.say("You're Goddamn right.")
                return True
    return None


def _hebrew(talk: Conversation, _: Random) -> Script:
    """Ask for a letter beyond ASCII, which takes two bytes."""
    letter = "\N{HEBREW LETTER ALEF}"
    talk.say(f"a in Hebrew is {letter}. How do you say a in Hebrew?")
    if (yield from talk.hear(letter.encode().decode("latin-1"))) is None:
        return None
    talk.say("Correct!")
    return True


def _do(command: str, done: Callable[[GridWorld], Callable[[], bool]]) -> WorldTaskSpec:
    def play(world: GridWorld, talk: Conversation, _: Random) -> Script:
        condition = done(world)
        talk.say(f"Say '{command}'.")
        return (yield from talk.wait(condition)) or None

    return WorldTaskSpec(play, 1000, forgets=False)


def _moved(world: GridWorld) -> Callable[[], bool]:
    target = world.ahead
    return lambda: world.position == target


def _turned(side: str, world: GridWorld) -> Callable[[], bool]:
    target = world.beside(side)
    return lambda: world.direction == target


def _look_around(_world: GridWorld, talk: Conversation, _: Random) -> Script:
    talk.say("Look around.")
    return (yield from talk.hear("I look.")) is not None or None


def _pick_an_apple(world: GridWorld, talk: Conversation, rng: Random) -> Script:
    """Ask for an apple; what was placed is removed at the end."""
    apple, block = rng.sample(_cells_around(world.position), 2)
    world.place("apple", apple)
    world.place("block", block, pickable=False, traversable=False)
    try:
        wanted = world.learner_has["apple"] + 1
        talk.say("Pick up an apple.")
        picked = yield from talk.wait(lambda: world.learner_has["apple"] == wanted)
        if picked:
            talk.say("Enjoy!", instead=True)
        yield from talk.finish()
    finally:
        world.remove(apple)
        world.remove(block)
    return picked or None


def _cells_around(centre: Position) -> list[Position]:
    x, y = centre
    reach = range(-_RANGE, _RANGE + 1)
    return [(x + dx, y + dy) for dx in reach for dy in reach if dx or dy]


SAMPLES: Final[Mapping[str, TaskSpec]] = MappingProxyType(
    {
        "repeating_character": TaskSpec(_repeat_character, 100, forgets=False),
        "yes_no": TaskSpec(_yes_or_no, 1000, forgets=False),
        "be_silent": TaskSpec(_be_silent, 1000, forgets=False),
        "repeating_phrase": TaskSpec(_repeat_phrase, 1000, forgets=False),
        "conflicting_messages": TaskSpec(_conflicting_messages, 1000, forgets=False),
        "unicode": TaskSpec(_hebrew, 1000, forgets=False),
    }
)
"""The sample tasks without a world."""

SAMPLES_IN_THE_WORLD: Final[Mapping[str, WorldTaskSpec]] = MappingProxyType(
    {
        "moving": _do("I move forward.", _moved),
        "turn_left": _do("I turn left.", partial(_turned, "left")),
        "turn_right": _do("I turn right.", partial(_turned, "right")),
        "look_around": WorldTaskSpec(_look_around, 1000, forgets=False),
        "pick_an_apple": WorldTaskSpec(_pick_an_apple, 10_000, forgets=False),
    }
)
"""The sample tasks in the grid world."""
