"""The learning track's protocol, without input or output: lines `id#payload` and their keywords."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias

from flagfall.errors import FlagfallError
from flagfall.kernel.channels.framing import LineError, LineReader
from flagfall.tasks.vgdl.definition import ACTIONS, ESCAPE, NIL
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
    """
    if word in _ABORTS:
        return ESCAPE
    return _ACTIONS.get(word.upper(), word[:MAX_WORD_CHARS])


def read_choice(word: str) -> int | str:
    """Return the choice of an answer to `END` or `ABORT`: a level, `END_OF_ROUND`, or the shortened word.

    Raises:
        Overspent: the word is `END_OVERSPENT`, in any case.
    """
    if word.upper() == END_OVERSPENT:
        raise Overspent("it answered END_OVERSPENT at the end of a level")
    if word in END_WORDS:
        return END_OF_ROUND
    return int(word) if word in _LEVELS else word[:MAX_WORD_CHARS]


def action_word(action: object) -> str:
    """Return an action of one of our agents as a keyword; an invalid one becomes `ACTION_NIL`."""
    name = str(action).removeprefix(_PREFIX)
    return f"{_PREFIX}{name if name in ACTIONS else NIL}"


def choice_word(answer: object) -> str:
    """Return the choice of one of our agents as a keyword; `-1` if it chooses nothing."""
    word = str(answer)
    return word if word in _LEVELS or word in END_WORDS else _NO_LEVEL


# Lines of the learning track's protocol, `id#payload`, for both ends, without I/O: bytes in, messages out.
#
# The server numbers its messages 0, 1, 2, ...; a reply carries the number of the message that it answers. The
# server drops a line that is blank, has no second field, or whose first field is not a whole number
# (*malformed*), a reply to an earlier message (*stale*), and one to a message that has not been sent
# (*future*). More than `MAX_DROPPED` of these before an answer, or a line longer than `MAX_REPLY_BYTES`, are
# a `LineError`; an incomplete line at the end of the stream is no answer.
#
# The kind of observation that a client requests is taken from every well-formed line, dropped or not.

MAX_REPLY_BYTES: Final = 4 * 1024
"""Longest reply that is read; those of the original's clients have about forty bytes."""

MAX_MESSAGE_BYTES: Final = 16 * 1024 * 1024
"""Longest message that a client reads: states have up to 100 kB, and a picture adds some hundred more."""

MAX_DROPPED: Final = 1_000
"""Most lines that may answer nothing before an answer; the original's clients send one."""

JSON: Final = "JSON"
KINDS: Final = frozenset({JSON, "IMAGE", "BOTH"})
"""Kinds of observation that a client may request."""

Drop: TypeAlias = Literal["malformed", "stale", "future"]
"""Reason that a line was dropped."""

_NUMBER: Final = re.compile(rb"\s*[+-]?\d{1,18}\s*", re.ASCII)


class ServerProtocol:
    """Server's end: numbers messages, and finds the answer to the last one in the input.

        stream.send(protocol.ask("START"))
        while (answer := protocol.next_answer()) is None:
            protocol.feed(stream.receive())

    Attributes:
        number: number of the last message; -1 before the first.
        wants: kind of observation that the client requested last.
        dropped: count of lines that answered nothing, by reason.
    """

    def __init__(self) -> None:
        self.number: int = -1
        self.wants: str = JSON
        self.dropped: Counter[Drop] = Counter()
        self._reader = LineReader(MAX_REPLY_BYTES)
        self._droppable = MAX_DROPPED

    @property
    def half_line(self) -> bool:
        """Return whether the input ends with an incomplete line."""
        return self._reader.buffered_bytes > 0

    def ask(self, payload: str) -> bytes:
        """Return the next message as bytes.

        Args:
            payload: text without line feeds.
        """
        self.number += 1
        self._droppable = MAX_DROPPED
        return b"%d#%s\n" % (self.number, payload.encode())

    def feed(self, data: bytes) -> None:
        """Add input."""
        self._reader.feed(data)

    def next_answer(self) -> str | None:
        """Return the answer to the last message, or `None` if it is not complete yet.

        Raises:
            LineError: a line is too long, or too many lines were dropped.
        """
        while (line := self._reader.next_line()) is not None:
            drop = self._take(line)
            if not isinstance(drop, _Answer):
                self.dropped[drop] += 1
                self._droppable -= 1
                if self._droppable < 0:
                    raise LineError(f"more than {MAX_DROPPED} lines that answer nothing")
            else:
                return drop.text
        return None

    def _take(self, line: bytes) -> _Answer | Drop:
        # As in the original, empty fields at the end of a line do not count.
        fields = line.rstrip(b"#").split(b"#")
        if len(fields) < 2 or not _NUMBER.fullmatch(fields[0]):  # noqa: PLR2004 - a number and an answer
            return "malformed"
        if len(fields) > 2 and (kind := fields[2].strip().decode("ascii", "replace")) in KINDS:  # noqa: PLR2004 - and a kind
            self.wants = kind
        number = int(fields[0])
        if number != self.number:
            return "stale" if number < self.number else "future"
        return _Answer(fields[1].decode("ascii", "replace").strip())


class _Answer(NamedTuple):
    text: str


class Message(NamedTuple):
    """A message of a server.

    Attributes:
        number: the number of the message; its answer carries it.
        payload: `START`, `FINISH`, or a state as JSON.
    """

    number: int
    payload: bytes


class ClientProtocol:
    """Client's end: parses messages, and numbers replies."""

    def __init__(self) -> None:
        self._reader = LineReader(MAX_MESSAGE_BYTES)

    def feed(self, data: bytes) -> None:
        """Add input."""
        self._reader.feed(data)

    def next_message(self) -> Message | None:
        """Return the next message, or `None` if it is not complete yet.

        Raises:
            LineError: the line is not a message.
        """
        line = self._reader.next_line()
        if line is None:
            return None
        number, found, payload = line.partition(b"#")
        if not found or not _NUMBER.fullmatch(number):
            raise LineError(f"not a message of a server: {line[:40]!r}")
        return Message(int(number), payload)

    @staticmethod
    def reply(number: int, answer: str, kind: str = JSON) -> bytes:
        """Return a reply as bytes.

        Args:
            kind: kind of observation requested next.
        """
        return f"{number}#{answer}#{kind}\n".encode()
