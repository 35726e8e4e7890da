"""Host of an agent that connects to a port of this machine, and speaks the agent protocol.

| text | bytes |
|---|---|
| `tcp://ADDRESS:PORT` | plain |
| `tls://ADDRESS:PORT` | over TLS |
| `ws://ADDRESS:PORT` | in WebSocket messages |
| `wss://ADDRESS:PORT` | in WebSocket messages over TLS |

`docs/protocol.md` describes the protocol, and the outcome of every kind of connection.
"""

from __future__ import annotations

import warnings

from flagfall.agents.admission import is_loopback
from flagfall.agents.listening import ListeningHost
from flagfall.agents.spec import NETWORK
from flagfall.agents.wire.admission import AgentAdmission, JoinPolicy, MatchPlace, StreamFactory
from flagfall.agents.wire.session import MAX_UNSOLICITED, MessageStream, WireSession
from flagfall.errors import AgentFault, UsageError, suggest
from flagfall.kernel.channels.pipes import ByteStream, FramedStream
from flagfall.kernel.channels.turn_channel import Envelope
from flagfall.kernel.hosting import Briefing, HostKind
from flagfall.kernel.seat import HostSeat


class NetworkHost(ListeningHost[AgentAdmission]):
    """Waits for an agent to connect, and plays the seat with it.

    The port is tried at once, so that a wrong one is reported before anything is played.

    Args:
        join_policy: which agents may join; beyond this machine that needs a token.

    Raises:
        UsageError: a value is invalid, the port is not free, or the library for WebSocket is missing.
    """

    kind: HostKind = "remote"

    def __init__(
        self,
        scheme: str,
        port: int,
        address: str,
        join_policy: JoinPolicy | None = None,
        name: str | None = None,
    ) -> None:
        if scheme not in NETWORK:
            raise UsageError(f"unknown scheme {scheme!r}{suggest(scheme, NETWORK)}")
        super().__init__(address, port, name or f"{scheme}://{address}:{port}")
        self._join_policy = join_policy = join_policy or JoinPolicy()
        self._context = join_policy.context() if scheme in {"tls", "wss"} else None
        if join_policy.certificate is not None and self._context is None:
            raise UsageError(f"{self.name} is not secured: with a certificate write tls:// or wss://")
        if not is_loopback(self.address):
            self._need_token()
        self._open = _open_lines if scheme in {"tcp", "tls"} else _web(browsers=bool(join_policy.token))
        self.try_port()

    def _need_token(self) -> None:
        if not self._join_policy.token:
            raise UsageError(
                f"{self.name}: others can reach it, so an agent needs a token: name a token file"
            )
        if self._context is None:
            warnings.warn(
                f"{self.name} is not secured: anyone who reads the network sees the token; use tls:// or"
                " wss://",
                stacklevel=5,
            )

    def make_admission(self) -> AgentAdmission:
        """Return a new admission of agents with the right token."""
        return AgentAdmission(self._join_policy, self._open, self._context, self.name)

    async def play(
        self,
        admission: AgentAdmission,
        seat: HostSeat,
        briefing: Briefing,
        start: Envelope,  # noqa: ARG002 - the session reports the start itself
        *,
        in_series: bool,  # noqa: ARG002 - an agent leaves after each match
    ) -> None:
        """Play until the match is over, with the agent that holds the place; see `ListeningHost.play`."""
        with admission.occupied_by(MatchPlace(admission)) as place:
            seat.absence = place.absence
            session = WireSession(seat, briefing, max_unsolicited=MAX_UNSOLICITED, match=place.match)
            while True:
                channel = (await place.next()).channel
                try:
                    with place.in_place():
                        await session.start(channel)
                        if seat.hold is None:
                            seat.clock.use_arrivals(channel.age_ns)
                        await session.play(channel)
                        admission.leave(place)  # before `bye`: the agent may join the next match at once
                        await session.end(channel)
                        return
                except AgentFault as fault:
                    if fault.reason != "gone" or (session.is_up and not self._join_policy.reconnect):
                        raise
                    place.held = session.is_up  # it left before it was ready: another one may come
                finally:
                    channel.close()


async def _open_lines(connection: ByteStream) -> MessageStream:
    return FramedStream(connection)


def _web(*, browsers: bool) -> StreamFactory:
    try:
        from flagfall.agents.wire.websocket import WebSocketStream  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UsageError("WebSocket needs wsproto: pip install 'flagfall[web]'") from error

    async def accept(connection: ByteStream) -> MessageStream:
        stream = WebSocketStream(connection, server=True)
        await stream.accept(browsers=browsers)
        return stream

    return accept
