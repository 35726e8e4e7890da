"""Frames of a video as pixels: the world of a turn, and below it who plays and how it stands.

Texts come from journals. Every character has one cell of the same size, whatever it is, so that no text moves
another or leaves its line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Final, TypeAlias

import attrs
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


@attrs.frozen
class SeatLine:
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

    def _drawn(self, character: str) -> Picture:
        image = Image.new("L", (self.width, self.height))
        if character.isprintable():
            ImageDraw.Draw(image).text((0, 2), character, font=self._font, fill=255)
        return np.asarray(image)

    def line(self, text: Sequence[str], marked: Sequence[bool] = (), colour: Colour = INK) -> Picture:
        """Return a text as a picture; marked characters are dark on light."""
        masks = [self._mask(character) for character in text or " "]
        if any(marked):
            masks = [255 - mask if mark else mask for mask, mark in zip(masks, marked, strict=True)]
        share = np.hstack(masks)[:, :, None] / np.float32(255)
        return (PAPER + share * np.subtract(colour, PAPER)).astype(np.uint8)


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

    @cached_property
    def _letters(self) -> _Letters:
        return _Letters()

    def draw(self, world: Picture | str, title: str, seats: Sequence[SeatLine]) -> Picture:
        """Return a frame, [height, width, RGB], both even as most players need it.

        Args:
            world: a picture of any size, which is fitted in, or a text.
            title: the first line of the caption.
        """
        picture = self._text(world) if isinstance(world, str) else world
        row_height = self._letters.height
        if self._stage is None:
            self._stage = self._stage_for(*picture.shape[1::-1])
            sides = (self._stage[1] + self._lines * row_height + 8, self._stage[0])
            self._empty = _paper(*(side + side % 2 for side in sides))
        width, height = self._stage
        picture = _fitted(picture, width, height)
        frame = self._empty.copy()
        top, left = (height - picture.shape[0]) // 2, (width - picture.shape[1]) // 2
        frame[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
        columns = (width - 8) // self._letters.width
        for number, (text, colour) in enumerate(self._caption(title, seats, columns)):
            line = self._letters.line(text, colour=colour)
            at = height + 4 + number * row_height
            frame[at : at + row_height, 4 : 4 + line.shape[1]] = line
        return frame

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

    def _text(self, text: str) -> Picture:
        """Return a text as a picture; what terminals would colour is marked."""
        rows: list[list[tuple[str, bool]]] = [[]]
        is_marked = False
        for number, part in enumerate(_SELECT.split(text)):
            if number % 2:
                is_marked = part.strip("0;") != ""
                continue
            for character in part.expandtabs(8):
                if character == "\n":
                    rows.append([])
                elif len(rows[-1]) < MAX_TEXT_CELLS[0]:
                    rows[-1].append((character, is_marked))
        rows = rows[: MAX_TEXT_CELLS[1]]
        columns = max(TEXT_CELLS[0], *map(len, rows))
        height, width = self._letters.height, self._letters.width
        picture = _paper((1 + max(TEXT_CELLS[1], len(rows))) * height, (2 + columns) * width)
        for number, row in enumerate(rows):
            if row:
                line = self._letters.line(*zip(*row, strict=True))
                top = height // 2 + number * height
                picture[top : top + height, width : width + line.shape[1]] = line
        return picture


def _paper(height: int, width: int) -> Picture:
    return np.full((height, width, 3), PAPER, np.uint8)


def _cut(text: str, columns: int) -> str:
    return text if len(text) <= columns else text[: columns - 1] + "…"


def _fitted(picture: Picture, width: int, height: int) -> Picture:
    """Return a picture enlarged by a whole number, or reduced, so that it is not larger than a stage."""
    rows, columns = picture.shape[:2]
    scale = min(height / rows, width / columns)
    if scale >= 1:
        return picture.repeat(int(scale), axis=1).repeat(int(scale), axis=0)  # the larger one copies rows
    size = (max(1, int(columns * scale)), max(1, int(rows * scale)))
    return np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.BOX))
