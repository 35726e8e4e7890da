"""Decoder of states of the original server: JSON to the observations of our agents."""

from __future__ import annotations

__all__ = ["StateMessage", "WireState", "decode_state", "read_state"]

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
    """Fields of a state, with the defaults of those that the server leaves out."""

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
"""Decoder of the fields of a state; raises `msgspec.DecodeError` for any other input."""


class StateMessage(NamedTuple):
    """A message with a state.

    Attributes:
        phase: `INIT`, `ACT`, `END` or `ABORT`.
        state: observation of the agent.
        is_validation: the level is validated; set only in `INIT`.
    """

    phase: str
    state: StateObservation
    is_validation: bool


def read_state(payload: bytes) -> StateMessage:
    """Return the state in a message.

    Args:
        payload: the payload of the message.

    Raises:
        LineError: it is not a state.
    """
    try:
        fields = decode_state(payload)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise LineError(f"not a state of a server: {error}: {payload[:40]!r}") from error
    state = StateObservation(
        game_score=fields.game_score,
        game_tick=fields.game_tick,
        game_winner=fields.game_winner,
        is_game_over=fields.is_game_over,
        world_dimension=fields.world_dimension,
        block_size=fields.block_size,
        no_of_players=fields.no_of_players,
        avatar_speed=fields.avatar_speed,
        avatar_orientation=fields.avatar_orientation,
        avatar_position=fields.avatar_position,
        avatar_last_action=fields.avatar_last_action.removeprefix(_ACTION),
        avatar_type=fields.avatar_type,
        avatar_health_points=fields.avatar_health_points,
        avatar_max_health_points=fields.avatar_max_health_points,
        avatar_limit_health_points=fields.avatar_limit_health_points,
        is_avatar_alive=fields.is_avatar_alive,
        available_actions=tuple([action.removeprefix(_ACTION) for action in fields.available_actions]),
        avatar_resources=fields.avatar_resources,
        observation_grid=_grid(fields.observation_grid),
        npc_positions=_rows(fields.npc_positions),
        immovable_positions=_rows(fields.immovable_positions),
        movable_positions=_rows(fields.movable_positions),
        resources_positions=_rows(fields.resources_positions),
        portals_positions=_rows(fields.portals_positions),
        from_avatar_sprites_positions=_rows(fields.from_avatar_sprites_positions),
    )
    return StateMessage(fields.phase, state, fields.is_validation)


def _cell(sprites: list[_Sprite]) -> Cell:
    return tuple(
        [Observation(s.itype, s.obs_id, s.category, int(s.position.x), int(s.position.y)) for s in sprites]
    )


def _rows(rows: _Lists) -> Rows:
    return tuple([_cell(row) for row in rows])


def _grid(columns: list[list[list[_Sprite]]]) -> Grid:
    return tuple([_rows(column) for column in columns])
