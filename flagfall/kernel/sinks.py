"""Contracts of what takes the events of a match, side by side: a callable, batches of turns, a writer."""

from __future__ import annotations

__all__ = ["BatchSink", "Sink", "WritingSink", "is_batch_sink", "is_writing_sink"]

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias, TypeGuard, runtime_checkable

from flagfall.events import Event, TurnsPlayed

Sink: TypeAlias = Callable[[Event], None]
"""Takes every event of a match, in order. It is called inside a turn: it must not block."""


@runtime_checkable
class BatchSink(Protocol):
    """A sink that takes plain turns in batches: an event for each would cost more than the turn itself.

    Every other event is passed to a call of the sink, in order. Plain turns are held back until there are
    `flagfall.kernel.dispatcher.HELD_TURNS` of them, or until another event comes.
    """

    def __call__(self, event: Event) -> None:
        """Take one event; never blocks."""

    def write_batch(self, turns: TurnsPlayed) -> None:
        """Take a batch of plain turns; never blocks."""

    def set_flush(self, flush: Callable[[], None]) -> None:
        """Prepare for a match.

        Args:
            flush: delivers at once the turns that are held back.
        """


@runtime_checkable
class WritingSink(Protocol):
    """A sink with a writer: an actor of its own, which can ask the match to wait for it between turns."""

    def __call__(self, event: Event) -> None:
        """Take one event; never blocks."""

    def attach(
        self, pause: Callable[[], None], real_work: Callable[[], AbstractContextManager[None]]
    ) -> None:
        """Prepare for a match.

        Args:
            pause: asks the match to wait for `drain` before the next turn.
            real_work: a context for waiting for a disk or a thread: no virtual time passes in it.

        Raises:
            UsageError: it takes no match any more; nothing is played or recorded.
        """

    async def run(self) -> None:
        """Write until `finish` was called and everything is written.

        Raises:
            HostFault: it cannot write.
        """

    async def drain(self) -> None:
        """Wait until there is room again."""

    def finish(self) -> None:
        """End the input: no more events come."""


def is_batch_sink(sink: Sink) -> TypeGuard[BatchSink]:
    """Return whether a sink takes batches; asked once a match, where `isinstance` would cost 10 us."""
    return hasattr(sink, "write_batch")


def is_writing_sink(sink: Sink) -> TypeGuard[WritingSink]:
    """Return whether a sink has a writer; asked once a match, as `is_batch_sink`."""
    return hasattr(sink, "drain")
