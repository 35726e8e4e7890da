"""A tournament under a fault schedule, simulated: `simulate_tournament`.

The runner, the store with its database and the observer of each match are the real ones; matches are
simulated (`flagfall.testing.simulation.match`) in the event loop of the runner. The folder of the tournament
is a real one, in memory where the system has such a file system.
"""

from __future__ import annotations

import resource
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import attrs
import trio

from flagfall.errors import HostFault
from flagfall.kernel.outcomes import MatchResult
from flagfall.playing import MatchRequest
from flagfall.testing.faults import Fault, FaultSchedule
from flagfall.testing.simulation.match import SimulatedClock, simulate_here
from flagfall.tournament.folder import JOURNALS
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.records import MatchRecord, Records
from flagfall.tournament.run.api import open_tournament
from flagfall.tournament.run.engine import Batch, WorkerLost
from flagfall.tournament.run.match import play_here
from flagfall.tournament.run.runner import RecordStore, Run

_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a folder of our own is made there


@attrs.frozen
class SimulatedTournament:
    """What came of a simulated tournament.

    Attributes:
        plan: what was played.
        schedule: the faults.
        records: the records of the matches that count, by id, as the store has them at the end.
        attempts: all stored records, void ones too, in the order of the store.
        journals: the bytes of the journals that were kept, by their names.
        ended: why each run ended, in order: `killed`, the message of a `HostFault`, or at last nothing.
        happened: how often each kind of fault has struck, by name.
        missed: the faults of the schedule that have not.
    """

    plan: TournamentPlan
    schedule: FaultSchedule
    records: Mapping[str, MatchRecord]
    attempts: Sequence[MatchRecord]
    journals: Mapping[str, bytes]
    ended: Sequence[str]
    happened: Mapping[str, int]
    missed: Sequence[Fault]


def simulate_tournament(plan: TournamentPlan, faults: FaultSchedule | str = "") -> SimulatedTournament:
    """Play a tournament under a fault schedule, match after match, until it is over.

    A run that a fault ends is followed by another one that goes on with it. Faults of a tournament strike
    once; all others strike in each attempt at each match, as far as they can. Matches are numbered in the
    order in which they are played, so one that is played again has another number.

    Args:
        plan: the tournament. Its matches are simulated on the virtual clock also where its own is the wall's,
            and then void as there if a stall accounts for a late turn.
        faults: the schedule, or its text.

    Raises:
        UsageError: an agent of the plan cannot be simulated, or a fault cannot strike its matches.
    """
    schedule = FaultSchedule.parse(faults) if isinstance(faults, str) else faults
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        return _Tournament(plan, schedule, Path(folder)).play()


class _Killed(Exception):
    """The runner is killed; its folder at that moment has been copied."""


@attrs.define(eq=False)
class _Tournament:
    """A tournament that is simulated; also the engine of its runs.

    Args:
        folder: for a folder of each run.
    """

    _plan: TournamentPlan
    _schedule: FaultSchedule
    _folder: Path
    default_jobs: int = 1
    batch_seconds: float = 0
    _happened: Counter[str] = attrs.field(factory=Counter)
    _ended: list[str] = attrs.field(factory=list)
    _played: int = 0
    _run_folder: Path = attrs.field(init=False)
    _pending: list[Fault] = attrs.field(init=False)
    _in_matches: FaultSchedule = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._pending = [fault for fault in self._schedule if fault.row.is_of_tournament]
        self._in_matches = FaultSchedule(
            tuple(fault for fault in self._schedule if not fault.row.is_of_tournament)
        )
        self._run_folder = self._folder / "0"

    def play(self) -> SimulatedTournament:
        """Play runs until one comes to the end of the tournament, or fails without a fault."""
        while not self._ended or self._ended[-1]:
            faults = len(self._pending)
            why = trio.run(self._play_run, clock=SimulatedClock())
            self._ended.append(why)
            if why and faults == len(self._pending):
                break
        with open_tournament(self._plan, self._run_folder, resume=True) as store:
            attempts = list(store.records())
        kept = self._run_folder / JOURNALS
        return SimulatedTournament(
            self._plan,
            self._schedule,
            {record.id: record for record in attempts if record.status == "played"},
            attempts,
            {file.name: file.read_bytes() for file in sorted(kept.iterdir())},
            self._ended,
            self._happened,
            [fault for fault in self._schedule if fault in self._pending or not self._happened[fault.kind]],
        )

    async def _play_run(self) -> str:
        """Play a run; return why it ended early, or nothing."""
        why = ""
        with open_tournament(self._plan, self._run_folder, resume=True) as store:
            run = Run(self._plan, _FaultyStore(store, self), self, jobs=1)
            try:
                try:
                    await run.play()
                except* _Killed:
                    why = "killed"
            except HostFault as fault:
                why = str(fault).replace(f"{self._run_folder}/", "")
        if why == "killed":
            self._run_folder = self._copy
        return why

    @property
    def _copy(self) -> Path:
        return self._folder / str(len(self._ended) + 1)

    # The engine of the runs.

    async def play_batch(self, batch: Batch) -> None:
        """Play a batch; see `flagfall.tournament.run.engine.Engine`."""
        while batch.left and not batch.recalled:
            await trio.lowlevel.checkpoint()  # a run that is killed begins nothing more
            attempt = batch.left[0]
            self._played += 1
            if self.strike("lose worker"):
                raise WorkerLost("a worker was lost (by a fault)")
            record = await play_here(self._plan, attempt, self._run_folder, play=self._play_match)
            batch.report([(record, 0.0)])

    async def aclose(self) -> None:
        """Do nothing: there are no workers."""

    async def _play_match(self, request: MatchRequest, stop: trio.Event | None) -> MatchResult:
        run = await simulate_here(request, self._in_matches, stop=stop)
        self._happened.update(run.happened)
        if isinstance(request.journal, Path):
            request.journal.write_bytes(run.journal)
        if run.result is None:
            assert run.error is not None
            raise run.error
        return run.result

    # The faults.

    def strike(self, kind: str) -> bool:
        """Return whether a fault strikes the match that was played last; it strikes once."""
        for fault in self._pending:
            if fault.kind == kind and fault.moment.at == self._played - 1:
                self._pending.remove(fault)
                self._happened[kind] += 1
                return True
        return False

    def kill(self) -> None:
        """Keep the folder as a runner leaves it that is killed now, and end the run."""
        shutil.copytree(self._run_folder, self._copy, ignore=shutil.ignore_patterns("*-shm"))
        raise _Killed


class _FaultyStore:
    """The store of a run, with faults."""

    def __init__(self, store: RecordStore, tournament: _Tournament) -> None:
        self._store = store
        self._tournament = tournament
        self.records: Callable[[], Iterator[MatchRecord]] = store.records
        self.check: Callable[[TournamentPlan, Records], None] = store.check

    def put(self, *records: MatchRecord) -> None:
        if self._tournament.strike("kill runner"):
            self._tournament.kill()
        if self._tournament.strike("store full"):
            with _no_room():
                self._store.put(*records)
        else:
            self._store.put(*records)


@contextmanager
def _no_room() -> Iterator[None]:
    """Let the system refuse that this process writes to any file, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
