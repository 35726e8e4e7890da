"""Mini-tasks 0 to 5: distributions of their descriptions and strings.

Probabilities and sizes are those of round 1 of the General AI Challenge; the tasks differ only in them.
"""

from __future__ import annotations

__all__ = [
    "FORMER_STRINGS",
    "MINI_EXAMPLES",
    "MINI_SETS",
    "ExampleSet",
    "Strings",
    "WarmUp",
    "any_of",
    "make_example",
]

from collections.abc import Callable
from functools import partial
from random import Random
from string import ascii_uppercase
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import attrs

from flagfall.tasks.commai.mini import description_strings, former_strings
from flagfall.tasks.commai.mini.descriptions import ANYTHING, Description
from flagfall.tasks.commai.mini.task import Example

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flagfall.tasks.commai.mini.descriptions import Join
    from flagfall.tasks.commai.mini.task import MakeExample


class Strings(NamedTuple):
    """Two functions that draw strings from a description, a length and a source of random numbers.

    Attributes:
        right: draws one that fits.
        wrong: draws one that does not.
    """

    right: Callable[[Description, int, Random], str]
    wrong: Callable[[Description, int, Random], str]


_STRINGS: Final = Strings(description_strings.right_string, description_strings.wrong_string)

FORMER_STRINGS: Final = Strings(former_strings.right_string, former_strings.wrong_string)
"""The strings of revision 2 of the rules."""

_LETTERS_PER_RUN: Final = (1, 3)
_LETTERS_PER_KIND: Final = 13
"""In a set with barred runs: number of letters for the wanted runs, and for the barred ones."""


@attrs.frozen(kw_only=True)
class ExampleSet:
    """The parameters of one of mini-tasks 1 to 4.

    Attributes:
        join: the word between the items.
        most_runs: greatest number of runs; the least is one.
        just_anything: probability that the description is `anything` and nothing else.
        and_anything: probability that `anything` is added; it always is if a run is barred.
        barred: probability of each run to be barred.
        longest: greatest length asked for; the least is one, and strings may be a little longer.
    """

    join: Join = "and"
    most_runs: int = 3
    just_anything: float = 0
    and_anything: float = 0
    barred: float = 0
    longest: int


MINI_SETS: Final[Mapping[str, ExampleSet]] = MappingProxyType(
    {
        "mini1": ExampleSet(most_runs=1, longest=10),
        "mini2": ExampleSet(join="or", just_anything=0.05, longest=10),
        "mini3": ExampleSet(and_anything=0.5, longest=30),
        "mini4": ExampleSet(and_anything=0.5, barred=0.5, longest=30),
    }
)
"""The tasks, by id."""


def make_example(
    rng: Random, *, row: ExampleSet, fixes: bool = False, strings: Strings = _STRINGS
) -> Example:
    """Draw a description of a set, and a string that fits it or does not with equal probability.

    Every string fits `anything`. As in the original, the empty string represents one that does not.

    Args:
        rng: the source of everything random.
        row: the set.
        fixes: repair that quirk (Q29): the answer to `anything` is always yes.
        strings: how strings are drawn.
    """
    description = _describe(rng, row)
    length = rng.randint(1, row.longest)
    fits = rng.random() < 0.5  # noqa: PLR2004 - a coin
    if description.items == (ANYTHING,) and not fits:
        if not fixes:
            return Example(ANYTHING, "", fits)
        fits = True
    string = (strings.right if fits else strings.wrong)(description, length, rng)
    return Example(str(description), string, fits)


def any_of(
    rng: Random, *, rows: Sequence[ExampleSet], fixes: bool = False, strings: Strings = _STRINGS
) -> Example:
    """Draw an example of one of several sets, chosen uniformly: mini-task 5.

    Args:
        rng: the source of everything random.
        rows: the sets.
        fixes: see `make_example`.
        strings: how strings are drawn.
    """
    return make_example(rng, row=rng.choice(rows), fixes=fixes, strings=strings)


