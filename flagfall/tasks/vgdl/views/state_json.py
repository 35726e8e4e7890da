"""States as JSON texts of the learning track's protocol; only changed parts are written again.

Fields are in the protocol's order, numbers in Java's format. The text of a column of the grid, of a row of a
list and of a sprite is cached as long as one state shares them with the next.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from decimal import Decimal
from functools import lru_cache
from itertools import compress
from operator import is_not
from struct import pack, unpack
from typing import Final

from flagfall.tasks.vgdl.views.observer import Column, Grid, Observation, Rows, StateObservation, TypeRow

MAX_CACHED: Final = 20_000
"""Limit of cached texts of sprites; a game cannot have more sprites at a time."""

_PLAIN_BELOW: Final = 10_000_000
_PLAIN_FROM: Final = 0.001

_FLOAT_DIGITS: Final = 9
"""Digits that tell all floats apart."""

_LEAST_SLOTS: Final = 16

_TRUTH: Final = ("false", "true")

_LISTS: Final = ("NPC", "immovable", "movable", "resources", "portals", "fromAvatarSprites")
_LIST_NUMBERS: Final = range(len(_LISTS))


def java_double(value: float) -> str:
    """Return a number in Java's format of a double: `11.0`, `0.25`, `1.2345678E7`."""
    return _TEXTS[value] if value else repr(float(value))  # 0.0 and -0.0 are one key


def java_float(value: float) -> str:
    """Return a number in Java's format of a float, which has 24 bits: `11.0`, `0.1`, `1.6777216E7`.

    Args:
        value: finite; what is too large for a float is written as a double.
    """
    return _FLOATS[value] if value else repr(float(value))


class _Texts(dict[float, str]):
    """Texts of numbers, written on first use; at most `MAX_CACHED` are cached."""

    def __init__(self, write: Callable[[float], str]) -> None:
        super().__init__()
        self._write = write

    def __missing__(self, value: float) -> str:
        if len(self) >= MAX_CACHED:
            self.clear()
        text = self[value] = self._write(value)
        return text


def _java_float(value: float) -> str:
    try:
        packed = pack("f", value)
    except OverflowError:
        return _java_double(value)
    rounded: float = unpack("f", packed)[0]
    shortest = (float(f"{rounded:.{digits}g}") for digits in range(1, _FLOAT_DIGITS + 1))
    return _java_double(next(text for text in shortest if pack("f", text) == packed))


def _java_double(value: float) -> str:
    if not value or _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        return repr(float(value))
    sign, digits, exponent = Decimal(repr(float(value))).normalize().as_tuple()
    assert isinstance(exponent, int)  # states hold no infinities
    first, *others = map(str, digits)
    return f"{'-' * sign}{first}.{''.join(others) or '0'}E{exponent + len(digits) - 1}"


_TEXTS: Final = _Texts(_java_double)
_FLOATS: Final = _Texts(_java_float)


