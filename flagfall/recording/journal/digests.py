"""Digests that stand for long observations in a journal. Pure.

The state of a game has 15 to 70 kB of JSON, a picture more; with whole observations the journal of one minute
would have hundreds of megabytes. They can be made again by execution: `verify` does, and compares digests.
"""

from __future__ import annotations

__all__ = ["MAX_KEPT_BYTES", "Digest", "digest_of", "kept", "restored", "update"]

from hashlib import blake2b
from typing import Any, Final

import msgspec

HASHED_BYTES: Final = 2047
"""The most bytes that `hashlib` hashes without releasing the interpreter lock. With more at once, other
threads may run, and the event loop has to wait until it gets the lock back."""

MAX_KEPT_BYTES: Final = 1024
"""An observation is kept whole if its JSON is at most this long."""

_DIGEST_BYTES: Final = 16
"""128 bits, so that it is infeasible to find another observation with a given digest."""


class Digest(msgspec.Struct, frozen=True, rename={"digest": "$digest"}):
    """The entry of a journal in place of a long observation.

    Attributes:
        digest: BLAKE2b hash of the observation's JSON, 32 hexadecimal digits; `$digest` in the file.
        bytes: the length of that JSON in bytes.
    """

    digest: str
    bytes: int


def update(state: Any, data: bytes) -> None:
    """Update a hash in pieces of at most `HASHED_BYTES`.

    Args:
        state: a hash object of `hashlib`.
        data: the bytes to add.
    """
    for at in range(0, len(data), HASHED_BYTES):
        state.update(data[at : at + HASHED_BYTES])


def digest_of(text: bytes) -> Digest:
    """Return the digest of an observation.

    Args:
        text: the JSON of the observation.
    """
    state = blake2b(digest_size=_DIGEST_BYTES)
    update(state, text)
    return Digest(state.hexdigest(), len(text))


def kept(text: bytes) -> msgspec.Raw | Digest:
    """Return the value that a journal writes for an observation: its JSON, or the digest if that is long.

    Args:
        text: the JSON of the observation.
    """
    return msgspec.Raw(text) if len(text) <= MAX_KEPT_BYTES else digest_of(text)


def restored(observation: Any) -> Any:
    """Return a decoded observation, with a `Digest` in place of the mapping that stands for one.

    Args:
        observation: the decoded JSON value.
    """
    if isinstance(observation, dict) and observation.keys() == {"$digest", "bytes"}:
        digest, length = observation["$digest"], observation["bytes"]
        if type(digest) is str and type(length) is int:
            return Digest(digest, length)
    return observation
