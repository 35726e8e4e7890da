"""Request for tasks that can be drawn: the replay of a match makes them so.

An environment of Gymnasium or PettingZoo draws pictures only if it was made for that, and a room keeps the
words of its dialogue only for its pictures. What a task does is the same either way.
"""

from __future__ import annotations

__all__ = ["ENVIRONMENT_MODES", "are_pictures_wanted", "best_mode", "with_pictures"]

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Final

_wanted: ContextVar[bool] = ContextVar("flagfall_pictures", default=False)

ENVIRONMENT_MODES: Final[Mapping[str, str]] = MappingProxyType({"rgb": "rgb_array", "ansi": "ansi"})
"""Render modes of tasks, and those of environments that return the same; the best first."""


@contextmanager
def with_pictures() -> Iterator[None]:
    """Return a context in which tasks are made so that they can be drawn."""
    token = _wanted.set(True)
    try:
        yield
    finally:
        _wanted.reset(token)


def are_pictures_wanted() -> bool:
    """Return whether a task is being made to be drawn."""
    return _wanted.get()


def best_mode(metadata: Mapping[str, Any]) -> str | None:
    """Return the render mode in which an environment is to be made; `None` if it draws nothing.

    Args:
        metadata: the metadata of the environment.
    """
    known = metadata.get("render_modes", ())
    return next((mode for mode in ENVIRONMENT_MODES.values() if mode in known), None)
