"""The probe of a machine's capacity: plays matches of a plan, more and more at once, for a short time.

The matches are those of the plan, with its agents, hosts and time controls, in workers as a tournament has
them. Their records and journals are in a temporary folder, which is deleted.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count, cycle, islice
from pathlib import Path
from random import Random
from typing import Final

import trio

from flagfall.agents.process.memory_use import bytes_used
from flagfall.agents.process.supervisor import descendants, status_of, threads_of
from flagfall.errors import FlagfallError, HostFault, UsageError
from flagfall.texts import one_line
from flagfall.tournament.capacity import (
    WINDOW_TURNS,
    Capacity,
    Level,
    Resource,
    capacity_of,
    memory_allowed,
    next_jobs,
    parse_bound,
)
from flagfall.tournament.folder import JOURNALS, RUNNING
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.records import MatchRecord, MatchSpec
from flagfall.tournament.run.control import MAX_JOBS
from flagfall.tournament.run.engine import Attempt, Batch, WorkerLost, jobs_on
from flagfall.tournament.run.local_engine import LocalEngine
from flagfall.tournament.run.turn_delays import BEGUN, DelayLog, Sample, counts_delays, read_samples

SECONDS: Final = 10.0
"""Duration of a probe."""

VISIT_SHARE: Final = 0.08
"""Part of the probe's duration in which delays are measured with one number of matches; before that, all of
them have to begin."""

MAX_VISIT: Final = 2
"""Where fewer than `WINDOW_TURNS` turns end in that time, it is at most so many times as long."""

LOOK_SECONDS: Final = 0.02
"""Time between two looks for matches that have begun."""

MAX_SPECS: Final = 10_000
"""The matches of the plan from which those of a probe are drawn are as many at most, from its beginning."""

MAX_FAULTS: Final = 3
"""After so many matches without a turn, and none with one, the probe ends."""

BUSY: Final = 0.1
"""A machine that is busier than that before the probe is said to be."""

IDLE_SECONDS: Final = 0.3
"""Time before the first match in which that is measured."""

GROUPS: Final = Path("/sys/fs/cgroup")


async def measure_capacity(
    plan: TournamentPlan,
    *,
    seconds: float = SECONDS,
    bound: str | None = None,
    stop: trio.Event | None = None,
) -> Capacity | None:
    """Measure how many matches of a plan this machine carries at once, by playing some of them.

    On the virtual clock nothing is played: the machine carries as many as it has processors.

    Args:
        plan: matches drawn from the beginning of its schedule are played; nothing of them is kept.
        seconds: duration of the probe; its matches are ended then.
        bound: longest delay of 99 of 100 turns: a duration, or a share of the smallest limit of a turn, such
            as `5%`. By default 10 % of that, or 10 ms where no turn is limited.
        stop: setting it ends the probe.

    Returns:
        The capacity; `None` if the probe was stopped before a turn had ended.

    Raises:
        UsageError: a match cannot be played as planned, or the bound is none.
        HostFault: no turn was played, or this system does not count for how long a thread waits for a
            processor.
    """
    bound_ns = parse_bound(bound, plan)
    if plan.clock == "virtual":
        cores = jobs_on(plan)
        return Capacity(cores, cores, cores, exact=True, bound_ns=bound_ns, limited_by="processors")
    if not counts_delays():
        raise HostFault("this system does not count for how long a thread waits for a processor (schedstat)")
    with tempfile.TemporaryDirectory(prefix="flagfall-capacity-") as name:
        probe = _Probe(plan.without_openings(), Path(name), bound_ns)
        return await probe.play(seconds, trio.Event() if stop is None else stop)


class _Probe:
    def __init__(self, plan: TournamentPlan, folder: Path, bound_ns: int) -> None:
        self._plan = plan
        self._bound_ns = bound_ns
        self._file = folder / "delays"
        self._file.touch()
        for inside in (JOURNALS, RUNNING):
            (folder / inside).mkdir()
        self._engine = LocalEngine(plan, folder, DelayLog(self._file))
        self._specs = _specs(plan)
        self._numbers = count(1)
        self._scopes: list[trio.CancelScope] = []
        self._levels: dict[int, Level] = {}
        self._offset = 0
        self._begun: set[int] = set()
        self._faults = 0
        self._has_played = False
        self._measuring = trio.CancelScope()
        self._ended: FlagfallError | None = None
        self._not_ours = set(descendants(os.getpid()))
        self._free = _free_memory(), _free_processes()
        self._use = memory_allowed(plan), 0

    async def play(self, seconds: float, stop: trio.Event) -> Capacity | None:
        """Measure for some seconds or until an event, and return what that shows."""
        began_at = trio.current_time()
        busy = _BusyMeter()
        await trio.sleep(min(IDLE_SECONDS, seconds / 10))
        before = busy.share()
        remarks = [f"the processors were {before:.0%} busy before the probe"] if before > BUSY else []
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                self._measuring.deadline = began_at + seconds
                nursery.start_soon(self._end_when, stop)
                with self._measuring:
                    while (jobs := self._next_jobs()) is not None:
                        await self._visit(jobs, seconds)
                nursery.cancel_scope.cancel()
        finally:
            with trio.CancelScope(shield=True):
                await self._engine.aclose()
        if isinstance(self._ended, UsageError):
            raise self._ended
        if not any(level.windows for level in self._levels.values()):
            if stop.is_set():
                return None
            why = "a longer time may help" if self._ended is None else self._ended
            raise HostFault(one_line(f"no turn was played in the probe: {why}"))
        if self._ended is not None:
            remarks.append(one_line(f"more could not be played: {self._ended}"))
        return capacity_of(self._levels, self._bound_ns, self._resources(), remarks)

    def _resources(self) -> tuple[Resource, ...]:
        of_match = zip(("memory", "processes"), self._use, self._free, strict=True)
        return tuple(Resource(name, use, free) for name, use, free in of_match)

    def _next_jobs(self) -> int | None:
        most = min(MAX_JOBS, *(resource.most for resource in self._resources()))
        return next_jobs(self._levels, self._bound_ns, max(1, most))

    async def _visit(self, jobs: int, seconds: float) -> None:
        """Measure with a number of matches at once, from when all of them have begun."""
        while len(self._scopes) > jobs:
            self._scopes.pop().cancel()
        while len(self._scopes) < jobs:
            self._scopes.append(trio.CancelScope())
            self._nursery.start_soon(self._play_on, self._scopes[-1])
        await self._until_begun(jobs)
        delays_ns: list[int] = []
        busy, began_at, began_ns = _BusyMeter(), trio.current_time(), time.perf_counter_ns()
        try:
            for visit in range(MAX_VISIT):
                await trio.sleep_until(began_at + seconds * VISIT_SHARE * (visit + 1))
                delays_ns += self._delays_since(began_ns)
                if len(delays_ns) >= WINDOW_TURNS:
                    break
        finally:  # the time may be over
            delays_ns += self._delays_since(began_ns)
            level = self._levels.get(jobs, Level(jobs, (), visits=0))
            self._levels[jobs] = level.with_visit(delays_ns, busy.share())
        await trio.to_thread.run_sync(self._look_at_use, jobs, abandon_on_cancel=True)

    async def _until_begun(self, jobs: int) -> None:
        while True:
            self._begun.update(sample.worker for sample in self._read())
            self._begun = {worker for worker in self._begun if status_of(worker)[0] != "X"}
            if len(self._begun) >= jobs:
                return
            await trio.sleep(LOOK_SECONDS)

    def _read(self) -> list[Sample]:
        samples, self._offset = read_samples(self._file, self._offset)
        self._has_played = self._has_played or any(sample.delay_ns != BEGUN for sample in samples)
        return samples

    def _delays_since(self, began_ns: int) -> list[int]:
        """Return the delays of the turns that have ended since the last reading, and since a time."""
        return [one.delay_ns for one in self._read() if one.delay_ns != BEGUN and one.at_ns > began_ns]

    def _look_at_use(self, jobs: int) -> None:
        pids = [pid for pid in descendants(os.getpid()) if pid not in self._not_ours]
        used = bytes_used(pids, 0), sum(len(threads_of(pid)) for pid in pids)
        self._use = max(self._use[0], used[0] // jobs), max(self._use[1], -(-used[1] // jobs))

    async def _play_on(self, scope: trio.CancelScope) -> None:
        """Play one match after another."""
        with scope:
            while not self._measuring.cancel_called:
                attempt = Attempt(next(self._specs), next(self._numbers), counts=True)
                try:
                    await self._engine.play_batch(Batch([attempt], self._take))
                except WorkerLost as lost:
                    self._count_fault(lost)
                except FlagfallError as error:
                    self._end(error)

    def _take(self, batch: Batch, played: Sequence[tuple[MatchRecord, float]]) -> None:
        for record, _ in played:
            batch.left.popleft()
            if record.turns:
                self._has_played = True
                continue
            fell = next((seat for seat in record.seats if seat.fell is not None), None)
            why = (
                record.why if fell is None else f"{fell.agent} was disqualified ({fell.fell}): {fell.detail}"
            )
            self._count_fault(HostFault(why or "matches have no turns"))

    def _count_fault(self, fault: HostFault) -> None:
        """Count a match without a turn; the probe ends after some, unless others were played."""
        self._faults += 1
        if self._faults >= MAX_FAULTS and not self._has_played:
            self._end(fault)

    def _end(self, error: FlagfallError) -> None:
        self._ended = self._ended or error
        self._measuring.cancel()

    async def _end_when(self, event: trio.Event) -> None:
        await event.wait()
        self._measuring.cancel()


def _specs(plan: TournamentPlan) -> Iterator[MatchSpec]:
    """Yield matches of a plan without end: one of each task and agents, in random order, again and again."""
    known = islice(schedule(plan).walk({}), MAX_SPECS)
    distinct = list({(spec.task, frozenset(spec.entrants)): spec for spec in known}.values())
    Random(plan.seed).shuffle(distinct)
    return cycle(distinct)


class _BusyMeter:
    """Measures which share of the processors is in use, from when it is made."""

    def __init__(self) -> None:
        self._before = self._read()

    def share(self) -> float:
        """Return the share, 0 to 1."""
        total, idle = (now - before for now, before in zip(self._read(), self._before, strict=True))
        return 1 - idle / total if total else 0.0

    def _read(self) -> tuple[int, int]:
        times = [int(word) for word in Path("/proc/stat").read_text().split(None, 9)[1:9]]
        return sum(times), times[3] + times[4]  # idle, and idle while a disk works


def _free_memory() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    available = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    return min([available * 1024, *_free_in_groups("memory")])


def _free_processes() -> int:
    most = [int(Path("/proc/sys/kernel", name).read_text()) for name in ("pid_max", "threads-max")]
    user, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    most += [user] if user != resource.RLIM_INFINITY else []
    in_use = int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])
    return min([min(most) - in_use, *_free_in_groups("pids")])


def _free_in_groups(controller: str) -> Iterator[int]:
    """Yield what is left of the limits of the control groups that this process is in (cgroup v2)."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    own = next((line[3:] for line in lines if line.startswith("0::")), "")
    group = GROUPS / own.lstrip("/")
    for folder in (group, *group.parents):
        with suppress(OSError, ValueError):  # it has no limit: `max`, or no file
            most, used = (int((folder / f"{controller}.{what}").read_text()) for what in ("max", "current"))
            yield max(0, most - used + _reclaimable(folder / f"{controller}.stat"))


def _reclaimable(stat: Path) -> int:
    """Return the bytes of cached files that the system drops when memory is needed; 0 for other resources."""
    if not stat.exists():
        return 0
    words = stat.read_text().split()
    return int(words[words.index("inactive_file") + 1])
