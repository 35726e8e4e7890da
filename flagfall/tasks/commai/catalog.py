"""The CommAI tasks by id, in the order of the curriculum.

To use other constants than the defaults, build the task itself:

    MicroTask("micro3", partial(letter_mapping, alphabet_size=6), MicroRules(required=20))

or, for another vocabulary or a world around the mini-tasks, another catalog:

    make_catalog(words=load_vocabulary(Path("words.txt")), world=GridWorld())

The tasks follow the original, quirks included; `make_catalog(fixes=True)` repairs some of them.
"""

from __future__ import annotations

__all__ = ["CATALOG", "MICRO_TASKS", "make_catalog"]

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from flagfall.tasks.commai.micro.characters import CHARACTER_TASKS
from flagfall.tasks.commai.micro.feedback import FEEDBACK_TASKS
from flagfall.tasks.commai.micro.sentences import SENTENCE_TASKS
from flagfall.tasks.commai.micro.synonyms import SYNONYM_TASKS
from flagfall.tasks.commai.mini.examples import FORMER_STRINGS, MINI_EXAMPLES
from flagfall.tasks.commai.mini.task import MiniTask

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flagfall.tasks.commai.byte_task import ByteTask
    from flagfall.tasks.commai.vocabulary import Vocabulary
    from flagfall.tasks.commai.world import World

MICRO_TASKS: Final = {**CHARACTER_TASKS, **FEEDBACK_TASKS, **SENTENCE_TASKS, **SYNONYM_TASKS}
"""All micro-tasks by id: how they are made, and the settings that configurations may change."""


def make_catalog(
    words: Vocabulary | None = None, world: World | None = None, *, fixes: bool = False
) -> Mapping[str, Callable[[], ByteTask]]:
    """Return makers of all tasks by id; each call of a maker makes a new task.

    Args:
        words: the vocabulary of micro-tasks 6 to 20; `None` for the one shipped with flagfall, which is read
            when the first task needs it.
        world: the world of the mini-tasks, shared by all of them; it also hears the learner.
        fixes: repair the quirks of the original that `docs/round1.md` lists for this option.
    """
    return MappingProxyType(
        {
            **{
                task_id: partial(row.make, task_id, words, fixes=fixes)
                for task_id, row in MICRO_TASKS.items()
            },
            **{task_id: partial(_mini_task, task_id, world, fixes) for task_id in MINI_EXAMPLES},
        }
    )


def _mini_task(task_id: str, world: World | None, fixes: bool) -> MiniTask:
    make = MINI_EXAMPLES[task_id]
    former = make(fixes, FORMER_STRINGS)
    return MiniTask(task_id, make(fixes), former_examples=former, world=world, fixes=fixes)


CATALOG: Final = make_catalog()
"""Makers of all tasks by id, with the default vocabulary and without a world."""
