"""Admission of agents that speak the wire over a network: checks tokens, and seats one agent at a time.

| the connection | its outcome |
|---|---|
| sends no `join` within `HANDSHAKE_SECONDS`, or when places are short | the connection is closed |
| has another token | `refused`: `token` |
| comes while the seat is taken | `refused`: `taken`; where a lost agent may come back, it takes the place |
| comes back to a match that is over | `refused`: `over` |
| comes between matches | it waits for the next one, with up to `MAX_WAITING - 1` others |

None of that costs the seat anything but time.
"""

from __future__ import annotations

__all__ = ["Door", "Joining", "Opening", "Place"]

import hmac
import secrets
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

import attrs
import trio

from flagfall.agents.connections.admission import Admission, Refusal
from flagfall.agents.connections.handshakes import is_hung_up
from flagfall.agents.wire.messages import Join, Joined, Refused, decode_from_agent, encode
from flagfall.agents.wire.session import Payloads, Wire
from flagfall.agents.wire.tls import bytes_of, secured
from flagfall.errors import AgentFault, UsageError
from flagfall.kernel.channels.framing import MAX_FRAME_BYTES
from flagfall.kernel.channels.pipes import Bytes

MAX_JOIN_BYTES: Final = 4 * 1024
"""The longest message of somebody that is not known yet."""

MAX_TOKEN_CHARS: Final = 1024
"""As `join` has it."""

MATCH_ID_BYTES: Final = 8
"""Random bytes of the id by which an agent that comes back names its match: enough to have no two alike."""

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


@attrs.frozen
class _Guest:
    """An agent that has sent the right token."""

    wire: Wire
    _fd: int

    def is_open(self) -> bool:
        return not is_hung_up(self._fd)

    def close(self) -> None:
        self.wire.close()


class Door:
    """Lets agents in, for all matches of a series, and hands them to the match that is being played.

    Args:
        joining: who may.
        open_payloads: what is spoken over the bytes.
        context: how they are secured; `None` for not at all.
        where: the address, for messages.

    Attributes:
        admission: those that have joined.
    """

    def __init__(
        self, joining: Joining, open_payloads: Opening, context: ssl.SSLContext | None, where: str
    ) -> None:
        self.where = where
        self._joining = joining
        self._open_payloads = open_payloads
        self._context = context
        self.admission = Admission(self._authenticate)
        self._place: Place | None = None

    @contextmanager
    def place(self) -> Iterator[Place]:
        """Open the place of one match: agents that join while it lasts, or wait already, are for that match.

        Raises:
            UsageError: another seat plays with the agent of this address.
        """
        if self._place is not None:
            raise UsageError(f"{self.where}: two seats at a time with one address: give each one its own")
        place = self._place = Place(self.admission, self.where)
        try:
            yield place
        finally:
            self.leave(place)

    def leave(self, place: Place) -> None:
        """Give up a place: agents that join from now on are for the next match."""
        if self._place is place:
            self._place = None

    async def _authenticate(self, stream: trio.SocketStream) -> _Guest:
        fd = stream.socket.fileno()
        pipe: Bytes | None = None
        try:
            pipe = bytes_of(stream) if self._context is None else await secured(stream, self._context)
            payloads = await self._open_payloads(pipe)
            payloads.allow(MAX_JOIN_BYTES)
            await self._join(payloads)
            payloads.allow(self._joining.max_message_bytes)
            return _Guest(Wire(payloads), fd)
        except BaseException:
            if pipe is not None:
                pipe.close()
            raise

    async def _join(self, payloads: Payloads) -> None:
        """Receive and check `join`.

        Raises:
            Refusal: it may not join; it has been sent the reason.
        """
        join = decode_from_agent(await payloads.receive(), "json")
        token = self._joining.token.encode()
        if not isinstance(join, Join):
            refused: Refused | None = Refused("garbage", "expected join")
        elif token and not hmac.compare_digest(join.token.encode(), token):
            refused = Refused("token", "it is not the right one")
        else:
            if join.match is not None:
                await payloads.send(encode(Joined(), "json"))
            refused = self._find_place(join)
        if refused is not None:
            await payloads.send(encode(refused, "json"))
            raise Refusal(refused.reason)

    def _find_place(self, join: Join) -> Refused | None:
        """Decide whether an agent with the right token can play or wait; makes place for one that is back."""
        place, again = self._place, self._joining.reconnect
        if join.match and (place is None or place.match != join.match or not again):
            return Refused("over", "that match is over, or agents may not come back to it")
        if place is not None and again:
            self.admission.discard_waiting()
            place.displace()
        elif place is not None and (place.held or self.admission.has_waiting()):
            return Refused("taken", "the seat has its agent")
        if self.admission.is_full():
            return Refused("taken", "others wait for the seat")
        return None


class Place:
    """The place of one match at the door.

    Attributes:
        match: the id by which an agent that comes back names the match.
        held: an agent has joined this match.
    """

    def __init__(self, admission: Admission[_Guest], where: str) -> None:
        self.match = secrets.token_hex(MATCH_ID_BYTES)
        self.held = False
        self._admission = admission
        self._where = where
        self._census = admission.census()
        self._scope: trio.CancelScope | None = None

    async def arrival(self) -> Wire:
        """Return the wire of the next agent, which has the place from now on."""
        guest = await self._admission.next()
        self.held = True
        return guest.wire

    @contextmanager
    def in_place(self) -> Iterator[trio.CancelScope]:
        """While an agent plays; cancelled when another one takes the place."""
        try:
            with trio.CancelScope() as self._scope:
                yield self._scope
        finally:
            self._scope = None

    def displace(self) -> None:
        """Take the place from the agent that has it."""
        if self._scope is not None:
            self._scope.cancel()

    def absence(self) -> AgentFault | None:
        """Explain why the seat is empty; `None` where an agent has joined, and is merely late."""
        return None if self.held else self._census.absence(self._where)
