"""Agents: their kinds, samples, and the hosts that run them."""

from __future__ import annotations

from flagfall.agents.agent import Agent as Agent
from flagfall.agents.samples.registry import SAMPLES as SAMPLES
from flagfall.kernel.hosting import Briefing as Briefing
from flagfall.kernel.seat import Seat as Seat
