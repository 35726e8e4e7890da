"""Seeds for foreign environments, and the warning about environments that ignore them."""

from __future__ import annotations

__all__ = ["IGNORES_SEED", "SeedIgnoredWarning", "environment_seed", "warn_of_ignored_seed"]

import warnings
from typing import Final

IGNORES_SEED: Final = "the environment ignores its seed: two resets with the same one did not show the same"
"""The value of `not_repeatable` for such an environment."""

_SEEDS: Final = 2**31
"""Number of seeds that every environment accepts: some pass them to C libraries as an `int`."""


class SeedIgnoredWarning(UserWarning):
    """Two resets of an environment with the same seed gave different observations."""


def environment_seed(seed: int) -> int:
    """Return the seed of an environment, 0 to 2**31 - 1.

    Args:
        seed: the seed of the task.
    """
    return seed % _SEEDS


def warn_of_ignored_seed(task_id: str) -> None:
    """Warn that a match with a task can be neither repeated nor verified.

    Args:
        task_id: the task.
    """
    warnings.warn(f"{task_id}: {IGNORES_SEED}", SeedIgnoredWarning, stacklevel=2)
