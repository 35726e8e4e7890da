"""Tasks in the grid world: turning, moving, picking up, giving, counting, looking.

The learner succeeds by acting there, so the last text is often the answer of the world. Unless a task says
otherwise, the only failure is to be slow, which is announced and not judged, and placed objects stay.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from random import Random
from typing import Final

from flagfall.tasks.commai.byte_task import Script
from flagfall.tasks.commai.conversation import Conversation, WorldTaskSpec
from flagfall.tasks.commai.original.objects import OBJECTS
from flagfall.tasks.commai.words import a, blame, number, number_forms, plural, praise, too_late
from flagfall.tasks.commai.world import DIRECTIONS, GridWorld

_FARTHEST: Final = 10


def _side(rng: Random) -> str:
    return rng.choice(["left", "right"])


def _done(talk: Conversation, rng: Random, condition: Callable[[], bool], instead: str = "") -> Script:
    """Wait for a condition; `instead` replaces the answer of the world."""
    if not (yield from talk.wait(condition)):
        talk.say(too_late(rng))
        return None
    if instead:
        talk.say(instead, instead=True)
    return True


def _moved(world: GridWorld, talk: Conversation, rng: Random, direction: str) -> Script:
    target = world.neighbour(direction)
    return (yield from _done(talk, rng, lambda: world.position == target))


def _picked(world: GridWorld, talk: Conversation, rng: Random, name: str, instead: str = "") -> Script:
    wanted = world.learner_has[name] + 1
    return (yield from _done(talk, rng, lambda: world.learner_has[name] == wanted, instead))


def _turn(world: GridWorld, talk: Conversation, rng: Random) -> Script:
    side = _side(rng)
    target = world.beside(side)
    talk.say(f"Turn {side}.")
    return (yield from _done(talk, rng, lambda: world.direction == target))


def _move(world: GridWorld, talk: Conversation, rng: Random) -> Script:
    talk.say("Move forward.")
    return (yield from _moved(world, talk, rng, world.direction))


def _move_to_a_side(world: GridWorld, talk: Conversation, rng: Random) -> Script:
    side = _side(rng)
    talk.say(f"Move {side}.")
    return (yield from _moved(world, talk, rng, world.beside(side)))


def _move_absolutely(world: GridWorld, talk: Conversation, rng: Random) -> Script:
    target = world.beside(_side(rng))
    talk.say(f"You are facing {world.direction}, move {target}.")
    return (yield from _moved(world, talk, rng, target))


def _pick_up(world: GridWorld, talk: Conversation, rng: Random) -> Script:
    name = rng.choice(OBJECTS)
    world.place(name, world.ahead)
    talk.say(f"You have {a(name)} in front of you. Pick up the {name}.")
    return (yield from _picked(world, talk, rng, name))


def _pick_up_around(world: GridWorld, talk: Conversation, rng: Random) -> Script:
    name, direction = rng.choice(OBJECTS), rng.choice(list(DIRECTIONS))
    world.place(name, world.neighbour(direction))
    talk.say(f"There is {a(name)} {direction} from you, pick up the {name}.")
    return (yield from _picked(world, talk, rng, name))


def _pick_up_in_front(world: GridWorld, talk: Conversation, rng: Random) -> Script:
    name, steps = rng.choice(OBJECTS), rng.randint(1, _FARTHEST)
    (x, y), (dx, dy) = world.position, DIRECTIONS[world.direction]
    world.place(name, (x + steps * dx, y + steps * dy))
    talk.say(f"There is {a(name)} {number(steps, rng)} steps forward, pick up the {name}.")
    return (yield from _picked(world, talk, rng, name, f"You picked up the {name}."))


def _give(world: GridWorld, talk: Conversation, rng: Random) -> Script:
    name = rng.choice(OBJECTS)
    wanted = world.teacher_has[name] + 1
    world.learner_has[name] += 1
    world.accepted.add(name)
    talk.say(f'I gave you {a(name)}. Give it back to me by saying "I give you {a(name)}".')
    return (yield from _done(talk, rng, lambda: world.teacher_has[name] == wanted))


def _pick_up_and_give(world: GridWorld, talk: Conversation, rng: Random) -> Script:
    """Ask to pick up an object and give it; an object not picked up is removed when the time is up."""
    name, direction = rng.choice(OBJECTS), rng.choice(list(DIRECTIONS))
    place = world.neighbour(direction)
    world.place(name, place)
    world.accepted.add(name)
    try:
        talk.say(f"There is {a(name)} {direction} from you. Pick it up and give it to me.")
        picked, given = yield from _picked_and_given(world, talk, name)
        if not given:
            talk.say(too_late(rng))
        if not picked:
            world.remove(place)
        yield from talk.finish()
    finally:
        world.accepted.discard(name)
    return given or None


def _picked_and_given(
    world: GridWorld, talk: Conversation, name: str
) -> Generator[int, int, tuple[bool, bool]]:
    """Return whether the object was picked up, and whether it was then given in time.

    A learner that gives without having picked up has a debt, and can no longer solve the task.
    """
    picked_up, given = world.learner_has[name] + 1, world.teacher_has[name] + 1
    picked, changes = False, world.changes
    while (yield from talk.listen()):
        if world.changes == changes:
            continue
        changes = world.changes
        picked = picked or world.learner_has[name] == picked_up
        if world.teacher_has[name] == given:
            if picked:
                return True, True
            talk.say(f"You have to pick up the {name} first.", instead=True)
    return picked, False


def _how_many(name: str) -> str:
    return f"How many {plural(name)} do you have?"


def _count(world: GridWorld, talk: Conversation, rng: Random) -> Script:
    name = rng.choice(OBJECTS)
    talk.say(_how_many(name))
    while found := (yield from talk.hear(r"(?<!\d)(\d+)\.$")):
        owned = world.learner_has[name]
        if int(found[1]) == owned:
            talk.say("Correct!")
            return True
        talk.say(f"{blame(rng)} You have {owned} {plural(name, owned)}.")
    talk.say(too_late(rng))
    return None


def _count_and_give(world: GridWorld, talk: Conversation, rng: Random) -> Script:
    name = rng.choice(OBJECTS)
    talk.say(_how_many(name))
    verdicts = [(yield from _counted(world, talk, name))]
    world.learner_has[name] += 1
    world.accepted.add(name)
    if not talk.timed_out:
        talk.say(f"{_comment(verdicts[-1], rng)} I gave you {a(name)}. {_how_many(name)[:-1]} now?")
        verdicts.append((yield from _counted(world, talk, name)))
    if not talk.timed_out:
        talk.say(f"{_comment(verdicts[-1], rng)} Now give the {name} back to me.")
        wanted = world.teacher_has[name] + 1
        yield from talk.wait(lambda: world.teacher_has[name] == wanted)
    if not talk.timed_out:
        talk.say(f"Good! You gave me {a(name)}. {_how_many(name)[:-1]} now?", instead=True)
        verdicts.append((yield from _counted(world, talk, name)))
    if talk.timed_out:
        talk.say(too_late(rng))
        return None
    talk.say(_comment(verdicts[-1], rng))
    return all(verdicts)


def _counted(world: GridWorld, talk: Conversation, name: str) -> Generator[int, int, bool]:
    """Return whether the next sentence ends with the number of objects that the learner has."""
    found = yield from talk.hear(r"\b(\w+)\.$")
    return found is not None and found[1] in number_forms(world.learner_has[name])


def _comment(right: bool, rng: Random) -> str:
    return praise(rng) if right else blame(rng)


def _look(world: GridWorld, talk: Conversation, rng: Random) -> Script:
    target = rng.choice(list(DIRECTIONS))
    talk.say(f"Look to the {target}, you are currently facing {world.direction}.")
    while (yield from talk.hear(r"I look\.$")):
        if world.direction == target:
            talk.say("Congratulations! You are looking in the right direction.")
            return True
    return None


def _look_around(world: GridWorld, talk: Conversation, rng: Random) -> Script:
    """Ask to look in all directions; moving is a failure."""
    position = world.position
    unseen = set(DIRECTIONS)
    talk.say(f"Look around. You are facing {world.direction}.")
    while (yield from talk.listen()):
        if world.position != position:
            talk.say("You are not allowed to move.", instead=True)
            return False
        if not talk.heard.endswith("I look."):
            continue
        if world.direction not in unseen:
            talk.say("You already look here.")
            continue
        unseen.remove(world.direction)
        if not unseen:
            talk.say("Congratulations!")
            return True
        talk.say(f"{len(unseen)} directions to go.")
    talk.say(too_late(rng))
    return None


def _find_around(world: GridWorld, talk: Conversation, rng: Random) -> Script:
    """Ask for one of four objects around; what was placed is removed at the end."""
    names = OBJECTS[: len(DIRECTIONS)]
    places = [world.neighbour(direction) for direction in DIRECTIONS]
    for name, place in zip(rng.sample(names, len(names)), places, strict=True):
        world.place(name, place)
    try:
        wanted = rng.choice(names)
        talk.say(f"Pick the {wanted} next to you.")
        result = yield from _picked(world, talk, rng, wanted, "Well done!")
        yield from talk.finish()
    finally:
        for place in places:
            world.remove(place)
    return result


NAVIGATION: Final[Mapping[str, WorldTaskSpec]] = {
    "turning": WorldTaskSpec(_turn, 576),
    "moving": WorldTaskSpec(_move, 600),
    "moving_relative": WorldTaskSpec(_move_to_a_side, 784),
    "moving_absolute": WorldTaskSpec(_move_absolutely, 2336),
    "pick_up": WorldTaskSpec(_pick_up, 1328),
    "pick_up_around": WorldTaskSpec(_pick_up_around, 2896),
    "pick_up_in_front": WorldTaskSpec(_pick_up_in_front, 3328),
    "giving": WorldTaskSpec(_give, 1280),
    "pick_up_around_and_give": WorldTaskSpec(_pick_up_and_give, 5584),
    "counting_inventory": WorldTaskSpec(_count, 800),
    "counting_inventory_giving": WorldTaskSpec(_count_and_give, 8000),
    "look": WorldTaskSpec(_look, 1000),
    "look_around": WorldTaskSpec(_look_around, 5000, forgets=False),
    "find_object_around": WorldTaskSpec(_find_around, 10_000, forgets=False),
}
"""The tasks in the grid world, by name."""
