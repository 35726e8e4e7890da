"""Strings that mini-tasks can ask about, and their probabilities: a second reading of specification 8.3.

Shares no code with the tasks. `Walk` is the making of a right string as a chain of states: it gives exact
probabilities, whether a string can be drawn at all, and strings by chance. `damaged` makes one wrong.
`outcomes` gives the exact probabilities of anything that is drawn from a `Random`, of the tasks too.
"""

from __future__ import annotations

__all__ = [
    "FOREIGN",
    "Items",
    "Walk",
    "could_be_right",
    "could_be_wrong",
    "covered",
    "damaged",
    "naive_fit",
    "outcomes",
]

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from random import Random
from string import ascii_uppercase
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
LONGEST_FILLER = 5
NEGLIGIBLE = 1e-12


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
        self.foreign = sorted(set(ascii_uppercase) - self.known)

    @classmethod
    def read(cls, description: str) -> Items:
        join = "or" if " or " in description else "and"
        return cls(description.split(f" {join} "), join)

    def fit(self, text: str) -> bool:
        return naive_fit(self.all, self.join, text)


class Place(NamedTuple):
    """A string in the making.

    `states` are pairs of an n-gram's number and a depth; `left` counts the letters that a filler still needs.
    """

    text: str
    states: frozenset[tuple[int, int]]
    confirmed: int
    missing: frozenset[int]
    aim: int = -1
    left: int = 0
    of_barred: bool = False
    step: int = 1


class Walk:
    """The making of a right string, letter by letter.

    Args:
        items: the description.
        length: the length parameter L.
        foreign: what stands for all foreign letters, which makes the chain shorter; the letters themselves if
            it is left out.
    """

    def __init__(self, items: Items, length: int, foreign: Collection[str] = ()) -> None:
        self._items, self._length, self._foreign = items, length, foreign or items.foreign
        self._root = frozenset((number, 0) for number in range(len(items.plain)))
        missing = frozenset(range(len(items.plain))) if items.join == "and" else frozenset[int]()
        self._start = Place("", self._root, -1, missing)
        self._ways: dict[Place, list[tuple[float, Place]]] = {}

    def chances(self) -> dict[str, float]:
        """Return the probability of every string."""
        found: dict[str, float] = defaultdict(float)
        places = {0: {self._start: 1.0}}
        while places:
            size = min(places)
            while places[size]:
                place, mass = places[size].popitem()
                ways = self._onward(place)
                if not ways:
                    found[place.text] += mass
                for chance, further in ways:
                    if mass * chance > NEGLIGIBLE:
                        level = places.setdefault(len(further.text), {})
                        level[further] = level.get(further, 0) + mass * chance
            del places[size]
        return found

    def reaches(self, target: str) -> bool:
        """Return whether a string can be drawn."""
        seen, places = {self._start}, [self._start]
        while places:
            place = places.pop()
            ways = {further for _, further in self._onward(place)}
            if not ways and place.text == target:
                return True
            ways = {further for further in ways if target.startswith(further.text)} - seen
            seen |= ways
            places += ways
        return False

    def draw(self, rng: Random) -> str:
        """Return a string by chance, with one of the foreign letters for what stands for all of them."""
        place = self._start
        while ways := self._onward(place):
            place = rng.choices([way for _, way in ways], [chance for chance, _ in ways])[0]
        known, foreign = self._items.known, self._items.foreign
        return "".join(letter if letter in known else rng.choice(foreign) for letter in place.text)

    def _onward(self, place: Place) -> list[tuple[float, Place]]:
        """Return what can come next, with its probability; nothing at the end."""
        if place not in self._ways:
            self._ways[place] = list(self._after(place))
        return self._ways[place]

    def _after(self, place: Place) -> Iterator[tuple[float, Place]]:
        items, current = self._items, len(place.text) - 1
        if place.left:
            yield from self._in_filler(place)
        elif place.step == 1 and place.confirmed == current and items.anything and current < self._length:
            yield 1 / 2, place._replace(step=2)
            kinds = [False, True] if items.barred else [False]
            for size in range(1, LONGEST_FILLER + 1):
                for kind in kinds:
                    further = place._replace(left=size, of_barred=kind, states=self._root, step=2)
                    yield 1 / 2 / LONGEST_FILLER / len(kinds), further
        elif not items.plain:
            if current < self._length:
                yield 1, place._replace(step=1)
        else:
            yield from self._letters(place)

    def _in_filler(self, place: Place) -> Iterator[tuple[float, Place]]:
        letters = list(self._foreign)
        if place.of_barred:
            letters = [
                letter
                for letter in "".join(self._items.barred)
                if not any((place.text + letter).endswith(run) for run in self._items.barred)
            ]
        for letter in letters:
            text = place.text + letter
            yield 1 / len(letters), place._replace(text=text, confirmed=len(text) - 1, left=place.left - 1)
        if not letters:
            yield 1, place._replace(left=0)

    def _letters(self, place: Place) -> Iterator[tuple[float, Place]]:
        items, current = self._items, len(place.text) - 1
        letters = {
            items.plain[number][depth]
            for number, depth in place.states
            if current - place.confirmed <= depth < len(items.plain[number])
        }
        if current < self._length:
            aims = [-1]
        elif place.missing:
            aims = [place.aim] if place.aim in place.missing else sorted(place.missing)
        else:
            over = items.anything or any(
                depth == len(items.plain[number]) > current - place.confirmed
                for number, depth in place.states
            )
            if over:
                return
            aims = [-1]
        for aim in aims:
            steered = [] if aim < 0 else self._steered(place, aim, letters)
            for letter in steered or letters:
                yield 1 / len(aims) / len(steered or letters), self._read(place, letter, aim)

    def _steered(self, place: Place, aim: int, letters: Collection[str]) -> list[str]:
        run = self._items.plain[aim]
        depths = [depth for number, depth in place.states if number == aim and depth < len(run)]
        return [run[depth] for depth in sorted(depths, reverse=True) if run[depth] in letters][:1]

    def _read(self, place: Place, letter: str, aim: int) -> Place:
        plain, text = self._items.plain, place.text + letter
        states = self._root | {
            (number, depth + 1)
            for number, depth in place.states
            if plain[number][depth : depth + 1] == letter
        }
        finished = {number for number, depth in states if depth == len(plain[number])}
        confirmed, current = place.confirmed, len(text) - 1
        if any(len(plain[number]) >= current - confirmed for number in finished):
            confirmed = current
        return Place(text, states, confirmed, place.missing - finished, aim)


