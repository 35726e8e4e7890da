"""Registry of LangRoom tasks; numpy is imported when the first one is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from flagfall.tasks.langroom.rules import TASKS, LangRoomRules
from flagfall.tasks.task import Task


def make_langroom(text: str) -> Task:
    """Make a LangRoom task.

    Args:
        text: such as `langroom:echo:view=3`; see `LangRoomRules.parse`.

    Raises:
        UsageError: the text is invalid.
    """
    from flagfall.tasks.langroom.task import LangRoom  # noqa: PLC0415 - importing numpy takes 0.1 s

    return LangRoom(LangRoomRules.parse(text))


CATALOG: Final[Mapping[str, Callable[[], Task]]] = {
    str(rules): partial(make_langroom, str(rules)) for rules in map(LangRoomRules, TASKS)
}
"""Makers of the tasks with each kind of reward, with default options."""
