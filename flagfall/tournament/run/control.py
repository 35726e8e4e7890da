"""Control of a running tournament by other processes: a Unix socket, one line of JSON each way.

{"do": "status", "token": "..."}
    {"do": "pause", "token": "..."}    {"do": "resume", "token": "..."}
    {"do": "cancel", "match": "r3-m2-g1", "token": "..."}
    {"do": "jobs", "jobs": 4, "token": "..."}

The answer is the state of the run, or `{"error": ...}`; any other line is answered with an error and changes
nothing. The socket and the token are in a private folder (`runtime_folder`), whose path is in a file in the
tournament's folder. Requests are accepted from the user who started the run and from root, but not from
processes of agents (`peers`).
"""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import msgspec
import trio

from flagfall.errors import UsageError, suggest
from flagfall.tournament.folder import CONTROL, replace_file
from flagfall.tournament.run.runner import Run
from flagfall.tournament.run.runtime_folder import (
    PeerRefused,
    adopting_orphans,
    check_peer,
    make_runtime_folder,
    open_private_folder,
    read_small_file,
)

MAX_LINE_BYTES: Final = 4096
"""Longest request; the longest valid one names a match and has about 200 bytes."""

MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
"""Longest answer: 4096 matches with all of their agents."""

PROTOCOL: Final = 2
"""Version of the answers; see `RunState`."""

MAX_JOBS: Final = 4096
MAX_NAME_CHARS: Final = 200
"""Characters sent of the name of an agent, a task or a match."""

REPLY_TIMEOUT_SECONDS: Final = 10.0
"""Timeout of both ends."""

MAX_CONNECTIONS: Final = 16
"""Requests served at the same time. Another one ends the oldest, so idle clients cannot block others."""

MAX_DRAINED_BYTES: Final = 4 * 1024 * 1024
"""Bytes discarded after the answer, so that a client that is still sending can read it."""

BACKLOG: Final = 128
"""Connections waiting to be accepted; a client that finds the queue full tries again."""

REFUSED_PAUSE_SECONDS: Final = 0.01
"""Pause after a refused connection, so that a process that keeps connecting takes little time of the loop."""

FULL_PAUSE_SECONDS: Final = 0.1
"""Pause after a connection could not be accepted for lack of descriptors."""

TOKEN_BYTES: Final = 64
"""Hexadecimal digits of a token."""

UNREADABLE: Final = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
"""Errors of msgspec for bytes that are not a value of the type: malformed, nested too deeply, not UTF-8."""


class _Request(msgspec.Struct, tag_field="do", forbid_unknown_fields=True):
    token: Annotated[str, msgspec.Meta(max_length=TOKEN_BYTES)] = ""


class _Status(_Request, tag="status"):
    """Request the state."""


class _Pause(_Request, tag="pause"):
    """Begin no match until `resume`."""


class _Resume(_Request, tag="resume"):
    """Begin matches again."""


class _Cancel(_Request, tag="cancel", kw_only=True):
    """End a match at once; it is played again when no other match is left."""

    match: Annotated[str, msgspec.Meta(max_length=MAX_NAME_CHARS)]


class _Jobs(_Request, tag="jobs", kw_only=True):
    """Play `jobs` matches at the same time."""

    jobs: Annotated[int, msgspec.Meta(ge=1, le=MAX_JOBS)]


_AnyRequest: TypeAlias = _Status | _Pause | _Resume | _Cancel | _Jobs
_REQUESTS: Final = msgspec.json.Decoder(_AnyRequest)
_KNOWN: Final = "status, pause, resume, cancel (match), jobs (jobs)"


class RunningState(msgspec.Struct):
    """A match that is being played; `seconds` since it began."""

    match: str
    task: str
    agents: list[str]
    attempt: int
    seconds: float


class RunState(msgspec.Struct):
    """The state of a run, see `flagfall.tournament.run.runner.Run`.

    Fields with a default are missing in answers of earlier versions. `protocol` is 2 since the answer has
    `run_seconds`, the time since the run began, and `run_played`, the matches that it has played.
    """

    name: str
    played: int
    total: int | None
    void: int
    paused: bool
    stopping: bool
    jobs: int
    running: list[RunningState]
    protocol: int = 1
    run_seconds: float | None = None
    run_played: int | None = None


class Refusal(msgspec.Struct):
    """The answer to a request that was not carried out."""

    error: str


