"""A picture for people: what the agent sees, and beside it what was said and paid lately."""

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
"""How far the panels look back."""

_KEPT_LINES: Final = 256
"""So many lines of text stay drawn: all words that mean something, and the rewards, at several sizes."""

_INK: Final = (255, 255, 255)
_FONT_SHARE: Final = 0.8
"""How much of a line the letters take."""

_SILENCE: Final = "\N{HORIZONTAL ELLIPSIS}"


class LogHistory:
    """The last words of the room and of the agent, and the last rewards.

    Attributes:
        heard: what the room said, as indices of the vocabulary.
        said: what the agent said; one shorter where the episode is young.
        paid: the rewards.
    """

    __slots__ = ("heard", "paid", "said")

    def __init__(self) -> None:
        self.heard: deque[int] = deque(maxlen=LINES)
        self.said: deque[int] = deque(maxlen=LINES)
        self.paid: deque[float] = deque(maxlen=LINES)

    def begin(self, word: int) -> None:
        """An episode begins with this word."""
        self.heard.clear()
        self.said.clear()
        self.paid.clear()
        self.heard.append(word)

    def add(self, word: int, talk: int, reward: float) -> None:
        """A step: what was heard, what was said in the same step, and what was paid for it."""
        self.heard.append(word)
        self.said.append(talk)
        self.paid.append(reward)


def log_image(view: Picture, lately: LogHistory) -> Picture:
    """A view with three panels of text on its right: words heard, words said, rewards; the newest below.

    Args:
        view: uint8 (size, size, 3).
        lately: what to tell.

    Returns:
        uint8 (size, 4 * size, 3).
    """
    size = len(view)
    panels: list[Iterable[str]] = [
        (word_at(word) or _SILENCE for word in lately.heard),
        (word_at(word) or _SILENCE for word in lately.said),
        (f"{reward:g}" for reward in lately.paid),
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
    """A text in white on black, uint8 (height, width, 3)."""
    from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415 - who asks for no such picture does not pay

    line = Image.new("RGB", (width, height))
    if height:
        font = ImageFont.load_default(max(1.0, height * _FONT_SHARE))
        ImageDraw.Draw(line).text((height / 4, height / 2), text, _INK, font, anchor="lm")
    return np.asarray(line)


def room_as_text(player: tuple[int, int], colors: Sequence[int], word: int) -> str:
    """The whole room in letters, what is where, and the current word."""
    rows = [["#" if {x, y} & {0, SIZE - 1} else "." for x in range(SIZE)] for y in range(SIZE)]
    for name, (x, y) in zip(OBJECTS, CORNERS, strict=True):
        rows[y][x] = name[0].upper()
    x, y = player
    rows[y][x] = "@"
    legend = ", ".join(f"{name} {COLORS[color]}" for name, color in zip(OBJECTS, colors, strict=True))
    return "\n".join([*("".join(row) for row in rows), legend, f"room: {word_at(word) or _SILENCE}", ""])
