"""Format of the pictures of a chunk, and its encoder; `static/replay/frames.js` has the decoder. Pure.

The file is one zlib stream ("deflate" in browsers). Inflated:

    u32 little-endian   length of the head in bytes
    head                JSON in UTF-8, see below
    tiles               of each scene in turn: its tiles, each `tile * tile` pixels of 3 bytes (RGB)
    frames              of each frame in turn: `lengths[i]` bytes, see below

A picture is divided into square tiles, row by row; those at the right and bottom edges are filled up with 0.
A *scene* has the pictures of one size, and a list of tiles in which each tile occurs once. A frame is a *key
frame*, a byte 1 and the number of the tile at each place; or a *difference* from the frame before it, which
is of the same scene: a byte 0, the number of places that differ, and for each of them the number of places
skipped since the last one and the number of its tile. Numbers are LEB128: seven bits a byte, low bits first,
the high bit set on all but the last byte. Every `KEY_FRAMES` frames at most, and at the beginning of a scene,
there is a key frame.

    {"format": 2,
     "kind": "pictures" | "text" | "none",   kind of the first frame; "none" where there is none
     "why": "",                              one line where pictures are missing
     "scenes": [{"width": 300, "height": 240, "tile": 10, "tiles": 57, "scale": 1}],
     "turns": [0, 1, ...],                   of each frame: its turn
     "which": "bb...e",                      of each frame: b before the action, e at the end of the task
     "scene": [0, ...],                      of each frame: its scene; -1 for a text
     "lengths": [601, 12, ...],              of each frame: its length; for a text its number in `texts`
     "texts": ["..."],
     "described": {"turn": [0], "seat": [0], "observation": [3], "action": [-1]},
                                             numbers in `texts` of what the task says of values in other words
                                             than the chunk has for them; -1 where it does not
     "players": [[0, ["white", "black"]]],   from a turn on, the seats in the words of the task
     "continuous": false}                    true if a task is a continuous one of bytes or bits

A picture that is larger than `MAX_SIDE` is reduced by leaving out pixels; `scale` is the distance of those
kept.
"""

from __future__ import annotations

import json
import zlib
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from flagfall.recording.journal.format import writable

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT: Final = 2

KEY_FRAMES: Final = 32
"""Frames from one key frame to the next: a jump applies no more differences than this."""

MAX_SIDE: Final = 1_024
"""Greatest width and height of a picture that is kept; the page shows few larger ones in full."""

MAX_SOURCE_BYTES: Final = 64 * 1024 * 1024
"""Largest array that is taken as a picture: 4,096 x 4,096 pixels with a rest."""

MAX_TILE_BYTES: Final = 32 * 1024 * 1024
"""Tiles of a chunk, and so the memory that a page needs for one; later pictures are left out."""

MAX_TEXT_CHARS: Final = 20_000
"""Longest text of a frame: a screen of 200 x 100 characters."""

MAX_TEXTS_CHARS: Final = 8_000_000
"""All texts of a chunk together."""

TILE_SIZES: Final = (8, 10, 12, 16, 24)
"""Widths of tiles; the one that takes least is chosen by the first pictures of a scene."""

_DESCRIBED: Final = ("turn", "seat", "observation", "action")

_SAMPLE: Final = 8
"""Pictures by which the width of the tiles is chosen."""

_LEVEL: Final = 6

Which: TypeAlias = Literal["before", "end"]


class NotAPicture(ValueError):
    """A task has rendered something that is neither a picture nor a text."""


