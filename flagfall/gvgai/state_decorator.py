"""Decorator for agents that take states as objects on every host; in a process they arrive as mappings."""

from __future__ import annotations

__all__ = ["with_state_observation"]

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from flagfall.tasks.vgdl.views.state_observation import StateObservation

_Class = TypeVar("_Class", bound=type)


def with_state_observation(agent: _Class) -> _Class:
    """Convert the first argument of `init`, `act` and `result` of a class to a `StateObservation`.

    Args:
        agent: class of an agent.
    """
    for name in ("init", "act", "result"):
        method = inspect.getattr_static(agent, name, None)
        if inspect.isfunction(method):
            setattr(agent, name, _converting(method))
    return agent


def _converting(method: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(method):

        @wraps(method)
        async def converting_async(self: Any, observation: Any, *more: Any) -> Any:
            return await method(self, _state(observation), *more)

        return converting_async

    @wraps(method)
    def converting(self: Any, observation: Any, *more: Any) -> Any:
        return method(self, _state(observation), *more)

    return converting


def _state(observation: Any) -> StateObservation:
    if isinstance(observation, StateObservation):
        return observation
    return StateObservation.from_plain(observation)
