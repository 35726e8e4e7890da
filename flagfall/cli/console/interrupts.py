"""Ctrl-C, SIGTERM, a closed terminal: once to stop cleanly, twice to be rid of it."""

from __future__ import annotations

__all__ = ["STOPPING", "Interrupts", "interruptible"]

import signal
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from flagfall.cli.console.signals import release_terminal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from types import FrameType

STOPPING: Final = "stopping after this turn"
"""What is told after the first Ctrl-C, where it stops a match."""

_CANCELLING: Final = (signal.SIGINT, signal.SIGTERM)
"""Signals of which a second one cancels. SIGHUP is not one: of a closed terminal the system and
the shell both send it."""


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
            if self.stop.is_set():
                if number in _CANCELLING:
                    self.scope.cancel()
                continue
            self.stop.set()
            say(f"{stopping}; Ctrl-C again to cancel at once")

    def take_blocked(self, number: int) -> bool:
        """Return whether an agent blocks the loop, so that it has not heard the signal before this one."""
        self.number = self.number or number
        self._unheard += number in _CANCELLING
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
    heard = [*_CANCELLING]
    hang_up = signal.getsignal(signal.SIGHUP)
    if hang_up is not signal.SIG_IGN:  # as under nohup
        heard.append(signal.SIGHUP)
    if callable(hang_up):
        # Stays there when this is over: what was played has to be printed, however often it is sent.
        signal.signal(signal.SIGHUP, partial(_first_only, state, hang_up))
    with trio.open_signal_receiver(*heard) as signals:
        hear = signal.getsignal(signal.SIGINT)
        assert callable(hear)

        def handle(number: int, frame: FrameType | None) -> None:
            if number == signal.SIGHUP:
                release_terminal()
            if state.take_blocked(number):
                raise KeyboardInterrupt
            hear(number, frame)

        for number in heard:
            signal.signal(number, handle)  # the receiver puts back what was there before it
        async with trio.open_nursery() as nursery:
            nursery.start_soon(state.watch, signals, say, stopping)
            with state.scope:
                yield state
            nursery.cancel_scope.cancel()


def _first_only(
    state: Interrupts, hear: Callable[[int, FrameType | None], Any], number: int, frame: FrameType | None
) -> None:
    """Take SIGHUP where no signal came before it."""
    if not state.number:
        hear(number, frame)
