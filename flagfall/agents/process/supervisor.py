"""The parent of an agent's process: a program of its own, which sees to it that nothing of the agent is left.

    python -I -S guardian.py host=PID [folder=DIR] [...] -- COMMAND...

It starts the command with limits, and adopts whatever the command leaves behind (`PR_SET_CHILD_SUBREAPER`):
a child that went into a session of its own, or whose parent died, is still among the guardian's descendants.
When the command ends, when it takes more processes or more of the disk than it may, when the host asks
(SIGTERM), or when the host itself is gone, however it went, all descendants are killed, the private folder
is removed, and the guardian ends as the command did: with its exit code, or of the same signal.

Why a program, and not what `subprocess` offers: `preexec_fn` runs Python between fork and exec in a process
whose threads are gone and whose locks they may have held, and a parent-death signal counts from the *thread*
that started a process, which in an event loop is one that soon ends. The guardian has a single thread, so
here both are sound. The host is watched by a descriptor of its process instead. Only the standard library is
imported, and little of it: this program starts in some 15 ms, and sleeps when nothing happens.
"""

# ruff: noqa: PTH100, PTH101, PTH104, PTH106, PTH108, PTH112, PTH114, PTH120, PTH123, PTH208 - pathlib takes longer to import than all of this

from __future__ import annotations

__all__ = ["descendants", "main", "pause_after_look", "remove_folder", "status_of", "threads_of"]

import ctypes
import errno
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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

TERM_SECONDS: Final = 0.005
"""Between asking a process to go and making it: a hard limit must be over within 20 ms."""

KILL_SECONDS: Final = 5.0
"""How long to go on killing: who is still there then waits in the system, for a disk perhaps."""

GROUP_SECONDS: Final = 0.5
"""How long to try to remove a control group: those who were killed are a moment in it."""

LOOK_SECONDS: Final = 0.1
"""How often to look how many processes there are and what they wrote. A folder takes some microseconds a
file, so the next look is never sooner than twenty times what the last one took."""

COUNT_LOOKS: Final = 5
"""Counting an agent's processes takes some hundred microseconds, asking how many the whole machine has ten.
So they are counted at every so many looks, and at once where the machine has many more than last time."""

ENTRY_BYTES: Final = 1024
"""What a file or folder counts at least: also empty ones fill a disk, and take time to remove."""

MEMORY_SECONDS: Final = 0.5
"""The longest time from the end of one look at memory to the next: an agent can make each look slow, by many
small mappings, and must not gain time without a limit by it."""

_LOOK_SHARE: Final = 20
_NOT_STARTED: Final = 127
_FAILED: Final = 1
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_SET_SECCOMP: Final = 22
_PR_SET_NO_NEW_PRIVS: Final = 38
_BY_FILTER: Final = 2
_PR_SET_CHILD_SUBREAPER: Final = 36
_IGNORED_HERE: Final = (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ)


# What Linux tells of processes.


