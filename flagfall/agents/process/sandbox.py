"""Sandboxes by bubblewrap: no network, a read-only system of which little is seen, a `/tmp` of its own.

Visible are the system's programs and libraries, this Python with its packages, the agent's own file or
package, and what its owner shows besides; not the folder around the file. `/proc` shows the agent's own
processes and is read-only, `/sys` is absent, and a filter denies system calls (`process.seccomp`).

An agent is never the user 0, inside or outside. Where the host is root, it becomes one of a range of users
that own nothing: a user of a namespace alone would not do, since the kernel compares the owner of files such
as those in `/proc/sys` with the user outside. Elsewhere it is the host's user, in a namespace without rights.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

import attrs

from flagfall.agents.process.isolation import is_copied, refuse_unreadable
from flagfall.agents.process.limits import Limits
from flagfall.agents.process.seccomp import compile_filter
from flagfall.errors import UsageError

TMP: Final = "/tmp"  # noqa: S108 - a new one for each sandbox
"""Folder of the temporary files of an agent in a sandbox; in memory, and gone with it."""

MEMORY_FILES: Final = (TMP, "/dev/shm")  # noqa: S108 - inside of the sandbox
"""The file systems of a sandbox that are memory of the machine."""

USERS: Final = range(60578, 61184)
"""Users that agents become where the host is root: a range that systemd's list of users leaves unused."""

_RESERVED: Final = Path("/run/flagfall-users")
"""Folder of root alone, with a file for each user of the range; locked while an agent is that user."""

_SYSTEM: Final = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store"),
    *("/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime"),
    *("/etc/mime.types", "/etc/nix", "/etc/ssl/certs", "/etc/ssl/openssl.cnf"),
)
"""Files that programs of the system need; none of them is secret."""

_PYTHON: Final = ("bin", "lib", "lib64", "libexec", "share", "ssl", "pyvenv.cfg")
"""The parts of a Python in its folder, which may be the folder of a project as well."""

_COVERED: Final = (
    *("acpi", "asound", "bus", "driver", "fs", "interrupts", "iomem", "ioports", "irq", "kallsyms", "kcore"),
    *("key-users", "keys", "kmsg", "kpagecgroup", "kpagecount", "kpageflags", "latency_stats", "modules"),
    *("mtrr", "pagetypeinfo", "sched_debug", "scsi", "slabinfo", "sysrq-trigger", "timer_list"),
    *("timer_stats", "vmallocinfo"),
)
"""Files and folders of `/proc` that an agent does not see: those that runc hides or protects, and others
that tell of the machine. The rest is read-only."""

_NAMESPACES: Final = tuple(f"--unshare-{name}" for name in ("ipc", "pid", "net", "uts", "cgroup-try"))
_ENDS: Final = ("--die-with-parent", "--new-session", "--cap-drop", "ALL")
_BECOMES: Final = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
"""The capabilities that are needed to become another user; dropped when that is done."""

_SHARED_MEMORY_BYTES: Final = 64 * 1024**2
_EMPTY: Final = ("--size", "4096", "--perms", "0555", "--tmpfs")
_PROBE_SECONDS: Final = 10
_PROBE: Final = "import sys; open(sys.argv[1]).close()"

_numbers: Final = itertools.count(os.getpid())


@attrs.frozen
class Sandboxed:
    """A command as it runs in a sandbox.

    Attributes:
        user: the user that it becomes in the sandbox, where it is root at first; 0 where it stays the same.
        lock: open file that keeps other agents of this machine from becoming that user; -1 for none.
    """

    words: list[str]
    descriptors: tuple[int, ...]
    user: int
    lock: int

    def close(self) -> None:
        """Close the descriptors, when the command has been started or could not be."""
        for descriptor in self.descriptors:
            with suppress(OSError):
                os.close(descriptor)

    def release(self) -> None:
        """Let other agents become the user, when the command with all that it started has ended."""
        if self.lock >= 0:
            fcntl.flock(self.lock, fcntl.LOCK_UN)  # a process that was forked meanwhile may hold it open
            os.close(self.lock)


