"""Messages between the runner and its worker processes; each is the payload of a frame.

An empty payload is `RECALL` for a worker, and `BATCH_ENDED` for the runner.
"""

from __future__ import annotations

__all__ = [
    "BATCH_ENDED",
    "MAX_MESSAGE_BYTES",
    "RECALL",
    "decode_answer",
    "decode_batch",
    "encode_answer",
    "encode_batch",
]

from collections.abc import Iterable
from typing import Final

import attrs
import msgspec

from flagfall.errors import UsageError
from flagfall.tournament.records import MatchRecord
from flagfall.tournament.run.engine import Answer, Attempt

MAX_MESSAGE_BYTES: Final = 256 * 1024 * 1024
"""Longest message: a plan may contain tasks with all their worlds; a record has some kilobytes."""

RECALL: Final = b""
BATCH_ENDED: Final = b""


class _Answered(msgspec.Struct, array_like=True):
    """An answer to an attempt: the record, or the text of the error."""

    seconds: float
    record: MatchRecord | None
    error: str


_ENCODER: Final = msgspec.msgpack.Encoder()
_BATCH: Final = msgspec.msgpack.Decoder(tuple[Attempt, ...])
_ANSWERED: Final = msgspec.msgpack.Decoder(_Answered)


def encode_batch(attempts: Iterable[Attempt]) -> bytes:
    """Return the message that hands attempts to a worker.

    Args:
        attempts: at least one.
    """
    return _ENCODER.encode(tuple(attempts))


def decode_batch(payload: bytes) -> tuple[Attempt, ...]:
    """Return the attempts of a batch.

    Args:
        payload: from `encode_batch`.
    """
    return _BATCH.decode(payload)


def encode_answer(answer: Answer, seconds: float) -> bytes:
    """Return the message with the result of an attempt.

    Args:
        answer: the record, or the error.
        seconds: duration of the attempt.
    """
    if isinstance(answer, UsageError):
        return _ENCODER.encode(_Answered(seconds, None, _writable(str(answer))))
    try:
        return _ENCODER.encode(_Answered(seconds, answer, ""))
    except UnicodeEncodeError:  # the message of a fault quotes a text that is not UTF-8
        kept = attrs.evolve(answer, why=_writable(answer.why))
        return _ENCODER.encode(_Answered(seconds, kept, ""))


def decode_answer(payload: bytes) -> tuple[Answer, float]:
    """Return the result of an attempt, and its duration in seconds.

    Args:
        payload: from `encode_answer`.
    """
    answered = _ANSWERED.decode(payload)
    return answered.record or UsageError(answered.error), answered.seconds


def _writable(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()