def threads_of(pid: int) -> list[str]:
    """The folders of a process's threads; none where it is gone."""
    try:
        return [f"/proc/{pid}/task/{name}" for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def descendants(pid: int) -> list[int]:
    """The processes below one, zombies too, as far as they stand still meanwhile."""
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
    """Return the state of a process, one letter, and its start time; `X` and nothing where it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            words = file.read().rpartition(")")[2].split()
    except OSError:
        return "X", ""
    return words[0], words[19]


def _size_of(folder: str) -> int:
    """The bytes of the files in a folder, and in those below it; an empty file takes some, too.

    Raises:
        OSError: it is deeper than can be looked into.
    """
    total = 0
    above = [folder]
    while above:
        try:
            with os.scandir(above.pop()) as entries:
                for entry in entries:
                    with suppress(OSError):
                        if entry.is_dir(follow_symlinks=False):
                            above.append(entry.path)
                        total += max(ENTRY_BYTES, entry.stat(follow_symlinks=False).st_blocks * 512)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise
    return total


def pause_after_look(took: float, *, counts_memory: bool) -> float:
    """Return the seconds until the next look at what an agent uses.

    Args:
        took: seconds that the last one took.
        counts_memory: memory is among what is looked at.
    """
    seconds = max(LOOK_SECONDS, took * _LOOK_SHARE)
    return min(seconds, MEMORY_SECONDS) if counts_memory else seconds


def remove_folder(folder: str) -> None:
    """Remove a folder with all that is in it, however deep that is, and whatever permissions were taken away.

    Folders come up to the top before they are emptied: no path grows longer than two names.
    """
    for remove in (os.rmdir, os.unlink):  # it is empty nearly always; or something else is in its place
        with suppress(OSError):
            remove(folder)
            return
    new_name = f"{folder}/{time.monotonic_ns()}-"
    left = [folder]
    moved = 0
    while left:
        path = left.pop()
        with suppress(OSError):
            os.chmod(path, 0o700)
            for name in os.listdir(path):
                inside = f"{path}/{name}"
                if os.path.isdir(inside) and not os.path.islink(inside):
                    moved += 1
                    left.append(f"{new_name}{moved}")
                    with suppress(OSError):
                        os.chmod(inside, 0o700)
                        os.rename(inside, left[-1])
                else:
                    with suppress(OSError):
                        os.unlink(inside)
            if path != folder:
                os.rmdir(path)
    with suppress(OSError):
        os.rmdir(folder)


def _kill(pid: int, number: int) -> None:
    with suppress(OSError):
        os.kill(pid, number)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


class _Settings:
    """What the host asked for.

    Attributes:
        host: its process.
        folder: private to the agent; removed at the end.
        cgroup: a control group to put the agent in; removed at the end.
        limits: pairs of a resource and what a process may have of it.
        cores: where it may run; empty for anywhere.
        processes: how many processes and threads there may be; 0 for any number.
        disk: how many bytes there may be in the folder; 0 for any number.
        owner: the user that the command becomes; 0 where it stays the same.
        memory: how many bytes of memory all processes together may use; 0 for any number.
        memory_files: memory file systems of the agent's own that count as memory.
        filter: a filter of system calls, as `struct sock_filter` in hexadecimal digits; empty for none.
        report: a descriptor to write the pid and the start time of the command to; -1 for none.
    """

    def __init__(self, words: list[str]) -> None:
        said = dict(word.split("=", 1) for word in words)
        self.host = int(said["host"])
        self.folder = said.get("folder", "")
        self.cgroup = said.get("cgroup", "")
        self.limits = [
            (int(what), int(most))
            for what, most in (pair.split(":") for pair in said.get("limits", "").split(",") if pair)
        ]
        self.cores = [int(core) for core in said.get("cores", "").split(",") if core]
        self.processes = int(said.get("processes", "0"))
        self.disk = int(said.get("disk", "0"))
        self.owner = int(said.get("owner", "0"))
        self.memory = int(said.get("memory", "0"))
        self.memory_files = [path for path in said.get("memory_files", "").split(":") if path]
        self.filter = bytes.fromhex(said.get("filter", ""))
        self.report = int(said.get("report", "-1"))


def _load_bytes_used() -> Callable[[Sequence[int], int, Iterable[str]], int]:
    """Load the function that counts memory: flagfall is no package here, and takes long to import."""
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    counts: Callable[[Sequence[int], int, Iterable[str]], int] = importlib.import_module(
        "memory_use"
    ).bytes_used
    return counts


def _install_filter(program: bytes) -> None:
    """Let the kernel decide by a filter on the system calls of this process, and of all that it starts.

    Raises:
        OSError: the kernel does not take it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    instructions = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("@HP", len(program) // 8, ctypes.addressof(instructions))
    pointer = ctypes.c_char_p(described)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_PR_SET_SECCOMP, _BY_FILTER, pointer, 0, 0):
        raise OSError(ctypes.get_errno(), "no filter of system calls could be installed")


def _clean_up(settings: _Settings) -> None:
    if settings.folder:
        remove_folder(settings.folder)
    end = time.monotonic() + GROUP_SECONDS
    while settings.cgroup and os.path.isdir(settings.cgroup) and time.monotonic() < end:
        with suppress(OSError):
            os.rmdir(settings.cgroup)
            return
        time.sleep(0.001)


class _Supervisor:
    def __init__(self, settings: _Settings, command: list[str]) -> None:
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
        self._complaint = ""
        if settings.memory:
            self._bytes_used = _load_bytes_used()
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        self._poll = select.poll()
        self._poll.register(self._waking, select.POLLIN)
        self._host_fd = os.pidfd_open(settings.host)
        self._poll.register(self._host_fd, select.POLLIN)
        own = os.getpid()
        _prctl(_PR_SET_DUMPABLE, 0)  # the agent may be the same user, and must not trace this process
        self._agent = os.fork()
        if self._agent == 0:
            _become(settings, command, own)
        if settings.report >= 0:
            os.write(settings.report, f"{self._agent} {status_of(self._agent)[1]}".encode())
            os.close(settings.report)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)  # the agent's pipes must end with the agent
        os.dup2(null, 1)

    def _note(self, number: int, _frame: object) -> None:
        if number == signal.SIGTERM:
            self._asked = True

    def guard(self) -> int:
        """Until all is over; gives the status of the command."""
        self._wait_for_the_end()
        if self._asked:
            self._ask()
        self._kill_all()
        _clean_up(self._settings)
        if self._complaint:
            self._say(self._complaint)
        return signal.SIGKILL if self._status is None else self._status

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
                self._complaint = self._too_much()
                if self._complaint:
                    return
                seconds = pause_after_look(time.monotonic() - began, counts_memory=bool(settings.memory))

    def _ask(self) -> None:
        """Ask the command to go, and give it a moment."""
        with suppress(OSError):
            os.killpg(self._agent, signal.SIGTERM)
        end = time.monotonic() + TERM_SECONDS
        while self._status is None and (left := end - time.monotonic()) > 0:
            self._sleep(left)
            self._reap()

    def _sleep(self, seconds: float | None) -> bool:
        """Until something happens; gives whether the host is gone."""
        ready = self._poll.poll(None if seconds is None else max(1, int(seconds * 1000)))
        with suppress(BlockingIOError):
            while os.read(self._waking, 512):
                pass
        return any(fd == self._host_fd for fd, _ in ready)

    def _too_much(self) -> str:
        settings = self._settings
        if settings.processes and self._should_count():
            count = sum(len(threads_of(pid)) for pid in descendants(os.getpid()))
            if count > settings.processes:
                return f"it had {count} processes and threads, and {settings.processes} are allowed"
        if settings.memory:
            used = self._bytes_used(descendants(os.getpid()), settings.memory, settings.memory_files)
            if used > settings.memory:
                return f"it used {used} bytes of memory, and {settings.memory} are allowed"
        if not settings.disk:
            return ""
        try:
            size = _size_of(settings.folder)
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
        """Take note of who has ended; gives whether nobody is left."""
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
        """Kill until nobody is left. Orphans come to this process, so nobody can be missed for good."""
        end = time.monotonic() + KILL_SECONDS
        while time.monotonic() < end:
            if self._settings.cgroup:
                with suppress(OSError), open(f"{self._settings.cgroup}/cgroup.kill", "w") as file:
                    file.write("1")
            with suppress(OSError):
                os.killpg(self._agent, signal.SIGKILL)
            for pid in descendants(os.getpid()):
                _kill(pid, signal.SIGKILL)
            if self._reap():
                return
            self._sleep(0.001)

    def _say(self, what: str) -> None:
        poll = select.poll()
        poll.register(2, select.POLLOUT)
        if poll.poll(100):
            with suppress(OSError):
                os.write(2, f"\nflagfall ended it: {what}\n".encode())


