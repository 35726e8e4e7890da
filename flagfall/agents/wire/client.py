"""The agent's end over a network: connects to a host, says who it is, and plays any Python agent there.

A thread carries payloads between the network and a pair of sockets, where the agent is played as in a process
of the host's own (`flagfall.agents.wire.worker`); so the agent has the main thread, and any loop that it
likes.

Where the line is lost and the agent may come back, that thread answers for it what it has said already: an
agent notices nothing but time. Where the line is lost before `hello`, or the seat is taken, it tries again
with growing pauses, for the whole time that an agent is to wait.
"""

from __future__ import annotations

__all__ = ["Invitation", "play_as_guest"]

import random
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any, Final

import attrs
import trio
from msgspec import UNSET

from flagfall.agents.connections.admission import KEEPALIVE_SECONDS
from flagfall.agents.spec import NETWORK
from flagfall.agents.wire.admission import MAX_TOKEN_CHARS
from flagfall.agents.wire.messages import (
    Answer,
    Ask,
    Bye,
    Encoding,
    Failed,
    FromAgent,
    Hello,
    Join,
    Joined,
    Ready,
    Refused,
    Skip,
    ToAgent,
    decode_from_agent,
    decode_to_agent,
    encode,
)
from flagfall.agents.wire.session import Payloads
from flagfall.agents.wire.tls import bytes_of, secured
from flagfall.agents.wire.worker import serve
from flagfall.errors import AgentFault, HostFault, UsageError, suggest
from flagfall.kernel.channels.codecs import CodecError
from flagfall.kernel.channels.framing import FrameError
from flagfall.kernel.channels.lines import LineError
from flagfall.kernel.channels.pipes import BytePipe, PayloadPipe

FIRST_PAUSE_SECONDS: Final = 0.05
"""The longest pause after the first attempt that failed. Each further one may be twice as long: many agents
that wait for one host do not keep it busy."""

MAX_PAUSE_SECONDS: Final = 1.0
"""The longest pause: an agent finds a match within a second of its start, of the ten seconds that it has."""

ONE_TRY_SECONDS: Final = 5.0
"""The longest time of one attempt, up to the first message of the host."""

_LAST_SECONDS: Final = 2.0
"""How long the thread has to send the last words."""

_LOST: Final = (
    trio.EndOfChannel,
    trio.BrokenResourceError,
    trio.ClosedResourceError,
    FrameError,
    LineError,
    CodecError,
)


