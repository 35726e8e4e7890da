"""Strings for descriptions as revision 2 of the rules of round 1 drew them, to verify its journals.

`flagfall.tasks.commai.mini.descriptions` draws those of today.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from flagfall.tasks.commai.mini.descriptions import (
    LONGEST_FILLER,
    MIXED_ATTEMPTS,
    SHORTEST_TO_DELETE_FROM,
    Description,
    checked,
    coin,
    foreign_letters,
)


def right_string(description: Description, length: int, rng: Random) -> str:
    """Draw a string that fits a description; as `descriptions.right_string`."""
    return checked(description, lambda: _Builder(description, length, rng).build(), fits=True)


def wrong_string(description: Description, length: int, rng: Random) -> str:
    """Draw a string that nearly fits a description; as `descriptions.wrong_string`."""

    def damaged() -> str:
        return _damaged(description, right_string(description, length, rng), rng)

    return checked(description, damaged, fits=False)


def _known(description: Description) -> str:
    """Return the letters that occur in a description."""
    return "".join(sorted(set("".join(description.wanted + description.barred))))


class _Builder:
    """Builds one right string, letter by letter, run by run."""

    def __init__(self, description: Description, length: int, rng: Random) -> None:
        self._description = description
        self._length = length
        self._rng = rng
        self._text = ""

    def build(self) -> str:
        """Append runs and fillers until the string is long enough and has all required runs.

        A filler comes first or after a complete run, and a run follows it.
        """
        wanted = self._description.wanted
        filled = False
        while not self._complete():
            if not filled and self._fills():
                self._text += self._filler()
                filled = bool(wanted)
            else:
                self._append_one()
                filled = False
        return self._text

    def _complete(self) -> bool:
        """Return whether the string may end here; it ends at the first such place."""
        return len(self._text) > self._length and not self._missing()

    def _fills(self) -> bool:
        description = self._description
        short = len(self._text) <= self._length
        return description.anything and short and (not description.wanted or coin(self._rng))

    def _missing(self) -> Sequence[str]:
        description = self._description
        if description.join == "or":
            return ()
        return [run for run in description.wanted if run not in self._text]

    def _append_one(self) -> None:
        """Append a run; only a missing one if there is no room left for others."""
        missing = self._missing()
        room = self._length + 1 - len(self._text)
        if missing and room <= len("".join(missing)):
            self._append(self._rng.choice(missing), ())
        else:
            wanted = self._description.wanted
            self._append(self._rng.choice(wanted), wanted)

    def _append(self, run: str, stops: Sequence[str]) -> None:
        """Append a run, possibly overlapping the end of the last one.

        If `anything` is allowed, the string may end within the run.

        Args:
            stops: runs at whose end to stop, if they cover all appended letters.
        """
        overlaps = [size for size in range(len(run)) if self._text.endswith(run[:size])]
        for appended, letter in enumerate(run[self._rng.choice(overlaps) :], 1):
            self._text += letter
            if any(len(stop) >= appended and self._text.endswith(stop) for stop in stops):
                return
            if self._description.anything and self._complete():
                return

    def _filler(self) -> str:
        """Draw letters outside of the description, or letters of barred runs that do not complete one."""
        description, rng = self._description, self._rng
        size = rng.randint(1, LONGEST_FILLER)
        filler = ""
        if description.barred and coin(rng):
            letters = sorted(set("".join(description.barred)))
            while len(filler) < size:
                text = self._text + filler
                harmless = [letter for letter in letters if not (text + letter).endswith(description.barred)]
                if not harmless:
                    break
                filler += rng.choice(harmless)
        return filler or "".join(rng.choices(foreign_letters(description), k=size))


def _damaged(description: Description, text: str, rng: Random) -> str:
    wanted, barred = description.wanted, description.barred
    needed = wanted if description.join == "and" else ()
    if barred and (not needed or coin(rng)):
        at = rng.randrange(len(text))
        return text[:at] + rng.choice(barred) + text[at:]
    if description.anything:
        return _overwritten(description, text, rng)
    if len(needed) > 1:
        return _thinned(description, text, rng)
    return _with_one_more(description, text, rng)


def _with_one_more(description: Description, text: str, rng: Random) -> str:
    """Insert one letter before the end: a wrong one of the description, or a foreign one."""
    if coin(rng):
        return _with_a_known_one(description, text, rng)
    at = rng.randrange(len(text))
    return text[:at] + rng.choice(foreign_letters(description)) + text[at:]


def _with_a_known_one(description: Description, text: str, rng: Random) -> str:
    """Insert a letter of the description that makes the string wrong; a foreign one if there is none."""
    at = rng.randrange(len(text))
    spoilers = [
        letter for letter in _known(description) if not description.accepts(text[:at] + letter + text[at:])
    ]
    return text[:at] + rng.choice(spoilers or foreign_letters(description)) + text[at:]


def _thinned(description: Description, text: str, rng: Random) -> str:
    """Remove all occurrences of one run; sometimes insert a letter as well.

    If too little would remain, a letter of the description that makes the string wrong is inserted.
    """
    run = rng.choice(description.wanted)
    thinned = text
    while run in thinned:
        thinned = thinned.replace(run, "")
    too_much = len(text) < SHORTEST_TO_DELETE_FROM or len(thinned) < len(text) / 2
    damaged = _with_a_known_one(description, text, rng) if too_much else thinned
    return _with_one_more(description, damaged, rng) if coin(rng) else damaged


def _overwritten(description: Description, text: str, rng: Random) -> str:
    """Overwrite all occurrences of one run; only with foreign letters if others keep recreating it."""
    run = rng.choice(description.wanted)
    foreign = foreign_letters(description)
    attempt = 0
    while run in text:
        letters = foreign + _known(description) if attempt < MIXED_ATTEMPTS else foreign
        attempt += 1
        at = text.find(run)
        while at >= 0:
            text = text[:at] + "".join(rng.choices(letters, k=len(run))) + text[at + len(run) :]
            at = text.find(run, at + len(run))
    return text
