"""Runner of a tournament: passes due matches to an engine and stores their records.

It decides nothing about the tournament. Which matches are due follows from the plan and the records
(`flagfall.tournament.formats.schedule`), so a run that was interrupted in any way continues as if it had not
been: stored matches count, all others are played.

Each job plays one batch after another: several short matches, or a single one. Records that arrive together
are stored in one transaction, before anything else is done with them. When no further match is to begin, or
another job has nothing to do, batches are recalled: the matches in them that have not begun are due again.

An attempt is void, and the match is played again with the same seed, if its worker was lost, something other
than an agent failed, or stalls of the host account for a late turn or a time loss. After `STALL_ATTEMPTS`
attempts affected by stalls the last one counts, and its record mentions the stall. After `FAULT_ATTEMPTS`
faults the run ends, since another attempt would not help.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, Protocol, TypeAlias

import attrs
import trio

from flagfall.errors import FlagfallError, HostFault
from flagfall.recording.operations import report
from flagfall.texts import one_line
from flagfall.tournament.formats.schedule import Part, schedule
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.records import MatchRecord, MatchSpec, Records
from flagfall.tournament.run.engine import (
    MAX_BATCH,
    SHARE,
    Attempt,
    Batch,
    Durations,
    Engine,
    WorkerLost,
    void_record,
)

Engines: TypeAlias = Literal["local", "ray"]

STALL_ATTEMPTS: Final = 3
"""A machine that stalls in three attempts at one match will stall again; the last one counts, with a
remark."""

FAULT_ATTEMPTS: Final = 5
"""Faults of one match in one run. A worker may be lost by chance, but not five times on the same match."""


MAX_REASON_CHARS: Final = 400
"""Longest reason for a void attempt that is reported; the record has all of it."""


class RecordStore(Protocol):
    """Store of records; `flagfall.tournament.store.Store` is one."""

    def records(self) -> Iterator[MatchRecord]:
        """Yield all stored records, including void attempts."""
        ...

    def put(self, *records: MatchRecord) -> None:
        """Store the records of attempts, all or none of them."""

    def check(self, plan: TournamentPlan, records: Records) -> None:
        """Check stored records against a plan."""


@attrs.define(eq=False)
class RunningMatch:
    """A match that is being played.

    Attributes:
        since: time when it began, on `time.monotonic`.
        cancel_called: its end was requested.
    """

    spec: MatchSpec
    attempt: int
    since: float
    _scope: trio.CancelScope
    cancel_called: bool = False

    def cancel(self) -> None:
        """End the attempt; the match is played again when no other match is left."""
        self.cancel_called = True
        self._scope.cancel()


class Run:
    """A run of a tournament; `play` may be called once.

    Args:
        store: has the records of earlier runs.
        on_record: called with each record when it is stored, including void attempts.
        fault_attempts: faults of one match after which it is given up.
        skip_failed: continue without a match that is given up, instead of ending the run.
        part: play these matches only.

    Raises:
        DamagedStore: the stored records cannot be read, or do not fit the plan.

    Attributes:
        records: the records of matches that count, by id; grows.
        since: time when `play` was called, on `time.monotonic`; until then, when the run was made.
        voids: number of void attempts in this run.
        total: largest number of matches; `None` if it is not known.
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
        part: Part | None = None,
    ) -> None:
        self.plan = plan
        self.records: dict[str, MatchRecord] = {}
        self.running: dict[str, RunningMatch] = {}
        self.voids: int = 0
        self.paused: bool = False
        self.stopping: bool = False
        self._store = store
        self._engine = engine
        self._jobs = jobs
        self._on_record = on_record
        self._fault_attempts = fault_attempts
        self._skip_failed = skip_failed
        self._attempts: Counter[str] = Counter()
        self._stalled: Counter[str] = Counter()
        for record in store.records():
            if record.status == "played":
                self.records[record.id] = record
            else:
                self._attempts[record.id] = max(self._attempts[record.id], record.attempt)
                self._stalled[record.id] += record.is_stalled
        store.check(plan, self.records)
        self.since: float = time.monotonic()
        self.played_before: int = len(self.records)
        self._schedule = schedule(plan, part)
        self.total: int | None = self._schedule.total
        self._due = self._schedule.live(self.records)
        self._again: deque[MatchSpec] = deque()
        self._postponed: deque[MatchSpec] = deque()
        self._faults: Counter[str] = Counter()
        self._durations = Durations()
        self._batches: dict[Batch, trio.CancelScope] = {}
        self._changed = trio.Event()
        self._fault: FlagfallError | None = None

    @property
    def jobs(self) -> int:
        """Number of matches played at the same time."""
        return self._jobs

    @jobs.setter
    def jobs(self, jobs: int) -> None:
        if jobs < self._jobs:
            self._recall()
        self._jobs = jobs
        self._changed.set()

    def pause(self) -> None:
        """Begin no match until `resume`; those that are being played continue."""
        self.paused = True
        report("run paused")
        self._recall()

    def resume(self) -> None:
        """Begin matches again."""
        self.paused = False
        report("run continued")
        self._changed.set()

    def stop(self) -> None:
        """Begin no further match; `play` returns when those that are being played are over."""
        if not self.stopping:
            report("run stopping", **self._queue())
        self.stopping = True
        self._recall()
        self._changed.set()

    async def stop_when(self, event: trio.Event) -> None:
        """Call `stop` when an event is set."""
        await event.wait()
        self.stop()

    def over(self) -> bool:
        """Return whether no match is left to play."""
        return self._schedule.over(self.records)

    async def play(self) -> None:
        """Play due matches until none is left or `stop` is called.

        Raises:
            HostFault: a match failed repeatedly, or the store cannot be written. Stored matches are kept.
            UsageError: a match cannot be played as planned.

        If it is cancelled, matches that are being played are lost, and due again.
        """
        self.since = time.monotonic()
        begun = "run resumed" if self.played_before else "run started"
        report(begun, played=self.played_before, matches=self.total, jobs=self._jobs)
        ended = "run interrupted"
        try:
            await self._play_due()
            ended = "run ended"
        finally:
            report(ended, played=len(self.records), matches=self.total, void=self.voids)
        if self._fault is not None:
            raise self._fault

    async def _play_due(self) -> None:
        async with trio.open_nursery() as nursery:
            while True:
                attempts = [] if self._full() else self._next_attempts()
                if attempts:
                    batch = Batch(attempts, self._take)
                    self._batches[batch] = trio.CancelScope()
                    self._begin_next(batch)
                    for attempt in attempts:
                        report("match queued", **_named(attempt.spec, attempt.number), **self._queue())
                    nursery.start_soon(self._play, batch)
                    continue
                if not self._batches and (self.stopping or not self.paused):
                    break
                if not self._full():  # a job is idle
                    self._recall()
                await self._changed.wait()
                self._changed = trio.Event()

    def _queue(self) -> dict[str, int]:
        """Return how many matches are being played and, if it is known, how many wait."""
        running = len(self.running)
        if self.total is None:
            return {"running": running}
        return {"running": running, "waiting": max(0, self.total - len(self.records) - running)}

    def _full(self) -> bool:
        return self.stopping or self.paused or len(self._batches) >= self._jobs

    def _recall(self) -> None:
        for batch in self._batches:
            batch.recall()

    def _next_attempts(self) -> list[Attempt]:
        """Return the attempts of the next batch; none if they depend on those being played or none is left.

        A match of unknown duration, and one that was void before, is a batch of its own.
        """
        most = self._most_of_a_batch()
        attempts: list[Attempt] = []
        seconds = 0.0
        while len(attempts) < most and (spec := self._next()) is not None:
            expected = self._durations.expected(spec)
            number = self._attempts[spec.id] + 1
            alone = expected is None or number > 1
            seconds += expected or 0.0
            if attempts and (alone or seconds > self._engine.batch_seconds):
                self._again.appendleft(spec)
                break
            attempts.append(Attempt(spec, number, counts=self._stalled[spec.id] + 1 >= STALL_ATTEMPTS))
            if alone:
                break
        return attempts

    def _most_of_a_batch(self) -> int:
        if self.total is None:
            return MAX_BATCH
        left = self.total - len(self.records)
        return max(1, min(MAX_BATCH, left // (SHARE * self._jobs)))

    def _next(self) -> MatchSpec | None:
        """Return the next match to begin, or `None` if it depends on those being played or none is left."""
        if self._is_decided():
            return None
        if self._again:
            return self._again.popleft()
        for spec in self._due:
            if spec is None:
                break
            if spec.id not in self.records:
                return spec
        return self._postponed.popleft() if self._postponed else None

    async def _play(self, batch: Batch) -> None:
        try:
            with self._batches[batch]:
                try:
                    await self._engine.play_batch(batch)
                except WorkerLost as lost:
                    if batch.left:
                        self._take(batch, [(_void(batch.left[0], f"lost: {lost}"), 0.0)])
            if batch.left and self.running[batch.left[0].spec.id].cancel_called:
                self._take(batch, [(_void(batch.left[0], "cancelled on request"), 0.0)])
        except FlagfallError as error:
            self._fault = self._fault or error
            self.stop()
        finally:
            if batch.left:
                self.running.pop(batch.left[0].spec.id, None)
                self._again.extendleft(attempt.spec for attempt in reversed(batch.left))
            del self._batches[batch]
            self._changed.set()

    def _begin_next(self, batch: Batch) -> None:
        """Show the first attempt that is left of a batch as running."""
        if batch.left:
            spec, number = batch.left[0].spec, batch.left[0].number
            self.running[spec.id] = RunningMatch(spec, number, time.monotonic(), self._batches[batch])

    def _take(self, batch: Batch, played: Sequence[tuple[MatchRecord, float]]) -> None:
        """Store the records of the next attempts of a batch; see `Batch.report`."""
        self._store.put(*(record for record, _ in played))
        first = batch.left[0].spec.id
        cancelled = self.running.pop(first).cancel_called
        for record, seconds in played:
            spec = batch.left.popleft().spec
            if record.status == "played":
                self.records[spec.id] = record
                if self._engine.batch_seconds:
                    self._durations.add(spec, seconds)
            else:
                self._void(spec, record, cancelled=cancelled and spec.id == first)
            self._on_record(record)
        if self._is_decided():
            self._recall()
        self._begin_next(batch)
        for record, _ in played:
            report(
                "match stored", match=record.id, attempt=record.attempt, status=record.status, **self._queue()
            )
        self._changed.set()

    def _is_decided(self) -> bool:
        """Return whether a sequential test needs no further match."""
        test = self._schedule.sprt(self.records)
        return test is not None and test.decision is not None

    def _void(self, spec: MatchSpec, record: MatchRecord, *, cancelled: bool) -> None:
        """Let a match be played again after a void attempt, unless it failed too often."""
        self.voids += 1
        self._attempts[spec.id] = record.attempt
        self._stalled[spec.id] += record.is_stalled and not cancelled
        self._faults[spec.id] += not record.is_stalled and not cancelled
        again = cancelled or self._faults[spec.id] < self._fault_attempts
        told = "match repeated" if again else "match given up"
        report(told, **_named(spec, record.attempt), reason=one_line(record.why, MAX_REASON_CHARS))
        if cancelled:
            self._postponed.append(spec)
        elif again:
            self._again.append(spec)
        elif not self._skip_failed and not self.stopping:
            faults = self._faults[spec.id]
            self._fault = self._fault or HostFault(
                f"match {spec.id} failed {faults} times; the last time: {record.why}"
            )
            self.stop()


def _named(spec: MatchSpec, attempt: int) -> dict[str, Any]:
    return {"match": spec.id, "attempt": attempt, "task": spec.task, "agents": list(spec.entrants)}


def _void(attempt: Attempt, why: str) -> MatchRecord:
    return void_record(attempt.spec, attempt.number, why)