class StateWriter:
    """Writes states one after another; those of one play share most of their text."""

    def __init__(self) -> None:
        self._sprites = _Sprites()
        self._facts = _Facts()
        self._set_size(0, 0)
        self._rows: dict[int, tuple[TypeRow, str]] = {}
        # By list: its rows, and its text.
        self._lists: list[Rows] = [()] * len(_LISTS)
        self._list_texts = [_list_text(name, (), []) for name in _LISTS]

    def write(
        self,
        state: StateObservation,
        phase: str,
        *,
        tick: int | None = None,
        is_validation: bool = False,
        image: str = "",
    ) -> str:
        """Return a state as one line of JSON.

        Args:
            phase: `INIT`, `ACT`, `END` or `ABORT`.
            tick: value of `gameTick`, if it is not the state's own.
            image: text of `imageArray`, brackets included; empty for none.
        """
        self._follow_grid(state.observation_grid)
        lists = (
            state.npc_positions,
            state.immovable_positions,
            state.movable_positions,
            state.resources_positions,
            state.portals_positions,
            state.from_avatar_sprites_positions,
        )
        kept = self._lists
        for at in compress(_LIST_NUMBERS, map(is_not, lists, kept)):
            rows = kept[at] = lists[at]
            self._list_texts[at] = _list_text(_LISTS[at], rows, map(self._row, rows))
        return "".join(
            [
                f'{{"imageArray":{image},' if image else "{",
                '"isValidation":true,' if is_validation else '"isValidation":false,',
                self._facts.write(state, phase, state.game_tick if tick is None else tick),
                ',"observationGrid":[',
                *self._texts,
                self._sizes(),
                *self._list_texts,
                "}",
            ]
        )

    def _set_size(self, width: int, height: int) -> None:
        """Begin with a grid of empty cells."""
        self._height = height
        # By column: the column, the texts of its cells without their brackets, its text with a comma before.
        self._columns: list[Column] = [((),) * height] * width
        self._cells = [[""] * height for _ in range(width)]
        self._opening = ["[[", *[",[["] * (width - 1)][:width]
        self._texts = [
            f"{opening}{'],['.join(cells)}]]" if height else f"{opening[:-1]}]"
            for opening, cells in zip(self._opening, self._cells, strict=True)
        ]
        # The number of cells, by the number of sprites in each.
        self._cells_with = [width * height]

    def _follow_grid(self, grid: Grid) -> None:
        """Write the cells that have changed."""
        columns = self._columns
        if len(columns) != len(grid) or (grid and len(grid[0]) != self._height):
            self._set_size(len(grid), len(grid[0]) if grid else 0)
            columns = self._columns
        sprites, cells_with = self._sprites, self._cells_with
        text_of = sprites.__getitem__
        rows = range(self._height)
        for at in compress(range(len(grid)), map(is_not, grid, columns)):
            column, before, texts = grid[at], columns[at], self._cells[at]
            columns[at] = column
            for row in compress(rows, map(is_not, column, before)):
                cell = column[row]
                count, last = len(cell), len(before[row])
                if count == 1:
                    texts[row] = sprites[cell[0]]
                elif count == 2:  # noqa: PLR2004 - written out, since most cells have at most two sprites
                    texts[row] = f"{sprites[cell[0]]},{sprites[cell[1]]}"
                else:
                    texts[row] = ",".join(map(text_of, cell))
                if count != last:
                    cells_with[last] -= 1
                    if count >= len(cells_with):
                        cells_with += [0] * (count + 1 - len(cells_with))
                    cells_with[count] += 1
            self._texts[at] = f"{self._opening[at]}{'],['.join(texts)}]]"

    def _sizes(self) -> str:
        while len(self._cells_with) > 1 and not self._cells_with[-1]:
            del self._cells_with[-1]
        return (
            f'],"observationGridNum":{len(self._columns)},"observationGridMaxRow":{self._height},'
            f'"observationGridMaxCol":{len(self._cells_with) - 1}'
        )

    def _row(self, row: TypeRow) -> str:
        kept = self._rows.get(row[0].itype)
        if kept is not None and kept[0] is row:
            return kept[1]
        text = f"[{','.join(map(self._sprites.__getitem__, row))}]"
        self._rows[row[0].itype] = (row, text)
        return text


def _list_text(name: str, rows: Rows, texts: Iterable[str]) -> str:
    """Return the text of a list, with its size."""
    positions = f',"{name}Positions":[{",".join(texts)}]' if rows else ""
    return (
        f'{positions},"{name}PositionsNum":{len(rows)},'
        f'"{name}PositionsMaxRow":{max(map(len, rows), default=0)}'
    )


