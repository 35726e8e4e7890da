"""A simulated disk for journals, with the faults of one."""

from __future__ import annotations

from collections.abc import Callable
from errno import EIO, ENOSPC
from os import strerror
from pathlib import Path
from typing import TypeVar

import trio

from flagfall.recording.journal.file import RawFile
from flagfall.testing.faults import Fault
from flagfall.timing.durations import S

_T = TypeVar("_T")


class SimulatedDisk:
    """Keeps files in memory; see `flagfall.recording.journal.file.Storage`.

    Args:
        count: called with a fault each time it strikes.

    Attributes:
        files: the contents of the files, by path.
    """

    def __init__(self, count: Callable[[Fault], None]) -> None:
        self.files: dict[Path, bytearray] = {}
        self._count = count
        self._faults: dict[str, Fault] = {}

    def break_down(self, fault: Fault) -> None:
        """Let a fault last from now on."""
        self._faults[fault.kind] = fault

    def open(self, path: Path) -> RawFile:
        """Create a file, or empty it."""
        self.files[path] = bytearray()
        return _File(self, self.files[path])

    async def do(self, work: Callable[[], _T]) -> _T:
        """Run a function that reads or writes; on a slow disk later."""
        await trio.lowlevel.checkpoint()
        if slow := self._faults.get("disk slow"):
            self._count(slow)
            await trio.sleep(slow.amount / S)
        return work()

    def room_for(self, length: int) -> int:
        """Return how many bytes of a write are written; raises `OSError` if none are."""
        if error := self._faults.get("disk error"):
            self._count(error)
            raise OSError(EIO, strerror(EIO))
        if full := self._faults.pop("disk full", None):  # part of this write fits
            self._count(full)
            self._faults["disk is full"] = full
            return length // 2
        if "disk is full" in self._faults:
            raise OSError(ENOSPC, strerror(ENOSPC))
        return length


class _File:
    """An open file of a simulated disk."""

    def __init__(self, disk: SimulatedDisk, content: bytearray) -> None:
        self._disk = disk
        self._content = content

    def check(self) -> None:
        """Find it where it is."""

    def write(self, data: memoryview) -> int:
        """Write at the end as much as there is room for."""
        length = self._disk.room_for(len(data))
        self._content += data[:length]
        return length

    def cut(self, length: int) -> None:
        """Cut it to a length."""
        del self._content[length:]

    def close(self) -> None:
        """Leave it as it is."""
