"""An agent in a thread: for code that blocks. It can be convicted, not stopped.

The thread speaks over a socket pair as a process does over its pipes, so both behave alike. An agent
that never comes back keeps its thread until the program ends; nobody waits for it.
"""

from __future__ import annotations

__all__ = ["ThreadHost"]

import os
import socket
import threading
import time
from contextlib import suppress
from typing import Any, Literal

import trio

from flagfall.agents.wire_host import ask_over, come_up
from flagfall.kernel.channels.pipes import FramedPipe
from flagfall.kernel.match import Briefing
from flagfall.kernel.seat import Seat

CLOSE_SECONDS = 0.5
"""How long an agent has to close after the match, before nobody waits for its thread any more."""


class ThreadHost:
    """Runs an agent in a thread of this process.

    Args:
        agent: an agent of any kind, see `flagfall.agents.agent`; async ones get an event loop there.
        name: for tables and records.
    """

    kind: Literal["thread"] = "thread"

    def __init__(self, agent: Any, name: str) -> None:
        self.name = name
        self._agent = agent
        # Not above: who starts a process as `-m flagfall.agents.worker` would import that module twice.
        from flagfall.agents.worker import serve  # noqa: PLC0415

        self._serve_over = serve

    async def run(self, seat: Seat, briefing: Briefing) -> None:
        """Play the seat; see `flagfall.kernel.match.AgentHost`."""
        try:
            await seat.turn()
        except trio.EndOfChannel:
            return
        ours, theirs = socket.socketpair()
        fd = ours.detach()
        pipe = FramedPipe(fd, os.dup(fd))
        gone = trio.Event()
        token = trio.lowlevel.current_trio_token()
        thread = threading.Thread(target=self._serve, args=(theirs, token, gone), daemon=True, name=self.name)
        thread.start()
        try:
            await come_up(pipe, seat, briefing, "")
            if seat.budget.control.clock == "cpu" and thread.ident is not None:
                clock_id = time.pthread_getcpuclockid(thread.ident)
                seat.cpu_clock = lambda: time.clock_gettime_ns(clock_id)
            await ask_over(pipe, seat)
            with trio.move_on_after(CLOSE_SECONDS):
                await gone.wait()
        finally:
            pipe.close()

    def _serve(self, theirs: socket.socket, token: trio.lowlevel.TrioToken, gone: trio.Event) -> None:
        with theirs:
            self._serve_over(theirs.fileno(), theirs.fileno(), lambda _name: self._agent)
        with suppress(trio.RunFinishedError):
            token.run_sync_soon(gone.set)
