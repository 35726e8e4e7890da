"""Supervisor of an agent's process: a program of its own, which ends the agent and removes what it left.

    python -I -S supervisor.py host=PID [folder=DIR] [...] -- COMMAND...

A fork server (`flagfall.agents.fork_server`) runs the same code in a process that it forks, and no command.

It starts the command with limits, and adopts its orphans (`PR_SET_CHILD_SUBREAPER`): a child that moved to
another session, or whose parent died, is still among the supervisor's descendants. When the command ends,
when it exceeds its limit of processes, memory or disk, when the host asks (SIGTERM), or when the host has
ended for any reason, all descendants are killed, the private folder is removed, and the supervisor ends as
the command did: with its exit code, or of the same signal.

It is a program because the alternatives of `subprocess` are unsafe in an event loop: `preexec_fn` runs
Python between fork and exec in a process whose threads are gone and whose locks they may have held, and a
parent-death signal refers to the *thread* that started a process, which soon ends. The supervisor has a
single thread, so both are sound here. The host is watched by a descriptor of its process. Only the standard
library is imported, and little of it: this program starts in some 15 ms, and sleeps when nothing happens.
"""

# ruff: noqa: PTH100, PTH106, PTH112, PTH120, PTH123, PTH208 - pathlib takes longer to import than all of this

from __future__ import annotations

import ctypes
import importlib
import os
import resource
import select
import signal
import stat
import struct
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING or __package__:
    from flagfall.agents.process.folders import remove_folder, size_of

    _SIBLINGS = "flagfall.agents.process."
else:  # it is a program: to import flagfall would take long
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    from folders import remove_folder, size_of

    _SIBLINGS = ""

TERM_SECONDS: Final = 0.005
"""The time from SIGTERM to SIGKILL: a match must be over within 20 ms of a hard limit."""

KILL_SECONDS: Final = 5.0
"""Maximum time of killing: a process that is left then waits in the system, for a disk perhaps."""

GROUP_SECONDS: Final = 0.5
"""Maximum time for removing a control group: killed processes stay in it for a moment."""

LOOK_SECONDS: Final = 0.1
"""The interval at which processes, memory and files are counted. A folder takes some microseconds a file, so
the next look is never sooner than twenty times what the last one took."""

COUNT_LOOKS: Final = 5
"""Counting an agent's processes takes some hundred microseconds, asking how many the whole machine has ten.
So they are counted at every fifth look, and at once if the machine has many more than last time."""

MEMORY_SECONDS: Final = 0.5
"""The longest time from the end of one look at memory to the next: an agent can make each look slow, by many
small mappings, and must not gain time without a limit by it."""

NOT_STARTED: Final = 127
"""Exit code of a process whose command cannot be started."""

_LOOK_SHARE: Final = 20
_GO: Final = b"g"
_FAILED: Final = 1
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_SET_SECCOMP: Final = 22
_PR_SET_NO_NEW_PRIVS: Final = 38
_BY_FILTER: Final = 2
_PR_SET_CHILD_SUBREAPER: Final = 36
_IGNORED_HERE: Final = (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ)


# Processes, as Linux reports them.


