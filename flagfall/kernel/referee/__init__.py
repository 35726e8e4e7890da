"""The referee of a match: a state machine without an event loop, its ticks, and the running task's rules."""

from __future__ import annotations
