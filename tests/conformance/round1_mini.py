"""What mini-tasks 0 to 5 may ask, and the right answer, read from the text alone.

Written from the specification (section 8) and sharing no code with the tasks.
"""

from __future__ import annotations

__all__ = ["CLOSING_IF_RIGHT", "MINI_TASKS", "closing_if_wrong", "naive_fit", "read_question"]

import re
from typing import NamedTuple

MINI_TASKS = [f"mini{n}" for n in range(6)]
CLOSING_IF_RIGHT = {"good job.", "bravo.", "congratulations.", "nice work.", "correct."}


def closing_if_wrong(right: str) -> str:
    return f"Wrong. The right answer is: {right}"


def naive_fit(items: list[str], join: str, text: str) -> bool:
    """The three rules of 8.2, word for word."""
    plain = [item for item in items if item.isupper()]
    barred = [item.split(" ")[1] for item in items if item.startswith("not ")]
    if any(run in text for run in barred):
        return False
    if join == "and" and not all(run in text for run in plain):
        return False
    inside = {
        at + offset
        for run in plain
        for at in range(len(text))
        if text[at : at + len(run)] == run
        for offset in range(len(run))
    }
    return "anything" in items or inside == set(range(len(text)))


class Kind(NamedTuple):
    """What one set may draw."""

    join: str
    runs: int
    anything: str
    barred: bool
    strings: range


KINDS = {
    "mini1": Kind("and", 1, "never", barred=False, strings=range(2, 15)),
    "mini2": Kind("or", 3, "alone", barred=False, strings=range(2, 16)),
    "mini3": Kind("and", 3, "added", barred=False, strings=range(2, 42)),
    "mini4": Kind("and", 3, "added", barred=True, strings=range(2, 45)),
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
        _check_warm_up(items, string, earlier, description)
    elif not any(
        _of_kind(KINDS[kind], items, join, string) for kind in (KINDS if task == "mini5" else [task])
    ):
        raise ValueError(f"{text!r} cannot be drawn in {task}")
    return description, naive_fit(items, join or "and", string)


def _of_kind(kind: Kind, items: list[str], join: str | None, string: str) -> bool:
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
        and len(string) in kind.strings
    )


def _check_warm_up(items: list[str], string: str, earlier: list[str], description: str) -> None:
    """Ten instances share a description; runs of one letter, later of two."""
    number = len(earlier)
    if number % 10 and description != earlier[-1]:
        raise ValueError(f"{description!r} is not the {earlier[-1]!r} of the other instances of this ten")
    run_length = 1 if number - number % 10 <= 1000 else 2
    if len(items) > 1 or len(items[0]) != run_length:
        raise ValueError(f"{description!r} in instance {number}")
    size = 1 if number <= 1000 else 2
    # At least L letters; at most L + 1, a run less one to end with, and one more in an almost right string.
    if len(string) not in range(size, 3 * size - 1 + 1 + run_length + 1):
        raise ValueError(f"{string!r} in instance {number}")
