"""Commands and replies on pipes: a header of fixed size, and pickled values after it if there are any."""

from __future__ import annotations

__all__ = ["Command", "Failure", "Reply", "pack", "receive", "send", "unpack"]

import os
import pickle
from enum import IntEnum
from struct import Struct
from typing import Any, Final, NamedTuple

from gymnasium.vector.utils import CloudpickleWrapper

_HEADER: Final = Struct("=BBQ")
"""Kind of the message, number of the buffer for observations, and bytes of the values that follow."""

_READ_BYTES: Final = 2**16
"""Bytes of one read: the capacity of a pipe."""


class Command(IntEnum):
    """Request to a worker."""

    BUILD = 0
    ATTACH = 1
    RESET = 2
    STEP = 3
    INFOS = 4
    CALL = 5
    SET = 6
    CLOSE = 7


class Reply(IntEnum):
    """Answer of a worker."""

    DONE = 0
    FAILED = 1


class Failure(NamedTuple):
    """Error in a worker.

    Attributes:
        number: of the environment in the worker; `None` if no single one is responsible.
        is_usage_error: the caller is responsible: it was a `UsageError`.
        message: class and text of the error; the text alone of a `UsageError`.
        trace: its traceback.
    """

    number: int | None
    is_usage_error: bool
    message: str
    trace: str


def pack(value: Any, *, by_value: bool = False) -> bytes:
    """Encode a value.

    Args:
        value: any picklable value.
        by_value: encode functions and classes of the main program by their code: the other process does not
            have that program.
    """
    if not by_value:
        try:
            return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        except Exception:  # noqa: BLE001, S110 - classes of the main program, which are encoded by their code
            pass
    return pickle.dumps(CloudpickleWrapper(value), pickle.HIGHEST_PROTOCOL)


def unpack(payload: bytes) -> Any:
    """Decode a value.

    Args:
        payload: from `pack`, of a process of the same user that this one has started or was started by.
    """
    value = pickle.loads(payload)  # noqa: S301 - see above
    return value.fn if isinstance(value, CloudpickleWrapper) else value


def send(descriptor: int, kind: int, buffer: int = 0, payload: bytes = b"") -> None:
    """Write a message.

    Args:
        descriptor: of the pipe.
        kind: a `Command` or a `Reply`.
        buffer: the buffer for observations.
        payload: encoded values.

    Raises:
        BrokenPipeError: the other process does not read any more.
    """
    message = memoryview(_HEADER.pack(kind, buffer, len(payload)) + payload)
    while message:
        message = message[os.write(descriptor, message) :]


def receive(descriptor: int) -> tuple[int, int, bytes]:
    """Read a message: kind, buffer and encoded values.

    Args:
        descriptor: of the pipe; the other end sends no second message before the first one is answered.

    Raises:
        EOFError: the other process has closed the pipe.
    """
    data = _read(descriptor, _READ_BYTES)
    while len(data) < _HEADER.size:
        data += _read(descriptor, _READ_BYTES)
    kind, buffer, size = _HEADER.unpack_from(data)
    parts, missing = [data[_HEADER.size :]], size + _HEADER.size - len(data)
    while missing:
        parts.append(_read(descriptor, min(missing, _READ_BYTES)))
        missing -= len(parts[-1])
    return kind, buffer, b"".join(parts)


def _read(descriptor: int, size: int) -> bytes:
    data = os.read(descriptor, size)
    if not data:
        raise EOFError
    return data
