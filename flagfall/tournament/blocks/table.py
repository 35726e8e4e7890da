"""Blocks in the database of a tournament; see `flagfall.tournament.blocks.encoding`."""

from __future__ import annotations

__all__ = ["BlockWriter", "read_blocks"]

import sqlite3
from collections.abc import Callable, Iterable

from flagfall.tournament.blocks.encoding import BLOCK_MATCHES, Block, BlockError, decode_block, encode_block
from flagfall.tournament.records import MatchRecord

Numbered = Iterable[tuple[int, MatchRecord]]
"""Stored records with their numbers in the database."""


class BlockWriter:
    """Puts stored matches into blocks, as soon as enough of them are in none.

    If a match has no place in a block, no further blocks are written: the schedule of this tournament depends
    on its results.

    Args:
        database: the database.
        stored: returns the records after a number, in order.
    """

    def __init__(self, database: sqlite3.Connection, stored: Callable[[int], Numbered]) -> None:
        self._database = database
        self._stored = stored
        self._waiting: list[tuple[int, MatchRecord]] | None = None
        self._off = False

    def add(self, records: Numbered) -> Callable[[], None]:
        """Add records inside of a transaction; return a function to call when it is committed.

        Args:
            records: records that the transaction stores.
        """
        if self._off:
            return lambda: None
        if self._waiting is None:  # the first records of a run
            (last,) = self._database.execute("SELECT coalesce(max(last), 0) FROM blocks").fetchone()
            waiting: list[tuple[int, MatchRecord]] = []
            records = self._stored(last)
        else:
            waiting = list(self._waiting)
        try:
            for number, record in records:
                if record.status == "played":
                    waiting.append((number, record))
                if len(waiting) == BLOCK_MATCHES:
                    data = encode_block([one for _, one in waiting])
                    self._database.execute("INSERT INTO blocks VALUES (?, ?)", (number, data))
                    waiting = []
        except BlockError:
            self._off = True
            waiting = []

        def committed() -> None:
            self._waiting = waiting

        return committed


def read_blocks(database: sqlite3.Connection, stored: Callable[[int], Numbered]) -> list[Block] | None:
    """Return all matches that count in blocks; `None` if there are no blocks, or some are damaged.

    Args:
        database: the database.
        stored: returns the records after a number, in order.
    """
    rows = database.execute("SELECT last, data FROM blocks ORDER BY last").fetchall()
    if not rows:
        return None
    try:
        blocks = [decode_block(data) for _, data in rows]
        rest = [record for _, record in stored(rows[-1][0]) if record.status == "played"]
        blocks.append(decode_block(encode_block(rest)))
    except BlockError:
        return None
    (count,) = database.execute("SELECT count(*) FROM matches WHERE status = 'played'").fetchone()
    return blocks if sum(len(block.matches()) for block in blocks) == count else None
