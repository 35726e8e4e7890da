"""What a human player hears and says: when to ask, what is queued, and the tape of it all.

Rule 1: the reward of a step comes before its byte, and any but 0 clears what was heard and what is queued.
Rule 2: a line that is typed goes into the queue; each step says the next byte of it, or a space.
Rule 3: nothing is asked while something is queued.
"""

from __future__ import annotations

__all__ = [
    "AFTER_DOT",
    "AFTER_DOT_OR_SPACES",
    "AFTER_SPACES",
    "EVERY_STEP",
    "Manner",
    "Talk",
    "Tape",
    "as_bytes",
    "as_text",
    "mark_of",
]

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import attrs

from flagfall.kernel.channels.codecs import SILENCE

TAPE_STEPS: Final = 4_096
"""How many steps a tape keeps: more than a terminal of 200 columns and 70 rows can show."""

UNPRINTABLE: Final = "\N{MIDDLE DOT}"
_DOT: Final = ord(".")
_SPACES: Final = [SILENCE, SILENCE]
_BYTE_VALUES: Final = 256
_MARKS: Final[Mapping[float, str]] = MappingProxyType(
    {0: " ", 1: "+", -1: "-", 2: "2", -2: "\N{LATIN LETTER TWO WITH STROKE}"}
)


@attrs.frozen
class Manner:
    """When a human is asked for a line.

    Attributes:
        asks: whether to ask, given the last bytes heard since the last reward, two at most.
        rests: when an answer is said, one more byte must be heard before the next question.
        squeezes: a run of dots in a typed line is said as one dot.
    """

    asks: Callable[[Sequence[int]], bool]
    rests: bool = True
    squeezes: bool = True


EVERY_STEP: Final = Manner(lambda _heard: True, rests=False, squeezes=False)
"""Before every step."""

AFTER_DOT: Final = Manner(lambda heard: heard[-1] == _DOT)
"""When the teacher has just said a dot."""

AFTER_SPACES: Final = Manner(lambda heard: list(heard) == _SPACES)
"""When the teacher has been silent for two steps."""

AFTER_DOT_OR_SPACES: Final = Manner(lambda heard: heard[-1] == _DOT or list(heard) == _SPACES)
"""In both cases."""


class Talk:
    """What was heard and what is still to be said.

    Args:
        manner: when to ask.
    """

    def __init__(self, manner: Manner) -> None:
        self._manner = manner
        self._heard: deque[int] = deque(maxlen=2)
        self._queue: deque[int] = deque()
        self._speaking = False

    @property
    def queued(self) -> int:
        """How many bytes are still to be said."""
        return len(self._queue)

    def hear(self, byte: int, reward: float) -> bool:
        """Take what came in a step; whether to ask for a line now."""
        if reward:
            self._heard.clear()
            self._queue.clear()
        self._heard.append(byte)
        if self._queue:
            return False
        if self._speaking:
            self._speaking = False
            return False
        return self._manner.asks(self._heard)

    def answer(self, line: str, *, asked: bool = True) -> None:
        """Queue a line; an empty one is silence."""
        text = re.sub(r"\.+", ".", line) if self._manner.squeezes else line
        self._queue.extend(as_bytes(text))
        self._speaking = asked and self._manner.rests

    def say(self) -> int:
        """The next byte to say."""
        return self._queue.popleft() if self._queue else SILENCE


class Tape:
    """The last steps, column by column: what was heard, what was said to it, the reward that came with it.

    The reward in a column is for what was said in the column before.

    Attributes:
        heard: what the teacher said, as it is shown.
        said: what the learner said; one shorter than `heard` while a turn is open.
        marks: the sign of each reward.
        newest_turn: the number of the newest step.
        reward: the sum of all.
        last: the newest reward that was not 0.
        missed: turns in which a space was said because the human took too long.
    """

    def __init__(self) -> None:
        self.heard: deque[str] = deque(maxlen=TAPE_STEPS)
        self.said: deque[str] = deque(maxlen=TAPE_STEPS)
        self.marks: deque[str] = deque(maxlen=TAPE_STEPS)
        self.newest_turn = -1
        self.reward: float = 0
        self.last: float = 0
        self.missed = 0
        self._open = False

    @property
    def time(self) -> int:
        """How many steps are complete."""
        return self.newest_turn + (not self._open)

    def hear(self, number: int, byte: int, reward: float) -> None:
        """The teacher says something; turns that nobody answered, or saw, went by with a space."""
        unseen = number - self.newest_turn - 1
        self.missed += self._open + unseen
        if self._open:
            self.said.append(" ")
        for _ in range(min(unseen, TAPE_STEPS)):
            self._column("?", " ")
            self.said.append(" ")
        self.newest_turn = number
        self._column(as_text(byte), mark_of(reward))
        self._open = True
        self.pay(reward)

    def pay(self, reward: float) -> None:
        """A reward; one that comes with nothing said has no column."""
        self.reward += reward
        if reward:
            self.last = reward

    def say(self, byte: int) -> None:
        """The learner answers the newest column."""
        self.said.append(as_text(byte))
        self._open = False

    def newest(self, columns: int) -> tuple[str, str, str]:
        """The last columns, at most so many, as three lines: heard, said, rewards."""
        start = max(0, len(self.heard) - columns)
        return (
            "".join(list(self.heard)[start:]),
            "".join(list(self.said)[start:]),
            "".join(list(self.marks)[start:]),
        )

    def _column(self, heard: str, mark: str) -> None:
        if len(self.said) == TAPE_STEPS:
            self.said.popleft()  # keep the three aligned while a turn is open
        self.heard.append(heard)
        self.marks.append(mark)


def as_text(byte: int) -> str:
    """A byte as one visible character (ISO 8859-1)."""
    character = chr(byte)
    return character if character.isprintable() else UNPRINTABLE


def as_bytes(text: str) -> list[int]:
    """The bytes of a typed text; characters that are no byte (beyond U+00FF) are left out."""
    return [ord(character) for character in text if ord(character) < _BYTE_VALUES]


def mark_of(reward: float) -> str:
    """The sign of a reward; one that has none of its own gets that of its direction."""
    return _MARKS.get(reward) or ("+" if reward > 0 else "-")
