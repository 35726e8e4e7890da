"""Memory that the processes of an agent use together, as Linux shows it.

Counted are private memory, page tables and shared anonymous memory, once for all processes that share it; and
of a sandbox the files in its memory file systems and what is in its sockets. Program code and files that are
mapped are not: the system can drop them. Shared anonymous memory counts with its whole size, as `RLIMIT_DATA`
counts private memory: a process can hide how much of it is in use.

The supervisor loads this file by its path; only the standard library is imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

_KIB: Final = 1024
_SHARED_ANONYMOUS: Final = "00:01"
"""The device of shared anonymous memory, of System V's, and of `memfd`."""

ENTRY_BYTES: Final = 1024
"""Size of a file in a memory file system besides its data: about 700 bytes, and its name."""

FREE_SOCKETS: Final = 32
"""Number of sockets that count nothing: event loops and pools of processes have some, with little data."""

_PAGE_TABLES: Final = "VmPTE"
_PRIVATE: Final = ("RssAnon", "VmSwap", _PAGE_TABLES)
_PROPORTIONAL: Final = ("Pss_Anon", "SwapPss")


def bytes_used(pids: Sequence[int], limit: int, memory_files: Iterable[str] = ()) -> int:
    """Return the bytes that some processes use together; a little too much where that is under a limit.

    Args:
        pids: the processes; those that are gone use nothing.
        limit: bytes. Pages that processes share since a fork are counted once only above it: that
            takes a millisecond for some hundred megabytes.
        memory_files: memory file systems of the processes' own, such as `/tmp` in a sandbox.
    """
    shared = _shared(pids) + sum(_in_files(pids, path) for path in memory_files) + _in_sockets(pids)
    total = sum(_sum(f"/proc/{pid}/status", _PRIVATE) for pid in pids) + shared
    if total <= limit:
        return total
    return sum(_exact_private(pid) for pid in pids) + shared


def _exact_private(pid: int) -> int:
    found = _fields(f"/proc/{pid}/smaps_rollup")
    if "Pss_Anon" in found:
        page_tables = _sum(f"/proc/{pid}/status", (_PAGE_TABLES,))
        return sum(found.get(name, 0) for name in _PROPORTIONAL) + page_tables
    return _sum(f"/proc/{pid}/status", _PRIVATE)


def _sum(path: str, names: Iterable[str]) -> int:
    found = _fields(path)
    return sum(found.get(name, 0) for name in names)


def _fields(path: str) -> Mapping[str, int]:
    """Return the fields of a file such as `/proc/1/status` that are sizes, in bytes."""
    found = {}
    with suppress(OSError), open(path) as file:  # noqa: PTH123 - pathlib takes long to import
        for line in file:
            words = line.split()
            if len(words) == 3 and words[2] == "kB":  # noqa: PLR2004 - a name, a number, a unit
                found[words[0][:-1]] = int(words[1]) * _KIB
    return found


def _shared(pids: Sequence[int]) -> int:
    """Return the bytes of shared anonymous memory, by what each piece of it is."""
    sizes: dict[str, int] = {}
    for pid in pids:
        try:
            with open(f"/proc/{pid}/maps") as file:  # noqa: PTH123 - as above
                for line in file:
                    place, _, offset, device, inode, *_ = line.split(None, 5)
                    if device == _SHARED_ANONYMOUS:
                        first, _, last = place.partition("-")
                        end = int(offset, 16) + int(last, 16) - int(first, 16)
                        sizes[inode] = max(sizes.get(inode, 0), end)
        except OSError:  # it does not show them: then what it has in use counts, for each process
            sizes[f"of {pid}"] = _sum(f"/proc/{pid}/status", ("RssShmem",))
    return sum(sizes.values())


def _in_files(pids: Sequence[int], path: str) -> int:
    """Return the bytes in a memory file system that the processes have and this one has not."""
    for pid in reversed(pids):
        inside = f"/proc/{pid}/root{path}"
        with suppress(OSError):
            if os.stat(inside).st_dev != os.stat(path).st_dev:  # noqa: PTH116 - as above
                space = os.statvfs(inside)
                files = space.f_files - space.f_ffree
                return (space.f_blocks - space.f_bfree) * space.f_frsize + files * ENTRY_BYTES
    return 0


def _in_sockets(pids: Sequence[int]) -> int:
    """Return the bytes in sockets of a network that the processes have and this one has not.

    TCP tells how much is under way. Others do not: each counts as full, but for the first `FREE_SOCKETS`.
    """
    own = os.readlink("/proc/self/ns/net")  # noqa: PTH115 - as above
    for pid in reversed(pids):
        folder = f"/proc/{pid}/net"
        with suppress(OSError, IndexError, ValueError):
            if os.readlink(f"/proc/{pid}/ns/net") == own:  # noqa: PTH115 - as above
                continue
            queued = [
                words[4].split(":") for table in ("tcp", "tcp6") for words in _rows(f"{folder}/{table}")
            ]
            used = int(next(_rows(f"{folder}/sockstat", skipped=0))[2])
            others = max(0, used - len(queued) - FREE_SOCKETS)
            in_tcp = sum(int(sent, 16) + int(received, 16) for sent, received in queued)
            return in_tcp + (others * _usual_buffer() if others else 0)
    return 0


def _rows(path: str, skipped: int = 1) -> Iterator[list[str]]:
    """Yield the words of the lines of a file, without some lines at the top."""
    with open(path) as file:  # noqa: PTH123 - as above
        for number, line in enumerate(file):
            if number >= skipped:
                yield line.split()


def _usual_buffer() -> int:
    """Return the bytes in a full socket whose program did not set the size of its buffer."""
    with open("/proc/sys/net/core/wmem_default") as file:  # noqa: PTH123 - as above
        return int(file.read())
