"""Positions of the arrays of a batch in one block of memory."""

from __future__ import annotations

__all__ = ["Bytes", "Layout", "batch_of", "copied", "write"]

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array
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
        self._parts = parts
        self._places: list[_Place] = []
        self.size: int = 0
        for part in _leaves(parts):
            shape = (count, *part.shape[1:])
            last = self.size + math.prod(shape) * part.dtype.itemsize
            self._places.append(_Place(self.size, last, part.dtype, shape))
            self.size = -(-last // ALIGNMENT) * ALIGNMENT

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
        places = iter(self._places)

        def view(_part: NDArray[Any]) -> NDArray[Any]:
            place = next(places)
            return block[place.first : place.last].view(place.dtype).reshape(place.shape)[first:last]

        return _mapped(view, self._parts)

    def holds(self, batch: Any) -> bool:
        """Return whether a batch has exactly the structure, shapes and dtypes of the arrays.

        Args:
            batch: any value.
        """
        return _fits(self._parts, batch, iter(self._places))


class _Place(NamedTuple):
    """Position of an array, in bytes of the block, and its form."""

    first: int
    last: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def _fits(part: Any, batch: Any, places: Iterator[_Place]) -> bool:
    if isinstance(part, dict):
        return (
            isinstance(batch, dict)
            and batch.keys() == part.keys()
            and all(_fits(part[key], batch[key], places) for key in part)
        )
    if isinstance(part, tuple):
        return (
            isinstance(batch, tuple)
            and len(batch) == len(part)
            and all(_fits(own, other, places) for own, other in zip(part, batch, strict=True))
        )
    place = next(places)
    return isinstance(batch, np.ndarray) and batch.dtype == place.dtype and batch.shape == place.shape


def _is_fixed(space: spaces.Space[Any]) -> bool:
    if isinstance(space, spaces.Dict):
        return all(map(_is_fixed, space.spaces.values()))
    if isinstance(space, spaces.Tuple):
        return all(map(_is_fixed, space.spaces))
    return isinstance(space, _FIXED_SPACES)


def batch_of(space: spaces.Space[Any], values: Sequence[Any]) -> Any:
    """Return values as a batch, in new arrays.

    Args:
        space: the space of one environment.
        values: one for each environment.
    """
    empty: Any = create_empty_array(space, len(values))
    return concatenate(space, values, empty)


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
