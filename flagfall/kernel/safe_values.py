"""Bounded, JSON-safe representations of arbitrary agent values: illegal actions, and answers to results."""

from __future__ import annotations

from reprlib import Repr
from typing import Any, Final

import msgspec

from flagfall.kernel.channels.arrays import json_encoder

MAX_CHARS: Final = 120
"""Maximum length of a representation: enough to recognise a value, which may be of any length."""

MAX_ANSWER_BYTES: Final = 64 * 1024
"""Maximum size of an answer to a result, as JSON; most are a number."""

_PLAIN: Final = (bool, float, complex, type(None))

_encode: Final = json_encoder().encode


class _Brief(Repr):
    """Shows the beginnings of plain values, and the type of other values.

    A `__repr__` of an agent's own may contain an address, take long or raise.
    """

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = 60

    def repr_instance(self, x: Any, _level: int) -> str:
        return repr(x) if type(x) in _PLAIN else f"<{type(x).__qualname__}>"

    def repr_bytes(self, x: bytes, _level: int) -> str:
        return repr(x[: self.maxother]) + ("..." if len(x) > self.maxother else "")

    repr_bytearray = repr_bytes


_brief = _Brief()


def safe_repr(value: Any) -> str:
    """Return a representation of at most `MAX_CHARS` characters; never runs code of the value."""
    try:
        text = _brief.repr(value)
    except Exception:  # noqa: BLE001 - whole numbers with too many digits; names of types that are none
        text = "<unspeakable>"
    return text[:MAX_CHARS].encode("utf-8", "backslashreplace").decode()


def to_recordable(answer: Any) -> Any:
    """Return an answer as it will be read from its record, so that a scheduler decides equally in a replay.

    Values that JSON cannot express, or longer than `MAX_ANSWER_BYTES`, are replaced by their `safe_repr`.
    """
    if answer is None:
        return None
    try:
        text = _encode(answer)
        return msgspec.json.decode(text) if len(text) <= MAX_ANSWER_BYTES else safe_repr(answer)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return safe_repr(answer)
