"""Registry of human players, by the names that a command line takes."""

from __future__ import annotations

__all__ = ["HUMANS"]

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from flagfall.agents.human.player import HaltOnDotHuman, Human, HumanAgent, ImmediateHuman

# urwid is optional, so the modules that draw with it are imported only for players at a full screen.


def _full_screen(**options: Any) -> Human:
    from flagfall.agents.human.full_screen import FullScreenHuman  # noqa: PLC0415

    return FullScreenHuman(**options)


def _keys(**options: Any) -> Human:
    from flagfall.agents.human.keys import KeyHuman  # noqa: PLC0415

    return KeyHuman(**options)


def _room(**options: Any) -> Human:
    from flagfall.agents.human.langroom import RoomHuman  # noqa: PLC0415

    return RoomHuman(**options)


HUMANS: Final[Mapping[str, Callable[..., Human]]] = MappingProxyType(
    {
        "human": _full_screen,
        "human-line": HumanAgent,
        "human-dot": HaltOnDotHuman,
        "human-immediate": ImmediateHuman,
        "human-keys": _keys,
        "human-room": _room,
    }
)
"""Constructors of human players. Each takes `stop` and `skip_steps` of `flagfall.agents.human.player.Human`,
and raises `UsageError` where it needs a terminal or urwid, and there is none."""
