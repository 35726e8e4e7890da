"""Runner of a tournament: passes due matches to an engine and stores their records.

It decides nothing about the tournament. Which matches are due follows from the plan and the records
(`flagfall.tournament.formats.schedule`), so a run that was interrupted in any way continues as if it had not
been: stored matches count, all others are played.

An attempt is void, and the match is played again with the same seed, if its worker was lost, something other
than an agent failed, or a stall of the host coincided with a late turn or a time loss. After `STALL_ATTEMPTS`
attempts affected by stalls the last one counts, and its record mentions the stall. After `FAULT_ATTEMPTS`
faults the run ends, since another attempt would not help.
"""

from __future__ import annotations

__all__ = ["FAULT_ATTEMPTS", "STALL_ATTEMPTS", "Engines", "Run", "RunningMatch"]

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Final, Literal, Protocol, TypeAlias

import attrs
import trio

from flagfall.errors import FlagfallError, HostFault
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.records import MatchRecord, MatchSpec, Records
from flagfall.tournament.run.engine import Attempt, Engine, WorkerLost, void_record

Engines: TypeAlias = Literal["local", "ray"]

STALL_ATTEMPTS: Final = 3
"""A machine that stalls in three attempts at one match will stall again; the last one counts, with a
remark."""

FAULT_ATTEMPTS: Final = 5
"""Faults of one match in one run. A worker may be lost by chance, but not five times on the same match."""


class RecordStore(Protocol):
    """Store of records; `flagfall.tournament.store.Store` is one."""

    def records(self) -> Iterator[MatchRecord]:
        """Yield all stored records, including void attempts."""
        ...

    def put(self, record: MatchRecord) -> None:
        """Store the record of an attempt.

        Args:
            record: void or not.
        """

    def check(self, plan: TournamentPlan, records: Records) -> None:
        """Check stored records against a plan.

        Args:
            plan: the plan of the tournament.
            records: the records of matches that count, by id.
        """


@attrs.frozen(eq=False)
class RunningMatch:
    """A match that is being played.

    Attributes:
        spec: the match.
        attempt: one-based number of the attempt.
        since: time when it began, on `time.monotonic`.
        scope: cancelling it ends the attempt; the match is played again when no other match is left.
    """

    spec: MatchSpec
    attempt: int
    since: float
    scope: trio.CancelScope = attrs.Factory(trio.CancelScope)


class Run:
    """A run of a tournament; `play` may be called once.

    Args:
        plan: the plan of the tournament.
        store: has the records of earlier runs.
        engine: plays matches.
        jobs: number of matches at the same time.
        on_record: called with each record when it is stored, including void attempts.
        fault_attempts: faults of one match after which it is given up.
        skip_failed: continue without a match that is given up, instead of ending the run.

    Raises:
        DamagedStore: the stored records cannot be read, or do not fit the plan.

    Attributes:
        plan: the plan.
        records: the records of matches that count, by id; grows.
        running: the matches that are being played, by id.
        voids: number of void attempts in this run.
        total: largest number of matches; `None` if it is not known.
        paused: no match begins until `resume`.
        stopping: no match begins any more.
    """

    def __init__(
        self,
        plan: TournamentPlan,
        store: RecordStore,
        engine: Engine,
        jobs: int,
        on_record: Callable[[MatchRecord], None] = lambda _record: None,
        *,
        fault_attempts: int = FAULT_ATTEMPTS,
        skip_failed: bool = False,
    ) -> None:
        self.plan = plan
        self.records: dict[str, MatchRecord] = {}
        self.running: dict[str, RunningMatch] = {}
        self.voids = 0
        self.paused = self.stopping = False
        self._store = store
        self._engine = engine
        self._jobs = jobs
        self._on_record = on_record
        self._fault_attempts = fault_attempts
        self._skip_failed = skip_failed
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
        self._postponed: deque[MatchSpec] = deque()
        self._set_aside: set[str] = set()
        self._changed = trio.Event()
        self._fault: FlagfallError | None = None

    # Steering.

    @property
    def jobs(self) -> int:
        """Number of matches played at the same time."""
        return self._jobs

    @jobs.setter
    def jobs(self, jobs: int) -> None:
        self._jobs = jobs
        self._changed.set()

    def pause(self) -> None:
        """Begin no match until `resume`; those that are being played continue."""
        self.paused = True

    def resume(self) -> None:
        """Begin matches again."""
        self.paused = False
        self._changed.set()

    def stop(self) -> None:
        """Begin no further match; `play` returns when those that are being played are over."""
        self.stopping = True
        self._changed.set()

    async def stop_when(self, event: trio.Event) -> None:
        """Call `stop` when an event is set.

        Args:
            event: to wait for.
        """
        await event.wait()
        self.stop()

    def over(self) -> bool:
        """Return whether no match is left to play."""
        return self._schedule.over(self.records)

    # Playing.

    async def play(self) -> None:
        """Play due matches until none is left or `stop` is called.

        Raises:
            HostFault: a match failed repeatedly, or the store cannot be written. Stored matches are kept.
            UsageError: a match cannot be played as planned.

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
        """Return the next match to begin, or `None` if it depends on those being played or none is left."""
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
        if self._postponed:
            spec = self._postponed.popleft()
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
            self._on_record(record)
            if record.status == "played" or self.stopping:
                return
            if running.scope.cancel_called:
                self._postponed.append(spec)
                self._set_aside.add(spec.id)
                return
            faults += not record.why.startswith("stall")
            if faults >= self._fault_attempts:
                if self._skip_failed:
                    self._set_aside.add(spec.id)
                    return
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
        return void_record(spec, number, "cancelled on request")
