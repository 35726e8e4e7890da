"""Keys at a screen of urwid's, read by a task in the event loop of the match.

urwid's own trio loop would put an instrument on every step of the whole event loop, and draw only when that
has nothing to do, which in a match may be never.
"""

from __future__ import annotations

__all__ = ["KeyTaker", "at_screen"]

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol

import trio

EMPTY_READS: Final = 100
"""A terminal that is readable so often in a row, and gives nothing, is gone."""


class KeyTaker(Protocol):
    """What keys are for."""

    def press(self, key: Any) -> None:
        """Take a key, by urwid's name for it, or whatever else urwid gives."""

    def hang_up(self) -> None:
        """Take note that the terminal is gone."""

    def draw(self) -> None:
        """Draw the screen: keys were pressed, or the terminal's size has changed."""


@asynccontextmanager
async def at_screen(screen: Any, taker: KeyTaker) -> AsyncIterator[None]:
    """The terminal, with a listener at it; when the context ends, it is as it was.

    Args:
        screen: a raw one of urwid's, not started yet.
        taker: gets what is pressed.
    """
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
    """Hand over keys, and changes of the terminal's size, whenever this has some."""
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
