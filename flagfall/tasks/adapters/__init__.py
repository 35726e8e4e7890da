"""Adapters that make tasks of Gymnasium and PettingZoo environments (`docs/environments.md`)."""

from __future__ import annotations
