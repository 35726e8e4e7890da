"""Simulated connections: streams of bytes in memory, between a host and an agent, with the faults of a link.

A link looks at what the agent sends message by message, as long as a fault of it is to come. What it delivers
later is delivered in order, as by TCP.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
import trio
from trio.lowlevel import Abort, current_task, reschedule, wait_task_rescheduled

from flagfall.kernel.channels.framing import MAX_FRAME_BYTES, NEED_MORE, Framer, LineReader, frame
from flagfall.testing.faults import Fault, Unit
from flagfall.testing.simulation.injection import Injection
from flagfall.timing import NowNs


class Inbox:
    """What has arrived at one end of a connection and was not read yet."""

    def __init__(self, now: NowNs) -> None:
        self.is_closed: bool = False
        self._now = now
        self._parts: list[bytes] = []
        self._arrived_ns = 0
        self._reader: trio.lowlevel.Task | None = None

    def put(self, data: bytes) -> None:
        """Deliver bytes now."""
        if not self.is_closed:
            self._arrived_ns = self._now()
            self._parts.append(data)
            self._wake()

    def close(self) -> None:
        """Deliver nothing more."""
        self.is_closed = True
        self._wake()

    def _wake(self) -> None:
        if self._reader is not None:
            reschedule(self._reader)
            self._reader = None

    async def read(self) -> bytes:
        """Return all that has arrived, and wait until there is something; empty at the end."""
        while not self._parts:
            if self.is_closed:
                await trio.lowlevel.checkpoint()
                return b""
            self._reader = current_task()
            await wait_task_rescheduled(self._stop_reading)
        return self.take()

    def take(self) -> bytes:
        """Return all that has arrived."""
        data = b"".join(self._parts)
        self._parts.clear()
        return data

    def _stop_reading(self, _raise_cancel: object) -> Abort:
        self._reader = None
        return Abort.SUCCEEDED

    def age_ns(self) -> int:
        """Return how long ago the newest bytes have arrived."""
        return self._now() - self._arrived_ns


class End:
    """An end of a connection, a `ByteStream`; `send` is for an agent, which never waits.

    Args:
        send: takes the bytes that it sends.
        cut: closes the connection.
    """

    def __init__(self, inbox: Inbox, send: Callable[[bytes], None], cut: Callable[[], None]) -> None:
        self._inbox = inbox
        self._send = send
        self.read = inbox.read
        self.age_ns: Callable[[], int | None] = inbox.age_ns
        self.close: Callable[[], None] = cut

    def send(self, data: bytes) -> None:
        """Send bytes; raises `BrokenPipeError` if the connection is closed."""
        if self._inbox.is_closed:
            raise BrokenPipeError
        self._send(data)

    async def write(self, data: bytes) -> None:
        """Send bytes; see `flagfall.kernel.channels.pipes.PipeStream.write`."""
        if self._inbox.is_closed:
            raise trio.BrokenResourceError("the other end is gone")
        self._send(data)

    def is_closed(self) -> bool:
        """Return whether the connection is closed."""
        return self._inbox.is_closed


class AgentsPipe:
    """The agent's end of a connection; see `flagfall.agents.wire.worker.AgentsEnd`."""

    def __init__(self, end: End) -> None:
        self.read = end.read
        self.write: Callable[[bytes], None] = end.send


def open_pair(now: NowNs) -> tuple[End, End]:
    """Return both ends of a connection without faults."""
    one, other = Inbox(now), Inbox(now)

    def cut() -> None:
        one.close()
        other.close()

    return End(one, other.put, cut), End(other, one.put, cut)


class _Head(msgspec.Struct):
    """What a link needs to know of a message."""

    type: str = ""
    number: int = -1
    encoding: str = "json"


_LINE: Final = msgspec.json.Decoder(_Head)
_FRAME: Final = msgspec.msgpack.Decoder(_Head)


_REPEATS: Final = frozenset({"reorder", "flood"})
"""Kinds of faults that repeat the agent's answer before."""


