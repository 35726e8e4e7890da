"""`java.util.Random`: the published 48-bit linear congruential generator, bit for bit, with a count of draws.

The original engine draws everything from one such generator, so a play is known by its seed and its actions.
"""

from __future__ import annotations

__all__ = ["JavaRandom"]

from typing import Final

_MULTIPLIER: Final = 0x5DEECE66D
_INCREMENT: Final = 0xB
_MASK: Final = (1 << 48) - 1
_INT_BITS: Final = 31
_INT_SHIFT: Final = 48 - _INT_BITS
_INT_LIMIT: Final = 1 << _INT_BITS


class JavaRandom:
    """The generator.

    Attributes:
        state: the 48 bits.
        draws: how often bits were taken so far; each method says how often it takes some.
    """

    __slots__ = ("draws", "state")

    def __init__(self, seed: int) -> None:
        self.state = (seed ^ _MULTIPLIER) & _MASK
        self.draws = 0

    def fork(self) -> JavaRandom:
        """A generator that goes on from here by itself."""
        copy = JavaRandom.__new__(JavaRandom)
        copy.state = self.state
        copy.draws = self.draws
        return copy

    def next_int(self, bound: int) -> int:
        """A whole number in `range(bound)`; one draw, and rarely more where `bound` is no power of two."""
        self.draws += 1
        self.state = state = (self.state * _MULTIPLIER + _INCREMENT) & _MASK
        bits = state >> _INT_SHIFT
        if bound & (bound - 1) == 0:
            return (bound * bits) >> _INT_BITS
        value = bits % bound
        if bits - value + (bound - 1) >= _INT_LIMIT:
            return self.next_int(bound)
        return value

    def next_float(self) -> float:
        """A number in [0, 1) with 24 bits; one draw."""
        self.draws += 1
        self.state = state = (self.state * _MULTIPLIER + _INCREMENT) & _MASK
        return (state >> 24) / 0x1000000

    def next_double(self) -> float:
        """A number in [0, 1) with 53 bits; two draws."""
        self.draws += 2
        high = (self.state * _MULTIPLIER + _INCREMENT) & _MASK
        self.state = low = (high * _MULTIPLIER + _INCREMENT) & _MASK
        return ((high >> 22 << 27) + (low >> 21)) / (1 << 53)
