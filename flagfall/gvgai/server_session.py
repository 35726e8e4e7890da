"""One session with a client of the original, over any stream: questions go out, answers come in.

Rule 1: one message at a time. The next goes out when the answer to the last has come, however late: a
    client that is late finds the newest state next, and its pipe never fills up.
Rule 2: the seat judges. An answer that comes too late is handed to the seat all the same, which drops and
    counts it; so is every line that answers nothing.
Rule 3: `FINISH` is the last message for every client, in particular for one that is out: the original's
    Python client reads a closed connection for ever, without a pause.
"""

from __future__ import annotations

__all__ = ["GOODBYE_SECONDS", "Talk"]

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import trio

from flagfall.errors import AgentFault, HostFault
from flagfall.gvgai.protocol.framing import Asker, Drop
from flagfall.gvgai.protocol.keywords import (
    FINISH,
    INIT_FAILED,
    START,
    START_DONE,
    Overspent,
    read_action,
    read_choice,
)
from flagfall.gvgai.protocol.state_encoder import StateLines
from flagfall.kernel.channels.lines import LineError
from flagfall.tasks.vgdl.actions import ESCAPE
from flagfall.tasks.vgdl.learning_track import LOST_ROUND
from flagfall.tasks.vgdl.views.state_observation import StateObservation
from flagfall.timing import NEVER_NS

if TYPE_CHECKING:
    from flagfall.kernel.channels.envelope import Envelope
    from flagfall.kernel.channels.pipes import PipeStream
    from flagfall.kernel.seat import Seat
    from flagfall.tasks.vgdl.learning_track import Track

GOODBYE_SECONDS: Final = 0.5
"""The time that a client has for its last answer, and again to read `FINISH` and close its end."""

MAX_SHOWN_CHARS: Final = 40
"""So much of a wrong answer is shown to its author."""

_UNASKED: Final = -NEVER_NS
"""The number of a turn that never was, for lines that answer no message."""


class Talk:
    """A session.

    Args:
        pipe: to the client; the caller closes it.
        track: the plan that is played.

    Attributes:
        asker: the lines of the session.
    """

    def __init__(self, pipe: PipeStream, track: Track) -> None:
        self.asker = Asker()
        self._pipe = pipe
        self._track = track
        self._lines = StateLines(self._picture)
        self._dropped: Counter[Drop] = Counter()
        self._last = _UNASKED
        self._init_failed = False
        self._sent_whole = True
        self._awaits = False

    async def play(self, seat: Seat, start: Envelope) -> None:
        """Ask and answer from `START` on, until there are no more turns; `finish` comes next.

        Args:
            seat: the client's.
            start: what it was asked first; its clock runs already.

        Raises:
            AgentFault: the client is gone, gave up, or cannot be understood.
        """
        word = await self._ask(seat, START)
        if word != START_DONE:
            raise AgentFault("not started", f"it answered {START} with {word[:MAX_SHOWN_CHARS]!r}")
        seat.wants = frozenset({"init", "act", "result"})
        self._last = start.number
        seat.reply()
        with suppress(trio.EndOfChannel):
            while True:
                envelope = await seat.turn()
                seat.reply(await self._answer(seat, envelope), envelope.number)
                self._last = envelope.number

    async def finish(self) -> None:
        """Send `FINISH`, whatever came before; takes `GOODBYE_SECONDS` at most.

        A client that still owes an answer is waited for: the original's Python client loses a message that
        arrives together with another one.
        """
        with trio.move_on_after(GOODBYE_SECONDS / 2), suppress(LineError):
            while self._awaits and self.asker.next_answer() is None:
                data = await self._pipe.read()
                if not data:
                    break
                self.asker.feed(data)
        if self._sent_whole:  # else the word would stand in the middle of a state
            with trio.move_on_after(GOODBYE_SECONDS / 2):
                await self._send(FINISH)

    async def _answer(self, seat: Seat, envelope: Envelope) -> Any:
        state = envelope.observation
        if not isinstance(state, StateObservation):
            raise HostFault(
                f"a client of the learning track sees states of games, not {type(state).__name__}"
            )
        if envelope.phase == "act":
            if self._init_failed:
                return ESCAPE
            return read_action(await self._ask(seat, self._lines.act(state, self.asker.wants)))
        if envelope.phase == "init":
            validates = self._track.phase == "validation"
            word = await self._ask(seat, self._lines.init(state, is_validation=validates))
            if word == INIT_FAILED:
                if not self._track.loses_rounds:
                    raise AgentFault("not started", f"it said {INIT_FAILED}")
                self._init_failed = True
            return None
        if self._init_failed:  # as in the original, such a level has no end that the client is shown
            self._init_failed = False
            return LOST_ROUND
        try:
            return read_choice(await self._ask(seat, self._lines.end(state, self._last_tick(state))))
        except Overspent as said:
            if self._track.loses_rounds:
                return LOST_ROUND
            raise AgentFault("late", str(said)) from None

    def _last_tick(self, state: StateObservation) -> int:
        current = self._track.current
        return state.game_tick if current is None else int(current.metrics().get("ticks", state.game_tick))

    async def _ask(self, seat: Seat, payload: str) -> str:
        self._awaits = True
        await self._send(payload)
        asker = self.asker
        try:
            while (word := asker.next_answer()) is None:
                self._drop(seat)
                data = await self._pipe.read()
                if not data:
                    lost = ", in the middle of a line" if asker.half_line else ""
                    raise AgentFault("gone", f"the client closed the connection{lost}")
                asker.feed(data)
        except LineError as error:
            self._drop(seat)
            raise AgentFault("garbage", str(error)) from error
        self._awaits = False
        self._drop(seat)
        return word

    def _drop(self, seat: Seat) -> None:
        """Let the seat count the lines that answered nothing."""
        if self.asker.dropped != self._dropped:
            for why, count in (self.asker.dropped - self._dropped).items():
                for _ in range(count):
                    seat.reply(None, self._last if why == "stale" else _UNASKED)
            self._dropped = self.asker.dropped.copy()

    async def _send(self, payload: str) -> None:
        data = self.asker.ask(payload)
        self._sent_whole = False
        with suppress(trio.BrokenResourceError):  # reading tells whether it is gone, and what it said before
            await self._pipe.write(data)
        self._sent_whole = True

    def _picture(self) -> Any:
        current = self._track.current
        return None if current is None else current.picture()
