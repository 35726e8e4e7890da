"""Positions of the arrays of a batch in one block of memory."""

from __future__ import annotations

__all__ = ["Bytes", "Layout", "copied", "write"]

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import create_empty_array
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[np.uint8]

ALIGNMENT: Final = 64
"""Alignment of each array, in bytes: a cache line, so that no two arrays share one."""

_FIXED_SPACES: Final = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
"""Spaces whose values have one size."""


class Layout:
    """Positions of the arrays of a batch.

    Args:
        parts: arrays of the shape (0, ...), in dictionaries and tuples: each stands for one of (count, ...).
        count: number of environments.

    Attributes:
        size: bytes that the arrays take.
    """

    def __init__(self, parts: Any, count: int) -> None:
        self._count = count
        self._parts = parts
        self.size = sum(_padded(self._bytes(part)) for part in _leaves(parts))

    @classmethod
    def of(cls, space: spaces.Space[Any], count: int) -> Layout | None:
        """Return the layout of batches of a space; `None` if its values differ in size.

        Args:
            space: the space of one environment.
            count: number of environments.
        """
        return cls(create_empty_array(space, 0), count) if _is_fixed(space) else None

    def arrays(self, block: Bytes, first: int = 0, last: int | None = None) -> Any:
        """Return views of a block: arrays, in the dictionaries and tuples of the space.

        Args:
            block: at least `size` bytes.
            first: first environment of the views.
            last: the environment after the last one; `None` for all.
        """
        position = 0

        def view(part: NDArray[Any]) -> NDArray[Any]:
            nonlocal position
            size = self._bytes(part)
            array = block[position : position + size].view(part.dtype)
            position += _padded(size)
            return array.reshape(self._count, *part.shape[1:])[first:last]

        return _mapped(view, self._parts)

    def holds(self, batch: Any) -> bool:
        """Return whether a batch has exactly the structure, shapes and dtypes of the arrays.

        Args:
            batch: any value.
        """
        return self._fits(self._parts, batch)

    def _fits(self, part: Any, batch: Any) -> bool:
        if isinstance(part, dict):
            return (
                isinstance(batch, dict)
                and batch.keys() == part.keys()
                and all(self._fits(part[key], batch[key]) for key in part)
            )
        if isinstance(part, tuple):
            return isinstance(batch, tuple) and len(batch) == len(part) and all(map(self._fits, part, batch))
        return (
            isinstance(batch, np.ndarray)
            and batch.dtype == part.dtype
            and batch.shape == (self._count, *part.shape[1:])
        )

    def _bytes(self, part: NDArray[Any]) -> int:
        return self._count * int(np.prod(part.shape[1:])) * part.dtype.itemsize


def _is_fixed(space: spaces.Space[Any]) -> bool:
    if isinstance(space, spaces.Dict):
        return all(map(_is_fixed, space.spaces.values()))
    if isinstance(space, spaces.Tuple):
        return all(map(_is_fixed, space.spaces))
    return isinstance(space, _FIXED_SPACES)


def copied(batch: Any) -> Any:
    """Return a batch with copies of its arrays.

    Args:
        batch: arrays, in dictionaries and tuples.
    """
    return _mapped(np.copy, batch)


def write(batch: Any, *, into: Any) -> None:
    """Copy a batch into arrays.

    Args:
        batch: arrays, in dictionaries and tuples.
        into: arrays in the same structure.
    """
    if isinstance(into, dict):
        for key, part in into.items():
            write(batch[key], into=part)
    elif isinstance(into, tuple):
        for value, part in zip(batch, into, strict=True):
            write(value, into=part)
    else:
        np.copyto(into, batch)


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _mapped(function: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _mapped(function, part) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(_mapped(function, part) for part in value)
    return function(value)


def _leaves(value: Any) -> Iterator[NDArray[Any]]:
    if isinstance(value, dict | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _leaves(part)
    else:
        yield value
