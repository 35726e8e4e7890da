"""The agent's end over a network: connects to a host, authenticates, and plays any Python agent there.

A thread relays messages between the network and a pair of sockets, where the agent is played as in a process
of the host's own (`flagfall.agents.wire.worker`); so the agent has the main thread, and any event loop that
it likes.

Where the connection is lost and the agent may come back, that thread repeats what the agent has answered
already: the agent notices nothing but time. Where the connection is lost before `hello`, or the seat is
taken, it tries again with growing pauses, for the whole time that an agent is to wait.
"""

from __future__ import annotations

import random
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, Final

import attrs
import trio
from msgspec import UNSET

from flagfall.agents.admission import keep_alive
from flagfall.agents.spec import NETWORK
from flagfall.agents.wire import messages
from flagfall.agents.wire.admission import MAX_TOKEN_CHARS
from flagfall.agents.wire.session import MessageStream
from flagfall.agents.wire.tls import tcp_stream, tls_stream
from flagfall.agents.wire.worker import serve
from flagfall.errors import AgentFault, HostFault, UsageError, suggest
from flagfall.kernel.channels.codecs import CodecError
from flagfall.kernel.channels.framing import FrameError, LineError
from flagfall.kernel.channels.pipes import ByteStream, FramedStream, PipeStream

FIRST_PAUSE_SECONDS: Final = 0.05
"""The longest pause after the first attempt that failed. Each further one may be twice as long, so that many
agents that wait for one host do not keep it busy."""

MAX_PAUSE_SECONDS: Final = 1.0
"""The longest pause: an agent finds a match within a second of its start, of the ten seconds that it has."""

ONE_TRY_SECONDS: Final = 5.0
"""The longest time of one attempt, up to the first message of the host."""

_LAST_SECONDS: Final = 2.0
"""Maximum time for the thread to send the last message."""

_LOST: Final = (
    trio.EndOfChannel,
    trio.BrokenResourceError,
    trio.ClosedResourceError,
    FrameError,
    LineError,
    CodecError,
)


@attrs.frozen
class ServerAddress:
    """The address of a host, and how to connect there.

    Attributes:
        token: the token to send; empty for none. Never shown.
        authority: a file with the certificates to trust, in PEM; `None` for those of the system.
        wait_seconds: how long to try to join, at first and after a loss. The time between joining and the
            beginning of the match is not counted.
        reconnect: come back if the connection is lost.

    Raises:
        UsageError: the token is too long.
    """

    scheme: str
    host: str
    port: int
    token: str = attrs.field(default="", repr=False)
    authority: Path | None = None
    wait_seconds: float = 10.0
    reconnect: bool = False

    @classmethod
    def parse(cls, url: str, **more: Any) -> ServerAddress:
        """Parse a text such as `tcp://arena.example:7777`.

        Raises:
            UsageError: the text is not an address of a host.
        """
        scheme, found, rest = url.partition("://")
        host, _, port = rest.partition("/")[0].rpartition(":")
        if not found or scheme not in NETWORK:
            raise UsageError(f"no address of a host: {url!r}{suggest(scheme, sorted(NETWORK))}")
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
        """Return the TLS settings of the connection; `None` if it is not secured.

        Raises:
            UsageError: the certificates cannot be read.
        """
        if self.scheme not in {"tls", "wss"}:
            return None
        try:
            return ssl.create_default_context(cafile=self.authority)
        except (OSError, ValueError) as error:
            raise UsageError(f"certificates {self.authority}: {error}") from None


def connect_and_play(
    server: ServerAddress, load: Callable[[], Any], tell: Callable[[str], None] = lambda _line: None
) -> messages.Failed | None:
    """Connect, and play one match.

    Args:
        tell: called in another thread with a line about what the agent waits for.

    Returns:
        The failure that was reported to the host, if the agent broke down.

    Raises:
        UsageError: no host answers, or the host refuses.
        HostFault: the connection was lost, or the match was over when the agent came back.
    """
    ours, theirs = socket.socketpair()
    relay = Relay(server, partial(_open_connection, server, server.context()), tell)
    thread = threading.Thread(
        target=lambda: trio.run(relay.run, FramedStream(PipeStream(theirs.detach()))),
        daemon=True,
        name="wire of an agent",
    )
    with ours:
        thread.start()
        failed = serve(ours.fileno(), ours.fileno(), lambda _name: load())
    thread.join(_LAST_SECONDS)
    if relay.error is not None:
        raise relay.error
    return failed


