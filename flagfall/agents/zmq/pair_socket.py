"""Connections of remote learners: the ZeroMQ handshake, `hello`, and messages of round 1.

Rule 1: a connection belongs to a learner when it has sent `hello`, after the token if one is asked for.
    Until then it is one of many (`flagfall.agents.admission`): a greeting alone takes no
    learner's place.
Rule 2: a learner that connects again sends `hello` again. A client library that connects again by itself, for
    a program that does not notice, does not send it, and is not admitted.
"""

from __future__ import annotations

import hmac
import operator
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import attrs
import trio

from flagfall.agents.admission import Admission, Place, Refusal, is_hung_up
from flagfall.agents.wire.tls import tcp_stream
from flagfall.agents.zmq.zmtp import ZmtpError, ZmtpPeer, message
from flagfall.errors import AgentFault, HostFault
from flagfall.kernel.channels.pipes import PipeStream

# Messages of a learner of round 1: decimal texts and single characters.
#
# In bit mode a token is the character `0` or `1`, in byte mode the character of its code.

HELLO: Final = b"hello"
"""The first message of a learner."""

MAX_SHOWN_CHARS: Final = 40
"""Maximum length of an invalid message that is shown to its author."""

_MAX_BYTE: Final = 255
_BITS: Final = "01"


@attrs.frozen
class BadReply:
    """A reply that is not a byte; no task takes it as an action.

    Attributes:
        what: the fault, and the beginning of the reply.
    """

    what: str


def read_reply(frames: list[bytes], *, bits: bool = False) -> int | BadReply:
    """Return the byte or bit of a message: one frame of one character in UTF-8, its code 0 to 255.

    Args:
        bits: it is bit mode; the character must be `0` or `1`.
    """
    if len(frames) != 1:
        return BadReply(f"{len(frames)} frames: {shown(frames[0])}")
    try:
        text = frames[0].decode()
    except UnicodeDecodeError:
        return BadReply(f"not UTF-8: {shown(frames[0])}")
    if len(text) != 1:
        return BadReply(f"{len(text)} characters: {shown(frames[0])}")
    code = ord(text)
    if bits:
        return _BITS.index(text) if text in _BITS else BadReply(f"not a bit: {shown(frames[0])}")
    return code if code <= _MAX_BYTE else BadReply(f"code {code}: {shown(frames[0])}")


def reward_text(reward: Any) -> bytes:
    """Return a reward as decimal text: whole numbers without a point, truth values as `1` and `0`."""
    if not isinstance(reward, int):
        reward = float(reward)
        if not reward.is_integer():
            return repr(reward).encode()
    return str(int(reward)).encode()


def token_text(observation: Any, *, bits: bool = False) -> bytes:
    """Return a byte as the character of that code, in UTF-8; a bit as `0` or `1`.

    Raises:
        HostFault: it is not a byte, or not a bit. No agent is disqualified for that.
    """
    with suppress(TypeError):
        code = operator.index(observation)
        if bits and 0 <= code < len(_BITS):
            return _BITS[code].encode()
        if not bits and 0 <= code <= _MAX_BYTE:
            return chr(code).encode()
    raise HostFault(
        f"a learner over ZeroMQ takes bytes: give it byte tasks; this one shows {shown(observation)}"
    )


def shown(what: Any) -> str:
    """Return the beginning of a value as text, bounded in length."""
    if isinstance(what, bytes) and len(what) > MAX_SHOWN_CHARS:
        return f"{what[:MAX_SHOWN_CHARS]!r}..."
    return repr(what)[: 4 * MAX_SHOWN_CHARS]


HELLO_SECONDS: Final = 60.0
"""The time from connecting to `hello`. A learner may connect first and load its model then. When its
connection is closed, its library connects again and it notices nothing, but a `hello` on its way at that
moment is lost: so this is long, and only those connections are closed sooner whose places are needed."""

MAX_READS_AT_END: Final = 16
"""At most this many reads take what a learner has sent in vain before its connection is closed: unread bytes
would make the system throw away what is on its way to the learner."""


class ConnectionLost(Exception):
    """The learner is gone, or sent something that is not a message; the text has the details."""


class Disconnected(ConnectionLost):
    """The other end has closed the connection."""

    def __init__(self) -> None:
        super().__init__("it disconnected")


