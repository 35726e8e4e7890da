"""Actions of VGDL, named without their prefix `ACTION_`, and the directions of movement."""

from __future__ import annotations

__all__ = ["ACTIONS", "DIRECTIONS", "DOWN", "ESCAPE", "LEFT", "NIL", "RIGHT", "UP", "USE", "VECTORS"]

from collections.abc import Mapping
from typing import Final

NIL: Final = "NIL"
UP: Final = "UP"
LEFT: Final = "LEFT"
DOWN: Final = "DOWN"
RIGHT: Final = "RIGHT"
USE: Final = "USE"
ESCAPE: Final = "ESCAPE"

ACTIONS: Final = (NIL, UP, LEFT, DOWN, RIGHT, USE, ESCAPE)

VECTORS: Final[Mapping[str, tuple[int, int]]] = {UP: (0, -1), LEFT: (-1, 0), DOWN: (0, 1), RIGHT: (1, 0)}
"""Direction of each action that moves; y points down."""

DIRECTIONS: Final = tuple(VECTORS.values())
"""The base directions, in the order from which random draws choose."""
