"""Client of a running tournament's control socket; see `control_socket` for the requests."""

from __future__ import annotations

__all__ = ["NotPlayed", "send_command"]

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from flagfall.errors import UsageError
from flagfall.tournament.folder import CONTROL
from flagfall.tournament.run.control_socket import (
    MAX_ANSWER_BYTES,
    REPLY_TIMEOUT_SECONDS,
    TOKEN_BYTES,
    UNREADABLE,
    Refusal,
    RunState,
    token_name,
)
from flagfall.tournament.run.runtime_folder import open_private_folder, read_small_file

RETRY_SECONDS: Final = 0.02
"""Time between attempts to connect to a run whose queue of connections is full."""

_MAX_PATH_BYTES: Final = 4096
_ROOT: Final = 0


class NotPlayed(UsageError):
    """No tournament is being played in the folder."""


def send_command(folder: Path, request: Mapping[str, Any]) -> dict[str, Any]:
    """Send a command to the run in a folder; block until it has answered.

    Args:
        folder: the folder of the tournament.
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
    """Return the state in an answer.

    Raises:
        UsageError: the run refused, or its answer cannot be read.
    """
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
