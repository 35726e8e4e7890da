"""Server-sent events: one encoding for all viewers, bounded queues, heartbeats.

A viewer gets the newest event of each kind when it connects, so it catches up after any pause. One that does
not read is dropped when its queue is full; a page that is still there connects again by itself.
"""

from __future__ import annotations

__all__ = ["EventResponse", "Hub", "encode_event"]

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import msgspec
import trio
from starlette.exceptions import HTTPException
from starlette.responses import Response

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

MAX_VIEWERS: Final = 256
"""Viewers at the same time; each has a connection and a queue."""

QUEUED_EVENTS: Final = 32
"""Events that wait for a viewer to read; the events themselves are shared by all viewers."""

HEARTBEAT_SECONDS: Final = 15.0
"""Longest time without a byte: it finds clients that are gone, and keeps proxies from closing."""

RETRY_MS: Final = 2_000
"""Time after which a browser connects again."""


def encode_event(kind: str, data: object) -> bytes:
    """Return an event as it is sent.

    Args:
        kind: name of the event, without a line feed.
        data: a value that msgspec encodes as JSON, which has no line feeds.
    """
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), msgspec.json.encode(data))


class Hub:
    """Sends events to all viewers.

    Args:
        max_viewers: most viewers at the same time.
    """

    def __init__(self, max_viewers: int = MAX_VIEWERS) -> None:
        self._max_viewers = max_viewers
        self._queues: set[trio.MemorySendChannel[bytes]] = set()
        self._kept: dict[str, bytes] = {}
        self._joined = trio.Event()

    @property
    def viewers(self) -> int:
        """The number of viewers."""
        return len(self._queues)

    async def wait_for_viewer(self) -> None:
        """Wait until there is a viewer."""
        while not self._queues:
            await self._joined.wait()

    def publish(self, kind: str, data: object, *, keep: object = None) -> None:
        """Send an event to all viewers, unless they have it, and keep it for those that come later.

        Args:
            kind: name of the event.
            data: a value that msgspec encodes as JSON.
            keep: what later viewers get instead of `data`: for events that only add to earlier ones.
        """
        event = encode_event(kind, data)
        if keep is None and event == self._kept.get(kind):
            return
        self._kept[kind] = event if keep is None else encode_event(kind, keep)
        for queue in list(self._queues):
            try:
                queue.send_nowait(event)
            except (trio.WouldBlock, trio.BrokenResourceError):
                self._queues.discard(queue)
                queue.close()

    @asynccontextmanager
    async def viewer(self) -> AsyncIterator[trio.MemoryReceiveChannel[bytes]]:
        """Receive events while the context lasts, first the newest of each kind.

        Raises:
            HTTPException: there are too many viewers.
        """
        if len(self._queues) >= self._max_viewers:
            raise HTTPException(
                503, f"{self._max_viewers} viewers are connected: close a page, or try again later"
            )
        sending, receiving = trio.open_memory_channel[bytes](QUEUED_EVENTS + len(self._kept))
        for event in self._kept.values():
            sending.send_nowait(event)
        self._queues.add(sending)
        self._joined.set()
        self._joined = trio.Event()
        try:
            async with receiving:
                yield receiving
        finally:
            self._queues.discard(sending)
            sending.close()


class EventResponse(Response):
    """A response that sends events until the viewer goes, is dropped, or the channel is closed.

    Unlike Starlette's streams it has a heartbeat, and ends as soon as its client is gone.

    Args:
        hub: the source of events.
    """

    media_type = "text/event-stream"

    def __init__(self, hub: Hub) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._hub = hub

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        if scope["method"] == "HEAD":
            await self._send_head(send)
            await send({"type": "http.response.body", "body": b""})
            return
        async with self._hub.viewer() as events, trio.open_nursery() as nursery:
            nursery.start_soon(_cancel_when_gone, receive, nursery.cancel_scope)
            await self._send_head(send)
            await send(_body([b"retry: %d\n\n" % RETRY_MS]))
            while True:
                event = b": still here\n\n"
                with trio.move_on_after(HEARTBEAT_SECONDS):
                    try:
                        event = await events.receive()
                    except trio.EndOfChannel:
                        break
                await send(_body([event]))
            await send({"type": "http.response.body", "body": b""})
            nursery.cancel_scope.cancel()

    async def _send_head(self, send: Send) -> None:
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": list(self.raw_headers)}
        )


def _body(parts: Iterable[bytes]) -> dict[str, object]:
    return {"type": "http.response.body", "body": b"".join(parts), "more_body": True}


async def _cancel_when_gone(receive: Receive, scope: trio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
