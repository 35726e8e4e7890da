"""Observation of a play: a complete, immutable state, updated each tick from the changes of that tick.

Rules of what is visible (section 8 of the language's specification):

Rule 1: a sprite whose type is hidden is in no observation; an invisible one is. Rule 2: a sprite is in the
cell of its upper left corner, and in the neighbours to the right and below if it is
    not aligned with the grid. Cells are truncated towards zero, so a sprite that is less than a cell left of
    the screen, or above it, is in the first cell.
Rule 3: inside a cell, and from row to row of a list, types ascend; inside a type, sprites are in the order of
    their birth.
Rule 4: a list has a row for each type with a sprite of its category, and the row has all sprites of the type.
Rule 5: avatars are in the grid and in no list.

A record of a sprite is made when the sprite is born, moves or changes its category. Whatever has the same
records as before (a cell, a column, a row, a list) is the same object as before.
"""

from __future__ import annotations

__all__ = ["Observer"]

from functools import lru_cache
from typing import Final, TypeAlias

from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite
from flagfall.tasks.vgdl.views.state_observation import (
    AVATARS,
    CATEGORIES,
    FROM_AVATAR,
    HIDDEN,
    MOVABLE,
    NPC,
    PORTAL,
    RESOURCE,
    STATIC,
    WINNERS,
    Cell,
    Column,
    Grid,
    Observation,
    Rows,
    StateObservation,
    TypeRow,
)

_OFF_SCREEN: Final = 1 << 40
"""More than any anchor on a screen; see `_Anchors`."""

Point: TypeAlias = tuple[float, float]
_AvatarFields: TypeAlias = tuple[
    float, Point, Point, str, int, int, int, int, bool, tuple[str, ...], dict[int, int]
]

_NOWHERE: Final[Point] = (-1.0, -1.0)


