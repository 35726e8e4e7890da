"""Agents that see states as objects wherever they run: in a process of its own one is sent plain mappings."""

from __future__ import annotations

__all__ = ["sees_states"]

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from flagfall.tasks.vgdl.views.state_observation import StateObservation

_Class = TypeVar("_Class", bound=type)


def sees_states(agent: _Class) -> _Class:
    """Let `init`, `act` and `result` of a class be given a `StateObservation` as their first argument."""
    for name in ("init", "act", "result"):
        method = inspect.getattr_static(agent, name, None)
        if inspect.isfunction(method):
            setattr(agent, name, _seeing(method))
    return agent


def _seeing(method: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(method):

        @wraps(method)
        async def seeing_async(self: Any, observation: Any, *more: Any) -> Any:
            return await method(self, _state(observation), *more)

        return seeing_async

    @wraps(method)
    def seeing(self: Any, observation: Any, *more: Any) -> Any:
        return method(self, _state(observation), *more)

    return seeing


def _state(observation: Any) -> StateObservation:
    if isinstance(observation, StateObservation):
        return observation
    return StateObservation.from_plain(observation)
