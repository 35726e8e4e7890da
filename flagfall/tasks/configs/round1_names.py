"""Class paths in configurations of round 1, and the ids that they stand for."""

from __future__ import annotations

__all__ = ["ORIGINAL_SCHEDULERS", "ORIGINAL_TASKS", "ORIGINAL_WORLDS"]

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from flagfall.tasks.commai.catalog import MICRO_TASKS
from flagfall.tasks.commai.original.catalog import ORIGINAL_NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping

_MICRO: Final = {
    f"Micro{task_id.removeprefix('micro').replace('.', 'Sub')}Task": task_id for task_id in MICRO_TASKS
}

_MINI: Final = {f"TaskSet{number}": f"mini{number}" for number in range(6)}

# Each family with its original modules: that of the challenge, and that of its last drafts.
_MODULES: Final = (
    (_MICRO, ("tasks.challenge.round1.challenge_micro", "tasks.good_ai.micro")),
    (_MINI, ("tasks.challenge.round1.challenge_mini", "tasks.good_ai.comm_ai_mini")),
)

ORIGINAL_TASKS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **{
            f"{module}.{name}": task_id
            for family, modules in _MODULES
            for module in modules
            for name, task_id in family.items()
        },
        **ORIGINAL_NAMES,
    }
)
"""Types of tasks, by class path."""

ORIGINAL_SCHEDULERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "core.scheduler.RandomTaskScheduler": "random",
        "core.scheduler.SequentialTaskScheduler": "sequential",
        "core.scheduler.IncrementalTaskScheduler": "incremental",
        "core.scheduler.ConsecutiveTaskScheduler": "consecutive",
        "core.scheduler.DependenciesTaskScheduler": "dependencies",
    }
)
"""Policies, by class path."""

ORIGINAL_WORLDS: Final[Mapping[str, str]] = MappingProxyType({"worlds.grid_world.GridWorld": "grid"})
"""Types of worlds, by class path."""
