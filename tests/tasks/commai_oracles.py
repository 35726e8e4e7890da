"""Who solves the CommAI tasks: for each task a function from what the teacher said to what a master says.

An oracle is asked whenever the teacher has said all, and is given what was said since its last answer. In the
grid world it looks at the world itself; otherwise it only reads.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from flagfall.tasks.commai.original.objects import BASKETS
from flagfall.tasks.commai.original.repetition import GUESSING
from flagfall.tasks.commai.words import ITALIAN_NUMBERS, NUMBERS
from flagfall.tasks.commai.world import DIRECTIONS, GridWorld

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flagfall.tasks.commai.conversation import ConversationTask

Oracle: TypeAlias = "Callable[[str, ConversationTask], str]"

SILENT = ""
PHRASE = "(apple|banana|cat|hello world)"
NOT = "(?:(?:do not|don't)? )"


def world_of(task: ConversationTask) -> GridWorld:
    assert isinstance(task.world, GridWorld)
    return task.world


def found(pattern: str, text: str) -> tuple[str, ...]:
    match = re.search(pattern, text)
    if match is None:
        raise LookupError(pattern, text)
    return match.groups()


def says(pattern: str, answer: str = "{}.") -> Oracle:
    """The groups of a pattern, put into an answer."""
    return lambda text, _: answer.format(*found(pattern, text))


def value(text: str) -> int:
    return int(text) if text.isdigit() else NUMBERS.index(text)


# --- repetition, counting ----------------------------------------------------------------------------------


def repeats(text: str, _: ConversationTask) -> str:
    phrase, times, how = found(rf"{PHRASE} (\w+) times(.*)\.$", text)
    copies = [phrase] * value(times)
    if how == " separated by comma and and":
        return f"{', '.join(copies[:-1])} and {copies[-1]}."
    separators = {" separated by comma (,)": ", ", " separated by and": " and "}
    return f"{separators.get(how, ' ').join(copies)}."


def negates(text: str, _: ConversationTask) -> str:
    one, first, two, second = found(rf"^(.*)(?:say|repeat) {PHRASE} and (.*)(?:say|repeat) {PHRASE}\.$", text)
    if one.strip() or two.strip():
        return f"{second if one.strip() and not two.strip() else first}."
    return f"{first}." if first == second else f"{second} and {first}."


def counts(text: str, _: ConversationTask) -> str:
    have, asked = found(r"I have (.*)\. How many (\w+)s do", text)
    return f"{NUMBERS[re.split('[ ,]+', have).count(asked)]}."


# --- objects -----------------------------------------------------------------------------------------------


def plays_the_game(text: str, _: ConversationTask) -> str:
    had, asked = found(r"I have (\w+)\. Do I have (\w+)\?", text)
    return "yes." if had == asked else "no."


def knows_what_there_is(text: str, _: ConversationTask) -> str:
    had, asked = found(r"I have (.*)\. Do I have an? (\w+)\?", text)
    return "Yes." if asked in re.split("[ ,]+", had) else "No."


def listing(items: Any) -> str:
    return f"{', and '.join(sorted(items, reverse=True))}."


def verifies(text: str, _: ConversationTask) -> str:
    name, quality, owner = found(r"is (\w+) (\w+) in (\w+)'s basket\?'$", text)
    return "yes." if quality in BASKETS[owner][name] else "no."


def qualities(pattern: str, text: str) -> tuple[str, ...]:
    name, owner = found(pattern, text)
    return BASKETS[owner][name]


def things(pattern: str, text: str) -> list[str]:
    quality, owner = found(pattern, text)
    return [name for name, known in BASKETS[owner].items() if quality in known]


def who(text: str, _: ConversationTask) -> str:
    quality, name = found(r"who has an? (\w+) (\w+) in", text)
    return listing([owner for owner in BASKETS if quality in BASKETS[owner].get(name, ())] or ["nobody"])


def only(text: str, _: ConversationTask) -> str:
    name, owner = found(r"does (\w+) have in (\w+)'s basket only", text)
    other = "mary" if owner == "john" else "john"
    return listing(set(BASKETS[owner][name]) - set(BASKETS[other][name]) or ["none"])


def shared(text: str, _: ConversationTask) -> str:
    (name,) = found(r"does (\w+) have in all", text)
    return listing(set(BASKETS["john"][name]) & set(BASKETS["mary"][name]) or ["none"])


# --- the grid world ----------------------------------------------------------------------------------------


def facing(world: GridWorld, direction: str) -> str:
    ways = list(DIRECTIONS)
    turns = (ways.index(direction) - ways.index(world.direction)) % 4
    return "I turn left." if turns == 3 else "I turn right." * turns


def goes(pattern: str, text: str, task: ConversationTask) -> str:
    """To the side that is named, or straight on; one command at a time, as answers interrupt."""
    world = world_of(task)
    (where,) = found(pattern, text) if "move" in pattern.lower() else (world.direction,)
    direction = where if where in DIRECTIONS else world.beside(where)
    return f"{facing(world, direction)}I move forward."


def fetches(text: str, task: ConversationTask) -> str:
    """Turns to what is there, and goes up to it."""
    world = world_of(task)
    (name,) = found(r"(?:is|have) an? (\w+)", text)
    here, there = world.position, {entity.name: at for at, entity in world.entities.items()}[name]
    steps = abs(there[0] - here[0]) + abs(there[1] - here[1])
    direction = {(here[0] + steps * dx, here[1] + steps * dy): way for way, (dx, dy) in DIRECTIONS.items()}[
        there
    ]
    return f"{facing(world, direction)}{'I move forward.' * (steps - 1)}I pick up the {name}."


def fetches_and_gives(text: str, task: ConversationTask) -> str:
    if world_of(task).entities:
        return fetches(text, task)
    (name,) = found(r"You picked up the (\w+)\.", text)
    return f"I give you a {name}."


def counts_what_it_has(text: str, task: ConversationTask) -> str:
    if "back to me" in text:
        return f"I give you an {found(r'Now give the (.*) back', text)[0]}."
    (plural,) = found(r"How many (\w+)s do you have", text)
    return f"{world_of(task).learner_has[plural]}."


def looks(text: str, task: ConversationTask) -> str:
    (where,) = found(r"Look to the (\w+),", text)
    return f"{facing(world_of(task), where)}I look."


def looks_around(text: str, _: ConversationTask) -> str:
    if "Look around." in text or "now facing" in text:
        return "I look."
    return "I turn left." if "to go" in text else SILENT


def picks(name_pattern: str, text: str, task: ConversationTask) -> str:
    world = world_of(task)
    (name,) = found(name_pattern, text)
    where = {entity.name: at for at, entity in world.entities.items()}[name]
    direction = next(way for way in DIRECTIONS if world.neighbour(way) == where)
    return f"{facing(world, direction)}I pick up the {name}."


def walks_to_the_apple(_: str, task: ConversationTask) -> str:
    """Step by step around the block, which may stand in the way."""
    world = world_of(task)
    places = {entity.name: at for at, entity in world.entities.items()}
    apple_x, apple_y = places["apple"]

    def distance(way: str) -> int:
        x, y = world.neighbour(way)
        return abs(apple_x - x) + abs(apple_y - y)

    way = min((way for way in DIRECTIONS if world.neighbour(way) != places["block"]), key=distance)
    command = "I pick up the apple." if distance(way) == 0 else "I move forward."
    return facing(world, way) + command


# --- guessing ----------------------------------------------------------------------------------------------


def asks_for_the_number(text: str, _: ConversationTask) -> str:
    return "what's the number?" if text.startswith("guess") else text.strip()


class AsksForDigits:
    def __init__(self) -> None:
        self.digits = ""

    def __call__(self, text: str, _: ConversationTask) -> str:
        if text.startswith("guess"):
            self.digits = ""
        elif "only" in text:
            return f"{self.digits}."
        else:
            self.digits += text.strip()[0]
        return "can you tell me the next digit?"


def knows_the_pairs(name: str, text: str, _: ConversationTask) -> str:
    play: Any = GUESSING[name].play
    return f"{play.args[0][text.strip()[:-1]]}."


OF = r"of (\w+) in (\w+)"
HA = r"ha (\w+) nel cestino di (\w+)"
COUNT = r"does (\w+) have in (\w+)'s"
ARE = r"(?:is|are) (\w+) in (\w+)'s basket\?$"

ORACLES: Mapping[str, Oracle] = {
    "repetition.be_silent": lambda *_: SILENT,
    "repetition.repeat_character": says(r"(?:say|repeat) (\w)\."),
    "repetition.repeat_what_i_say": says(rf"{PHRASE}\.$"),
    "repetition.repeat_what_i_say_2": says(f"{PHRASE} and"),
    "repetition.repeat_multiple_times": repeats,
    "repetition.repeat_multiple_times_2": lambda text, task: repeats(
        re.sub(" times.*", " times.", text), task
    ),
    "repetition.repeat_separated_by_comma": repeats,
    "repetition.repeat_separated_by_and": repeats,
    "repetition.repeat_separated_by_comma_and": repeats,
    "repetition.repeat_disjunction": says(rf"or {PHRASE}\.$"),
    "repetition.repeat_conjunction_negation": negates,
    "repetition.verb": says(r"to (\w+)\."),
    "counting.simple_counting": counts,
    "objects.existence_1": plays_the_game,
    "objects.existence_2": knows_what_there_is,
    "objects.associate_property": says(r"basket is (\w+)\."),
    "objects.verify_property": verifies,
    "objects.list_properties": lambda text, _: listing(qualities(COUNT, text)),
    "objects.name_property": lambda text, _: f"{qualities(OF, text)[-1]}.",
    "objects.count_properties": lambda text, _: f"{NUMBERS[len(qualities(COUNT, text))]}.",
    "objects.list_objects": lambda text, _: listing(things(ARE, text)),
    "objects.name_object": lambda text, _: f"{things(ARE, text)[-1]}.",
    "objects.count_objects": lambda text, _: f"{len(things(ARE, text))}.",
    "objects.who_has": who,
    "objects.properties_in_one_basket_only": only,
    "objects.properties_in_all_baskets": shared,
    "objects.italian_count_properties": lambda text, _: f"{ITALIAN_NUMBERS[len(qualities(HA, text))]}.",
    "navigation.turning": says(r"Turn (\w+)\.", "I turn {}."),
    "navigation.moving": partial(goes, "forward"),
    "navigation.moving_relative": partial(goes, r"Move (\w+)\."),
    "navigation.moving_absolute": partial(goes, r"move (\w+)\."),
    "navigation.pick_up": fetches,
    "navigation.pick_up_around": fetches,
    "navigation.pick_up_in_front": fetches,
    "navigation.giving": says(r'saying "(.*)"', "{}."),
    "navigation.pick_up_around_and_give": fetches_and_gives,
    "navigation.counting_inventory": counts_what_it_has,
    "navigation.counting_inventory_giving": counts_what_it_has,
    "navigation.look": looks,
    "navigation.look_around": looks_around,
    "navigation.find_object_around": partial(picks, r"Pick the (\w+) next"),
    "micro.repeat_1v1l": says(r"repeat: (\w+)\."),
    "micro.repeat_3v1l": says(r"repeat: (\w+)\."),
    "micro.repeat_3v2l": says(r"repeat: (\w+)\."),
    "guessing.guess_number_explicit": asks_for_the_number,
    "guessing.guess_number": asks_for_the_number,
    "guessing.guess_digits_explicit": AsksForDigits(),
    "guessing.guess_digits": AsksForDigits(),
    "sample.repeating_character": says("(.)$", "{}"),
    "sample.yes_no": lambda text, _: "no " if " is not " in text else "yes ",
    "sample.be_silent": lambda *_: SILENT,
    "sample.repeating_phrase": says("'(.*)'"),
    "sample.conflicting_messages": lambda *_: "Heisenberg",
    "sample.unicode": lambda *_: "א",
    "sample.moving": says("'(.*)'", "{}"),
    "sample.turn_left": says("'(.*)'", "{}"),
    "sample.turn_right": says("'(.*)'", "{}"),
    "sample.look_around": lambda *_: "I look.",
    "sample.pick_an_apple": walks_to_the_apple,
    **{
        f"guessing.{name}": says(r"(\w+)\.$") if "prime" not in name else partial(knows_the_pairs, name)
        for name in GUESSING
        if not name.startswith("guess")
    },
}
