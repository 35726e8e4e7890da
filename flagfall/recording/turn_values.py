"""Values of turns in tables: numbers, arrays as lists of numbers, and JSON text.

One type holds all values of a column, in however many blocks it is read: `Form` finds it. An array becomes
the list of its numbers in C order; its shape and its dtype stand in columns of their own, so that
`numpy.array(numbers, dtype).reshape(shape)` is the array. Lists have a type of numbers that holds those of
all arrays of the column exactly. Two numbers stand for a complex one (`numpy.array(numbers).view(dtype)`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal, TypeAlias

import attrs
import numpy as np

from flagfall.kernel.channels.arrays import list_encoder

Column: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_WHOLE: Final = np.dtype(np.int64)
_REAL: Final = np.dtype(np.float64)
_TRUTH: Final = np.dtype(np.bool_)
_TYPES: Final = {int: _WHOLE, float: _REAL, bool: _TRUTH}
_LEAST: Final = -(2**63)
_MOST: Final = 2**63 - 1

_WIDER: Final = {np.dtype(one): np.dtype(two) for one, two in (("f2", "f4"), ("c8", "f4"), ("c16", "f8"))}
"""Types of numbers that not every library has, and those of the lists that hold them."""

_encode: Final = list_encoder().encode


@attrs.frozen(eq=False)
class Cells:
    """A column of a table.

    Attributes:
        kind: `numbers`; `lists` of numbers; `names`, texts that recur; or `texts`.
        values: numbers of one type; or texts and lists of numbers as objects. Lists of one length may be the
            rows of an array.
        dtype: of the numbers in lists.
        absent: for numbers: where there is none; `None` if there is one everywhere.
    """

    name: str
    kind: Literal["numbers", "lists", "names", "texts"]
    values: Column
    dtype: np.dtype[Any] | None = None
    absent: Column | None = None

    @classmethod
    def counts(cls, name: str, column: Column) -> Cells:
        """Return a column of whole numbers in which a negative one means that there is none."""
        absent = column < 0
        return cls(name, "numbers", column, absent=absent if absent.any() else None)


@attrs.define
class Form:
    """What the values of a column are, over all of its blocks.

    Attributes:
        numbers: types of the values that are numbers.
        arrays: types of the values that are arrays.
        others: there are values of other kinds, besides `None`.
    """

    numbers: set[np.dtype[Any]] = attrs.Factory(set)
    arrays: set[np.dtype[Any]] = attrs.Factory(set)
    others: bool = False

    def take(self, column: Column) -> None:
        """Take a block of the column."""
        if not len(column):
            return
        if column.ndim > 1:
            self.arrays.add(column.dtype)
        elif column.dtype != object:
            self.numbers.add(column.dtype)
        else:
            for value in column:
                self._take_value(value)

    def has(self, column: Column) -> bool:
        """Return whether all values of a block are of kinds that were taken."""
        more = Form()
        more.take(column)
        return more.numbers <= self.numbers and more.arrays <= self.arrays and more.others <= self.others

    def _take_value(self, value: Any) -> None:
        if isinstance(value, np.ndarray):
            self.arrays.add(value.dtype)
        elif type(value) in _TYPES and (type(value) is not int or _LEAST <= value <= _MOST):
            self.numbers.add(_TYPES[type(value)])
        elif value is not None:
            self.others = True

    def cells(self, name: str, column: Column) -> Iterator[Cells]:
        """Yield the columns of a table for a block that was taken.

        Where the column has arrays, `NAME_shape` and `NAME_dtype` follow.
        """
        dtype = self._dtype()
        if dtype is None:
            yield Cells(name, "texts", objects(None if of is None else _encode(of).decode() for of in column))
        elif self.arrays:
            yield Cells(name, "lists", _lists(column, dtype), dtype)
        elif column.dtype != object:
            yield Cells(name, "numbers", column.astype(dtype, copy=False))
        else:
            absent = np.array([of is None for of in column], bool)
            values = np.array([0 if of is None else of for of in column], dtype)
            yield Cells(name, "numbers", values, absent=absent)
        if self.arrays:
            arrays = [of if isinstance(of, np.ndarray) else None for of in column]
            shapes = objects(None if of is None else np.array(of.shape, np.int64) for of in arrays)
            yield Cells(f"{name}_shape", "lists", shapes, _WHOLE)
            dtypes = objects(None if of is None else str(of.dtype) for of in arrays)
            yield Cells(f"{name}_dtype", "names", dtypes)

    def _dtype(self) -> np.dtype[Any] | None:
        """Return the type of all numbers, in lists or alone; `None` where the values are to be texts."""
        if self.others or (self.numbers and self.arrays) or not (self.numbers or self.arrays):
            return None
        if self.numbers == {_WHOLE, _REAL}:
            return _REAL
        return _common(self.numbers or self.arrays)


def _common(dtypes: Iterable[np.dtype[Any]]) -> np.dtype[Any] | None:
    """Return a type of numbers that holds those of all types exactly; `None` if there is none."""
    wide = {_WIDER.get(dtype, dtype) for dtype in dtypes}
    common = np.result_type(*wide)
    for dtype in wide - {common}:
        # A float has room for the whole numbers of half its size.
        is_exact = common.kind in {dtype.kind, "i"} or dtype.itemsize < common.itemsize
        if dtype == _TRUTH or not is_exact:
            return None
    return common


def _lists(column: Column, dtype: np.dtype[Any]) -> Column:
    """Return the numbers of each array, in a type of `_common`: as rows, or as arrays of one dimension."""
    if column.ndim > 1 and column.size:
        return _numbers(column, dtype).reshape(len(column), -1)
    return objects(None if of is None else _numbers(of, dtype) for of in column)


def _numbers(array: Column, dtype: np.dtype[Any]) -> Column:
    numbers = array.reshape(-1)
    if numbers.dtype.kind == "c":
        numbers = numbers.view(_WIDER[numbers.dtype])
    return numbers.astype(dtype, copy=False)


def column_of(values: Sequence[Any]) -> Column:
    """Return values as an array of numbers, as rows of one array if they are arrays, or as objects.

    Numbers are whole, real or truth values. Arrays of one shape and dtype are the rows of one.
    """
    kinds = set(map(type, values))
    if kinds == {np.ndarray} and len({(of.dtype, of.shape) for of in values}) == 1 and values[0].ndim:
        return np.stack(values)
    for dtype, fitting in ((_WHOLE, {int}), (_TRUTH, {bool}), (_REAL, {int, float})):
        if kinds <= fitting:
            try:
                return np.array(values, dtype)
            except OverflowError:  # more than 64 bits
                break
    return objects(values)


def objects(values: Iterable[Any]) -> Column:
    """Return values as an array of objects."""
    # `np.array` would make a table of lists of one length.
    return np.fromiter(values, object)


def joined(parts: Sequence[Column]) -> Column:
    """Return blocks of a column as one."""
    if len(parts) == 1:
        return parts[0]
    dtypes, shapes = {part.dtype for part in parts}, {part.shape[1:] for part in parts}
    # numpy would make numbers of truth values, and the rows of one array of arrays of two dtypes.
    if len(shapes) > 1 or (len(dtypes) > 1 and (_TRUTH in dtypes or shapes != {()})):
        parts = [objects(part) if part.ndim > 1 else part.astype(object) for part in parts]
    return np.concatenate(parts)


def size_of(value: Any) -> int:
    """Return about how many bytes a value takes besides those of a number; for limits of memory."""
    match value:
        case int() | float() | None:
            return 0
        case np.ndarray():
            return value.nbytes
        case str():
            return len(value)
        case dict():
            return sum(_ENTRY_BYTES + len(key) + size_of(of) for key, of in value.items())
        case list():
            return sum(_ENTRY_BYTES + size_of(of) for of in value)
        case _:
            return _ENTRY_BYTES


_ENTRY_BYTES: Final = 64
"""About what an object takes in a list or a mapping."""
