"""A plain terminal or a pipe for a human player: lines of text, a prompt, a typed line."""

from __future__ import annotations

__all__ = ["LineConsole", "LineInput", "picture"]

import os
import sys
from errno import EPERM
from typing import Final, Self, TextIO

import trio

from flagfall.agents.human.dialogue import Tape

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
    """A console that shows the tape with each prompt, and nothing in between.

    Args:
        tape: the dialogue to show.
        fd: descriptor where lines are typed; by default the standard input.
        output: by default the standard output.
    """

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
        note = (
            f"late: a space was played in {missed} {'turn' if missed == 1 else 'turns'}\n" if missed else ""
        )
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
    """Return the end of the tape as text: a rule, then teacher, learner and rewards, aligned by step.

    Args:
        tape: the dialogue.
        columns: width of the terminal, in characters.
    """
    room = columns - _NUMBERS_CHARS
    heard, said, marks = tape.newest(room)
    lines = [
        "-" * columns,
        f"{heard:<{room}} {'reward:':>8}{_number(tape.reward):>8}",
        f"{said:<{room}} {'time:':>8}{tape.time:>8}",
        marks.rstrip(),
    ]
    return "\n".join(lines) + "\n"


def _number(reward: float) -> str:
    return f"{reward:g}" if abs(reward) < 1e6 else f"{reward:.3g}"  # noqa: PLR2004 - six figures fit
