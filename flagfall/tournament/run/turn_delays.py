"""Delays of turns: for how long the threads of a match could run and had no processor, as Linux counts it.

Only a probe of the machine's capacity measures them (`flagfall.tournament.run.probe`), in the worker of each
match, at the end of each turn. The delay of a turn is that of this process's own thread, plus the longest of
the threads of the agents' processes: the two wait for each other, and agents that think at the same time are
delayed at the same time. How long an agent thinks, or waits for a network, makes no difference.
"""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import attrs

from flagfall.agents.process.supervisor import descendants, threads_of
from flagfall.events import Event, TaskStarted, TurnPlayed
from flagfall.timing.durations import MS
from flagfall.timing.heartbeat import open_schedstat, read_schedstat

LOOK_NS: Final = 100 * MS
"""Time between two searches for threads that are new, which take some 0.1 ms."""

MAX_THREADS: Final = 256
"""Most threads that are watched, each by a descriptor: an agent may start more than that."""

BEGUN: Final = -1
"""In place of a delay: a match has begun to play."""

_SAMPLE: Final = struct.Struct("=qqi")


@attrs.frozen
class Sample:
    """A turn that has ended, or a match that has begun.

    Attributes:
        at_ns: when, on `time.perf_counter_ns`, which all processes share.
        delay_ns: the delay of the turn, or `BEGUN`.
        worker: the id of the process that plays the match.
    """

    at_ns: int
    delay_ns: int
    worker: int


def read_samples(file: Path, offset: int) -> tuple[list[Sample], int]:
    """Return the samples in a file that are complete, from an offset on, and the offset after them."""
    with file.open("rb") as samples:
        samples.seek(offset)
        data = samples.read()
    whole = len(data) - len(data) % _SAMPLE.size
    return [Sample(*fields) for fields in _SAMPLE.iter_unpack(data[:whole])], offset + whole


def counts_delays() -> bool:
    """Return whether this system counts for how long a thread waits for a processor."""
    try:
        os.close(open_schedstat(threading.get_native_id()))
    except OSError:
        return False
    return True


@attrs.frozen
class DelayLog:
    """Makes a sink for each match of a worker, as `LogSettings` do.

    Attributes:
        file: all workers append samples to it.
    """

    file: Path
    descriptors: tuple[int, ...] = ()

    @contextmanager
    def opened(self) -> Iterator[_WorkerLog]:
        """Open the file in this process."""
        fd = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            yield _WorkerLog(fd)
        finally:
            os.close(fd)


class _WorkerLog:
    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._threads = _Threads()

    def sinks(self, _match: str, _attempt: int) -> list[TurnDelays]:
        """Return the sinks of one match."""
        return [TurnDelays(self._fd, self._threads)]


class TurnDelays:
    """Sink that appends a sample for each turn of a match."""

    def __init__(self, fd: int, threads: _Threads) -> None:
        self._fd = fd
        self._threads = threads
        self._turn_ended_ns = -1

    def __call__(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, TurnPlayed):
            if event.at_ns != self._turn_ended_ns:  # the seats of a turn have an event each
                self._turn_ended_ns = event.at_ns
                self._add(self._threads.delay_ns())
        elif isinstance(event, TaskStarted):
            self._threads.look()
            self._threads.delay_ns()
            self._add(BEGUN)

    def _add(self, delay_ns: int) -> None:
        os.write(self._fd, _SAMPLE.pack(time.perf_counter_ns(), delay_ns, os.getpid()))


class _Threads:
    """The counters of this thread and of all threads of the processes below this one."""

    def __init__(self) -> None:
        self._own_fd = open_schedstat(threading.get_native_id())
        self._own_ns = read_schedstat(self._own_fd)[1]
        self._fds: dict[str, int] = {}
        self._waited_ns: dict[str, int] = {}
        self._looked_ns = 0

    def delay_ns(self) -> int:
        """Return the delay since the last call."""
        before_ns, self._own_ns = self._own_ns, read_schedstat(self._own_fd)[1]
        longest_ns = max(map(self._delay_of, tuple(self._fds)), default=0)
        if time.perf_counter_ns() - self._looked_ns > LOOK_NS:
            self.look()
        return self._own_ns - before_ns + longest_ns

    def look(self) -> None:
        """Find the threads that are new; what they waited before is not counted."""
        self._looked_ns = time.perf_counter_ns()
        for pid in descendants(os.getpid()):
            for folder in threads_of(pid):
                if folder not in self._fds and len(self._fds) < MAX_THREADS:
                    self._watch(folder)

    def _watch(self, folder: str) -> None:
        try:
            fd = os.open(f"{folder}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # it has ended
            return
        self._fds[folder] = fd
        self._waited_ns[folder] = 0
        self._delay_of(folder)

    def _delay_of(self, folder: str) -> int:
        try:
            waited_ns = read_schedstat(self._fds[folder])[1]
        except (OSError, ValueError):  # it has ended
            os.close(self._fds.pop(folder))
            return 0
        before_ns, self._waited_ns[folder] = self._waited_ns[folder], waited_ns
        return waited_ns - before_ns
