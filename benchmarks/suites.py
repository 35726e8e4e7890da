"""Table of all suites; a suite is a module with a value `SUITE`: a title, and groups of rows."""

from __future__ import annotations

__all__ = ["SUITES", "Group", "Suite", "by_name", "load_suite"]

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Final, TypeAlias

import attrs

from benchmarks.measure import Row

Group: TypeAlias = Callable[[int], Iterator[Row]]
"""Rows that are measured together, each while it is read; the argument, the scale, divides the work."""

SUITES: Final[Mapping[str, str]] = {
    "kernel": "benchmarks.kernel",
    "match_cost": "benchmarks.match_cost",
    "hosts": "benchmarks.hosts",
    "wasm": "benchmarks.wasm",
    "round1": "benchmarks.round1",
    "langroom": "benchmarks.langroom",
    "gvgai": "benchmarks.gvgai",
    "vgdl": "benchmarks.vgdl",
    "tournament": "benchmarks.tournament",
    "adaptive": "benchmarks.adaptive",
    "stops": "benchmarks.stops",
    "load": "benchmarks.load",
    "growth": "benchmarks.growth",
    "statistics": "benchmarks.interval_coverage",
    "faults": "benchmarks.faults",
    "limits": "benchmarks.limits",
    "vector": "benchmarks.vector",
    "viewer": "benchmarks.viewer",
}
"""Module of each suite, imported when the suite is used, so that a broken one disturbs no other."""


@attrs.frozen
class Suite:
    """Groups of rows under one title.

    Attributes:
        title: printed above the table.
        groups: functions by the name that `--only` selects.
    """

    title: str
    groups: Mapping[str, Group]

    def select(self, only: str) -> Mapping[str, Group]:
        """Return the groups whose name contains a text.

        Args:
            only: the text; empty for all groups.
        """
        return {name: group for name, group in self.groups.items() if only in name}


def by_name(*groups: Group) -> Mapping[str, Group]:
    """Return functions by their names.

    Args:
        groups: the functions.
    """
    return {group.__name__: group for group in groups}


def load_suite(name: str) -> Suite:
    """Import a suite.

    Args:
        name: in `SUITES`.
    """
    suite = import_module(SUITES[name]).SUITE
    assert isinstance(suite, Suite)
    return suite
