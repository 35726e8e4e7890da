"""Comparison of recorded values with those of a replay. Pure.

Values are compared as JSON: numbers digit by digit, arrays by type, shape and bytes. The floats that a task
computes may differ by `FLOAT_TOLERANCE`: sines, exponentials and matrix products have other last digits on
another processor, or with another version of a library, and a state that is computed from them drifts apart.
"""

from __future__ import annotations

__all__ = ["are_close", "are_same", "shown"]

from math import isclose
from typing import Any, Final

import msgspec

from flagfall.kernel.channels.arrays import restore_arrays
from flagfall.kernel.channels.codecs import CodecError
from flagfall.recording.journal.format import encode

FLOAT_TOLERANCE: Final = 1e-5
"""Most that a float may differ, as a share of its value where that is above 1: three times what the chaotic
state of `gym:Acrobot-v1` drifted apart in the 500 steps of an episode."""

MAX_SHOWN_CHARS: Final = 80
"""Maximum length of a value in a message."""


def are_same(expected: Any, found: Any) -> bool:
    """Return whether two values have the same JSON.

    Args:
        expected: the value of the replay.
        found: the recorded value.
    """
    if type(expected) is type(found) is int:
        return bool(expected == found)
    return _written(expected) == _written(found)


def are_close(expected: Any, found: Any) -> bool:
    """Return whether two values are the same but for the rounding of their floats.

    Args:
        expected: the value of the replay.
        found: the recorded value.
    """
    try:
        one, other = (restore_arrays(msgspec.json.decode(_written(value))) for value in (expected, found))
        return _is_close(one, other)
    except (msgspec.DecodeError, CodecError, RecursionError):
        return False


def _is_close(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    match one:
        case dict():
            close = list(one) == list(other) and all(_is_close(one[key], other[key]) for key in one)
        case list():
            close = len(one) == len(other) and all(map(_is_close, one, other))
        case float():
            close = isclose(one, other, rel_tol=FLOAT_TOLERANCE, abs_tol=FLOAT_TOLERANCE)
        case str() | int() | None:
            close = one == other
        case _:
            close = _are_arrays_close(one, other)
    return close


def _are_arrays_close(one: Any, other: Any) -> bool:
    import numpy as np  # noqa: PLC0415 - imported already, as these are arrays

    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.kind not in "fc":
        return bool(np.array_equal(one, other))
    return bool(np.allclose(one, other, rtol=FLOAT_TOLERANCE, atol=FLOAT_TOLERANCE, equal_nan=True))


def shown(value: Any) -> str:
    """Return a value as the text of a message.

    Args:
        value: any value.
    """
    text = _written(value).decode()
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}... ({len(text)} characters)"


def _written(value: Any) -> bytes:
    try:
        return encode(value)
    except (ValueError, TypeError, RecursionError) as error:
        return f"(no JSON: {error})".encode()
