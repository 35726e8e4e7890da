"""Agents that misbehave, and what becomes of them."""

from __future__ import annotations
