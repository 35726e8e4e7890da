"""Engine for this machine: worker processes that live as long as the run does."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import trio

from flagfall.agents.process.supervisor import descendants
from flagfall.errors import HostFault, UsageError
from flagfall.kernel.channels.framing import NEED_MORE, Framer, frame
from flagfall.kernel.channels.pipes import PipeStream
from flagfall.recording.match_logs import LogSettings
from flagfall.recording.operations import report
from flagfall.tasks.catalog import pickled_families
from flagfall.texts import one_line
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.run.engine import (
    BATCH_ENDED,
    MAX_MESSAGE_BYTES,
    RECALL,
    Batch,
    WorkerLost,
    decode_answer,
    encode_batch,
    jobs_on,
)
from flagfall.tournament.run.runtime_folder import has_ended
from flagfall.tournament.run.turn_delays import DelayLog

STDERR_TAIL_BYTES: Final = 2_000
"""Most bytes of a lost worker's standard error that a message shows."""

MAX_STDERR_BYTES: Final = 1024 * 1024
"""A worker's standard error that is longer than this is discarded between matches."""

BATCH_SECONDS: Final = 0.1
"""Longest expected duration of a batch; a message to a worker and back costs the runner 0.3 ms."""

GATHER_SECONDS: Final = 0.01
"""Longest pause between two reads of a batch's answers, so that they are stored together. Meanwhile they are
in the pipe, where they survive the worker."""

CLOSE_SECONDS: Final = 5.0
"""Grace period for an idle worker to end."""


class LocalEngine:
    """Engine that starts a worker for a match if none is idle; see `flagfall.tournament.run.engine.Engine`.

    Args:
        logs: logs and sinks of the matches; the workers inherit their descriptors.
    """

    batch_seconds = BATCH_SECONDS

    def __init__(self, plan: TournamentPlan, folder: Path, logs: LogSettings | DelayLog) -> None:
        self.default_jobs: int = jobs_on(plan)
        self._start = pickle.dumps((pickled_families(), pickle.dumps((plan, str(folder.absolute()), logs))))
        self._inherited = logs.descriptors
        self._idle: list[_Worker] = []

    async def play_batch(self, batch: Batch) -> None:
        """Play several matches on one worker; see `Engine`."""
        worker = self._idle.pop() if self._idle else _Worker(self._inherited)
        try:
            if worker.fresh:
                await worker.send(self._start)
            error = await worker.play(batch)
        except BaseException as error:
            await worker.kill()
            if not isinstance(error, WorkerLost):
                report("worker killed", worker=worker.pid)
            raise
        self._idle.append(worker)
        if error is not None:
            raise error

    async def aclose(self) -> None:
        """Stop the workers; see `Engine`."""
        for worker in self._idle:
            worker.end_input()
        while self._idle:
            await self._idle.pop().close()


