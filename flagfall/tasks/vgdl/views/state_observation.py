"""What an agent may see of a play: a full, immutable state, made anew each tick from what has changed.

The rules of what is seen where are those of section 8 of the language's specification:

Rule 1: a sprite whose type is hidden is in no observation; an invisible one is.
Rule 2: a sprite stands in the cell of its upper left corner, and in the neighbours to the right and below
    where it is not flush with the grid. Cells are cut towards zero, so one that is less than a cell left of
    the screen, or above it, stands in the first cell.
Rule 3: inside a cell, and from row to row of a list, types ascend; inside a type, sprites stand in the order
    of their birth.
Rule 4: a list has a row for each type with a sprite of its category, and the row has all sprites of the type.
Rule 5: avatars are in the grid and in no list.

A record of a sprite is made when the sprite is born, moves or changes its category. Whatever holds the same
records as before (a cell, a column, a row, a list) is the same object as before.
"""

from __future__ import annotations

__all__ = [
    "AVATARS",
    "FROM_AVATAR",
    "MOVABLE",
    "NPC",
    "PORTAL",
    "RESOURCE",
    "STATIC",
    "WINNERS",
    "Cell",
    "Column",
    "Grid",
    "Observation",
    "Observer",
    "Row",
    "Rows",
    "StateObservation",
]

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.engine.state.play import Play
    from flagfall.tasks.vgdl.engine.state.sprite import Sprite

AVATARS: Final = 0
RESOURCE: Final = 1
PORTAL: Final = 2
NPC: Final = 3
STATIC: Final = 4
FROM_AVATAR: Final = 5
MOVABLE: Final = 6
CATEGORIES: Final = 7
HIDDEN: Final = -1

OFF_SCREEN: Final = 1 << 40
"""More than any place on a screen; see `_Places`."""

WINNERS: Final[Mapping[int, str]] = {
    -1: "NO_WINNER",
    0: "PLAYER_LOSES",
    1: "PLAYER_WINS",
    -100: "PLAYER_DISQ",
}
"""What the numbers of `Play.winner` are called."""


class Observation(Struct, frozen=True, order=True, gc=False):
    """One sprite, as it was at one moment. They sort as they stand in a cell.

    Attributes:
        itype: its type.
        obs_id: its number, counted from 0 over everything that was ever created.
        category: what kind of thing it is: `AVATARS`, `RESOURCE`, ... `MOVABLE`.
        x, y: its upper left corner, in pixels.
    """

    itype: int
    obs_id: int
    category: int
    x: int
    y: int

    @property
    def position(self) -> tuple[float, float]:
        """Its upper left corner, in pixels."""
        return (float(self.x), float(self.y))

    @property
    def reference(self) -> tuple[float, float]:
        """What its distance is measured from: always the same point."""
        return (-1.0, -1.0)

    @property
    def sq_dist(self) -> float:
        """The square of its distance from `reference`."""
        return float((self.x + 1) ** 2 + (self.y + 1) ** 2)


Cell: TypeAlias = tuple[Observation, ...]
Column: TypeAlias = tuple[Cell, ...]
Grid: TypeAlias = tuple[Column, ...]
Row: TypeAlias = tuple[Observation, ...]
Rows: TypeAlias = tuple[Row, ...]