class Observer:
    """Observes one play by the rules of this module.

    It is fast if it is called after every tick; after several, it examines all sprites again.

    Args:
        play: at any tick; each play needs an observer of its own.
    """

    def __init__(self, play: Play) -> None:
        self._play = play
        self._block = play.block_size
        self._width = play.width
        self._height = play.height
        self._dimension = (float(play.screen[0]), float(play.screen[1]))
        kinds = play.game.kinds
        self._category = [HIDDEN if kind.parameters.get("hidden") else kind.category for kind in kinds]
        # Types by the list in which they can be. The avatar may have fired any type that moves.
        self._listed = [
            [kind.id for kind in kinds if self._category[kind.id] == c] for c in range(CATEGORIES)
        ]
        self._tick: int | None = None
        anchors = _anchors_of(self._width, self._height, self._block)
        self._across, self._down, self._cells_of = anchors.across, anchors.down, anchors.cells
        self._clear()

    def _clear(self) -> None:
        types = len(self._category)
        self._records: list[dict[int, Observation]] = [{} for _ in range(types)]
        self._shots = [0] * types
        self._rows: list[TypeRow] = [()] * types
        self._lists: list[Rows] = [()] * CATEGORIES
        # By sprite: its anchor, see `_Anchors`. By cell: its sprites, in order.
        self._at: dict[int, int] = {}
        self._contents: list[dict[int, Observation]] = [{} for _ in range(self._width * self._height)]
        self._cells: list[Cell] = [()] * (self._width * self._height)
        self._columns: list[Column] = [((),) * self._height] * self._width
        self._grid: Grid = tuple(self._columns)
        # Changes of the current call.
        self._stale_cells: set[int] = set()
        self._stale_types: set[int] = set()

    def observe(self) -> StateObservation:
        """Return the complete state of the current tick."""
        play = self._play
        self._update()
        lists = self._lists
        over = play.over
        return StateObservation(
            float(play.score),
            play.tick if over else play.tick + 1,
            WINNERS[play.winner],
            play.winner != -1,
            self._dimension,
            self._block,
            1,
            *_avatar(play.avatar, play.last_action, () if over else play.available_actions, over=over),
            self._grid,
            lists[NPC],
            lists[STATIC],
            lists[MOVABLE],
            lists[RESOURCE],
            lists[PORTAL],
            lists[FROM_AVATAR],
        )

    # Changes.

    def _update(self) -> None:
        """Bring grid and lists up to date."""
        play = self._play
        tick = play.tick
        if tick == self._tick:
            return
        if self._tick is None or tick != self._tick + 1:
            self._clear()
            for group in play.groups:
                for sprite in group:
                    self._add(sprite)
        else:
            self._follow(play)
        self._tick = tick
        self._rebuild()

    def _follow(self, play: Play) -> None:
        """Apply the changes of one tick."""
        records, contents, at = self._records, self._contents, self._at
        across, down, cells_of = self._across, self._down, self._cells_of
        for sprite in play.moved:
            type_id, number = sprite.type, sprite.id
            old = records[type_id].get(number)
            if old is None:
                continue
            x, y = sprite.x, sprite.y
            if old.x == x and old.y == y:
                continue
            record = Observation(type_id, number, old.category, x, y)
            records[type_id][number] = record
            self._stale_types.add(type_id)
            anchor = across.get(x, _OFF_SCREEN) + down.get(y, _OFF_SCREEN)
            if anchor == at[number] < _OFF_SCREEN:
                cells = cells_of[anchor]
                for cell in cells:
                    contents[cell][number] = record
                self._stale_cells.update(cells)
            else:
                self._remove_from_grid(number)
                self._add_to_grid(record, anchor)
        for sprite in play.born:
            self._add(sprite)
        for sprite in play.died:
            self._remove(sprite)

    def _add(self, sprite: Sprite) -> None:
        type_id = sprite.type
        if self._category[type_id] != HIDDEN:
            record = Observation(type_id, sprite.id, sprite.category, sprite.x, sprite.y)
            self._records[type_id][sprite.id] = record
            self._shots[type_id] += record.category == FROM_AVATAR
            self._stale_types.add(type_id)
            self._add_to_grid(
                record, self._across.get(record.x, _OFF_SCREEN) + self._down.get(record.y, _OFF_SCREEN)
            )

    def _remove(self, sprite: Sprite) -> None:
        type_id = sprite.type
        record = self._records[type_id].pop(sprite.id, None)
        if record is not None:
            self._shots[type_id] -= record.category == FROM_AVATAR
            self._stale_types.add(type_id)
            self._remove_from_grid(sprite.id)

    def _rebuild(self) -> None:
        """Make new columns, rows and lists where something has changed."""
        if self._stale_cells:
            height = self._height
            cells, contents = self._cells, self._contents
            for cell in self._stale_cells:
                cells[cell] = tuple(contents[cell].values())
            for column in {cell // height for cell in self._stale_cells}:
                self._columns[column] = tuple(cells[column * height : (column + 1) * height])
            self._grid = tuple(self._columns)
            self._stale_cells.clear()
        if self._stale_types:
            stale_lists = set()
            for type_id in self._stale_types:
                self._rows[type_id] = tuple(self._records[type_id].values())
                stale_lists.add(self._category[type_id])
            self._stale_types.clear()
            for category in stale_lists:
                if category == MOVABLE:
                    self._list_movables()
                elif category != AVATARS:
                    rows = [self._rows[type_id] for type_id in self._listed[category]]
                    self._lists[category] = tuple([row for row in rows if row])

    def _list_movables(self) -> None:
        """List the avatar's shots, and other movable sprites; a type with both kinds is in both lists."""
        rows, shots, types = self._rows, self._shots, self._listed[MOVABLE]
        self._lists[MOVABLE] = tuple([rows[t] for t in types if len(rows[t]) > shots[t]])
        self._lists[FROM_AVATAR] = tuple([rows[t] for t in types if shots[t]])

    # The grid.

    def _add_to_grid(self, record: Observation, anchor: int) -> None:
        self._at[record.obs_id] = anchor
        if anchor < _OFF_SCREEN:
            for cell in self._cells_of[anchor]:
                there = self._contents[cell]
                last = there[next(reversed(there))] if there else record
                there[record.obs_id] = record
                if record < last:
                    self._contents[cell] = {seen.obs_id: seen for seen in sorted(there.values())}
                self._stale_cells.add(cell)

    def _remove_from_grid(self, number: int) -> None:
        anchor = self._at.pop(number)
        if anchor < _OFF_SCREEN:
            for cell in self._cells_of[anchor]:
                del self._contents[cell][number]
                self._stale_cells.add(cell)


class _Anchors:
    """Positions on the grid, by number: a sprite's first cell, and whether it extends into the next ones.

    Args:
        width: the width of the grid, in cells.
        height: the height of the grid, in cells.
        block: pixels a cell.

    Attributes:
        across, down: summands of the number, by x and by y in pixels.
        cells: cells of an anchor, numbered column by column.
    """

    def __init__(self, width: int, height: int, block: int) -> None:
        self.across = {x: line * 2 * height for x, line in _spans(width, block).items()}
        self.down = _spans(height, block)
        self.cells = _Cells(width, height)


class _Cells(dict[int, tuple[int, ...]]):
    """Cells by anchor, computed on first use."""

    def __init__(self, width: int, height: int) -> None:
        super().__init__()
        self._width = width
        self._height = height

    def __missing__(self, anchor: int) -> tuple[int, ...]:
        line_across, line_down = divmod(anchor, 2 * self._height)
        columns = _line(line_across, self._width)
        rows = _line(line_down, self._height)
        cells = self[anchor] = tuple([column * self._height + row for column in columns for row in rows])
        return cells


def _spans(cells: int, block: int) -> dict[int, int]:
    """Return by pixel twice its cell, plus one if a sprite that begins there extends into the next cell."""
    return {
        pixel: 2 * int(pixel / block) + (pixel > 0 and pixel % block > 0)
        for pixel in range(1 - block, cells * block)
    }


def _line(span: int, cells: int) -> tuple[int, ...]:
    """Return the cells along one axis for a value of `_spans`."""
    cell, reaches = divmod(span, 2)
    return (cell, cell + 1) if reaches and cell + 1 < cells else (cell,)


_anchors_of = lru_cache(maxsize=16)(_Anchors)
"""Shared by all observers of levels of the same size."""


def _avatar(
    avatar: Sprite | None, last_action: str, actions: tuple[str, ...], *, over: bool
) -> _AvatarFields:
    """Return the fields from `avatar_speed` to `avatar_resources`."""
    if avatar is None:
        return (0.0, _NOWHERE, _NOWHERE, last_action, -1, 0, 0, 0, False, actions, {})
    return (
        0.0 if over else float(avatar.speed),
        _NOWHERE if over else (float(avatar.ox), float(avatar.oy)),
        _NOWHERE if over else (float(avatar.x), float(avatar.y)),
        last_action,
        avatar.type,
        avatar.health,
        avatar.max_health,
        avatar.limit_health,
        not avatar.disabled,
        actions,
        dict(avatar.resources),
    )
