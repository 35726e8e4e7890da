"""Class paths in configurations of round 1, and the ids that they stand for."""

from __future__ import annotations

__all__ = ["ORIGINAL_SCHEDULERS", "ORIGINAL_TASKS", "ORIGINAL_WORLDS"]

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from flagfall.tasks.commai.original.catalog import ORIGINAL_NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping

_MICRO: Final = {
    "Micro1Task": "micro1",
    "Micro2Task": "micro2",
    "Micro3Task": "micro3",
    "Micro4Task": "micro4",
    **{f"Micro5Sub{number}Task": f"micro5.{number}" for number in range(1, 19)},
    "Micro6Task": "micro6",
    "Micro7Sub1Task": "micro7.1",
    "Micro7Sub2Task": "micro7.2",
    "Micro7Sub3Task": "micro7.3",
    "Micro8Task": "micro8",
    "Micro9Sub1Task": "micro9.1",
    "Micro9Sub2Task": "micro9.2",
    "Micro9Sub3Task": "micro9.3",
    "Micro10Task": "micro10",
    "Micro11Task": "micro11",
    "Micro12Task": "micro12",
    "Micro13Sub1Task": "micro13.1",
    "Micro13Sub2Task": "micro13.2",
    "Micro14Task": "micro14",
    "Micro15Task": "micro15",
    "Micro16Task": "micro16",
    "Micro19Task": "micro19",
    "Micro20Task": "micro20",
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