def _become(settings: _Settings, command: list[str], guardian: int) -> None:
    """The child's part: from the fork to the command. Never returns."""
    try:
        _prctl(_PR_SET_DUMPABLE, 1)
        os.setsid()
        signal.set_wakeup_fd(-1)
        if settings.report >= 0:
            os.close(settings.report)
        for number in (signal.SIGTERM, signal.SIGCHLD, *_IGNORED_HERE):
            signal.signal(number, signal.SIG_DFL)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guardian:  # it died before it could be heard of
            return
        _confine(settings)
        os.execvp(command[0], command)  # noqa: S606 - no shell is wanted
    except BaseException as error:  # noqa: BLE001 - whatever it is, the child must not become a second guardian
        with suppress(OSError):
            os.write(2, f"{command[0]} cannot be started: {error}\n".encode())
    finally:
        os._exit(_NOT_STARTED)


def _confine(settings: _Settings) -> None:
    """Put this process under its limits.

    Raises:
        OSError: one of them cannot be set.
    """
    if settings.cgroup:
        with suppress(OSError):  # it may not move there: then it is found and counted without
            _write(f"{settings.cgroup}/cgroup.procs", "0")
    with suppress(OSError):  # where memory runs out, an agent goes before its host
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
    """Guard a command; gives its exit code, or ends of the signal that ended it."""
    at = arguments.index("--")
    settings = _Settings(arguments[:at])
    if os.getppid() != settings.host:  # it is gone already
        _clean_up(settings)
        return _FAILED
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    status = _Supervisor(settings, arguments[at + 1 :]).guard()
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        time.sleep(1)  # pragma: no cover - a signal that ended the agent ends this, too
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
