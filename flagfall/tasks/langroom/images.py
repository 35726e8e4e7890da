"""The images that the agent sees, composed of tiles and cached.

An image depends only on the place of the player and on the colours of the objects in view, so there are few:
157 with the default view. Each is drawn at its first use and shared by all rooms of the process.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import permutations
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flagfall.errors import UsageError
from flagfall.tasks.langroom.rules import COLORS, CORNERS, OBJECTS, SIZE, LangRoomRules, place_of, word_at

Picture: TypeAlias = NDArray[np.uint8]

MAX_CACHE_BYTES: Final = 1024**3
"""Most memory for the images of one view and resolution; the default ones take 2 MB."""

MAX_SEARCHED_BYTES: Final = 64 * 1024**2
"""Most memory of images that are searched for one of which a text is wanted."""

_CACHES: Final = 4
"""Number of caches that are kept when no room uses them any more."""

_LARGE_PIXELS: Final = 240
"""Approximate height of images for people; with the panels of words they are four times as wide."""

_ART_PIXELS: Final = 12
"""Width and height of a tile in `tiles.png`: one cell of the default image."""

_TILES: Final = ("ball", "rug", "table", "vase", "player", "floor", "wall")
"""The tiles in `tiles.png`, from left to right. Its red pixels show the colour of the object, as bright as
they are; others are grey, or transparent to the floor."""

_FULL_RED: Final = 250
"""The value of red for the whole brightness of the object's colour."""

_RGB: Final = {"red": (226, 52, 48), "green": (52, 184, 72), "blue": (58, 108, 236), "yellow": (240, 210, 48)}


