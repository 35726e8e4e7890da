"""Notice about code that blocks the event loop, printed while it blocks."""

from __future__ import annotations

__all__ = ["block_notice"]

import sys
import threading
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

import trio

from flagfall.errors import __file__ as _errors

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from types import FrameType

NOTICE_SECONDS: Final = 1.0
"""Time without a pass of the event loop after which the notice is printed."""

MAX_NOTICES: Final = 3
"""Most notices of one run: an agent that blocks in every turn would fill the screen."""

_BEAT_SECONDS: Final = 0.25
_OWN_FOLDERS: Final = (str(Path(_errors).parent), str(Path(trio.__file__).parent))


@asynccontextmanager
async def block_notice(say: Callable[[str], None]) -> AsyncIterator[None]:
    """Print a notice, while the context lasts, when the event loop has been blocked for a second.

    Args:
        say: prints a line to the user; it is called from another thread.
    """
    watch = _Watch(say)
    thread = threading.Thread(target=watch.run, name="block notice", daemon=True)
    thread.start()
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch.beat)
            yield
            nursery.cancel_scope.cancel()
    finally:
        watch.over.set()
        thread.join()


class _Watch:
    def __init__(self, say: Callable[[str], None]) -> None:
        self.over = threading.Event()
        self._say = say
        self._loop_thread = threading.get_ident()
        self._beaten = monotonic()

    async def beat(self) -> None:
        while True:
            self._beaten = monotonic()
            await trio.sleep(_BEAT_SECONDS)

    def run(self) -> None:
        told = 0.0
        notices = 0
        while notices < MAX_NOTICES and not self.over.wait(_BEAT_SECONDS):
            beaten = self._beaten
            blocked = monotonic() - beaten
            if blocked >= NOTICE_SECONDS + _BEAT_SECONDS and beaten != told:
                told = beaten
                notices += 1
                self._say(
                    f"the event loop has been blocked for {blocked:.1f} s{self._place()}; meanwhile no other"
                    " agent can play. --host process runs agents apart"
                )

    def _place(self) -> str:
        """Return where the thread of the event loop is, outside of this package."""
        frame: FrameType | None = sys._current_frames().get(self._loop_thread)  # noqa: SLF001 - the way to see it
        while frame is not None and frame.f_code.co_filename.startswith(_OWN_FOLDERS):
            frame = frame.f_back
        if frame is None:
            return ""
        return f" in {frame.f_code.co_name} ({Path(frame.f_code.co_filename).name}, line {frame.f_lineno})"
