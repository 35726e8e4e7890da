"""The language in which mini-tasks describe strings of capital letters.

A description is a list of items joined by either ` and ` or ` or `. An item is a wanted run of letters
(`ABC`), a barred run (`not ABC`), or `anything`. A string fits if

1. no barred run occurs in it,
2. under `and`, every wanted run occurs in it (under `or` no run is required),
3. unless `anything` is an item, every letter lies in an occurrence of a wanted run; these may overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from random import Random
from string import ascii_uppercase
from typing import Final, Literal, TypeAlias

import attrs

from flagfall.errors import UsageError

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
        """Return whether a string fits; takes time in proportion to both lengths."""
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


# Strings that fit a description, and strings that nearly fit.
#
# Each string is as likely as in round 1 of the General AI Challenge (`src/fsa` there). Every string is
# checked: a right one always fits, and a wrong one never does.

LONGEST_FILLER: Final = 5
SHORTEST_TO_DELETE_FROM: Final = 5
MIXED_ATTEMPTS: Final = 2
"""Attempts to overwrite a run with any letters; then only letters outside of the description are used."""

_TRIES: Final = 200
"""Attempts to draw a string: the descriptions of the tasks need one, others may have no such string."""


def right_string(description: Description, length: int, rng: Random) -> str:
    """Draw a string that fits a description.

    Args:
        length: the string has more letters than this, but not many more than it needs.

    Raises:
        UsageError: the description fits no such string, or nearly none.
    """
    return checked(description, lambda: _Builder(description, length, rng).build(), fits=True)


def wrong_string(description: Description, length: int, rng: Random) -> str:
    """Draw a string that nearly fits a description: a right one with an error.

    Raises:
        UsageError: the description fits every string, or no string to begin with.
    """
    return checked(description, lambda: _damaged(description, length, rng), fits=False)


def checked(description: Description, draw: Callable[[], str], *, fits: bool) -> str:
    """Return a string that fits a description, or one that does not.

    Args:
        draw: draws a string, which is one of them in most cases.

    Raises:
        UsageError: there is no such string, or nearly none.
    """
    all_fit = description.anything and not description.barred
    if not fits and all_fit and (description.join == "or" or not description.wanted):
        raise UsageError(f"description {str(description)!r} fits every string")
    for _ in range(_TRIES):
        text = draw()
        if description.accepts(text) == fits:
            return text
    raise UsageError(
        f"description {str(description)!r}: found no string that {'fits' if fits else 'does not fit'}"
    )


def coin(rng: Random) -> bool:
    """Draw heads or tails."""
    return rng.random() < 0.5  # noqa: PLR2004 - the half


def foreign_letters(description: Description) -> str:
    """Return the letters that do not occur in a description; all letters if there are none."""
    known = "".join(description.wanted + description.barred)
    return "".join(letter for letter in ascii_uppercase if letter not in known) or ascii_uppercase


class _Builder:
    """Builds one right string: at every step a letter that begins or continues a run, or a filler."""

    def __init__(self, description: Description, length: int, rng: Random) -> None:
        self._description = description
        self._length = length
        self._rng = rng
        self._text = ""
        self._tail = ""  # the text since the last filler, across which no run is continued
        self._covered = 0  # letters up to the end of the last complete run or filler
        self._missing = list(description.wanted) if description.join == "and" else []
        self._aim = ""  # the missing run that letters lead to

    def build(self) -> str:
        """Append letters and fillers until the string is long enough and has all required runs."""
        while True:
            if self._may_be_filled():
                self._fill()
            if self._is_complete():
                return self._text
            if self._description.wanted:
                self._append_letter()

    def _is_long_enough(self) -> bool:
        return len(self._text) > self._length

    def _is_complete(self) -> bool:
        """Return whether the string may end here; it ends at the first such place."""
        whole = self._description.anything or self._covered == len(self._text)
        return self._is_long_enough() and not self._missing and whole

    def _may_be_filled(self) -> bool:
        description = self._description
        if not description.anything or self._covered < len(self._text) or self._is_long_enough():
            return False
        return not description.wanted or coin(self._rng)

    def _fill(self) -> None:
        """Append letters outside of the description, or letters of barred runs that do not complete one.

        Where each letter would complete a barred run, nothing is appended.
        """
        barred, rng = self._description.barred, self._rng
        size = rng.randint(1, LONGEST_FILLER)
        if not barred or coin(rng):
            self._text += "".join(rng.choices(foreign_letters(self._description), k=size))
        else:
            for _ in range(size):
                harmless = [of for of in "".join(barred) if not (self._text + of).endswith(barred)]
                self._text += rng.choice(harmless) if harmless else ""
        self._tail = ""
        self._covered = len(self._text)

    def _append_letter(self) -> None:
        """Append a letter that leads towards the end of a run which covers all letters not yet covered."""
        wanted, bare = self._description.wanted, len(self._text) - self._covered
        letters = {
            run[size] for run in wanted for size in range(bare, len(run)) if self._tail.endswith(run[:size])
        }
        steered = self._steer(letters) if self._is_long_enough() else ""
        letter = steered or self._rng.choice(sorted(letters))
        self._text += letter
        self._tail += letter
        complete = [run for run in wanted if self._tail.endswith(run)]
        self._missing = [run for run in self._missing if run not in complete]
        if any(len(run) > bare for run in complete):
            self._covered = len(self._text)

    def _steer(self, letters: Collection[str]) -> str:
        """Return the letter that leads farthest into one missing run; empty if there is none."""
        if self._missing and self._aim not in self._missing:
            self._aim = self._rng.choice(self._missing)
        run = self._aim if self._missing else ""
        begun = (run[size] for size in reversed(range(len(run))) if self._tail.endswith(run[:size]))
        return next((letter for letter in begun if letter in letters), "")


def _damaged(description: Description, length: int, rng: Random) -> str:
    """Damage a right string: remove a run, insert a letter, known or foreign, or a barred run."""
    wanted, barred, anything = description.wanted, description.barred, description.anything
    insert_known = not anything and coin(rng)
    insert_foreign = not anything and not insert_known
    remove = description.join == "and" and len(wanted) > (0 if anything else 1)
    if remove and not anything and coin(rng):
        insert_known = insert_foreign = False
    insert_barred = bool(barred) and not (remove and coin(rng))
    text = right_string(description, length, rng)
    if remove and not insert_barred:
        removed = _without_one_run(description, text, rng)
        insert_known = insert_known or removed is None
        text = text if removed is None else removed
    if insert_known:
        at = rng.randrange(len(text))
        new = [text[:at] + letter + text[at:] for letter in "".join(wanted)]
        wrong = [of for of in new if not description.accepts(of)]
        insert_foreign = insert_foreign or not wrong
        text = rng.choice(wrong) if wrong else text
    for insert, runs in ((insert_barred, barred), (insert_foreign, foreign_letters(description))):
        if insert:
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice(runs) + text[at:]
    return text


def _without_one_run(description: Description, text: str, rng: Random) -> str | None:
    """Remove all occurrences of one run, or overwrite them if `anything` is allowed.

    One word overwrites all occurrences at once. Where that makes new ones, it is repeated.

    Returns:
        what remains; `None` if it would be too little.
    """
    run = rng.choice(description.wanted)
    before, foreign = len(text), foreign_letters(description)
    if before < SHORTEST_TO_DELETE_FROM and not description.anything:
        return None
    mixed = foreign + "".join(sorted(set("".join(description.wanted))))
    attempt = 0
    while run in text:
        letters = mixed if attempt < MIXED_ATTEMPTS else foreign
        attempt += 1
        text = text.replace(run, "".join(rng.choices(letters, k=len(run))) if description.anything else "")
    return text if len(text) * 2 >= before else None
