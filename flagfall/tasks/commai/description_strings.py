"""Strings that fit a description, and strings that almost do.

The recipes are those of round 1 of the General AI Challenge. Whatever a recipe yields is checked: a right
string always fits, and a wrong one never does.
"""

from __future__ import annotations

__all__ = ["right_string", "wrong_string"]

from string import ascii_uppercase
from typing import TYPE_CHECKING, Final

from flagfall.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from flagfall.tasks.commai.descriptions import Description

_LONGEST_FILLER: Final = 5
_SHORTEST_TO_DELETE_FROM: Final = 5
_TRIES: Final = 200
"""Far more than the descriptions of the tasks ever need, which is one; odd ones may have no such string."""


def right_string(description: Description, length: int, rng: Random) -> str:
    """A string that fits: more than `length` letters, and few more than it needs.

    Raises:
        UsageError: the description fits no such string, or nearly none.
    """
    return _checked(description, lambda: _Builder(description, length, rng).build(), fits=True)


def wrong_string(description: Description, length: int, rng: Random) -> str:
    """A string that does not fit, though little is wrong with it: a right one, damaged.

    Raises:
        UsageError: the description fits every string, or no string to begin with.
    """
    if (
        description.anything
        and not description.barred
        and (description.join == "or" or not description.wanted)
    ):
        raise UsageError(f"description {str(description)!r} fits every string")

    def damaged() -> str:
        return _damaged(description, right_string(description, length, rng), rng)

    return _checked(description, damaged, fits=False)


def _checked(description: Description, draw: Callable[[], str], *, fits: bool) -> str:
    for _ in range(_TRIES):
        text = draw()
        if description.accepts(text) == fits:
            return text
    raise UsageError(
        f"description {str(description)!r}: found no string that {'fits' if fits else 'does not fit'}"
    )


def _foreign(description: Description) -> str:
    """The letters that do not occur in a description; all letters if there are none."""
    known = set("".join(description.wanted + description.barred))
    return "".join(letter for letter in ascii_uppercase if letter not in known) or ascii_uppercase


# --- right strings -----------------------------------------------------------------------------------------


class _Builder:
    """Builds one right string, run by run."""

    def __init__(self, description: Description, length: int, rng: Random) -> None:
        self._description = description
        self._length = length
        self._rng = rng
        self._text = ""

    def build(self) -> str:
        """Runs and fillers until the string is long enough and has all it must have."""
        description, rng = self._description, self._rng
        while (missing := self._missing()) or len(self._text) <= self._length:
            short = len(self._text) <= self._length
            if description.anything and short and (not description.wanted or rng.random() < 0.5):  # noqa: PLR2004
                self._text += self._filler()
            else:
                room = self._length + 1 - len(self._text)
                self._append(rng.choice(missing if room <= len("".join(missing)) else description.wanted))
        return self._text

    def _missing(self) -> Sequence[str]:
        description = self._description
        if description.join == "or":
            return ()
        return [run for run in description.wanted if run not in self._text]

    def _append(self, run: str) -> None:
        """Append a run, perhaps over the end of the last; where anything goes it may be cut short."""
        text, least = self._text, self._length + 1
        overlaps = [size for size in range(len(run)) if text.endswith(run[:size])]
        self._text += run[self._rng.choice(overlaps) :]
        if self._description.anything and len(self._text) > least > len(text):
            whole = self._text
            self._text = whole[:least]
            if self._missing():
                self._text = whole

    def _filler(self) -> str:
        """Letters that mean nothing, or almost something that is barred."""
        description, rng = self._description, self._rng
        size = rng.randint(1, _LONGEST_FILLER)
        if not description.barred or rng.random() < 0.5:  # noqa: PLR2004 - a coin
            return "".join(rng.choices(_foreign(description), k=size))
        letters = sorted(set("".join(description.barred)))
        filler = ""
        for _ in range(size):
            said = self._text + filler
            harmless = [
                letter
                for letter in letters
                if not any((said + letter).endswith(run) for run in description.barred)
            ]
            filler += rng.choice(harmless or _foreign(description))
        return filler


# --- wrong strings -----------------------------------------------------------------------------------------


def _damaged(description: Description, text: str, rng: Random) -> str:
    wanted, barred = description.wanted, description.barred
    needed = wanted if description.join == "and" else ()
    if barred and (not needed or rng.random() < 0.5):  # noqa: PLR2004 - a coin
        at = rng.randint(0, len(text))
        return text[:at] + rng.choice(barred) + text[at:]
    if description.anything:
        return _overwritten(description, text, rng)
    if len(needed) > 1:
        return _thinned(description, text, rng)
    return _with_one_more(description, text, rng)


def _with_one_more(description: Description, text: str, rng: Random) -> str:
    """One letter more, somewhere before the end: a known one that spoils the string, or a foreign one."""
    at = rng.randrange(len(text)) if text else 0
    if rng.random() < 0.5:  # noqa: PLR2004 - a coin
        known = sorted(set("".join(description.wanted)))
        rng.shuffle(known)
        for letter in known:
            spoilt = text[:at] + letter + text[at:]
            if not description.accepts(spoilt):
                return spoilt
    return text[:at] + rng.choice(_foreign(description)) + text[at:]


def _thinned(description: Description, text: str, rng: Random) -> str:
    """All of one run taken out, unless that is too much; sometimes one letter more as well."""
    run = rng.choice(description.wanted)
    thinned = text
    while run in thinned:
        thinned = thinned.replace(run, "")
    if len(text) < _SHORTEST_TO_DELETE_FROM or len(thinned) < len(text) / 2:
        return _with_one_more(description, text, rng)
    return _with_one_more(description, thinned, rng) if rng.random() < 0.5 else thinned  # noqa: PLR2004


def _overwritten(description: Description, text: str, rng: Random) -> str:
    """All of one run written over, with foreign letters only if others keep making it anew."""
    run = rng.choice(description.wanted)
    foreign = _foreign(description)
    known = "".join(sorted(set("".join(description.wanted + description.barred))))
    for letters in (foreign + known, foreign + known, foreign):
        at = text.find(run)
        while at >= 0:
            text = text[:at] + "".join(rng.choices(letters, k=len(run))) + text[at + len(run) :]
            at = text.find(run, at + len(run))
        if run not in text:
            break
    return text
