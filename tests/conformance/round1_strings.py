"""Strings that mini-tasks can ask about: a second reading of specification 8.3, without any chance in it.

Shares no code with the tasks. `Walk` follows every way in which a right string can come about;
`wrong_strings` damages right ones in every way there is. The specification leaves open when missing runs are
steered to; here it is as soon as the letters that are left to the shortest length are no more than those of
all missing runs together.
"""

from __future__ import annotations

__all__ = ["Items", "Walk", "could_be_right", "could_be_wrong", "naive_fit", "wrong_strings"]

from collections.abc import Collection, Iterator
from itertools import product
from string import ascii_uppercase
from typing import NamedTuple

LONGEST_FILLER = 5


def naive_fit(items: list[str], join: str, text: str) -> bool:
    """The three rules of 8.2, word for word."""
    plain = [item for item in items if item.isupper()]
    barred = [item.split(" ")[1] for item in items if item.startswith("not ")]
    if any(run in text for run in barred):
        return False
    if join == "and" and not all(run in text for run in plain):
        return False
    return "anything" in items or covered(plain, text)


def covered(plain: list[str], text: str) -> bool:
    """Rule 3: every position lies inside some occurrence."""
    inside = {
        at + offset
        for run in plain
        for at in range(len(text))
        if text[at : at + len(run)] == run
        for offset in range(len(run))
    }
    return inside == set(range(len(text)))


class Items:
    """A description taken apart."""

    def __init__(self, items: list[str], join: str) -> None:
        self.all, self.join = items, join
        self.plain = [item for item in items if item.isupper()]
        self.barred = [item.split(" ")[1] for item in items if item.startswith("not ")]
        self.anything = "anything" in items
        self.known = set("".join(self.plain + self.barred))

    @classmethod
    def read(cls, description: str) -> Items:
        join = "or" if " or " in description else "and"
        return cls(description.split(f" {join} "), join)

    def fit(self, text: str) -> bool:
        return naive_fit(self.all, self.join, text)

    def missing(self, text: str) -> list[str]:
        return [run for run in self.plain if run not in text] if self.join == "and" else []


class Place(NamedTuple):
    """A string in the making: its text, and where the last filler ended if nothing followed it yet."""

    text: str
    filled: bool


class Walk:
    """Every way to a right string.

    Args:
        items: the description.
        length: the length parameter L.
        foreign: the letters that stand for all foreign ones.
        target: only ways to this string, if given.
    """

    def __init__(
        self, items: Items, length: int, foreign: Collection[str], target: str | None = None
    ) -> None:
        self._items, self._length, self._foreign, self._target = items, length, foreign, target

    def strings(self) -> set[str]:
        """Return all the strings that come out."""
        found, seen, ways = set(), set(), [Place("", filled=False)]
        while ways:
            place = ways.pop()
            if self._over(place.text):
                found.add(place.text)
                continue
            for further in self._onward(place):
                if further not in seen and (self._target is None or self._target.startswith(further.text)):
                    seen.add(further)
                    ways.append(further)
        return found

    def _over(self, text: str) -> bool:
        return len(text) > self._length and not self._items.missing(text)

    def _onward(self, place: Place) -> Iterator[Place]:
        items, text = self._items, place.text
        if items.anything and len(text) <= self._length and not place.filled:
            for filler in self._fillers(text):
                yield Place(text + filler, bool(items.plain))
        missing = items.missing(text)
        steered = missing and self._length + 1 - len(text) <= sum(map(len, missing))
        for run in missing if steered else items.plain:
            for overlap in range(len(run)):
                if text.endswith(run[:overlap]):
                    yield Place(self._ended(text, text + run[overlap:], bool(steered)), filled=False)

    def _ended(self, text: str, whole: str, steered: bool) -> str:
        """Return a text with a run appended, up to where some run is first complete, or all is over."""
        for end in range(len(text) + 1, len(whole)):
            appended = end - len(text)
            runs = [run for run in self._items.plain if len(run) >= appended]
            if not steered and any(whole[:end].endswith(run) for run in runs):
                return whole[:end]
            if self._items.anything and self._over(whole[:end]):
                return whole[:end]
        return whole

    def _fillers(self, text: str) -> Iterator[str]:
        """Foreign letters, or letters of barred runs that complete none."""
        yield from self._words(len(text), self._foreign)
        if not self._items.barred:
            return
        letters = sorted(set("".join(self._items.barred)))
        begun = [""]
        for _ in range(LONGEST_FILLER):
            begun = [word + letter for word in begun for letter in self._harmless(text + word, letters)]
            if self._target is not None:
                begun = [word for word in begun if self._target.startswith(text + word)]
            yield from begun

    def _words(self, at: int, letters: Collection[str]) -> Iterator[str]:
        for size in range(1, LONGEST_FILLER + 1):
            if self._target is None:
                yield from map("".join, product(letters, repeat=size))
            elif set(self._target[at : at + size]) <= set(letters):
                yield self._target[at : at + size]

    def _harmless(self, text: str, letters: list[str]) -> list[str]:
        barred = self._items.barred
        return [letter for letter in letters if not any((text + letter).endswith(run) for run in barred)]


