"""The shared memory of a vector environment, and the lending of its observation buffers.

Observations are not copied to belong to the caller: workers write each batch into a buffer that no array of
the caller refers to. The buffer is lent out through one array, of which all others are views; while any of
them lives, so does that array, and the buffer stays as it is.
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from flagfall.environments.vector.layout import Bytes, Layout
from flagfall.environments.vector.share import Mask, Results
from flagfall.errors import UsageError, suggest


def check_count(name: str, number: Any) -> None:
    """Check a number of environments or processes.

    Raises:
        UsageError: it is not a whole number of at least 1.
    """
    whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    if not whole or number < 1:
        raise UsageError(f"{name}={number!r}: expected a whole number of at least 1")


def checked_autoreset(mode: AutoresetMode | str) -> AutoresetMode:
    """Return an autoreset mode.

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


_RESULTS: Final = {
    "rewards": np.zeros(0, np.float64),
    "terminations": np.zeros(0, np.bool_),
    "truncations": np.zeros(0, np.bool_),
}

LENT_BUFFERS: Final = 3
"""Buffers of observations with `copy=True`: one being written, and the two that most programs refer to at a
time, the last batch and the one before. A program that keeps more gets copies."""


def memory_file() -> int:
    """Return the descriptor of an empty file in memory; it has no name, so it ends with its last process."""
    return os.memfd_create("flagfall-vector", os.MFD_CLOEXEC)


class SharedMemory:
    """Actions, results and observations of all environments in one file in memory.

    Args:
        descriptor: of the file; may be closed afterwards.
        copy: lend out buffers, see the module; otherwise there is one buffer, written in each step.

    Attributes:
        actions: arrays for a batch of actions; `None` if the space has no layout.
        rewards: float64, (count,).
        terminations: bool, (count,).
        truncations: bool, (count,).
    """

    def __init__(
        self,
        descriptor: int,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        count: int,
        *,
        copy: bool,
    ) -> None:
        self.action_layout: Layout | None = Layout.of(action_space, count)
        results = Layout(_RESULTS, count)
        self._layout = Layout.of(observation_space, count)
        self._buffer_bytes = 0 if self._layout is None else _pages(self._layout.size)
        action_bytes = 0 if self.action_layout is None else self.action_layout.size
        self._start = _pages(action_bytes + results.size)
        self._lent: list[weakref.ref[Bytes] | None] = [None] * (LENT_BUFFERS if copy else 1)
        size = self._start + len(self._lent) * self._buffer_bytes
        if not os.fstat(descriptor).st_size:
            os.ftruncate(descriptor, size)
        self._memory = mmap.mmap(descriptor, size)
        self._block: Bytes = np.frombuffer(self._memory, np.uint8)
        self.actions: Any = self.actions_of(0, count)
        arrays = results.arrays(self._block[action_bytes:])
        self.rewards: NDArray[np.float64] = arrays["rewards"]
        self.terminations: Mask = arrays["terminations"]
        self.truncations: Mask = arrays["truncations"]
        self._always = None if copy or self._layout is None else self._layout.arrays(self._part(0))

    def actions_of(self, first: int, last: int) -> Any:
        """Return the arrays for the actions of some environments; `None` if the space has no layout.

        Args:
            last: the environment after the last one.
        """
        return None if self.action_layout is None else self.action_layout.arrays(self._block, first, last)

    def results(self, buffer: int, first: int, last: int) -> Results:
        """Return the arrays for the results of some environments."""
        shown = None if self._layout is None else self._layout.arrays(self._part(buffer), first, last)
        return Results(
            shown, self.rewards[first:last], self.terminations[first:last], self.truncations[first:last]
        )

    @property
    def buffers(self) -> int:
        """The number of buffers for observations."""
        return len(self._lent)

    @property
    def has_observations(self) -> bool:
        """True if observations are in the shared memory."""
        return self._layout is not None

    def free_buffer(self) -> int:
        """Return the first buffer that no array of the caller refers to; there always is one."""
        return next(buffer for buffer in range(self.buffers) if self._is_free(buffer))

    def observations(self, buffer: int) -> Any:
        """Return the observations that were written to a buffer; see `copy`."""
        if self._always is not None:
            return self._always
        assert self._layout is not None
        others = (other for other in range(self.buffers) if other != buffer)
        if not any(map(self._is_free, others)):
            return self._layout.arrays(self._part(buffer).copy())
        lent: Bytes = np.frombuffer(
            self._memory, np.uint8, self._buffer_bytes, self._start + buffer * self._buffer_bytes
        )
        self._lent[buffer] = weakref.ref(lent)
        return self._layout.arrays(lent)

    def _is_free(self, buffer: int) -> bool:
        lent = self._lent[buffer]
        return lent is None or lent() is None

    def _part(self, buffer: int) -> Bytes:
        start = self._start + buffer * self._buffer_bytes
        return self._block[start : start + self._buffer_bytes]


def _pages(size: int) -> int:
    return -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
