"""Infos of many environments as arrays, built by the workers and joined by their parent.

The result is what `gymnasium.vector.VectorEnv._add_info` builds from one info after the other: an array and a
mask for each key. Gathering the values of a key first takes a third of the time, and leaves only a few
arrays for the pipe. It is exact as long as a key has values of one kind; anything else raises `NotUniform`,
and then the parent adds the infos one after the other.
"""

from __future__ import annotations

__all__ = ["NotUniform", "as_columns", "join"]

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray


class NotUniform(Exception):
    """A key has values of different kinds, or its name is that of a mask."""


def as_columns(infos: Iterable[tuple[int, dict[Any, Any]]], count: int) -> dict[Any, Any]:
    """Return infos as arrays and masks by key.

    Args:
        infos: the index of an environment, and an info of it; an index may occur several times.
        count: number of environments.

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
        count: number of environments of all workers.

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
