"""Attempts of an agent to get out of its isolation. Each is harmless where it succeeds, and says so."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import platform
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

RECORDS_FOLDER: Final = "FLAGFALL_RECORDS_FOLDER"
"""Variable with the folder of records and of a control socket, which lies beside the file of the agent."""

SHARED_BYTES: Final = 450_000_000
"""Shared memory that an agent asks for; more than the matrix allows."""

SHARED_SECONDS: Final = 0.15
"""The time for which it is kept: longer than the time between two looks of a supervisor."""

_WAIT_SECONDS: Final = 20.0
_CHUNK_BYTES: Final = 50_000_000

_KERNEL_FILES: Final = (
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/vm/drop_caches",
    "/proc/sysrq-trigger",
    "/proc/irq/default_smp_affinity",
    "/sys/kernel/uevent_helper",
    "/sys/power/state",
    "/proc/1/mem",
    "/proc/1/oom_score_adj",
)

_PTRACE_SEIZE: Final = 0x4206
_PTRACE_INTERRUPT: Final = 0x4207

# Numbers of system calls on x86_64 and on other machines.
_KEYCTL: Final = (250, 219)
_IO_URING_SETUP: Final = (425, 425)
_OPEN_TREE: Final = (428, 428)
_PERF_EVENT_OPEN: Final = (298, 241)
_USERFAULTFD: Final = (323, 282)


def open_kernel_files() -> bool:
    """Open files of the kernel, and of the first process, for writing; writes nothing."""
    return any(map(_opens, _KERNEL_FILES))


def _opens(path: str) -> bool:
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        return True
    return False


def use_kernel_interfaces() -> bool:
    """Make system calls and sockets that an agent never needs."""
    sockets = [
        (socket.AF_NETLINK, socket.SOCK_RAW),
        (socket.AF_PACKET, socket.SOCK_RAW),
        (40, socket.SOCK_STREAM),
    ]
    calls = [_KEYCTL, _IO_URING_SETUP, _OPEN_TREE, _PERF_EVENT_OPEN, _USERFAULTFD]
    return any([*(_has_socket(*kind) for kind in sockets), *map(_has_call, calls)])


def _has_socket(family: int, kind: int) -> bool:
    with suppress(OSError), socket.socket(family, kind):
        return True
    return False


def _has_call(numbers: tuple[int, int]) -> bool:
    """Return whether the kernel looks at the arguments of a system call, bad ones as they are."""
    libc = ctypes.CDLL(None, use_errno=True)
    number = numbers[0] if platform.machine() == "x86_64" else numbers[1]
    made = libc.syscall(number, -1, 0, 0, 0, 0)
    return made >= 0 or ctypes.get_errno() not in {errno.EPERM, errno.ENOSYS, errno.EACCES}


def reach_records() -> bool:
    """Read the records of the match, or connect to the socket that controls it."""
    folder = Path(os.environ[RECORDS_FOLDER])
    with suppress(OSError):
        (folder / "match.jsonl").read_bytes()
        return True
    with suppress(OSError), socket.socket(socket.AF_UNIX) as line:
        line.connect(str(folder / "control.sock"))
        return True
    return False


def stop_parent() -> None:
    """Stop the supervisor, ignore requests to end, and wait."""
    with suppress(OSError):
        os.kill(os.getppid(), signal.SIGSTOP)
    _wait()


def trace_parent() -> None:
    """Trace the supervisor and stop it so, ignore requests to end, and wait."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace(_PTRACE_SEIZE, os.getppid(), 0, 0)
    libc.ptrace(_PTRACE_INTERRUPT, os.getppid(), 0, 0)
    _wait()


def _wait() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(_WAIT_SECONDS)


def leave_cores() -> bool:
    """Run on processor cores that were not allowed."""
    allowed = os.sched_getaffinity(0)
    with suppress(OSError):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    return os.sched_getaffinity(0) != allowed


def eat_shared_memory() -> bool:
    """Take more memory than allowed, in shared mappings, and keep it for a while."""
    kept = []
    for _ in range(SHARED_BYTES // _CHUNK_BYTES):
        chunk = mmap.mmap(-1, _CHUNK_BYTES)
        for place in range(0, _CHUNK_BYTES, mmap.PAGESIZE):
            chunk[place] = 1
        kept.append(chunk)
    time.sleep(SHARED_SECONDS)
    return bool(kept)
