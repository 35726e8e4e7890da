"""What a journal keeps of a long observation: its length and a digest. Pure.

A state of a game has 15 to 70 kB of JSON, and a picture more; kept whole, a journal of a minute's play would
have hundreds of megabytes. Execution brings it back: `verify` makes it again and compares digests.
"""

from __future__ import annotations

__all__ = ["MAX_KEPT_BYTES", "Digest", "digest_of", "kept", "restored", "update"]

from hashlib import blake2b
from typing import Any, Final, Protocol

import msgspec

HASHED_BYTES: Final = 2047
"""Given more at once, `hashlib` lets other threads run meanwhile, and the loop must wait its turn again."""

MAX_KEPT_BYTES: Final = 1024
"""An observation with no more JSON than this is kept as it is."""

_DIGEST_BYTES: Final = 16
"""Enough that nobody can make another observation with the same digest."""


class Digest(msgspec.Struct, frozen=True, rename={"digest": "$digest"}):
    """Stands for an observation in a journal.

    Attributes:
        digest: BLAKE2b of its JSON, 32 hexadecimal digits; in the file the field is `$digest`.
        bytes: the length of its JSON.
    """

    digest: str
    bytes: int


class _Hash(Protocol):
    def update(self, data: bytes, /) -> None: ...


def update(state: _Hash, data: bytes) -> None:
    """Hash more data, in pieces that keep the loop running."""
    for at in range(0, len(data), HASHED_BYTES):
        state.update(data[at : at + HASHED_BYTES])


def digest_of(text: bytes) -> Digest:
    """The digest of an observation's JSON."""
    state = blake2b(digest_size=_DIGEST_BYTES)
    update(state, text)
    return Digest(state.hexdigest(), len(text))


def kept(text: bytes) -> msgspec.Raw | Digest:
    """What a journal writes for an observation with this JSON."""
    return msgspec.Raw(text) if len(text) <= MAX_KEPT_BYTES else digest_of(text)


def restored(observation: Any) -> Any:
    """The observation or the `Digest` of what was read."""
    if isinstance(observation, dict) and observation.keys() == {"$digest", "bytes"}:
        digest, length = observation["$digest"], observation["bytes"]
        if type(digest) is str and type(length) is int:
            return Digest(digest, length)
    return observation
