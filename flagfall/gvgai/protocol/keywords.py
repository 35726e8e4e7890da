"""Keywords of the learning track's protocol and their meaning."""

from __future__ import annotations

__all__ = [
    "END_WORDS",
    "FINISH",
    "INIT_FAILED",
    "START",
    "START_DONE",
    "START_FAILED",
    "Overspent",
    "action_word",
    "choice_word",
    "read_action",
    "read_choice",
]

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from flagfall.errors import FlagfallError
from flagfall.tasks.vgdl.actions import ACTIONS, ESCAPE, NIL
from flagfall.tasks.vgdl.learning_track import END_OF_ROUND

START: Final = "START"
FINISH: Final = "FINISH"
START_DONE: Final = "START_DONE"
START_FAILED: Final = "START_FAILED"
INIT_FAILED: Final = "INIT_FAILED"
END_OVERSPENT: Final = "END_OVERSPENT"

END_WORDS: Final = frozenset({"END_TRAINING", "END_VALIDATION"})
"""Keywords that end a round, case-sensitive; the original's clients send the first one in any phase."""

MAX_WORD_CHARS: Final = 40
"""Characters kept of an unknown word."""

_PREFIX: Final = "ACTION_"
_ACTIONS: Final[Mapping[str, str]] = MappingProxyType({f"{_PREFIX}{name}": name for name in ACTIONS})
_ABORTS: Final = frozenset({"ABORT", END_OVERSPENT})
_LEVELS: Final = frozenset("0123")
_NO_LEVEL: Final = "-1"


class Overspent(FlagfallError):
    """The client reports that it took too long for the result of a game, and is disqualified."""


def read_action(word: str) -> str:
    """Return the action that an answer to `ACT` stands for.

    `ACTION_...` is case-insensitive. `ABORT` and `END_OVERSPENT`, case-sensitive, abort the level like
    `ACTION_ESCAPE`. Any other word is returned, shortened: it is illegal in every task, so NIL is played.

    Args:
        word: the answer.
    """
    if word in _ABORTS:
        return ESCAPE
    return _ACTIONS.get(word.upper(), word[:MAX_WORD_CHARS])


def read_choice(word: str) -> int | str:
    """Return the choice of an answer to `END` or `ABORT`: a level, `END_OF_ROUND`, or the shortened word.

    Args:
        word: the answer.

    Raises:
        Overspent: the word is `END_OVERSPENT`, in any case.
    """
    if word.upper() == END_OVERSPENT:
        raise Overspent("it answered END_OVERSPENT at the end of a level")
    if word in END_WORDS:
        return END_OF_ROUND
    return int(word) if word in _LEVELS else word[:MAX_WORD_CHARS]


def action_word(action: object) -> str:
    """Return an action of one of our agents as a keyword; an invalid one becomes `ACTION_NIL`.

    Args:
        action: any value.
    """
    name = str(action).removeprefix(_PREFIX)
    return f"{_PREFIX}{name if name in ACTIONS else NIL}"


def choice_word(answer: object) -> str:
    """Return the choice of one of our agents as a keyword; `-1` if it chooses nothing.

    Args:
        answer: its answer to a result, any value.
    """
    word = str(answer)
    return word if word in _LEVELS or word in END_WORDS else _NO_LEVEL
