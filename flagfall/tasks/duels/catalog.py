"""Registry of the games for two players."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from flagfall.tasks.task import Task


def _heaps() -> Task:
    from flagfall.tasks.duels.heaps import Heaps  # noqa: PLC0415 - it imports Gymnasium, which takes 0.2 s

    return Heaps()


def _lamps() -> Task:
    from flagfall.tasks.duels.lamps import Lamps  # noqa: PLC0415 - see above

    return Lamps()


CATALOG: Final[Mapping[str, Callable[[], Task]]] = {"duel:heaps": _heaps, "duel:lamps": _lamps}
"""Makers of the games, by id."""
