"""Engine for many machines: every match is a task of Ray, which places it where processors are free.

Ray starts worker processes as needed and reuses them. Ray itself retries nothing: if a worker or its machine
is lost, the runner plays the match again. Journals are returned with the records, so machines share only the
program and the files that the plan names.
"""

from __future__ import annotations

__all__ = ["RayEngine"]

import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import trio

from flagfall.errors import UsageError
from flagfall.tournament.folder import JOURNALS, RUNNING
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.records import MatchRecord
from flagfall.tournament.run.engine import Attempt, WorkerLost, jobs_on
from flagfall.tournament.run.match import play_attempt


class RayEngine:
    """Engine on the cluster that `ray.init` finds; see `flagfall.tournament.run.engine.Engine`.

    The cluster is the one at `RAY_ADDRESS`, or one that runs on this machine, or a new one on this machine
    alone that ends with the engine. Under the wall clock a match takes as many processors of the cluster as
    it has seats.

    Args:
        plan: the plan of the tournament.
        folder: the folder of the tournament.

    Raises:
        UsageError: Ray is not installed, or there is no cluster at the address.
    """

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
        self.default_jobs = jobs_on(plan, int(self._ray.cluster_resources().get("CPU", 1)))
        self._folder = folder
        self._seats = {task.name: 1 if plan.clock == "virtual" else task.seats for task in plan.tasks}
        self._plan = ray.put(plan)
        self._play = ray.remote(max_retries=0)(play_on_ray)

    async def play(self, attempt: Attempt) -> MatchRecord:
        """Play one match; see `Engine`."""
        play = self._play.options(num_cpus=self._seats[attempt.spec.task])
        reference = play.remote(self._plan, attempt)
        try:
            await self._until_ready(reference)
            record, journal = await trio.to_thread.run_sync(self._take, reference)
        except trio.Cancelled:
            self._ray.cancel(reference, force=True)
            raise
        if record.journal is None:
            return record
        return await trio.to_thread.run_sync(self._keep, record, journal)

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

    def _take(self, reference: Any) -> tuple[MatchRecord, bytes]:
        errors = self._ray.exceptions
        try:
            taken: tuple[MatchRecord, bytes] = self._ray.get(reference)
        except errors.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, UsageError):
                raise UsageError(str(cause)) from None
            raise WorkerLost(f"a worker of Ray failed: {cause!r}") from error
        except errors.RayError as error:
            raise WorkerLost(f"a worker of Ray was lost: {type(error).__name__}") from error
        return taken

    def _keep(self, record: MatchRecord, journal: bytes) -> MatchRecord:
        assert record.journal is not None
        place = self._folder / record.journal
        written = self._folder / RUNNING / place.name
        try:
            with written.open("wb") as file:
                file.write(journal)
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
            await trio.to_thread.run_sync(partial(self._ray.shutdown))


def play_on_ray(plan: TournamentPlan, attempt: Attempt) -> tuple[MatchRecord, bytes]:
    """Play one match in a worker of Ray; return the record and the content of the journal.

    Args:
        plan: the plan of the tournament.
        attempt: the attempt to play.
    """
    with tempfile.TemporaryDirectory(prefix="flagfall-") as name:
        folder = Path(name)
        for inside in (JOURNALS, RUNNING):
            (folder / inside).mkdir()
        record = play_attempt(plan, attempt, folder)
        return record, b"" if record.journal is None else (folder / record.journal).read_bytes()