# --- wrong strings -----------------------------------------------------------------------------------------


def damaged(items: Items, text: str, rng: Random) -> str:
    """Return a wrong string that comes of a right one; all that is random in it is drawn from `rng`."""
    if items.all == ["anything"]:
        return ""
    coin = [True, False]
    needed = items.plain if items.join == "and" else []
    known_one = not items.anything and rng.choice(coin)
    foreign_one = not items.anything and not known_one
    remove = len(needed) >= 2 or (items.anything and len(needed) == 1)
    if remove and not items.anything and rng.choice(coin):
        known_one = foreign_one = False
    negated = bool(items.barred)
    if negated and remove:
        negated = rng.choice(coin)
        remove = not negated
    if remove:
        run = rng.choice(items.plain)
        less = None if len(text) < 5 and not items.anything else _removed(items, text, run, rng)
        if less is None or 2 * len(less) < len(text):
            known_one = True
        else:
            text = less
    if known_one:
        spoilt = _spoilt(items, text, rng)
        foreign_one = foreign_one or spoilt is None
        text = spoilt or text
    if negated:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(items.barred) + text[at:]
    if foreign_one:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(items.foreign) + text[at:]
    return text


def _spoilt(items: Items, text: str, rng: Random) -> str | None:
    at, letters = rng.randrange(len(text)), list("".join(items.plain))
    while letters:
        letter = letters.pop(letters.index(rng.choice(letters)))
        if not items.fit(text[:at] + letter + text[at:]):
            return text[:at] + letter + text[at:]
    return None


def _removed(items: Items, text: str, run: str, rng: Random) -> str:
    rounds = 0
    while run in text:
        rounds += 1
        letters = items.foreign if rounds > 2 else items.foreign + sorted(set("".join(items.plain)))
        word = "".join(rng.choice(letters) for _ in run) if items.anything else ""
        text = text.replace(run, word)
    return text


# --- every outcome of every draw ---------------------------------------------------------------------------

FOREIGN = "Z"
"""Stands for every letter that a description does not have: they are all alike."""


class Outcomes(Random):
    """Takes the place of chance: goes through the outcomes of all draws, one path after another.

    A path is a number for each draw. Draws of letters have one outcome for all foreign ones.
    """

    def __init__(self, known: set[str]) -> None:
        super().__init__(0)
        self._known = known
        self._path: list[int] = []
        self._sizes: list[int] = []
        self._at = 0
        self.chance = 1.0

    def next_path(self) -> bool:
        """Go on to the next path; return whether there is one."""
        path = self._path[: self._at]
        while path and path[-1] == self._sizes[len(path) - 1] - 1:
            path.pop()
        if not path:
            return False
        path[-1] += 1
        self._path, self._sizes, self._at, self.chance = path, [], 0, 1.0
        return True

    def _pick(self, weights: Sequence[int]) -> int:
        if self._at == len(self._path):
            self._path.append(0)
        self._sizes.append(len(weights))
        picked = self._path[self._at]
        self._at += 1
        self.chance *= weights[picked] / sum(weights)
        return picked

    def random(self) -> float:
        return (0.01, 0.75)[self._pick([1, 1])]  # for coins

    def randint(self, a: int, b: int) -> int:
        return a + self._pick([1] * (b - a + 1))

    def randrange(self, start: int, *_: Any) -> int:
        return self._pick([1] * start)

    def choice(self, seq: Sequence[Any]) -> Any:  # type: ignore[override]  # any sequence
        alike = [
            FOREIGN if isinstance(of, str) and len(of) == 1 and of not in self._known else of for of in seq
        ]
        options = list(dict.fromkeys(alike))
        return options[self._pick([alike.count(option) for option in options])]

    def choices(self, population: Sequence[Any], *_: Any, k: int = 1, **__: Any) -> list[Any]:  # type: ignore[override]
        return [self.choice(population) for _ in range(k)]


def outcomes(known: set[str], draw: Callable[[Random], T]) -> dict[T, float]:
    """Return all that a draw can give, and the probability of each."""
    chance = Outcomes(known)
    found: dict[T, float] = defaultdict(float)
    while True:
        drawn = draw(chance)
        found[drawn] += chance.chance
        if not chance.next_path():
            return found


# --- strings of tasks --------------------------------------------------------------------------------------


def could_be_right(items: Items, lengths: range, text: str) -> bool:
    """Return whether a string can be a right one for some length parameter."""
    if not text or not items.fit(text):
        return False
    return any(Walk(items, length).reaches(text) for length in lengths if length < len(text))


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
