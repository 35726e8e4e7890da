"""Frames of a video as pixels: the world of a turn, and below it who plays and how it stands.

Texts come from journals. Every character has one cell of the same size, whatever it is, so that no text moves
another or leaves its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

Picture: TypeAlias = NDArray[np.uint8]
Colour: TypeAlias = tuple[int, int, int]

PAPER: Final[Colour] = (24, 25, 28)
INK: Final[Colour] = (232, 232, 230)
MUTED: Final[Colour] = (160, 162, 168)
LATE: Final[Colour] = (240, 180, 60)
BAD: Final[Colour] = (255, 120, 110)

FONT: Final = "DejaVuSansMono.ttf"
"""Font of all texts, where the system has it; otherwise it is Pillow's own, with little beyond Latin."""

FONT_PIXELS: Final = 14

MIN_STAGE: Final = (400, 240)
"""Least width and height of the world: later tasks may need more than a small first one."""

GOOD_STAGE: Final = (640, 480)
"""Smaller pictures are enlarged by a whole number up to this."""

MAX_CAPTION_SEATS: Final = 8
"""The most seats in a caption; of more, it has their number."""

TEXT_CELLS: Final = (60, 16)
"""Least columns and rows of a world of text, so that it does not change its size with each turn."""

MAX_TEXT_CELLS: Final = (160, 60)
"""Most columns and rows of a world of text that are drawn."""

_SELECT: Final = re.compile(r"\x1b\[([\d;]*)m")
"""Escape codes of terminals that choose colours, by which environments mark a place in their text."""


class SeatLine(NamedTuple):
    """A seat in a caption: its name, the total of its rewards, and its verdict unless it was on time."""

    name: str
    total: str
    verdict: str = ""


class _Letters:
    """Letters in cells of one size."""

    def __init__(self) -> None:
        try:
            self._font: ImageFont.FreeTypeFont | ImageFont.ImageFont = ImageFont.truetype(FONT, FONT_PIXELS)
        except OSError:
            self._font = ImageFont.load_default(FONT_PIXELS)
        left, _, right, bottom = self._font.getbbox("Mj|")
        self.width: int = -(-round(right - left) // 3)
        self.height: int = round(bottom) + 4
        self._mask = lru_cache(4_096)(self._drawn)

    def _drawn(self, character: str) -> Image.Image:
        mask = Image.new("L", (self.width, self.height))
        if character.isprintable():
            ImageDraw.Draw(mask).text((0, 2), character, font=self._font, fill=255)
        return mask

    def write(self, image: Image.Image, left: int, top: int, text: Iterable[str], colour: Colour) -> None:
        """Write characters into a picture; one that follows an escape is marked, as dark on light."""
        for column, character in enumerate(text):
            at, mask = (left + column * self.width, top), self._mask(character[-1])
            if len(character) > 1:
                image.paste(colour, (*at, at[0] + self.width, top + self.height))
            image.paste(PAPER if len(character) > 1 else colour, at, mask)


class Frames:
    """Draws the frames of one video, which all have the size that the first world determines.

    Args:
        seats: the number of seats of the match.
        max_side: greatest width and height of the world.
    """

    def __init__(self, seats: int, max_side: int) -> None:
        self._lines = 1 + min(seats, MAX_CAPTION_SEATS) + (seats > MAX_CAPTION_SEATS)
        self._max_side = max_side
        self._stage: tuple[int, int] | None = None
        self._letters = _Letters()

    def draw(self, world: Picture | str, title: str, seats: Sequence[SeatLine]) -> Picture:
        """Return a frame, [height, width, RGB], both even as most players need it.

        Args:
            world: a picture of any size, which is fitted in, or a text.
            title: the first line of the caption.
        """
        picture = self._text(world) if isinstance(world, str) else Image.fromarray(world)
        if self._stage is None:
            self._stage = self._stage_for(*picture.size)
        width, height = self._stage
        picture = _fitted(picture, width, height)
        letters = self._letters
        sides = (width, height + self._lines * letters.height + 8)
        frame = Image.new("RGB", (sides[0] + sides[0] % 2, sides[1] + sides[1] % 2), PAPER)
        frame.paste(picture, ((width - picture.width) // 2, (height - picture.height) // 2))
        columns = (width - 8) // letters.width
        for number, (text, colour) in enumerate(self._caption(title, seats, columns)):
            letters.write(frame, 4, height + 4 + number * letters.height, text, colour)
        return np.asarray(frame)

    def _stage_for(self, width: int, height: int) -> tuple[int, int]:
        most = self._max_side
        scale = max(1, min(min(GOOD_STAGE[0], most) // width, min(GOOD_STAGE[1], most) // height))
        return (
            min(most, max(MIN_STAGE[0], width * scale)),
            min(most, max(MIN_STAGE[1], height * scale)),
        )

    def _caption(self, title: str, seats: Sequence[SeatLine], columns: int) -> list[tuple[str, Colour]]:
        lines = [(_cut(title, columns), INK)]
        for seat in seats[:MAX_CAPTION_SEATS]:
            tail = f"  reward {seat.total:<9} {seat.verdict:<12}"
            width = max(1, min(30, columns - len(tail)))
            colour = {"": MUTED, "late": LATE, "overrun": LATE, "absent": MUTED}.get(seat.verdict, BAD)
            lines.append((f"{_cut(seat.name, width):<{width}}{tail}"[:columns], colour))
        if len(seats) > MAX_CAPTION_SEATS:
            lines.append((_cut(f"and {len(seats) - MAX_CAPTION_SEATS} more seats", columns), MUTED))
        return lines

    def _text(self, text: str) -> Image.Image:
        """Return a text as a picture; what terminals would colour is marked."""
        rows: list[list[str]] = [[]]
        mark = ""
        for number, part in enumerate(_SELECT.split(text)):
            if number % 2:
                mark = "\x1b" if part.strip("0;") else ""
                continue
            for character in part.expandtabs(8):
                if character == "\n":
                    rows.append([])
                elif len(rows[-1]) < MAX_TEXT_CELLS[0]:
                    rows[-1].append(mark + character)
        rows = rows[: MAX_TEXT_CELLS[1]]
        columns, lines = max(TEXT_CELLS[0], *map(len, rows)), max(TEXT_CELLS[1], len(rows))
        width, height = self._letters.width, self._letters.height
        picture = Image.new("RGB", ((2 + columns) * width, (1 + lines) * height), PAPER)
        for number, row in enumerate(rows):
            self._letters.write(picture, width, height // 2 + number * height, row, INK)
        return picture


def _cut(text: str, columns: int) -> str:
    return text if len(text) <= columns else text[: columns - 1] + "…"


def _fitted(picture: Image.Image, width: int, height: int) -> Image.Image:
    """Return a picture enlarged by a whole number, or reduced, so that it is not larger than a stage."""
    scale = min(width / picture.width, height / picture.height)
    factor, method = (scale, Image.Resampling.BOX) if scale < 1 else (int(scale), Image.Resampling.NEAREST)
    columns, rows = (max(1, int(side * factor)) for side in picture.size)
    return picture.resize((columns, rows), method)