def _reserve_user() -> tuple[int, int]:
    """Return the user that an agent becomes, and its lock; 0 and -1 where it stays the host's user.

    No two agents of a machine are the same one, so one agent's limits and keys are not another's.

    Raises:
        UsageError: all users are taken, or nothing can be locked.
    """
    if os.geteuid() != 0:
        return 0, -1
    try:
        _RESERVED.mkdir(mode=0o700, exist_ok=True)
        for _ in USERS:
            user = USERS[next(_numbers) % len(USERS)]
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            lock = os.open(_RESERVED / str(user), flags, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(lock)
                if not isinstance(error, BlockingIOError):
                    raise
            else:
                return user, lock
    except OSError as error:
        raise UsageError(
            f"isolation sandbox: {_RESERVED}, where the users of agents are reserved, cannot be written:"
            f" {error.strerror or error}"
        ) from error
    raise UsageError(
        f"isolation sandbox: all {len(USERS)} users are taken: run fewer matches at the same time"
    )


def sandboxed(command: Sequence[str], shown: Iterable[str], limits: Limits) -> Sandboxed:
    """Return the command as it runs in a sandbox.

    Args:
        shown: the files and folders that it can read, besides the system and this Python.
        limits: `disk` is the size of its `/tmp`, `memory` bounds it too; `cores` cannot be undone.

    Raises:
        UsageError: there is no bubblewrap, or it may not make sandboxes here.
    """
    check_sandbox()
    return _wrapped(command, shown, limits)


def check_sandbox_for(shown: Iterable[str]) -> None:
    """Check that there can be a sandbox here in which an agent can read some files.

    Raises:
        UsageError: there can be none, or another user could not read one of them.
    """
    check_sandbox()
    if os.geteuid() == 0:
        refuse_unreadable(shown, USERS[0])


@cache
def check_sandbox() -> None:
    """Check once that there can be sandboxes here, and that an agent in one can read this Python.

    Raises:
        UsageError: there can be none; says why.
    """
    if not sys.platform.startswith("linux"):
        raise UsageError("isolation sandbox needs Linux; take --host wasm for agents that are not trusted")
    if shutil.which("bwrap") is None:
        raise UsageError("isolation sandbox needs bubblewrap: install it (package bubblewrap, program bwrap)")
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        raise UsageError("isolation sandbox needs setpriv where flagfall is run by root: install util-linux")
    wrapped = _wrapped([sys.executable, "-I", "-S", "-c", _PROBE, __file__], (), Limits())
    try:
        tried = subprocess.run(  # noqa: S603 - a fixed command
            wrapped.words,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROBE_SECONDS,
            check=False,
            pass_fds=wrapped.descriptors,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"isolation sandbox: bubblewrap does not work here: {error}") from error
    finally:
        wrapped.close()
        wrapped.release()
    if tried.returncode:
        last = tried.stderr.strip().rpartition("\n")[2]
        raise UsageError(f"isolation sandbox: bubblewrap does not work here: {last}; {_advice(last)}")


def _advice(problem: str) -> str:
    if "ermission denied" in problem and os.geteuid() == 0:
        return "agents of root run as another user: allow it to read Python and flagfall (chmod -R o+rX)"
    if any(call in problem for call in ("reuid", "setresuid", "setgroups")):
        return "root in this container cannot become another user: run flagfall as a plain user"
    return "where user namespaces are forbidden (in most containers), take isolation process"


def _wrapped(command: Sequence[str], shown: Iterable[str], limits: Limits) -> Sandboxed:
    user, lock = _reserve_user()
    words = [_program("bwrap"), *_NAMESPACES, *_ENDS]
    if user:
        words += [word for capability in _BECOMES for word in ("--cap-add", capability)]
        command = (
            *(_program("setpriv"), f"--reuid={user}", f"--regid={user}", "--clear-groups"),
            *("--bounding-set=-all", "--inh-caps=-all", "--"),
            *command,
        )
    else:
        words += ["--unshare-user", *_no_more_namespaces()]
    words += ["--proc", "/proc", *_covers(), "--dev", "/dev", *_memory_files(limits)]
    opened: list[int] = []
    try:
        java = map(str, Path("/etc").glob("java*"))  # its settings, in Debian's packages
        visible = _without_inner([*_SYSTEM, *java, *_python_places(), *shown])
        words += _folders({Path.cwd()}.union(*(Path(path).parents for path in visible)))
        for path in visible:
            words += _bound(path, opened, readable_by_all=bool(user))
        denied = compile_filter(cores=bool(limits.cores), shared_memory=bool(limits.memory))
        opened.append(_memory_file(denied))
    except BaseException:
        failed = Sandboxed([], tuple(opened), user, lock)
        failed.close()
        failed.release()
        raise
    words += ["--remount-ro", "/", "--chdir", str(Path.cwd()), "--seccomp", str(opened[-1])]
    return Sandboxed([*words, "--", *command], tuple(opened), user, lock)


def _program(name: str) -> str:
    """Return the whole path of a program of this machine: agents must not bring their own."""
    return str(Path(shutil.which(name) or name).resolve())


@cache
def _no_more_namespaces() -> tuple[str, ...]:
    """Return the option against user namespaces inside of a sandbox; the filter denies them as well."""
    with suppress(OSError):
        known = subprocess.run(["bwrap", "--help"], capture_output=True, text=True, check=False)  # noqa: S607 - as all of them
        if "--disable-userns" in known.stdout + known.stderr:
            return ("--disable-userns",)
    return ()


@cache
def _covers() -> tuple[str, ...]:
    """Return the options that hide parts of `/proc` and make the rest read-only.

    The first process belongs to bubblewrap: an agent of the same user could write to its files.
    """
    words: list[str] = []
    for path in (Path("/proc", name) for name in ("1", *_COVERED)):
        if path.is_dir():
            words += [*_EMPTY, str(path), "--remount-ro", str(path)]
        elif path.exists():
            words += ["--ro-bind", os.devnull, str(path)]
    return (*words, "--remount-ro", "/proc")


def _memory_files(limits: Limits) -> list[str]:
    """Return the options for `/tmp` and `/dev/shm`, which take memory of the machine."""
    most = min((limit for limit in (limits.disk, limits.memory) if limit is not None), default=None)
    size = [] if most is None else ["--size", str(most)]
    shared = str(min(_SHARED_MEMORY_BYTES, limits.memory or _SHARED_MEMORY_BYTES))
    return [
        *(*size, "--perms", "1777", "--tmpfs", TMP),
        *("--size", shared, "--perms", "1777", "--tmpfs", "/dev/shm"),  # noqa: S108 - a new one, too
        *("--remount-ro", "/dev"),
    ]


def _bound(path: str, opened: list[int], *, readable_by_all: bool) -> list[str]:
    """Return the options that show a file or folder.

    A file that only its owner can read is copied for an agent that is another user. A link is not followed
    for that: its maker might not be allowed to read the target.
    """
    if readable_by_all and is_copied(path):
        opened.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW))
        mode = "0555" if os.access(path, os.X_OK) else "0444"
        return ["--perms", mode, "--ro-bind-data", str(opened[-1]), path]
    return ["--ro-bind-try", path, path]


