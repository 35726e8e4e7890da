"""`java.util.Random`: the published 48-bit linear congruential generator, bit for bit, with a count of draws.

The original engine draws everything from one such generator, so seed and actions determine a play.
"""

from __future__ import annotations

from typing import Final

_MULTIPLIER: Final = 0x5DEECE66D
_INCREMENT: Final = 0xB
_MASK: Final = (1 << 48) - 1
_INT_BITS: Final = 31
_INT_SHIFT: Final = 48 - _INT_BITS
_INT_LIMIT: Final = 1 << _INT_BITS

_LEAPS: Final = 64
"""Draws that one step of `JavaRandom.take` can skip."""


def _leaps() -> list[tuple[int, int]]:
    """Return by number of draws the multiplier and the increment that make all of them in one step."""
    leaps = [(1, 0)]
    for _ in range(_LEAPS):
        multiplier, increment = leaps[-1]
        leaps.append((multiplier * _MULTIPLIER & _MASK, (increment * _MULTIPLIER + _INCREMENT) & _MASK))
    return leaps


_LEAP: Final = _leaps()


class JavaRandom:
    """A generator.

    Attributes:
        state: its 48 bits.
    """

    __slots__ = ("draws", "state")

    def __init__(self, seed: int) -> None:
        self.state: int = (seed ^ _MULTIPLIER) & _MASK
        self.draws: int = 0

    def copy(self) -> JavaRandom:
        """Return an independent generator in the same state."""
        new = JavaRandom(0)
        new.state = self.state
        new.draws = self.draws
        return new

    def __deepcopy__(self, _memo: dict[int, object]) -> JavaRandom:
        return self.copy()

    def next_int(self, bound: int) -> int:
        """Return an integer from `range(bound)`: one draw, rarely more unless `bound` is a power of two.

        Args:
            bound: at least 1.
        """
        self.draws += 1
        self.state = state = (self.state * _MULTIPLIER + _INCREMENT) & _MASK
        bits = state >> _INT_SHIFT
        if bound & (bound - 1) == 0:
            return (bound * bits) >> _INT_BITS
        value = bits % bound
        if bits - value + (bound - 1) >= _INT_LIMIT:
            return self.next_int(bound)
        return value

    def take(self, count: int) -> int:
        """Make some draws at the cost of one, and return the 48 bits of the last.

        Its highest n bits are what `next_int(1 << n)` returns for this draw.

        Args:
            count: number of draws, at least 1.
        """
        self.draws += count
        state = self.state
        while count > _LEAPS:
            multiplier, increment = _LEAP[_LEAPS]
            state = (state * multiplier + increment) & _MASK
            count -= _LEAPS
        multiplier, increment = _LEAP[count]
        self.state = state = (state * multiplier + increment) & _MASK
        return state

    def next_float(self) -> float:
        """Return a number in [0, 1) of 24 bits: one draw."""
        self.draws += 1
        self.state = state = (self.state * _MULTIPLIER + _INCREMENT) & _MASK
        return (state >> 24) / 0x1000000

    def next_double(self) -> float:
        """Return a number in [0, 1) of 53 bits: two draws."""
        self.draws += 2
        high = (self.state * _MULTIPLIER + _INCREMENT) & _MASK
        self.state = low = (high * _MULTIPLIER + _INCREMENT) & _MASK
        return ((high >> 22 << 27) + (low >> 21)) / (1 << 53)
