"""What an agent in a process prints: its beginning and its end, in parts by the turn that was open."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from flagfall.events import Printed

MAX_PARTS: Final = 128
"""Parts that are kept of the beginning, and of the end; a journal takes 40 bytes for each beside the text."""

_decoder: Final = getincrementaldecoder("utf-8")


class Prints:
    """Collects what one agent prints in one match.

    Args:
        most: bytes that are kept of the beginning, and of the end.
        seat: the number of its seat.
        turn: returns the number of the turn that is open, or due.
    """

    def __init__(self, most: int, seat: int = 0, turn: Callable[[], int] = lambda: 0) -> None:
        self._most = most
        self._seat = seat
        self._turn = turn
        self._head: list[tuple[int, bytearray]] = []
        self._tail: deque[tuple[int, bytearray]] = deque()
        self._head_room = self._tail_room = most
        self._left_out = 0

    def add(self, chunk: bytes | bytearray) -> None:
        """Take what was read."""
        turn = self._turn()
        if len(self._head) == MAX_PARTS and self._head[-1][0] != turn:
            self._head_room = 0
        first, rest = chunk[: self._head_room], chunk[self._head_room :]
        last = rest[-self._most :]
        self._head_room -= len(first)
        self._tail_room -= len(last)
        self._left_out += len(rest) - len(last)
        for parts, text in ((self._head, first), (self._tail, last)):
            if text and parts and parts[-1][0] == turn:
                parts[-1][1].extend(text)
            elif text:
                parts.append((turn, bytearray(text)))
        while self._tail_room < 0 or len(self._tail) > MAX_PARTS:
            oldest = self._tail[0][1]
            gone = min(len(oldest), -self._tail_room) if self._tail_room < 0 else len(oldest)
            del oldest[:gone]
            if not oldest:
                self._tail.popleft()
            self._tail_room += gone
            self._left_out += gone

    def parts(self) -> Sequence[Printed]:
        """Return what was kept; bytes that are not UTF-8 are replaced."""
        found: list[Printed] = []
        decoder = _decoder("replace")
        kept = [*self._head, *self._tail]
        for place, (turn, text) in enumerate(kept, 1):
            gap = self._left_out if place == len(self._head) + 1 else 0
            if gap:
                decoder.reset()  # of a character whose rest is left out
            found.append(Printed(self._seat, turn, decoder.decode(text, final=place == len(kept)), gap))
        return found
