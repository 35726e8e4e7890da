"""Host of a person in the browser: the agent protocol over the connection of a page.

What the page sends is judged as for every agent that connects: `answer` and `skip` of the protocol
(`flagfall.agents.wire.messages`) and nothing else, an illegal action, a stale number, a flood. It gets
pictures and texts instead of observations. A page that is gone is an agent that is busy: its turns are late,
and at the hard limit the seat is disqualified; until then the person may open the page again.
"""

from __future__ import annotations

__all__ = ["BrowserHost"]

from typing import Any, Final

import trio

from flagfall.agents.wire.messages import Ask, FromAgent, Ready, ToAgent, decode_from_agent
from flagfall.agents.wire.session import MessageStream, ProtocolChannel, WireSession
from flagfall.errors import AgentFault, UsageError
from flagfall.kernel.hosting import Briefing, HostKind
from flagfall.kernel.seat import HostSeat
from flagfall.recording.journal.format import encode
from flagfall.timing import NEVER_NS
from flagfall.viewer.play.controls import controls_of
from flagfall.viewer.play.desk import Desk, Page
from flagfall.viewer.play.pictures import Shown, encode_png, shown_of
from flagfall.viewer.play.score import Score

MAX_UNSOLICITED: Final = 200
"""Most messages that answer nothing while one answer is awaited; then the seat is disqualified."""

_MS: Final = 1_000_000


class BrowserHost:
    """Plays a seat with the person at a desk.

    Args:
        desk: the place that pages take.
        name: for tables and records.
        score: a sink, which needs every event of the match.
    """

    kind: HostKind = "remote"

    def __init__(self, desk: Desk, name: str, score: Score) -> None:
        self.name = name
        self.score = score
        self._desk = desk

    async def run(self, seat: HostSeat, briefing: Briefing) -> None:
        """Play the seat; see `flagfall.kernel.hosting.AgentHost`.

        Args:
            seat: the seat to play.
            briefing: the information for the agent.
        """
        try:
            await seat.agent.turn()
        except trio.EndOfChannel:
            return
        if seat.budget.control.clock == "cpu":
            raise UsageError("clock=cpu cannot time a person: use clock=wall")
        session = WireSession(seat, briefing, max_unsolicited=MAX_UNSOLICITED)
        while True:
            page = await self._desk.next_page()
            channel = _PageChannel(page, seat, self.score)
            try:
                await session.start(channel)
                await session.play(channel)
            except AgentFault as fault:
                if fault.reason != "gone":
                    raise
            else:
                return
            finally:
                page.messages.close()


class _NoStream:
    """Stands for the stream of a channel that sends and receives by itself."""

    def close(self) -> None:
        """Do nothing: the page's connection belongs to the server."""


class _PageChannel(ProtocolChannel):
    """The agent protocol with a page: turns go out as pictures and texts.

    Args:
        page: the page.
        seat: the seat that it plays.
        score: the score of the seat.
    """

    def __init__(self, page: Page, seat: HostSeat, score: Score) -> None:
        super().__init__(_stream())
        self._page = page
        self._seat = seat
        self._score = score
        self._ask: Ask | None = None
        self._is_ready = False

    def send_nowait(self, message: ToAgent) -> bool:
        """Keep a turn, which `flush` sends; the page needs no other message."""
        self._ask = message if isinstance(message, Ask) else None
        return self._ask is None

    async def flush(self) -> None:
        """Send the turn: what the person sees is made at once, for the task may move on meanwhile."""
        ask, self._ask = self._ask, None
        if ask is None:
            return
        self._score.pay(ask.number, ask.reward)
        shown = shown_of(self._seat.task, ask.observation)
        text = encode(self._turn(ask, shown)).decode()
        if shown.picture is None:
            await self._page.send(text)
            return
        png = await trio.to_thread.run_sync(encode_png, shown.picture, abandon_on_cancel=True)
        await self._page.send(png, text)

    async def receive(self) -> FromAgent:
        """Return the next message of the page; that it is ready is known.

        Raises:
            AgentFault: the page is gone, or sent something that is not a message.
        """
        if not self._is_ready:
            self._is_ready = True
            return Ready(wants=("act", "result"))
        try:
            data = await self._page.messages.receive()
        except trio.EndOfChannel:
            raise AgentFault("gone", "the page was closed") from None
        return self._checked(data)

    def receive_nowait(self) -> FromAgent | None:
        """Return the next message if it is there; a person is never that quick."""
        return None

    def _checked(self, data: bytes) -> FromAgent:
        message = decode_from_agent(data, "json")
        if isinstance(message, Ready):
            raise AgentFault("garbage", "expected answer, got ready")
        return message

    def _turn(self, ask: Ask, shown: Shown) -> dict[str, Any]:
        """Return the message for the page."""
        seat, page = self._seat, self._page
        limits, budget = seat.clock.limits, seat.budget
        page.steps, tape = self._score.tape_since(page.steps)
        turn = {
            "type": "turn",
            "number": ask.number,
            "phase": ask.phase,
            "reward": ask.reward,
            "picture": shown.picture is not None,
            "text": shown.text,
            "heard": shown.heard,
            "mask": shown.mask,
            "spent_ms": max(0, seat.now() - seat.taken_ns) / _MS,
            "soft_ms": _ms(limits.soft_ns),
            "hard_ms": _ms(limits.hard_ns),
            "bank_ms": _ms(budget.bank_ns),
            "total_ms": _ms(budget.total_ns),
            "tape": tape,
            "score": self._score.as_data(seat.stats),
        }
        if seat.task is not None and page.task is not seat.task:
            page.task = seat.task
            turn["controls"] = controls_of(seat.task, seat.number)
        return turn


def _stream() -> MessageStream:
    return _NoStream()  # type: ignore[return-value]  # the channel overrides all that would use it


def _ms(ns: int | None) -> float | None:
    return None if ns is None or ns >= NEVER_NS else ns / _MS
