"""Seeds on their way to environments of other makers, and whether they arrive."""

from __future__ import annotations

__all__ = ["IGNORES_SEED", "SeedIgnoredWarning", "environment_seed", "warn_of_ignored_seed"]

import warnings
from typing import Final

IGNORES_SEED: Final = "the environment ignores its seed: two resets with the same one did not show the same"
"""Why a match is not repeatable, for `not_repeatable`."""

_SEEDS: Final = 2**31
"""Seeds that every environment takes: some hand them to C libraries, as an `int`."""


class SeedIgnoredWarning(UserWarning):
    """An environment was reset with the same seed twice, and did not show the same."""


def environment_seed(seed: int) -> int:
    """What an environment is given for the seed of a task, 0 to 2**31 - 1."""
    return seed % _SEEDS


def warn_of_ignored_seed(task_id: str) -> None:
    """Tell once that a match with this task can be neither repeated nor verified."""
    warnings.warn(f"{task_id}: {IGNORES_SEED}", SeedIgnoredWarning, stacklevel=2)
