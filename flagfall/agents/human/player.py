"""Human players of byte tasks: full actors that read a terminal without holding up the event loop.

A human plays in the event loop (host `task`), alone in a match, for it takes the terminal. While it is
waited for, it goes on listening: if the time control lets the world move on without it, a space is said for
it, and it sees what came. So a human is never out for being late, and the end of the match reaches it at
once. No virtual time passes while a human is asked.
"""

from __future__ import annotations

__all__ = [
    "HUMANS",
    "SKIP_STEPS",
    "HaltOnDotHuman",
    "Human",
    "HumanAgent",
    "ImmediateHuman",
    "full_screen_human",
    "key_human",
    "no_virtual_time",
    "room_human",
]

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, Final, Protocol

import trio

from flagfall.agents.agent import AgentSeat
from flagfall.agents.human.dialogue import AFTER_DOT, AFTER_SPACES, EVERY_STEP, Manner, Talk, Tape
from flagfall.agents.human.line_console import LineConsole
from flagfall.errors import AgentFault
from flagfall.events import Event, TaskStarted
from flagfall.kernel.channels.envelope import Envelope
from flagfall.timing import VirtualClock

SKIP: Final = "SKIP"
QUIT: Final = "QUIT"

SKIP_STEPS: Final = 10_000
"""How long SKIP is silent at most: as many steps as a micro-task lasts without an answer."""


class Console(Protocol):
    """Where a human sits.

    Attributes:
        step_seconds: how long a step lasts in which nothing is asked.
        asks_anyway: a line is wanted before every step, whatever the manner of asking.
    """

    @property
    def step_seconds(self) -> float: ...

    @property
    def asks_anyway(self) -> bool: ...

    async def ask(self, *, wanted: bool) -> str | None:
        """Wait for a line; `None` at the end of the input. If it is cancelled, no line was taken.

        Args:
            wanted: the manner of asking wants it, and not only `asks_anyway`.
        """

    def typed(self) -> str | None:
        """A line that was typed without being asked for."""

    def tell(self, *, skipping: int) -> None:
        """Something new is on the tape; so many steps are still to be skipped."""


