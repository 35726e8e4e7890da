"""Blocks: the results of some thousand stored matches in a compact form, from which standings are read.

A block has everything that standings need of its matches. The rows of the database remain the record: a
change of a stored row drops all blocks (triggers in `flagfall.tournament.database`), and then the rows are
read. Only matches of formats whose whole schedule is known beforehand are put into blocks: their place in the
schedule follows from their ids.
"""

from __future__ import annotations

__all__ = ["BLOCK_MATCHES", "Block", "BlockError", "decode_block", "encode_block"]

import re
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from flagfall.tournament.columns import MATCH_COUNTERS, NOT_DISQUALIFIED, SEAT_COUNTERS, Array
from flagfall.tournament.records import TIME_LOSSES, MatchRecord
from flagfall.tournament.stats.time_histogram import MAX_BUCKET, MAX_TURNS

BLOCK_MATCHES: Final = 4096
"""Matches of a block: few enough that those not yet in one are read quickly."""

MATCH_ROW: Final = np.dtype(
    [("round", "<i4"), ("place", "<i4"), ("game", "<i4"), ("seats", "<i4")]
    + [(name, "<f8" if name == "game_score" else "<i8") for name in MATCH_COUNTERS]
)
SEAT_ROW: Final = np.dtype(
    [("agent", "<i4"), ("fell", "<i4"), ("score", "<f8"), ("reward", "<f8")]
    + [(name, "<i8") for name in SEAT_COUNTERS]
)
_ID: Final = re.compile(r"r(0|[1-9][0-9]{0,8})-m(0|[1-9][0-9]{0,8})-g(0|[1-9][0-9]{0,8})", re.ASCII)


class BlockError(Exception):
    """A block is damaged, or matches have no place in one."""


class Block(msgspec.Struct, frozen=True, array_like=True):
    """Results of stored matches.

    Attributes:
        agents: names of agents.
        falls: reasons of disqualifications.
        match_data: an array of `MATCH_ROW`, in the order in which they were stored.
        seat_data: an array of `SEAT_ROW`; `agent` and `fell` are places in `agents` and `falls`.
        thinking_data: see `flagfall.tournament.columns.ResultColumns.thinking`.
    """

    agents: tuple[str, ...]
    falls: tuple[str, ...]
    match_data: bytes
    seat_data: bytes
    thinking_data: bytes

    def matches(self) -> Array:
        """Return the matches."""
        return np.frombuffer(self.match_data, MATCH_ROW)

    def seats(self) -> Array:
        """Return the seats of all matches."""
        return np.frombuffer(self.seat_data, SEAT_ROW)

    def thinking(self) -> Array:
        """Return the distribution of turn times."""
        return np.frombuffer(self.thinking_data, "<i8").reshape(-1, 4)


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Block)


def encode_block(records: Sequence[MatchRecord]) -> bytes:
    """Return a block of matches.

    Args:
        records: matches that count.

    Raises:
        BlockError: a match has no place in a block.
    """
    agents: dict[str, int] = {}
    falls: dict[str, int] = {}
    thinking: dict[tuple[int, int, int], int] = {}
    matches, seats = [], []
    for record in records:
        found = _ID.fullmatch(record.id)
        if found is None:
            raise BlockError(f"{record.id} has no place in a fixed schedule")
        counters = (getattr(record, name) for name in MATCH_COUNTERS)
        matches.append((*map(int, found.groups()), len(record.seats), *counters))
        lost = int(any(seat.fell in TIME_LOSSES for seat in record.seats))
        for seat in record.seats:
            agent = agents.setdefault(seat.agent, len(agents))
            fell = NOT_DISQUALIFIED if seat.fell is None else falls.setdefault(seat.fell, len(falls))
            seats.append(
                (agent, fell, seat.score, seat.reward, *(getattr(seat, name) for name in SEAT_COUNTERS))
            )
            for bucket, count in seat.thinking:
                key = agent, lost, bucket
                thinking[key] = thinking.get(key, 0) + count
    try:
        rows = np.array([(*key, count) for key, count in thinking.items()], dtype="<i8")
        return _ENCODER.encode(
            Block(
                tuple(agents),
                tuple(falls),
                np.array(matches, dtype=MATCH_ROW).tobytes(),
                np.array(seats, dtype=SEAT_ROW).tobytes(),
                rows.tobytes(),
            )
        )
    except OverflowError as error:
        raise BlockError(f"a number is too large: {error}") from error


def decode_block(data: object) -> Block:
    """Return a stored block.

    Args:
        data: from the database.

    Raises:
        BlockError: it is damaged.
    """
    try:
        block = _DECODER.decode(data)  # type: ignore[arg-type]  # anything may be in a damaged database
        is_possible = _is_possible(block)
    except (TypeError, ValueError, RecursionError, msgspec.DecodeError) as error:
        raise BlockError(str(error)) from error
    if not is_possible:
        raise BlockError("its rows are impossible")
    return block


def _is_possible(block: Block) -> bool:
    """Return whether all codes, counts and numbers of the rows are within their bounds."""
    matches, seats, thinking = block.matches(), block.seats(), block.thinking()
    counts = [matches[name] for name in MATCH_ROW.names or () if name != "game_score"]
    counts += [seats[name] for name in SEAT_COUNTERS]
    return (
        all((values >= 0).all() for values in counts)
        and bool(matches["seats"].sum() == len(seats))
        and _within(seats["agent"], 0, len(block.agents))
        and _within(seats["fell"], NOT_DISQUALIFIED, len(block.falls))
        and _within(thinking[:, 0], 0, len(block.agents))
        and _within(thinking[:, 1], 0, 2)
        and _within(thinking[:, 2], 0, MAX_BUCKET + 1)
        and _within(thinking[:, 3], 0, BLOCK_MATCHES * MAX_TURNS + 1)
        and not any(
            np.isnan(values).any() for values in (matches["game_score"], seats["score"], seats["reward"])
        )
    )


def _within(values: Array, low: int, end: int) -> bool:
    return bool(((values >= low) & (values < end)).all())
