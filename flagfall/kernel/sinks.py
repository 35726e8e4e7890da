"""All sinks of a match as one: who is told of a turn as an event, and who in bare values."""

from __future__ import annotations

__all__ = ["PlainTurn", "all_events", "all_plain_turns"]

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from flagfall.events import TurnPlayed
from flagfall.kernel.roles import Sink, TurnSink

PlainTurn: TypeAlias = Callable[[int, int, Any, Any, Any, int], None]
"""Takes a plain turn; see `flagfall.kernel.roles.TurnSink.plain_turn`."""


def all_events(sinks: Sequence[Sink]) -> Sink:
    """Gives an event to every sink; the first failure among them is raised when all have it."""
    # The method itself: a call of an object that has one costs half as much again.
    return _all_of([sink.__call__ for sink in sinks])  # type: ignore[operator]  # a function has one, too


def all_plain_turns(sinks: Sequence[Sink]) -> PlainTurn:
    """Gives a plain turn to every sink, in the form that it takes; fails as `all_events` does."""
    return _all_of([_plain_turns(sink) for sink in sinks])


def _plain_turns(sink: Sink) -> PlainTurn:
    if isinstance(sink, TurnSink):
        return sink.plain_turn

    def as_an_event(*fields: Any) -> None:
        sink(TurnPlayed(*fields))

    return as_an_event


def _all_of(calls: Sequence[Callable[..., None]]) -> Callable[..., None]:
    """Many calls as one; a single one needs nothing around it."""
    if len(calls) == 1:
        return calls[0]

    def call(*what: Any) -> None:
        failed: Exception | None = None
        for one in calls:
            try:
                one(*what)
            except Exception as error:  # noqa: BLE001 - the others get it all the same
                failed = failed or error
        if failed is not None:
            raise failed

    return call
