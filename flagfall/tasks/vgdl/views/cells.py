"""Cells of a level by position, and what views of one game share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache, wraps
from operator import attrgetter, itemgetter
from typing import Any, Final, TypeAlias, TypeVar

from flagfall.tasks.vgdl.definition import GameDefinition, Value
from flagfall.tasks.vgdl.engine.state.game import Game
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.language.schema import Parameters
from flagfall.tasks.vgdl.language.tables import EFFECTS, SPRITE_CLASSES

_Result = TypeVar("_Result")


def per_game(make: Callable[[Game], _Result]) -> Callable[[Game], _Result]:
    """Keep the results of a function by game."""

    @wraps(make)
    def get(game: Game) -> _Result:
        if make not in game.views:
            game.views[make] = make(game)
        result: _Result = game.views[make]
        return result

    return get


def visible_types(definition: GameDefinition) -> tuple[int, ...]:
    """Return the types that can have sprites and are not hidden, in drawing order.

    The original draws leaf types only. A type with types below it has sprites only if the game makes them by
    its own name; such types come before all others.
    """
    types = definition.types
    leaves = set(definition.order)
    parents = sorted({number for number in _made(definition) if number not in leaves})
    return tuple(
        number
        for number in (*parents, *definition.order)
        if types[number].kind is not None and not types[number].parameters.get("hidden")
    )


def _made(definition: GameDefinition) -> Iterator[int]:
    """Yield the types of which levels, sprites and effects make sprites."""
    for numbers in definition.mapping.values():
        yield from numbers
    for sprite_type in definition.types:
        if sprite_type.kind is not None:
            schema = SPRITE_CLASSES[sprite_type.kind].parameters
            yield from _named(definition, schema, sprite_type.parameters)
    for line in definition.rules:
        for rule in (line, line.inner):
            if rule is not None:
                yield from _named(definition, EFFECTS[rule.effect].parameters, rule.parameters)


def _named(definition: GameDefinition, schema: Parameters, values: Mapping[str, Value]) -> Iterator[int]:
    """Yield the types that some parameters name as products."""
    for key, parameter in schema.items():
        value = values[key]
        if parameter.makes_subtypes and isinstance(value, int):
            yield from definition.types[value].subtypes
        elif parameter.makes:
            named = value if isinstance(value, tuple) else (value,)
            yield from (number for number in named if isinstance(number, int))


CellsAt: TypeAlias = Mapping[int, Mapping[int, tuple[int, ...]]]
"""Cells by x, then by y, in pixels; none off the screen. Equal cells are the same object."""


class _Nowhere(dict[int, tuple[int, ...]]):
    """Cells of positions left or right of the screen."""

    def __missing__(self, _y: int) -> tuple[int, ...]:
        return ()


class _ByY(dict[int, tuple[int, ...]]):
    """Cells by y, for the positions that extend over the same columns; computed on first use.

    Args:
        step: from the number of a cell to that below.
    """

    def __init__(
        self,
        columns: tuple[int, ...],
        height: int,
        block: int,
        step: int,
        known: dict[tuple[int, ...], tuple[int, ...]],
    ) -> None:
        super().__init__()
        self.columns = columns
        self._height = height
        self._block = block
        self._step = step
        self._known = known

    def __missing__(self, y: int) -> tuple[int, ...]:
        if not -self._block < y < self._height * self._block:
            return ()
        rows = _line(y, self._block, self._height)
        cells = tuple([column + row * self._step for column in self.columns for row in rows])
        cells = self[y] = self._known.setdefault(cells, cells)
        return cells


class _ByX(dict[int, Mapping[int, tuple[int, ...]]]):
    """Cells by x, then by y."""

    def __missing__(self, _x: int) -> Mapping[int, tuple[int, ...]]:
        return _NOWHERE


_NOWHERE = _Nowhere()


@lru_cache(maxsize=32)
def cells_at(width: int, height: int, block: int, *, by_rows: bool = False) -> CellsAt:
    """Return the cells of sprites by their position, shared by all views of levels of the same size.

    Args:
        by_rows: cells are numbered row by row; otherwise column by column.
    """
    across, down = (1, width) if by_rows else (height, 1)
    known: dict[tuple[int, ...], tuple[int, ...]] = {}
    found = _ByX()
    by_y = _ByY((), height, block, down, known)
    for x in range(1 - block, width * block):
        columns = tuple([column * across for column in _line(x, block, width)])
        if columns != by_y.columns:
            by_y = _ByY(columns, height, block, down, known)
        found[x] = by_y
    return found


def _line(pixel: int, block: int, cells: int) -> tuple[int, ...]:
    """Return the cells along one axis of a sprite that begins at a pixel on the screen."""
    cell = int(pixel / block)
    return (cell, cell + 1) if pixel > 0 and pixel % block and cell + 1 < cells else (cell,)


CROWD: Final = 32
"""Cells with at least this many sprites are rebuilt once for each series of changes, not for each change."""

Fetch: TypeAlias = Callable[[Mapping[int, Any]], tuple[Any, ...]]
"""Function that returns the values of some sprites from a mapping by their numbers, in order."""


def _fetcher(numbers: Sequence[int]) -> Fetch:
    """Return a function that takes the values of some keys from a mapping, as a tuple.

    `operator.itemgetter` does this five times as fast as a loop, but not for less than two keys.
    """
    if len(numbers) > 1:
        return itemgetter(*numbers)
    return _fetcher_of_one(numbers[0]) if numbers else _fetch_nothing


def _fetcher_of_one(number: int) -> Fetch:
    return lambda values: (values[number],)


def _fetch_nothing(_values: Mapping[int, Any]) -> tuple[Any, ...]:
    return ()


class CellMembers:
    """Numbers of the sprites in each cell.

    Call `finish` after a series of changes, before `fetch` is used.

    Args:
        order: sort key by number; the sprites of a cell ascend by it.

    Attributes:
        fetch: by cell, the function that takes the values of its sprites from a mapping by number.
    """

    __slots__ = ("_numbers", "_order", "_pending", "fetch")

    def __init__(self, cells: int, order: Mapping[int, Any]) -> None:
        self._order = order
        self._numbers: list[tuple[int, ...]] = [()] * cells
        self._pending: dict[int, dict[int, None]] = {}
        self.fetch: list[Fetch] = [_fetch_nothing] * cells

    def copy(self, order: Mapping[int, Any]) -> CellMembers:
        """Return an independent copy; only after `finish`."""
        new = CellMembers(0, order)
        new._numbers = self._numbers.copy()
        new.fetch = self.fetch.copy()
        return new

    def move(self, number: int, old: Collection[int], new: Collection[int]) -> None:  # noqa: C901 - calls would cost more than the work
        """Move a sprite from some cells to others.

        Args:
            new: all cells in which it will be.
        """
        members, fetch = self._numbers, self.fetch
        for cell in old:
            if cell not in new:
                before = members[cell]
                count = len(before)
                if count == 1:
                    members[cell] = ()
                    fetch[cell] = _fetch_nothing
                elif count == 2:  # noqa: PLR2004 - one is left
                    other = before[before[0] == number]
                    members[cell] = (other,)
                    fetch[cell] = _fetcher_of_one(other)
                elif count < CROWD:
                    rest = members[cell] = tuple([other for other in before if other != number])
                    fetch[cell] = itemgetter(*rest)
                else:
                    del self._open(cell)[number]
        for cell in new:
            if cell not in old:
                before = members[cell]
                if not before:
                    members[cell] = (number,)
                    fetch[cell] = _fetcher_of_one(number)
                elif len(before) < CROWD:
                    now = (*before, number)
                    order = self._order
                    if order[number] < order[before[-1]]:
                        now = tuple(sorted(now, key=order.__getitem__))
                    members[cell] = now
                    fetch[cell] = itemgetter(*now)
                else:
                    self._open(cell)[number] = None

    def finish(self) -> None:
        """Apply the changes of crowded cells."""
        if self._pending:
            for cell, members in self._pending.items():
                numbers = self._numbers[cell] = tuple(sorted(members, key=self._order.__getitem__))
                self.fetch[cell] = _fetcher(numbers)
            self._pending.clear()

    def _open(self, cell: int) -> dict[int, None]:
        """Return the members of a crowded cell, to be changed until `finish`."""
        members = self._pending.get(cell)
        if members is None:
            members = self._pending[cell] = dict.fromkeys(self._numbers[cell])
        return members


# Cache of what views make of the first moment of a play, shared by all plays that begin alike.
#
# Plays of one level begin with equal sprites, and many end after a few ticks: without this cache, a view of
# such a play would spend most of its time on sprites that never change.

MAX_MOMENTS: Final = 8
"""First moments kept for each game; a public game has five levels."""

MAX_PARTS: Final = 4
"""Results kept for each first moment: one state, and pictures in a few sizes."""

_ATTRIBUTES: Final = attrgetter("id", "category", "x", "y", "ox", "oy", "disabled")
"""All that views show of a sprite, except for what its type determines."""


class FirstMoment:
    """The first moment of a play, before its first cycle.

    Attributes:
        parts: results of views by their names; only immutable ones, or copies that their owner never changes.
    """

    __slots__ = ("_groups", "_size", "parts")

    def __init__(self, play: Play) -> None:
        self._size = (play.width, play.height, play.block_size)
        self._groups = _groups(play)
        self.parts: dict[Hashable, Any] = {}

    def matches(self, play: Play) -> bool:
        """Return whether a play begins with equal sprites on a screen of the same size."""
        return self._size == (play.width, play.height, play.block_size) and all(
            (group if kind.fixed else list(map(_ATTRIBUTES, group))) == known
            for kind, group, known in zip(play.game.kinds, play.groups, self._groups, strict=True)
        )

    def keep(self, name: Hashable, part: Any) -> None:
        """Keep a result; the oldest one is dropped if there are too many."""
        if len(self.parts) >= MAX_PARTS:
            del self.parts[next(iter(self.parts))]
        self.parts[name] = part


@per_game
def _moments(_game: Game) -> list[FirstMoment]:
    return []


def first_moment(play: Play) -> FirstMoment | None:
    """Return the kept first moment of plays that begin as this one does; `None` if it has begun already."""
    if play.tick != -1:
        return None
    moments = _moments(play.game)
    for moment in moments:
        if moment.matches(play):
            return moment
    moment = FirstMoment(play)
    moments[:] = [moment, *moments[: MAX_MOMENTS - 1]]
    return moment


def _groups(play: Play) -> list[list[Any]]:
    """Return the sprites of each type: those that never change as they are, others as their attributes."""
    return [
        group.copy() if kind.fixed else list(map(_ATTRIBUTES, group))
        for kind, group in zip(play.game.kinds, play.groups, strict=True)
    ]