class _Worker:
    """A worker process.

    Attributes:
        fresh: no message has been sent to it.
    """

    def __init__(self, inherited: tuple[int, ...]) -> None:
        self.fresh = True
        self._stderr = tempfile.TemporaryFile(mode="a+b", buffering=0)  # noqa: SIM115 - closed with the worker
        try:
            # Started by the loop's thread, since the worker ends with the thread that started it.
            process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-m", "flagfall.tournament.run.worker", str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                pass_fds=inherited,
                process_group=0,  # Ctrl-C at the terminal is for the runner alone
            )
        except OSError as error:
            self._stderr.close()
            raise HostFault(f"a worker process cannot be started: {error}") from error
        assert process.stdin is not None
        assert process.stdout is not None
        self._pipe = PipeStream(os.dup(process.stdout.fileno()), os.dup(process.stdin.fileno()))
        process.stdin.close()
        process.stdout.close()
        self._process = process
        self.pid: int = process.pid
        report("worker started", worker=self.pid)
        self._framer = Framer(MAX_MESSAGE_BYTES)

    async def send(self, payload: bytes) -> None:
        """Send a message."""
        self.fresh = False
        try:
            await self._pipe.write(frame(payload, MAX_MESSAGE_BYTES))
        except trio.BrokenResourceError:
            raise await self._lost() from None

    async def play(self, batch: Batch) -> UsageError | None:
        """Send a batch, and report the answers as they arrive; return the error that ended it, if one did."""
        if self._stderr.tell() > MAX_STDERR_BYTES:
            self._stderr.truncate(0)
        await self.send(encode_batch(batch.left))
        with batch.recalled_by(self._recall):
            try:
                return await self._play(batch)
            except trio.Cancelled:
                while data := self._pipe.read_nowait():
                    self._report(batch, data)
                raise

    def _recall(self) -> None:
        self._pipe.write_nowait(frame(RECALL))

    async def _play(self, batch: Batch) -> UsageError | None:
        error = None
        while data := await self._pipe.read():
            ended, seconds, found = self._report(batch, data)
            error = error or found
            if ended:
                return error
            if len(batch.left) > 1 and not batch.recalled:
                await trio.sleep(min(GATHER_SECONDS, seconds * (len(batch.left) - 1)))
        raise await self._lost()

    def _report(self, batch: Batch, data: bytes) -> tuple[bool, float, UsageError | None]:
        """Report answers.

        Returns:
            The batch has ended; the seconds that its last match took; the error that ended it, if one did.
        """
        self._framer.feed(data)
        played, seconds, error, ended = [], 0.0, None, False
        while (payload := self._framer.next_frame()) is not NEED_MORE:
            if payload == BATCH_ENDED:
                ended = True
                break
            result, seconds = decode_answer(payload)
            if isinstance(result, UsageError):
                error = result
            else:
                played.append((result, seconds))
        if played:
            batch.report(played)
        return ended, seconds, error

    async def _lost(self) -> WorkerLost:
        await self._end()
        self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, self._stderr.tell() - STDERR_TAIL_BYTES))
        tail = self._stderr.read().decode(errors="replace").strip()
        code = self._process.returncode
        report("worker lost", worker=self.pid, exit_code=code, detail=one_line(tail))
        return WorkerLost(f"a worker was lost ({code}){f': {tail}' if tail else ''}")

    async def _end(self) -> None:
        with trio.CancelScope(shield=True):
            family = _open_descendants(self._process.pid)
            self._process.kill()
            await trio.to_thread.run_sync(self._process.wait)
            self._pipe.close()
            await trio.to_thread.run_sync(_wait_for_end, family)

    async def kill(self) -> None:
        """Kill the worker; its agents end with it."""
        await self._end()
        self._stderr.close()

    def end_input(self) -> None:
        """Let an idle worker end."""
        self._pipe.close()

    async def close(self) -> None:
        """Wait for a worker whose input has ended to end; kill it after a grace period."""
        with trio.CancelScope(shield=True):
            try:
                await trio.to_thread.run_sync(self._process.wait, CLOSE_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        report("worker ended", worker=self.pid, exit_code=self._process.returncode)
        self._stderr.close()


def _open_descendants(worker: int) -> list[int]:
    """Return process descriptors of a worker's descendants."""
    family: list[int] = []
    if sys.platform != "linux":  # agents are in no processes there
        return family
    for pid in descendants(worker):
        with suppress(ProcessLookupError):
            family.append(os.pidfd_open(pid))
    return family


def _wait_for_end(family: list[int]) -> None:
    """Wait for the end of a killed worker's descendants, and close their descriptors.

    Supervisors end by themselves together with everything that they started; this process may have adopted
    them. A process left after `CLOSE_SECONDS` has lost its supervisor and is killed.
    """
    if sys.platform != "linux":
        return
    end = time.monotonic() + CLOSE_SECONDS
    for descriptor in family:
        if not has_ended(descriptor, max(0.0, end - time.monotonic())):
            with suppress(OSError):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                has_ended(descriptor, CLOSE_SECONDS)
        with suppress(ChildProcessError):  # it may not be a child of this process
            os.waitid(os.P_PIDFD, descriptor, os.WEXITED | os.WNOHANG)
        os.close(descriptor)
