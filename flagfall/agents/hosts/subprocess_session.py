"""A seat whose agent is a program that is started here and speaks the agent protocol over its pipes."""

from __future__ import annotations

__all__ = ["play_in_subprocess"]

from collections.abc import Sequence

import trio

from flagfall.agents.process.isolation import Isolation
from flagfall.agents.process.supervised import SupervisedProcess, run_supervised
from flagfall.agents.wire.session import CLOSE_SECONDS, ProtocolChannel, WireSession
from flagfall.kernel.channels.pipes import FramedStream, PipeStream
from flagfall.kernel.hosting import Briefing
from flagfall.kernel.seat import Seat


async def play_in_subprocess(
    command: Sequence[str],
    isolation: Isolation,
    seat: Seat,
    briefing: Briefing,
    *,
    agent: str = "",
    shown: Sequence[str] = (),
) -> None:
    """Play the seat with a program, which is started when the seat has its first turn.

    Args:
        command: the program and its arguments.
        isolation: how it is isolated.
        seat: the seat to play.
        briefing: the information for the agent.
        agent: the text of the agent that the program is to load; empty if the program is the agent.
        shown: files and folders that a sandbox shows it, besides those of `isolation`.

    Raises:
        AgentFault: the agent broke down.
        HostFault: the program could not be started.
        UsageError: a sandbox is asked for, and there can be none.
    """
    try:
        await seat.turn()
    except trio.EndOfChannel:
        return

    async def play(supervised: SupervisedProcess, pipe: PipeStream) -> None:
        channel, session = ProtocolChannel(FramedStream(pipe)), WireSession(seat, briefing, agent)
        await session.start(channel)
        if seat.budget.control.clock == "cpu":
            seat.cpu_clock = supervised.cpu_clock()
        await session.play(channel)
        await session.end(channel)
        channel.close()
        await supervised.wait_for_exit(CLOSE_SECONDS)

    await run_supervised(command, isolation, seat, play, shown=shown)
