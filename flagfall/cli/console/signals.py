"""Signals that end a command: SIGTERM and SIGHUP act like Ctrl-C, with their own exit codes."""

from __future__ import annotations

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
"""Exit code of a program ended by signal n is 128 + n, as in shells."""

_STREAMS: Final = (0, 1, 2)


class Ended:
    """The number of the signal that ended a command: SIGINT unless another one arrived."""

    def __init__(self) -> None:
        self.number: int = signal.SIGINT


@contextmanager
def as_interrupts(ended: Ended) -> Iterator[None]:
    """Treat SIGTERM and SIGHUP as Ctrl-C while the context lasts.

    They are passed to the current handler of SIGINT, so an event loop receives them where it can handle them.
    Signals that are ignored (`nohup`) stay ignored. Outside the main thread the context does nothing.
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
    """Replace standard streams whose terminal was closed by `/dev/null`, as each use of them would fail.

    Return whether a stream was replaced.
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
