"""A human who plays by single keys, from pictures or texts: games with a few actions.

The game goes on by itself, so many steps a second; a step plays the newest key of its time, and nothing
where none was pressed. Or it waits: then each key is a step.
"""

from __future__ import annotations

__all__ = ["GAME_KEYS", "SPEEDS", "USUAL_SPEED", "KeyConsole", "KeyHuman", "Shown", "see"]

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from types import MappingProxyType
from typing import Any, ClassVar, Final, Protocol, cast

import attrs

from flagfall.agents.agent import AgentSeat
from flagfall.agents.human.dialogue import EVERY_STEP, Tape
from flagfall.agents.human.player import QUIT, Human, no_virtual_time
from flagfall.agents.samples.langroom_solver import is_langroom
from flagfall.errors import AgentFault
from flagfall.kernel.channels.envelope import Envelope

SPEEDS: Final = (0, 1, 2, 5, 10, 20, 40)
"""Steps a second; 0 waits for a key before each step."""

USUAL_SPEED: Final = 5

GAME_KEYS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "left": 1,
        "right": 2,
        "up": 3,
        "down": 4,
        " ": 5,
        "a": 1,
        "d": 2,
        "w": 3,
        "s": 4,
        ".": 0,
    }
)
"""What the keys play in VGDL games: arrows or WASD move, the space bar uses, a dot does nothing."""

_PICTURE_DIMENSIONS: Final = 3


@attrs.frozen
class Shown:
    """What is on the screen.

    Attributes:
        picture: uint8 `[height, width, 3]`, or `None`.
        text: lines below the picture, or instead of one.
        steps: so far.
        reward: so far.
        last: the newest reward that was not 0.
    """

    picture: Any = None
    text: str = ""
    steps: int = 0
    reward: float = 0
    last: float = 0


class KeyConsole(Protocol):
    """Where a human sits who presses keys."""

    async def key(self) -> str | None:
        """The newest key of this step, when its time is over; `None` where there was none.

        `human.QUIT` where the human wants to go, or the terminal is gone. If it is cancelled, a key that was
        pressed stays for the next step.
        """

    def show(self, shown: Shown) -> None:
        """Draw this."""


class KeyHuman(Human):
    """A human who plays by keys, at a full screen.

    Args:
        keys: what each key plays.
        options: as for `Human`.

    Raises:
        UsageError: the standard input or output is no terminal, or urwid is not installed.

    Attributes:
        nothing: what is played where no key was pressed.
        speed: steps a second at first, one of `SPEEDS`.
    """

    manner: ClassVar = EVERY_STEP
    nothing: ClassVar[Any] = 0
    speed: ClassVar[int] = USUAL_SPEED

    def __init__(self, *, keys: Mapping[str, Any] = GAME_KEYS, **options: Any) -> None:
        from flagfall.agents.human.key_screen import key_screen, require_terminal  # noqa: PLC0415 - optional

        require_terminal()
        super().__init__(**options)
        self.keys = keys
        self._screen = key_screen

    def _begin(self) -> None:
        super()._begin()
        self._shown = Shown()

    def open_console(self, tape: Tape) -> AbstractAsyncContextManager[Any]:  # noqa: ARG002 - no bytes, no tape
        """The terminal: a `KeyConsole`."""
        return self._screen(self.keys, self.speed)

    def see(self, observation: Any) -> Shown:
        """What to show of an observation.

        Raises:
            AgentFault: there is nothing that a human could see, or nothing to be played by these keys.
        """
        if is_langroom(observation):
            raise AgentFault("crashed", "a human plays LangRoom as human-room")
        return see(observation)

    def play(self, key: str | None) -> Any:
        """What a key plays; without one, nothing."""
        return self.nothing if key is None else self.keys.get(key, self.nothing)

    async def _answer(self, seat: AgentSeat) -> bool:
        console: KeyConsole = cast("Any", self._console)
        with no_virtual_time():
            key = await self._meanwhile(seat, console.key)
        if key == QUIT:
            return False
        if self._open is not None:
            number, self._open = self._open, None
            seat.reply(self.play(key), number)
        return True

    def _take(self, seat: AgentSeat, turn: Envelope) -> None:
        reward = float(turn.reward or 0)
        seen = self._shown if turn.observation is None else self.see(turn.observation)
        self._shown = Shown(
            seen.picture,
            seen.text,
            self._shown.steps + (turn.phase == "act"),
            self._shown.reward + reward,
            reward or self._shown.last,
        )
        if turn.phase == "act":
            self._open = turn.number
        else:
            self._open = None
            seat.reply(None, turn.number)
        console: KeyConsole = cast("Any", self._console)
        console.show(self._shown)


def see(observation: Any) -> Shown:
    """What can be shown of an observation: a picture, a text, or a mapping with an `image`.

    Raises:
        AgentFault: there is nothing that a human could see.
    """
    if isinstance(observation, str):
        return Shown(text=observation)
    parts = observation if isinstance(observation, Mapping) else {"image": observation}
    picture = parts.get("image")
    if getattr(picture, "ndim", 0) != _PICTURE_DIMENSIONS:
        raise AgentFault(
            "crashed",
            "a human plays from pictures or texts; a VGDL task has them with :observation=image or"
            " :observation=text",
        )
    rest = [f"{name} {value}" for name, value in parts.items() if name != "image"]
    return Shown(picture, "\n".join(rest))
