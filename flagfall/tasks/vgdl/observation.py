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

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.play import Play
    from flagfall.tasks.vgdl.sprites import Sprite

AVATARS: Final = 0
RESOURCE: Final = 1
PORTAL: Final = 2
NPC: Final = 3
STATIC: Final = 4
FROM_AVATAR: Final = 5
MOVABLE: Final = 6
CATEGORIES: Final = 7

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
        available_actions: in the order of its class, without `NIL` and `ESCAPE`; empty when the game has ended.
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

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> StateObservation:
        """A state from the mapping that it becomes on a wire or in a journal.

        Raises:
            msgspec.ValidationError: it is none.
        """
        return msgspec.convert(dict(plain), cls, str_keys=True)


_NOWHERE: Final = (-1.0, -1.0)

_xs = attrgetter("x")
_ys = attrgetter("y")


class _Watch:
    """The sprites of one type, as they were seen last.

    Attributes:
        type: which.
        sprites: in the order of their birth; `xs`, `ys` go with them.
        records: by sprite number, in the same order.
        row: the records.
        counts: by category, how many of them have it.
    """

    __slots__ = ("counts", "records", "row", "sprites", "type", "xs", "ys")

    def __init__(self, type_id: int) -> None:
        self.type = type_id
        self.sprites: list[Sprite] = []
        self.xs: list[int] = []
        self.ys: list[int] = []
        self.records: dict[int, Observation] = {}
        self.row: Row = ()
        self.counts = [0] * CATEGORIES


class Observer:
    """Watches one play and says what is to be seen; see the rules at the top of this file.

    Args:
        play: begun, and at any tick; an observer for each play.
    """

    def __init__(self, play: Play) -> None:
        self._play = play
        self._block = play.block_size
        self._width = play.width
        self._height = play.height
        self._dimension = (float(play.width * play.block_size), float(play.height * play.block_size))
        types = play.game.definition.types
        self._watches = [_Watch(type_.id) for type_ in types if not type_.parameters.get("hidden")]
        self._cells: list[Cell] = [()] * (play.width * play.height)
        self._columns: list[Column] = [((),) * play.height] * play.width
        self._grid: Grid = tuple(self._columns)
        self._lists: list[Rows] = [()] * CATEGORIES
        # The cells that a sprite at some position stands in; positions on the screen only.
        self._places: dict[tuple[int, int], tuple[int, ...]] = {}
        # What the look in hand has changed.
        self._stale_columns: set[int] = set()
        self._stale_lists: set[int] = set()

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
        groups = self._play.groups
        for watch in self._watches:
            group = groups[watch.type]
            if group or watch.sprites:
                xs, ys = list(map(_xs, group)), list(map(_ys, group))
                same = group == watch.sprites
                if not same or xs != watch.xs or ys != watch.ys:
                    if not same:
                        self._bury(watch, group)
                        watch.sprites = list(group)
                    self._follow(watch, group)
                    watch.xs, watch.ys = xs, ys
        if self._stale_columns:
            height = self._height
            for column in self._stale_columns:
                self._columns[column] = tuple(self._cells[column * height : (column + 1) * height])
            self._grid = tuple(self._columns)
            self._stale_columns.clear()
        if self._stale_lists:
            for category in self._stale_lists:
                self._lists[category] = tuple([w.row for w in self._watches if w.counts[category]])
            self._stale_lists.clear()

    def _bury(self, watch: _Watch, group: Sequence[Sprite]) -> None:
        """Take out the records of sprites that are gone."""
        living = {sprite.id for sprite in group}
        for number in [number for number in watch.records if number not in living]:
            record = watch.records.pop(number)
            self._take_out(record)
            self._note(watch, record.category, -1)

    def _follow(self, watch: _Watch, group: Sequence[Sprite]) -> None:
        """Make new records of sprites that were born, or have moved."""
        records = watch.records
        type_id = watch.type
        for sprite in group:
            number, x, y = sprite.id, sprite.x, sprite.y
            old = records.get(number)
            if old is None:
                record = Observation(type_id, number, sprite.category, x, y)
                self._note(watch, record.category, 1)
            elif old.x != x or old.y != y:
                record = Observation(type_id, number, old.category, x, y)
                self._take_out(old)
            else:
                continue
            records[number] = record
            self._put_in(record)
        watch.row = tuple(records.values())
        for category, count in enumerate(watch.counts):
            if count:
                self._stale_lists.add(category)

    def _note(self, watch: _Watch, category: int, more: int) -> None:
        watch.counts[category] += more
        self._stale_lists.add(category)

    # The grid.

    def _put_in(self, record: Observation) -> None:
        cells = self._cells
        for at in self._cells_at(record.x, record.y):
            there = cells[at]
            cells[at] = tuple(sorted((*there, record))) if there else (record,)
            self._stale_columns.add(at // self._height)

    def _take_out(self, record: Observation) -> None:
        cells = self._cells
        for at in self._cells_at(record.x, record.y):
            cells[at] = tuple([other for other in cells[at] if other is not record])
            self._stale_columns.add(at // self._height)

    def _cells_at(self, x: int, y: int) -> tuple[int, ...]:
        """Where a sprite at these pixels stands, as places in `_cells`; nowhere if it is off the screen."""
        known = self._places.get((x, y))
        if known is not None:
            return known
        block, width, height = self._block, self._width, self._height
        column, row = int(x / block), int(y / block)
        if not (0 <= column < width and 0 <= row < height):
            return ()
        columns = [column, column + 1] if x > 0 and x % block and column + 1 < width else [column]
        rows = [row, row + 1] if y > 0 and y % block and row + 1 < height else [row]
        places = tuple([c * height + r for c in columns for r in rows])
        self._places[x, y] = places
        return places


def _avatar(avatar: Sprite | None, last_action: str, actions: tuple[str, ...], *, over: bool) -> tuple[Any, ...]:
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
