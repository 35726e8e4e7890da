"""Agents that misbehave, and the outcomes that are expected of them."""

from __future__ import annotations
