"""The referee for code that awaits: parks the environment's actor until a request is complete."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from trio.lowlevel import (
    Abort,
    Task,
    cancel_shielded_checkpoint,
    current_task,
    reschedule,
    wait_task_rescheduled,
)

from flagfall.kernel.referee.state_machine import Referee
from flagfall.kernel.script import Actions, EndOfMatch, PhaseRequest, Request, Stop
from flagfall.timing.deadlines import ignore


class AsyncReferee:
    """Makes requests of a referee and waits for their results, one at a time.

    Cancelling a request withdraws what is open.

    Args:
        referee: the referee, which is not asked by anything else.
    """

    __slots__ = ("_parked", "_referee")

    def __init__(self, referee: Referee) -> None:
        self._referee = referee
        self._parked: Task | None = None
        referee.on_result = self._wake

    def play_turns(
        self, script: Callable[[Actions], Request], request: Request
    ) -> Coroutine[Any, Any, Request]:
        """Play turns with a script until it asks for something else.

        Args:
            script: takes the actions of a turn, and returns the next request.
            request: the pair (observation, reward) of the first turn.

        Returns:
            See `flagfall.kernel.referee.state_machine.Referee.play_turns`.

        Raises:
            Exception: whatever the script raises.
        """
        self._referee.play_turns(script, *request)
        return self._result()

    def ask_all(self, request: PhaseRequest) -> Coroutine[Any, Any, dict[int, Any] | Stop]:
        """Ask all seats that want to be asked in a phase; return their answers by seat number."""
        self._referee.ask_all(request)
        return self._result()

    async def ask(self, observation: Any, reward: Any) -> Actions:
        """Play one turn, and return the actions.

        Raises:
            EndOfMatch: the match was stopped, reached its last step, or has no seat left.
        """
        self._referee.play_turns(None, observation, reward)
        if self._referee.is_complete:  # so a task that asks on after the end lets the loop run
            await cancel_shielded_checkpoint()
        result = await self._result()
        if isinstance(result, Stop):
            raise EndOfMatch(result)
        return result

    def release(self) -> None:
        """Let the referee go of its seats and callbacks: the match is over."""
        referee = self._referee
        referee.seat_all(())
        referee.withdrawn()
        referee.pace = None
        referee.on_result = ignore

    async def _result(self) -> Any:
        if not self._referee.is_complete:
            self._parked = current_task()
            await wait_task_rescheduled(self._withdraw)
        return self._referee.take_result()

    def _wake(self) -> None:
        if self._parked is not None:
            parked, self._parked = self._parked, None
            reschedule(parked)

    def _withdraw(self, _raise_cancel: Any) -> Abort:
        self._parked = None
        self._referee.withdrawn()
        return Abort.SUCCEEDED
