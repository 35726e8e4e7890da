"""LangRoom by name. Numpy is imported when the first room is made."""

from __future__ import annotations

__all__ = ["CATALOG", "make_langroom"]

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from flagfall.tasks.langroom.rules import TASKS, LangRoomRules
from flagfall.tasks.task import Task


def make_langroom(text: str) -> Task:
    """The room that a text means, such as `langroom:echo:view=3`; see `LangRoomRules.parse`.

    Raises:
        UsageError: there is none.
    """
    from flagfall.tasks.langroom.task import LangRoom  # noqa: PLC0415 - numpy takes a tenth of a second

    return LangRoom(LangRoomRules.parse(text))


CATALOG: Final[Mapping[str, Callable[[], Task]]] = MappingProxyType(
    {str(rules): partial(make_langroom, str(rules)) for rules in map(LangRoomRules, TASKS)}
)
"""The three ways to be rewarded, with the usual options."""