class _Cutter:
    """Cuts what an agent sends into messages, with their line ends or frame headers."""

    def __init__(self) -> None:
        self._lines: LineReader | None = LineReader(MAX_FRAME_BYTES)
        self._framer = Framer()

    def cut(self, data: bytes) -> list[tuple[_Head, bytes]]:
        messages = []
        if self._lines is not None:
            self._lines.feed(data)
            while self._lines is not None and (line := self._lines.next_line()) is not None:
                head = _LINE.decode(line)
                messages.append((head, line + b"\n"))
                if head.type == "ready" and head.encoding == "msgpack":
                    data, self._lines = self._lines.take_rest(), None
        if self._lines is None:
            self._framer.feed(data)
            while (payload := self._framer.next_frame()) is not NEED_MORE:
                messages.append((_FRAME.decode(payload), frame(payload)))
        return messages


class Link:
    """A connection between an agent and its host.

    Args:
        injection: has the faults; only those of the seat strike the link.
        lose: called with the nanoseconds for which no other connection can be made.
    """

    def __init__(
        self,
        seat: int,
        injection: Injection,
        lose: Callable[[int], None] = lambda _ns: None,
    ) -> None:
        self._seat = seat
        self._injection = injection
        self._now = now = injection.now
        self._lose = lose
        self._cutter: _Cutter | None = _Cutter() if injection.has("link", seat=seat) else None
        self._before = b""
        self._free_ns = 0  # what is sent now arrives at this time at the earliest
        self._at_host, self._at_agent = Inbox(now), Inbox(now)
        self.hosts_end: End = End(self._at_host, self._at_agent.put, self.cut)
        injection.hosts_ends.append(self.hosts_end)
        self.agents_end: End = End(self._at_agent, self._from_agent, self.cut_in_order)

    def cut(self) -> None:
        """Close the connection at both ends."""
        self._at_host.close()
        self._at_agent.close()

    def cut_in_order(self) -> None:
        """Close the connection when all that the agent has sent is delivered."""
        self._at_agent.close()
        self._later(self._at_host.close)

    def _from_agent(self, data: bytes) -> None:
        if self._cutter is None:
            self._deliver(data)
            return
        for head, message in self._cutter.cut(data):
            self._carry(head, message)
        # A link without faults to come passes on bytes; what it has cut so far ends with a whole message.
        if not self._injection.has("link", seat=self._seat):
            self._cutter = None

    def _carry(self, head: _Head, message: bytes) -> None:
        unit, at = _moment_of(head)
        parts, is_cut = [message], False
        for fault in self._injection.take("link", self._seat, unit, at):
            if fault.kind in _REPEATS and not self._before:
                continue  # there is nothing to repeat
            self._injection.count(fault)
            is_cut = is_cut or fault.kind in {"truncate", "disconnect"}
            parts = self._strike(fault, parts, message)
        if head.type == "answer":
            self._before = message
        for part in parts:
            self._deliver(part)
        if is_cut:
            self._later(self.cut)

    def _strike(self, fault: Fault, parts: list[bytes], message: bytes) -> list[bytes]:
        """Return what is delivered in place of some parts of a message."""
        match fault.kind:
            case "duplicate":
                return [*parts, message]
            case "reorder" | "flood":
                return [self._before * max(1, fault.amount), *parts]
            case "delay":
                self._free_ns = max(self._now(), self._free_ns) + fault.amount
                return parts
            case "garbage":
                return [b"\xff" * max(1, fault.amount) + b"\n"]  # neither a line of JSON nor a frame
            case "truncate":
                return [message[: len(message) // 2]]
            case "disconnect":
                self._lose(fault.amount)
        return []

    def _deliver(self, data: bytes) -> None:
        self._later(lambda: self._at_host.put(data))

    def _later(self, action: Callable[[], None]) -> None:
        """Do something when all that was sent before has arrived."""
        if self._free_ns <= self._now():
            action()
        else:
            self._injection.do_at(self._free_ns, action)


def _moment_of(head: _Head) -> tuple[Unit, int]:
    return ("start", 0) if head.type == "ready" else ("turn", head.number)