def _describe(rng: Random, row: ExampleSet) -> Description:
    if rng.random() < row.just_anything:
        return Description((ANYTHING,), row.join)
    wanted_letters, barred_letters = _alphabets(rng, row)
    items = []
    for _ in range(rng.randint(1, row.most_runs)):
        if rng.random() < row.barred:
            items.append(f"not {_run(rng, barred_letters)}")
        else:
            items.append(_run(rng, wanted_letters))
    if rng.random() < row.and_anything or any(item.startswith("not ") for item in items):
        items.append(ANYTHING)
    items = list(dict.fromkeys(items))
    rng.shuffle(items)
    return Description(tuple(items), row.join)


def _alphabets(rng: Random, row: ExampleSet) -> tuple[str, str]:
    """Return the letters of wanted runs and those of barred runs, which are disjoint."""
    if not row.barred:
        return ascii_uppercase, ""
    wanted = rng.choices(ascii_uppercase, k=_LETTERS_PER_KIND)
    others = [letter for letter in ascii_uppercase if letter not in wanted]
    return "".join(wanted), "".join(rng.choices(others, k=_LETTERS_PER_KIND))


def _run(rng: Random, letters: str, lengths: tuple[int, int] = _LETTERS_PER_RUN) -> str:
    return "".join(rng.choices(letters, k=rng.randint(*lengths)))


class WarmUp:
    """Mini-task 0: a single run, the same for ten instances; longer runs after many instances.

    Instances are counted over the life of the task, regardless of their results.

    Args:
        strings: how strings are drawn.

    Attributes:
        instances: number of instances so far.
    """

    SAME: Final = 10
    """Number of instances with one description."""

    LAST_SHORT: Final = 1000
    """The last instance, counted from 0, with runs and strings of the first size."""

    _ATTEMPTS: Final = 3

    def __init__(self, strings: Strings = _STRINGS) -> None:
        self.instances: int = 0
        self._strings = strings
        self._description = Description(("A",))

    def __call__(self, rng: Random) -> Example:
        """Return the example of the next instance."""
        size = 1 if self.instances <= self.LAST_SHORT else 2
        if self.instances % self.SAME == 0:
            self._description = Description((_run(rng, ascii_uppercase, (size, size)),))
        self.instances += 1
        length = rng.randint(size, 3 * size - 1)
        fits = rng.random() < 0.5  # noqa: PLR2004 - a coin
        string = self._strings.right(self._description, length, rng) if fits else self._wrong(length, rng)
        return Example(str(self._description), string, fits)

    def _wrong(self, length: int, rng: Random) -> str:
        """Return a string that does not fit: mostly random letters, of exactly the given length."""
        for _ in range(self._ATTEMPTS):
            string = _run(rng, ascii_uppercase, (length, length))
            if not self._description.accepts(string):
                return string
        return self._strings.wrong(self._description, length, rng)


def _warm_up(_fixes: bool, strings: Strings = _STRINGS) -> MakeExample:
    return WarmUp(strings)


def _set(row: ExampleSet, fixes: bool, strings: Strings = _STRINGS) -> MakeExample:
    return partial(make_example, row=row, fixes=fixes, strings=strings)


def _all_sets(fixes: bool, strings: Strings = _STRINGS) -> MakeExample:
    return partial(any_of, rows=tuple(MINI_SETS.values()), fixes=fixes, strings=strings)


MINI_EXAMPLES: Final[Mapping[str, Callable[..., MakeExample]]] = MappingProxyType(
    {
        "mini0": _warm_up,
        **{task_id: partial(_set, row) for task_id, row in MINI_SETS.items()},
        "mini5": _all_sets,
    }
)
"""Makers of the example sources of mini-tasks by task id, from `fixes` and, if others are wanted, `strings`.

Each call is for one task.
"""
