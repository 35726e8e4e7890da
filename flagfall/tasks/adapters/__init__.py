"""Environments of other makers as tasks: Gymnasium's and PettingZoo's (`docs/environments.md`)."""

from __future__ import annotations
