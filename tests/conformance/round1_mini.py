"""What mini-tasks 0 to 5 may ask, and the right answer, read from the text alone.

Written from the specification (section 8) and sharing no code with the tasks.
"""

from __future__ import annotations

__all__ = ["CLOSING_IF_RIGHT", "KINDS", "MINI_TASKS", "closing_if_wrong", "draw_instance", "read_question"]

import re
from random import Random
from string import ascii_uppercase
from typing import NamedTuple

from tests.conformance.round1_strings import Items, Walk, could_be_right, could_be_wrong, damaged

MINI_TASKS = [f"mini{n}" for n in range(6)]
CLOSING_IF_RIGHT = {"good job.", "bravo.", "congratulations.", "nice work.", "correct."}


def closing_if_wrong(right: str) -> str:
    return f"Wrong. The right answer is: {right}"


class Kind(NamedTuple):
    """What one set may draw."""

    join: str
    runs: int
    anything: str
    barred: bool
    lengths: range


KINDS = {
    "mini1": Kind("and", 1, "never", barred=False, lengths=range(1, 11)),
    "mini2": Kind("or", 3, "alone", barred=False, lengths=range(1, 11)),
    "mini3": Kind("and", 3, "added", barred=False, lengths=range(1, 31)),
    "mini4": Kind("and", 3, "added", barred=True, lengths=range(1, 31)),
}


def read_question(task: str, text: str, earlier: list[str]) -> tuple[str, bool]:
    """The description of a question, and whether the string fits it.

    Args:
        task: mini0 to mini5.
        text: the whole question.
        earlier: the descriptions of the instances before.

    Raises:
        ValueError: the task cannot ask this.
    """
    found = re.fullmatch(r"description: ([A-Za-z ]+); verify: ([A-Z]*)\.", text, re.ASCII)
    if not found:
        raise ValueError(f"{text!r} is no question")
    description, string = found.groups()
    joins = set(re.findall(" (and|or) ", description))
    items = re.split(" (?:and|or) ", description)
    if len(joins) > 1 or len(set(items)) < len(items):
        raise ValueError(f"{description!r} is no description")
    if not all(re.fullmatch("(not )?[A-Z]{1,3}|anything", item) for item in items):
        raise ValueError(f"{description!r} has an item that is none")
    join = joins.pop() if joins else None
    if task == "mini0":
        return description, _check_warm_up(items, string, earlier, description)
    kinds = [kind for name, kind in KINDS.items() if task in {name, "mini5"} and _of_kind(kind, items, join)]
    for kind in kinds:
        read = Items(items, kind.join)
        if could_be_right(read, kind.lengths, string):
            return description, True
        if could_be_wrong(read, kind.lengths, string):
            return description, False
    raise ValueError(f"{text!r} cannot be drawn in {task}")


def _of_kind(kind: Kind, items: list[str], join: str | None) -> bool:
    plain = [item for item in items if item.isupper()]
    barred = [item for item in items if item.startswith("not ")]
    allowed = {
        "never": "anything" not in items,
        "alone": "anything" not in items or items == ["anything"],
        "added": items != ["anything"] and ("anything" in items or not barred),
    }[kind.anything]
    return (
        allowed
        and join in {None, kind.join}
        and len(plain) + len(barred) <= kind.runs
        and (kind.barred or not barred)
        and not set("".join(plain)) & set("".join(barred))
    )


def draw_instance(task: str, rng: Random) -> tuple[str, str, bool]:
    """Draw an instance of mini1 to mini5 as in 8.3: description, string, and whether it counts as fitting."""
    kind = KINDS[rng.choice(sorted(KINDS)) if task == "mini5" else task]
    letters = [rng.choice(ascii_uppercase) for _ in range(13)] if kind.barred else list(ascii_uppercase)
    others = sorted(set(ascii_uppercase) - set(letters)) or [""]
    barred = [rng.choice(others) for _ in range(13)]
    alone = kind.anything == "alone" and rng.random() < 0.05
    items = set()
    for _ in range(0 if alone else rng.randint(1, kind.runs)):
        negated = kind.barred and rng.choice([True, False])
        run = [rng.choice(barred if negated else letters) for _ in range(rng.randint(1, 3))]
        items.add("not " * negated + "".join(run))
    wanted = kind.anything == "added" and rng.choice([True, False])
    if alone or wanted or any(item.startswith("not ") for item in items):
        items.add("anything")
    read = Items(sorted(items), kind.join)
    fits, length = rng.choice([True, False]), rng.choice(kind.lengths)
    text = Walk(read, length, "#").draw(rng)
    return f" {kind.join} ".join(read.all), text if fits else damaged(read, text, rng), fits


def _check_warm_up(items: list[str], string: str, earlier: list[str], description: str) -> bool:
    """Ten instances share a description; runs of one letter, later of two. Whether the string fits."""
    number = len(earlier)
    if number % 10 and description != earlier[-1]:
        raise ValueError(f"{description!r} is not the {earlier[-1]!r} of the other instances of this ten")
    run_length = 1 if number - number % 10 <= 1000 else 2
    if len(items) > 1 or len(items[0]) != run_length:
        raise ValueError(f"{description!r} in instance {number}")
    size = 1 if number <= 1000 else 2
    lengths, read = range(size, 3 * size), Items(items, "and")
    if could_be_right(read, lengths, string):
        return True
    drawn = len(string) in lengths and not read.fit(string)
    if not drawn and not could_be_wrong(read, lengths, string):
        raise ValueError(f"{string!r} in instance {number}")
    return False
