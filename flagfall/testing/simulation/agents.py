"""An agent that breaks down as its faults say, wherever it plays."""

from __future__ import annotations

from typing import Any, Final

import trio

from flagfall.agents.agent import AdaptedAgent, adapt, play_seat, resolve
from flagfall.errors import AgentFault
from flagfall.kernel.agent_seat import SeatTurns
from flagfall.kernel.channels.turn_channel import Envelope
from flagfall.kernel.hosting import Briefing
from flagfall.kernel.tracebacks import hide_frames
from flagfall.testing.faults import Fault, Unit
from flagfall.testing.simulation.injection import Injection
from flagfall.timing.durations import S

hide_frames(__file__)

ILLEGAL: Final = {"illegal": "by a fault"}
"""An answer that no task allows."""


class _LeftError(Exception):
    """The agent ends without a word."""


class FaultyAgent:
    """An actor (`flagfall.agents.agent`) that plays another agent, with faults.

    Args:
        agent: an agent of any kind.
        seat: its seat in the match.
    """

    def __init__(self, agent: Any, seat: int, injection: Injection) -> None:
        self._seat_number = seat
        self._injection = injection
        self._seat: Any = None
        self._adapted: AdaptedAgent | None = None
        self._error: Exception | None = None
        try:
            self._adapted = adapt(agent, _TimerOf(self))  # type: ignore[arg-type]  # it is read in turns
        except Exception as error:  # noqa: BLE001 - it counts when the agent is to start
            self._error = error
        else:
            self.wants: frozenset[str] = self._adapted.wants
            self.texts: bool = self._adapted.texts

    @property
    def timer(self) -> Any:
        """The timer of its seat."""
        return self._seat.timer

    async def start(self, briefing: Briefing) -> None:
        """Start the agent."""
        if self._error is not None:
            raise self._error
        assert self._adapted is not None
        await resolve(self._adapted.start(briefing))
        await self.strike("start", 0)

    async def run(self, seat: Any) -> None:
        """Play the seat."""
        assert self._adapted is not None
        self._seat = seat
        try:
            await play_seat(self._adapted, _FaultySeat(seat, self))
        except _LeftError:
            return

    async def close(self) -> None:
        """Close the agent."""
        await self.strike("end", 0)
        if self._adapted is not None:
            await resolve(self._adapted.close())

    async def strike(self, unit: Unit, at: int) -> bool:
        """Break down if a fault of this moment says so; return true if the answer is to be illegal."""
        is_illegal = False
        for fault in self._injection.take("agent", self._seat_number, unit, at):
            self._injection.count(fault)
            is_illegal = is_illegal or fault.kind == "illegal"
            await self._strike(fault)
        for place in ("process", "network"):
            for fault in self._injection.take(place, self._seat_number, unit, at):
                self._injection.places[self._seat_number].strike(fault)
                await self._injection.rest()  # its host has found out, and done what it does
        return is_illegal

    async def _strike(self, fault: Fault) -> None:
        match fault.kind:
            case "crash":
                raise AgentFault("crashed", f"by a fault: {fault}")
            case "leave":
                raise _LeftError
            case "hang":
                await trio.sleep_forever()
            case "slow":
                await trio.sleep(fault.amount / S)

    async def begin_turn(self, turn: int) -> bool:
        """Let happen what is due in a turn that was taken; return true if the answer is to be illegal."""
        await self._injection.wait_at_turn(turn)
        return await self.strike("turn", turn)


class _TimerOf:
    """The timer of the seat that an agent gets later."""

    def __init__(self, agent: FaultyAgent) -> None:
        self._agent = agent

    def __getattr__(self, name: str) -> Any:
        return getattr(self._agent.timer, name)


class _FaultySeat(SeatTurns):
    """A seat whose turns and answers have the faults of an agent."""

    def __init__(self, seat: Any, agent: FaultyAgent) -> None:
        self._seat = seat
        self._agent = agent
        self._is_illegal = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._seat, name)

    async def turn(self) -> Envelope:
        envelope: Envelope = await self._seat.turn()
        self._is_illegal = envelope.phase == "act" and await self._agent.begin_turn(envelope.number)
        return envelope

    def reply(self, action: Any = None, number: int | None = None) -> None:
        self._seat.reply(ILLEGAL if self._is_illegal else action, number)
