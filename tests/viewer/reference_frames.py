"""Reference decoder of pictures, written from the description of the format alone."""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Shown = NDArray[np.uint8] | str


def decoded(data: bytes) -> tuple[dict[str, Any], dict[tuple[int, str], Shown]]:
    """Return the head, and the pictures and texts by turn and `b` or `e`."""
    body = zlib.decompress(data)
    length = int.from_bytes(body[:4], "little")
    head = json.loads(body[4 : 4 + length])
    at = 4 + length
    tiles = []
    for scene in head["scenes"]:
        size = scene["tile"]
        count = scene["tiles"] * size * size * 3
        tiles.append(np.frombuffer(body[at : at + count], np.uint8).reshape(-1, size, size, 3))
        at += count
    shown: dict[tuple[int, str], Shown] = {}
    places: list[int] = []
    for turn, which, scene, length in zip(
        head["turns"], head["which"], head["scene"], head["lengths"], strict=True
    ):
        if scene < 0:
            shown[turn, which] = head["texts"][length]
            continue
        numbers = _numbers(body[at : at + length])
        at += length
        if numbers[0] == 1:
            places = numbers[1:]
        else:
            place = -1
            changes = numbers[2:]
            assert len(changes) == 2 * numbers[1]
            for skipped, tile in zip(changes[::2], changes[1::2], strict=True):
                place += 1 + skipped
                places[place] = tile
        shown[turn, which] = _picture(head["scenes"][scene], tiles[scene], places)
    assert at == len(body)
    return head, shown


def _numbers(data: bytes) -> list[int]:
    numbers, number, shift = [], 0, 0
    for byte in data:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(number)
            number = shift = 0
    return numbers


def _picture(scene: dict[str, int], tiles: NDArray[np.uint8], places: list[int]) -> NDArray[np.uint8]:
    size, width, height = scene["tile"], scene["width"], scene["height"]
    columns = -(-width // size)
    assert len(places) == columns * -(-height // size)
    picture = np.zeros((-(-height // size) * size, columns * size, 3), np.uint8)
    for place, number in enumerate(places):
        top, left = place // columns * size, place % columns * size
        picture[top : top + size, left : left + size] = tiles[number]
    return picture[:height, :width]
