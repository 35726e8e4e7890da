"""An action that was no legal one, as a short text for the record: the same in every run, whatever it is."""

from __future__ import annotations

__all__ = ["MAX_CHARS", "text_of"]

from reprlib import Repr
from typing import Any, Final

MAX_CHARS: Final = 120
"""Enough to see what an agent meant; what it really said may be of any length."""

_PLAIN: Final = (bool, float, complex, type(None))


class _Brief(Repr):
    """Shows the beginnings of plain values, and of everything else the type.

    A `repr` of somebody's own may hold an address, take long or raise.
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


def text_of(action: Any) -> str:
    """What the action was, in no more than `MAX_CHARS` characters."""
    try:
        text = _brief.repr(action)
    except Exception:  # noqa: BLE001 - whole numbers with too many digits; names of types that are none
        text = "<unspeakable>"
    return text[:MAX_CHARS].encode("utf-8", "backslashreplace").decode()
