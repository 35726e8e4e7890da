"""Requests to a run from another process; `control` has the requests."""

from __future__ import annotations

__all__ = ["ask_run"]

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from flagfall.errors import UsageError
from flagfall.terminal_text import one_line
from flagfall.tournament.run.control_socket import (
    CONTROL,
    MAX_ANSWER_BYTES,
    PATIENCE_SECONDS,
    TOKEN_BYTES,
    UNREADABLE,
    Refusal,
    RunState,
    token_name,
)
from flagfall.tournament.run.runtime_folder import open_private_folder, read_small_file

RETRY_SECONDS: Final = 0.02
"""The time between two attempts to connect to a run that has more connections than it can hold."""

_MAX_PATH_BYTES: Final = 4096
_ROOT: Final = 0


def ask_run(folder: Path, request: Mapping[str, Any]) -> dict[str, Any]:
    """Ask the run in a folder; blocks until it has answered.

    Args:
        folder: of the tournament.
        request: the fields of a request without its token, such as `{"do": "jobs", "jobs": 4}`.

    Returns:
        The fields of a `RunState`.

    Raises:
        UsageError: no run goes on there, or it refuses.
    """
    if not folder.is_dir():
        raise UsageError(f"no such folder: {folder}")
    try:
        place, owner = read_small_file(folder / CONTROL, _MAX_PATH_BYTES)
        if owner != os.geteuid() and os.geteuid() != _ROOT:
            raise UsageError(f"the run in {folder} belongs to user {owner}: only that user may steer it")
        path = Path(os.fsdecode(place))
        with open_private_folder(path.parent, owner) as inside:
            token, _ = read_small_file(token_name(path.name), TOKEN_BYTES, folder=inside)
            near = f"/proc/self/fd/{inside}/{path.name}"
            line = _ask(near, msgspec.json.encode({**request, "token": token.decode("ascii", "replace")}))
    except (OSError, ValueError) as error:  # ValueError: the file does not hold a path
        why = error.strerror if isinstance(error, OSError) else None
        raise UsageError(f"no tournament is being played in {folder}: {why or error}") from error
    return _read_answer(line)


def _ask(path: str, request: bytes) -> bytes:
    """Send a line, and return the line that comes back."""
    with socket.socket(socket.AF_UNIX) as talk:
        talk.settimeout(PATIENCE_SECONDS)
        _connect(talk, path)
        with suppress(BrokenPipeError):  # the run has refused, and its answer has the reason
            talk.sendall(request + b"\n")
        line = b""
        while not line.endswith(b"\n") and len(line) < MAX_ANSWER_BYTES and (chunk := talk.recv(65536)):
            line += chunk
        return line


def _connect(talk: socket.socket, path: str) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            talk.connect(path)
        except BlockingIOError:  # the queue of connections that wait is full
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
        raise UsageError("the run has ended")
    try:
        state: dict[str, Any] = msgspec.to_builtins(msgspec.json.decode(line, type=RunState))
    except UNREADABLE:
        try:
            error = msgspec.json.decode(line, type=Refusal).error
        except UNREADABLE as odd:
            raise UsageError(f"the run gave an answer that cannot be read: {odd}") from odd
        raise UsageError(one_line(error)) from None
    return state
