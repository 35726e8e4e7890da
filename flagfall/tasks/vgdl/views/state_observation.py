"""The state that an agent receives: immutable records of sprites and of a whole play at one moment.

A state goes over wires and into journals as it is; `StateObservation.from_plain` restores it.
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
    "Rows",
    "StateObservation",
    "TypeRow",
]

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

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

        Args:
            plain: mapping of its fields.

        Raises:
            msgspec.ValidationError: the mapping is not a state.
        """
        return msgspec.convert(dict(plain), cls, str_keys=True)
