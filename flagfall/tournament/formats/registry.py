"""Table of the tournament formats: one row a format.

A format is a class in a file of its own, with `check`, `schedule`, `total` and `ranks`; see
`flagfall.tournament.model.Format`. Nothing else enumerates formats.
"""

from __future__ import annotations

__all__ = ["FORMATS"]

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from flagfall.tournament.formats.benchmark import Benchmark
from flagfall.tournament.formats.gauntlet import Gauntlet
from flagfall.tournament.formats.knockout import Knockout
from flagfall.tournament.formats.round_robin import RoundRobin
from flagfall.tournament.formats.swiss import Swiss
from flagfall.tournament.model import Format

_ROWS: Final[tuple[type[Format], ...]] = (
    Benchmark,
    RoundRobin,
    Gauntlet,
    Swiss,
    Knockout,
)

FORMATS: Final[Mapping[str, type[Format]]] = MappingProxyType({row.kind: row for row in _ROWS})
"""Formats by the name that a plan's `format` gives; the fields of the class are the settings of its table."""
