"""Admission of agents that speak the agent protocol over a network: checks tokens, seats one agent at a time.

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

import hmac
import secrets
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

import attrs
import trio

from flagfall.agents.admission import Admission, Place, Refusal, is_hung_up
from flagfall.agents.wire.messages import Join, Joined, Refused, decode_from_agent, encode
from flagfall.agents.wire.session import MessageStream, ProtocolChannel
from flagfall.agents.wire.tls import tcp_stream, tls_stream
from flagfall.errors import UsageError
from flagfall.kernel.channels.framing import MAX_FRAME_BYTES
from flagfall.kernel.channels.pipes import ByteStream

MAX_JOIN_BYTES: Final = 4 * 1024
"""The longest message of an agent that is not authenticated."""

MAX_TOKEN_CHARS: Final = 1024
"""The longest token, as in `join`."""

MATCH_ID_BYTES: Final = 8
"""Random bytes of the id by which an agent that comes back names its match: enough to have no two alike."""

StreamFactory: TypeAlias = Callable[[ByteStream], Awaitable[MessageStream]]
"""Opens a message stream over the bytes of a new connection; raises as `MessageStream.receive` does."""


@attrs.frozen
class JoinPolicy:
    """Rules for agents that connect: which ones may join, and how.

    Attributes:
        token: the token that an agent must send; empty for none. Never shown.
        certificate: a file with the certificate chain of this host, in PEM, for TLS.
        key: a file with its key; `None` if the key is in the same file.
        reconnect: an agent whose connection is lost may come back while it has time. It must have a token.
        max_message_bytes: the longest message of an agent.

    Raises:
        UsageError: a value is invalid.
    """

    token: str = attrs.field(default="", repr=False)
    certificate: Path | None = None
    key: Path | None = None
    reconnect: bool = False
    max_message_bytes: int = MAX_FRAME_BYTES

    def __attrs_post_init__(self) -> None:
        if self.reconnect and not self.token:
            what = "an agent may come back only where it has a token"
            raise UsageError(f"{what}: without one, any client could take its place")
        if self.key is not None and self.certificate is None:
            raise UsageError("a key goes with a certificate")
        if not 0 < self.max_message_bytes <= MAX_FRAME_BYTES:
            raise UsageError(f"max_message_bytes: write 1 to {MAX_FRAME_BYTES}")

    @classmethod
    def read_token(cls, file: Path) -> str:
        """Return the token in a file: its text, without white space around it.

        Raises:
            UsageError: the file cannot be read, or holds no token.
        """
        try:
            token = file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"token file {file}: {error}") from None
        if not 0 < len(token) <= MAX_TOKEN_CHARS:
            raise UsageError(f"token file {file}: write a token of 1 to {MAX_TOKEN_CHARS} characters")
        return token

    def context(self) -> ssl.SSLContext:
        """Return the TLS settings of connections.

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
class _JoinedAgent:
    """An agent that has sent the right token."""

    channel: ProtocolChannel
    _is_closed: Callable[[], bool]

    def is_open(self) -> bool:
        return not self._is_closed()

    def close(self) -> None:
        self.channel.close()


class AgentAdmission(Admission[_JoinedAgent, "MatchPlace"]):
    """Admits agents, and hands them to the match that is being played.

    Args:
        context: TLS settings; `None` for connections that are not secured.
    """

    def __init__(
        self, join_policy: JoinPolicy, open_stream: StreamFactory, context: ssl.SSLContext | None, where: str
    ) -> None:
        super().__init__(where)
        self._join_policy = join_policy
        self._open_stream = open_stream
        self._context = context

    async def authenticate(self, stream: trio.SocketStream) -> _JoinedAgent:
        """Secure a connection and check its `join`; see `Admission.authenticate`."""
        fd = stream.socket.fileno()
        connection: ByteStream | None = None
        try:
            context = self._context
            connection = tcp_stream(stream) if context is None else await tls_stream(stream, context)
            return await self.join(connection, partial(is_hung_up, fd))
        except BaseException:
            if connection is not None:
                connection.close()
            raise

    async def join(self, connection: ByteStream, is_closed: Callable[[], bool]) -> _JoinedAgent:
        """Check the `join` of a connection that is secured; raises as `Admission.authenticate` does.

        Args:
            is_closed: returns whether the other end has closed, even if data before that is unread.
        """
        messages = await self._open_stream(connection)
        messages.allow(MAX_JOIN_BYTES)
        await self._check_join(messages)
        messages.allow(self._join_policy.max_message_bytes)
        return _JoinedAgent(ProtocolChannel(messages), is_closed)

    async def _check_join(self, messages: MessageStream) -> None:
        """Receive and check `join`; raises `Refusal` if the agent may not join, which was sent the reason."""
        join = decode_from_agent(await messages.receive(), "json")
        token = self._join_policy.token.encode()
        if not isinstance(join, Join):
            refused: Refused | None = Refused("garbage", "expected join")
        elif token and not hmac.compare_digest(join.token.encode(), token):
            refused = Refused("token", "it is not the right one")
        else:
            if join.match is not None:
                await messages.send(encode(Joined(), "json"))
            refused = self._find_place(join)
        if refused is not None:
            await messages.send(encode(refused, "json"))
            raise Refusal(f"{refused.reason}: {refused.detail}")

    def _find_place(self, join: Join) -> Refused | None:
        """Decide if an agent with the right token can play or wait; makes place for one that is back."""
        place, again = self.occupant, self._join_policy.reconnect
        if join.match and (place is None or place.match != join.match or not again):
            return Refused("over", "that match is over, or agents may not come back to it")
        if place is not None and again:
            self.discard_waiting()
            place.displace()
        elif place is not None and (place.held or self.has_waiting()):
            return Refused("taken", "the seat has its agent")
        if self.is_full():
            return Refused("taken", "others wait for the seat")
        return None


class MatchPlace(Place[_JoinedAgent]):
    """The place of one match, from which an agent that comes back displaces its lost connection."""

    def __init__(self, admission: AgentAdmission) -> None:
        super().__init__(admission)
        self.match: str = secrets.token_hex(MATCH_ID_BYTES)
        self._scope: trio.CancelScope | None = None

    @contextmanager
    def in_place(self) -> Iterator[trio.CancelScope]:
        """Let an agent play; the body is cancelled when another connection takes the place."""
        try:
            with trio.CancelScope() as self._scope:
                yield self._scope
        finally:
            self._scope = None

    def displace(self) -> None:
        """Take the place from the connection that has it."""
        if self._scope is not None:
            self._scope.cancel()
