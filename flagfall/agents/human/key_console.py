"""Contract of a terminal for players who press keys: the next key, and a frame to draw."""

from __future__ import annotations

__all__ = ["DEFAULT_SPEED", "SPEEDS", "Frame", "KeyConsole"]

from typing import Any, Final, Protocol

import attrs

SPEEDS: Final = (0, 1, 2, 5, 10, 20, 40)
"""Steps a second; 0 waits for a key before each step."""

DEFAULT_SPEED: Final = 5


@attrs.frozen
class Frame:
    """Contents of the screen.

    Attributes:
        picture: uint8 `[height, width, 3]`, or `None`.
        text: lines below the picture, or instead of one.
        steps: number of steps so far.
        reward: sum of the rewards so far.
        last: the newest reward that was not 0.
    """

    picture: Any = None
    text: str = ""
    steps: int = 0
    reward: float = 0
    last: float = 0


class KeyConsole(Protocol):
    """A terminal at which a human presses keys."""

    async def key(self) -> str | None:
        """Return the newest key of this step when its time is over; `None` where none was pressed.

        `flagfall.agents.human.dialogue.QUIT` means that the human leaves, or that the terminal is gone. If
        the call is cancelled, a pressed key stays for the next step.
        """

    def show(self, frame: Frame) -> None:
        """Draw a frame."""
