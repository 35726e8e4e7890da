"""Keys pressed at a screen of urwid, read by a task in the event loop of the match.

urwid's own trio loop would put an instrument on every step of the whole event loop, and would draw only
when the loop is idle, which in a match may be never.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol

import trio

EMPTY_READS: Final = 100
"""A terminal that is readable this many times in a row without a key is gone."""


class KeyTaker(Protocol):
    """Receiver of keys."""

    def press(self, key: Any) -> None:
        """Take a key by urwid's name for it, or another event of urwid."""

    def hang_up(self) -> None:
        """Take note that the terminal is gone."""

    def draw(self) -> None:
        """Draw the screen, after keys or a change of the terminal's size."""


@asynccontextmanager
async def at_screen(screen: Any, taker: KeyTaker) -> AsyncIterator[None]:
    """Start a screen and read its keys; when the context ends, the terminal is as before."""
    screen.set_input_timeouts(max_wait=0, complete_wait=0.02, resize_wait=0)
    with screen.start():
        async with trio.open_nursery() as nursery:
            for source in screen.get_input_descriptors():
                nursery.start_soon(_listen, source, screen, taker)
            try:
                yield
            finally:
                nursery.cancel_scope.cancel()


async def _listen(source: Any, screen: Any, taker: KeyTaker) -> None:
    """Pass on the keys and the changes of size that a source of input has."""
    empty = 0
    while True:
        await trio.lowlevel.wait_readable(source)
        keys = screen.get_input()
        empty = 0 if keys else empty + 1
        if empty > EMPTY_READS:
            taker.hang_up()
            return
        for key in keys:
            if key == "window resize":
                screen.clear()
            else:
                taker.press(key)
        taker.draw()