def _run_status(run: Run) -> RunState:
    return RunState(
        name=_cut(run.plan.name),
        played=len(run.records),
        total=run.total,
        void=run.voids,
        paused=run.paused,
        stopping=run.stopping,
        jobs=run.jobs,
        running=[
            RunningState(
                match=running.spec.id,
                task=_cut(running.spec.task),
                agents=[_cut(name) for name in running.spec.entrants],
                attempt=running.attempt,
                seconds=round(time.monotonic() - running.since, 3),
            )
            for running in run.running.values()
        ],
        protocol=PROTOCOL,
        run_seconds=round(time.monotonic() - run.since, 3),
        run_played=len(run.records) - run.played_before,
    )


def _cut(text: str) -> str:
    return text if len(text) <= MAX_NAME_CHARS else text[: MAX_NAME_CHARS - 1] + "…"


class _Control:
    """Server of control requests."""

    def __init__(self, run: Run, token: str) -> None:
        self._run = run
        self._token = token
        self._open: dict[trio.CancelScope, None] = {}  # the oldest first

    async def serve(self, listener: trio.socket.SocketType) -> None:
        """Accept connections until cancelled."""
        async with trio.open_nursery() as nursery:
            while True:
                try:
                    connection, _ = await listener.accept()
                except OSError:
                    await trio.sleep(FULL_PAUSE_SECONDS)
                    continue
                try:
                    check_peer(connection)
                except PeerRefused as refusal:
                    _send_at_once(connection, str(refusal))
                    connection.close()
                    await trio.sleep(REFUSED_PAUSE_SECONDS)
                    continue
                if len(self._open) >= MAX_CONNECTIONS:
                    oldest = next(iter(self._open))
                    del self._open[oldest]
                    oldest.cancel()
                scope = trio.CancelScope()
                self._open[scope] = None
                nursery.start_soon(self._serve_one, trio.SocketStream(connection), scope)

    async def _serve_one(self, stream: trio.SocketStream, scope: trio.CancelScope) -> None:
        async with stream:
            with scope, suppress(trio.BrokenResourceError):
                answer = await self._receive(stream)
                with trio.move_on_after(REPLY_TIMEOUT_SECONDS):
                    await stream.send_all(msgspec.json.encode(answer) + b"\n")
                    await stream.send_eof()
                    await _drain(stream)
            if scope.cancelled_caught and scope not in self._open:
                _send_at_once(stream.socket, "too many requests at the same time: try again")
            self._open.pop(scope, None)

    async def _receive(self, stream: trio.SocketStream) -> RunState | Refusal:
        line = b""
        with trio.move_on_after(REPLY_TIMEOUT_SECONDS):
            while b"\n" not in line:
                if len(line) > MAX_LINE_BYTES:
                    return Refusal(f"the request is longer than {MAX_LINE_BYTES} bytes")
                chunk = await stream.receive_some(MAX_LINE_BYTES)
                if not chunk:
                    return Refusal("the request is incomplete: end it with a line feed")
                line += chunk
            return self._answer(line.partition(b"\n")[0])
        return Refusal(f"no request arrived within {REPLY_TIMEOUT_SECONDS:g} s")

    def _answer(self, line: bytes) -> RunState | Refusal:
        try:
            request = _REQUESTS.decode(line)
        except UNREADABLE as error:
            return Refusal(f"this is not a request: {_cut(str(error))}; do one of {_KNOWN}, in a JSON object")
        if not hmac.compare_digest(request.token.encode(errors="replace"), self._token.encode()):
            return Refusal("wrong token: it is in the file beside the socket")
        run = self._run
        match request:
            case _Pause():
                run.pause()
            case _Resume():
                run.resume()
            case _Jobs():
                run.jobs = request.jobs
            case _Cancel() if request.match not in run.running:
                name = request.match
                return Refusal(f"no match {name!r} is being played{suggest(name, run.running)}")
            case _Cancel():
                run.running[request.match].cancel()
        return _run_status(run)


def _send_at_once(connection: trio.socket.SocketType, error: str) -> None:
    """Send a refusal without waiting, as far as it fits into the connection's buffer."""
    with suppress(OSError):
        os.write(connection.fileno(), msgspec.json.encode(Refusal(error)) + b"\n")


async def _drain(stream: trio.SocketStream) -> None:
    """Read the rest of what a client sends: closing a connection with unread bytes would reset it."""
    drained = 0
    while drained < MAX_DRAINED_BYTES and (chunk := await stream.receive_some()):
        drained += len(chunk)


