"""Signals that end a command: SIGTERM and SIGHUP do what Ctrl-C does, with an exit code of their own."""

from __future__ import annotations

__all__ = ["SIGNALLED", "Ended", "as_interrupts", "release_terminal"]

import os
import select
import signal
import stat
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

SIGNALLED: Final = 128
"""Shells add this to the number of a signal for an exit code."""

_STREAMS: Final = (0, 1, 2)


class Ended:
    """The signal that ended a command.

    Attributes:
        number: of the signal; SIGINT where none of the others came.
    """

    def __init__(self) -> None:
        self.number: int = signal.SIGINT


@contextmanager
def as_interrupts(ended: Ended) -> Iterator[None]:
    """Raise KeyboardInterrupt for SIGTERM and SIGHUP, too, while the context lasts.

    They are passed on to whatever hears Ctrl-C at that moment, so an event loop gets them where it can take
    them. A signal that is ignored (`nohup`) stays so. Only the main thread can have it.

    Args:
        ended: gets the number of the signal.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        ended.number = number
        if number == signal.SIGHUP:
            release_terminal()
        hear = signal.getsignal(signal.SIGINT)
        if not callable(hear):
            raise KeyboardInterrupt
        hear(signal.SIGINT, frame)

    wanted = {signal.SIGTERM: handle, signal.SIGHUP: handle, signal.SIGINT: signal.default_int_handler}
    before = {number: signal.getsignal(number) for number in wanted}
    try:
        for number, handler in wanted.items():
            if before[number] is not signal.SIG_IGN:
                signal.signal(number, handler)
        yield
    finally:
        for number, handler_before in before.items():
            signal.signal(number, handler_before)


def release_terminal() -> bool:
    """Put `/dev/null` in the place of standard streams whose terminal was closed: each use would fail.

    Returns:
        Whether there was one.
    """
    released = False
    for descriptor in _STREAMS:
        with suppress(OSError):
            poll = select.poll()
            poll.register(descriptor, 0)
            hung_up = any(events & select.POLLHUP for _, events in poll.poll(0))
            if hung_up and stat.S_ISCHR(os.fstat(descriptor).st_mode):
                null = os.open(os.devnull, os.O_RDWR)
                os.dup2(null, descriptor)
                os.close(null)
                released = True
    return released
