"""Replays a task that is an actor: it runs again, on a virtual clock, and gets the recorded actions in time.

The actor needs an event loop, and the replay is called from plain code and from other event loops alike. So
the actor has a thread with a loop of its own, and the thread runs only while the replay waits for it:
everything happens in one order. A recorded action comes at its recorded time, and a turn that the actor had
withdrawn by then gets none. What the actor does between turns by other means than trio's clock (a file, a
socket) is done again, so a task whose observations depend on that is not repeatable, and has to say so.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, Final

import attrs
import trio

from flagfall.kernel.scheduling import ActorTurns, run_actor
from flagfall.kernel.script import Actions, ActorResult, EndOfMatch, Stop
from flagfall.timing import S, VirtualClock

ROUNDING_NS: Final = 2
"""Maximum delay of an actor's act after its record, which has whole nanoseconds, rounded down."""

CLOSE_SECONDS: Final = 1.0
"""Maximum time for an actor to end when its replay is given up; then its thread is left behind."""


@attrs.frozen
class OpenTurn:
    """A turn that the actor asked for.

    Attributes:
        unrecorded: the number of turns before it, since the last that was recorded, which have no record:
            they were withdrawn, or asked no player.
    """

    observation: Any
    reward: Any
    unrecorded: int


@attrs.define(eq=False)
class _Ask:
    """A turn that waits for its actions."""

    observation: Any
    reward: Any
    actions: Any = None
    is_recorded: bool = False
    is_answered: trio.Event = attrs.field(factory=trio.Event)


class ActorReplay:
    """One episode of a task that is an actor; raises whatever the actor raises.

    Times are since the match began.

    Args:
        owed: a reward from before, to be paid with its first turn.
        began_ns: when the episode began.
        solo: the match has one seat.
        is_withdrawn: the latest turn before it was withdrawn.

    Attributes:
        unrecorded: the number of turns without a record since the last `OpenTurn`.
        is_withdrawn: the latest turn was withdrawn; it counts when another one is asked for.
    """

    def __init__(self, task: Any, owed: Any, began_ns: int, *, solo: bool, is_withdrawn: bool) -> None:
        self.unrecorded: int = 0
        self.is_withdrawn: bool = is_withdrawn
        self._task = task
        self._turns = ActorTurns(self._play_turn, owed)
        self._began_ns = began_ns
        self._solo = solo
        self._is_ended = False
        self._ask: _Ask | None = None
        self._result: ActorResult | None = None
        self._error: BaseException | None = None
        self._is_over = trio.Event()
        # Set when a turn is opened, and when the actor is over.
        self._progress = trio.Event()
        self._clock = VirtualClock()
        self._commands: queue.SimpleQueue[Callable[[], Any] | None] = queue.SimpleQueue()
        self._reports: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run_loop, name="flagfall replay", daemon=True)
        self._thread.start()
        self._report()

    @property
    def steps(self) -> int:
        """Return the number of turns whose actions the actor got."""
        return self._turns.steps

    # The replay's side.

    def turn_at(self, at_ns: int) -> OpenTurn | None:
        """Let the actor run until the time of a record, and return the turn that is open then."""
        self._do(lambda: self._wait_for_progress(at_ns))
        ask = self._ask
        if ask is None:
            return None
        ask.is_recorded = True
        unrecorded, self.unrecorded = self.unrecorded, 0
        return OpenTurn(ask.observation, ask.reward, unrecorded)

    def answer(self, actions: Actions, at_ns: int) -> None:
        """Give the actor the actions of the open turn, at the time of the last record of the turn."""
        self._do(lambda: self._sleep_until(at_ns))
        if (ask := self._ask) is not None:
            ask.actions = actions
            self._ask = None
            self._do(lambda: self._set(ask))

    def finish(self, at_ns: int) -> ActorResult:
        """Let the actor run to its end; a turn that it asks for then is the end of the match."""
        self._do(lambda: self._wait_past(at_ns, self._is_over))
        self._is_ended = True
        if (ask := self._ask) is not None:
            self._do(lambda: self._set(ask))
        if self._result is None:
            self._do(self._is_over.wait)
        assert self._result is not None
        return self._result

    def close(self) -> None:
        """Give up: cancel the actor, and end its loop."""
        self._commands.put(None)
        self._thread.join(CLOSE_SECONDS)

    def _do(self, command: Callable[[], Any]) -> None:
        """Let the loop run a command, and the actor as far as it gets at that moment."""
        if self._thread.is_alive():
            self._commands.put(command)
            self._report()

    def _report(self) -> None:
        error = self._reports.get()
        if error is not None:
            raise error

    # The loop's side, in the thread.

    def _run_loop(self) -> None:
        try:
            trio.run(self._main, clock=self._clock)
        except BaseException as error:  # noqa: BLE001 - the replay raises it
            self._error = self._error or error
        self._reports.put(self._error)

    async def _main(self) -> None:
        from trio.testing import wait_all_tasks_blocked  # noqa: PLC0415 - imports pytest where that is installed

        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._run_task, nursery)
            while True:
                with self._clock.hold():
                    await wait_all_tasks_blocked()
                self._reports.put(None)
                command = self._commands.get()  # blocks the whole loop: no time passes, and nothing runs
                if command is None:
                    nursery.cancel_scope.cancel()
                    return
                await command()

    async def _run_task(self, nursery: trio.Nursery) -> None:
        try:
            self._result = await run_actor(self._task, self._turns)
            self._is_over.set()
            self._progress.set()
        except Exception as error:  # noqa: BLE001 - the replay raises it
            self._error = error
            nursery.cancel_scope.cancel()

    async def _play_turn(self, observation: Any, reward: Any) -> Actions:
        self.unrecorded += self.is_withdrawn
        self.is_withdrawn = False
        if self._is_ended:
            await trio.lowlevel.checkpoint()
            raise EndOfMatch(Stop("stopped"))
        if not self._solo and not observation:  # it asks no player, so it is over at once
            self.unrecorded += 1
            return {}
        ask = self._ask = _Ask(observation, reward)
        self._progress.set()
        try:
            await ask.is_answered.wait()
        except trio.Cancelled:
            self.is_withdrawn = not ask.is_recorded  # else it counts already
            self._ask = None
            raise
        if self._is_ended:
            raise EndOfMatch(Stop("stopped"))
        return ask.actions

    async def _sleep_until(self, at_ns: int) -> None:
        await trio.sleep_until((at_ns - self._began_ns) / S)

    async def _wait_for_progress(self, at_ns: int) -> None:
        """Wait until a moment, and no longer than `ROUNDING_NS` after it for a turn or the actor's end."""
        await self._sleep_until(at_ns)
        if self._ask is None and self._result is None:
            self._progress = trio.Event()
            await self._wait_past(at_ns, self._progress)

    async def _wait_past(self, at_ns: int, event: trio.Event) -> None:
        """Wait for an event no longer than `ROUNDING_NS` after a moment."""
        with trio.move_on_at((at_ns + ROUNDING_NS - self._began_ns) / S):
            await event.wait()

    async def _set(self, ask: _Ask) -> None:
        ask.is_answered.set()
        await trio.lowlevel.checkpoint()
