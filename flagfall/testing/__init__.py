"""Contracts of agents, schedulers and tasks: functions that raise `AssertionError`."""

from __future__ import annotations

__all__ = ["check_agent", "check_scheduler", "check_task"]

from flagfall.testing.contracts import check_agent, check_task
from flagfall.testing.scheduler_contract import check_scheduler
