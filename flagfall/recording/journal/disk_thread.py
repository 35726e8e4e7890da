"""One writer thread for all journals of an event loop; jobs that wait at the same time share one call.

A call into a thread costs the loop about 0.2 ms, mostly for passing the interpreter lock to the thread and
back. If each of 64 journals made its own call, that would cost more than playing their matches.
"""

from __future__ import annotations

__all__ = ["Disk", "disk"]

import time
from collections.abc import Callable
from errno import EAGAIN
from typing import Any, Final, TypeVar

import outcome
import trio
from trio.lowlevel import RunVar

YIELD_SECONDS: Final = 0.000_05
MAX_YIELDS: Final = 12
"""Length and greatest number of the pauses in which the loop leaves the interpreter to the thread, in each
call into the thread. Four to six are needed."""

_T = TypeVar("_T")


class _Job:
    """A function to call in the thread, and its outcome."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.result: outcome.Outcome[Any] | None = None


class Disk:
    """Runs functions that may wait for a disk in a thread, in the order of the calls."""

    def __init__(self) -> None:
        self._waiting: list[_Job] = []
        self._lock = trio.Lock()
        # A limiter of its own: threads of agents must not keep a journal waiting for a thread.
        self._limiter = trio.CapacityLimiter(1)

    async def do(self, work: Callable[[], _T]) -> _T:
        """Run a function in the thread; it runs to its end even if the caller is cancelled.

        Args:
            work: the function; it may block.

        Returns:
            The value that the function returns.

        Raises:
            OSError: no thread can be started.
            BaseException: what the function raises.
        """
        job = _Job(work)
        self._waiting.append(job)
        with trio.CancelScope(shield=True):
            async with self._lock:
                if job.result is None:  # else an earlier holder of the lock has done it
                    await self._run_waiting()
        assert job.result is not None
        result: _T = job.result.unwrap()
        return result

    async def _run_waiting(self) -> None:
        """Run the jobs that wait now, in one call; those that are added meanwhile have the next one."""
        jobs, self._waiting = self._waiting, []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_yield_interpreter)
            try:
                await trio.to_thread.run_sync(_do_all, jobs, limiter=self._limiter)
            except RuntimeError as error:
                for job in jobs:
                    job.result = outcome.Error(OSError(EAGAIN, f"no thread for the disk ({error})"))
            nursery.cancel_scope.cancel()


def _do_all(jobs: list[_Job]) -> None:
    for job in jobs:
        job.result = outcome.capture(job.work)


async def _yield_interpreter() -> None:
    """Release the interpreter lock often enough for the thread to run its Python code at once.

    Otherwise the thread waits 5 ms (`sys.getswitchinterval`) each time it needs the lock, and each pass of
    the loop meanwhile pays for a request to release it: together more than all other costs of a journal.
    """
    for _ in range(MAX_YIELDS):
        time.sleep(YIELD_SECONDS)  # noqa: ASYNC251 - blocks the loop on purpose, for the time of about ten turns
        await trio.lowlevel.checkpoint()


_disk: RunVar[Disk] = RunVar("flagfall_disk")


def disk() -> Disk:
    """Return the `Disk` of the running event loop."""
    try:
        return _disk.get()
    except LookupError:
        _disk.set(Disk())
        return _disk.get()
