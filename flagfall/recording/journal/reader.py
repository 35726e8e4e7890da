"""Reader of journals: batch by batch, in constant memory, with checked seals."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, TypeAlias

import attrs

from flagfall.errors import UsageError
from flagfall.events import SCHEMA, Event, MatchStarted, TurnPlayed
from flagfall.kernel.channels.codecs import CodecError
from flagfall.recording.journal.file import open_lines
from flagfall.recording.journal.format import (
    BATCH_BYTES,
    BATCH_EVENTS,
    MAX_LINE_BYTES,
    SEAL_PREFIX,
    SHORT_DIGITS,
    decode_events,
    schema_of,
    seal_line,
)

_MAX_BATCH_BYTES: Final = 16 * BATCH_BYTES
"""The longest batch before its last line. Even 64 turns of schema 1 with the longest whole numbers that
Python reads (4300 digits) are shorter."""

_MAX_REASON_CHARS: Final = 500
"""A decoder repeats the value that it refuses, which may have any length."""

SealState: TypeAlias = Literal["sealed", "last", "damaged"]


class JournalError(UsageError):
    """A journal cannot be read, or was changed after it was written.

    Attributes:
        line: the number of the line where that shows, from 1.
        turn: the last turn before that line; `None` if there is none.
    """

    def __init__(self, path: Path, line: int, turn: int | None, what: str) -> None:
        after = "" if turn is None else f" (after turn {turn})"
        what = what if len(what) <= _MAX_REASON_CHARS else f"{what[:_MAX_REASON_CHARS]}..."
        super().__init__(f"{path}: line {line}{after}: {what}")
        self.path = path
        self.line = line
        self.turn = turn
        self.what = what


class JournalTruncated(JournalError):
    """A journal has no end, because its writer was killed or is still writing; the lines it has are valid."""


@attrs.frozen
class Batch:
    """Lines of a journal up to a seal, and the state of that seal.

    Attributes:
        line: the number of the first line in the file, from 1.
        lines: the lines with their newlines, each an event or many turns.
        state: `sealed`; `last` for the final seal; `damaged` if the seal is wrong or missing; `torn` if the
            file ends within the batch. A batch of the last three states is the last one.
    """

    line: int
    lines: tuple[bytes, ...]
    state: Literal["sealed", "last", "damaged", "torn"]
    what: str = ""


def batches(path: Path) -> Generator[Batch]:
    """Yield the batches of a journal; the last one is not `sealed`. Raises `JournalError` if unreadable."""
    try:
        with open_lines(path, MAX_LINE_BYTES) as lines:
            yield from split_batches(lines)
    except OSError as error:
        raise JournalError(path, 1, None, f"cannot be read: {error.strerror or error}") from error


def split_batches(lines: Iterator[bytes]) -> Iterator[Batch]:
    """Yield the batches of a journal, given line by line; the last one is not `sealed`."""
    digest = sha256()
    held: list[bytes] = []
    number, held_bytes = 1, 0
    try:
        for line in lines:
            if not line.endswith(b"\n"):
                yield Batch(number, tuple(held), "torn", "it ends in the middle of a line")
                return
            due = len(held) == BATCH_EVENTS or held_bytes > _MAX_BATCH_BYTES
            if not due and not line.startswith(SEAL_PREFIX):
                held.append(line)
                held_bytes += len(line)
                continue
            for event in held:
                digest.update(event)
            batch = _sealed(number, held, line, digest.hexdigest())
            if batch.state == "last" and next(lines, None) is not None:
                batch = attrs.evolve(batch, state="damaged", what="there is data after the last seal")
            yield batch
            if batch.state != "sealed":
                return
            digest.update(line)
            number += len(held) + 1
            held, held_bytes = [], 0
    except EOFError as error:
        yield Batch(number, tuple(held), "damaged", str(error))
    else:
        yield Batch(number, tuple(held), "torn", "it ends without its last seal")


def state_of_seal(line: bytes, lines: int, digits: str) -> SealState:
    """Return whether a line is the seal that is due: `sealed`, `last` for the final seal, or `damaged`.

    Args:
        digits: the hash of all bytes of the file before this line, as 64 hexadecimal digits.
    """
    if line == seal_line(lines, digits[:SHORT_DIGITS]):
        return "sealed"
    return "last" if line == seal_line(lines, digits) else "damaged"


def _sealed(number: int, held: list[bytes], line: bytes, digits: str) -> Batch:
    state = state_of_seal(line, len(held), digits)
    damaged = f"the seal in line {number + len(held)} does not match the lines it seals"
    return Batch(number, tuple(held), state, damaged if state == "damaged" else "")


def check_schema(path: Path, line: bytes) -> int:
    """Return the schema of a journal.

    Raises:
        JournalError: the schema is newer than `SCHEMA`, or the line is not the first one of a journal.
    """
    try:
        schema = schema_of(line)
    except CodecError as error:
        raise JournalError(path, 1, None, f"this is not a journal: {error}") from None
    if schema > SCHEMA:
        what = f"written by a newer flagfall: its schema is {schema}, and this version reads up to {SCHEMA}"
        raise JournalError(path, 1, None, what)
    return schema


def read_journal(path: str | os.PathLike[str]) -> Iterator[Event]:
    """Yield the events of a journal, plain or compressed, in constant memory.

    The seal of a batch is checked before its events are yielded. For a journal without an end (its writer
    was killed), all events that can be read are yielded before `JournalTruncated` is raised.

    Args:
        path: the file; compressed if its name ends in `.zst`.

    Raises:
        JournalTruncated: the journal has no end.
        JournalError: it cannot be read, was written by a newer flagfall, or was changed after it was written.
    """
    for _batch, events in read_batches(path):
        yield from events


def read_batches(path: str | os.PathLike[str]) -> Iterator[tuple[Batch, Iterator[Event]]]:
    """Yield the batches of a journal with their events; these iterators raise as `read_journal` does, too."""
    path = Path(path)
    turn: int | None = None
    schema = SCHEMA

    def events_of(batch: Batch) -> Iterator[Event]:
        nonlocal turn
        for line, text in enumerate(batch.lines, batch.line):
            try:
                events = decode_events(text, schema)
            except CodecError as error:
                raise JournalError(path, line, turn, f"not an event: {error}") from None
            for event in events:
                if (type(event) is MatchStarted) is not (line == 1):
                    raise JournalError(path, line, turn, "a match begins in line 1 and nowhere else")
                turn = event.turn if type(event) is TurnPlayed else turn
                yield event

    with closing(batches(path)) as parts:
        for batch in parts:
            if batch.line == 1 and (batch.lines or batch.state != "damaged"):
                schema = check_schema(path, batch.lines[0] if batch.lines else b"")
            if batch.state == "damaged":
                raise JournalError(path, batch.line, turn, f"{batch.what} (a batch begins here)")
            yield batch, events_of(batch)
            if batch.state == "torn":
                raise JournalTruncated(path, batch.line + len(batch.lines), turn, batch.what)
