"""Contracts of agents, schedulers and tasks: functions that raise `AssertionError`."""

from __future__ import annotations

__all__ = ["check_agent", "check_scheduler", "check_task"]

from flagfall.testing.agent_contract import check_agent
from flagfall.testing.scheduler_contract import check_scheduler
from flagfall.testing.task_contract import check_task
