"""Host of a person in the browser: the agent protocol over the connection of a page.

What the page sends is judged as for every agent that connects: `answer` and `skip` of the protocol
(`flagfall.agents.wire.messages`) and nothing else, an illegal action, a stale number, a flood. It gets
pictures and texts instead of observations. A page that is gone is an agent that is busy: its turns are late,
and at the hard limit the seat is disqualified; until then the person may open the page again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import attrs
import msgspec
import trio

from flagfall.agents.wire.messages import Ask, FromAgent, Ready, ToAgent, decode_from_agent
from flagfall.agents.wire.session import ProtocolChannel, WireSession
from flagfall.errors import AgentFault, UsageError
from flagfall.kernel.hosting import Briefing, HostKind
from flagfall.kernel.seat import HostSeat
from flagfall.recording.journal.format import encode
from flagfall.timing import NEVER_NS
from flagfall.viewer.play.controls import (
    MAX_BUTTONS,
    Score,
    Shown,
    choices_of,
    encode_png,
    facts_of_task,
    moves_of,
    shown_of,
)

# Rule 1: one tab has the place. Another tab is refused; the same tab, opened again, takes over.
# Rule 2: what a page sends waits in a short queue. When that is full nothing more is read, so a page that
#     floods is held up by its own connection.
# Rule 3: pages control nothing but their own seat: the start of the match, its end, and answers.

QUEUED_MESSAGES: Final = 16
"""Messages of a page that wait; a person's page sends one a turn."""

MESSAGES_AT_ONCE: Final = 100
PAUSE_SECONDS: Final = 0.01
"""After this many messages the reader pauses for that long, so it reads at most 10,000 a second."""

MAX_TAB_CHARS: Final = 64
"""Longest name that a tab gives itself; the page's own have 22 characters."""

SEND_SECONDS: Final = 10.0
"""Longest time for a message to a page; then the page is given up, and may be opened again."""

TAKEN: Final = 4001
MOVED: Final = 4002
OVER: Final = 1000
"""Codes with which a connection is closed: another tab has the place; it was opened again; it is over."""


class _Kind(msgspec.Struct):
    """The part of a message by which control messages are known."""

    type: str = ""


_decode_kind = msgspec.json.Decoder(_Kind).decode


class Page:
    """A page that has the place; `send` raises `trio.BrokenResourceError` when the connection is gone.

    This many `steps` of the tape and the facts of the `task` were sent to it; `messages` end when it is
    gone, and `scope` is cancelled to give it up.
    """

    def __init__(self, send: Callable[[str | bytes], Awaitable[None]], tab: str) -> None:
        self.tab = tab
        self.steps = 0
        self.task: object = None
        self._send = send
        self._lock = trio.Lock()
        self.messages: trio.MemoryReceiveChannel[bytes]
        self._queue, self.messages = trio.open_memory_channel[bytes](QUEUED_MESSAGES)
        self.close_code: int = OVER
        self.scope: trio.CancelScope = trio.CancelScope()

    async def send(self, *messages: str | bytes) -> None:
        """Send messages, one after the other; they are lost if the page is gone, which its messages show."""
        try:
            with trio.fail_after(SEND_SECONDS):
                async with self._lock:
                    for message in messages:
                        await self._send(message)
        except (trio.TooSlowError, trio.BrokenResourceError):
            self.drop()

    async def put(self, message: bytes) -> None:
        """Queue a message of the page; wait while the queue is full. It is lost if the seat plays no more."""
        with suppress(trio.BrokenResourceError):
            await self._queue.send(message)

    def drop(self, code: int = OVER) -> None:
        """Give the page up; its connection is closed with a code."""
        self.close_code = code
        self.scope.cancel()

    def end(self) -> None:
        """End the messages of the page."""
        self._queue.close()


