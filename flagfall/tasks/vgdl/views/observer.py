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

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from flagfall.tasks.vgdl.engine.state.game import Game
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite
from flagfall.tasks.vgdl.views.cells import CellMembers, cells_at, first_moment, per_game

# The state that an agent receives: immutable records of sprites and of a whole play at one moment.
#
# A state goes over wires and into journals as it is; `StateObservation.from_plain` restores it.

AVATARS: Final = 0
RESOURCE: Final = 1
PORTAL: Final = 2
NPC: Final = 3
STATIC: Final = 4
FROM_AVATAR: Final = 5
MOVABLE: Final = 6
CATEGORIES: Final = 7
HIDDEN: Final = -1

WINNERS: Final[Mapping[int, str]] = {
    -1: "NO_WINNER",
    0: "PLAYER_LOSES",
    1: "PLAYER_WINS",
    -100: "PLAYER_DISQ",
}
"""Names of the values of `Play.winner`."""


class Observation(Struct, frozen=True, order=True, gc=False, cache_hash=True):
    """One sprite at one moment. Observations sort in the order of a cell.

    Attributes:
        itype: its type.
        obs_id: its number, counted from 0 over all sprites ever made.
        category: `AVATARS`, `RESOURCE`, ... or `MOVABLE`.
        x, y: its upper left corner, in pixels.
    """

    itype: int
    obs_id: int
    category: int
    x: int
    y: int

    @property
    def position(self) -> tuple[float, float]:
        """Upper left corner, in pixels."""
        return (float(self.x), float(self.y))

    @property
    def reference(self) -> tuple[float, float]:
        """Point from which its distance is measured: always the same."""
        return (-1.0, -1.0)

    @property
    def sq_dist(self) -> float:
        """Square of its distance from `reference`."""
        return float((self.x + 1) ** 2 + (self.y + 1) ** 2)


Cell: TypeAlias = tuple[Observation, ...]
Column: TypeAlias = tuple[Cell, ...]
Grid: TypeAlias = tuple[Column, ...]
TypeRow: TypeAlias = tuple[Observation, ...]
Rows: TypeAlias = tuple[TypeRow, ...]