async def serve_control(run: Run, folder: Path, warn: Callable[[str], None]) -> None:
    """Answer requests until cancelled; then remove the socket.

    Args:
        warn: called with a line of text if no socket can be made; the run continues without one.
    """
    if sys.platform != "linux":
        warn("flagfall ctl will not reach this run: only Linux tells which process connects")
        return
    token = secrets.token_hex(TOKEN_BYTES // 2)
    with adopting_orphans():
        try:
            async with _listening(folder, token) as listener:
                await _Control(run, token).serve(listener)
        except OSError as error:
            warn(f"flagfall ctl will not reach this run: {error.strerror or error}")


@asynccontextmanager
async def _listening(folder: Path, token: str) -> AsyncIterator[trio.socket.SocketType]:
    """Open a listening socket with its token beside it; the lock of the folder excludes other runs."""
    place = make_runtime_folder()
    socket_name, pointer = _socket_name(folder), folder / CONTROL
    token_file = token_name(socket_name)
    with open_private_folder(place, os.geteuid()) as inside:
        # The path of a socket has 107 bytes at most; this one is short wherever the folder is.
        near = Path(f"/proc/self/fd/{inside}")
        with trio.socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            try:
                _remove(near / socket_name, near / token_file)  # left by a run that was killed
                _write_private(token_file, token.encode(), inside)
                await listener.bind(str(near / socket_name))
                listener.listen(BACKLOG)
                replace_file(pointer, os.fsencode(place / socket_name))
                yield listener
            finally:
                _remove(near / socket_name, near / token_file, pointer)


def _socket_name(folder: Path) -> str:
    """Return the name of the socket: the same for each run in a folder, so that a leftover is replaced."""
    return f"{sha256(os.fsencode(folder.resolve())).hexdigest()[:32]}.sock"


def token_name(socket_name: str) -> str:
    """Return the name of the file with the token of a socket, in the same folder."""
    return f"{socket_name.removesuffix('.sock')}.token"


def _remove(*paths: Path) -> None:
    for path in paths:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _write_private(name: str, data: bytes, folder: int) -> None:
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


RETRY_SECONDS: Final = 0.02
"""Time between attempts to connect to a run whose queue of connections is full."""

_MAX_PATH_BYTES: Final = 4096
_ROOT: Final = 0


class NotPlayed(UsageError):
    """No tournament is being played in the folder."""


def send_command(folder: Path, request: Mapping[str, Any]) -> dict[str, Any]:
    """Send a command to the run in a folder; block until it has answered.

    Args:
        request: fields of a request without its token, such as `{"do": "jobs", "jobs": 4}`.

    Returns:
        The fields of a `RunState`.

    Raises:
        NotPlayed: no tournament runs in the folder.
        UsageError: the run refuses the command.
    """
    if not folder.is_dir():
        raise UsageError(f"no such folder: {folder}")
    try:
        place, owner = read_small_file(folder / CONTROL, _MAX_PATH_BYTES)
        if owner != os.geteuid() and os.geteuid() != _ROOT:
            raise UsageError(f"the run in {folder} belongs to user {owner}: only that user may control it")
        path = Path(os.fsdecode(place))
        with open_private_folder(path.parent, owner) as inside:
            token, _ = read_small_file(token_name(path.name), TOKEN_BYTES, folder=inside)
            near = f"/proc/self/fd/{inside}/{path.name}"
            line = _exchange(
                near, msgspec.json.encode({**request, "token": token.decode("ascii", "replace")})
            )
    except (OSError, ValueError) as error:  # ValueError: the file does not hold a path
        why = error.strerror if isinstance(error, OSError) else None
        raise NotPlayed(f"no tournament is being played in {folder}: {why or error}") from error
    return _read_answer(line)


def _exchange(path: str, request: bytes) -> bytes:
    """Send a line, and return the line that comes back."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(REPLY_TIMEOUT_SECONDS)
        _connect(connection, path)
        with suppress(BrokenPipeError):  # the run has refused, and its answer has the reason
            connection.sendall(request + b"\n")
        line = b""
        while not line.endswith(b"\n") and len(line) < MAX_ANSWER_BYTES and (chunk := connection.recv(65536)):
            line += chunk
        return line


def _connect(connection: socket.socket, path: str) -> None:
    end = time.monotonic() + REPLY_TIMEOUT_SECONDS
    while True:
        try:
            connection.connect(path)
        except BlockingIOError:  # the queue of waiting connections is full
            if time.monotonic() > end:
                raise
            time.sleep(RETRY_SECONDS)
        else:
            return


def _read_answer(line: bytes) -> dict[str, Any]:
    """Return the state in an answer."""
    if not line:
        raise NotPlayed("the run has ended")
    try:
        state: dict[str, Any] = msgspec.to_builtins(msgspec.json.decode(line, type=RunState))
    except UNREADABLE:
        try:
            error = msgspec.json.decode(line, type=Refusal).error
        except UNREADABLE as malformed:
            raise UsageError(f"the answer of the run cannot be read: {malformed}") from malformed
        raise UsageError("".join(c if c.isprintable() else "?" for c in error)) from None
    return state
