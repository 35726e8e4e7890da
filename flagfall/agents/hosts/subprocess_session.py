"""Hosts whose agent is a program that is started here and speaks the agent protocol over its pipes."""

from __future__ import annotations

__all__ = ["SubprocessHost", "play_in_subprocess"]

from collections.abc import Callable, Sequence

import trio

from flagfall.agents.process.forking import ForkServerUse
from flagfall.agents.process.isolation import Isolation
from flagfall.agents.process.sandbox import check_sandbox_for
from flagfall.agents.process.supervised import SupervisedProcess, prepare_fork_server, run_supervised
from flagfall.agents.wire.session import CLOSE_SECONDS, ProtocolChannel, WireSession
from flagfall.kernel.channels.pipes import FramedStream, PipeStream
from flagfall.kernel.hosting import Briefing, HostKind
from flagfall.kernel.seat import HostSeat


class SubprocessHost:
    """Runs a program that speaks the agent protocol.

    Args:
        name: for tables and records.
        command: the program and its arguments.
        isolation: the isolation of the process.
        find_code: returns the files and folders that a sandbox shows, besides those of `isolation`.
        agent: the text of the agent that the program is to load; empty if the program is the agent.

    Raises:
        UsageError: a sandbox is asked for that cannot be made here, or could not read the agent.
    """

    kind: HostKind = "process"

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        isolation: Isolation,
        find_code: Callable[[], Sequence[str]],
        agent: str = "",
    ) -> None:
        self.name = name
        self._command = command
        self._isolation = isolation
        self._agent = agent
        self._shown: Sequence[str] = ()
        # One for each match that has warmed up and not ended; it makes no difference which of them it ends.
        self._server_uses: list[ForkServerUse] = []
        if isolation.kind == "sandbox":
            self._shown = find_code()
            check_sandbox_for([*self._shown, *isolation.readable])

    async def run(self, seat: HostSeat, briefing: Briefing) -> None:
        """Play the seat; see `flagfall.kernel.hosting.AgentHost`.

        Args:
            seat: the seat to play.
            briefing: the information for the agent.
        """
        try:
            await play_in_subprocess(
                self._command, self._isolation, seat, briefing, agent=self._agent, shown=self._shown
            )
        finally:
            if self._server_uses:
                await self._server_uses.pop().end()

    async def warm_up(self) -> None:
        """Wait for the fork server that starts the agent; see `flagfall.kernel.hosting.SharingHost`."""
        use = await prepare_fork_server(self._command, self._isolation)
        if use is not None:
            self._server_uses.append(use)


async def play_in_subprocess(
    command: Sequence[str],
    isolation: Isolation,
    seat: HostSeat,
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
        await seat.agent.turn()
    except trio.EndOfChannel:
        return

    async def play(supervised: SupervisedProcess, pipe: PipeStream) -> None:
        channel, session = ProtocolChannel(FramedStream(pipe)), WireSession(seat, briefing, agent)
        await session.start(channel)
        seat.clock.use_arrivals(channel.age_ns)
        if seat.budget.control.clock == "cpu":
            seat.clock.cpu_clock = supervised.cpu_clock()
        await session.play(channel)
        await session.end(channel)
        channel.close()
        await supervised.wait_for_exit(CLOSE_SECONDS)

    await run_supervised(command, isolation, seat, play, shown=shown)
