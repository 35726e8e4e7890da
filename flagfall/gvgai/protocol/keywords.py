"""What the words of the learning track's protocol mean to us. Pure."""

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
"""Either ends the round, in these letters only; the original's clients say the first at any time."""

MAX_WORD_CHARS: Final = 40
"""So much is kept of a word that means nothing."""

_PREFIX: Final = "ACTION_"
_ACTIONS: Final[Mapping[str, str]] = MappingProxyType({f"{_PREFIX}{name}": name for name in ACTIONS})
_ABORTS: Final = frozenset({"ABORT", END_OVERSPENT})
_LEVELS: Final = frozenset("0123")
_NO_LEVEL: Final = "-1"


class Overspent(FlagfallError):
    """The client says itself that it took too long over the result of a game: it is disqualified."""


def read_action(word: str) -> str:
    """The action that an answer to `ACT` means.

    `ACTION_...` counts in any case. `ABORT` and `END_OVERSPENT`, in these letters only, abort the level like
    `ACTION_ESCAPE`. Anything else is given back, cut short: no task takes it, so NIL is played.
    """
    if word in _ABORTS:
        return ESCAPE
    return _ACTIONS.get(word.upper(), word[:MAX_WORD_CHARS])


def read_choice(word: str) -> int | str:
    """What an answer to `END` or `ABORT` means to the track: a level, `END_OF_ROUND`, or nothing much.

    Raises:
        Overspent: see there; the word counts in any case.
    """
    if word.upper() == END_OVERSPENT:
        raise Overspent("it said END_OVERSPENT at the end of a level")
    if word in END_WORDS:
        return END_OF_ROUND
    return int(word) if word in _LEVELS else word[:MAX_WORD_CHARS]


def action_word(action: object) -> str:
    """What one of our agents did, as the protocol writes it; what is no action is `ACTION_NIL`."""
    name = str(action).removeprefix(_PREFIX)
    return f"{_PREFIX}{name if name in ACTIONS else NIL}"


def choice_word(answer: object) -> str:
    """What one of our agents answered to a result, in the protocol's words; `-1` where it chooses nothing."""
    word = str(answer)
    return word if word in _LEVELS or word in END_WORDS else _NO_LEVEL
