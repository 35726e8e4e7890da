"""Human players of byte tasks: actors that read a terminal without blocking the event loop.

A human plays in the event loop (host `task`), alone in a match, because it takes the terminal. While the
prompt waits, the player goes on receiving turns: where the time control lets the world move on, a space is
played and shown. So a human is never disqualified as late, and the end of the match arrives at once. No
virtual time passes while a human is prompted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from functools import partial
from typing import Any, ClassVar, Final, Protocol

import trio

from flagfall.agents.agent import AgentSeat
from flagfall.agents.human import dialogue
from flagfall.errors import AgentFault
from flagfall.events import Event, TaskStarted
from flagfall.kernel.channels.turn_channel import Envelope
from flagfall.timing import VirtualClock

SKIP_STEPS: Final = 10_000
"""Maximum number of silent steps of SKIP: as many as a micro-task lasts without an answer."""


class Console(Protocol):
    """The terminal of a human player."""

    @property
    def step_seconds(self) -> float:
        """Seconds that a step without a prompt lasts."""

    @property
    def asks_anyway(self) -> bool:
        """Prompt before every step, whatever the policy."""

    async def ask(self, *, wanted: bool) -> str | None:
        """Wait for a line; `None` at the end of the input. If the call is cancelled, no line was taken."""

    def typed(self) -> str | None:
        """Return a line that was typed without a prompt; `None` where there is none."""

    def refresh(self, *, skipping: int) -> None:
        """Show the tape, which has changed."""


class Human:
    """A human player; subclasses define the terminal and when to prompt.

    Args:
        stop: ends the match (`stop.set` of the `trio.Event` given to `play`); called for QUIT and at the
            end of the input. Without it the human leaves the seat instead, which is disqualified as `gone`.
        skip_steps: maximum number of silent steps of SKIP.
    """

    wants: ClassVar[frozenset[str]] = frozenset({"result"})
    policy: ClassVar[dialogue.PromptPolicy]

    def __init__(self, *, stop: Callable[[], object] | None = None, skip_steps: int = SKIP_STEPS) -> None:
        self.stop = stop
        self._skip_steps = skip_steps
        self._begin()

    def _begin(self) -> None:
        """Reset the state of the match before."""
        self._dialogue = dialogue.DialogueQueue(self.policy)
        self._tape = dialogue.Tape()
        self._open: int | None = None
        self._wanted = False
        self._skipping = 0

    def open_console(self, tape: dialogue.Tape) -> AbstractAsyncContextManager[Console]:
        """Open the terminal; when the context ends, it is as before."""
        raise NotImplementedError

    def notice(self, event: Event) -> None:
        """Take an event, as a sink: end SKIP where a task begins, which no byte of the task shows."""
        if type(event) is TaskStarted:
            self._skipping = 0

    async def run(self, seat: AgentSeat) -> None:
        """Play the seat until the match is over, or the human leaves."""
        self._begin()
        async with self.open_console(self._tape) as self._console:
            with suppress(trio.EndOfChannel):
                while True:
                    self._take(seat, await seat.turn())
                    if self._open is not None and not await self._answer(seat):
                        break
                await self._leave(seat)

    async def _answer(self, seat: AgentSeat) -> bool:
        """Answer the open turn, and return whether the human stays."""
        anyway = self._console.asks_anyway and not self._dialogue.queued
        asked = self._skipping == 0 and (self._wanted or anyway)
        line: str | None
        if asked:
            with no_virtual_time():
                line = await self._meanwhile(seat, partial(self._console.ask, wanted=self._wanted))
        else:
            if self._console.step_seconds and not self._skipping:
                await self._meanwhile(seat, partial(trio.sleep, self._console.step_seconds))
            line = self._console.typed()
        if line == dialogue.QUIT or (asked and line is None):
            return False
        if line is not None:
            self._skipping = self._skip_steps if line == dialogue.SKIP else 0
            self._dialogue.answer("" if line == dialogue.SKIP else line, asked=asked)
        elif self._skipping:
            self._skipping -= 1
        if self._open is not None:
            self._say(seat, self._open)
        return True

    def _say(self, seat: AgentSeat, number: int) -> None:
        byte = self._dialogue.say()
        self._tape.say(byte)
        self._open = None
        self._console.refresh(skipping=self._skipping)
        seat.reply(byte, number)

    def _take(self, seat: AgentSeat, turn: Envelope) -> None:
        """Take an envelope of the seat."""
        if turn.phase != "act":
            self._open, self._skipping = None, 0
            self._tape.pay(turn.reward)
            seat.reply(None, turn.number)
        elif type(turn.observation) is not int:
            raise AgentFault(
                "crashed",
                "human is for byte tasks, human-keys for games, human-room for LangRoom; this task showed"
                f" {turn.observation!r:.60}",
            )
        else:
            self._open = turn.number
            self._wanted = self._dialogue.hear(turn.observation, turn.reward)
            self._tape.hear(turn.number, turn.observation, turn.reward)
        self._console.refresh(skipping=self._skipping)

    async def _meanwhile(self, seat: AgentSeat, wait: Callable[[], Awaitable[str | None]]) -> str | None:
        """Wait for the human, and take the turns that come meanwhile: the turns before them are over.

        Raises `trio.EndOfChannel` at the end of the match.
        """
        over = False

        async def listen() -> None:
            nonlocal over
            try:
                while True:
                    self._take(seat, await seat.turn())
            except trio.EndOfChannel:
                over = True
                nursery.cancel_scope.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(listen)
            line = await wait()
            nursery.cancel_scope.cancel()
        if over:
            raise trio.EndOfChannel
        return line

    async def _leave(self, seat: AgentSeat) -> None:
        """Ask for the end of the match and wait for it."""
        if self.stop is not None:
            self.stop()
            while True:
                self._take(seat, await seat.turn())


class LineHuman(Human):
    """A human at a plain terminal or a pipe."""

    def open_console(self, tape: dialogue.Tape) -> AbstractAsyncContextManager[Console]:
        """Open the standard input and output."""
        return dialogue.LineConsole(tape)


class ImmediateHuman(LineHuman):
    """A human who is prompted before every step, unless bytes are still queued."""

    policy = dialogue.EVERY_STEP


class HaltOnDotHuman(LineHuman):
    """A human who is prompted after a dot of the teacher."""

    policy = dialogue.AFTER_DOT


class HumanAgent(LineHuman):
    """A human who is prompted after two spaces of the teacher."""

    policy = dialogue.AFTER_SPACES


def no_virtual_time() -> Any:
    """Return a context in which a virtual clock stands still, for waiting for a human."""
    clock = trio.lowlevel.current_clock()
    return clock.hold() if isinstance(clock, VirtualClock) else nullcontext()
