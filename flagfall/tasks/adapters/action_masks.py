"""Action masks: the actions that an environment currently allows, from its observation or its info.

A mask that agents are shown is binding: an action that it forbids is illegal. A mask is an array with a
nonzero entry for each allowed `Discrete` action.
"""

from __future__ import annotations

__all__ = ["MASK_KEY", "has_mask", "is_allowed", "mask_of", "with_mask", "with_mask_space"]

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from flagfall.errors import UsageError
from flagfall.tasks.adapters.space_values import read

MASK_KEY: Final = "action_mask"
"""The key of the mask in an observation that is a mapping, or in the info."""


def has_mask(space: spaces.Space[Any]) -> bool:
    """Return whether observations of a space contain a mask.

    Args:
        space: the observation space.
    """
    return isinstance(space, spaces.Dict) and MASK_KEY in space.spaces


def mask_of(observation: Any) -> Any:
    """Return the mask in an observation; `None` if there is none.

    Args:
        observation: any observation.
    """
    return observation.get(MASK_KEY) if isinstance(observation, Mapping) else None


def is_allowed(space: spaces.Space[Any], mask: Any, action: Any) -> bool:
    """Return whether a mask allows an action; spaces other than `Discrete` are not masked.

    Args:
        space: the action space.
        mask: the mask; `None` for none.
        action: an action of the space.
    """
    if mask is None or not isinstance(space, spaces.Discrete):
        return True
    return bool(mask[read(space, action) - int(space.start)])


def with_mask_space(task_id: str, space: spaces.Space[Any], actions: spaces.Space[Any]) -> spaces.Dict:
    """Return the space of observations with an added mask.

    Args:
        task_id: the task, for messages.
        space: the space of the observations.
        actions: the action space.

    Raises:
        UsageError: the actions are not `Discrete`.
    """
    if not isinstance(actions, spaces.Discrete):
        raise UsageError(f"{task_id}: action_mask needs a Discrete action space, got {actions}")
    return spaces.Dict({"observation": space, MASK_KEY: spaces.MultiBinary(int(actions.n))})


def with_mask(observation: Any, mask: Any, actions: Any) -> dict[str, Any]:
    """Return an observation with an added mask.

    Args:
        observation: the observation.
        mask: the mask from the info; `None` allows everything.
        actions: the action space, `Discrete`.
    """
    count = int(actions.n)
    allowed = np.ones(count, np.int8) if mask is None else np.asarray(mask).astype(np.int8)
    return {"observation": observation, MASK_KEY: allowed}
