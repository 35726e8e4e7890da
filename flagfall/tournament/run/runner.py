"""The runner: gives due matches to an engine, stores what becomes of them, and hears who wants to steer it.

It decides nothing about the tournament. Which matches are due follows from the plan and the records
(`flagfall.tournament.formats.schedule`), so a run that was interrupted, in whatever way, goes on as if it
had not been: what was stored counts, everything else is played.

A match is void, and played again with the same seed, where its worker was lost, something that is no agent
failed, or a stall of the host coincided with a late turn or a fall. Stalls may touch it `STALL_ATTEMPTS`
times: the last attempt counts, and its record says why it might not. After `FAULT_ATTEMPTS` faults the run
ends: something is wrong that another attempt does not mend.
"""

from __future__ import annotations

__all__ = ["FAULT_ATTEMPTS", "STALL_ATTEMPTS", "Engines", "Run", "RunningMatch"]

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Final, Literal, TypeAlias

import attrs
import trio

from flagfall.errors import FlagfallError, HostFault
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.plan.model import Plan
from flagfall.tournament.records import MatchRecord, MatchSpec
from flagfall.tournament.run.engine import Engine, WorkerLost
from flagfall.tournament.run.match import Attempt
from flagfall.tournament.run.match_observer import void_record
from flagfall.tournament.store import Store

Engines: TypeAlias = Literal["local", "ray"]

STALL_ATTEMPTS: Final = 3
"""A machine that stalls three times in one match will again; the last time counts, with a mark."""

FAULT_ATTEMPTS: Final = 5
"""In one run. A worker may be lost by chance; five times the same match is no chance."""


@attrs.frozen(eq=False)
class RunningMatch:
    """A match that is being played.

    Attributes:
        spec: which one.
        attempt: the how-manieth time.
        since: when it began, on `time.monotonic`.
        scope: cancel it to end the match; it is played again when nothing else is left.
    """

    spec: MatchSpec
    attempt: int
    since: float
    scope: trio.CancelScope = attrs.Factory(trio.CancelScope)


class Run:
    """A run of a tournament; `play` it once.

    Args:
        plan: of the tournament.
        store: has what was played before.
        engine: plays matches.
        jobs: how many at a time.
        noticed: is given each record when it is stored, void ones too.

    Raises:
        DamagedStore: what the store has cannot be read, or does not fit the plan.

    Attributes:
        plan: as given.
        records: of matches that count, by id; grows.
        running: the matches that are being played, by id.
        voids: how many attempts were void in this run.
        total: how many matches there are at most; `None` where that is not known.
        paused: no match begins until `resume`.
        stopping: no match begins any more.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        engine: Engine,
        jobs: int,
        noticed: Callable[[MatchRecord], None] = lambda _record: None,
    ) -> None:
        self.plan = plan
        self.records: dict[str, MatchRecord] = {}
        self.running: dict[str, RunningMatch] = {}
        self.voids = 0
        self.paused = self.stopping = False
        self._store = store
        self._engine = engine
        self._jobs = jobs
        self._noticed = noticed
        self._attempts: Counter[str] = Counter()
        for record in store.records():
            self._attempts[record.id] = max(self._attempts[record.id], record.attempt)
            if record.status == "played":
                self.records[record.id] = record
        store.check(plan, self.records)
        self._schedule = schedule(plan)
        self.total = self._schedule.total
        self._due: Iterator[MatchSpec] = iter(())
        self._seen = -1
        self._put_off: deque[MatchSpec] = deque()
        self._set_aside: set[str] = set()
        self._changed = trio.Event()
        self._fault: FlagfallError | None = None

    # Steering.

    @property
    def jobs(self) -> int:
        """How many matches are played at a time."""
        return self._jobs

    @jobs.setter
    def jobs(self, jobs: int) -> None:
        self._jobs = jobs
        self._changed.set()

    def pause(self) -> None:
        """Begin no match until `resume`; those that are being played go on."""
        self.paused = True

    def resume(self) -> None:
        """Begin matches again."""
        self.paused = False
        self._changed.set()

    def stop(self) -> None:
        """Begin no match any more; `play` returns when those that are being played are over."""
        self.stopping = True
        self._changed.set()

    def over(self) -> bool:
        """Whether there is nothing left to play."""
        return self._schedule.over(self.records)

    # Playing.

    async def play(self) -> None:
        """Play what is due, until nothing is or somebody stops it.

        Raises:
            HostFault: a match failed again and again, or the store cannot be written. What was stored stays.
            UsageError: a match cannot be played as the plan has it.

        If it is cancelled, matches that are being played are lost, and due again.
        """
        async with trio.open_nursery() as nursery:
            while True:
                spec = None if self._full() else self._next()
                if spec is not None:
                    running = RunningMatch(spec, self._attempts[spec.id] + 1, time.monotonic())
                    self.running[spec.id] = running
                    nursery.start_soon(self._play, running)
                    continue
                if not self.running and (self.stopping or not self.paused):
                    break
                await self._changed.wait()
                self._changed = trio.Event()
        if self._fault is not None:
            raise self._fault

    def _full(self) -> bool:
        return self.stopping or self.paused or len(self.running) >= self._jobs

    def _next(self) -> MatchSpec | None:
        """The next match to begin; `None` where that depends on those being played, or all is over."""
        test = self._schedule.sprt(self.records)
        if test is not None and test.decision is not None:
            return None
        while True:
            for spec in self._due:
                if spec.id not in self.running and spec.id not in self._set_aside:
                    return spec
            if self._seen == len(self.records):
                break
            self._seen = len(self.records)
            self._due = self._schedule.due(self.records)
        if self._put_off:
            spec = self._put_off.popleft()
            self._set_aside.discard(spec.id)
            return spec
        return None

    async def _play(self, running: RunningMatch) -> None:
        try:
            await self._play_until_it_counts(running)
        except FlagfallError as error:
            self._fault = self._fault or error
            self.stopping = True
        finally:
            del self.running[running.spec.id]
            self._changed.set()

    async def _play_until_it_counts(self, running: RunningMatch) -> None:
        spec = running.spec
        faults = 0
        while True:
            record = await self._attempt(running)
            self._attempts[spec.id] = record.attempt
            self._store.put(record)
            if record.status == "played":
                self.records[spec.id] = record
            else:
                self.voids += 1
            self._noticed(record)
            if record.status == "played" or self.stopping:
                return
            if running.scope.cancel_called:
                self._put_off.append(spec)
                self._set_aside.add(spec.id)
                return
            faults += not record.why.startswith("stall")
            if faults >= FAULT_ATTEMPTS:
                raise HostFault(f"match {spec.id} failed {faults} times; the last time: {record.why}")
            running = RunningMatch(spec, record.attempt + 1, time.monotonic())
            self.running[spec.id] = running

    async def _attempt(self, running: RunningMatch) -> MatchRecord:
        spec, number = running.spec, running.attempt
        with running.scope:
            try:
                return await self._engine.play(Attempt(spec, number, counts=number >= STALL_ATTEMPTS))
            except WorkerLost as lost:
                return void_record(spec, number, f"lost: {lost}")
        return void_record(spec, number, "cancelled: somebody asked for it")
