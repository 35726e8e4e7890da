"""Dialogue of a human player with a byte task, and the plain terminal that shows it.

Rule 1: the reward of a step comes before its byte; a reward other than 0 clears what was heard and the queue.
Rule 2: a typed line goes into the queue; each step sends the next byte of it, or a space.
Rule 3: there is no prompt while the queue holds bytes.
"""

from __future__ import annotations

import os
import re
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from errno import EPERM
from types import MappingProxyType
from typing import Final, Self, TextIO

import attrs
import trio

from flagfall.kernel.channels.codecs import SILENCE

SKIP: Final = "SKIP"
"""Typed to be silent until the next task."""

QUIT: Final = "QUIT"
"""Typed to end the match."""

TAPE_STEPS: Final = 4_096
"""Steps that a tape keeps: more than a terminal of 200 columns and 70 rows can show."""

UNPRINTABLE: Final = "\N{MIDDLE DOT}"
_DOT: Final = ord(".")
_SPACES: Final = [SILENCE, SILENCE]
_BYTE_VALUES: Final = 256
_MARKS: Final[Mapping[float, str]] = MappingProxyType(
    {0: " ", 1: "+", -1: "-", 2: "2", -2: "\N{LATIN LETTER TWO WITH STROKE}"}
)


@attrs.frozen
class PromptPolicy:
    """Rule for when a human is prompted for a line.

    Attributes:
        asks: decides on a prompt, given the last bytes heard since the last reward, two at most.
        rests: after an answer, one more byte must be heard before the next prompt.
        squeezes: a run of dots in a typed line is sent as one dot.
    """

    asks: Callable[[Sequence[int]], bool]
    rests: bool = True
    squeezes: bool = True


EVERY_STEP: Final = PromptPolicy(lambda _heard: True, rests=False, squeezes=False)
"""Prompt before every step."""

AFTER_DOT: Final = PromptPolicy(lambda heard: heard[-1] == _DOT)
"""Prompt after a dot of the teacher."""

AFTER_SPACES: Final = PromptPolicy(lambda heard: list(heard) == _SPACES)
"""Prompt when the teacher has been silent for two steps."""

AFTER_DOT_OR_SPACES: Final = PromptPolicy(lambda heard: heard[-1] == _DOT or list(heard) == _SPACES)
"""Prompt in both cases."""


class DialogueQueue:
    """The last bytes heard, and the typed bytes that are still to be sent."""

    def __init__(self, policy: PromptPolicy) -> None:
        self._policy = policy
        self._heard: deque[int] = deque(maxlen=2)
        self._queue: deque[int] = deque()
        self._speaking = False

    @property
    def queued(self) -> int:
        """Number of bytes that are still to be sent."""
        return len(self._queue)

    def hear(self, byte: int, reward: float) -> bool:
        """Take the byte and the reward of a step, and return whether to prompt for a line now."""
        if reward:
            self._heard.clear()
            self._queue.clear()
        self._heard.append(byte)
        if self._queue:
            return False
        if self._speaking:
            self._speaking = False
            return False
        return self._policy.asks(self._heard)

    def answer(self, line: str, *, asked: bool = True) -> None:
        """Queue a line, without its characters beyond U+00FF, which are no bytes.

        Args:
            asked: it answers a prompt, so that the policy may wait for another byte before the next one.
        """
        text = re.sub(r"\.+", ".", line) if self._policy.squeezes else line
        self._queue.extend(ord(character) for character in text if ord(character) < _BYTE_VALUES)
        self._speaking = asked and self._policy.rests

    def say(self) -> int:
        """Return the next byte to send; a space where the queue is empty."""
        return self._queue.popleft() if self._queue else SILENCE


class Tape:
    """The last steps in columns: the byte heard, the byte sent, and the reward that came with the byte heard.

    The reward in a column is for the byte sent in the column before.

    Attributes:
        heard: the characters of the teacher, as they are shown.
        said: those of the learner; one fewer than in `heard` while a turn is open.
        last: the newest reward that was not 0.
        missed: turns in which a space was played because the human took too long.
    """

    def __init__(self) -> None:
        self.heard: deque[str] = deque(maxlen=TAPE_STEPS)
        self.said: deque[str] = deque(maxlen=TAPE_STEPS)
        self.marks: deque[str] = deque(maxlen=TAPE_STEPS)
        self.newest_turn: int = -1
        self.reward: float = 0
        self.last: float = 0
        self.missed: int = 0
        self._open = False

    @property
    def time(self) -> int:
        """Number of complete steps."""
        return self.newest_turn + (not self._open)

    def hear(self, number: int, byte: int, reward: float) -> None:
        """Add a column for a byte of the teacher; turns without an answer or not seen have a space."""
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
        """Add a reward to the sum; a reward without a byte has no column."""
        self.reward += reward
        if reward:
            self.last = reward

    def say(self, byte: int) -> None:
        """Complete the newest column with a byte of the learner."""
        self.said.append(as_text(byte))
        self._open = False

    def newest(self, columns: int) -> tuple[str, str, str]:
        """Return the last columns, at most `columns` of them, as three lines: heard, said, rewards."""
        start = max(0, len(self.heard) - columns)
        heard, said, marks = ("".join(voice)[start:] for voice in (self.heard, self.said, self.marks))
        return heard, said, marks

    def _column(self, heard: str, mark: str) -> None:
        if len(self.said) == TAPE_STEPS:
            self.said.popleft()  # keep the three aligned while a turn is open
        self.heard.append(heard)
        self.marks.append(mark)


