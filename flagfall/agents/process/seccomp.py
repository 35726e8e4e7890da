"""Compiler of seccomp filters: which system calls a process may make, as a BPF program for the kernel.

A filter denies what an agent never needs and what has let processes out of sandboxes: tracing, mounting,
namespaces, kernel keys, kernel modules, BPF, io_uring, and sockets of other families than Unix and IP. The
choice follows the default profile of Docker. System calls newer than `_NEWEST` are denied, too, as if the
kernel did not have them. Programs of another architecture than the machine's own (32-bit programs) are
ended at their first system call: their numbers mean other calls. Calls of x32 do not exist.

`system_calls.txt` has a line for each call that a filter may deny: its name, and its numbers on x86_64 and on
aarch64, `-` for none, from the kernel's `unistd.h`. They are constants of the kernel's interface; libseccomp,
which resolves them by name, is not installed everywhere.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from flagfall.errors import UsageError

_NEWEST: Final = 466
"""The last system call that was considered (`removexattrat`); the same number on both architectures."""

_AUDIT_ARCHITECTURES: Final[Mapping[str, int]] = MappingProxyType(
    {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
)

_CONDITIONAL: Final = frozenset(
    {
        *("clone", "clone3", "fcntl", "ioctl", "memfd_create", "msgget", "personality", "prctl"),
        *("sched_setaffinity", "semget", "setsockopt", "shmget", "socket", "socketpair"),
    }
)
"""System calls that a sandbox denies in part only: their arguments decide, or a limit does."""

_NAMESPACE_FLAGS: Final = 0x7E020000
"""All `CLONE_NEW...` flags of `clone` together."""

_FAMILIES: Final = (1, 2, 10)
"""The allowed families of sockets: `AF_UNIX`, `AF_INET`, `AF_INET6`."""

_PERSONALITIES: Final = (0, 0x0008, 0x20000, 0x20008, 0xFFFFFFFF)
"""Linux, a 32-bit or old name of the machine, and asking for the present one; others weaken a process."""

_LEASES: Final = (1024, 1040)
"""`F_SETLEASE` and `F_SETDELEG`: with them the owner of a file makes every other program that opens it wait,
45 s at a time. Where the host is a plain user, an agent is the owner of its Python, too."""

_SYSTEM_V: Final = ("msgget", "semget", "shmget")
"""Memory of the kernel that no process maps: one set of semaphores takes 2 MB, and counts nowhere."""

_SOL_SOCKET: Final = 1
_BUFFER_SIZES: Final = (7, 8)
"""`SO_SNDBUF` and `SO_RCVBUF`: sockets keep their default sizes, by which they are counted."""

_X32: Final = 0x40000000
"""System calls with this bit are those of x32, under the same architecture."""

_TIOCSTI: Final = 0x5412
_TIOCLINUX: Final = 0x541C
_PR_SET_DUMPABLE: Final = 4

# Opcodes of classic BPF, and offsets in the kernel's `struct seccomp_data`.
_LOAD: Final = 0x20
_JUMP_EQUAL: Final = 0x15
_JUMP_GREATER: Final = 0x25
_JUMP_BITS: Final = 0x45
_RETURN: Final = 0x06
_NUMBER_AT: Final = 0
_ARCHITECTURE_AT: Final = 4
_ARGUMENTS_AT: Final = 16
_ALLOW: Final = 0x7FFF0000
_FAIL: Final = 0x00050000
_KILL_PROCESS: Final = 0x80000000
_NOTHING_DONE: Final = 0
"""An error number of 0: the system call is skipped, and succeeds as far as its program can tell."""

_Instruction: TypeAlias = tuple[int, int, int, int]

_ALLOWED: Final = (_RETURN, 0, 0, _ALLOW)


def is_supported(machine: str | None = None) -> bool:
    """Return whether there are filters for a machine, as `platform.machine` names it; by default this one."""
    return (machine or platform.machine()) in _AUDIT_ARCHITECTURES


def compile_filter(
    *, sandbox: bool = True, cores: bool = False, shared_memory: bool = False, machine: str | None = None
) -> bytes:
    """Compile a filter: an array of the kernel's `struct sock_filter`, as `bwrap --seccomp` takes it.

    Args:
        shared_memory: deny memory that its process need not map, so that it counts nowhere: `memfd_create`,
            and System V's shared memory, semaphores and messages. In a sandbox sockets keep the default
            size of their buffers.
        machine: as `platform.machine` names it; by default this one.

    Raises:
        UsageError: there are no filters for that machine.
    """
    machine = machine or platform.machine()
    if not is_supported(machine):
        known = ", ".join(_AUDIT_ARCHITECTURES)
        raise UsageError(f"there is no filter of system calls for machine {machine!r}, only for: {known}")
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_JUMP_EQUAL, 1, 0, _AUDIT_ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    program += [(_JUMP_GREATER, 0, 1, _NEWEST if sandbox else _X32 - 1), _fail(errno.ENOSYS)]
    numbers = _numbers(machine)
    for name, rule in _rules(numbers, sandbox=sandbox, cores=cores, shared_memory=shared_memory):
        if numbers[name].isdecimal():
            program += [(_JUMP_EQUAL, 0, len(rule), int(numbers[name])), *rule]
    program.append(_ALLOWED)
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _numbers(machine: str) -> dict[str, str]:
    """Return the numbers of system calls on a machine by name, `-` for a call that it does not have."""
    column = 1 + list(_AUDIT_ARCHITECTURES).index(machine)
    rows = map(str.split, Path(__file__).with_name("system_calls.txt").read_text("ascii").splitlines())
    return {row[0]: row[column] for row in rows}


def _rules(
    names: Iterable[str], *, sandbox: bool, cores: bool, shared_memory: bool
) -> Iterator[tuple[str, list[_Instruction]]]:
    """Yield system calls with the instructions that decide on them."""
    if cores:
        yield "sched_setaffinity", [_fail(errno.EPERM)]
    if shared_memory:
        for name in ("memfd_create", *_SYSTEM_V):
            yield name, [_fail(errno.ENOSYS)]
    if not sandbox:
        return
    if shared_memory:
        sizes = _decide(2, _BUFFER_SIZES, _fail(_NOTHING_DONE), _ALLOWED)
        yield "setsockopt", [_argument(1), (_JUMP_EQUAL, 0, len(sizes), _SOL_SOCKET), *sizes, _ALLOWED]
    for name in sorted(set(names) - _CONDITIONAL):
        yield name, [_fail(errno.EPERM)]
    yield "clone3", [_fail(errno.ENOSYS)]  # its flags are in memory, where no filter looks; libc has `clone`
    yield "clone", [_argument(0), (_JUMP_BITS, 0, 1, _NAMESPACE_FLAGS), _fail(errno.EPERM), _ALLOWED]
    yield "socket", _decide(0, _FAMILIES, _ALLOWED, _fail(errno.EAFNOSUPPORT))
    yield "socketpair", _decide(0, _FAMILIES, _ALLOWED, _fail(errno.EAFNOSUPPORT))
    denied = _fail(errno.EPERM)
    yield "personality", _decide(0, _PERSONALITIES, _ALLOWED, denied)
    yield "fcntl", _decide(1, _LEASES, denied, _ALLOWED)
    yield "ioctl", _decide(1, (_TIOCSTI, _TIOCLINUX), denied, _ALLOWED)
    yield "prctl", _decide(0, (_PR_SET_DUMPABLE,), denied, _ALLOWED)  # or its memory could not be looked at


def _fail(number: int) -> _Instruction:
    return (_RETURN, 0, 0, _FAIL | number)


def _argument(place: int) -> _Instruction:
    """Return the instruction that loads the low half of an argument: all that the kernel looks at here."""
    return (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * place)


def _decide(
    place: int, values: tuple[int, ...], listed: _Instruction, other: _Instruction
) -> list[_Instruction]:
    """Return the instructions that end with one where an argument is among some values, else with another."""
    tests = [(_JUMP_EQUAL, len(values) - number, 0, value) for number, value in enumerate(values)]
    return [_argument(place), *tests, other, listed]
