"""Engine for many machines: every batch is a task of Ray, which places it where processors are free.

Ray starts worker processes as needed and reuses them. Ray itself retries nothing: if a worker or its machine
is lost, the runner plays the match again. The results of a batch are returned together. If they are lost, it
is not known which match was being played, so its matches are played again one at a time: then each counts its
own attempts. Journals are returned with the records, and those of openings are sent, so machines share only
the program and the agents and tasks that the plan names.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import attrs
import trio

from flagfall.errors import UsageError
from flagfall.tasks.catalog import add_pickled, pickled_families
from flagfall.tasks.code_files import CARRIED
from flagfall.tournament.folder import JOURNALS, RUNNING
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.records import MatchRecord
from flagfall.tournament.run.engine import Answer, Attempt, Batch, WorkerLost, jobs_on
from flagfall.tournament.run.match import play_attempts

BATCH_SECONDS: Final = 0.25
"""Longest expected duration of a batch; a task of Ray costs some milliseconds, and a recall does not reach
it."""

Played: TypeAlias = tuple[Answer, bytes, float]
"""Answer to an attempt, content of its journal, and seconds that it took."""


class RayEngine:
    """Engine on the cluster that `ray.init` finds; see `flagfall.tournament.run.engine.Engine`.

    The cluster is the one at `RAY_ADDRESS`, or one that runs on this machine, or a new one on this machine
    alone that ends with the engine. Under the wall clock a match takes as many processors of the cluster as
    it has seats.

    Raises:
        UsageError: Ray is not installed, or there is no cluster at the address.
    """

    batch_seconds = BATCH_SECONDS

    def __init__(self, plan: TournamentPlan, folder: Path) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray  # noqa: PLC0415 - an extra
        except ImportError:
            raise UsageError("engine ray needs the extra ray: pip install 'flagfall[ray]'") from None
        self._ray: Any = ray
        self._own = not ray.is_initialized()
        if self._own:
            try:
                ray.init(include_dashboard=False, log_to_driver=False, configure_logging=False)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise UsageError(f"no Ray cluster: {error}") from error
        self.default_jobs: int = jobs_on(plan, int(self._ray.cluster_resources().get("CPU", 1)))
        self._folder = folder
        self._lasting = plan.clock == "wall"  # other journals are written again with the same content
        self._seats = {task.name: 1 if plan.clock == "virtual" else task.seats for task in plan.tasks}
        self._plan = ray.put(plan)
        self._families = pickled_families()
        carried = {one.sha256: folder / CARRIED / one.sha256 for task in plan.tasks for one in task.openings}
        contents: Mapping[str, bytes] = {digest: path.read_bytes() for digest, path in carried.items()}
        self._openings = ray.put(contents)
        self._play = ray.remote(max_retries=0)(play_on_ray)

    async def play_batch(self, batch: Batch) -> None:
        """Play several matches in one task of Ray; see `Engine`."""
        try:
            played = await self._play_together(batch.left)
        except WorkerLost:
            if len(batch.left) == 1:
                raise
            while batch.left and not batch.recalled:
                ((answer, _),) = await self._play_together([batch.left[0]])
                if isinstance(answer, UsageError):
                    raise answer from None
                batch.report([(answer, 0.0)])
            return
        records = [(answer, seconds) for answer, seconds in played if isinstance(answer, MatchRecord)]
        if records:
            batch.report(records)
        for answer, _ in played[len(records) :]:
            assert isinstance(answer, UsageError)
            raise answer

    async def _play_together(self, attempts: Sequence[Attempt]) -> list[tuple[Answer, float]]:
        seats = max(self._seats[attempt.spec.task] for attempt in attempts)
        remote = self._play.options(num_cpus=seats).remote
        reference = remote(self._plan, tuple(attempts), self._families, self._openings)
        try:
            await self._until_ready(reference)
            played = await trio.to_thread.run_sync(self._take, reference)
        except trio.Cancelled:
            self._ray.cancel(reference, force=True)
            raise
        return await trio.to_thread.run_sync(self._keep_all, played)

    async def _until_ready(self, reference: Any) -> None:
        ready = trio.Event()
        token = trio.lowlevel.current_trio_token()

        def notify(_future: Any) -> None:
            try:
                token.run_sync_soon(ready.set)
            except trio.RunFinishedError:
                return

        reference.future().add_done_callback(notify)
        await ready.wait()

    def _take(self, reference: Any) -> list[Played]:
        errors = self._ray.exceptions
        try:
            played: list[Played] = self._ray.get(reference)
        except errors.RayTaskError as error:
            raise WorkerLost(f"a worker of Ray failed: {error.cause!r}") from error
        except errors.RayError as error:
            raise WorkerLost(f"a worker of Ray was lost: {type(error).__name__}") from error
        return played

    def _keep_all(self, played: Sequence[Played]) -> list[tuple[Answer, float]]:
        return [
            (self._keep(answer, journal) if isinstance(answer, MatchRecord) else answer, seconds)
            for answer, journal, seconds in played
        ]

    def _keep(self, record: MatchRecord, journal: bytes) -> MatchRecord:
        if record.journal is None:
            return record
        place = self._folder / record.journal
        written = self._folder / RUNNING / place.name
        try:
            with written.open("wb") as file:
                file.write(journal)
                if self._lasting:
                    os.fsync(file.fileno())
            written.replace(place)
        except OSError as error:
            written.unlink(missing_ok=True)
            why = f"fault: the journal cannot be kept: {error}"
            return attrs.evolve(record, status="void", why=why, journal=None)
        return record

    async def aclose(self) -> None:
        """Leave the cluster, and stop it if this engine started it."""
        if self._own:
            await trio.to_thread.run_sync(self._ray.shutdown)


def play_on_ray(
    plan: TournamentPlan, attempts: Sequence[Attempt], families: bytes, openings: Mapping[str, bytes]
) -> list[Played]:
    """Play matches in a worker of Ray, one after another, up to one that cannot be played as planned.

    Args:
        openings: the journals of openings, by their SHA-256.
    """
    add_pickled(families)
    played: list[Played] = []
    with tempfile.TemporaryDirectory(prefix="flagfall-") as name:
        folder = Path(name)
        for inside in (CARRIED, JOURNALS, RUNNING):
            (folder / inside).mkdir()
        for digest in {attempt.spec.opening.sha256 for attempt in attempts if attempt.spec.opening}:
            (folder / CARRIED / digest).write_bytes(openings[digest])

        def keep(answer: Answer, seconds: float) -> None:
            journal = b""
            if isinstance(answer, MatchRecord) and answer.journal is not None:
                journal = (folder / answer.journal).read_bytes()
            played.append((answer, journal, seconds))

        left = (attempt for attempt in attempts if not played or isinstance(played[-1][0], MatchRecord))
        play_attempts(plan, left, folder, keep)
    return played
