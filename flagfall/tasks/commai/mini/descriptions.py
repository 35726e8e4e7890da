"""The language in which mini-tasks describe strings of capital letters.

A description is a list of items joined by either ` and ` or ` or `. An item is a wanted run of letters
(`ABC`), a barred run (`not ABC`), or `anything`. A string fits if

1. no barred run occurs in it,
2. under `and`, every wanted run occurs in it (under `or` no run is required),
3. unless `anything` is an item, every letter lies in an occurrence of a wanted run; these may overlap.
"""

from __future__ import annotations

__all__ = ["ANYTHING", "Description", "Join", "parse"]

from string import ascii_uppercase
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import attrs

from flagfall.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

Join: TypeAlias = Literal["and", "or"]

ANYTHING: Final = "anything"
_NOT: Final = "not "
_JOINS: Final[dict[str, Join]] = {"and": "and", "or": "or"}
_LETTERS: Final = frozenset(ascii_uppercase)


@attrs.frozen
class Description:
    """One description; `str` formats it, `parse` parses it.

    Attributes:
        items: the items as text, at least one.
        join: the word between them; under `or` a single wanted run also fits the empty string.
        wanted: the wanted runs.
        barred: the barred runs.
        anything: whether `anything` is an item.

    Raises:
        UsageError: there is no item, an item is invalid, or a run is barred without `anything`.
    """

    items: tuple[str, ...]
    join: Join = "and"
    wanted: tuple[str, ...] = attrs.field(init=False, eq=False, repr=False)
    barred: tuple[str, ...] = attrs.field(init=False, eq=False, repr=False)
    anything: bool = attrs.field(init=False, eq=False, repr=False)

    @wanted.default
    def _wanted(self) -> tuple[str, ...]:
        return tuple(item for item in self.items if item != ANYTHING and not item.startswith(_NOT))

    @barred.default
    def _barred(self) -> tuple[str, ...]:
        return tuple(item.removeprefix(_NOT) for item in self.items if item.startswith(_NOT))

    @anything.default
    def _anything(self) -> bool:
        return ANYTHING in self.items

    def __attrs_post_init__(self) -> None:
        column = 1
        for item in self.items or ("",):
            _check_item(item, column)
            column += len(item) + len(self.join) + 2
        if self.barred and not self.anything:
            raise UsageError(f"description {str(self)!r}: `not` needs {ANYTHING!r} among the items")

    def __str__(self) -> str:
        return f" {self.join} ".join(self.items)

    def accepts(self, text: str) -> bool:
        """Return whether a string fits; takes time proportional to its length times that of the description.

        Args:
            text: the string.
        """
        if any(run in text for run in self.barred):
            return False
        if self.join == "and" and any(run not in text for run in self.wanted):
            return False
        return self.anything or self._covers(text)

    def _covers(self, text: str) -> bool:
        covered = 0
        for at in range(len(text)):
            reach = max((len(run) for run in self.wanted if text.startswith(run, at)), default=0)
            covered = max(covered, at + reach)
            if covered <= at:
                return False
        return True


def parse(text: str, *, single: Join = "and") -> Description:
    """Parse a description.

    Args:
        text: such as `not AB and CF and anything`.
        single: the join of a description with one item, which its text does not show.

    Raises:
        UsageError: the text is not a description; the message has the column, counted from 1.
    """
    join: Join | None = None
    items: list[list[str]] = [[]]
    for column, word in _words(text):
        kind = _JOINS.get(word)
        if kind is not None:
            if join not in {None, kind}:
                raise UsageError(
                    f"description, column {column}: {kind!r} after {join!r}; one kind throughout"
                )
            join = kind
            items.append([])
        else:
            items[-1].append(word)
    return Description(tuple(map(" ".join, items)), join or single)


def _words(text: str) -> Iterator[tuple[int, str]]:
    column = 1
    for word in text.split(" "):
        yield column, word
        column += len(word) + 1


def _check_item(item: str, column: int) -> None:
    """Refuse an invalid item that starts at `column` of the text."""
    if item == ANYTHING:
        return
    run = item.removeprefix(_NOT)
    column += len(item) - len(run)
    for at, letter in enumerate(run):
        if letter not in _LETTERS:
            raise UsageError(f"description, column {column + at}: {letter!r} is not a capital letter A to Z")
    if not run:
        raise UsageError(
            f"description, column {column}: letters, 'not' and letters, or {ANYTHING!r} expected"
        )
