"""Images for people: the agent's view with panels of the latest words and rewards."""

from __future__ import annotations

__all__ = ["LINES", "LogHistory", "log_image", "room_as_text"]

from collections import deque
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from flagfall.tasks.langroom.rules import COLORS, CORNERS, OBJECTS, SIZE, word_at

if TYPE_CHECKING:
    from flagfall.tasks.langroom.images import Picture

LINES: Final = 5
"""Number of entries in a panel."""

_KEPT_LINES: Final = 256
"""Number of cached lines of text: enough for all known words and the rewards at several sizes."""

_INK: Final = (255, 255, 255)
_FONT_SHARE: Final = 0.8
"""Height of the letters, as a share of the line."""

_SILENCE: Final = "\N{HORIZONTAL ELLIPSIS}"


class LogHistory:
    """The latest words of the room and of the agent, and the latest rewards.

    Attributes:
        heard: words of the room, as indices of the vocabulary.
        said: words of the agent; one fewer at the beginning of an episode.
        paid: rewards.
    """

    __slots__ = ("heard", "paid", "said")

    def __init__(self) -> None:
        self.heard: deque[int] = deque(maxlen=LINES)
        self.said: deque[int] = deque(maxlen=LINES)
        self.paid: deque[float] = deque(maxlen=LINES)

    def begin(self, word: int) -> None:
        """Start an episode.

        Args:
            word: the first word of the room.
        """
        self.heard.clear()
        self.said.clear()
        self.paid.clear()
        self.heard.append(word)

    def add(self, word: int, talk: int, reward: float) -> None:
        """Add a step.

        Args:
            word: the word of the room.
            talk: the word of the agent in the same step.
            reward: the reward of the step.
        """
        self.heard.append(word)
        self.said.append(talk)
        self.paid.append(reward)


def log_image(view: Picture, history: LogHistory) -> Picture:
    """Return a view with three panels on its right: words heard, words said, rewards; the latest below.

    Args:
        view: uint8 (size, size, 3).
        history: the words and rewards.

    Returns:
        uint8 (size, 4 * size, 3).
    """
    size = len(view)
    panels: list[Iterable[str]] = [
        (word_at(word) or _SILENCE for word in history.heard),
        (word_at(word) or _SILENCE for word in history.said),
        (f"{reward:g}" for reward in history.paid),
    ]
    picture = np.zeros((size, (1 + len(panels)) * size, 3), np.uint8)
    picture[:, :size] = view
    height = size // LINES
    for left, texts in enumerate(map(list, panels), 1):
        for row, text in enumerate(texts, LINES - len(texts)):
            picture[row * height : (row + 1) * height, left * size : (left + 1) * size] = _line(
                text, size, height
            )
    return picture


@lru_cache(maxsize=_KEPT_LINES)
def _line(text: str, width: int, height: int) -> Picture:
    """Return a text in white on black, uint8 (height, width, 3)."""
    from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415 - needed for these images only

    line = Image.new("RGB", (width, height))
    if height:
        font = ImageFont.load_default(max(1.0, height * _FONT_SHARE))
        ImageDraw.Draw(line).text((height / 4, height / 2), text, _INK, font, anchor="lm")
    return np.asarray(line)


def room_as_text(player: tuple[int, int], colors: Sequence[int], word: int) -> str:
    """Return the whole room in letters, with a legend and the current word.

    Args:
        player: the position of the player, (x, y).
        colors: the colour of each object, as indices of `COLORS`.
        word: the index of the current word.
    """
    rows = [["#" if {x, y} & {0, SIZE - 1} else "." for x in range(SIZE)] for y in range(SIZE)]
    for name, (x, y) in zip(OBJECTS, CORNERS, strict=True):
        rows[y][x] = name[0].upper()
    x, y = player
    rows[y][x] = "@"
    legend = ", ".join(f"{name} {COLORS[color]}" for name, color in zip(OBJECTS, colors, strict=True))
    return "\n".join([*("".join(row) for row in rows), legend, f"room: {word_at(word) or _SILENCE}", ""])
