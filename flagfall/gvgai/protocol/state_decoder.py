"""States as they arrive from a server of the original: JSON to what our own agents see. Pure."""

from __future__ import annotations

__all__ = ["Arrived", "WireState", "decode_state", "read_state"]

from collections.abc import Callable
from typing import Final, Literal, NamedTuple

import msgspec
from msgspec import Struct

from flagfall.kernel.channels.lines import LineError
from flagfall.tasks.vgdl.views.state_observation import Cell, Grid, Observation, Rows, StateObservation

_ACTION: Final = "ACTION_"


class _Place(Struct, gc=False):
    x: float
    y: float


class _Sprite(Struct, gc=False):
    category: int
    itype: int
    obs_id: int = msgspec.field(name="obsID")
    position: _Place


_Lists = list[list[_Sprite]]


class WireState(Struct, rename="camel"):
    """The fields of section 3 of the protocol, with what stands for those that are left out."""

    phase: Literal["INIT", "ACT", "END", "ABORT"]
    is_validation: bool = False
    game_score: float = 0.0
    game_tick: int = 0
    game_winner: str = "NO_WINNER"
    is_game_over: bool = False
    world_dimension: tuple[float, float] = (0.0, 0.0)
    block_size: int = 0
    no_of_players: int = 1
    avatar_speed: float = 0.0
    avatar_orientation: tuple[float, float] = (-1.0, -1.0)
    avatar_position: tuple[float, float] = (-1.0, -1.0)
    avatar_last_action: str = "ACTION_NIL"
    avatar_type: int = -1
    avatar_health_points: int = 0
    avatar_max_health_points: int = 0
    avatar_limit_health_points: int = 0
    is_avatar_alive: bool = False
    available_actions: list[str] = []
    avatar_resources: dict[int, int] = {}
    observation_grid: list[list[list[_Sprite]]] = []
    npc_positions: _Lists = msgspec.field(default_factory=list, name="NPCPositions")
    immovable_positions: _Lists = []
    movable_positions: _Lists = []
    resources_positions: _Lists = []
    portals_positions: _Lists = []
    from_avatar_sprites_positions: _Lists = []


decode_state: Final[Callable[[bytes], WireState]] = msgspec.json.Decoder(WireState).decode
"""The fields of a message; raises `msgspec.DecodeError` where they are none."""


class Arrived(NamedTuple):
    """A message with a state.

    Attributes:
        phase: `INIT`, `ACT`, `END` or `ABORT`.
        state: what the agent is shown.
        is_validation: said truly in `INIT` only.
    """

    phase: str
    state: StateObservation
    is_validation: bool


def read_state(payload: bytes) -> Arrived:
    """The state in a message.

    Raises:
        LineError: there is none.
    """
    try:
        came = decode_state(payload)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise LineError(f"no state of a server: {error}: {payload[:40]!r}") from error
    state = StateObservation(
        game_score=came.game_score,
        game_tick=came.game_tick,
        game_winner=came.game_winner,
        is_game_over=came.is_game_over,
        world_dimension=came.world_dimension,
        block_size=came.block_size,
        no_of_players=came.no_of_players,
        avatar_speed=came.avatar_speed,
        avatar_orientation=came.avatar_orientation,
        avatar_position=came.avatar_position,
        avatar_last_action=came.avatar_last_action.removeprefix(_ACTION),
        avatar_type=came.avatar_type,
        avatar_health_points=came.avatar_health_points,
        avatar_max_health_points=came.avatar_max_health_points,
        avatar_limit_health_points=came.avatar_limit_health_points,
        is_avatar_alive=came.is_avatar_alive,
        available_actions=tuple([action.removeprefix(_ACTION) for action in came.available_actions]),
        avatar_resources=came.avatar_resources,
        observation_grid=_grid(came.observation_grid),
        npc_positions=_rows(came.npc_positions),
        immovable_positions=_rows(came.immovable_positions),
        movable_positions=_rows(came.movable_positions),
        resources_positions=_rows(came.resources_positions),
        portals_positions=_rows(came.portals_positions),
        from_avatar_sprites_positions=_rows(came.from_avatar_sprites_positions),
    )
    return Arrived(came.phase, state, came.is_validation)


def _cell(sprites: list[_Sprite]) -> Cell:
    return tuple(
        [Observation(s.itype, s.obs_id, s.category, int(s.position.x), int(s.position.y)) for s in sprites]
    )


def _rows(rows: _Lists) -> Rows:
    return tuple([_cell(row) for row in rows])


def _grid(columns: list[list[list[_Sprite]]]) -> Grid:
    return tuple([_rows(column) for column in columns])
