"""A seat whose agent is a program that is started here and speaks the wire."""

from __future__ import annotations

__all__ = ["play_by_wire"]

from collections.abc import Sequence

import trio

from flagfall.agents.process.isolation import Isolation
from flagfall.agents.process.supervised import Guarded, play_guarded
from flagfall.agents.wire.session import CLOSE_SECONDS, Wire, WireTalk
from flagfall.kernel.channels.pipes import BytePipe, PayloadPipe
from flagfall.kernel.hosting import Briefing
from flagfall.kernel.seat import Seat


async def play_by_wire(
    command: Sequence[str],
    isolation: Isolation,
    seat: Seat,
    briefing: Briefing,
    *,
    agent: str = "",
    shown: Sequence[str] = (),
) -> None:
    """Play the seat; see `flagfall.kernel.match.AgentHost`. The program is started when the seat has a turn.

    Args:
        command: the program and its arguments.
        isolation: how it is kept apart.
        seat: where it sits.
        briefing: what it may know.
        agent: what the program is to load; empty where it knows.
        shown: what it can read in a sandbox besides what `isolation` says.
    """
    try:
        await seat.turn()
    except trio.EndOfChannel:
        return

    async def play(guarded: Guarded, pipe: BytePipe) -> None:
        wire, talk = Wire(PayloadPipe(pipe)), WireTalk(seat, briefing, agent)
        await talk.come_up(wire)
        if seat.budget.control.clock == "cpu":
            seat.cpu_clock = guarded.cpu_clock()
        await talk.ask(wire)
        await talk.part(wire)
        wire.close()
        await guarded.has_ended(CLOSE_SECONDS)

    await play_guarded(command, isolation, seat, play, shown=shown)
