"""Enforcement of limits on this machine, and the end of an agent where its supervisor does not bring it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import attrs

from flagfall.agents.process import supervisor
from flagfall.agents.process.isolation import Isolation, IsolationKind
from flagfall.agents.process.limits import Limits, controllers
from flagfall.agents.process.seccomp import is_supported
from flagfall.agents.process.supervisor import LOOK_SECONDS

# Ending of an agent by its host itself, where the supervisor does not do it.
#
# The supervisor of an agent without a sandbox is a process of the same user, so the agent can stop, trace or
# kill it. The host is not: it finds the agent from the outside, by its children or by what the supervisor
# reported when it started.

AGAIN_SECONDS: Final = 0.001
"""The time between two rounds of killing: processes that were just started are found in the next one."""

_REPORT_BYTES: Final = 128
"""Longest report: two lines of at most 40 bytes."""

_ENDED: Final = frozenset("ZX")
"""States of processes that have ended, whether or not their parent has waited for them."""


def kill_below(pid: int, group: Path | None = None, *, is_there: Callable[[], bool] = lambda: True) -> None:
    """Kill all processes below one until none of them runs, for `KILL_SECONDS` at most; blocks.

    Args:
        pid: the process; it stays. Orphans must come to it, or they are missed.
        is_there: returns false when the process is gone, so that its pid may be another's.
    """
    end = time.monotonic() + supervisor.KILL_SECONDS
    while time.monotonic() < end and is_there():
        if group is not None:
            with suppress(OSError):
                (group / "cgroup.kill").write_text("1")
        running = [one for one in supervisor.descendants(pid) if supervisor.status_of(one)[0] not in _ENDED]
        if not running:
            return
        for below in running:
            with suppress(OSError):
                os.kill(below, signal.SIGKILL)
        time.sleep(AGAIN_SECONDS)


class AgentReport:
    """The report of a supervisor on the process that it started: the pid, and the start time as a check.

    A pid alone might belong to another process by the time it is used. Last comes how the process ended.

    Args:
        reading: the host's end, a descriptor that does not block; closed with the report.
    """

    def __init__(self, reading: int) -> None:
        self._reading = reading
        self._reported = b""

    def close(self) -> None:
        """Close the host's end."""
        os.close(self._reading)

    def pid(self) -> int:
        """Return the pid of the reported process if it is still that process, else 0."""
        pid, _, started = self._line(0).partition(" ")
        return int(pid) if started and supervisor.status_of(int(pid))[1] == started else 0

    def exit_code(self) -> int | None:
        """Return the reported exit code, or minus the number of a signal; `None` if none was reported."""
        word, _, code = self._line(1).partition(" ")
        return int(code) if word == "ended" else None

    def _line(self, number: int) -> str:
        """Return a line of the report without its end; empty if it has not been written."""
        with suppress(BlockingIOError, ConnectionError):
            while len(self._reported) < _REPORT_BYTES and (more := os.read(self._reading, _REPORT_BYTES)):
                self._reported += more
        lines = self._reported.decode().split("\n")
        return lines[number] if number < len(lines) - 1 else ""

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


BY_KERNEL: Final = "kernel"
BY_SUPERVISOR: Final = f"supervisor, every {LOOK_SECONDS * 1000:g} ms"
NOT_AT_ALL: Final = "advisory"


def enforcement_of(kind: IsolationKind) -> Mapping[str, str]:
    """Return how each limit is enforced here, by the name of the limit."""
    if kind == "none":
        return {}
    at_hand = controllers(os.getpid())
    files = "" if kind == "sandbox" else "; files in memory file systems such as /dev/shm do not count"
    return {
        "memory": BY_KERNEL if "memory" in at_hand else BY_SUPERVISOR + files,
        "address_space": BY_KERNEL,
        "cpu": BY_KERNEL,
        "processes": BY_KERNEL if "pids" in at_hand else BY_SUPERVISOR,
        "files": BY_KERNEL,
        "file_size": BY_KERNEL,
        "disk": BY_KERNEL if kind == "sandbox" else BY_SUPERVISOR,
        "cores": BY_KERNEL if is_supported() else f"{NOT_AT_ALL}: an agent can undo it",
    }


def advisory_line(isolation: Isolation) -> str:
    """Return a line on the limits that were asked for and that this kernel does not enforce; else nothing."""
    usual, limits = Limits(), isolation.limits
    enforced = enforcement_of(isolation.kind)
    names = [field.name for field in attrs.fields(Limits)]
    asked = [name for name in names if getattr(limits, name) not in {None, getattr(usual, name)}]
    weak = [f"{name} ({enforced[name]})" for name in asked if enforced.get(name, BY_KERNEL) != BY_KERNEL]
    return f"limits that the kernel does not enforce here: {', '.join(weak)}" if weak else ""
