"""One root seed, and a seed of its own for everything that is random in a match.

Deriving seeds by name keeps them apart: whether a task draws more numbers, or one more seat is added,
changes nothing for the others.
"""

from __future__ import annotations

__all__ = ["derive_seed"]

from hashlib import blake2b


def derive_seed(root: int, *path: str | int) -> int:
    """A seed from 0 to 2**63 - 1 for what `path` names, such as `("task", 7)`, under a root seed."""
    name = "/".join(str(part) for part in (root, *path))
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest()) >> 1
