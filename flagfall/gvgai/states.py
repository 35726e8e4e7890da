"""States of games in the learning track's protocol: their encoder, and the decoder of the original's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import BytesIO
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Struct

from flagfall.gvgai.protocol import JSON
from flagfall.kernel.channels.framing import LineError
from flagfall.tasks.vgdl.views.observer import Cell, Grid, Observation, Rows, StateObservation
from flagfall.tasks.vgdl.views.state_json import StateWriter, java_float

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
        is_validation: the level is validated; set only in `INIT`.
    """

    phase: str
    state: StateObservation
    is_validation: bool


def read_state(payload: bytes) -> StateMessage:
    """Return the state in a message.

    Raises:
        LineError: it is not a state.
    """
    try:
        fields = decode_state(payload)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise LineError(f"not a state of a server: {error}: {payload[:40]!r}") from error
    values = {name: getattr(fields, name) for name in _PLAIN_FIELDS}
    values |= {name: read(getattr(fields, name)) for name, read in _READERS.items()}
    state = StateObservation(**values)
    return StateMessage(fields.phase, state, fields.is_validation)


def _cell(sprites: list[_Sprite]) -> Cell:
    return tuple(
        [Observation(s.itype, s.obs_id, s.category, int(s.position.x), int(s.position.y)) for s in sprites]
    )


def _rows(rows: _Lists) -> Rows:
    return tuple([_cell(row) for row in rows])


def _grid(columns: list[list[list[_Sprite]]]) -> Grid:
    return tuple([_rows(column) for column in columns])


def _action(name: str) -> str:
    return name.removeprefix(_ACTION)


def _actions(names: list[str]) -> tuple[str, ...]:
    return tuple(map(_action, names))


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = MappingProxyType(
    {
        "avatar_last_action": _action,
        "available_actions": _actions,
        "observation_grid": _grid,
        **{name: _rows for name in WireState.__struct_fields__ if name.endswith("_positions")},
    }
)
"""What converts the values of fields that are not those of a `StateObservation` already."""

_PLAIN_FIELDS: Final = frozenset(WireState.__struct_fields__) - {"phase", "is_validation", *_READERS}

_SIGNED: Final = tuple(str(byte - 256 if byte > 127 else byte) for byte in range(256))  # noqa: PLR2004 - the largest
"""Bytes as signed numbers, as in Java."""

_ABSENT: Final = (
    '"blockSize":0,"noOfPlayers":0,"avatarSpeed":0.0,"avatarType":0,"avatarHealthPoints":0,'
    '"avatarMaxHealthPoints":0,"avatarLimitHealthPoints":0,"isAvatarAlive":false,'
)
_NO_LISTS: Final = '"observationGridNum":0,"observationGridMaxRow":0,"observationGridMaxCol":0' + "".join(
    f',"{name}PositionsNum":0,"{name}PositionsMaxRow":0'
    for name in ("NPC", "immovable", "movable", "resources", "portals", "fromAvatarSprites")
)
"""Fields of a state without its JSON that have primitive types and are therefore never left out."""

_OVER: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "avatar_speed": 0.0,
        "avatar_orientation": (-1.0, -1.0),
        "avatar_position": (-1.0, -1.0),
        "available_actions": (),
    }
)
"""Values of the last state of every level."""


class StateLines:
    """Encoder of the states of one session.

    Args:
        picture: returns the current picture, `[height, width, 3]`, or `None` if there is none.
    """

    def __init__(self, picture: Callable[[], NDArray[Any] | None]) -> None:
        self._writer = StateWriter()
        self._picture = picture
        self._levels = 0

    def init(self, state: StateObservation, *, is_validation: bool) -> str:
        """Return the state at the beginning of a level.

        Its tick is 0 in the first level of a session, and -1 in the others.
        """
        tick = 0 if self._levels == 0 else -1
        self._levels += 1
        return self._writer.write(state, "INIT", tick=tick, is_validation=is_validation)

    def act(self, state: StateObservation, kind: str) -> str:
        """Return the state before a tick."""
        if kind == JSON:
            return self._writer.write(state, "ACT")
        picture = self._picture()
        image = "" if picture is None else png_array(picture)
        return self._writer.write(state, "ACT", image=image) if kind == "BOTH" else _image_alone(state, image)

    def end(self, state: StateObservation, last_tick: int) -> str:
        """Return the state at the end of a level; a level without a winner or loser was aborted.

        Args:
            state: last observation; the game is not over in it if the clock ended the level.
        """
        over = msgspec.structs.replace(state, game_tick=last_tick, **_OVER)
        return self._writer.write(over, "END" if state.is_game_over else "ABORT")


def png_array(picture: NDArray[Any]) -> str:
    """Return a picture as the original sends it: the bytes of a PNG, signed, as a JSON array.

    As in the original the PNG has four channels. All pixels are opaque.

    Args:
        picture: `[height, width, 3]`.
    """
    from PIL import Image  # noqa: PLC0415 - few clients request pictures

    file = BytesIO()
    Image.fromarray(picture).convert("RGBA").save(file, "PNG", compress_level=1)
    return f"[{','.join([_SIGNED[byte] for byte in file.getvalue()])}]"


def _image_alone(state: StateObservation, image: str) -> str:
    shown = f'"imageArray":{image},' if image else ""
    actions = ",".join([f'"ACTION_{action}"' for action in state.available_actions])
    over = msgspec.json.encode(state.is_game_over).decode()
    return (
        f'{{{shown}"isValidation":false,"gameScore":{java_float(state.game_score)},'
        f'"gameTick":{state.game_tick},"gameWinner":"{state.game_winner}","isGameOver":{over},'
        f'{_ABSENT}"phase":"ACT","availableActions":[{actions}],{_NO_LISTS}}}'
    )
