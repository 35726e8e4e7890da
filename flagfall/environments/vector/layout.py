"""Positions of the arrays of a batch in memory, and the infos of many environments as arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
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
        """Return the layout of batches of a space; `None` if its values differ in size."""
        return cls(create_empty_array(space, 0), count) if _is_fixed(space) else None

    def arrays(self, block: Bytes, first: int = 0, last: int | None = None) -> Any:
        """Return views of a block: arrays, in the dictionaries and tuples of the space.

        Args:
            block: at least `size` bytes.
            last: the environment after the last one; `None` for all.
        """
        places = iter(self._places)

        def view(_part: NDArray[Any]) -> NDArray[Any]:
            place = next(places)
            return block[place.first : place.last].view(place.dtype).reshape(place.shape)[first:last]

        return _mapped(view, self._parts)

    def holds(self, batch: Any) -> bool:
        """Return whether a batch has exactly the structure, shapes and dtypes of the arrays."""
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
    """Return values as a batch, in new arrays."""
    empty: Any = create_empty_array(space, len(values))
    return concatenate(space, values, empty)


def copied(batch: Any) -> Any:
    """Return a batch with copies of its arrays."""
    return _mapped(np.copy, batch)


def write(batch: Any, *, into: Any) -> None:
    """Copy a batch into arrays."""
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


# Infos of many environments as arrays, built by the workers and joined by their parent.
#
# The result is what `gymnasium.vector.VectorEnv._add_info` builds from one info after the other: an array
# and a mask for each key. Gathering the values of a key first takes a third of the time, and leaves only a
# few arrays for the pipe. It is exact as long as a key has values of one kind; anything else raises
# `NotUniform`, and then the parent adds the infos one after the other.


class NotUniform(Exception):
    """A key has values of different kinds, or its name is that of a mask."""


def as_columns(infos: Iterable[tuple[int, dict[Any, Any]]], count: int) -> dict[Any, Any]:
    """Return infos as arrays and masks by key.

    Args:
        infos: the index of an environment, and an info of it; an index may occur several times.

    Raises:
        NotUniform: the infos must be added one after the other.
    """
    pairs = list(infos)
    keys = list(pairs[0][1]) if pairs else []
    indices = [index for index, _ in pairs]
    if all(list(info) == keys for _, info in pairs):
        gathered = {key: (indices, [info[key] for _, info in pairs]) for key in keys}
    else:
        gathered = _gather(pairs)
    columns: dict[Any, Any] = {}
    everywhere = list(range(count))
    all_true = np.ones(count, np.bool_)  # one array for many keys is pickled once
    for key, (indices, values) in gathered.items():
        if isinstance(key, str) and key.startswith("_"):
            raise NotUniform
        place: slice | list[int] = slice(None)
        mask = all_true
        if indices != everywhere:
            place = indices
            mask = np.zeros(count, np.bool_)
            mask[place] = True
        columns[key] = _column(key, indices, place, values, count)
        columns[f"_{key}"] = mask
    return columns


def _gather(pairs: Iterable[tuple[int, dict[Any, Any]]]) -> dict[Any, tuple[list[int], list[Any]]]:
    """Return the environments that have a key, and its values, by key."""
    found: dict[Any, tuple[list[int], list[Any]]] = {}
    for index, info in pairs:
        for key, value in info.items():
            indices, values = found.setdefault(key, ([], []))
            indices.append(index)
            values.append(value)
    return found


def join(parts: Sequence[tuple[int, dict[Any, Any]]], count: int) -> dict[Any, Any]:
    """Return the columns of all workers as one, in new arrays.

    Args:
        parts: the first environment of each worker that has infos, and its columns; in this order.

    Raises:
        NotUniform: the kinds of values of a key differ among workers.
    """
    joined: dict[Any, Any] = {}
    for key in dict.fromkeys(key for _, part in parts for key in part):
        firsts, values = [], []
        for first, part in parts:
            if key in part:
                firsts.append(first)
                values.append(part[key])
        kinds = set(map(type, values))
        if kinds == {np.ndarray}:
            joined[key] = _joined_arrays(firsts, values, count)
        elif kinds == {dict}:
            joined[key] = join(list(zip(firsts, values, strict=True)), count)
        else:
            raise NotUniform
    return joined


def _joined_arrays(firsts: list[int], values: list[NDArray[Any]], count: int) -> NDArray[Any]:
    dtype, shape = values[0].dtype, values[0].shape[1:]
    size = 0
    for value in values:
        if value.dtype != dtype or value.shape[1:] != shape:
            raise NotUniform
        size += len(value)
    if size == count:
        return np.concatenate(values)
    array: NDArray[Any] = (
        np.full(count, None, object) if dtype == np.object_ else np.zeros((count, *shape), dtype)
    )
    for first, value in zip(firsts, values, strict=True):
        array[first : first + len(value)] = value
    return array


def _column(
    key: Any, indices: list[int], place: slice | list[int], values: list[Any], count: int
) -> dict[Any, Any] | NDArray[Any]:
    kinds = {_OBJECT} if key == "final_obs" else set(map(_kind, set(map(type, values))))
    if len(kinds) != 1:
        raise NotUniform
    kind = kinds.pop()
    if kind is dict:
        return as_columns(zip(indices, values, strict=True), count)
    if kind is _OBJECT:
        objects = np.full(count, None, object)
        for index, value in zip(indices, values, strict=True):
            objects[index] = value
        return objects
    if kind is np.ndarray:
        if len({(value.dtype, value.shape) for value in values}) != 1 or values[0].dtype == np.object_:
            raise NotUniform
        array = np.zeros((count, *values[0].shape), values[0].dtype)
        array[place] = values
        return array
    numbers: NDArray[Any] = np.zeros(count, kind)
    try:
        numbers[place] = np.array(values, kind)
    except OverflowError:
        raise NotUniform from None
    return numbers


_OBJECT: Final = object


def _kind(kind: type) -> type:
    """Return what determines the array for values of a type: a number type, `dict`, `ndarray` or `object`."""
    if kind in {int, float, bool} or issubclass(kind, np.number):
        return kind
    return dict if issubclass(kind, dict) else np.ndarray if issubclass(kind, np.ndarray) else _OBJECT
