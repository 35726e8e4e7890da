"""Texts of observations and actions, for people and language models. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MAX_ELEMENTS: Final = 2_500
"""Larger arrays are named by type and shape: a board of 50 x 50 cells is the most that a reader takes in."""

_TABLE: Final = 2


def describe_value(value: Any) -> str:
    """Return a value as text: arrays of two dimensions as grids, mappings a line for each entry."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "\n".join(f"{name}:{_block(describe_value(part))}" for name, part in value.items())
    if hasattr(value, "tolist"):  # an array or a number of numpy, which byte tasks do not import
        if value.size > MAX_ELEMENTS:
            return f"array {value.dtype} {value.shape}"
        return _numbers(value.tolist(), value.ndim)
    return _number(value)


def _block(text: str) -> str:
    return f"\n{text}" if "\n" in text else f" {text}"


def _numbers(value: Any, dimensions: int) -> str:
    """Return the numbers of an array, given as nested lists."""
    if dimensions == 0:
        return _number(value)
    if dimensions < _TABLE:
        return f"[{', '.join(map(_number, value))}]"
    if dimensions > _TABLE:
        return "\n\n".join(_numbers(part, dimensions - 1) for part in value)
    cells = [list(map(_number, row)) for row in value]
    width = max((len(cell) for row in cells for cell in row), default=0)
    return "\n".join(" ".join(cell.rjust(width) for cell in row) for row in cells)


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