# --- wrong strings -----------------------------------------------------------------------------------------


def wrong_strings(items: Items, length: int, foreign: Collection[str]) -> set[str]:
    """Return all strings that can come of damaging a right one."""
    if items.all == ["anything"]:
        return {""}
    right = Walk(items, length, foreign).strings()
    return {wrong for text in right for wrong in _damages(items, text, foreign)}


def _damages(items: Items, text: str, foreign: Collection[str]) -> Iterator[str]:
    for run in items.barred:
        for at in range(len(text)):  # never at the very end
            yield text[:at] + run + text[at:]
    if items.anything:
        for run in items.plain:
            yield from _overwritten(items, text, run, foreign)
    elif items.join == "or" or len(items.plain) == 1:
        yield from _inserted(items, text, foreign)
    else:
        for run in items.plain:
            thin = text
            while run in thin:
                thin = thin.replace(run, "")
            too_much = len(text) < 5 or 2 * len(thin) < len(text)
            for damaged in _inserted_known(items, text, foreign) if too_much else [thin]:
                yield damaged
                yield from _inserted(items, damaged, foreign)


def _inserted(items: Items, text: str, foreign: Collection[str]) -> Iterator[str]:
    yield from _inserted_known(items, text, foreign)
    for at, letter in product(range(len(text)), foreign):
        yield text[:at] + letter + text[at:]


def _inserted_known(items: Items, text: str, foreign: Collection[str]) -> Iterator[str]:
    for at in range(len(text)):
        with_one = [text[:at] + letter + text[at:] for letter in items.known]
        spoilt = [new for new in with_one if not items.fit(new)]
        yield from spoilt or [text[:at] + letter + text[at:] for letter in foreign]


def _overwritten(items: Items, text: str, run: str, foreign: Collection[str]) -> Iterator[str]:
    """Attempt after attempt: in the first two any letters, then foreign ones."""
    states = {text}
    for letters in ({*foreign, *items.known}, {*foreign, *items.known}, set(foreign)):
        again = set()
        for state in states:
            for new in _written_over(state, run, 0, letters):
                if run in new:
                    again.add(new)
                else:
                    yield new
        states = again


def _written_over(text: str, run: str, start: int, letters: Collection[str]) -> set[str]:
    at = text.find(run, start)
    if at < 0:
        return {text}
    end = at + len(run)
    return {
        new
        for word in product(letters, repeat=len(run))
        for new in _written_over(text[:at] + "".join(word) + text[end:], run, end, letters)
    }


# --- strings of tasks --------------------------------------------------------------------------------------


def could_be_right(items: Items, lengths: range, text: str) -> bool:
    """Return whether a string can be a right one for some length parameter."""
    if not text or not items.fit(text):
        return False
    foreign = set(ascii_uppercase) - items.known
    return any(
        text in Walk(items, length, foreign, text).strings() for length in lengths if length < len(text)
    )


def could_be_wrong(items: Items, lengths: range, text: str) -> bool:
    """Return whether a string can be a wrong one.

    Exact where a single insertion makes it wrong; for the other recipes what must hold at least.
    """
    if items.all == ["anything"]:
        return not text
    if items.fit(text):
        return False
    for run in items.barred:
        for at in range(len(text) - len(run)):
            if text[at : at + len(run)] == run:
                base = text[:at] + text[at + len(run) :]
                if could_be_right(items, lengths, base):
                    return True
    if items.anything:
        return any(run not in text for run in items.plain) and len(text) > min(lengths)
    if items.join == "or" or len(items.plain) == 1:
        return _one_letter_more(items, lengths, text)
    # One run taken out, and perhaps one letter put in; or, where that is too much, one or two put in.
    with_one_less = [text[:at] + text[at + 1 :] for at in range(len(text) - 1)]
    thinned = (
        not set(less) - items.known and any(run not in less for run in items.plain)
        for less in [text, *with_one_less]
    )
    return any(thinned) or any(
        could_be_right(items, lengths, less) or _one_letter_more(items, lengths, less)
        for less in with_one_less
    )


def _one_letter_more(items: Items, lengths: range, text: str) -> bool:
    return any(could_be_right(items, lengths, text[:at] + text[at + 1 :]) for at in range(len(text) - 1))
