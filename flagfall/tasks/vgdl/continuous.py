"""Continuous physics: speeds, masses and gravity; positions stay whole pixels (spec 4.6)."""

from __future__ import annotations

__all__ = ["CONTINUOUS_ACTS", "CONTINUOUS_UPDATES", "active", "passive"]

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.play import Play
    from flagfall.tasks.vgdl.sprites import Act, Kind, Sprite, Update


def passive(play: Play, sprite: Sprite) -> None:
    """Placeholder."""


def active(play: Play, sprite: Sprite, dx: float, dy: float, speed: float) -> int:
    """Placeholder."""
    return 0


CONTINUOUS_ACTS: Final[Mapping[str, Callable[[Kind], Act]]] = {}
CONTINUOUS_UPDATES: Final[Mapping[str, Callable[[Kind], Update]]] = {}
