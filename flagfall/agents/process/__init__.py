"""Isolation of agents in processes of their own."""

from __future__ import annotations