class StateObservation(Struct, frozen=True):
    """Everything that an agent may see at one moment; later ticks do not change it.

    It goes over wires and into journals as it is; what comes out there is a mapping of the same fields,
    and `from_plain` makes a state of it again.

    Attributes:
        game_score: so far.
        game_tick: the tick that is about to be played, from 0; when the game is over, the last one played.
        game_winner: `NO_WINNER`, `PLAYER_WINS`, `PLAYER_LOSES` or `PLAYER_DISQ`.
        is_game_over: somebody won or lost; an abort is no end in this sense.
        world_dimension: width and height in pixels.
        block_size: pixels a cell.
        no_of_players: always 1.
        avatar_speed: blocks a tick; 0 when the game has ended.
        avatar_orientation: (0, 0) for none; (-1, -1) when the game has ended.
        avatar_position: upper left corner in pixels; (-1, -1) when the game has ended.
        avatar_last_action: what was played in the tick before; `NIL` at the start.
        avatar_type: its type, which a transformation changes; -1 where there is no avatar any more.
        avatar_health_points, avatar_max_health_points, avatar_limit_health_points: 0, 0, 1000 in games
            without health.
        is_avatar_alive: it was not killed.
        available_actions: in the order of its class, without `NIL` and `ESCAPE`; empty at the end.
        avatar_resources: type to amount.
        observation_grid: by column, then by row: what stands in the cell.
        npc_positions, immovable_positions, movable_positions, resources_positions, portals_positions,
        from_avatar_sprites_positions: a row for each type, types ascending; empty where there are none.
    """

    game_score: float
    game_tick: int
    game_winner: str
    is_game_over: bool
    world_dimension: tuple[float, float]
    block_size: int
    no_of_players: int
    avatar_speed: float
    avatar_orientation: tuple[float, float]
    avatar_position: tuple[float, float]
    avatar_last_action: str
    avatar_type: int
    avatar_health_points: int
    avatar_max_health_points: int
    avatar_limit_health_points: int
    is_avatar_alive: bool
    available_actions: tuple[str, ...]
    avatar_resources: dict[int, int]
    observation_grid: Grid
    npc_positions: Rows
    immovable_positions: Rows
    movable_positions: Rows
    resources_positions: Rows
    portals_positions: Rows
    from_avatar_sprites_positions: Rows

    def __deepcopy__(self, memo: dict[int, Any]) -> StateObservation:
        """A state that shares nothing that can be changed."""
        return msgspec.structs.replace(self, avatar_resources=dict(self.avatar_resources))

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> StateObservation:
        """A state from the mapping that it becomes on a wire or in a journal.

        Raises:
            msgspec.ValidationError: it is none.
        """
        return msgspec.convert(dict(plain), cls, str_keys=True)


Point: TypeAlias = tuple[float, float]
_AvatarFields: TypeAlias = tuple[
    float, Point, Point, str, int, int, int, int, bool, tuple[str, ...], dict[int, int]
]

_NOWHERE: Final[Point] = (-1.0, -1.0)


