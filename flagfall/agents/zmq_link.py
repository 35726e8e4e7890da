"""A bound ZeroMQ PAIR socket under trio, and the one client that it lets in.

Rule 1: ZeroMQ's descriptor tells of changes, not of states: it is waited for only after `EVENTS` was
    read and what is wanted was not in it. Each socket is used by one task, so nobody reads away what
    another waits for.
Rule 2: one client in the whole match. PAIR alone would leave a second one waiting, and would take a third
    one, or the first again, when the first is gone. So a doorkeeper (ZeroMQ's authentication protocol, ZAP,
    https://rfc.zeromq.org/spec/27) admits one handshake and refuses all others: nobody else's message
    ever reaches the socket.
Rule 3: ZeroMQ does not say that a client is gone, it waits for it to come back. The socket's monitor
    says so at once; it tells of descriptors, and the first message says which one is the client's.
"""

from __future__ import annotations

__all__ = ["PairLink"]

import struct
from typing import Final

import trio
import zmq
from trio.lowlevel import wait_readable

MAX_REPLY_BYTES: Final = 4096
"""A longer frame ends the connection. A right one has one or two bytes; this one can still be told of."""

QUEUED_MESSAGES: Final = 64
"""So many wait at either end of the socket; then TCP holds the client back."""

LINGER_MS: Final = 20
"""At most so long closing waits until the last message is with the operating system: it always is at once,
unless the client has stopped reading megabytes ago."""

_MONITORED: Final = zmq.Event.ACCEPTED | zmq.Event.HANDSHAKE_SUCCEEDED | zmq.Event.DISCONNECTED


class PairLink:
    """A PAIR socket that is bound, and its client.

    Args:
        endpoint: such as `tcp://127.0.0.1:5556`.

    Attributes:
        while_there: a scope to talk to the client in: cancelled when the client is lost.
        lost: why it is, or `None`.
        last_words: whether a last message is on its way to it.

    Raises:
        zmq.ZMQError: the endpoint cannot be bound.
    """

    def __init__(self, endpoint: str) -> None:
        self.while_there = trio.CancelScope()
        self.lost: str | None = None
        self._let_in = False
        self._shaken = False
        self._accepted: set[int] = set()
        self._client: int | None = None
        self.last_words = False
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        try:
            self._door = self._context.socket(zmq.REP)
            self._door.bind("inproc://zeromq.zap.01")
            self._socket = self._context.socket(zmq.PAIR)
            self._socket.set(zmq.ZAP_DOMAIN, b"flagfall")
            self._socket.set(zmq.IPV6, int("[" in endpoint))
            self._socket.set(zmq.SNDHWM, QUEUED_MESSAGES)
            self._socket.set(zmq.RCVHWM, QUEUED_MESSAGES)
            self._socket.set(zmq.MAXMSGSIZE, MAX_REPLY_BYTES)
            self._monitor: zmq.Socket[bytes] = self._socket.get_monitor_socket(int(_MONITORED))
            self._socket.bind(endpoint)
        except BaseException:
            self.close()
            raise

    @property
    def heard(self) -> bool:
        """Whether the client has said anything."""
        return self._client is not None

    # The client's talk; for one task.

    async def receive(self) -> list[bytes]:
        """The next message, as its frames. If it is cancelled, nothing was taken."""
        while (message := self.receive_nowait()) is None:
            await _until(self._socket, zmq.POLLIN)
        return message

    def receive_nowait(self) -> list[bytes] | None:
        """The next message, if there is one."""
        try:
            frames = self._socket.recv_multipart(zmq.NOBLOCK, copy=False)
        except zmq.Again:
            return None
        if self._client is None:
            self._meet(int(frames[0].get(zmq.SRCFD)))
        return [frame.bytes for frame in frames]

    async def send(self, data: bytes) -> None:
        """Send a message of one frame. If it is cancelled, it was not sent."""
        while True:
            try:
                self._socket.send(data, zmq.NOBLOCK)
            except zmq.Again:
                await _until(self._socket, zmq.POLLOUT)
            else:
                return

    def send_last(self, data: bytes) -> None:
        """Send a message that goes out before the socket is closed, if there still is a client."""
        try:
            self._socket.send(data, zmq.NOBLOCK)
        except zmq.Again:
            return
        self.last_words = True

    def lose(self, why: str) -> None:
        """Nobody is to be waited for any more."""
        if self.lost is None:
            self.lost = why
            self.while_there.cancel()

    def close(self) -> None:
        """Close the sockets and end ZeroMQ's threads."""
        self._context.destroy(linger=LINGER_MS if self.last_words else 0)

    # Who is there; each for a task of its own.

    async def keep_door(self) -> None:
        """Let one client in, and no other."""
        while True:
            await _until(self._door, zmq.POLLIN)
            version, request, *_who = self._door.recv_multipart(zmq.NOBLOCK)
            status = b"400" if self._let_in else b"200"
            self._let_in = True
            self._door.send_multipart([version, request, status, b"", b"", b""], zmq.NOBLOCK)

    async def watch(self) -> None:
        """Notice when the client is gone."""
        while True:
            await _until(self._monitor, zmq.POLLIN)
            event, _endpoint = self._monitor.recv_multipart(zmq.NOBLOCK)
            self._note(*struct.unpack("=Hi", event))  # as zmq_socket_monitor(3) has it

    def _note(self, event: int, fd: int) -> None:
        if event == zmq.Event.ACCEPTED:
            self._accepted.add(fd)
        elif event == zmq.Event.HANDSHAKE_SUCCEEDED:
            self._shaken = True
        elif event == zmq.Event.DISCONNECTED:
            self._accepted.discard(fd)
            if fd == self._client or (self._shaken and not self._accepted):
                self.lose("it disconnected")
            elif not self._accepted:  # it was let in, and vanished before its handshake was over
                self._let_in = False

    def _meet(self, fd: int) -> None:
        """The client said its first word, on this descriptor."""
        self._client = fd
        if self._shaken and fd not in self._accepted:
            self.lose("it disconnected")


async def _until(socket: zmq.Socket[bytes], events: int) -> None:
    """Wait until the socket is ready for this."""
    while not int(socket.get(zmq.EVENTS)) & events:
        await wait_readable(int(socket.get(zmq.FD)))