def as_text(byte: int) -> str:
    """Return a byte as one visible character (ISO 8859-1)."""
    character = chr(byte)
    return character if character.isprintable() else UNPRINTABLE


def mark_of(reward: float) -> str:
    """Return the sign shown for a reward: its own, or `+` or `-` by its direction."""
    return _MARKS.get(reward) or ("+" if reward > 0 else "-")


PROMPT: Final = "> "
DEFAULT_COLUMNS: Final = 80
MIN_COLUMNS: Final = 40

MAX_LINE_BYTES: Final = 65_536
"""A longer line is taken in parts, so that a file without line ends does not fill the memory."""

_CHUNK_BYTES: Final = 4_096
_NUMBERS_CHARS: Final = 17


class LineInput:
    """Lines from a file descriptor: a terminal, a pipe or a file.

    Args:
        fd: a descriptor to read. It is not closed, and not made non-blocking: other programs may share it.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._got = bytearray()
        self._ended = False

    async def line(self) -> str | None:
        """Return the next line without its end; `None` at the end of the input.

        The event loop goes on meanwhile. If the call is cancelled, nothing was taken.
        """
        while b"\n" not in self._got and not self._ended and len(self._got) < MAX_LINE_BYTES:
            await self._readable()
            self._read()
        if not self._got:
            return None
        end = self._got.find(b"\n", 0, MAX_LINE_BYTES)
        taken = bytes(self._got[: end + 1] if end >= 0 else self._got[:MAX_LINE_BYTES])
        del self._got[: len(taken)]
        return taken.decode("utf-8", "replace").rstrip("\r\n")

    def _read(self) -> None:
        try:
            chunk = os.read(self._fd, _CHUNK_BYTES)
        except BlockingIOError:  # another reader was faster
            return
        except OSError:  # the terminal is gone
            chunk = b""
        self._got += chunk
        self._ended = not chunk

    async def _readable(self) -> None:
        try:
            await trio.lowlevel.wait_readable(self._fd)
        except OSError as error:
            if error.errno != EPERM:
                raise
            await trio.lowlevel.checkpoint()  # epoll takes no regular files: those never block


class LineConsole:
    """A console that shows the tape with each prompt, and nothing in between."""

    step_seconds: Final = 0.0
    asks_anyway: Final = False

    def __init__(self, tape: Tape, fd: int | None = None, output: TextIO | None = None) -> None:
        self._tape = tape
        self._fd = sys.stdin.fileno() if fd is None else fd
        self._output = sys.stdout if output is None else output
        self._input = LineInput(self._fd)
        self._missed = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        if self._tape.heard:
            self._write(self._picture())

    async def ask(self, *, wanted: bool) -> str | None:  # noqa: ARG002 - it always is
        """Show the tape and wait for a line; see `flagfall.agents.human.player.Console`."""
        self._write(self._picture() + PROMPT)
        line = await self._input.line()
        if not os.isatty(self._fd):  # a terminal echoes what is typed; a transcript needs it, too
            self._write((line or "") + "\n")
        elif line is None:
            self._write("\n")
        return line

    def typed(self) -> str | None:
        """Return `None`: lines are read only after a prompt."""
        return None

    def refresh(self, *, skipping: int) -> None:
        """Do nothing: the tape is shown with the next prompt."""

    def _picture(self) -> str:
        missed, self._missed = self._tape.missed - self._missed, self._tape.missed
        turns = "turn" if missed == 1 else "turns"
        note = f"late: a space was played in {missed} {turns}\n" if missed else ""
        return note + picture(self._tape, self._columns())

    def _columns(self) -> int:
        try:
            return max(MIN_COLUMNS, os.get_terminal_size(self._output.fileno()).columns)
        except (OSError, ValueError):
            return DEFAULT_COLUMNS

    def _write(self, text: str) -> None:
        encoding = self._output.encoding or "utf-8"
        self._output.write(text.encode(encoding, "replace").decode(encoding))
        self._output.flush()


def picture(tape: Tape, columns: int) -> str:
    """Return the end of the tape as text: a rule, then teacher, learner and rewards, aligned by step."""
    room = columns - _NUMBERS_CHARS
    heard, said, marks = tape.newest(room)
    reward = f"{tape.reward:g}" if abs(tape.reward) < 1e6 else f"{tape.reward:.3g}"  # noqa: PLR2004 - six figures fit
    return (
        f"{'-' * columns}\n{heard:<{room}} {'reward:':>8}{reward:>8}\n"
        f"{said:<{room}} {'time:':>8}{tape.time:>8}\n{marks.rstrip()}\n"
    )
