"""Index of a journal, made in one pass that can be continued when the file has grown.

It is kept in memory alone: a pass over 1,000,000 turns of bytes takes less than a second, and an index file
beside a journal from elsewhere would be one more input to distrust.
"""

from __future__ import annotations

import time
from hashlib import sha256
from stat import S_ISREG
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec

from flagfall.events import ON_TIME, Amount, MatchStarted, Reward, TurnPlayed, Whole
from flagfall.kernel.channels.codecs import CodecError
from flagfall.recording.journal.file import is_compressed, open_lines
from flagfall.recording.journal.format import (
    MAX_LINE_BYTES,
    MAX_LINE_TURNS,
    SEAL_PREFIX,
    Fell,
    decode_events,
    event_decoder,
)
from flagfall.recording.journal.reader import JournalError, check_schema, state_of_seal
from flagfall.viewer.replay.tally import Damage, Tally

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

JournalState: TypeAlias = Literal["complete", "growing", "truncated", "damaged"]

PIECE_BYTES: Final = 512 * 1024
"""Text that is read between two looks at the index by others; some 10 ms of work."""

GROWING_SECONDS: Final = 10.0
"""A journal without an end was written to this recently, so it is taken to be growing."""

MAX_CHUNKS: Final = 20_000
"""The most chunks that are indexed, 20,000,000 turns of one seat."""

MAX_LINES_BETWEEN: Final = 100_000
MAX_BYTES_BETWEEN: Final = 256 * 1024 * 1024
"""Most lines and text from one turn to the next, four times the longest line: they belong to one chunk, and a
compressed file of a few kilobytes can hold endless ones."""


class _Turn(msgspec.Struct, tag_field="event", tag="turn", gc=False):
    """A turn, without its observation and action."""

    at_ns: Whole
    turn: Whole
    reward: Reward
    spent_ns: Whole = 0
    seat: Whole = 0
    verdict: str = ON_TIME
    credit_ns: Whole = 0


class _Turns(msgspec.Struct, tag_field="event", tag="turns", gc=False):
    """Turns in columns, without observations and actions."""

    turn: Whole
    at_ns: list[Whole]
    reward: list[Amount]
    spent_ns: list[Whole]


_decode: Any = event_decoder(_Turn, _Turns, Fell)


