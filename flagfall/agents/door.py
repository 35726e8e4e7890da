"""Where agents from elsewhere come in: shakes hands, asks who is there, and lets one at a time to the seat.

| who comes | what becomes of it |
|---|---|
| says nothing that is a `join`, or not within `HANDSHAKE_SECONDS` | the line is closed |
| has another token | `refused`: `token` |
| comes while the seat is taken | `refused`: `taken`; where a lost agent may come back, it takes the place |
| comes while `MAX_WAITING` others shake hands | the line is closed |

None of that costs the seat anything but time.
"""

from __future__ import annotations

__all__ = ["Door", "Joining", "Opening"]

import hmac
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

import attrs
import trio

from flagfall.agents.streams import bytes_of, secured
from flagfall.agents.wire import Join, Refused, decode_from_agent, encode
from flagfall.agents.wire_host import Payloads, Wire
from flagfall.errors import UsageError
from flagfall.kernel.channels.framing import MAX_FRAME_BYTES
from flagfall.kernel.channels.pipes import Bytes

HANDSHAKE_SECONDS: Final = 5.0
"""How long somebody may take to say who it is, TLS and WebSocket included: some trips around the world."""

MAX_WAITING: Final = 8
"""So many may shake hands at the same time; an agent is one, and tries again."""

MAX_JOIN_BYTES: Final = 4 * 1024
"""The longest message of somebody that is not known yet."""

MAX_TOKEN_CHARS: Final = 1024
"""As `join` has it."""

Opening: TypeAlias = Callable[[Bytes], Awaitable[Payloads]]
"""Turns bytes that came in into payloads; raises as a `Payloads` does when it receives."""


@attrs.frozen
class Joining:
    """Who may join, and how.

    Attributes:
        token: what an agent must say; empty for none. Never shown.
        certificate: a file with the chain of this host, in PEM, for TLS.
        key: a file with its key; `None` where it is in the same one.
        reconnect: whether an agent whose line is lost may come back while it has time. It must have a token.
        max_message_bytes: the longest message of an agent.

    Raises:
        UsageError: a value that cannot be.
    """

    token: str = attrs.field(default="", repr=False)
    certificate: Path | None = None
    key: Path | None = None
    reconnect: bool = False
    max_message_bytes: int = MAX_FRAME_BYTES

    def __attrs_post_init__(self) -> None:
        if self.reconnect and not self.token:
            raise UsageError(
                "an agent can come back only where it has a token: anybody could say it is the one"
            )
        if self.key is not None and self.certificate is None:
            raise UsageError("a key goes with a certificate")
        if not 0 < self.max_message_bytes <= MAX_FRAME_BYTES:
            raise UsageError(f"max_message_bytes: write 1 to {MAX_FRAME_BYTES}")

    @classmethod
    def read_token(cls, file: Path) -> str:
        """The token in a file: its text, without white space around it.

        Raises:
            UsageError: there is none.
        """
        try:
            token = file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"token file {file}: {error}") from None
        if not 0 < len(token) <= MAX_TOKEN_CHARS:
            raise UsageError(f"token file {file}: write a token of 1 to {MAX_TOKEN_CHARS} characters")
        return token

    def context(self) -> ssl.SSLContext:
        """How connections are secured.

        Raises:
            UsageError: the certificate cannot be used.
        """
        if self.certificate is None:
            raise UsageError("TLS needs a certificate: name its file, and that of its key")
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(self.certificate, self.key, password=_no_password)
        except (OSError, ValueError) as error:
            raise UsageError(f"certificate {self.certificate}: {error}") from None
        return context


def _no_password() -> str:
    raise ValueError("its key has a password: give one without")


class Door:
    """Lets agents in, one after the other.

    Args:
        joining: who may.
        open_payloads: what is spoken over the bytes.
        context: how they are secured; `None` for not at all.
    """

    def __init__(self, joining: Joining, open_payloads: Opening, context: ssl.SSLContext | None) -> None:
        self._joining = joining
        self._open_payloads = open_payloads
        self._context = context
        self._waiting = 0
        self._place: trio.CancelScope | None = None
        self._give, self._arrivals = trio.open_memory_channel[Wire](1)
        self._taken = False

    async def keep(self, listeners: list[trio.SocketListener]) -> None:
        """Let agents in, for ever."""
        await trio.serve_listeners(self._meet, listeners)

    async def arrival(self) -> Wire:
        """The next agent, which has the place from now on."""
        return await self._arrivals.receive()

    @contextmanager
    def in_place(self) -> Iterator[trio.CancelScope]:
        """While an agent plays; cancelled when another one takes the place."""
        try:
            with trio.CancelScope() as self._place:
                yield self._place
        finally:
            self._place = None

    async def _meet(self, stream: trio.SocketStream) -> None:
        if self._waiting >= MAX_WAITING:
            stream.socket.close()
            return
        self._waiting += 1
        try:
            with trio.move_on_after(HANDSHAKE_SECONDS):
                await self._shake_hands(stream)
        finally:
            self._waiting -= 1

    async def _shake_hands(self, stream: trio.SocketStream) -> None:
        pipe: Bytes | None = None
        kept = False
        try:
            pipe = bytes_of(stream) if self._context is None else await secured(stream, self._context)
            payloads = await self._open_payloads(pipe)
            payloads.allow(MAX_JOIN_BYTES)
            join = decode_from_agent(await payloads.receive(), "json")
            refused = self._judge(join) if isinstance(join, Join) else Refused("garbage", "expected join")
            if refused is not None:
                await payloads.send(encode(refused, "json"))
                return
            payloads.allow(self._joining.max_message_bytes)
            self._let_in(Wire(payloads))
            kept = True
        except Exception:  # noqa: BLE001, S110 - whatever a stranger does, and in whose code: no seat pays
            pass
        finally:
            if pipe is not None and not kept:
                pipe.close()

    def _judge(self, join: Join) -> Refused | None:
        if self._joining.token and not hmac.compare_digest(join.token.encode(), self._joining.token.encode()):
            return Refused("token", "it is not the right one")
        if self._taken and not self._joining.reconnect:
            return Refused("taken", "the seat has its agent")
        return None

    def _let_in(self, wire: Wire) -> None:
        """Give it the place; whoever had it is cancelled, whoever waited for it is turned away."""
        self._taken = True
        with suppress(trio.WouldBlock):
            self._arrivals.receive_nowait().close()
        self._give.send_nowait(wire)
        if self._place is not None:
            self._place.cancel()
