"""Journals for tests of replays: written line by line, with valid seals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from flagfall.events import (
    ON_TIME,
    MatchEnded,
    MatchStarted,
    SeatReady,
    TaskEnded,
    TaskStarted,
    TurnPlayed,
    TurnsPlayed,
    Verdict,
)
from flagfall.recording.journal.format import Sealer, encode

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
OLD_JOURNALS = sorted([*FIXTURES.glob("schema1/*.jsonl*"), *FIXTURES.glob("schema2/*.jsonl*")])

LINES_A_BATCH = 200


def header(seats: int = 1, time_control: str = "act=40ms/1s", **fields: Any) -> MatchStarted:
    """Return the header of a match of byte tasks."""
    return MatchStarted(
        **{
            "at_ns": 0,
            "schema": 3,
            "flagfall": "0.1.0",
            "tasks": ["micro1"],
            "scheduler": "sequential",
            "agents": [f"agent {number}" for number in range(seats)],
            "seed": 1,
            "time_control": time_control,
            "clock": "wall",
            **fields,
        }
    )


def sealed(lines: Iterable[bytes], *, whole: bool = True) -> bytes:
    """Return the text of a journal of these lines, without their newlines; it may lack its end."""
    sealer = Sealer()
    held = [line + b"\n" for line in lines]
    text = b""
    batches = [held[at : at + LINES_A_BATCH] for at in range(0, len(held), LINES_A_BATCH)]
    for number, batch in enumerate(batches):
        joined = b"".join(batch)
        text += joined + sealer.seal(joined, len(batch), last=whole and number == len(batches) - 1)
    return text


def bytes_match(turns: int, *, first: int = 0, began: MatchStarted | None = None) -> Iterator[Any]:
    """Yield the events of a match of one seat, with plain turns in columns; every 100th turn is late."""
    yield began or header()
    yield SeatReady(10, 0, 10, "task")
    yield TaskStarted(20, "micro1", 0, 5)
    at_ns = 1000
    for turn in range(first, first + turns, 100):
        count = min(100, first + turns - turn)
        yield TurnPlayed(at_ns, turn, 65 + turn % 7, 0, 32, spent_ns=50_000_000, verdict="late")
        if count > 1:
            columns = [65 + at % 7 for at in range(count - 1)], [1] * (count - 1), [32] * (count - 1)
            yield TurnsPlayed(turn + 1, [at_ns + 10, *[10] * (count - 2)], *columns, [turn + 1] * (count - 1))
        at_ns += 10 * count
    yield TaskEnded(at_ns, "micro1", 0, None, 0, turns, "cut")
    yield MatchEnded(at_ns, "steps", turns)


def two_seats(turns: int) -> Iterator[Any]:
    """Yield the events of a match of two seats."""
    yield header(2, "5ms/1s")
    yield TaskStarted(20, "pair", 0, 5)
    for turn in range(turns):
        for seat in range(2):
            verdict: Verdict = "late" if (turn + seat) % 50 == 0 else ON_TIME
            yield TurnPlayed(
                1000 * turn,
                turn,
                "x",
                {"a": 1, "b": 0.5},
                "y",
                6_000_000 if verdict == "late" else turn,
                seat,
                verdict,
            )
    yield TaskEnded(1000 * turns, "pair", 0, True, turns, turns)
    yield MatchEnded(1000 * turns, "finished", turns)


def write(path: Path, events: Iterable[Any], *, whole: bool = True) -> Path:
    """Write a journal of these events."""
    path.write_bytes(sealed(map(encode, events), whole=whole))
    return path
