"""Benchmark: every agent plays every task with every seed; at games for several seats all agents meet."""

from __future__ import annotations

__all__ = ["Benchmark"]

from collections.abc import Sequence
from typing import ClassVar

import attrs

from flagfall.configfile.problems import Problems
from flagfall.tournament.formats.fixed_rounds import FixedRounds
from flagfall.tournament.model import PlannedTask, Stop


@attrs.frozen
class Benchmark(FixedRounds):
    """Every agent plays every task with every seed; at games for several seats all agents meet."""

    kind: ClassVar[str] = "benchmark"

    def check(
        self, names: Sequence[str], tasks: Sequence[PlannedTask], stop: Stop, problems: Problems
    ) -> None:
        """Accept every plan; see `Format.check`."""