class Index:
    """The index of one journal file; `offset` is the length of the text that was read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset: int = 0
        self._line = 1
        self._hash = sha256()
        self._unsealed = 0
        self._unsealed_from = 1
        self._sealed_to_end = False
        self._problem = ""
        self._is_broken = False
        self._looked = self._look()
        self._reading: Iterator[None] | None = None
        line = self._first_line()
        self.schema: int = check_schema(path, line)
        try:
            (header,) = decode_events(line, self.schema)
        except (CodecError, ValueError) as error:
            raise JournalError(path, 1, None, f"this is not a journal: {error}") from None
        if not isinstance(header, MatchStarted):
            raise JournalError(path, 1, None, "this is not a journal: it does not begin with a match")
        self.header = header
        self.tally: Tally = Tally(header)
        self._reading = self._read()

    def _look(self) -> tuple[int, int, int, float]:
        try:
            seen = self.path.stat()
        except (OSError, ValueError) as error:
            raise JournalError(self.path, 1, None, f"cannot be read: {error}") from error
        if not S_ISREG(seen.st_mode):
            raise JournalError(self.path, 1, None, "cannot be read: it is not a regular file")
        return seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime

    def _first_line(self) -> bytes:
        try:
            with open_lines(self.path, MAX_LINE_BYTES) as lines:
                line = next(lines, b"")
        except (OSError, EOFError) as error:
            raise JournalError(self.path, 1, None, f"cannot be read: {error}") from error
        if not line.endswith(b"\n"):
            what = "it ends within its first line" if line else "it is empty"
            raise JournalError(self.path, 1, None, f"this is not a journal: {what}")
        return line

    def advance(self) -> bool:
        """Read the next piece of the file; return false where there is no more at present."""
        if self._reading is None:
            return False
        try:
            next(self._reading)
        except StopIteration:
            self._reading = None
        return self._reading is not None

    @property
    def is_reading(self) -> bool:
        """Return whether `advance` has more to read."""
        return self._reading is not None

    def refresh(self) -> bool:
        """Look at the file again: return false if it was replaced, so that a new index is needed.

        If the file has grown, `advance` continues behind what was read; if it is gone, `JournalError`.
        """
        if self._reading is not None:
            return True
        before, self._looked = self._looked, self._look()
        if self._looked == before:
            return True
        is_replaced = self._looked[:2] != before[:2] or self._looked[2] < before[2]
        if is_replaced or self._sealed_to_end or self._problem or is_compressed(self.path):
            return False
        self._reading = self._read()
        return True

    def _read(self) -> Iterator[None]:
        """Take lines up to the end of the file, with a pause after each `PIECE_BYTES`."""
        due = self.offset + PIECE_BYTES
        try:
            with open_lines(self.path, MAX_LINE_BYTES, self.offset) as lines:
                for line in lines:
                    if not line.endswith(b"\n"):
                        if len(line) == MAX_LINE_BYTES:
                            self._break(f"line {self._line} is longer than {MAX_LINE_BYTES:,} bytes")
                        return  # its end may be written later
                    self._take_line(line)
                    if self._is_broken:
                        return
                    if self.offset >= due:
                        due = self.offset + PIECE_BYTES
                        yield
        except EOFError as error:
            self._problem = self._problem or str(error)
        except OSError as error:
            self._problem = self._problem or f"the file cannot be read on: {error.strerror or error}"

    def _take_line(self, line: bytes) -> None:
        if self._sealed_to_end:
            self._sealed_to_end = False
            self._problem = f"there is data after the last seal, from line {self._line} on"
        is_turn = False
        if line.startswith(SEAL_PREFIX):
            self._take_seal(line)
        else:
            self._unsealed += 1
            is_turn = self._line > 1 and self._take_event_line(line)
        if self._is_broken:
            return
        if not self._problem:
            self._hash.update(line)
        self._line += 1
        self.offset += len(line)
        if is_turn:
            self.tally.turns_end = (self.offset, self._line)
        else:
            offset, after = self.tally.turns_end
            if self._line - after > MAX_LINES_BETWEEN or self.offset - offset > MAX_BYTES_BETWEEN:
                self._break(f"no turn follows line {after - 1} for too long; later lines are not shown")

    def _take_seal(self, line: bytes) -> None:
        if not self._problem:
            state = state_of_seal(line, self._unsealed, self._hash.hexdigest())
            self._sealed_to_end = state == "last"
            if state == "damaged":
                self._problem = (
                    f"the seal in line {self._line} is wrong: lines {self._unsealed_from} to {self._line}"
                    " are not as they were written, and nothing after them is checked"
                )
        self._unsealed, self._unsealed_from = 0, self._line + 1

    def _take_event_line(self, line: bytes) -> bool:
        """Take a line that is no seal; return whether it holds turns."""
        tally = self.tally
        event: Any = None
        try:
            event = _decode(line)
            if isinstance(event, _Turns):
                self._note_first(line)
                tally.take_turns(event.turn, *_columns(event))
            elif isinstance(event, _Turn):
                self._note_first(line)
                verdict = "disqualified" if event.verdict == "fallen" else event.verdict
                tally.take_turn(
                    *(event.turn, event.seat, event.at_ns, event.reward),
                    *(event.spent_ns, verdict, event.credit_ns),
                )
            else:
                tally.take_event(event)
        except (CodecError, Damage, OverflowError) as error:
            self._break(f"line {self._line} is no event of this match ({error})")
        if len(tally.chunks) > MAX_CHUNKS:
            tally.chunks.pop()
            self._break(f"only its first {tally.turns:,} turns are shown")
        return isinstance(event, _Turn | _Turns)

    def _note_first(self, line: bytes) -> None:
        """Note once what the turns of the match consist of."""
        if self.tally.numbers is None:
            (first, *_) = decode_events(line, self.schema)
            if isinstance(first, TurnPlayed):
                is_number = type(first.observation) is int and type(first.action) in {int, NoneType}
                self.tally.numbers = is_number and len(self.header.agents) == 1

    def _break(self, problem: str) -> None:
        """Read no further than the line before this one."""
        self._problem = f"{self._problem}; {problem}" if self._problem else problem
        self._is_broken = True

    def state(self) -> tuple[JournalState, str]:
        """Return the state of the journal, and one line that explains it."""
        if self._reading is not None:
            part = min(1.0, self.offset / max(1, self._looked[2]))
            share = "" if is_compressed(self.path) else f": {part:.0%} so far"
            return "growing", f"the journal is being read{share}"
        if self._problem:
            return "damaged", self._problem
        if self._sealed_to_end:
            return "complete", ""
        if time.time() - self._looked[3] < GROWING_SECONDS:
            return "growing", "the match is being played"
        return "truncated", "it ends without its last seal: its writer was killed, or has paused"

    def chunk_lines(self, number: int) -> Iterator[bytes]:
        """Yield the lines of one of `tally.chunks`, without seals."""
        chunks = self.tally.chunks
        end = chunks[number + 1].offset if number + 1 < len(chunks) else self.offset
        offset = chunks[number].offset
        with open_lines(self.path, MAX_LINE_BYTES, offset) as lines:
            for line in lines:
                offset += len(line)
                if offset > end:
                    return
                if not line.startswith(SEAL_PREFIX):
                    yield line


def _columns(turns: _Turns) -> tuple[list[int], list[Any], list[int]]:
    columns = (turns.at_ns, turns.reward, turns.spent_ns)
    if not 0 < len(turns.at_ns) <= MAX_LINE_TURNS or len({len(column) for column in columns}) > 1:
        raise Damage("the columns of these turns differ in length")
    return columns