class StateObservation(Struct, frozen=True):
    """All that an agent can see at one moment; later ticks do not change it.

    Over a wire and in a journal it becomes a mapping of the same fields, which `from_plain` converts back.

    Attributes:
        game_score: so far.
        game_tick: next tick, from 0; after the end, the last tick that was played.
        game_winner: `NO_WINNER`, `PLAYER_WINS`, `PLAYER_LOSES` or `PLAYER_DISQ`.
        is_game_over: the game was won or lost; an abort does not count.
        world_dimension: width and height in pixels.
        block_size: pixels a cell.
        no_of_players: always 1.
        avatar_speed: blocks a tick; 0 when the game has ended.
        avatar_orientation: (0, 0) for none; (-1, -1) when the game has ended.
        avatar_position: upper left corner in pixels; (-1, -1) when the game has ended.
        avatar_last_action: action of the tick before; `NIL` at the start.
        avatar_type: its type, which a transformation changes; -1 once there is no avatar any more.
        avatar_health_points, avatar_max_health_points, avatar_limit_health_points: 0, 0, 1000 in games
            without health.
        is_avatar_alive: it was not killed.
        available_actions: in the order of its class, without `NIL` and `ESCAPE`; empty at the end.
        avatar_resources: type to amount.
        observation_grid: by column, then by row: sprites in the cell.
        npc_positions, immovable_positions, movable_positions, resources_positions, portals_positions,
        from_avatar_sprites_positions: a row for each type, types ascending; empty if there are none.
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
        """Return a state that shares nothing mutable."""
        return msgspec.structs.replace(self, avatar_resources=dict(self.avatar_resources))

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> StateObservation:
        """Return the state that was sent over a wire or written to a journal.

        Raises:
            msgspec.ValidationError: the mapping is not a state.
        """
        return msgspec.convert(dict(plain), cls, str_keys=True)


Point: TypeAlias = tuple[float, float]
_Parts: TypeAlias = tuple[Any, ...]

_NEVER: Final = -3
"""Before the first tick."""

_CROWDED: Final = 4
"""With more stale cells than one in this number, all columns are made at once."""

_NOWHERE: Final[Point] = (-1.0, -1.0)
_NO_AVATAR: Final = (-1, 0, 0, 0, False)
"""Type, points of health, and being alive, when there is no avatar any more."""


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
        self._category, self._listed = _categories(play.game)
        self._tick = _NEVER
        self._cells_at = cells_at(self._width, self._height, self._block)
        self._slices = _slices(self._width, self._height)
        # Changes of the current call: cells of changed sprites, and their types.
        self._stale_cells: list[tuple[int, ...]] = []
        self._stale_types: set[int] = set()

    def _clear(self) -> None:
        """Begin without sprites."""
        types = len(self._category)
        # By sprite: its record, and its cells.
        self._records: dict[int, Observation] = {}
        self._at: dict[int, tuple[int, ...]] = {}
        # By type: its records, how many of them the avatar fired, and its row.
        self._of_type: list[dict[int, Observation]] = [{} for _ in range(types)]
        self._shots = [0] * types
        self._rows: list[TypeRow] = [()] * types
        self._lists: list[Rows] = [()] * CATEGORIES
        self._members = CellMembers(self._width * self._height, self._records)
        self._cells: list[Cell] = [()] * (self._width * self._height)
        self._columns: list[Column] = [((),) * self._height] * self._width
        self._grid: Grid = tuple(self._columns)

    def observe(self) -> StateObservation:
        """Return the complete state of the current tick."""
        play = self._play
        tick = play.tick
        if tick != self._tick:
            if tick == self._tick + 1:
                self._follow(play)
            else:
                self._begin(play)
            self._tick = tick
        lists = self._lists
        over, avatar = play.over, play.avatar
        speed, orientation, position = 0.0, _NOWHERE, _NOWHERE
        if avatar is None:
            fields = _NO_AVATAR
            resources = {}
        else:
            if not over:
                speed = float(avatar.speed)
                orientation = (float(avatar.ox), float(avatar.oy))
                position = (float(avatar.x), float(avatar.y))
            fields = (avatar.type, avatar.health, avatar.max_health, avatar.limit_health, not avatar.disabled)
            resources = avatar.resources.copy()
        return StateObservation(
            float(play.score),
            tick if over else tick + 1,
            WINNERS[play.winner],
            play.winner != -1,
            self._dimension,
            self._block,
            1,
            speed,
            orientation,
            position,
            play.last_action,
            *fields,
            () if over or avatar is None else avatar.kind.actions,
            resources,
            self._grid,
            lists[NPC],
            lists[STATIC],
            lists[MOVABLE],
            lists[RESOURCE],
            lists[PORTAL],
            lists[FROM_AVATAR],
        )

    # Changes.

    def _begin(self, play: Play) -> None:
        """Observe all sprites, or take what was observed of another play that began alike."""
        moment = first_moment(play)
        if moment is None:
            self._examine(play)
        else:
            if "state" not in moment.parts:
                self._examine(play)
                moment.keep("state", self._copy_parts())
            self._set_parts(moment.parts["state"])

    def _examine(self, play: Play) -> None:
        """Observe all sprites."""
        self._clear()
        for group in play.groups:
            for sprite in group:
                self._add(sprite)
        self._rebuild()

    def _follow(self, play: Play) -> None:
        """Apply the changes of one tick."""
        if play.moved:
            self._follow_moved(play.moved)
        for sprite in play.born:
            self._add(sprite)
        for sprite in play.died:
            self._remove(sprite)
        if self._stale_types:
            self._rebuild()

    def _follow_moved(self, moved: Iterable[Sprite]) -> None:
        """Make new records of sprites that have moved."""
        records, of_type, at, cells_at = self._records, self._of_type, self._at, self._cells_at
        known, move, stale = records.get, self._members.move, self._stale_cells.append
        stale_types = self._stale_types
        for sprite in moved:
            number = sprite.id
            old = known(number)
            if old is None:
                continue
            x, y = sprite.x, sprite.y
            if old.x == x and old.y == y:
                continue
            type_id = old.itype
            records[number] = of_type[type_id][number] = Observation(type_id, number, old.category, x, y)
            stale_types.add(type_id)
            cells = cells_at[x][y]
            before = at[number]
            stale(cells)
            if cells is not before:
                at[number] = cells
                move(number, before, cells)
                stale(before)

    def _add(self, sprite: Sprite) -> None:
        type_id = sprite.type
        if self._category[type_id] != HIDDEN:
            number, x, y = sprite.id, sprite.x, sprite.y
            record = Observation(type_id, number, sprite.category, x, y)
            self._records[number] = self._of_type[type_id][number] = record
            self._shots[type_id] += sprite.category == FROM_AVATAR
            self._stale_types.add(type_id)
            self._at[number] = ()
            self._change_cells(number, self._cells_at[x][y])

    def _remove(self, sprite: Sprite) -> None:
        number = sprite.id
        record = self._records.get(number)
        if record is not None:
            type_id = sprite.type
            self._shots[type_id] -= record.category == FROM_AVATAR
            self._stale_types.add(type_id)
            self._change_cells(number, ())
            del self._records[number], self._of_type[type_id][number]
            del self._at[number]

    def _change_cells(self, number: int, new: tuple[int, ...]) -> None:
        """Move a sprite from the cells in which it is to others."""
        old = self._at[number]
        self._at[number] = new
        self._members.move(number, old, new)
        self._stale_cells += (old, new)

    def _rebuild(self) -> None:
        """Make new columns, rows and lists where something has changed."""
        if self._stale_cells:
            self._rebuild_grid()
            self._stale_cells.clear()
        if self._stale_types:
            self._rebuild_lists()
            self._stale_types.clear()

    def _rebuild_grid(self) -> None:
        height, cells, records = self._height, self._cells, self._records
        self._members.finish()
        fetch = self._members.fetch
        stale = set(chain.from_iterable(self._stale_cells))
        for cell in stale:
            cells[cell] = fetch[cell](records)
        columns = self._columns
        if len(stale) * _CROWDED > len(cells):
            made = zip(*[iter(cells)] * height, strict=True)
            self._columns = [old if old == new else new for old, new in zip(columns, made, strict=True)]
        else:
            for column in {cell // height for cell in stale}:
                columns[column] = tuple(cells[self._slices[column]])
        self._grid = tuple(self._columns)

    def _rebuild_lists(self) -> None:
        rows = self._rows
        stale_lists = set()
        for type_id in self._stale_types:
            rows[type_id] = tuple(self._of_type[type_id].values())
            stale_lists.add(self._category[type_id])
        for category in stale_lists:
            if category == MOVABLE:
                self._list_movables()
            elif category != AVATARS:
                self._lists[category] = tuple(filter(None, map(rows.__getitem__, self._listed[category])))

    def _list_movables(self) -> None:
        """List the avatar's shots, and other movable sprites; a type with both kinds is in both lists."""
        rows, shots, types = self._rows, self._shots, self._listed[MOVABLE]
        self._lists[MOVABLE] = tuple([rows[t] for t in types if len(rows[t]) > shots[t]])
        self._lists[FROM_AVATAR] = tuple([rows[t] for t in types if shots[t]])

    # First moments.

    def _copy_parts(self) -> _Parts:
        """Return a copy of all that the next states are made from."""
        known = self._records.copy()
        return (
            known,
            self._at.copy(),
            [records.copy() for records in self._of_type],
            self._shots.copy(),
            self._rows.copy(),
            self._lists.copy(),
            self._members.copy(known),
            self._cells.copy(),
            self._columns.copy(),
            self._grid,
        )

    def _set_parts(self, parts: _Parts) -> None:
        """Go on from a copy, which is not changed."""
        records, at, of_type, shots, rows, lists, members, cells, columns, grid = parts
        self._records = records.copy()
        self._at = at.copy()
        self._of_type = [records.copy() for records in of_type]
        self._shots = shots.copy()
        self._rows = rows.copy()
        self._lists = lists.copy()
        self._members = members.copy(self._records)
        self._cells = cells.copy()
        self._columns = columns.copy()
        self._grid = grid


@lru_cache(maxsize=32)
def _slices(width: int, height: int) -> Sequence[slice]:
    """Return the cells of each column."""
    return [slice(column * height, (column + 1) * height) for column in range(width)]


@per_game
def _categories(game: Game) -> tuple[Sequence[int], Sequence[Sequence[int]]]:
    """Return the category of each type, and the types of each list; the avatar may fire any movable type."""
    kinds = game.kinds
    category = [HIDDEN if kind.parameters.get("hidden") else kind.category for kind in kinds]
    return category, [[kind.id for kind in kinds if category[kind.id] == c] for c in range(CATEGORIES)]
