"""Effects that only continuous physics needs (spec 6.1, 6.2)."""

from __future__ import annotations

__all__ = ["CONTINUOUS_EFFECTS"]

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.effects import Maker

CONTINUOUS_EFFECTS: Final[Mapping[str, Maker]] = {}
