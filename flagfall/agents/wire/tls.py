"""Byte streams over sockets of trio: TCP, and TLS, which cannot be spoken over a descriptor alone."""

from __future__ import annotations

__all__ = ["TlsStream", "tcp_stream", "tls_stream"]

import socket
from ssl import SSLContext

import trio

from flagfall.kernel.channels.pipes import READ_BYTES, ByteStream, TcpStream


class TlsStream:
    """Bytes over TLS over a socket; closing it closes the socket without a closing handshake.

    Args:
        stream: a connection after its handshake.
    """

    def __init__(self, stream: trio.SSLStream[trio.SocketStream]) -> None:
        self._stream = stream

    async def write(self, data: bytes) -> None:
        """Write all of it. If it is cancelled, part may have been sent: close the stream then.

        Args:
            data: the bytes.

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
        self._stream.transport_stream.socket.close()


def tcp_stream(stream: trio.SocketStream) -> TcpStream:
    """Return a byte stream over a TCP connection, which replaces the given stream.

    Args:
        stream: a connection.
    """
    return TcpStream(socket.socket(fileno=stream.socket.detach()))


async def tls_stream(
    stream: trio.SocketStream, context: SSLContext, server_hostname: str | None = None
) -> ByteStream:
    """Perform the handshake of TLS; return a byte stream that replaces the given stream.

    Args:
        stream: a connection.
        context: the TLS settings.
        server_hostname: the name that the other end must prove; `None` at the server's end.

    Raises:
        trio.BrokenResourceError: the other end does not speak TLS, or does not prove its name.
    """
    server = server_hostname is None
    ours = trio.SocketStream(trio.socket.from_stdlib_socket(socket.socket(fileno=stream.socket.detach())))
    safe = trio.SSLStream(
        ours, context, server_hostname=server_hostname, server_side=server, https_compatible=True
    )
    try:
        await safe.do_handshake()
    except BaseException:
        ours.socket.close()
        raise
    return TlsStream(safe)
