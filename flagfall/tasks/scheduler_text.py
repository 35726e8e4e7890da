"""Task schedulers by name, and the parser of texts that describe them.

A text is the name of a policy, optionally followed by a colon and arguments separated by semicolons, each a
value or `name=value`. The arguments are those of the policy's class; a value without a name is the first:

    random   sequential   sequential:1   incremental:3   consecutive:success_threshold=5
    dependencies:micro1>micro2,micro2>micro3;unlock_threshold=4

In dependencies, `a>b` means that `b` stays locked until `a` is solved; `a>b>c` is short for `a>b,b>c`.
Spaces around words are ignored. The policies themselves are in `flagfall.tasks.schedulers`.
"""

from __future__ import annotations

__all__ = [
    "POLICIES",
    "ConsecutiveTaskScheduler",
    "DependenciesTaskScheduler",
    "IncrementalTaskScheduler",
    "RandomTaskScheduler",
    "SequentialTaskScheduler",
    "TaskScheduler",
    "parse_policy",
]

from collections.abc import Callable, Mapping
from functools import cache
from inspect import signature
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from flagfall.errors import UsageError, suggest
from flagfall.tasks.schedulers import (
    ConsecutiveTaskScheduler,
    DependenciesTaskScheduler,
    IncrementalTaskScheduler,
    RandomTaskScheduler,
    SequentialTaskScheduler,
    TaskScheduler,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from flagfall.tasks.task import Task

POLICIES: Final[Mapping[str, type[TaskScheduler]]] = MappingProxyType(
    {
        "random": RandomTaskScheduler,
        "sequential": SequentialTaskScheduler,
        "incremental": IncrementalTaskScheduler,
        "consecutive": ConsecutiveTaskScheduler,
        "dependencies": DependenciesTaskScheduler,
    }
)
"""The task schedulers, by their name in texts."""


MAX_DIGITS: Final = 9
"""Most digits of a number of rounds or successes; no match reaches a billion."""

MAX_SHOWN_CHARS: Final = 200
"""Most characters of a text that are shown in a message."""


def parse_policy(text: str, tasks: Iterable[Task]) -> TaskScheduler:
    """Make the task scheduler that a text describes, in the grammar of this module.

    Args:
        text: such as `consecutive:5`.
        tasks: the tasks to schedule.

    Raises:
        UsageError: the text is invalid, or the policy refuses the tasks.
    """
    name, colon, rest = text.partition(":")
    policy = POLICIES.get(name.strip())
    if policy is None:
        hint = suggest(name.strip(), POLICIES)
        raise UsageError(f"policy {_shown(text)}: unknown policy {_shown(name.strip())}{hint}")
    try:
        settings = _settings(policy, rest, len(name) + 1) if colon else {}
        return policy(tasks, **settings)
    except UsageError as error:
        raise UsageError(f"policy {_shown(text)}: {error}") from error


def _shown(text: str) -> str:
    return repr(text if len(text) <= MAX_SHOWN_CHARS else f"{text[: MAX_SHOWN_CHARS - 3]}...")


def _settings(policy: type[TaskScheduler], text: str, at: int) -> dict[str, Any]:
    """Return the arguments in a text that starts at offset `at` of the whole text."""
    readers = _readers(policy)
    if not readers:
        raise UsageError(f"at column {at + 1}: this policy takes no arguments, got {_shown(text)}")
    settings: dict[str, Any] = {}
    for number, (argument, place) in enumerate(_split(text, ";", at)):
        parts = list(_split(argument, "=", place))
        if len(parts) == 1 and number == 0:
            parts.insert(0, (next(iter(readers)), place))
        name = parts[0][0]
        if name not in readers:
            raise UsageError(
                f"at column {place + 1}: unknown argument {_shown(name)}{suggest(name, readers)}"
            )
        if len(parts) != 2:  # noqa: PLR2004 - a name and a value
            raise UsageError(f"at column {place + 1}: expected `{name}=value`, got {_shown(argument)}")
        if name in settings:
            raise UsageError(f"at column {place + 1}: {name} is given twice")
        settings[name] = readers[name](*parts[1])
    return settings


@cache  # a signature takes 30 us, and matches name the scheduler by a text
def _readers(policy: type[TaskScheduler]) -> Mapping[str, _Reader]:
    arguments = signature(policy).parameters.values()
    return {one.name: _READERS[one.annotation] for one in arguments if one.annotation in _READERS}


def _number(text: str, at: int) -> int:
    if text.isdecimal() and len(text) > MAX_DIGITS:
        raise UsageError(
            f"at column {at + 1}: {_shown(text)} is too large: write at most {MAX_DIGITS} digits"
        )
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"at column {at + 1}: {_shown(text)} is not a whole number, at least 1")
    return int(text)


def _pairs(text: str, at: int) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for chain, place in _split(text, ",", at):
        links = list(_split(chain, ">", place))
        empty = [column for link, column in links if not link]
        if empty or len(links) == 1:
            column = empty[0] if empty else place
            raise UsageError(f"at column {column + 1}: expected `before>after`, got {_shown(chain)}")
        pairs += pairwise(link for link, _ in links)
    return pairs


def _split(text: str, separator: str, at: int) -> Iterator[tuple[str, int]]:
    """Yield the stripped parts of a text, each with its offset."""
    for part in text.split(separator):
        yield part.strip(), at + len(part) - len(part.lstrip())
        at += len(part) + len(separator)


_Reader: TypeAlias = Callable[[str, int], Any]
"""Parses one argument from its text and the offset of that in the whole text."""

_READERS: Final[Mapping[str, _Reader]] = {
    "int": _number,
    "int | None": _number,
    "Iterable[Sequence[str]]": _pairs,
}
"""Readers of the arguments of policies, by the types in their signatures."""
