"""Checks of the arguments of vector environments."""

from __future__ import annotations

__all__ = ["check_count", "checked_autoreset", "checked_mask", "seeds_of"]

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from flagfall.errors import UsageError, suggest


def check_count(name: str, number: Any) -> None:
    """Check a number of environments or processes.

    Args:
        name: of the argument.
        number: the number.

    Raises:
        UsageError: it is not a whole number of at least 1.
    """
    whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    if not whole or number < 1:
        raise UsageError(f"{name}={number!r}: expected a whole number of at least 1")


def checked_autoreset(mode: AutoresetMode | str) -> AutoresetMode:
    """Return an autoreset mode.

    Args:
        mode: the mode, or its value.

    Raises:
        UsageError: it does not exist.
    """
    try:
        return AutoresetMode(mode)
    except ValueError:
        known = [known.value for known in AutoresetMode]
        raise UsageError(f"autoreset_mode={mode!r}: unknown mode{suggest(str(mode), known)}") from None


def checked_mask(mask: Any, count: int) -> NDArray[np.bool_]:
    """Return a `reset_mask`.

    Args:
        mask: any value.
        count: number of environments.

    Raises:
        UsageError: it is not a mask of this many environments, or none is true.
    """
    fits = isinstance(mask, np.ndarray) and mask.shape == (count,) and mask.dtype == np.bool_
    if not fits or not mask.any():
        raise UsageError(f"reset_mask={mask!r}: give an array of {count} truth values, one of them true")
    checked: NDArray[np.bool_] = mask
    return checked


def seeds_of(seed: int | np.integer[Any] | Sequence[int | None] | None, count: int) -> list[int | None]:
    """Return the seed of each environment.

    Args:
        seed: a number, for the seed `seed + i` of environment i; a list with a seed for each; or `None`.
        count: number of environments.

    Raises:
        UsageError: a list has another length.
    """
    if seed is None:
        return [None] * count
    if isinstance(seed, int | np.integer):
        return [int(seed) + index for index in range(count)]
    if len(seed) != count:
        raise UsageError(f"seed: {len(seed)} seeds for {count} environments: give one for each")
    return list(seed)