@attrs.define(eq=False)
class Desk:
    """The person's place in a match; `greeting` returns the messages for a page that has just got the place.

    The person asks for the match to begin (`started`) and end (`stopped`); a page has shown the end (`seen`).
    """

    started: trio.Event = attrs.Factory(trio.Event)
    stopped: trio.Event = attrs.Factory(trio.Event)
    seen: trio.Event = attrs.Factory(trio.Event)
    page: Page | None = None
    greeting: Callable[[], list[str]] = list
    _change: trio.Event = attrs.Factory(trio.Event)
    _is_playing: bool = False

    async def next_page(self) -> Page:
        """Wait for a page that has not been played with yet."""
        while self.page is None or self._is_playing:
            await self.changed()
        self._is_playing = True
        return self.page

    async def changed(self) -> None:
        """Wait until a page comes or goes, or has shown the end of the match."""
        await self._change.wait()

    def _note_change(self) -> None:
        self._change.set()
        self._change = trio.Event()

    async def seat(self, page: Page, receive: Callable[[], Awaitable[bytes | None]]) -> bool:
        """Give a page the place until `receive` returns `None`; return false if another page has it."""
        if self.page is not None:
            if self.page.tab != page.tab:
                return False
            self.page.drop(MOVED)
        self.page, self._is_playing = page, False
        try:
            with page.scope:
                await page.send(*self.greeting())
                self._note_change()
                await self._read(page, receive)
        finally:
            page.end()
            if self.page is page:
                self.page = None
            self._note_change()
        return True

    async def _read(self, page: Page, receive: Callable[[], Awaitable[bytes | None]]) -> None:
        count = 0
        while (message := await receive()) is not None:
            count += 1
            if count % MESSAGES_AT_ONCE == 0:
                await trio.sleep(PAUSE_SECONDS)
            if not self._take_control(message) and self.started.is_set():
                await page.put(message)

    def _take_control(self, message: bytes) -> bool:
        """Take a message that is about the match and not about a turn; return false for any other."""
        try:
            kind = _decode_kind(message).type
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        event = {"start": self.started, "stop": self.stopped, "seen": self.seen}.get(kind)
        if event is not None:
            event.set()
            self._note_change()
        return event is not None

    async def push(self, message: str) -> None:
        """Send a message to the page that has the place, if any."""
        if self.page is not None:
            await self.page.send(message)


MAX_UNSOLICITED: Final = 200
"""Most messages that answer nothing while one answer is awaited; then the seat is disqualified."""

_MS: Final = 1_000_000


class BrowserHost:
    """Plays a seat with the person at a desk; the score is a sink, which needs every event of the match."""

    kind: HostKind = "remote"

    def __init__(self, desk: Desk, name: str, score: Score) -> None:
        self.name = name
        self.score = score
        self._desk = desk

    async def run(self, seat: HostSeat, briefing: Briefing) -> None:
        """Play the seat; see `flagfall.kernel.hosting.AgentHost`."""
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
    """The agent protocol with a page: turns go out as pictures and texts."""

    def __init__(self, page: Page, seat: HostSeat, score: Score) -> None:
        super().__init__(_NoStream())  # type: ignore[arg-type]  # this class overrides all that would use it
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
        shown = shown_of(self._seat.task, ask.observation, self._seat.number)
        text = encode(self._turn(ask, shown)).decode()
        if shown.picture is None:
            await self._page.send(text)
            return
        png = await trio.to_thread.run_sync(encode_png, shown.picture, abandon_on_cancel=True)
        await self._page.send(png, text)

    async def receive(self) -> FromAgent:
        """Return the next message of the page; that it is ready is known."""
        if not self._is_ready:
            self._is_ready = True
            return Ready(wants=("act", "result"))
        try:
            data = await self._page.messages.receive()
        except trio.EndOfChannel:
            raise AgentFault("gone", "the page was closed") from None
        message = decode_from_agent(data, "json")
        if isinstance(message, Ready):
            raise AgentFault("garbage", "expected answer, got ready")
        return message

    def receive_nowait(self) -> FromAgent | None:
        """Return the next message if it is there; a person is never that quick."""
        return None

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
        if seat.task is None:
            return turn
        turn["moves"] = moves_of(seat.task, self._score.moves)
        if shown.mask is not None and len(shown.mask) > MAX_BUTTONS:
            turn["choices"] = choices_of(seat.task, seat.number, shown.mask)
        if page.task is not seat.task:
            page.task = seat.task
            turn["facts"] = facts_of_task(seat.task, seat.number)
        return turn


def _ms(ns: int | None) -> float | None:
    return None if ns is None or ns >= NEVER_NS else ns / _MS
