"""A human in LangRoom: WASD or the arrows walk, number keys and letters speak words; every key is a step."""

from __future__ import annotations

__all__ = ["ROOM_KEYS", "RoomHuman"]

from collections import deque
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final

import attrs

from flagfall.agents.human.key_console import Frame
from flagfall.agents.human.keys import KeyHuman, frame_of
from flagfall.agents.samples.langroom_solver import LANGROOM_WORDS, is_langroom, langroom_action
from flagfall.errors import AgentFault

_WALKING: Final = {
    "w": 2,
    "a": 4,
    "s": 1,
    "d": 3,
    "up": 2,
    "left": 4,
    "down": 1,
    "right": 3,
    " ": 0,
}

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

    Args:
        options: as for `KeyHuman`.

    Raises:
        UsageError: the standard input or output is not a terminal, or urwid is not installed.
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
        """Return the picture and the last part of the dialogue.

        Args:
            observation: the observation of LangRoom.

        Raises:
            AgentFault: it is the observation of another task.
        """
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
