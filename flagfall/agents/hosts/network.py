"""An agent on another host: it connects to a port of the match, and speaks the wire there.

| text | bytes |
|---|---|
| `tcp://ADDRESS:PORT` | as they are |
| `tls://ADDRESS:PORT` | over TLS |
| `ws://ADDRESS:PORT` | in messages of WebSocket |
| `wss://ADDRESS:PORT` | those over TLS |

`docs/protocol.md` tells what becomes of whom.
"""

from __future__ import annotations

__all__ = ["ANYBODY", "NetworkHost", "parse_network"]

import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, Literal

import trio

from flagfall.agents.connections.addresses import checked_address, checked_port, is_loopback, try_port
from flagfall.agents.connections.admission import SeriesDoor
from flagfall.agents.spec import NETWORK, is_network
from flagfall.agents.wire.admission import Door, Joining, Opening
from flagfall.agents.wire.session import Payloads, WireTalk
from flagfall.errors import AgentFault, UsageError, suggest
from flagfall.kernel.channels.pipes import Bytes, PayloadPipe
from flagfall.kernel.hosting import Briefing
from flagfall.kernel.seat import Seat
from flagfall.timing import TimeControl

MAX_UNASKED: Final = 1_000
"""So many messages that answer nothing may come while one answer is waited for; then the agent is out."""

ANYBODY: Final = Joining()


class NetworkHost:
    """Waits for an agent to connect, and plays the seat with it.

    The port is tried at once, so that a wrong one is reported before anything is played. It is bound while a
    match is played, or over a whole series (`flagfall.agents.connections.admission.open_series`).

    Args:
        scheme: `tcp`, `tls`, `ws` or `wss`.
        port: where to bind, 1 to 65535.
        address: an IP address of this machine, `localhost`, or `*` for all.
        joining: who may join; beyond this machine that needs a token.
        name: for tables and records.

    Raises:
        UsageError: a value that cannot be, a port that is not free, no library for WebSocket.
    """

    kind: Literal["process"] = "process"

    def __init__(
        self,
        scheme: str,
        port: int,
        address: str,
        joining: Joining = ANYBODY,
        name: str | None = None,
    ) -> None:
        if scheme not in NETWORK:
            raise UsageError(f"unknown scheme {scheme!r}{suggest(scheme, NETWORK)}")
        self._port = checked_port(port)
        self._address = checked_address(address)
        self.name = name or f"{scheme}://{address}:{port}"
        self._joining = joining
        self._context = joining.context() if scheme in {"tls", "wss"} else None
        if joining.certificate is not None and self._context is None:
            raise UsageError(f"{self.name} is not secured: with a certificate write tls:// or wss://")
        if not is_loopback(self._address):
            self._need_token()
        self._doors = SeriesDoor(self._opened)
        self._open = _lines if scheme in {"tcp", "tls"} else _web(browsers=bool(joining.token))
        try_port(self._address, port)

    def _need_token(self) -> None:
        if not self._joining.token:
            raise UsageError(
                f"{self.name}: others can reach it, so an agent needs a token: name a token file"
            )
        if self._context is None:
            warnings.warn(
                f"{self.name} is not secured: whoever sees the network sees the token; use tls:// or wss://",
                stacklevel=4,
            )

    def check(self, control: TimeControl) -> None:
        """Whether the agent can be timed like that.

        Raises:
            UsageError: it cannot; the message says why.
        """
        if control.clock == "cpu":
            raise UsageError(
                f"clock=cpu cannot time {self.name}: the CPU time of another host is not known here;"
                " use clock=wall"
            )

    @asynccontextmanager
    async def series(self) -> AsyncIterator[None]:
        """Keep the port open over several matches; see `flagfall.agents.connections.admission.open_series`.

        Raises:
            HostFault: it cannot be bound.
        """
        async with self._doors.series():
            yield

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Door]:
        door = Door(self._joining, self._open, self._context, self.name)
        async with door.admission.opened(self._address, self._port):
            yield door

    async def run(self, seat: Seat, briefing: Briefing) -> None:
        """Play the seat; see `flagfall.kernel.match.AgentHost`."""
        try:
            await seat.turn()
        except trio.EndOfChannel:
            return
        self.check(seat.budget.control)
        async with self._doors.for_match() as door:
            await self._play(door, seat, briefing)

    async def _play(self, door: Door, seat: Seat, briefing: Briefing) -> None:
        """Play until the match is over, with whoever has the place."""
        with door.place() as place:
            seat.absence = place.absence
            talk = WireTalk(seat, briefing, max_unasked=MAX_UNASKED, match=place.match)
            while True:
                wire = await place.arrival()
                try:
                    with place.in_place():
                        await talk.come_up(wire)
                        await talk.ask(wire)
                        door.leave(place)  # before `bye`: the agent may come for the next match at once
                        await talk.part(wire)
                        return
                except AgentFault as fault:
                    if fault.reason != "gone" or (talk.is_up and not self._joining.reconnect):
                        raise
                    place.held = talk.is_up  # it left before it was ready: another one may come
                finally:
                    wire.close()


async def _lines(pipe: Bytes) -> Payloads:
    return PayloadPipe(pipe)


def _web(*, browsers: bool) -> Opening:
    try:
        from flagfall.agents.wire.websocket import WebSocketPayloads  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UsageError("WebSocket needs wsproto: pip install 'flagfall[web]'") from error

    async def accept(pipe: Bytes) -> Payloads:
        payloads = WebSocketPayloads(pipe, server=True)
        await payloads.accept(browsers=browsers)
        return payloads

    return accept


def parse_network(text: str, joining: Joining = ANYBODY, name: str | None = None) -> NetworkHost:
    """The host for a text such as `tcp://127.0.0.1:7777`, `wss://*:7777` or `tls://[::1]:7777`.

    Args:
        text: see there.
        joining: who may join.
        name: for tables and records.

    Raises:
        UsageError: it is no such text, or there can be no such host.
    """
    scheme, _, rest = text.partition("://")
    address, _, port = rest.rpartition(":")
    if not (is_network(text) and address and port.isdecimal() and port.isascii()):
        raise UsageError(f"no address for an agent: {text!r}; write such as tcp://127.0.0.1:7777")
    return NetworkHost(scheme, int(port), address, joining, name)
