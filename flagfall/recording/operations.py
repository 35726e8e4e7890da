"""Operations of a run beside its matches: what the runner, its workers and admissions do.

They belong to no match and to no journal, so they are no events of `flagfall.events`. Whoever does one of
them reports it; the log (`flagfall.recording.log_sink.OperationLog`) and telemetry listen. Where nothing
listens, a report is a look at an empty tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Literal, TypeAlias

Level: TypeAlias = Literal["debug", "info", "warning", "error"]

Listener: TypeAlias = Callable[[str, Mapping[str, Any]], None]
"""Takes the name of an operation and its fields; never blocks."""

OPERATIONS: Final[Mapping[str, Level]] = {
    "run started": "info",
    "run resumed": "info",
    "run paused": "info",
    "run continued": "info",
    "run stopping": "warning",
    "run ended": "info",
    "run interrupted": "warning",
    "match queued": "debug",
    "match stored": "debug",
    "match repeated": "warning",
    "match given up": "error",
    "worker started": "info",
    "worker ended": "info",
    "worker killed": "warning",
    "worker lost": "error",
    "agent joined": "info",
    "agent refused": "warning",
}
"""Every operation with its level in a log; docs/logging.md has their fields."""

_LISTENERS: Final[ContextVar[tuple[Listener, ...]]] = ContextVar("listeners", default=())


def report(operation: str, **fields: Any) -> None:
    """Pass an operation to all listeners.

    Args:
        operation: one of `OPERATIONS`.
        fields: plain values; texts of others are shortened already.
    """
    for listen in _LISTENERS.get():
        listen(operation, fields)


@contextmanager
def reported_to(listener: Listener) -> Iterator[None]:
    """Pass operations to a listener while the context lasts, also those in event loops that start in it."""
    token = _LISTENERS.set((*_LISTENERS.get(), listener))
    try:
        yield
    finally:
        _LISTENERS.reset(token)
