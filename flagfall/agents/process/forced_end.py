"""Ending of an agent by its host itself, where the supervisor does not do it.

The supervisor of an agent without a sandbox is a process of the same user, so the agent can stop, trace or
kill it. The host is not: it finds the agent from the outside, by its children or by what the supervisor
reported when it started.
"""

from __future__ import annotations

__all__ = ["AgentReport", "kill_below"]

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from flagfall.agents.process import supervisor

AGAIN_SECONDS: Final = 0.001
"""The time between two rounds of killing: processes that were just started are found in the next one."""

_REPORT_BYTES: Final = 64
_ENDED: Final = frozenset("ZX")
"""States of processes that have ended, whether or not their parent has waited for them."""


def kill_below(pid: int, group: Path | None = None, seconds: float = supervisor.KILL_SECONDS) -> None:
    """Kill all processes below one until none of them runs; blocks.

    Args:
        pid: the process; it stays. Orphans must come to it, or they are missed.
        group: a control group that holds them, where there is one.
        seconds: how long to try. A process that is left then waits in the system, for a disk perhaps.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if group is not None:
            with suppress(OSError):
                (group / "cgroup.kill").write_text("1")
        running = [
            below for below in supervisor.descendants(pid) if supervisor.status_of(below)[0] not in _ENDED
        ]
        if not running:
            return
        for below in running:
            with suppress(OSError):
                os.kill(below, signal.SIGKILL)
        time.sleep(AGAIN_SECONDS)


class AgentReport:
    """The report of a supervisor on the process that it started: the pid, and the start time as a check.

    A pid alone might belong to another process by the time it is used.
    """

    def __init__(self) -> None:
        self._reading, self.writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._reported = b""

    def close_writing(self) -> None:
        """Close the supervisor's end in this process."""
        os.close(self.writing)

    def close(self) -> None:
        """Close the host's end."""
        os.close(self._reading)

    def pid(self) -> int:
        """Return the pid of the reported process if it is still that process, else 0."""
        with suppress(BlockingIOError):
            self._reported = self._reported or os.read(self._reading, _REPORT_BYTES)
        pid, _, started = self._reported.decode().partition(" ")
        return int(pid) if started and supervisor.status_of(int(pid))[1] == started else 0

    def kill_agent(self) -> None:
        """Kill the reported process and all below it, if it is still that process; blocks."""
        pid = self.pid()
        if not pid:  # it is gone, or was never started
            return
        with suppress(OSError):
            descriptor = os.pidfd_open(pid)
            try:
                if self.pid():  # the descriptor is of this process, and of no later one
                    signal.pidfd_send_signal(descriptor, signal.SIGSTOP)  # it starts no more meanwhile
                    kill_below(pid)
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            finally:
                os.close(descriptor)
