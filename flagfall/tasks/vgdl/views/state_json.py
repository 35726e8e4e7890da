"""States as JSON texts of the learning track's protocol; only changed parts are written again.

Fields are in the protocol's order, numbers in Java's format. The text of a column of the grid, of a row of a
list and of a sprite is cached as long as one state shares them with the next.
"""

from __future__ import annotations

__all__ = ["StateWriter", "java_double"]

from decimal import Decimal
from functools import lru_cache
from itertools import compress
from operator import attrgetter, is_not
from typing import Any, Final

from flagfall.tasks.vgdl.views.state_observation import (
    Column,
    Grid,
    Observation,
    Rows,
    StateObservation,
    TypeRow,
)

MAX_CACHED: Final = 20_000
"""Limit of cached texts of sprites; a game cannot have more sprites at a time."""

_PLAIN_BELOW: Final = 10_000_000
_PLAIN_FROM: Final = 0.001

_TRUTH: Final = ("false", "true")

_FACTS: Final = attrgetter(
    *("game_winner", "is_game_over", "world_dimension", "block_size", "no_of_players"),
    *("avatar_position", "avatar_last_action", "avatar_type", "avatar_health_points"),
    *("avatar_max_health_points", "avatar_limit_health_points", "is_avatar_alive"),
)
"""Fields that most ticks leave as they are, besides orientation and speed."""


def java_double(value: float) -> str:
    """Return a number in Java's format of a double: `11.0`, `0.25`, `1.2345678E7`.

    Args:
        value: finite.
    """
    size = abs(value)
    if value == 0 or _PLAIN_FROM <= size < _PLAIN_BELOW:
        return repr(float(value))
    sign, digits, exponent = Decimal(repr(float(value))).normalize().as_tuple()
    assert isinstance(exponent, int)  # states hold no infinities
    first, *others = map(str, digits)
    return f"{'-' * sign}{first}.{''.join(others) or '0'}E{exponent + len(digits) - 1}"


