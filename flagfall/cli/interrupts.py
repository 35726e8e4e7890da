"""Ctrl-C: once to stop cleanly, twice to be rid of it."""

from __future__ import annotations

__all__ = ["STOPPING", "Interrupts", "interruptible"]

import signal
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import attrs
import trio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from types import FrameType

STOPPING: Final = "stopping after this turn"
"""What is told after the first Ctrl-C, where it stops a match."""

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@attrs.define(eq=False)
class Interrupts:
    """What signals have asked for.

    Attributes:
        stop: set by the first one.
        scope: cancelled by the second one.
        number: the first one; 0 where there was none.
    """

    stop: trio.Event = attrs.Factory(trio.Event)
    scope: trio.CancelScope = attrs.Factory(trio.CancelScope)
    number: int = 0
    _unheard: int = attrs.field(default=0, init=False)

    @property
    def cancelled(self) -> bool:
        """Whether a second one came."""
        return self.scope.cancel_called

    async def watch(self, signals: AsyncIterator[int], say: Callable[[str], None], stopping: str) -> None:
        """Take signals as they come."""
        async for number in signals:
            self._unheard = 0
            if self.number:
                self.scope.cancel()
                continue
            self.number = number
            self.stop.set()
            say(f"{stopping}; Ctrl-C again to cancel at once")

    def take_blocked(self, number: int, frame: FrameType | None) -> bool:  # noqa: ARG002 - a signal handler's
        """Whether the loop has not even heard of the signal before this one: an agent blocks it."""
        self._unheard += 1
        return self._unheard > 1 and not trio.lowlevel.currently_ki_protected()


@asynccontextmanager
async def interruptible(say: Callable[[str], None], stopping: str = STOPPING) -> AsyncIterator[Interrupts]:
    """Signals become requests while the context lasts; its body runs in the scope that they cancel.

    An agent that blocks the event loop keeps it from hearing them. The second one is then raised as
    KeyboardInterrupt wherever the program is, as without all this.

    Args:
        say: tells the user something.
        stopping: what is told after the first signal.
    """
    state = Interrupts()
    with trio.open_signal_receiver(*_SIGNALS) as signals:
        hear = signal.getsignal(signal.SIGINT)
        assert callable(hear)

        def handle(number: int, frame: FrameType | None) -> None:
            if state.take_blocked(number, frame):
                raise KeyboardInterrupt
            hear(number, frame)

        signal.signal(signal.SIGINT, handle)  # the receiver puts back what was there before it
        async with trio.open_nursery() as nursery:
            nursery.start_soon(state.watch, signals, say, stopping)
            with state.scope:
                yield state
            nursery.cancel_scope.cancel()