class LearnerConnection:
    """Messages from and to one learner; raises `ConnectionLost` when it is gone.

    Attributes:
        awaits_reply: a token was sent, and the reply has not come yet.
        unsent_reward: the reward that the learner has not been sent yet; it is when the connection is closed.
        was_kept: the learner has played a match, and was kept for another.
    """

    def __init__(self, pipe: PipeStream, fd: int) -> None:
        self.awaits_reply = False
        self.unsent_reward: Any = 0
        self.was_kept = False
        self.age_ns: Callable[[], int | None] = pipe.age_ns
        self._pipe = pipe
        self._fd = fd
        self._peer = ZmtpPeer()
        self._sending = False

    def is_open(self) -> bool:
        """Report whether the other end is still there."""
        return not is_hung_up(self._fd)

    @property
    def is_whole(self) -> bool:
        """Report whether no message was sent in part, so that the connection can be used further."""
        return not self._sending

    async def receive(self) -> list[bytes]:
        """Return the next message, as its frames. If it is cancelled, nothing was taken."""
        while (frames := self._next_message()) is None:
            await self._send(self._peer.take_output())
            data = await self._pipe.read()
            if not data:
                raise Disconnected
            self._peer.feed(data)
        return frames

    def receive_nowait(self) -> list[bytes] | None:
        """Return the next message, if one is there; reads once at most.

        One read is longer than any message, so it brings a whole one unless the learner sends something else:
        commands of the protocol, which a learner may send without end.
        """
        if (frames := self._next_message()) is not None:
            return frames
        data = self._pipe.read_nowait()
        if data is None:
            return None
        if not data:
            raise Disconnected
        self._peer.feed(data)
        return self._next_message()

    def _next_message(self) -> list[bytes] | None:
        try:
            return self._peer.next_message()
        except ZmtpError as error:
            raise ConnectionLost(str(error)) from None

    async def send(self, *frames: bytes) -> None:
        """Send messages of one frame each, together."""
        await self._send(self._peer.take_output() + b"".join(map(message, frames)))

    async def _send(self, data: bytes) -> None:
        if not data:
            return
        self._sending = True
        try:
            await self._pipe.write(data)
        except trio.BrokenResourceError:
            raise Disconnected from None
        self._sending = False

    def close(self) -> None:
        """Send the last reward, if one is owed and it can be sent at once, and close the connection."""
        if self.unsent_reward and self.is_whole:
            for _ in range(MAX_READS_AT_END):
                if not self._pipe.read_nowait():
                    break
            self._pipe.write_nowait(self._peer.take_output() + message(reward_text(self.unsent_reward)))
        self._pipe.close()


class LearnerAdmission(Admission[LearnerConnection, "LearnerPlace"]):
    """Admits learners that have sent `hello`, for all matches of a series.

    Attributes:
        wrong_start: the first message of the newest connection that began with something else; empty where
            there was none.
    """

    def __init__(self, token: str, where: str) -> None:
        super().__init__(where, HELLO_SECONDS)
        self.wrong_start: str = ""
        self._token = token.encode()

    async def authenticate(self, stream: trio.SocketStream) -> LearnerConnection:
        """Perform the handshake of ZeroMQ, and check token and `hello`; see `Admission.authenticate`."""
        fd = stream.socket.fileno()
        pipe = tcp_stream(stream)
        try:
            connection = LearnerConnection(pipe, fd)
            if self._token:
                frames = await _receive(connection)
                if not hmac.compare_digest(b"".join(frames), self._token) or len(frames) != 1:
                    self._refuse_start("the token", "something else")
            frames = await _receive(connection)
            if frames != [HELLO]:
                self._refuse_start("hello", shown(b"|".join(frames)))
        except BaseException:
            pipe.close()
            raise
        return connection

    def _refuse_start(self, expected: str, received: str) -> None:
        self.wrong_start = f"expected {expected}, got {received}"
        raise Refusal(self.wrong_start)


class LearnerPlace(Place[LearnerConnection]):
    """The place of one match at a `LearnerAdmission`."""

    def __init__(self, admission: LearnerAdmission) -> None:
        super().__init__(admission)
        self._learners = admission
        admission.wrong_start = ""

    def absence(self) -> AgentFault | None:
        """Explain why the seat is empty; also by a client that began with the wrong message."""
        wrong, where = self._learners.wrong_start, self._learners.where
        if wrong and not self.held:
            return AgentFault("garbage", f"a client connected to {where}: {wrong}")
        return super().absence()


async def _receive(connection: LearnerConnection) -> list[bytes]:
    """Return the next message of a handshake; a connection that ends without it was silent."""
    try:
        return await connection.receive()
    except Disconnected:
        raise trio.EndOfChannel from None
