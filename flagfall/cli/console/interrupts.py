"""Ctrl-C, SIGTERM and a closed terminal: the first signal stops cleanly, the second one cancels."""

from __future__ import annotations

import signal
import sys
import time
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from flagfall.cli.console.signals import SIGNALLED, release_terminal
from flagfall.timing import VirtualClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from types import FrameType

STOPPING: Final = "stopping after this turn"
"""Message after the first signal that stops a match."""

_CANCELLING: Final = (signal.SIGINT, signal.SIGTERM)
"""Signals that cancel when they are sent a second time. SIGHUP does not: when a terminal is closed, both the
kernel and the shell send it."""

BLOCKED_SECONDS: Final = 0.2
"""Time for which a signal must have waited before the next one is raised as an exception: long for an event
loop on a busy machine, short for a person who presses Ctrl-C twice. Signals in quick succession wait for the
loop, since an exception at an arbitrary place can cut its cleanup short."""


@attrs.define(eq=False)
class Interrupts:
    """Requests by signals.

    Attributes:
        stop: set by the first signal.
        scope: cancelled by the second signal.
        number: the number of the first signal; 0 if there was none.
    """

    stop: trio.Event = attrs.Factory(trio.Event)
    scope: trio.CancelScope = attrs.Factory(trio.CancelScope)
    number: int = 0
    _waits_since: float | None = attrs.field(default=None, init=False)

    @property
    def cancelled(self) -> bool:
        """True after the second signal."""
        return self.scope.cancel_called

    async def watch(self, signals: AsyncIterator[int], say: Callable[[str], None], stopping: str) -> None:
        """Handle signals as they arrive: `say` prints the message `stopping` after the first one."""
        async for number in signals:
            self._waits_since = None
            if self.stop.is_set():
                if number in _CANCELLING:
                    self.scope.cancel()
                continue
            self.stop.set()
            say(f"{stopping}; Ctrl-C again to cancel at once")

    def take_blocked(self, number: int) -> bool:
        """Note a signal, and return whether an agent blocks the loop: an earlier one has waited too long."""
        self.number = self.number or number
        if number not in _CANCELLING:
            return False
        now = time.monotonic()
        if self._waits_since is None:
            self._waits_since = now
        if now - self._waits_since < BLOCKED_SECONDS or trio.lowlevel.currently_ki_protected():
            return False
        self._waits_since = now  # what the exception ends has as long to clean up
        return True


@asynccontextmanager
async def interruptible(say: Callable[[str], None], stopping: str = STOPPING) -> AsyncIterator[Interrupts]:
    """Turn signals into requests while the context lasts; its body runs in the scope that they cancel.

    While an agent blocks the event loop, signals are not handled there. One that comes `BLOCKED_SECONDS`
    after the first is then raised as KeyboardInterrupt wherever the program is, as without this context.

    Args:
        stopping: the message after the first signal, which `say` prints.
    """
    state = Interrupts()
    heard = [*_CANCELLING]
    hang_up = signal.getsignal(signal.SIGHUP)
    if hang_up is not signal.SIG_IGN:  # ignored under nohup
        heard.append(signal.SIGHUP)
    if callable(hang_up):
        # Stays installed afterwards: the results must be printed however often SIGHUP is sent.
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
            signal.signal(number, handle)  # the receiver restores the previous handlers
        async with trio.open_nursery() as nursery:
            nursery.start_soon(state.watch, signals, say, stopping)
            with state.scope:
                yield state
            nursery.cancel_scope.cancel()


def _first_only(
    state: Interrupts, hear: Callable[[int, FrameType | None], Any], number: int, frame: FrameType | None
) -> None:
    """Handle SIGHUP only if it is the first signal."""
    if not state.number:
        hear(number, frame)


def say(text: str) -> None:
    """Print a line for the user to the standard error."""
    with suppress(OSError):  # the terminal was closed
        print(f"flagfall: {text}", file=sys.stderr, flush=True)


def run_until_interrupted(
    play: Callable[[trio.Event], Awaitable[None]],
    *,
    virtual: bool = False,
    say: Callable[[str], None] = say,
    stopping: str = STOPPING,
) -> int:
    """Run a function in an event loop of its own; return 0, or 128 plus the number of the signal.

    Args:
        play: takes an event that the first Ctrl-C sets; a second one cancels it.
        stopping: message after the first Ctrl-C.
    """
    number = 0

    async def main() -> None:
        nonlocal number
        try:
            async with interruptible(say, stopping) as interrupts:
                try:
                    await play(interrupts.stop)
                finally:
                    number = interrupts.number
        except* KeyboardInterrupt:  # raised in an agent that blocked the event loop
            number = number or signal.SIGINT

    try:
        trio.run(main, clock=VirtualClock() if virtual else None)
    except BaseExceptionGroup as group:
        # A single error within the groups of the nurseries is raised by itself.
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        raise error from None
    return SIGNALLED + number if number else 0