def _folders(wanted: Iterable[Path]) -> list[str]:
    """Return the options that make folders which every user can pass, and those above them."""
    every = {folder for path in wanted for folder in (path, *path.parents)} - {Path("/"), Path(TMP)}
    inner_last = sorted(every, key=lambda folder: (len(folder.parts), folder))
    return [word for folder in inner_last for word in ("--perms", "0755", "--dir", str(folder))]


def _memory_file(data: bytes) -> int:
    """Return a descriptor from which some bytes can be read."""
    descriptor = os.memfd_create("flagfall", os.MFD_CLOEXEC)
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _python_places() -> list[str]:
    """Return where this Python, its packages and flagfall are."""
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    paths = sysconfig.get_paths()
    libraries = (paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    inner = (str(Path(prefix, name)) for prefix in prefixes for name in _PYTHON)
    return [str(Path(place).absolute()) for place in (*inner, *libraries, str(Path(__file__).parents[2]))]


def _without_inner(paths: Iterable[str]) -> list[str]:
    """Return the paths, shortest first, without those that are in another one."""
    kept: list[str] = []
    for path in sorted(set(paths), key=lambda path: (len(Path(path).parts), path)):
        if not any(Path(path).is_relative_to(outer) for outer in kept):
            kept.append(path)
    return kept
