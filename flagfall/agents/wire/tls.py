"""Byte streams over sockets of trio: TCP, and TLS, which cannot be spoken over a descriptor alone."""

from __future__ import annotations

import socket
from collections.abc import Callable
from ssl import SSLContext

import trio

from flagfall.kernel.channels.pipes import READ_BYTES, ByteStream, TcpStream


class _Transport(trio.abc.Stream):
    """A `TcpStream` with the interface of trio, for TLS to be spoken over."""

    def __init__(self, stream: TcpStream) -> None:
        self.stream = stream

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self.stream.write(memoryview(data))

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:  # noqa: ARG002 - trio takes more, too
        return await self.stream.read()

    async def aclose(self) -> None:
        self.stream.close()
        await trio.lowlevel.checkpoint()


class TlsStream:
    """Bytes over TLS over a socket; closing it closes the socket without a closing handshake."""

    def __init__(self, stream: trio.SSLStream[_Transport]) -> None:
        self._stream = stream
        self.age_ns: Callable[[], int | None] = stream.transport_stream.stream.age_ns

    async def write(self, data: bytes) -> None:
        """Write all of it. If it is cancelled, part may have been sent: close the stream then.

        Raises:
            trio.BrokenResourceError: the other end is gone.
        """
        try:
            await self._stream.send_all(data)
        except trio.ClosedResourceError as error:
            raise trio.BrokenResourceError("closed") from error

    async def read(self) -> bytes:
        """Return the bytes that have come, up to `READ_BYTES`; nothing when the other end has closed."""
        try:
            return bytes(await self._stream.receive_some(READ_BYTES))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return b""

    def close(self) -> None:
        """Close the socket."""
        self._stream.transport_stream.stream.close()


def tcp_stream(stream: trio.SocketStream) -> TcpStream:
    """Return a byte stream over a TCP connection, which replaces the given stream."""
    return TcpStream(socket.socket(fileno=stream.socket.detach()))


async def tls_stream(
    stream: trio.SocketStream, context: SSLContext, server_hostname: str | None = None
) -> ByteStream:
    """Perform the handshake of TLS; return a byte stream that replaces the given stream.

    Args:
        server_hostname: the name that the other end must prove; `None` at the server's end.

    Raises:
        trio.BrokenResourceError: the other end does not speak TLS, or does not prove its name.
    """
    server = server_hostname is None
    ours = tcp_stream(stream)
    safe = trio.SSLStream(
        _Transport(ours), context, server_hostname=server_hostname, server_side=server, https_compatible=True
    )
    try:
        await safe.do_handshake()
    except BaseException:
        ours.close()
        raise
    return TlsStream(safe)
