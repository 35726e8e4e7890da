"""Texts and numbers of recorded values, bounded in length and in the work that they take. Pure."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

import numpy as np

from flagfall.kernel.descriptions import MAX_ELEMENTS, describe_value
from flagfall.recording.journal.format import Digest, encode, writable

MAX_TEXT_CHARS: Final = 2_000
"""Longest text of an observation or an action; a page shows about a screen of it."""

MAX_NAME_CHARS: Final = 200
"""Longest name of a task, an agent or a player."""

MAX_ENTRIES: Final = 32
"""The most metrics of a task, rewards of players, and families of rules."""

_MAX_NS: Final = 2**63 - 1

_MAX_DEPTH: Final = 20
"""Levels of a value that are shown; a journal may nest thousands."""

_MAX_SAFE: Final = 2**53
"""Greatest whole number that JavaScript has exactly."""

_MAX_DIGITS: Final = 4_000
"""Python refuses to write whole numbers of more than 4,300 digits."""


def shortened(text: str, most: int = MAX_TEXT_CHARS) -> str:
    """Return a text of bounded length, with the length of the whole in bytes if it was longer.

    Lone surrogates become escapes, since UTF-8 cannot encode them.
    """
    if len(text) <= most:
        return writable(text)
    return f"{writable(text[:most])}… ({len(text.encode('utf-8', 'backslashreplace')):,} bytes)"


def exact(number: int) -> int | str:
    """Return a whole number as JavaScript can show it: as text if it is too large for its numbers."""
    if -_MAX_SAFE <= number <= _MAX_SAFE:
        return number
    if number.bit_length() > _MAX_DIGITS * 3:
        return f"a number of {number.bit_length():,} bits"
    return str(number)


def text_of(value: Any, most: int = MAX_TEXT_CHARS) -> str:
    """Return the text that stands for an observation or an action, as a journal has it.

    It is that of `describe_value`, by which agents and people read values too, of bounded length.
    """
    if type(value) is int:
        return shortened(str(exact(value)), most)
    if isinstance(value, str):
        return shortened(value, most)
    if isinstance(value, Digest):
        return f"digest {shortened(value.digest, 8)}, {exact(value.bytes):,} bytes"
    try:
        if not isinstance(value, dict | list | tuple | float | bool | np.ndarray | None):
            return _beginning(encode(value), most)  # an object of a task, as a journal has it
        return shortened(describe_value(_Plain(most).of(value, 0)), most)
    except (ValueError, TypeError, RecursionError) as error:
        return f"a value that cannot be shown: {shortened(str(error), MAX_NAME_CHARS)}"


def _beginning(text: bytes, most: int) -> str:
    """Return the beginning of a text in UTF-8, with its length if it is longer."""
    if len(text) <= most:
        return text.decode()
    return f"{text[:most].decode(errors='ignore')}… ({len(text):,} bytes)"


class _Plain:
    """Converts one value into plain types and arrays, without most of what is beyond the longest text."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most

    def of(self, value: Any, depth: int) -> Any:  # noqa: PLR0911 - a row for each type
        """Return a value in plain types and arrays; `…` for what is too deep or too much."""
        self._left -= 1
        if self._left < 0 or depth >= _MAX_DEPTH:
            return "…"
        if isinstance(value, str):
            return shortened(value, self._most)
        if isinstance(value, bool | None):
            return value
        if isinstance(value, int):
            return exact(value)
        if isinstance(value, float):
            return value
        if isinstance(value, np.ndarray):
            self._left -= value.size
            return value if value.dtype.kind in "biuf" else f"array {value.dtype} {value.shape}"
        if isinstance(value, dict):
            kept = islice(value.items(), max(0, self._left) + 1)
            return {shortened(str(key), MAX_NAME_CHARS): self.of(part, depth + 1) for key, part in kept}
        if isinstance(value, list | tuple):
            return [self.of(_listed(part), depth + 1) for part in value[: max(0, self._left) + 1]]
        return _beginning(encode(value), self._most)


def _listed(value: Any) -> Any:
    """Return an array within a list as its text has it: as lists, or its type and shape."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
        return value
    return value.tolist() if value.size <= MAX_ELEMENTS else describe_value(value)


def number(value: Any) -> float | int:
    """Return a number as every reader of JSON can take it: finite, and not too long."""
    if isinstance(value, int) and abs(value) <= _MAX_NS:
        return value
    try:
        near = float(value)
    except OverflowError:
        return sys.float_info.max if value > 0 else -sys.float_info.max
    if math.isfinite(near):
        return near
    return 0.0 if math.isnan(near) else math.copysign(sys.float_info.max, near)


def reward_of(reward: Any) -> Any:
    """Return a reward, or the rewards of some players by name."""
    if not isinstance(reward, dict):
        return number(reward)
    return {
        shortened(player, MAX_NAME_CHARS): number(amount)
        for player, amount in list(reward.items())[:MAX_ENTRIES]
    }


def bounded_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first values of a mapping as plain numbers, truth values and short texts."""
    return {
        shortened(str(name), MAX_NAME_CHARS): _brief(value)
        for name, value in islice(values.items(), MAX_ENTRIES)
    }


def _brief(value: Any) -> Any:
    if isinstance(value, bool | None):
        return value
    if isinstance(value, int):
        return exact(value)
    if isinstance(value, float):
        return number(value)
    return text_of(value, MAX_NAME_CHARS)
