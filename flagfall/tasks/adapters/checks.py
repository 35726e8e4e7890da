"""Checks of foreign environments, with one-line messages."""

from __future__ import annotations

__all__ = ["checked_flag", "close_environment", "finite_reward"]

from math import isfinite, nan
from typing import Any

from flagfall.errors import HostFault, UsageError


def finite_reward(reward: Any) -> float:
    """Return a reward as a number.

    Args:
        reward: the value returned by an environment.

    Raises:
        ValueError: it is not a finite number, so it can be neither summed nor recorded.
    """
    try:
        number = nan if getattr(reward, "ndim", 0) else float(reward)  # numpy 2.0 would convert arrays of one
    except (TypeError, ValueError):
        number = nan
    if not isfinite(number):
        raise ValueError(f"its reward is {reward!r}; rewards are finite numbers")
    return number


def checked_flag(task_id: str, name: str, value: Any) -> bool:
    """Return a boolean option.

    Args:
        task_id: the task, for messages.
        name: the name of the option.
        value: its value, of any type.

    Raises:
        UsageError: the value is not a boolean.
    """
    if not isinstance(value, bool):
        raise UsageError(f"{task_id}: {name}={value!r}: write true or false")
    return value


def close_environment(task_id: str, env: Any) -> None:
    """Close an environment.

    Args:
        task_id: the task, for messages.
        env: the environment.

    Raises:
        HostFault: closing it failed.
    """
    try:
        env.close()
    except Exception as error:
        raise HostFault(f"{task_id} cannot be closed: {type(error).__name__}: {error}") from error