class _Sprites(dict[Observation, str]):
    """JSON texts of sprites, written on first use; at most `MAX_CACHED` are cached."""

    def __init__(self) -> None:
        super().__init__()
        self._places: dict[tuple[int, int], str] = {}

    def __missing__(self, sprite: Observation) -> str:
        if len(self) >= MAX_CACHED:
            self.clear()
        x, y = sprite.x, sprite.y
        place = self._places.get((x, y)) or self._write_place(x, y)
        text = self[sprite] = (
            f'{{"category":{sprite.category},"itype":{sprite.itype},"obsID":{sprite.obs_id},{place}'
        )
        return text

    def _write_place(self, x: int, y: int) -> str:
        """Return the fields from `position` on; sprites come to the same places again and again."""
        if len(self._places) >= MAX_CACHED:
            self._places.clear()
        square = (x + 1) ** 2 + (y + 1) ** 2
        text = self._places[x, y] = (
            f'"position":{{"x":{java_double(x)},"y":{java_double(y)}}},'
            f'"reference":{{"x":-1.0,"y":-1.0}},"sqDist":{java_double(square)}}}'
        )
        return text


class _Facts:
    """Writer of all but the sprites; texts of facts that seldom change are kept."""

    def __init__(self) -> None:
        self._world: tuple[object, ...] = ()
        self._world_text = ""
        self._avatar: tuple[object, ...] = ()
        self._avatar_text = ""

    def write(self, state: StateObservation, phase: str, tick: int) -> str:
        """Return the fields from `gameScore` to `avatarResources`."""
        world = (
            state.game_winner,
            state.is_game_over,
            state.world_dimension,
            state.block_size,
            state.no_of_players,
        )
        if world != self._world:
            self._world = world
            self._world_text = _world(state)
        avatar = (
            state.avatar_type,
            state.avatar_health_points,
            state.avatar_max_health_points,
            state.avatar_limit_health_points,
            state.is_avatar_alive,
            state.available_actions,
            phase,
        )
        if avatar != self._avatar:
            self._avatar = avatar
            self._avatar_text = _avatar(state, phase)
        amounts = state.avatar_resources
        resources = ",".join([f'"{number}":{amounts[number]}' for number in _hash_order(amounts)])
        return (
            f'"gameScore":{java_float(state.game_score)},"gameTick":{tick},{self._world_text}'
            f'"avatarSpeed":{java_float(state.avatar_speed)},'
            f'"avatarOrientation":{_pair(state.avatar_orientation)},'
            f'"avatarPosition":{_pair(state.avatar_position)},'
            f'"avatarLastAction":"ACTION_{state.avatar_last_action}",{self._avatar_text}{resources}}}'
        )


def _hash_order(numbers: Collection[int]) -> list[int]:
    """Return numbers in the order of a `HashMap` of Java that they were put into in ascending order."""
    slots = _LEAST_SLOTS
    while len(numbers) > slots * 3 // 4:
        slots *= 2
    return sorted(numbers, key=lambda number: (number % slots, number))


def _world(state: StateObservation) -> str:
    return (
        f'"gameWinner":"{state.game_winner}","isGameOver":{_TRUTH[state.is_game_over]},'
        f'"worldDimension":{_pair(state.world_dimension)},'
        f'"blockSize":{state.block_size},"noOfPlayers":{state.no_of_players},'
    )


def _avatar(state: StateObservation, phase: str) -> str:
    return (
        f'"avatarType":{state.avatar_type},"avatarHealthPoints":{state.avatar_health_points},'
        f'"avatarMaxHealthPoints":{state.avatar_max_health_points},'
        f'"avatarLimitHealthPoints":{state.avatar_limit_health_points},'
        f'"isAvatarAlive":{_TRUTH[state.is_avatar_alive]},"phase":"{phase}",'
        f'"availableActions":[{_actions(state.available_actions)}],"avatarResources":{{'
    )


@lru_cache(maxsize=32)
def _actions(names: tuple[str, ...]) -> str:
    return ",".join([f'"ACTION_{name}"' for name in names])


def _pair(values: tuple[float, float]) -> str:
    return f"[{java_double(values[0])},{java_double(values[1])}]"