@attrs.define(eq=False)
class Relay:
    """Relays messages between the network and the agent.

    Args:
        dial: opens a connection to the server; what it raises (`OSError`, or as `MessageStream.receive`) is
            a reason to try again.
        random: draws the pauses between two attempts.

    Attributes:
        error: the reason why it ended early, if it did.
    """

    _server: ServerAddress
    _dial: Callable[[], Awaitable[MessageStream]]
    _tell: Callable[[str], None] = lambda _line: None
    _random: random.Random = attrs.field(factory=random.Random)
    error: HostFault | UsageError | None = None
    _encoding: messages.Encoding = "json"
    _match: str | None = None
    _ready: bytes | None = None
    _is_up: trio.Event = attrs.field(factory=trio.Event)
    _asked: int | None = None
    _answered: tuple[int, bytes] | None = None
    _host: MessageStream | None = None

    async def run(self, agent: FramedStream) -> None:
        """Relay messages until the match is over, to an agent and from it; its stream is closed then."""
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

    async def _from_host(self, agent: FramedStream) -> None:
        while True:
            stream, payload = await self._connect()
            try:
                await self._relay_to_agent(stream, payload, agent)
                await trio.sleep_forever()  # until the agent has closed
            except _LOST as error:
                if not self._server.reconnect:
                    raise HostFault(
                        f"the connection to {self._server} was lost: {_describe(error)}"
                    ) from None
            finally:
                self._host = None
                stream.close()

    async def _relay_to_agent(self, stream: MessageStream, payload: bytes, agent: FramedStream) -> None:
        """Relay the messages of the host on one connection, from its `hello` on."""
        encoding: messages.Encoding = "json"
        while True:
            message = messages.decode_to_agent(payload, encoding)
            if isinstance(message, messages.Hello):
                await self._relay_hello(message, payload, stream, agent)
                encoding = self._encoding
            elif not await self._answer_if_repeated(message, stream):
                await agent.send(payload)
                if isinstance(message, messages.Bye):
                    return
            payload = await stream.receive()

    async def _relay_hello(
        self, hello: messages.Hello, payload: bytes, stream: MessageStream, agent: FramedStream
    ) -> None:
        """Relay `hello`, or answer for an agent that has received one; wait until the agent is ready."""
        match = "" if hello.match is UNSET else hello.match
        if self._match is None:
            self._match = match
            self._host = stream
            await agent.send(payload)
        elif match != self._match:
            raise HostFault(f"the match at {self._server} was over when the agent came back")
        elif self._ready is None:
            self._host = stream
        else:
            await stream.send(self._ready)
            self._take_up(stream)
        await self._is_up.wait()  # the host sends nothing before that

    def _take_up(self, stream: MessageStream) -> None:
        if self._encoding == "msgpack":
            stream.use_frames()
        self._host = stream

    async def _answer_if_repeated(self, message: messages.ToAgent, stream: MessageStream) -> bool:
        """Return true for a turn that the agent has received already; an answer to it is sent again."""
        if not isinstance(message, messages.Ask):
            return False
        again = message.number == self._asked
        self._asked = message.number
        if again and self._answered is not None and self._answered[0] == message.number:
            await stream.send(self._answered[1])
        return again

    async def _from_agent(self, agent: FramedStream, scope: trio.CancelScope) -> None:
        """Relay the messages of the agent, and keep its newest answer in case it must be sent again."""
        with suppress(*_LOST, AgentFault):
            while True:
                payload = await agent.receive()
                message = messages.decode_from_agent(payload, self._encoding)
                if isinstance(message, messages.Answer | messages.Skip):
                    self._answered = message.number, payload
                if self._host is not None:
                    with suppress(trio.BrokenResourceError):  # the task that reads from it notices the loss
                        await self._host.send(payload)
                if isinstance(message, messages.Ready) and message.encoding == "msgpack":
                    agent.use_frames()
                    self._encoding = message.encoding
                    if self._host is not None:
                        self._take_up(self._host)
                if isinstance(message, messages.Ready):
                    self._ready = payload
                    self._is_up.set()
                if isinstance(message, messages.Failed):
                    break
        scope.cancel()

    # Connecting.

    async def _connect(self) -> tuple[MessageStream, bytes]:
        """Join and wait for `hello`; return the connection and that message. Raises as `connect_and_play`."""
        deadline = trio.current_time() + self._server.wait_seconds
        pause = FIRST_PAUSE_SECONDS
        why = "no answer"
        while (now := trio.current_time()) < deadline:
            with trio.move_on_at(min(deadline, now + ONE_TRY_SECONDS)) as attempt:
                try:
                    stream, payload = await self._try()
                except (OSError, *_LOST) as error:
                    why = _describe(error)
                else:
                    attempt.deadline = inf
                    self._tell(f"connected to {self._server}; waiting for the match")
                    found = await self._wait_for_hello(stream, payload)
                    if not isinstance(found, str):
                        return stream, found
                    why = found
                    if trio.current_time() > deadline:  # it has waited for a match, and was refused then
                        deadline = trio.current_time() + self._server.wait_seconds
            if attempt.cancelled_caught:
                why = "no answer in time"
            self._tell(f"no match at {self._server} yet; trying for {self._server.wait_seconds:g} s")
            await trio.sleep(min(self._random.uniform(0, pause), max(0, deadline - trio.current_time())))
            pause = min(2 * pause, MAX_PAUSE_SECONDS)
        raise UsageError(f"no connection to {self._server}: {why}")

    async def _wait_for_hello(self, stream: MessageStream, payload: bytes) -> bytes | str:
        """Return the message after `joined`, without a limit of time; or close, and return the reason."""
        found: bytes | str = ""
        try:
            message = messages.decode_to_agent(payload, "json")
            if isinstance(message, messages.Joined):
                payload = await stream.receive()
                message = messages.decode_to_agent(payload, "json")
            found = self._refused(message) if isinstance(message, messages.Refused) else payload
        except _LOST as error:
            found = _describe(error)
        finally:
            if isinstance(found, str):
                stream.close()
        return found

    def _refused(self, message: messages.Refused) -> str:
        """Return the reason of a refusal after which to try again; raise an error for any other."""
        why = f"{message.reason}: {message.detail}"
        if message.reason == "over":
            raise HostFault(f"the host refuses: {why}")
        if message.reason != "taken":
            raise UsageError(f"the host refuses: {why}")
        return why

    async def _try(self) -> tuple[MessageStream, bytes]:
        """Connect, send `join`, and return the connection and the first message."""
        stream = await self._dial()
        try:
            join = messages.Join(self._server.token, self._match or "")
            await stream.send(messages.encode(join, "json"))
            return stream, await stream.receive()
        except BaseException:
            stream.close()
            raise


async def _open_connection(server: ServerAddress, context: ssl.SSLContext | None) -> MessageStream:
    socket_stream = await trio.open_tcp_stream(server.host, server.port)
    keep_alive(socket_stream)
    if context is None:
        connection: ByteStream = tcp_stream(socket_stream)
    else:
        connection = await tls_stream(socket_stream, context, server.host)
    if server.scheme not in {"ws", "wss"}:
        return FramedStream(connection)
    from flagfall.agents.wire.websocket import WebSocketStream  # noqa: PLC0415 - an extra

    web = WebSocketStream(connection, server=False)
    try:
        await web.connect(server.place)
    except BaseException:
        connection.close()
        raise
    return web


def _describe(error: BaseException) -> str:
    cause = error.__cause__ or error
    return str(cause) or type(cause).__name__
