"""Contracts as checks: plain functions that raise `AssertionError`, for any test framework."""

from __future__ import annotations

from flagfall.testing.agents import check_agent as check_agent
from flagfall.testing.channels import check_channel as check_channel
from flagfall.testing.schedulers import check_scheduler as check_scheduler
from flagfall.testing.tasks import check_task as check_task