class ImageCache:
    """All images of one view and resolution.

    Raises:
        UsageError: the images would take more than `MAX_CACHE_BYTES`.

    Attributes:
        resolution: width and height of an image in pixels.
    """

    def __init__(self, view: int, resolution: int) -> None:
        self.resolution = resolution
        self._cells = 2 * view + 1
        self._view = view
        self._numbers, self._keys = _number_views(view)
        one, count = 3 * resolution**2, len(self._keys)
        if one * count > MAX_CACHE_BYTES:
            most = int((MAX_CACHE_BYTES / (3 * count)) ** 0.5)
            raise UsageError(
                f"resolution={resolution}: its {count} images would take {one * count >> 20:,} MB; the"
                f" limit is {MAX_CACHE_BYTES >> 20:,} MB: take at most"
                f" {most - (most % self._cells)}"
            )
        self._tiles = _tiles(resolution // self._cells)
        # The system allocates pages of zeros at the first write, so images that are never used cost nothing.
        self._table: Picture = np.zeros((count, resolution, resolution, 3), np.uint8)
        self._shown = self._table.view()
        self._shown.flags.writeable = False
        self._drawn = np.zeros(count, np.bool_)

    def __len__(self) -> int:
        return len(self._keys)

    def get(self, place: int, colors: Sequence[int]) -> Picture:
        """Return the view of a player: uint8 (resolution, resolution, 3), read-only because it is shared.

        Args:
            colors: the colour of each object, as indices of `COLORS`.
        """
        number = int(self._numbers[place, order_of(*colors)])
        if not self._drawn[number]:
            self._draw(number)
        picture: Picture = self._shown[number]
        return picture

    def content_of(self, picture: Any) -> Content | None:
        """Return what an image shows; `None` if it is none of these, or they are too many to search."""
        if self._table.nbytes > MAX_SEARCHED_BYTES:
            return None
        for number in range(len(self)):
            if not self._drawn[number]:
                self._draw(number)
            if np.array_equal(self._table[number], picture):
                return self._keys[number]
        return None

    def get_batch(self, places: NDArray[np.intp], orders: NDArray[np.intp], out: Picture) -> None:
        """Write the views of many players into an array.

        Args:
            places: the place of each player, (n,).
            orders: the `order_of` the colours of its room, (n,).
            out: takes the images, uint8 (n, resolution, resolution, 3), in C order.
        """
        numbers = self._numbers[places, orders]
        for number in set(numbers[~self._drawn[numbers]].tolist()):
            self._draw(number)
        self._table.take(numbers, axis=0, out=out, mode="clip")

    def _draw(self, number: int) -> None:
        place, visible = self._keys[number]
        middle_y, middle_x = divmod(place, SIZE)
        things = {CORNERS[thing]: self._tiles[OBJECTS[thing], color] for thing, color in visible}
        things[middle_x, middle_y] = self._tiles["player", 0]
        wall, floor = self._tiles["wall", 0], self._tiles["floor", 0]
        cell = len(wall)
        margin = (self.resolution - self._cells * cell) // 2
        picture = self._table[number]
        for row in range(self._cells):
            for column in range(self._cells):
                x, y = middle_x + column - self._view, middle_y + row - self._view
                inside = 0 < x < SIZE - 1 and 0 < y < SIZE - 1
                top, left = margin + row * cell, margin + column * cell
                tile = things.get((x, y), floor) if inside else wall
                picture[top : top + cell, left : left + cell] = tile
        self._drawn[number] = True


@lru_cache(maxsize=_CACHES)
def _image_cache(view: int, resolution: int) -> ImageCache:
    return ImageCache(view, resolution)


def image_cache(rules: LangRoomRules) -> ImageCache:
    """Return the images for some rules, shared by all callers with the same view and resolution.

    Raises:
        UsageError: the images would take too much memory.
    """
    return _image_cache(rules.view, rules.resolution)


def large_images(rules: LangRoomRules) -> ImageCache:
    """Return the images of the same view for people, with cells large enough to fill a frame."""
    cell = max(rules.cell, _LARGE_PIXELS // rules.cells)
    return image_cache(LangRoomRules(view=rules.view, resolution=cell * rules.cells))


_ORDERS: Final = tuple(permutations(range(len(COLORS))))
_ORDER_NUMBERS: Final = {order: number for number, order in enumerate(_ORDERS)}


def order_of(*colors: int) -> int:
    """Return the index of an order of colours, 0 to 23.

    Args:
        colors: the colour of each object, as indices of `COLORS`.
    """
    return _ORDER_NUMBERS[colors]


Content: TypeAlias = tuple[int, tuple[tuple[int, int], ...]]
"""The content of an image: the place, and the objects in view with their colours."""


def _number_views(view: int) -> tuple[NDArray[np.intp], list[Content]]:
    """Return the index of the image by place and order of colours, and the content of each image."""
    numbers = np.zeros((SIZE * SIZE, len(_ORDERS)), np.intp)
    keys: dict[Content, int] = {}
    for x in range(1, SIZE - 1):
        for y in range(1, SIZE - 1):
            near = [n for n, (a, b) in enumerate(CORNERS) if max(abs(x - a), abs(y - b)) <= view]
            for number, order in enumerate(_ORDERS):
                key = place_of(x, y), tuple((thing, order[thing]) for thing in near)
                numbers[place_of(x, y), number] = keys.setdefault(key, len(keys))
    return numbers, list(keys)


def _tiles(cell: int) -> dict[tuple[str, int], Picture]:
    """Return all tiles by name and index of the colour, scaled to cells of the given size in pixels."""
    from PIL import Image  # noqa: PLC0415 - rooms without pictures need none

    with files(__package__).joinpath("tiles.png").open("rb") as file, Image.open(file) as picture:
        art = dict(zip(_TILES, np.split(np.asarray(picture), len(_TILES), axis=1), strict=True))
    floor = art["floor"][..., :3].astype(np.int64)
    return {
        (name, number): _scaled(_painted(tile, _RGB[color], floor), cell)
        for name, tile in art.items()
        for number, color in enumerate(COLORS)
    }


def _painted(tile: Picture, rgb: tuple[int, int, int], floor: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a tile in its original size, in the colour of an object."""
    red, green = tile[..., :1], tile[..., 1:2]
    tinted = np.rint(red / _FULL_RED * np.array(rgb)).astype(np.int64)
    return np.where(tile[..., 3:] == 0, floor, np.where(red == green, red, tinted))


def _scaled(tile: NDArray[np.int64], cell: int) -> Picture:
    """Scale a tile: each pixel is the mean of the pixels it covers, in integers, so equal on all machines."""
    # Share of each pixel of the art in each pixel of the tile, by rows, in 12ths of the latter.
    share = np.arange(cell * _ART_PIXELS).reshape(cell, _ART_PIXELS) // cell
    weights = (share[:, :, None] == np.arange(_ART_PIXELS)).sum(axis=1)
    scaled: NDArray[np.int64] = (
        np.einsum("ya,xb,abc->yxc", weights, weights, tile, optimize=True) // _ART_PIXELS**2
    )
    return scaled.astype(np.uint8)


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
    """

    __slots__ = ("heard", "paid", "said")

    def __init__(self) -> None:
        self.heard: deque[int] = deque(maxlen=LINES)
        self.said: deque[int] = deque(maxlen=LINES)
        self.paid: deque[float] = deque(maxlen=LINES)

    def begin(self, word: int) -> None:
        """Start an episode."""
        for entries in (self.heard, self.said, self.paid):
            entries.clear()
        self.heard.append(word)

    def add(self, word: int, talk: int, reward: float) -> None:
        """Add a step.

        Args:
            talk: the word of the agent in the same step.
        """
        self.heard.append(word)
        self.said.append(talk)
        self.paid.append(reward)


def log_image(view: Picture, history: LogHistory) -> Picture:
    """Return a view with three panels on its right: words heard, words said, rewards; the latest below.

    Args:
        view: uint8 (size, size, 3).

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
    """
    rows = ("".join(_letter(x, y, player) for x in range(SIZE)) for y in range(SIZE))
    return "\n".join([*rows, _legend(enumerate(colors)), f"room: {word_at(word) or _SILENCE}", ""])


def view_as_text(content: Content, view: int) -> str:
    """Return what an agent sees in letters, with a legend.

    Args:
        content: of the image.
        view: number of cells on each side of the player.
    """
    place, visible = content
    y, x = divmod(place, SIZE)
    sides = range(-view, view + 1)
    rows = ("".join(_letter(x + right, y + down, (x, y)) for right in sides) for down in sides)
    return "\n".join([*rows, f"(@: you, #: wall{', ' if visible else ''}{_legend(visible)})"])


def _letter(x: int, y: int, player: tuple[int, int]) -> str:
    if (x, y) == player:
        return "@"
    if (x, y) in CORNERS:
        return OBJECTS[CORNERS.index((x, y))][0].upper()
    return "." if 0 < x < SIZE - 1 and 0 < y < SIZE - 1 else "#"


def _legend(colors: Iterable[tuple[int, int]]) -> str:
    return ", ".join(f"{OBJECTS[thing]} {COLORS[color]}" for thing, color in colors)