class Observer:
    """Watches one play and says what is to be seen; see the rules at the top of this file.

    It is quick where it is asked after every tick; after several, it looks at everything anew.

    Args:
        play: begun, and at any tick; an observer for each play.
    """

    def __init__(self, play: Play) -> None:
        self._play = play
        self._block = play.block_size
        self._width = play.width
        self._height = play.height
        self._dimension = (float(play.screen[0]), float(play.screen[1]))
        kinds = play.game.kinds
        self._category = [HIDDEN if kind.parameters.get("hidden") else kind.category for kind in kinds]
        # Types by the list that they stand in, or may stand in: what moves, the avatar may have fired.
        self._listed = [
            [kind.id for kind in kinds if self._category[kind.id] == c] for c in range(CATEGORIES)
        ]
        self._tick: int | None = None
        places = _places(self._width, self._height, self._block)
        self._across, self._down, self._cells_of = places.across, places.down, places.cells
        self._clear()

    def _clear(self) -> None:
        types = len(self._category)
        self._records: list[dict[int, Observation]] = [{} for _ in range(types)]
        self._shots = [0] * types
        self._rows: list[Row] = [()] * types
        self._lists: list[Rows] = [()] * CATEGORIES
        # By sprite: its place, see `_Places`. By cell: what stands there, in order.
        self._at: dict[int, int] = {}
        self._contents: list[dict[int, Observation]] = [{} for _ in range(self._width * self._height)]
        self._cells: list[Cell] = [()] * (self._width * self._height)
        self._columns: list[Column] = [((),) * self._height] * self._width
        self._grid: Grid = tuple(self._columns)
        # What the look in hand has changed.
        self._stale_cells: set[int] = set()
        self._stale_types: set[int] = set()

    def observe(self) -> StateObservation:
        """The state of this moment, complete."""
        play = self._play
        self._look()
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

    # What has changed.

    def _look(self) -> None:
        """Bring grid and lists up to this moment."""
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
        self._put_together()

    def _follow(self, play: Play) -> None:
        """What happened in one tick."""
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
            place = across.get(x, OFF_SCREEN) + down.get(y, OFF_SCREEN)
            if place == at[number] < OFF_SCREEN:
                cells = cells_of[place]
                for cell in cells:
                    contents[cell][number] = record
                self._stale_cells.update(cells)
            else:
                self._take_out(number)
                self._put_in(record, place)
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
            self._put_in(
                record, self._across.get(record.x, OFF_SCREEN) + self._down.get(record.y, OFF_SCREEN)
            )

    def _remove(self, sprite: Sprite) -> None:
        type_id = sprite.type
        record = self._records[type_id].pop(sprite.id, None)
        if record is not None:
            self._shots[type_id] -= record.category == FROM_AVATAR
            self._stale_types.add(type_id)
            self._take_out(sprite.id)

    def _put_together(self) -> None:
        """Make new columns, rows and lists of what has changed."""
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
        """What the avatar has fired, and what else moves; a type with sprites of both kinds is in both."""
        rows, shots, types = self._rows, self._shots, self._listed[MOVABLE]
        self._lists[MOVABLE] = tuple([rows[t] for t in types if len(rows[t]) > shots[t]])
        self._lists[FROM_AVATAR] = tuple([rows[t] for t in types if shots[t]])

    # The grid.

    def _put_in(self, record: Observation, place: int) -> None:
        self._at[record.obs_id] = place
        if place < OFF_SCREEN:
            for cell in self._cells_of[place]:
                there = self._contents[cell]
                last = there[next(reversed(there))] if there else record
                there[record.obs_id] = record
                if record < last:
                    self._contents[cell] = {seen.obs_id: seen for seen in sorted(there.values())}
                self._stale_cells.add(cell)

    def _take_out(self, number: int) -> None:
        place = self._at.pop(number)
        if place < OFF_SCREEN:
            for cell in self._cells_of[place]:
                del self._contents[cell][number]
                self._stale_cells.add(cell)


class _Places:
    """Where on the grid a sprite may stand.

    Args:
        width: of the grid, in cells.
        height: likewise.
        block: pixels a cell.

    Attributes:
        across, down: what x and what y on the screen add to the number of a place.
        cells: by place its cells, which are numbered column by column.
    """

    def __init__(self, width: int, height: int, block: int) -> None:
        self.across = {x: line * 2 * height for x, line in _spans(width, block).items()}
        self.down = _spans(height, block)
        self.cells = _Cells(width, height)


class _Cells(dict[int, tuple[int, ...]]):
    """The cells of places, found out when they are first asked for."""

    def __init__(self, width: int, height: int) -> None:
        super().__init__()
        self._width = width
        self._height = height

    def __missing__(self, place: int) -> tuple[int, ...]:
        line_across, line_down = divmod(place, 2 * self._height)
        columns = _line(line_across, self._width)
        rows = _line(line_down, self._height)
        cells = self[place] = tuple([column * self._height + row for column in columns for row in rows])
        return cells


def _spans(cells: int, block: int) -> dict[int, int]:
    """By pixel: twice its cell, and one more where a sprite that begins there reaches into the next cell."""
    return {
        pixel: 2 * int(pixel / block) + (pixel > 0 and pixel % block > 0)
        for pixel in range(1 - block, cells * block)
    }


def _line(span: int, cells: int) -> tuple[int, ...]:
    """By such a number: the cells along one axis."""
    cell, reaches = divmod(span, 2)
    return (cell, cell + 1) if reaches and cell + 1 < cells else (cell,)


_places = lru_cache(maxsize=16)(_Places)
"""Shared by all who watch levels of the same size."""


def _avatar(
    avatar: Sprite | None, last_action: str, actions: tuple[str, ...], *, over: bool
) -> _AvatarFields:
    """The fields from `avatar_speed` to `avatar_resources`."""
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