class Human:
    """A human player. Subclasses say where the human sits, and when to ask.

    Args:
        stop: ends the match (`stop.set` of the `trio.Event` given to `play`); called for QUIT and at the
            end of the input. Without it the human leaves the seat instead, which then is out as `gone`.
        skip_steps: how many steps SKIP is silent at most.

    Attributes:
        stop: as given; may be set until the match begins.
    """

    wants: ClassVar = frozenset({"result"})
    manner: ClassVar[Manner]

    def __init__(self, *, stop: Callable[[], object] | None = None, skip_steps: int = SKIP_STEPS) -> None:
        self.stop = stop
        self._skip_steps = skip_steps
        self._begin()

    def _begin(self) -> None:
        """Forget the last match."""
        self._talk = Talk(self.manner)
        self._tape = Tape()
        self._open: int | None = None
        self._wanted = False
        self._skipping = 0

    def open_console(self, tape: Tape) -> AbstractAsyncContextManager[Console]:
        """Where the human of this match sits; when the context ends, the terminal is as it was."""
        raise NotImplementedError

    def notice(self, event: Event) -> None:
        """A sink: ends SKIP where a task begins. Agents cannot see that in a byte stream."""
        if type(event) is TaskStarted:
            self._skipping = 0

    async def run(self, seat: AgentSeat) -> None:
        """Play the seat until the match is over, or the human is gone."""
        self._begin()
        async with self.open_console(self._tape) as self._console:
            with suppress(trio.EndOfChannel):
                while True:
                    self._take(seat, await seat.turn())
                    if self._open is not None and not await self._answer(seat):
                        break
                await self._leave(seat)

    async def _answer(self, seat: AgentSeat) -> bool:
        """Answer the open turn; whether the human stays."""
        anyway = self._console.asks_anyway and not self._talk.queued
        asked = self._skipping == 0 and (self._wanted or anyway)
        line: str | None
        if asked:
            with no_virtual_time():
                line = await self._meanwhile(seat, partial(self._console.ask, wanted=self._wanted))
        else:
            if self._console.step_seconds and not self._skipping:
                await self._meanwhile(seat, self._pace)
            line = self._console.typed()
        if line == QUIT or (asked and line is None):
            return False
        if line is not None:
            self._skipping = self._skip_steps if line == SKIP else 0
            self._talk.answer("" if line == SKIP else line, asked=asked)
        elif self._skipping:
            self._skipping -= 1
        if self._open is not None:
            self._say(seat, self._open)
        return True

    def _say(self, seat: AgentSeat, number: int) -> None:
        byte = self._talk.say()
        self._tape.say(byte)
        self._open = None
        self._console.tell(skipping=self._skipping)
        seat.reply(byte, number)

    def _take(self, seat: AgentSeat, turn: Envelope) -> None:
        """Take what the seat was asked."""
        if turn.phase != "act":
            self._open, self._skipping = None, 0
            self._tape.pay(turn.reward)
            seat.reply(None, turn.number)
        elif type(turn.observation) is not int:
            raise AgentFault(
                "crashed",
                "a human plays byte tasks, human-keys games, and human-room LangRoom; this one showed"
                f" {turn.observation!r:.60}",
            )
        else:
            self._open = turn.number
            self._wanted = self._talk.hear(turn.observation, turn.reward)
            self._tape.hear(turn.number, turn.observation, turn.reward)
        self._console.tell(skipping=self._skipping)

    async def _meanwhile(self, seat: AgentSeat, wait: Callable[[], Awaitable[str | None]]) -> str | None:
        """Wait for the human; take the turns that come meanwhile, for those before them went by.

        Raises:
            trio.EndOfChannel: the match is over.
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

        line = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(listen)
            line = await wait()
            nursery.cancel_scope.cancel()
        if over:
            raise trio.EndOfChannel
        return line

    async def _pace(self) -> None:
        await trio.sleep(self._console.step_seconds)

    async def _leave(self, seat: AgentSeat) -> None:
        """Ask for the end of the match and wait for it."""
        if self.stop is not None:
            self.stop()
            while True:
                self._take(seat, await seat.turn())


class LineHuman(Human):
    """A human at a plain terminal or a pipe."""

    def open_console(self, tape: Tape) -> AbstractAsyncContextManager[Console]:
        """The standard input and output."""
        return LineConsole(tape)


class ImmediateHuman(LineHuman):
    """Is asked for a line before every step, unless something is still queued."""

    manner = EVERY_STEP


class HaltOnDotHuman(LineHuman):
    """Is asked when the teacher has just said a dot."""

    manner = AFTER_DOT


class HumanAgent(LineHuman):
    """Is asked when the teacher has said two spaces in a row."""

    manner = AFTER_SPACES


def full_screen_human(**options: Any) -> Human:
    """A human at a full screen; see `flagfall.agents.human.full_screen.FullScreenHuman`.

    Raises:
        UsageError: there is no terminal, or urwid is not installed.
    """
    from flagfall.agents.human.full_screen import FullScreenHuman  # noqa: PLC0415 - needs a package that is optional

    return FullScreenHuman(**options)


def key_human(**options: Any) -> Human:
    """A human who plays by single keys; see `flagfall.agents.human.keys.KeyHuman`.

    Raises:
        UsageError: there is no terminal, or urwid is not installed.
    """
    from flagfall.agents.human.keys import KeyHuman  # noqa: PLC0415 - needs a package that is optional

    return KeyHuman(**options)


def room_human(**options: Any) -> Human:
    """A human in LangRoom; see `flagfall.agents.human.langroom.RoomHuman`.

    Raises:
        UsageError: there is no terminal, or urwid is not installed.
    """
    from flagfall.agents.human.langroom import RoomHuman  # noqa: PLC0415 - needs a package that is optional

    return RoomHuman(**options)


def no_virtual_time() -> Any:
    """Around waiting for a human: a virtual clock stands still meanwhile."""
    clock = trio.lowlevel.current_clock()
    return clock.hold() if isinstance(clock, VirtualClock) else nullcontext()


HUMANS: Final[Mapping[str, Callable[..., Human]]] = MappingProxyType(
    {
        "human": full_screen_human,
        "human-line": HumanAgent,
        "human-dot": HaltOnDotHuman,
        "human-immediate": ImmediateHuman,
        "human-keys": key_human,
        "human-room": room_human,
    }
)
"""The human players by name; each is made with `stop` and sits in the event loop, one in a match."""
