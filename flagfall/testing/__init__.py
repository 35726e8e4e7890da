"""Contracts of agents, schedulers and tasks: functions that raise `AssertionError`."""

from __future__ import annotations

from flagfall.testing.agent_contract import check_agent as check_agent
from flagfall.testing.scheduler_contract import check_scheduler as check_scheduler
from flagfall.testing.task_contract import check_task as check_task
