"""A stream of trio as the bytes that `FramedStream` wants: for TLS, which no descriptor alone can speak."""

from __future__ import annotations

__all__ = ["TlsStream", "tcp_stream", "tls_stream"]

import socket
from ssl import SSLContext

import trio

from flagfall.kernel.channels.pipes import READ_BYTES, ByteStream, TcpStream


class TlsStream:
    """ByteStream over TLS over a socket; closing it closes the socket, without a word."""

    def __init__(self, stream: trio.SSLStream[trio.SocketStream]) -> None:
        self._stream = stream

    async def write(self, data: bytes) -> None:
        """Write all of it. If it is cancelled, part may be out: close it then.

        Raises:
            trio.BrokenResourceError: the other end is gone.
        """
        try:
            await self._stream.send_all(data)
        except trio.ClosedResourceError as error:
            raise trio.BrokenResourceError("closed") from error

    async def read(self) -> bytes:
        """What there is, up to `READ_BYTES`; nothing when the other end has closed."""
        try:
            return bytes(await self._stream.receive_some(READ_BYTES))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return b""

    def close(self) -> None:
        """Close the socket."""
        self._stream.transport_stream.socket.close()


def tcp_stream(stream: trio.SocketStream) -> TcpStream:
    """Return the connection as bytes; the stream is given up for it."""
    return TcpStream(socket.socket(fileno=stream.socket.detach()))


async def tls_stream(
    stream: trio.SocketStream, context: SSLContext, server_hostname: str | None = None
) -> ByteStream:
    """The bytes of a stream that speaks TLS from now on; the stream is given up for it.

    Args:
        stream: a connection.
        context: how it is tls_stream.
        server_hostname: whom the other end must prove to be; `None` for the server's end.

    Raises:
        trio.BrokenResourceError: the other end does not speak it, or proves to be somebody else.
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
