"""The CommAI tasks by id, in the order of the curriculum.

For other constants than the usual ones build the task itself:

    MicroTask("micro3", partial(letter_mapping, alphabet_size=6), Rules(required=20))
"""

from __future__ import annotations

__all__ = ["CATALOG"]

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from flagfall.tasks.commai.micro_characters import CHARACTER_SOURCES
from flagfall.tasks.commai.micro_engine import MicroTask
from flagfall.tasks.commai.micro_feedback import FEEDBACK_SOURCES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flagfall.tasks.commai.byte_task import ByteTask

CATALOG: Final[Mapping[str, Callable[[], ByteTask]]] = MappingProxyType(
    {
        task_id: partial(MicroTask, task_id, source)
        for task_id, source in {**CHARACTER_SOURCES, **FEEDBACK_SOURCES}.items()
    }
)
"""Every task by its id; each call makes a task of its own."""
