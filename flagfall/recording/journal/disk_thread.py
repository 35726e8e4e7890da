"""One thread for all journals of an event loop: what waits for the disk together goes there in one trip.

A trip costs the loop some 0.2 ms, mostly for handing the interpreter to the thread and back. Sixty-four
journals that each made their own, at the same moment, would have cost it more than the matches themselves.
"""

from __future__ import annotations

__all__ = ["Disk", "disk"]

import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

import outcome
import trio
from trio.lowlevel import RunVar

LENT_SECONDS: Final = 0.000_05
LENT_TIMES: Final = 12
"""How long, and how often at most, the loop stands aside for the thread in a trip. It takes four to six."""

_T = TypeVar("_T")


class _Job:
    """Something to do in the thread, and what came of it."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.result: outcome.Outcome[Any] | None = None
        self.done = trio.Event()


class Disk:
    """Does work that may wait for a disk, in a thread, in the order in which it was asked for."""

    def __init__(self) -> None:
        self._waiting: list[_Job] = []
        self._on_a_trip = False
        # Threads of others, an agent's for instance, must not keep a journal from its own.
        self._limiter = trio.CapacityLimiter(1)

    async def do(self, work: Callable[[], _T]) -> _T:
        """What `work` returns or raises. It is done even if the caller is cancelled."""
        job = _Job(work)
        self._waiting.append(job)
        with trio.CancelScope(shield=True):
            if not self._on_a_trip:
                await self._trips()
            await job.done.wait()
        assert job.result is not None
        result: _T = job.result.unwrap()
        return result

    async def _trips(self) -> None:
        """Go there until nothing waits any more; who asks meanwhile comes along the next time."""
        self._on_a_trip = True
        try:
            while self._waiting:
                jobs, self._waiting = self._waiting, []
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(_lend_the_interpreter)
                    await trio.to_thread.run_sync(_do_all, jobs, limiter=self._limiter)
                    nursery.cancel_scope.cancel()
                for job in jobs:
                    job.done.set()
        finally:
            self._on_a_trip = False


def _do_all(jobs: list[_Job]) -> None:
    for job in jobs:
        job.result = outcome.capture(job.work)


async def _lend_the_interpreter() -> None:
    """Let the thread do its steps in Python now.

    It would else wait for 5 ms each time, and every pass of the loop meanwhile would pay for waking it in
    vain: together more than everything else about a journal.
    """
    for _ in range(LENT_TIMES):
        time.sleep(LENT_SECONDS)  # noqa: ASYNC251 - the loop is to stand still, for as long as ten turns take
        await trio.lowlevel.checkpoint()


_disk: RunVar[Disk] = RunVar("flagfall_disk")


def disk() -> Disk:
    """The disk of the running event loop."""
    try:
        return _disk.get()
    except LookupError:
        _disk.set(Disk())
        return _disk.get()
