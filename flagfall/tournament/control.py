"""Steering a run from outside: a Unix socket in its folder, a line of JSON each way.

    {"do": "status"}
    {"do": "pause"}    {"do": "resume"}
    {"do": "cancel", "match": "r3-m2-g1"}
    {"do": "jobs", "jobs": 4}

The answer is the state of the run, or `{"error": ...}`. Only the user who started the run may talk to it.
"""

from __future__ import annotations

__all__ = ["SOCKET", "ask_run", "serve_control"]

import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import trio

from flagfall.errors import UsageError, nearest
from flagfall.tournament.runner import Run

SOCKET: Final = "control.sock"

MAX_LINE_BYTES: Final = 4096
"""The longest request."""

MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
MAX_JOBS: Final = 4096
PATIENCE_SECONDS: Final = 10.0
"""How long either end waits for the other."""


def state_of(run: Run) -> dict[str, Any]:
    """What `status` tells."""
    return {
        "name": run.plan.name,
        "played": len(run.records),
        "total": run.total,
        "void": run.voids,
        "paused": run.paused,
        "stopping": run.stopping,
        "jobs": run.jobs,
        "running": [
            {
                "match": running.spec.id,
                "task": running.spec.task,
                "agents": list(running.spec.entrants),
                "attempt": running.attempt,
                "seconds": round(time.monotonic() - running.since, 3),
            }
            for running in run.running.values()
        ],
    }


def _cancel(run: Run, request: Mapping[str, Any]) -> None:
    name = request.get("match")
    if name not in run.running:
        raise UsageError(f"no match {name!r} is being played{nearest(str(name), run.running)}")
    run.running[name].scope.cancel()


def _set_jobs(run: Run, request: Mapping[str, Any]) -> None:
    jobs = request.get("jobs")
    if isinstance(jobs, bool) or not isinstance(jobs, int) or not 1 <= jobs <= MAX_JOBS:
        raise UsageError(f"jobs {jobs!r}: write a whole number from 1 to {MAX_JOBS}")
    run.jobs = jobs


_WISHES: Final[Mapping[str, Callable[[Run, Mapping[str, Any]], None]]] = {
    "status": lambda _run, _request: None,
    "pause": lambda run, _request: run.pause(),
    "resume": lambda run, _request: run.resume(),
    "cancel": _cancel,
    "jobs": _set_jobs,
}


async def serve_control(run: Run, folder: Path, warn: Callable[[str], None]) -> None:
    """Hear wishes until it is cancelled; the socket is removed then.

    Args:
        run: what is steered.
        folder: of the tournament.
        warn: is told where there can be no socket; the run goes on without.
    """
    try:
        listener = await _listen(folder)
    except OSError as error:
        warn(f"flagfall ctl will not reach this run: {folder / SOCKET}: {error.strerror or error}")
        return
    try:
        await trio.serve_listeners(partial(_hear, run), [trio.SocketListener(listener)])
    finally:
        with suppress(OSError):
            (folder / SOCKET).unlink(missing_ok=True)


async def _listen(folder: Path) -> trio.socket.SocketType:
    listener = trio.socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # What a run that was killed has left; the lock says that nobody is there.
        (folder / SOCKET).unlink(missing_ok=True)
        before = os.umask(0o177)
        try:
            with _short_path(folder) as path:
                await listener.bind(path)
        finally:
            os.umask(before)
        listener.listen()
    except BaseException:
        listener.close()
        raise
    return listener


@contextmanager
def _short_path(folder: Path) -> Iterator[str]:
    """A path of the socket that is short whatever the folder's is: the system takes 107 bytes."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{fd}/{SOCKET}"
    finally:
        os.close(fd)


async def _hear(run: Run, stream: trio.SocketStream) -> None:
    async with stream:
        with trio.move_on_after(PATIENCE_SECONDS), suppress(trio.BrokenResourceError):
            line = b""
            while not line.endswith(b"\n") and len(line) < MAX_LINE_BYTES:
                chunk = await stream.receive_some()
                if not chunk:
                    return
                line += chunk
            answer = _answer(run, line)
            await stream.send_all(json.dumps(answer).encode() + b"\n")


def _answer(run: Run, line: bytes) -> dict[str, Any]:
    try:
        request = json.loads(line)
        wish = _WISHES.get(str(request.get("do"))) if isinstance(request, dict) else None
        if wish is None:
            return {"error": f"do one of {', '.join(_WISHES)}"}
        wish(run, request)
    except (UsageError, ValueError) as error:
        return {"error": str(error)}
    return state_of(run)


def ask_run(folder: Path, request: Mapping[str, Any]) -> dict[str, Any]:
    """Ask the run in a folder; blocks until it has answered.

    Raises:
        UsageError: nobody runs there, or it refuses.
    """
    if not folder.is_dir():
        raise UsageError(f"no such folder: {folder}")
    with _short_path(folder) as path, socket.socket(socket.AF_UNIX) as talk:
        talk.settimeout(PATIENCE_SECONDS)
        try:
            talk.connect(path)
            talk.sendall(json.dumps(request).encode() + b"\n")
            line = b""
            while not line.endswith(b"\n") and len(line) < MAX_ANSWER_BYTES:
                if not (chunk := talk.recv(65536)):
                    break
                line += chunk
        except OSError as error:
            raise UsageError(
                f"no tournament is being played in {folder}: {error.strerror or error}"
            ) from error
    answer: dict[str, Any] = json.loads(line or b'{"error": "the run has ended"}')
    if "error" in answer:
        raise UsageError(str(answer["error"]))
    return answer
