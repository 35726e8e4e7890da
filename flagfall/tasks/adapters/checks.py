"""What environments of other makers do that none should, told in one line."""

from __future__ import annotations

__all__ = ["checked_flag", "close_environment", "finite_reward"]

from math import isfinite, nan
from typing import Any

from flagfall.errors import HostFault, UsageError


def finite_reward(reward: Any) -> float:
    """The reward as a number.

    Raises:
        ValueError: it is none, or not finite: nothing can be summed up with it, and no journal has it.
    """
    try:
        number = float(reward)
    except (TypeError, ValueError):
        number = nan
    if not isfinite(number):
        raise ValueError(f"its reward is {reward!r}; rewards are finite numbers")
    return number


def checked_flag(task_id: str, name: str, value: Any) -> bool:
    """An option that is true or false.

    Raises:
        UsageError: it is something else, such as a text.
    """
    if not isinstance(value, bool):
        raise UsageError(f"{task_id}: {name}={value!r}: write true or false")
    return value


def close_environment(task_id: str, env: Any) -> None:
    """Close it.

    Raises:
        HostFault: it cannot be closed.
    """
    try:
        env.close()
    except Exception as error:
        raise HostFault(f"{task_id} cannot be closed: {type(error).__name__}: {error}") from error
