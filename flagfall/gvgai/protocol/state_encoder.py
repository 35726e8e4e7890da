"""Encoder of states for clients: the state as JSON, its picture alone, or both."""

from __future__ import annotations

__all__ = ["StateLines", "png_array"]

from collections.abc import Callable, Mapping
from io import BytesIO
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import msgspec

from flagfall.gvgai.protocol.framing import JSON
from flagfall.tasks.vgdl.views.state_json import StateWriter, java_float
from flagfall.tasks.vgdl.views.state_observation import StateObservation

if TYPE_CHECKING:
    from numpy.typing import NDArray

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

        Args:
            state: observation of the agent.
            is_validation: the level is validated.
        """
        tick = 0 if self._levels == 0 else -1
        self._levels += 1
        return self._writer.write(state, "INIT", tick=tick, is_validation=is_validation)

    def act(self, state: StateObservation, kind: str) -> str:
        """Return the state before a tick.

        Args:
            state: observation of the agent.
            kind: kind of observation that the client requests: `JSON`, `IMAGE` or `BOTH`.
        """
        if kind == JSON:
            return self._writer.write(state, "ACT")
        picture = self._picture()
        image = "" if picture is None else png_array(picture)
        return self._writer.write(state, "ACT", image=image) if kind == "BOTH" else _image_alone(state, image)

    def end(self, state: StateObservation, last_tick: int) -> str:
        """Return the state at the end of a level; a level without a winner or loser was aborted.

        Args:
            state: last observation; the game is not over in it if the clock ended the level.
            last_tick: number of the last tick.
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
