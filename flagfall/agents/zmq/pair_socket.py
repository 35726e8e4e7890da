"""Connections of remote learners: the ZeroMQ handshake, `hello`, and messages, without waiting or with it.

Rule 1: a connection belongs to a learner when it has said `hello`, after the token where one is asked for.
    Until then it is one of many (`flagfall.agents.connections.handshakes`): a greeting alone takes no
    learner's place.
Rule 2: a learner that connects again says `hello` again. A client library that connects again by itself, for
    a program that goes on as if nothing had happened, does not, and is not let in.
"""

from __future__ import annotations

__all__ = ["LearnerDoor", "LearnerLink", "LinkLost"]

import hmac
from typing import Any, Final

import trio

from flagfall.agents.connections.admission import Admission, Refusal
from flagfall.agents.connections.handshakes import is_hung_up
from flagfall.agents.wire.tls import bytes_of
from flagfall.agents.zmq.messages import HELLO, reward_text, shown
from flagfall.agents.zmq.zmtp import ZmtpError, ZmtpPeer, message
from flagfall.kernel.channels.pipes import BytePipe

HELLO_SECONDS: Final = 60.0
"""The time from connecting to `hello`. A learner may connect first and load its model then. When its
connection is closed, its library connects again and it notices nothing, but a `hello` on its way at that
moment is lost: so this is long, and only those connections are closed sooner whose places are needed."""

MAX_READS_AT_END: Final = 16
"""At most this many reads take what a learner has sent in vain before its connection is closed: unread bytes
would make the system throw away what is on its way to the learner."""


class LinkLost(Exception):
    """The learner is gone, or sends what is not a message; the text has the details."""


class Disconnected(LinkLost):
    """The other end has closed the connection."""

    def __init__(self) -> None:
        super().__init__("it disconnected")


class LearnerLink:
    """Messages from and to one learner.

    Args:
        pipe: the connection.
        fd: its descriptor.

    Attributes:
        owes: a token was sent, and the reply has not come yet.
        owed: the reward that the learner has not been sent yet; it is when the connection is closed.
        stayed: it has played a match, and was kept for another.
    """

    def __init__(self, pipe: BytePipe, fd: int) -> None:
        self.owes = False
        self.owed: Any = 0
        self.stayed = False
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
        """The next message, as its frames. If it is cancelled, nothing was taken.

        Raises:
            LinkLost: there will be none.
        """
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

        Raises:
            LinkLost: there will be none.
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
            raise LinkLost(str(error)) from None

    async def send(self, *frames: bytes) -> None:
        """Send messages of one frame each, together.

        Raises:
            LinkLost: the learner is gone.
        """
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
        if self.owed and self.is_whole:
            for _ in range(MAX_READS_AT_END):
                if not self._pipe.read_nowait():
                    break
            self._pipe.write_nowait(self._peer.take_output() + message(reward_text(self.owed)))
        self._pipe.close()


class LearnerDoor:
    """Admission of learners, for all matches of a series.

    Args:
        token: what a learner must send before `hello`; empty for none.

    Attributes:
        admission: the learners that have sent `hello`.
        wrong: how the newest connection began that sent something else; empty where there was none.
        is_taken: a match uses it.
    """

    def __init__(self, token: str) -> None:
        self.admission = Admission(self._authenticate, HELLO_SECONDS)
        self.wrong = ""
        self.is_taken = False
        self._token = token.encode()

    async def _authenticate(self, stream: trio.SocketStream) -> LearnerLink:
        fd = stream.socket.fileno()
        pipe = bytes_of(stream)
        try:
            link = LearnerLink(pipe, fd)
            if self._token:
                frames = await _receive(link)
                if not hmac.compare_digest(b"".join(frames), self._token) or len(frames) != 1:
                    self._refuse("the token", "something else")
            frames = await _receive(link)
            if frames != [HELLO]:
                self._refuse("hello", shown(b"|".join(frames)))
        except BaseException:
            pipe.close()
            raise
        return link

    def _refuse(self, expected: str, said: str) -> None:
        self.wrong = f"expected {expected}, got {said}"
        raise Refusal(self.wrong)


async def _receive(link: LearnerLink) -> list[bytes]:
    """The next message of a handshake; a connection that ends without it was silent."""
    try:
        return await link.receive()
    except Disconnected:
        raise trio.EndOfChannel from None
