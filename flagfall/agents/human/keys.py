"""Human players of games with a few actions: single keys, from pictures or texts.

The game goes on by itself at a number of steps a second; a step plays the newest key pressed in its time, or
the default action where none was. At speed 0 it waits, and each key is a step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from types import MappingProxyType
from typing import Any, ClassVar, Final

import attrs

from flagfall.agents.agent import AgentSeat
from flagfall.agents.human.dialogue import EVERY_STEP, QUIT, PromptPolicy, Tape
from flagfall.agents.human.key_console import DEFAULT_SPEED, Frame
from flagfall.agents.human.player import Human, no_virtual_time
from flagfall.agents.samples.langroom_solver import LANGROOM_WORDS, is_langroom, langroom_action
from flagfall.errors import AgentFault
from flagfall.kernel.channels.turn_channel import Envelope

GAME_KEYS: Final[Mapping[str, int]] = MappingProxyType(
    {"left": 1, "right": 2, "up": 3, "down": 4, " ": 5, "a": 1, "d": 2, "w": 3, "s": 4, ".": 0}
)
"""Actions of the keys in VGDL games: arrows or WASD move, the space bar uses, a dot does nothing."""

_PICTURE_DIMENSIONS: Final = 3


class KeyHuman(Human):
    """A human who plays by keys, at a full screen.

    Raises:
        UsageError: the standard input or output is not a terminal, or urwid is not installed.

    Attributes:
        nothing: the action where no key was pressed.
        speed: initial steps a second, one of `flagfall.agents.human.key_console.SPEEDS`.
    """

    policy: ClassVar[PromptPolicy] = EVERY_STEP
    nothing: ClassVar[Any] = 0
    speed: ClassVar[int] = DEFAULT_SPEED

    def __init__(self, *, keys: Mapping[str, Any] = GAME_KEYS, **options: Any) -> None:
        from flagfall.agents.human.key_screen import key_screen, require_terminal  # noqa: PLC0415 - optional

        require_terminal()
        super().__init__(**options)
        self.keys = keys
        self._screen = key_screen

    def _begin(self) -> None:
        super()._begin()
        self._frame = Frame()

    def open_console(self, tape: Tape) -> AbstractAsyncContextManager[Any]:  # noqa: ARG002 - no bytes, no tape
        """Return the context of the terminal, a `KeyScreen`."""
        return self._screen(self.keys, self.speed)

    def frame_of(self, observation: Any) -> Frame:
        """Return what to show of an observation.

        Raises:
            AgentFault: it has nothing that a human could see, or the task is not played by these keys.
        """
        if is_langroom(observation):
            raise AgentFault("crashed", "a human plays LangRoom as human-room")
        return frame_of(observation)

    def play(self, key: str | None) -> Any:
        """Return the action of a key; `None` is no key, which is the default action."""
        return self.nothing if key is None else self.keys.get(key, self.nothing)

    async def _answer(self, seat: AgentSeat) -> bool:
        console: Any = self._console
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
        seen = self._frame if turn.observation is None else self.frame_of(turn.observation)
        self._frame = Frame(
            seen.picture,
            seen.text,
            self._frame.steps + (turn.phase == "act"),
            self._frame.reward + reward,
            reward or self._frame.last,
        )
        if turn.phase == "act":
            self._open = turn.number
        else:
            self._open = None
            seat.reply(None, turn.number)
        console: Any = self._console
        console.show(self._frame)


def is_visible(space: Mapping[str, Any]) -> bool:
    """Return whether observations of a space can be shown: texts, pictures, or mappings with an `image`."""
    if space.get("type") == "dict":
        space = space["spaces"].get("image", {})
    return space.get("type") == "text" or len(space.get("shape", ())) == _PICTURE_DIMENSIONS


def frame_of(observation: Any) -> Frame:
    """Return what can be shown of an observation.

    Args:
        observation: a picture, a text, or a mapping with an `image`.

    Raises:
        AgentFault: it has nothing that a human could see.
    """
    if isinstance(observation, str):
        return Frame(text=observation)
    parts = observation if isinstance(observation, Mapping) else {"image": observation}
    picture = parts.get("image")
    if getattr(picture, "ndim", 0) != _PICTURE_DIMENSIONS:
        raise AgentFault(
            "crashed",
            "a human plays from pictures or texts; a VGDL task has them with :observation=image or"
            " :observation=text",
        )
    rest = [f"{name} {value}" for name, value in parts.items() if name != "image"]
    return Frame(picture, "\n".join(rest))


_WALKING: Final = {"w": 2, "a": 4, "s": 1, "d": 3, "up": 2, "left": 4, "down": 1, "right": 3, " ": 0}

_SPEAKING: Final = dict(zip("1234567890erty", LANGROOM_WORDS[1:], strict=True))
"""Number keys for the first ten words, as in the public package; letters for the others."""

_LEGEND: Final = "\n".join(
    "  ".join(f"{key} {_SPEAKING[key]}" for key in line) for line in ("12345678", "90erty")
)

ROOM_KEYS: Final[Mapping[str, Mapping[str, int]]] = MappingProxyType(
    {
        **{key: langroom_action(move=move) for key, move in _WALKING.items()},
        **{key: langroom_action(word=word) for key, word in _SPEAKING.items()},
    }
)
"""Actions of the keys: a step either walks or speaks. The space bar does neither."""

TALK_STEPS: Final = 12
"""Steps of the dialogue that are shown."""

_SILENCE: Final = "."


class RoomHuman(KeyHuman):
    """A human in LangRoom, at a full screen. The room waits for a key, unless a speed is set.

    Below the picture stands the last part of the dialogue, the room's words above the human's.
    """

    nothing: ClassVar[Any] = langroom_action()
    speed: ClassVar[int] = 0

    def __init__(self, *, keys: Mapping[str, Any] = ROOM_KEYS, **options: Any) -> None:
        super().__init__(keys=keys, **options)

    def _begin(self) -> None:
        super()._begin()
        self._talk_of_late: deque[tuple[str, str]] = deque(maxlen=TALK_STEPS)
        self._saying = ""

    def frame_of(self, observation: Any) -> Frame:
        """Return the picture and the last part of the dialogue; see `KeyHuman.frame_of`."""
        if not is_langroom(observation):
            raise AgentFault(
                "crashed", "human-room plays LangRoom only: use human for byte tasks, human-keys for games"
            )
        number = observation["text"]
        heard = LANGROOM_WORDS[number] if number < len(LANGROOM_WORDS) else f"<{number}>"
        self._talk_of_late.append((heard or _SILENCE, self._saying or _SILENCE))
        self._saying = ""
        return attrs.evolve(frame_of({"image": observation["image"]}), text=self._text())

    def play(self, key: str | None) -> Any:
        """Return the action of a key; its word is shown beside the room's next word."""
        action = super().play(key)
        self._saying = LANGROOM_WORDS[action["talk"]]
        return action

    def _text(self) -> str:
        wide = [max(map(len, pair)) for pair in self._talk_of_late]
        lines = [
            " ".join(f"{pair[voice]:<{width}}" for pair, width in zip(self._talk_of_late, wide, strict=True))
            for voice in (0, 1)
        ]
        return f"room  {lines[0]}\nyou   {lines[1]}\n{_LEGEND}"
