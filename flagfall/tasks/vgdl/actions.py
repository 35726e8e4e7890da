"""The actions of VGDL, by their names without the `ACTION_` in front."""

from __future__ import annotations

__all__ = ["ACTIONS", "DOWN", "ESCAPE", "LEFT", "NIL", "RIGHT", "UP", "USE", "VECTORS"]

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
"""What moves where; y points down. The order is that of the base directions, which draws choose from."""