class StateWriter:
    """Writes states one after another; those of one play share most of their text."""

    def __init__(self) -> None:
        self._sprites = _Sprites()
        # By column: the column, the texts of its cells, its own text, and the most sprites of one cell.
        self._columns: list[Column] = []
        self._cells: list[list[str]] = []
        self._texts: list[str] = []
        self._longest: list[int] = []
        self._rows: dict[int, tuple[TypeRow, str]] = {}
        self._lists: dict[str, tuple[Rows, str]] = {}
        self._avatar: tuple[tuple[Any, ...], str] = ((), "")

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
            state: to be written.
            phase: `INIT`, `ACT`, `END` or `ABORT`.
            tick: value of `gameTick`, if it is not the state's own.
            is_validation: value of `isValidation`.
            image: text of `imageArray`, brackets included; empty for none.
        """
        write_list = self._list
        return "".join(
            [
                f'{{"imageArray":{image},' if image else "{",
                f'"isValidation":{_TRUTH[is_validation]},"gameScore":{java_double(state.game_score)},'
                f'"gameTick":{state.game_tick if tick is None else tick},',
                self._facts(state),
                f'"phase":"{phase}",',
                _actions(state.available_actions),
                _amounts(state.avatar_resources),
                *self._grid(state.observation_grid),
                write_list("NPC", state.npc_positions),
                write_list("immovable", state.immovable_positions),
                write_list("movable", state.movable_positions),
                write_list("resources", state.resources_positions),
                write_list("portals", state.portals_positions),
                write_list("fromAvatarSprites", state.from_avatar_sprites_positions),
                "}",
            ]
        )

    def _facts(self, state: StateObservation) -> str:
        """Return the fields from `gameWinner` to `isAvatarAlive`; most ticks change none of them."""
        # Equal numbers may differ in their texts: 0.0 and -0.0.
        facts = (repr(state.avatar_orientation), repr(state.avatar_speed), *_FACTS(state))
        if facts != self._avatar[0]:
            self._avatar = (facts, _write_facts(state))
        return self._avatar[1]

    def _grid(self, grid: Grid) -> tuple[str, ...]:
        height = len(grid[0]) if grid else 0
        if len(self._columns) != len(grid) or (grid and len(self._columns[0]) != height):
            self._clear_grid(len(grid), height)
        columns, rows, text_of = self._columns, range(height), self._sprites.__getitem__
        for at in compress(range(len(grid)), map(is_not, grid, columns)):
            column, before, cells = grid[at], columns[at], self._cells[at]
            for row in compress(rows, map(is_not, column, before)):
                cell = column[row]
                cells[row] = ",".join(map(text_of, cell))
                if len(cell) != len(before[row]):
                    self._longest[at] = -1
            columns[at] = column
            self._texts[at] = "],[".join(cells)
            if self._longest[at] < 0:
                self._longest[at] = max(map(len, column))
        return (
            ',"observationGrid":[[[' if grid else ',"observationGrid":[',
            "]],[[".join(self._texts),
            f'{"]]]" if grid else "]"},"observationGridNum":{len(grid)},"observationGridMaxRow":{height},'
            f'"observationGridMaxCol":{max(self._longest, default=0)}',
        )

    def _clear_grid(self, width: int, height: int) -> None:
        """Begin with empty cells."""
        self._columns = [((),) * height] * width
        self._cells = [[""] * height for _ in range(width)]
        self._texts = ["],[".join(cells) for cells in self._cells]
        self._longest = [0] * width

    def _list(self, name: str, rows: Rows) -> str:
        kept = self._lists.get(name)
        if kept is not None and kept[0] is rows:
            return kept[1]
        positions = f',"{name}Positions":[{",".join([self._row(row) for row in rows])}]' if rows else ""
        text = (
            f'{positions},"{name}PositionsNum":{len(rows)},'
            f'"{name}PositionsMaxRow":{max(map(len, rows), default=0)}'
        )
        self._lists[name] = (rows, text)
        return text

    def _row(self, row: TypeRow) -> str:
        kept = self._rows.get(row[0].itype)
        if kept is not None and kept[0] is row:
            return kept[1]
        text = f"[{','.join(map(self._sprites.__getitem__, row))}]"
        self._rows[row[0].itype] = (row, text)
        return text


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


def _write_facts(state: StateObservation) -> str:
    return (
        f'"gameWinner":"{state.game_winner}",'
        f'"isGameOver":{_TRUTH[state.is_game_over]},"worldDimension":{_pair(state.world_dimension)},'
        f'"blockSize":{state.block_size},"noOfPlayers":{state.no_of_players},'
        f'"avatarSpeed":{java_double(state.avatar_speed)},'
        f'"avatarOrientation":{_pair(state.avatar_orientation)},'
        f'"avatarPosition":{_pair(state.avatar_position)},'
        f'"avatarLastAction":"ACTION_{state.avatar_last_action}","avatarType":{state.avatar_type},'
        f'"avatarHealthPoints":{state.avatar_health_points},'
        f'"avatarMaxHealthPoints":{state.avatar_max_health_points},'
        f'"avatarLimitHealthPoints":{state.avatar_limit_health_points},'
        f'"isAvatarAlive":{_TRUTH[state.is_avatar_alive]},'
    )


@lru_cache(maxsize=32)
def _actions(names: tuple[str, ...]) -> str:
    return f'"availableActions":[{",".join([f"{chr(34)}ACTION_{name}{chr(34)}" for name in names])}],'


def _amounts(resources: dict[int, int]) -> str:
    amounts = ",".join([f'"{type_id}":{amount}' for type_id, amount in resources.items()])
    return f'"avatarResources":{{{amounts}}}'


def _pair(values: tuple[float, float]) -> str:
    return f"[{java_double(values[0])},{java_double(values[1])}]"