class FrameEncoder:
    """Encoder of the pictures of one chunk, in the order of the match; `why` tells of missing ones."""

    def __init__(self) -> None:
        self.why: str = ""
        self.is_full: bool = False
        self.is_continuous: bool = False
        self._scenes: list[_Scene] = []
        self._turns: list[int] = []
        self._which: list[str] = []
        self._scene_of: list[int] = []
        self._lengths: list[int] = []
        self._texts: dict[str, int] = {}
        self._texts_chars = 0
        self._described: dict[str, list[int]] = {name: [] for name in _DESCRIBED}
        self._players: list[tuple[int, list[str]]] = []
        self._previous: _Scene | None = None
        self._since_key = 0

    @property
    def frames(self) -> int:
        """Return the number of frames."""
        return len(self._turns)

    def add(self, turn: int, which: Which, rendered: Any) -> None:
        """Add what a task renders, uint8 (height, width, 3) or a text; all else is `NotAPicture`."""
        if isinstance(rendered, str):
            self._add_text(turn, which, rendered)
        else:
            self._add_picture(turn, which, _picture(rendered))

    def describe(self, turn: int, seat: int, observation: str | None, action: str | None) -> None:
        """Add what the task says of values of a turn; `None` where the chunk has the same words."""
        row = (turn, seat, *(-1 if text is None else self._number_of(text) for text in (observation, action)))
        if row[2:] != (-1, -1):
            for name, value in zip(_DESCRIBED, row, strict=True):
                self._described[name].append(value)

    def name_players(self, turn: int, names: list[str]) -> None:
        """Add the words of the task for its players, in seat order, unless they are known."""
        if not self._players or self._players[-1][1] != names:
            self._players.append((turn, names))

    def _number_of(self, text: str) -> int:
        """Return the number of a text in `texts`; -1 if there is no more room."""
        number = self._texts.get(text, -1)
        if number < 0 and self._texts_chars + len(text) <= MAX_TEXTS_CHARS:
            self._texts_chars += len(text)
            number = self._texts[text] = len(self._texts)
        return number

    def _add_text(self, turn: int, which: Which, text: str) -> None:
        number = self._number_of(writable(text[:MAX_TEXT_CHARS]))
        if number < 0:
            self._fill(turn, f"more than {MAX_TEXTS_CHARS:,} characters")
        else:
            self._note(turn, which, -1, number)

    def _add_picture(self, turn: int, which: Which, source: NDArray[np.uint8]) -> None:
        scale = -(-max(source.shape[:2]) // MAX_SIDE)
        picture = source[::scale, ::scale]
        scene = next((one for one in self._scenes if one.fits(picture, scale)), None)
        if scene is None:
            scene = _Scene(picture, scale)
            self._scenes.append(scene)
        if sum(one.tile_bytes for one in self._scenes) > MAX_TILE_BYTES:
            self._fill(turn, f"more than {MAX_TILE_BYTES:,} bytes of different tiles")
            return
        self._since_key += 1
        is_key = scene is not self._previous or self._since_key >= KEY_FRAMES
        if is_key:
            self._since_key = 0
        self._previous = scene
        scene.add(len(self._turns), picture, is_key=is_key)
        self._note(turn, which, self._scenes.index(scene), 0)

    def _fill(self, turn: int, what: str) -> None:
        self.is_full = True
        self.why = self.why or f"pictures are left out from turn {turn} on: {what} in one part of the match"

    def _note(self, turn: int, which: Which, scene: int, length: int) -> None:
        self._turns.append(turn)
        self._which.append(which[0])
        self._scene_of.append(scene)
        self._lengths.append(length)
        if scene < 0:
            self._previous = None

    def finish(self) -> bytes:
        """Return the encoded chunk."""
        encoded: dict[int, bytes] = {}
        for scene in self._scenes:
            encoded |= scene.encoded()
        for frame, data in encoded.items():
            self._lengths[frame] = len(data)
        kind = "none" if not self._turns else "text" if self._scene_of[0] < 0 else "pictures"
        head = {
            "format": FORMAT,
            "kind": kind,
            "why": self.why,
            "scenes": [scene.head() for scene in self._scenes],
            "turns": self._turns,
            "which": "".join(self._which),
            "scene": self._scene_of,
            "lengths": self._lengths,
            "texts": list(self._texts),
            "described": self._described,
            "players": self._players,
            "continuous": self.is_continuous,
        }
        text = json.dumps(head, ensure_ascii=False, separators=(",", ":")).encode()
        parts = [len(text).to_bytes(4, "little"), text]
        parts += [scene.tiles() for scene in self._scenes]
        parts += [encoded[frame] for frame in sorted(encoded)]
        return zlib.compress(b"".join(parts), _LEVEL)


def no_frames(why: str) -> bytes:
    """Return a chunk without pictures, with a line that explains it."""
    encoder = FrameEncoder()
    encoder.why = why
    return encoder.finish()


def _picture(rendered: Any) -> NDArray[np.uint8]:
    """Return a picture uint8 (height, width, 3)."""
    if not isinstance(rendered, np.ndarray):
        raise NotAPicture(f"it renders a {type(rendered).__name__}, neither an array nor a text")
    shape = rendered.shape
    if (
        rendered.dtype != np.uint8
        or len(shape) not in {2, 3}
        or 0 in shape
        or rendered.nbytes > MAX_SOURCE_BYTES
    ):
        wrong = f"{rendered.dtype} {shape}"
        raise NotAPicture(f"it renders an array {wrong}; a picture is uint8 (height, width, 3)")
    if len(shape) == 2:  # noqa: PLR2004 - shades of grey
        return np.repeat(rendered[:, :, None], 3, axis=2)
    if shape[2] not in {3, 4}:
        raise NotAPicture(f"it renders an array uint8 {shape}; a picture is uint8 (height, width, 3)")
    return rendered[:, :, :3]


class _Scene:
    """Pictures of one size, reduced by one scale."""

    def __init__(self, picture: NDArray[np.uint8], scale: int) -> None:
        self._height, self._width = picture.shape[:2]
        self._scale = scale
        self._sample: list[tuple[int, NDArray[np.uint8], bool]] = []
        self._tiling: _Tiling | None = None

    def fits(self, picture: NDArray[np.uint8], scale: int) -> bool:
        return picture.shape[:2] == (self._height, self._width) and scale == self._scale

    @property
    def tile_bytes(self) -> int:
        if self._tiling is not None:
            return self._tiling.tile_bytes
        return sum(picture.nbytes for _, picture, _ in self._sample)

    def add(self, frame: int, picture: NDArray[np.uint8], *, is_key: bool) -> None:
        if self._tiling is not None:
            self._tiling.add(frame, picture, is_key=is_key)
            return
        self._sample.append((frame, picture.copy(), is_key))
        if len(self._sample) == _SAMPLE:
            self._choose()

    def _choose(self) -> _Tiling:
        """Choose the width of the tiles, and take the pictures that waited for it."""
        best = min((self._tried(size) for size in TILE_SIZES), key=attrgetter("cost"))
        self._sample.clear()
        self._tiling = best
        return best

    def _tried(self, size: int) -> _Tiling:
        tried = _Tiling(self._width, self._height, size)
        for frame, picture, is_key in self._sample:
            tried.add(frame, picture, is_key=is_key)
        return tried

    def _tiled(self) -> _Tiling:
        return self._tiling or self._choose()

    def head(self) -> dict[str, int]:
        tiling = self._tiled()
        size, count = tiling.size, tiling.count
        scene = {"width": self._width, "height": self._height}
        return {**scene, "tile": size, "tiles": count, "scale": self._scale}

    def tiles(self) -> bytes:
        return self._tiled().tiles()

    def encoded(self) -> dict[int, bytes]:
        return self._tiled().encoded


class _Tiling:
    """Pictures of one size as numbers of square tiles; `cost` is about the bytes before compression."""

    def __init__(self, width: int, height: int, size: int) -> None:
        self.size = size
        self._columns, self._rows = -(-width // size), -(-height // size)
        self._width, self._height = width, height
        self._numbers: dict[bytes, int] = {}
        self._before: NDArray[np.uint8] | None = None
        self._places = np.zeros(self._columns * self._rows, np.int64)
        self.encoded: dict[int, bytes] = {}
        self._data_bytes = 0

    @property
    def count(self) -> int:
        return len(self._numbers)

    @property
    def tile_bytes(self) -> int:
        return len(self._numbers) * self.size * self.size * 3

    @property
    def cost(self) -> int:
        return self.tile_bytes + self._data_bytes

    def tiles(self) -> bytes:
        return b"".join(self._numbers)

    def _cut(self, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the tiles of a picture, [place, byte]."""
        size, columns, rows = self.size, self._columns, self._rows
        if (columns * size, rows * size) != (self._width, self._height):
            padded = np.zeros((rows * size, columns * size, 3), np.uint8)
            padded[: self._height, : self._width] = picture
            picture = padded
        cut = picture.reshape(rows, size, columns, size, 3).swapaxes(1, 2)
        return np.ascontiguousarray(cut).reshape(rows * columns, size * size * 3)

    def add(self, frame: int, picture: NDArray[np.uint8], *, is_key: bool) -> None:
        tiles = self._cut(picture)
        before, self._before = self._before, tiles
        numbers, places = self._numbers, self._places
        differs = np.ones(len(tiles), bool) if before is None else (tiles != before).any(axis=1)
        changed = np.flatnonzero(differs)
        for place in changed.tolist():
            places[place] = numbers.setdefault(tiles[place].tobytes(), len(numbers))
        if is_key:
            data = b"\1" + _leb128(places)
        else:
            pairs = np.empty((len(changed), 2), np.int64)
            pairs[:, 0] = np.diff(changed, prepend=-1) - 1
            pairs[:, 1] = places[changed]
            data = b"\0" + _leb128(np.concatenate(([len(changed)], pairs.reshape(-1))))
        self.encoded[frame] = data
        self._data_bytes += len(data)


def _leb128(numbers: NDArray[Any]) -> bytes:
    """Return whole numbers from 0 to 2**21 - 1 as LEB128."""
    numbers = numbers.astype(np.uint32)
    low, middle, high = numbers & 127, (numbers >> 7) & 127, (numbers >> 14) & 127
    is_long, is_longest = numbers >= 1 << 7, numbers >= 1 << 14
    three = np.stack((low | (is_long << 7), middle | (is_longest << 7), high), axis=1).astype(np.uint8)
    return bytes(three[np.stack((np.ones_like(is_long), is_long, is_longest), axis=1)])