@attrs.frozen
class Invitation:
    """Where to connect, and how.

    Attributes:
        scheme: `tcp`, `tls`, `ws` or `wss`.
        host: a name or an address.
        port: likewise.
        token: what to say; empty for none. Never shown.
        authority: a file with the certificates to trust, in PEM; `None` for those of the system.
        wait_seconds: how long to try to join, at first and after a loss. The time between joining and the
            beginning of the match is not counted.
        reconnect: come back where the line is lost.
    """

    scheme: str
    host: str
    port: int
    token: str = attrs.field(default="", repr=False)
    authority: Path | None = None
    wait_seconds: float = 10.0
    reconnect: bool = False

    @classmethod
    def parse(cls, url: str, **more: Any) -> Invitation:
        """From a text such as `tcp://arena.example:7777`; `more` are the other attributes.

        Raises:
            UsageError: it is no such text.
        """
        scheme, found, rest = url.partition("://")
        host, _, port = rest.partition("/")[0].rpartition(":")
        if not found or scheme not in NETWORK:
            raise UsageError(f"no address of a host: {url!r}{suggest(scheme, NETWORK)}")
        if not host or not (port.isdecimal() and port.isascii()):
            raise UsageError(f"no address of a host: {url!r}; write such as {scheme}://arena.example:7777")
        return cls(scheme, host.removeprefix("[").removesuffix("]"), int(port), **more)

    def __attrs_post_init__(self) -> None:
        if len(self.token) > MAX_TOKEN_CHARS:
            raise UsageError(f"the token is longer than {MAX_TOKEN_CHARS} characters")

    def __str__(self) -> str:
        return f"{self.scheme}://{self.place}"

    @property
    def place(self) -> str:
        """Host and port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def context(self) -> ssl.SSLContext | None:
        """How the connection is secured; `None` for not at all.

        Raises:
            UsageError: the certificates cannot be read.
        """
        if self.scheme not in {"tls", "wss"}:
            return None
        try:
            return ssl.create_default_context(cafile=self.authority)
        except (OSError, ValueError) as error:
            raise UsageError(f"certificates {self.authority}: {error}") from None


def play_as_guest(invitation: Invitation, load: Callable[[], Any]) -> Failed | None:
    """Connect, and play one match.

    Args:
        invitation: where.
        load: gives the agent.

    Returns:
        What the host was told where the agent broke down.

    Raises:
        UsageError: nobody is there, or the host refuses.
        HostFault: the line was lost, or the match was over when the agent came back.
    """
    ours, theirs = socket.socketpair()
    carrier = _Carrier(invitation, theirs, invitation.context())
    thread = threading.Thread(target=carrier.run, daemon=True, name="wire of an agent")
    with ours:
        thread.start()
        failed = serve(ours.fileno(), ours.fileno(), lambda _name: load())
    thread.join(_LAST_SECONDS)
    if carrier.error is not None:
        raise carrier.error
    return failed


class _Carrier:
    """Carries payloads between the network and the agent.

    Attributes:
        error: why it could not.
    """

    def __init__(
        self, invitation: Invitation, agents_end: socket.socket, context: ssl.SSLContext | None
    ) -> None:
        self.error: HostFault | UsageError | None = None
        self._invitation = invitation
        self._agents_end = agents_end
        self._context = context
        self._encoding: Encoding = "json"
        self._match: str | None = None
        self._ready: bytes | None = None
        self._is_up = trio.Event()
        self._asked: int | None = None
        self._said: tuple[int, bytes] | None = None
        self._line: Payloads | None = None

    def run(self) -> None:
        """Carry until the match is over."""
        trio.run(self._run)

    async def _run(self) -> None:
        agent = PayloadPipe(BytePipe(self._agents_end.detach()))
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._from_agent, agent, nursery.cancel_scope)
                try:
                    await self._from_host(agent)
                except (HostFault, UsageError) as error:
                    self.error = error
                nursery.cancel_scope.cancel()
        finally:
            agent.close()

    async def _from_host(self, agent: PayloadPipe) -> None:
        while True:
            line, payload = await self._connect()
            try:
                await self._hear(line, payload, agent)
                await trio.sleep_forever()  # until the agent has closed
            except _LOST as error:
                if not self._invitation.reconnect:
                    raise HostFault(f"the line to {self._invitation} was lost: {_told(error)}") from None
            finally:
                self._line = None
                line.close()

    async def _hear(self, line: Payloads, payload: bytes, agent: PayloadPipe) -> None:
        """Hand on what the host says over this line, from its `hello` on."""
        heard: Encoding = "json"
        while True:
            message = decode_to_agent(payload, heard)
            if isinstance(message, Hello):
                await self._greet(message, payload, line, agent)
                heard = self._encoding
            elif not await self._was_dealt_with(message, line):
                await agent.send(payload)
                if isinstance(message, Bye):
                    return
            payload = await line.receive()

    async def _greet(self, hello: Hello, payload: bytes, line: Payloads, agent: PayloadPipe) -> None:
        """Hand on a `hello`, or answer for an agent that has had one; waits until the agent is ready."""
        match = "" if hello.match is UNSET else hello.match
        if self._match is None:
            self._match = match
            self._line = line
            await agent.send(payload)
        elif match != self._match:
            raise HostFault(f"the match at {self._invitation} was over when the agent came back")
        elif self._ready is None:
            self._line = line
        else:
            await line.send(self._ready)
            self._take_up(line)
        await self._is_up.wait()  # the host says nothing before that

    def _take_up(self, line: Payloads) -> None:
        if self._encoding == "msgpack":
            line.use_frames()
        self._line = line

    async def _was_dealt_with(self, message: ToAgent, line: Payloads) -> bool:
        """Whether the agent has been asked that already, over a line that was lost."""
        if not isinstance(message, Ask):
            return False
        again = message.number == self._asked
        self._asked = message.number
        if again and self._said is not None and self._said[0] == message.number:
            await line.send(self._said[1])
        return again

    async def _from_agent(self, agent: PayloadPipe, scope: trio.CancelScope) -> None:
        """Hand on what the agent says, and remember what may have to be said again."""
        with suppress(*_LOST, AgentFault):
            while True:
                payload = await agent.receive()
                message = decode_from_agent(payload, self._encoding)
                self._note(message, payload)
                if self._line is not None:
                    with suppress(trio.BrokenResourceError):  # it is lost: the other task notices
                        await self._line.send(payload)
                if isinstance(message, Ready) and message.encoding == "msgpack":
                    agent.use_frames()
                    self._encoding = message.encoding
                    if self._line is not None:
                        self._take_up(self._line)
                if isinstance(message, Ready):
                    self._ready = payload
                    self._is_up.set()
                if isinstance(message, Failed):
                    break
        scope.cancel()

    def _note(self, message: FromAgent, payload: bytes) -> None:
        if isinstance(message, Answer | Skip):
            self._said = message.number, payload

    # Connecting.

    async def _connect(self) -> tuple[Payloads, bytes]:
        """Join and wait for `hello`; return the connection and that message.

        Raises:
            UsageError: there is no host, or it refuses the agent.
            HostFault: the match that the agent comes back to is over.
        """
        deadline = trio.current_time() + self._invitation.wait_seconds
        pause = FIRST_PAUSE_SECONDS
        why = "nobody is there"
        while (now := trio.current_time()) < deadline:
            with trio.move_on_at(min(deadline, now + ONE_TRY_SECONDS)) as attempt:
                try:
                    line, payload = await self._try()
                except (OSError, *_LOST) as error:
                    why = _told(error)
                else:
                    attempt.deadline = inf
                    found = await self._wait_for_hello(line, payload)
                    if not isinstance(found, str):
                        return line, found
                    why = found
                    if trio.current_time() > deadline:  # it has waited for its match, and was sent away
                        deadline = trio.current_time() + self._invitation.wait_seconds
            if attempt.cancelled_caught:
                why = "it does not answer"
            await trio.sleep(min(random.uniform(0, pause), max(0, deadline - trio.current_time())))
            pause = min(2 * pause, MAX_PAUSE_SECONDS)
        raise UsageError(f"no connection to {self._invitation}: {why}")

    async def _wait_for_hello(self, line: Payloads, payload: bytes) -> bytes | str:
        """Return the message after `joined`, however long it takes; or close the line and return why."""
        found: bytes | str = ""
        try:
            message = decode_to_agent(payload, "json")
            if isinstance(message, Joined):
                payload = await line.receive()
                message = decode_to_agent(payload, "json")
            found = self._refused(message) if isinstance(message, Refused) else payload
        except _LOST as error:
            found = _told(error)
        finally:
            if isinstance(found, str):
                line.close()
        return found

    def _refused(self, message: Refused) -> str:
        """Return why to try again.

        Raises:
            HostFault: the match that the agent comes back to is over.
            UsageError: a further attempt would be refused as well.
        """
        why = f"{message.reason}: {message.detail}"
        if message.reason == "over":
            raise HostFault(f"the host refuses: {why}")
        if message.reason != "taken":
            raise UsageError(f"the host refuses: {why}")
        return why

    async def _try(self) -> tuple[Payloads, bytes]:
        """Connect, send `join`, and return the connection and the first message."""
        invitation = self._invitation
        stream = await trio.open_tcp_stream(invitation.host, invitation.port)
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_SECONDS)
        if self._context is None:
            pipe: Any = bytes_of(stream)
        else:
            pipe = await secured(stream, self._context, invitation.host)
        try:
            payloads: Payloads = PayloadPipe(pipe)
            if invitation.scheme in {"ws", "wss"}:
                from flagfall.agents.wire.websocket import WebSocketPayloads  # noqa: PLC0415 - an extra

                web = WebSocketPayloads(pipe, server=False)
                await web.connect(invitation.place)
                payloads = web
            await payloads.send(encode(Join(invitation.token, self._match or ""), "json"))
            return payloads, await payloads.receive()
        except BaseException:
            pipe.close()
            raise


def _told(error: BaseException) -> str:
    cause = error.__cause__ or error
    return str(cause) or type(cause).__name__
