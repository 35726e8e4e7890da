"""The agents of a match: runs the host of each seat, and keeps what goes wrong there on its own seat."""

from __future__ import annotations

__all__ = ["Seating"]

from collections.abc import Callable, Sequence
from math import inf
from typing import Final

import trio

from flagfall.errors import AgentFault, HostFault, UsageError
from flagfall.kernel.hosting import AgentHost, Briefing
from flagfall.kernel.referee.state_machine import Referee
from flagfall.kernel.seat import HostSeat
from flagfall.kernel.seeding import derive_seed
from flagfall.kernel.tracebacks import agent_traceback
from flagfall.timing import TimeControl, Timekeeper
from flagfall.timing.callbacks import ignore

CLOSE_SECONDS: Final = 1.0
"""Maximum time for agents to close when the match is over; then they are stopped."""

_QUICK_PASSES: Final = 2
"""Passes of the loop in which agents that wait for a turn end; only after these the wait needs a limit."""


class Seating:
    """Runs one actor for each agent.

    Args:
        hosts: one for each seat.
        control: the time control of every seat.
        control_text: its text form.
        seed: the root seed of the match.
        keeper: the deadlines of the event loop, and what it has lost.
        referee: notified of the seats that must be disqualified.
        void: called with the fault of a host that is no fault of its agent: the match is void.

    Attributes:
        seats: in seat order.
    """

    __slots__ = (
        "_agents_gone",
        "_agents_left",
        "_control_text",
        "_hosts",
        "_ledger",
        "_referee",
        "_seed",
        "_void",
        "seats",
    )

    def __init__(
        self,
        hosts: Sequence[AgentHost],
        control: TimeControl,
        control_text: str,
        seed: int,
        keeper: Timekeeper,
        referee: Referee,
        void: Callable[[HostFault | UsageError], None],
    ) -> None:
        self._hosts = hosts
        self._control_text = control_text
        self._seed = seed
        self._ledger = keeper.ledger
        self._referee = referee
        self._void = void
        self._agents_left = len(hosts)
        self._agents_gone: trio.Event | None = None
        self.seats: list[HostSeat] = [
            HostSeat(number, control, keeper, referee) for number in range(len(hosts))
        ]
        referee.seat_all(self.seats)

    def start(self, nursery: trio.Nursery) -> None:
        """Start the agents in a nursery."""
        for seat, host in zip(self.seats, self._hosts, strict=True):
            nursery.start_soon(self._run, seat, host, name=f"seat {seat.number}: {host.name}")

    async def close(self, nursery: trio.Nursery) -> None:
        """End the turns of every seat, give the agents `CLOSE_SECONDS` to end, and stop what is left.

        Args:
            nursery: the nursery of the agents, and of helpers which end with them.
        """
        for seat in self.seats:
            seat.end()
        try:
            await self._wait_for_agents()
        finally:
            if nursery.child_tasks:
                nursery.cancel_scope.cancel()

    def release(self) -> None:
        """Let go of the match, which is over."""
        self._void = ignore
        for seat in self.seats:
            seat.release()

    async def _wait_for_agents(self) -> None:
        # An agent that waits for its next turn ends within the next pass of the loop.
        for _ in range(_QUICK_PASSES):
            if self._agents_left == 0:
                return
            await trio.lowlevel.checkpoint()
        if self._agents_left:
            self._agents_gone = trio.Event()
            with trio.move_on_after(CLOSE_SECONDS):
                await self._agents_gone.wait()

    async def _run(self, seat: HostSeat, host: AgentHost) -> None:
        """Run one agent; whatever it does, only its own seat is disqualified."""
        task = trio.lowlevel.current_task()
        self._ledger.register(task, seat.clock)
        try:
            with trio.CancelScope() as scope:
                seat.stop_agent = scope.cancel
                try:
                    await host.run(seat, self._briefing(seat))
                finally:
                    seat.stop_agent = ignore
        except (HostFault, UsageError) as fault:  # the host cannot play the agent: not the agent's doing
            self._void(fault)
        except AgentFault as fault:
            self._referee.disqualified(seat, fault.reason, fault.detail)
        except BaseException as error:  # noqa: BLE001 - an agent never crashes a match
            passing, own = _parted(error)
            if own is not None:
                self._referee.disqualified(seat, "crashed", agent_traceback(own))
            if passing is not None:
                raise passing from None
        else:
            if not seat.is_closed():
                self._referee.disqualified(seat, "gone", "the agent returned before the match was over")
        finally:
            self._ledger.forget(task)
            self._agents_left -= 1
            if self._agents_left == 0 and self._agents_gone is not None:
                self._agents_gone.set()

    def _briefing(self, seat: HostSeat) -> Briefing:
        return Briefing(
            seat.number,
            len(self._hosts),
            derive_seed(self._seed, "seat", seat.number),
            self._control_text,
            seat.look_up_spaces,
            seat.agent.note,
        )


def _parted(error: BaseException) -> tuple[BaseException | None, BaseException | None]:
    """Split an agent's error into what is trio's or the user's to stop it, and the agent's own doing."""
    passing: tuple[type[BaseException], ...] = (trio.Cancelled, KeyboardInterrupt)
    if trio.current_effective_deadline() != -inf:
        passing = (KeyboardInterrupt,)  # it is not cancelled, so this Cancelled is the agent's own
    if isinstance(error, BaseExceptionGroup):
        return error.split(passing)
    return (error, None) if isinstance(error, passing) else (None, error)
