"""Host of an agent in a thread, for code that blocks. It can be disqualified, but not stopped.

The thread speaks over a socket pair as a process does over its pipes, so both behave alike. But it lives by
the host's own clock, so the times at which it took a turn and made its answer are noted in the thread: the
delivery of both is not its time. An agent that never returns keeps its thread until the program ends; the
match does not wait for it.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Any

import trio

from flagfall.agents.wire.session import CLOSE_SECONDS, ProtocolChannel, WireSession
from flagfall.agents.wire.worker import TurnTimes, serve
from flagfall.errors import HostFault
from flagfall.kernel.channels.pipes import FramedStream, PipeStream
from flagfall.kernel.hosting import Briefing, HostKind
from flagfall.kernel.seat import HostSeat
from flagfall.timing.clocks import real_limit, thread_cpu_clock


class ThreadHost:
    """Runs an agent in a thread of this process.

    Args:
        agent: an agent of any kind, see `flagfall.agents.agent`; async ones get an event loop there.
    """

    kind: HostKind = "thread"

    def __init__(self, agent: Any, name: str) -> None:
        self.name = name
        self._agent = agent

    async def run(self, seat: HostSeat, briefing: Briefing) -> None:
        """Play the seat; see `flagfall.kernel.hosting.AgentHost`."""
        try:
            await seat.agent.turn()
        except trio.EndOfChannel:
            return
        ours, theirs = socket.socketpair()
        channel = ProtocolChannel(FramedStream(PipeStream(ours.detach())))
        session = WireSession(seat, briefing)
        gone, times = trio.Event(), TurnTimes(seat.now)
        token = trio.lowlevel.current_trio_token()
        arguments = theirs, times, token, gone
        thread = threading.Thread(target=self._serve, args=arguments, daemon=True, name=self.name)
        try:
            _start(thread, theirs)
            await session.start(channel)
            if seat.hold is None:
                seat.clock.use_times(times.of)
            if seat.budget.control.clock == "cpu" and thread.ident is not None:
                seat.clock.cpu_clock = thread_cpu_clock(thread.ident)
            await session.play(channel)
            await session.end(channel)
            with real_limit(CLOSE_SECONDS):
                await gone.wait()
        finally:
            channel.close()

    def _serve(
        self, theirs: socket.socket, times: TurnTimes, token: trio.lowlevel.TrioToken, gone: trio.Event
    ) -> None:
        with theirs:
            serve(theirs.fileno(), theirs.fileno(), lambda _name: self._agent, times)
        with suppress(trio.RunFinishedError):
            token.run_sync_soon(gone.set)


def _start(thread: threading.Thread, theirs: socket.socket) -> None:
    try:
        thread.start()
    except RuntimeError as error:  # no more threads: no agent is disqualified for that
        theirs.close()
        raise HostFault(f"no thread for an agent: {error}") from error
