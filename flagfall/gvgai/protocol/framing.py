"""The lines of the learning track's protocol, `id#payload`, as pure code: bytes in, answers out.

Both ends are here. The server numbers its messages 0, 1, 2, ...; a reply carries the number of the message
that it answers. What a server makes of whatever else comes:

| what comes | what becomes of it |
|---|---|
| a blank line, one without a second field, or whose first is no whole number | dropped |
| a reply to an earlier message (*stale*) | dropped |
| a reply to a message that has not been sent (*future*) | dropped |
| more than `MAX_DROPPED` of those while one answer is waited for | `LineError` |
| a line longer than `MAX_REPLY_BYTES` | `LineError` |
| half a line, and the end of the stream | never an answer; the caller sees the end of the stream |

The kind of observation that a client wants is taken from every line that can be read, dropped or not.
"""

from __future__ import annotations

__all__ = [
    "JSON",
    "KINDS",
    "MAX_DROPPED",
    "MAX_MESSAGE_BYTES",
    "MAX_REPLY_BYTES",
    "Asker",
    "Drop",
    "Message",
    "Replier",
]

import re
from collections import Counter
from typing import Final, Literal, NamedTuple, TypeAlias

from flagfall.kernel.channels.lines import LineError, LineReader

MAX_REPLY_BYTES: Final = 4 * 1024
"""The longest reply that is read; those of the original's clients have some forty bytes."""

MAX_MESSAGE_BYTES: Final = 16 * 1024 * 1024
"""The longest message that a client reads: states have up to 100 kB, and a picture adds some hundred."""

MAX_DROPPED: Final = 1_000
"""So many lines may answer nothing while one answer is waited for; the original's clients send one."""

JSON: Final = "JSON"
KINDS: Final = frozenset({JSON, "IMAGE", "BOTH"})
"""What a client may want to see."""

Drop: TypeAlias = Literal["malformed", "stale", "future"]
"""Why a line was dropped."""

_NUMBER: Final = re.compile(rb"\s*[+-]?\d{1,18}\s*", re.ASCII)


class Asker:
    """The server's end: numbers messages, and finds the answer to the last one among what comes back.

        stream.send(asker.ask("START"))
        while (answer := asker.next_answer()) is None:
            asker.feed(stream.receive())

    Attributes:
        number: of the message sent last; -1 before the first.
        wants: the kind of observation that the client asked for last.
        dropped: how many lines answered nothing, by why.
    """

    def __init__(self) -> None:
        self.number = -1
        self.wants = JSON
        self.dropped: Counter[Drop] = Counter()
        self._reader = LineReader(MAX_REPLY_BYTES)
        self._patience = MAX_DROPPED

    @property
    def half_line(self) -> bool:
        """Whether input is held that is no whole line."""
        return self._reader.buffered_bytes > 0

    def ask(self, payload: str) -> bytes:
        """The next message, as bytes."""
        self.number += 1
        self._patience = MAX_DROPPED
        return b"%d#%s\n" % (self.number, payload.encode())

    def feed(self, data: bytes) -> None:
        """Add input, cut anyhow."""
        self._reader.feed(data)

    def next_answer(self) -> str | None:
        """The answer to the last message, or `None` while it is not there.

        Raises:
            LineError: a line is too long, or too many were no answer.
        """
        while (line := self._reader.next_line()) is not None:
            drop = self._take(line)
            if not isinstance(drop, _Answer):
                self.dropped[drop] += 1
                self._patience -= 1
                if self._patience < 0:
                    raise LineError(f"more than {MAX_DROPPED} lines that answer nothing")
            else:
                return drop.text
        return None

    def _take(self, line: bytes) -> _Answer | Drop:
        # As in the original, empty fields at the end of a line are none.
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
    """What a server says.

    Attributes:
        number: of the message; its answer must carry it.
        payload: `START`, `FINISH`, or a state as JSON.
    """

    number: int
    payload: bytes


class Replier:
    """The client's end: takes messages, and numbers replies."""

    def __init__(self) -> None:
        self._reader = LineReader(MAX_MESSAGE_BYTES)

    def feed(self, data: bytes) -> None:
        """Add input, cut anyhow."""
        self._reader.feed(data)

    def next_message(self) -> Message | None:
        """The next message, or `None` while it is not there.

        Raises:
            LineError: the server says what is no message.
        """
        line = self._reader.next_line()
        if line is None:
            return None
        number, found, payload = line.partition(b"#")
        if not found or not _NUMBER.fullmatch(number):
            raise LineError(f"no message of a server: {line[:40]!r}")
        return Message(int(number), payload)

    @staticmethod
    def reply(number: int, answer: str, kind: str = JSON) -> bytes:
        """The answer to the message of that number, with the kind of observation wanted next."""
        return f"{number}#{answer}#{kind}\n".encode()
