"""Pages to look at."""

from __future__ import annotations

__all__ = ["SUITE"]

from benchmarks.scrubbing import scrubbing
from benchmarks.suites import Suite, by_name

SUITE = Suite("Pages to look at", by_name(scrubbing))
