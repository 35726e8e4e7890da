"""A callback that does nothing, for parts of a match that is over."""

from __future__ import annotations

__all__ = ["ignore"]


def ignore(*_values: object) -> None:
    """Do nothing; takes any arguments."""
