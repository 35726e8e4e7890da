"""What the screen of players who press keys shows, and the speeds at which they may play."""

from __future__ import annotations

__all__ = ["DEFAULT_SPEED", "SPEEDS", "Frame"]

from typing import Any, Final

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
