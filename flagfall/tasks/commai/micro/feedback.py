"""Micro-tasks 5.1 to 5.18: a mapping of digits to digits, with feedback after every answer.

The tasks differ only in data: one row each. Sizes and separators are those of round 1 of the General AI
Challenge.
"""

from __future__ import annotations

__all__ = ["FEEDBACK_TASKS", "MAPPING_SIZE", "ROWS", "FeedbackRow", "feedback_mapping"]

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import attrs

from flagfall.tasks.commai.micro.engine import MAX_DRAWN, MicroRow
from flagfall.tasks.commai.micro.questions import OptionsLeft, TableQuestions, in_blocks, one_by_one

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

MAPPING_SIZE: Final = 10
"""Number of keys drawn for an instance; duplicates collapse, so a mapping may be smaller."""

_DIGITS: Final = one_by_one(b"0123456789")

Digits: TypeAlias = tuple[int, int]
"""The least and the greatest number of digits, drawn uniformly."""


@attrs.frozen(kw_only=True)
class FeedbackRow:
    """The parameters of one task.

    Attributes:
        keys: `each` for every digit, or the number of digits drawn for a key.
        answers: `permutation` of the keys, or the number of digits drawn for an answer.
        dot: terminator of a drawn answer, which the learner has to send, too.
        asks: terminator of a question.
        tells: terminator of the feedback.
        noise: number of random digits, drawn each time, at the beginning of the feedback.
        plain_if_right: whether the dot is left out of the feedback to a right answer.
    """

    keys: Literal["each"] | Digits = "each"
    answers: Literal["permutation"] | Digits
    dot: bytes = b"."
    asks: bytes = b"."
    tells: bytes = b";"
    noise: Digits = (0, 0)
    plain_if_right: bool = False


ROWS: Final[Mapping[str, FeedbackRow]] = MappingProxyType(
    {
        "micro5.1": FeedbackRow(answers="permutation", dot=b"", asks=b"", tells=b""),
        "micro5.2": FeedbackRow(answers="permutation", dot=b"", asks=b""),
        "micro5.3": FeedbackRow(answers="permutation", dot=b""),
        "micro5.4": FeedbackRow(answers=(2, 2), dot=b""),
        "micro5.5": FeedbackRow(answers=(1, 1)),
        "micro5.6": FeedbackRow(answers=(1, 1), plain_if_right=True),
        "micro5.7": FeedbackRow(answers=(1, 2)),
        "micro5.8": FeedbackRow(keys=(2, 2), answers=(1, 1)),
        "micro5.9": FeedbackRow(keys=(1, 2), answers=(1, 1)),
        "micro5.10": FeedbackRow(answers=(1, 1), noise=(1, 1)),
        "micro5.11": FeedbackRow(answers=(1, 1), noise=(0, 1)),
        "micro5.12": FeedbackRow(answers=(3, 5)),
        "micro5.13": FeedbackRow(keys=(3, 5), answers=(1, 1)),
        "micro5.14": FeedbackRow(answers=(1, 1), noise=(2, 4)),
        "micro5.15": FeedbackRow(answers=(1, 5)),
        "micro5.16": FeedbackRow(keys=(1, 5), answers=(1, 1)),
        "micro5.17": FeedbackRow(keys=(1, 5), answers=(1, 5)),
        "micro5.18": FeedbackRow(keys=(1, 10), answers=(1, 10)),
    }
)
"""The tasks, by id."""


def feedback_mapping(rng: Random, *, row: FeedbackRow, mapping_size: int = MAPPING_SIZE) -> TableQuestions:
    """Return the questions of one instance.

    Args:
        rng: the source of everything random.
        row: the parameters of the task.
        mapping_size: number of keys drawn; at most 10 if each digit is a key.
    """
    keys = _keys(rng, row, mapping_size)
    answers = dict(zip(keys, _answers(rng, row, keys), strict=True))  # of equal keys the last one counts
    return TableQuestions(
        answers,
        in_blocks(rng, list(answers)),
        OptionsLeft(dict.fromkeys(answers, 2)),  # each key needs to be answered once
        separator=row.asks,
        feedback=partial(_feedback, rng, row),
    )


def _keys(rng: Random, row: FeedbackRow, size: int) -> list[bytes]:
    if row.keys == "each":
        return _DIGITS[:size]
    return [_draw(rng, row.keys) for _ in range(size)]


def _answers(rng: Random, row: FeedbackRow, keys: list[bytes]) -> list[bytes]:
    if row.answers == "permutation":
        return rng.sample(keys, len(keys))
    return [_draw(rng, row.answers) + row.dot for _ in keys]


def _draw(rng: Random, how_many: Digits) -> bytes:
    return b"".join(rng.choices(_DIGITS, k=rng.randint(*how_many)))


def _feedback(rng: Random, row: FeedbackRow, answer: bytes, correct: bool) -> bytes:
    shown = answer.removesuffix(row.dot) if row.plain_if_right and correct else answer
    noise = _draw(rng, row.noise) if row.noise[1] else b""
    return noise + shown + row.tells


FEEDBACK_TASKS: Final = {
    task_id: MicroRow(
        partial(feedback_mapping, row=row),
        settings={"mapping_size": (1, len(_DIGITS) if row.keys == "each" else MAX_DRAWN)},
    )
    for task_id, row in ROWS.items()
}
"""Micro-tasks 5.1 to 5.18, by id."""
