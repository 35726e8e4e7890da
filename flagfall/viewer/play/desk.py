"""The person's place: one page at a time, which may be opened again while the match goes on.

Rule 1: one tab has the place. Another tab is refused; the same tab, opened again, takes over.
Rule 2: what a page sends waits in a short queue. When that is full nothing more is read, so a page that
    floods is held up by its own connection.
Rule 3: pages control nothing but their own seat: the start of the match, its end by the person, and answers.
"""

from __future__ import annotations

__all__ = ["Desk", "Page"]

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import msgspec
import trio

QUEUED_MESSAGES: Final = 16
"""Messages of a page that wait; a person's page sends one a turn."""

MESSAGES_AT_ONCE: Final = 100
PAUSE_SECONDS: Final = 0.01
"""After this many messages the reader pauses for that long, so it reads at most 10,000 a second."""

MAX_TAB_CHARS: Final = 64
"""Longest name that a tab gives itself; the page's own have 22 characters."""

SEND_SECONDS: Final = 10.0
"""Longest time for a message to a page; then the page is given up, and may be opened again."""

TAKEN: Final = 4001
MOVED: Final = 4002
OVER: Final = 1000
"""Codes with which a connection is closed: another tab has the place; it was opened again; it is over."""


class _Kind(msgspec.Struct):
    """The part of a message by which control messages are known."""

    type: str = ""


_decode_kind = msgspec.json.Decoder(_Kind).decode


class Page:
    """A page that has the place.

    Args:
        send: sends a message, text or bytes; raises `trio.BrokenResourceError` when the connection is gone.
        tab: the name of the tab.

    Attributes:
        steps: steps of the tape that were sent to it.
        messages: what it has sent; ends when it is gone.
        task: the task whose controls were sent to it.
        close_code: the code with which its connection is closed.
        scope: cancelled to give the page up.
    """

    def __init__(self, send: Callable[[str | bytes], Awaitable[None]], tab: str) -> None:
        self.tab = tab
        self.steps = 0
        self.task: object = None
        self._send = send
        self._lock = trio.Lock()
        self.messages: trio.MemoryReceiveChannel[bytes]
        self._queue, self.messages = trio.open_memory_channel[bytes](QUEUED_MESSAGES)
        self.close_code: int = OVER
        self.scope: trio.CancelScope = trio.CancelScope()

    async def send(self, *messages: str | bytes) -> None:
        """Send messages, one after the other; they are lost if the page is gone, which its messages show."""
        try:
            with trio.fail_after(SEND_SECONDS):
                async with self._lock:
                    for message in messages:
                        await self._send(message)
        except (trio.TooSlowError, trio.BrokenResourceError):
            self.drop()

    async def put(self, message: bytes) -> None:
        """Queue a message of the page; wait while the queue is full. It is lost if the seat plays no more."""
        with suppress(trio.BrokenResourceError):
            await self._queue.send(message)

    def drop(self, code: int = OVER) -> None:
        """Give the page up.

        Args:
            code: the code with which its connection is closed.
        """
        self.close_code = code
        self.scope.cancel()

    def end(self) -> None:
        """End the messages of the page."""
        self._queue.close()


class Desk:
    """The person's place in a match.

    Attributes:
        greeting: returns the messages for a page that has just got the place.
        started: the person has asked for the match to begin.
        stopped: the person has asked for its end.
        seen: a page has shown the end of the match.
        page: the page that has the place, if any.
    """

    def __init__(self) -> None:
        self.started: trio.Event = trio.Event()
        self.stopped: trio.Event = trio.Event()
        self.seen: trio.Event = trio.Event()
        self.page: Page | None = None
        self.greeting: Callable[[], list[str]] = list
        self._change = trio.Event()
        self._is_playing = False

    async def next_page(self) -> Page:
        """Wait for a page that has not been played with yet."""
        while self.page is None or self._is_playing:
            await self.changed()
        self._is_playing = True
        return self.page

    async def changed(self) -> None:
        """Wait until a page comes or goes, or has shown the end of the match."""
        await self._change.wait()

    def _note_change(self) -> None:
        self._change.set()
        self._change = trio.Event()

    async def seat(self, page: Page, receive: Callable[[], Awaitable[bytes | None]]) -> bool:
        """Give a page the place until it is gone or dropped.

        Args:
            page: the page.
            receive: returns its next message, `None` when it is gone.

        Returns:
            False if another page has the place.
        """
        if self.page is not None:
            if self.page.tab != page.tab:
                return False
            self.page.drop(MOVED)
        self.page, self._is_playing = page, False
        try:
            with page.scope:
                await page.send(*self.greeting())
                self._note_change()
                await self._read(page, receive)
        finally:
            page.end()
            if self.page is page:
                self.page = None
            self._note_change()
        return True

    async def _read(self, page: Page, receive: Callable[[], Awaitable[bytes | None]]) -> None:
        count = 0
        while (message := await receive()) is not None:
            count += 1
            if count % MESSAGES_AT_ONCE == 0:
                await trio.sleep(PAUSE_SECONDS)
            if not self._take_control(message) and self.started.is_set():
                await page.put(message)

    def _take_control(self, message: bytes) -> bool:
        """Take a message that is about the match and not about a turn; return false for any other."""
        try:
            kind = _decode_kind(message).type
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        event = {"start": self.started, "stop": self.stopped, "seen": self.seen}.get(kind)
        if event is not None:
            event.set()
            self._note_change()
        return event is not None

    async def push(self, message: str) -> None:
        """Send a message to the page that has the place, if any."""
        if self.page is not None:
            await self.page.send(message)
