"""One root seed, and a seed of its own for everything that is random in a match.

Deriving seeds by name keeps them apart: whether a task draws more numbers, or one more seat is added,
changes nothing for the others.
"""

from __future__ import annotations

__all__ = ["MAX_SEED", "derive_seed"]

from hashlib import blake2b
from typing import Final

MAX_SEED: Final = 2**63 - 1
"""The largest value of `derive_seed`, and the largest that a journal can hold."""


def derive_seed(root: int, *path: str | int) -> int:
    """Return the seed of one part of a match.

    Args:
        root: the root seed of the match.
        path: the name of the part, such as `"task", 7`.

    Returns:
        A whole number from 0 to `MAX_SEED`.
    """
    name = "/".join(map(str, (root, *path)))
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest()) >> 1
