"""States as JSON texts of the learning track's protocol; only changed parts are written again.

Fields are in the protocol's order, numbers in Java's format. The text of a column of the grid, of a row of a
list and of a sprite is cached as long as one state shares them with the next.
"""

from __future__ import annotations

__all__ = ["StateWriter", "java_double"]

from decimal import Decimal
from typing import Final

from flagfall.tasks.vgdl.views.state_observation import (
    Cell,
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
        self._columns: list[tuple[Column, list[str], str, int]] = []
        self._rows: dict[int, tuple[TypeRow, str]] = {}

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
        return "".join(
            [
                f'{{"imageArray":{image},' if image else "{",
                f'"isValidation":{_truth(is_validation)},',
                self._facts(state, phase, state.game_tick if tick is None else tick),
                self._grid(state.observation_grid),
                self._list("NPC", state.npc_positions),
                self._list("immovable", state.immovable_positions),
                self._list("movable", state.movable_positions),
                self._list("resources", state.resources_positions),
                self._list("portals", state.portals_positions),
                self._list("fromAvatarSprites", state.from_avatar_sprites_positions),
                "}",
            ]
        )

    @staticmethod
    def _facts(state: StateObservation, phase: str, tick: int) -> str:
        actions = ",".join([f'"ACTION_{action}"' for action in state.available_actions])
        resources = ",".join([f'"{type_id}":{amount}' for type_id, amount in state.avatar_resources.items()])
        return (
            f'"gameScore":{java_double(state.game_score)},"gameTick":{tick},"gameWinner":"{state.game_winner}",'
            f'"isGameOver":{_truth(state.is_game_over)},"worldDimension":{_pair(state.world_dimension)},'
            f'"blockSize":{state.block_size},"noOfPlayers":{state.no_of_players},'
            f'"avatarSpeed":{java_double(state.avatar_speed)},'
            f'"avatarOrientation":{_pair(state.avatar_orientation)},'
            f'"avatarPosition":{_pair(state.avatar_position)},'
            f'"avatarLastAction":"ACTION_{state.avatar_last_action}","avatarType":{state.avatar_type},'
            f'"avatarHealthPoints":{state.avatar_health_points},'
            f'"avatarMaxHealthPoints":{state.avatar_max_health_points},'
            f'"avatarLimitHealthPoints":{state.avatar_limit_health_points},'
            f'"isAvatarAlive":{_truth(state.is_avatar_alive)},"phase":"{phase}",'
            f'"availableActions":[{actions}],"avatarResources":{{{resources}}}'
        )

    def _grid(self, grid: Grid) -> str:
        kept = self._columns
        if len(kept) != len(grid):
            kept = self._columns = [((), [], "", 0)] * len(grid)
        for at, column in enumerate(grid):
            if kept[at][0] is not column:
                texts = self._cells(column, *kept[at][:2])
                kept[at] = (column, texts, f"[{','.join(texts)}]", max(map(len, column), default=0))
        rows = len(grid[0]) if grid else 0
        longest = max([length for _, _, _, length in kept], default=0)
        return (
            f',"observationGrid":[{",".join([text for _, _, text, _ in kept])}]'
            f',"observationGridNum":{len(grid)},"observationGridMaxRow":{rows},"observationGridMaxCol":{longest}'
        )

    def _cells(self, column: Column, before: Column, texts: list[str]) -> list[str]:
        """Return the texts of a column's cells; those of unchanged cells are reused."""
        if len(column) != len(before):
            return [self._cell(cell) for cell in column]
        return [
            text if cell is old else self._cell(cell)
            for cell, old, text in zip(column, before, texts, strict=True)
        ]

    def _list(self, name: str, rows: Rows) -> str:
        positions = f',"{name}Positions":[{",".join([self._row(row) for row in rows])}]' if rows else ""
        return (
            f'{positions},"{name}PositionsNum":{len(rows)},'
            f'"{name}PositionsMaxRow":{max(map(len, rows), default=0)}'
        )

    def _row(self, row: TypeRow) -> str:
        kept = self._rows.get(row[0].itype)
        if kept is not None and kept[0] is row:
            return kept[1]
        text = self._cell(row)
        self._rows[row[0].itype] = (row, text)
        return text

    def _cell(self, cell: Cell) -> str:
        sprites = self._sprites
        return f"[{','.join([sprites[sprite] for sprite in cell])}]"


class _Sprites(dict[Observation, str]):
    """JSON texts of sprites, written on first use; at most `MAX_CACHED` are cached."""

    def __missing__(self, sprite: Observation) -> str:
        if len(self) >= MAX_CACHED:
            self.clear()
        x, y = sprite.x, sprite.y
        square = (x + 1) ** 2 + (y + 1) ** 2
        if square < _PLAIN_BELOW:  # always, unless a sprite is far off the screen
            numbers = f'"x":{x}.0,"y":{y}.0}},"reference":{{"x":-1.0,"y":-1.0}},"sqDist":{square}.0'
        else:
            numbers = (
                f'"x":{java_double(x)},"y":{java_double(y)}}},'
                f'"reference":{{"x":-1.0,"y":-1.0}},"sqDist":{java_double(square)}'
            )
        text = self[sprite] = (
            f'{{"category":{sprite.category},"itype":{sprite.itype},"obsID":{sprite.obs_id},'
            f'"position":{{{numbers}}}'
        )
        return text


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _pair(values: tuple[float, float]) -> str:
    return f"[{java_double(values[0])},{java_double(values[1])}]"
