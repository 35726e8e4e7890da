"""Action masks: what an environment says is allowed now, in what it shows or in its info.

A mask that agents are shown is law: an action that it forbids is no legal answer. It is an array with nonzero
at the place of each `Discrete` action that is allowed.
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
"""Where environments put it: in a mapping observed, or in the info."""


def has_mask(space: spaces.Space[Any]) -> bool:
    """Whether observations of this space have a mask in them."""
    return isinstance(space, spaces.Dict) and MASK_KEY in space.spaces


def mask_of(observation: Any) -> Any:
    """The mask in an observation; `None` where there is none."""
    return observation.get(MASK_KEY) if isinstance(observation, Mapping) else None


def is_allowed(space: spaces.Space[Any], mask: Any, action: Any) -> bool:
    """Whether a mask allows an action of the space; of other than `Discrete` spaces it allows all."""
    if mask is None or not isinstance(space, spaces.Discrete):
        return True
    return bool(mask[read(space, action) - int(space.start)])


def with_mask_space(task_id: str, space: spaces.Space[Any], actions: spaces.Space[Any]) -> spaces.Dict:
    """The space of observations with a mask beside them.

    Raises:
        UsageError: the actions are not `Discrete`.
    """
    if not isinstance(actions, spaces.Discrete):
        raise UsageError(f"{task_id}: action_mask is for Discrete actions, not for {actions}")
    return spaces.Dict({"observation": space, MASK_KEY: spaces.MultiBinary(int(actions.n))})


def with_mask(observation: Any, mask: Any, actions: Any) -> dict[str, Any]:
    """The observation with a mask beside it; one that allows everything, where the info had none."""
    count = int(actions.n)
    allowed = np.ones(count, np.int8) if mask is None else np.asarray(mask).astype(np.int8)
    return {"observation": observation, MASK_KEY: allowed}