def threads_of(pid: int) -> list[str]:
    """Return the `/proc` folders of a process's threads; none if it is gone."""
    try:
        return [f"/proc/{pid}/task/{name}" for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def descendants(pid: int) -> list[int]:
    """Return the processes below one, zombies too; some may be missed that are started meanwhile."""
    found: list[int] = []
    above = [pid]
    while above:
        for thread in threads_of(above.pop()):
            with suppress(OSError), open(f"{thread}/children") as file:
                children = [int(word) for word in file.read().split()]
                found += children
                above += children
    return found


def status_of(pid: int) -> tuple[str, str]:
    """Return the state of a process, one letter, and its start time; `X` and nothing if it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            words = file.read().rpartition(")")[2].split()
    except OSError:
        return "X", ""
    return words[0], words[19]


def pause_after_look(took: float, *, counts_memory: bool) -> float:
    """Return the seconds until the next look at what an agent uses, after one that took so many."""
    seconds = max(LOOK_SECONDS, took * _LOOK_SHARE)
    return min(seconds, MEMORY_SECONDS) if counts_memory else seconds


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def keep_secret() -> None:
    """Forbid other processes of the same user to trace this one and to read its memory and descriptors."""
    _prctl(_PR_SET_DUMPABLE, 0)


class Settings:
    """The settings on the command line, written by the host; 0, or nothing, is none.

    Attributes:
        cgroup: a control group to put the agent in; removed at the end.
        limits: pairs of a resource and its limit for each process.
        processes: the limit of processes and threads, all together.
        cores: the processor cores on which it may run.
        disk: the limit of bytes in the folder.
        owner: the user that the command becomes.
        memory: the limit of bytes of memory of all processes together.
        memory_files: memory file systems of the agent's own that count as memory.
        filter: a filter of system calls, as `struct sock_filter`.
        report: a descriptor for two lines: the pid and the start time of the command, and at the end `ended`
            and its exit code, or minus the signal that ended it; -1 for none.
    """

    def __init__(self, words: list[str]) -> None:
        settings = dict(word.split("=", 1) for word in words)
        self.host: int = int(settings["host"])
        self.folder: str = settings.get("folder", "")
        self.cgroup: str = settings.get("cgroup", "")
        self.limits: list[tuple[int, int]] = [
            (int(what), int(most))
            for what, most in (pair.split(":") for pair in settings.get("limits", "").split(",") if pair)
        ]
        self.cores: list[int] = [int(core) for core in settings.get("cores", "").split(",") if core]
        self.processes: int = int(settings.get("processes", "0"))
        self.disk: int = int(settings.get("disk", "0"))
        self.owner: int = int(settings.get("owner", "0"))
        self.memory: int = int(settings.get("memory", "0"))
        self.memory_files: list[str] = [path for path in settings.get("memory_files", "").split(":") if path]
        self.filter: bytes = bytes.fromhex(settings.get("filter", ""))
        self.report: int = int(settings.get("report", "-1"))


def _install_filter(program: bytes) -> None:
    """Install a filter of the system calls of this process, and of all that it starts.

    Raises:
        OSError: the kernel rejects it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    instructions = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("@HP", len(program) // 8, ctypes.addressof(instructions))
    pointer = ctypes.c_char_p(described)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_PR_SET_SECCOMP, _BY_FILTER, pointer, 0, 0):
        raise OSError(ctypes.get_errno(), "no filter of system calls could be installed")


def _clean_up(settings: Settings) -> None:
    if settings.folder:
        remove_folder(settings.folder)
    end = time.monotonic() + GROUP_SECONDS
    while settings.cgroup and os.path.isdir(settings.cgroup) and time.monotonic() < end:
        with suppress(OSError):
            os.rmdir(settings.cgroup)
            return
        time.sleep(0.001)


class _Supervisor:
    """Supervises one child."""

    def __init__(self, settings: Settings, host: int) -> None:
        self._settings = settings
        self._waking, waker = os.pipe()
        for fd in (self._waking, waker):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(waker)
        for number in (signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, self._note)
        for number in _IGNORED_HERE:
            signal.signal(number, signal.SIG_IGN)
        self._asked = False
        self._looks = self._counted_at = 0
        self._status: int | None = None
        self._exceeded = ""
        if settings.memory:
            self._bytes_used = importlib.import_module(f"{_SIBLINGS}memory_use").bytes_used
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        self._poll = select.poll()
        self._poll.register(self._waking, select.POLLIN)
        self._host_fd = host
        self._poll.register(host, select.POLLIN)
        self._agent = 0

    def fork(self) -> bool:
        """Fork the child; return false in the child, which is under its limits then."""
        settings, own = self._settings, os.getpid()
        keep_secret()  # the agent may be the same user
        is_reported, reported = os.pipe()
        self._agent = os.fork()
        if self._agent == 0:
            os.close(reported)
            _leave_supervisor(settings, own, is_reported)
            return False
        os.close(is_reported)
        self._report(f"{self._agent} {status_of(self._agent)[1]}")
        os.write(reported, _GO)
        os.close(reported)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)  # the agent's pipes must end with the agent
        os.dup2(null, 1)
        return True

    def _report(self, line: str) -> None:
        if self._settings.report >= 0:
            with suppress(OSError):  # the host is gone
                os.write(self._settings.report, f"{line}\n".encode())

    def _note(self, number: int, _frame: object) -> None:
        if number == signal.SIGTERM:
            self._asked = True

    def run(self) -> int:
        """Supervise the command until all of it has ended; return its wait status."""
        self._wait_for_the_end()
        if self._asked:
            self._terminate()
        self._kill_all()
        _clean_up(self._settings)
        if self._exceeded:
            self._report_end(self._exceeded)
        status = signal.SIGKILL if self._status is None else self._status
        self._report(f"ended {os.waitstatus_to_exitcode(status)}")
        return status

    def _wait_for_the_end(self) -> None:
        settings = self._settings
        looks = bool(settings.processes or settings.disk or settings.memory)
        seconds = LOOK_SECONDS if looks else None
        while not self._asked:
            host_gone = self._sleep(seconds)
            self._reap()
            if self._status is not None or host_gone:
                return
            if looks:
                began = time.monotonic()
                self._exceeded = self._exceeded_limit()
                if self._exceeded:
                    return
                seconds = pause_after_look(time.monotonic() - began, counts_memory=bool(settings.memory))

    def _terminate(self) -> None:
        """Ask the command to end, and give it a short grace period."""
        with suppress(OSError):
            os.killpg(self._agent, signal.SIGTERM)
        end = time.monotonic() + TERM_SECONDS
        while self._status is None and (left := end - time.monotonic()) > 0:
            self._sleep(left)
            self._reap()

    def _sleep(self, seconds: float | None) -> bool:
        """Sleep until something happens; return true if the host is gone."""
        ready = self._poll.poll(None if seconds is None else max(1, int(seconds * 1000)))
        with suppress(BlockingIOError):
            while os.read(self._waking, 512):
                pass
        return any(fd == self._host_fd for fd, _ in ready)

    def _exceeded_limit(self) -> str:
        settings = self._settings
        if settings.processes and self._should_count():
            count = sum(len(threads_of(pid)) for pid in descendants(os.getpid()))
            if count > settings.processes:
                return f"it had {count} processes and threads, and {settings.processes} are allowed"
        if settings.memory:
            used = self._bytes_used(descendants(os.getpid()), settings.memory, settings.memory_files)
            if used > settings.memory:
                return f"it used {used} bytes of memory, and {settings.memory} are allowed"
        try:
            size = size_of(settings.folder) if settings.disk else 0
        except OSError:
            return "its temporary folder was deeper than can be looked into"
        if size > settings.disk:
            return f"it wrote {size} bytes to its temporary folder, and {settings.disk} are allowed"
        return ""

    def _should_count(self) -> bool:
        with open("/proc/loadavg") as file:
            total = int(file.read().split()[3].partition("/")[2])
        self._looks += 1
        if self._looks % COUNT_LOOKS and total - self._counted_at < self._settings.processes // 4:
            return False
        self._counted_at = total
        return True

    def _reap(self) -> bool:
        """Collect the processes that have ended; return true if none is left."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return False
                if pid == self._agent:
                    self._status = status
        except ChildProcessError:
            return True

    def _kill_all(self) -> None:
        """Kill until no process is left. Orphans come to this process, so none can be missed for good."""
        end = time.monotonic() + KILL_SECONDS
        while time.monotonic() < end:
            if self._settings.cgroup:
                with suppress(OSError), open(f"{self._settings.cgroup}/cgroup.kill", "w") as file:
                    file.write("1")
            with suppress(OSError):
                os.killpg(self._agent, signal.SIGKILL)
            for pid in descendants(os.getpid()):
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            if self._reap():
                return
            self._sleep(0.001)

    def _report_end(self, what: str) -> None:
        poll = select.poll()
        poll.register(2, select.POLLOUT)
        if poll.poll(100):
            with suppress(OSError):
                os.write(2, f"\nflagfall ended it: {what}\n".encode())


def supervise(settings: Settings, host: int) -> int | None:
    """Fork a child under limits, and supervise it until all that it started has ended.

    Args:
        host: a descriptor of the host's process.

    Returns:
        In this process the wait status of the child; `None` in the child, which becomes the agent then.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    supervisor = _Supervisor(settings, host)
    return supervisor.run() if supervisor.fork() else None


def refuse_start(what: str, error: BaseException) -> None:
    """Report that a child cannot become an agent, and end it. Never returns."""
    with suppress(OSError):
        os.write(2, f"{what} cannot be started: {error}\n".encode())
    os._exit(NOT_STARTED)


def _leave_supervisor(settings: Settings, supervisor: int, is_reported: int) -> None:
    """Make a child independent of its supervisor's settings, and put it under its limits; or end it.

    It goes on when the host knows it: an agent that kills its supervisor first would be lost to the host.
    """
    try:
        _prctl(_PR_SET_DUMPABLE, 1)
        os.setsid()
        signal.set_wakeup_fd(-1)
        if settings.report >= 0:
            os.close(settings.report)
        for number in (signal.SIGTERM, signal.SIGCHLD, *_IGNORED_HERE):
            signal.signal(number, signal.SIG_DFL)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        # Perhaps it died before the signal was set.
        if os.getppid() != supervisor or os.read(is_reported, len(_GO)) != _GO:
            os._exit(NOT_STARTED)
        os.close(is_reported)
        _confine(settings)
    except BaseException as error:  # noqa: BLE001 - the child must never become a second supervisor
        refuse_start("the agent", error)


def _confine(settings: Settings) -> None:
    """Put this process under its limits; raises `OSError` if a limit cannot be set."""
    if settings.cgroup:
        with suppress(OSError):  # it may not move there: then it is found and counted without a group
            _write(f"{settings.cgroup}/cgroup.procs", "0")
    with suppress(OSError):  # where memory runs out, the system kills an agent before its host
        _write("/proc/self/oom_score_adj", "1000")
    if settings.owner:
        for fd in range(3):  # or it could not open /dev/stderr
            if stat.S_ISFIFO(os.fstat(fd).st_mode):
                os.fchown(fd, settings.owner, settings.owner)
    if settings.cores:
        os.sched_setaffinity(0, settings.cores)
    for what, most in settings.limits:
        _, hard = resource.getrlimit(what)
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (value, value))
    if settings.filter:
        _install_filter(settings.filter)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def main(arguments: list[str]) -> int:
    """Supervise a command; return its exit code, or end of the signal that ended it.

    Args:
        arguments: settings, `--`, and the command.
    """
    at = arguments.index("--")
    settings, command = Settings(arguments[:at]), arguments[at + 1 :]
    if os.getppid() != settings.host:  # it is gone already
        _clean_up(settings)
        return _FAILED
    status = supervise(settings, os.pidfd_open(settings.host))
    if status is None:
        try:
            os.execvp(command[0], command)  # noqa: S606 - no shell is wanted
        except BaseException as error:  # noqa: BLE001 - the child must never become a second supervisor
            refuse_start(command[0], error)
    assert status is not None
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        time.sleep(1)  # pragma: no cover - a signal that ended the agent also ends this process
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
