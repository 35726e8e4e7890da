"""Revisions of the rules of task families, so that a journal names those by which its match was played.

A journal's header has `REVISIONS` as they were when the match was played; a family that is missing there was
played by revision 1. A task whose rules have changed has a method `follow_rules` with those as its argument,
see `flagfall.kernel.roles.TaskRole.reset`.
"""

from __future__ import annotations

__all__ = ["REVISIONS", "ROUND1", "is_first_revision", "unknown_revision"]

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

ROUND1: Final = "round1"
"""The micro-tasks and mini-tasks of round 1 of the General AI Challenge.

1: four quirks of the original repaired, and strings of mini-tasks that the original cannot draw. 2: the
original, with the repairs as the option `fixes`.
"""

REVISIONS: Final[Mapping[str, int]] = MappingProxyType({ROUND1: 2})
"""The revisions in force, by family."""


def is_first_revision(recorded: Mapping[str, int], family: str) -> bool:
    """Return whether a match was played by the first rules of a family."""
    return recorded.get(family, 1) == 1


def unknown_revision(recorded: Mapping[str, int], family: str) -> str | None:
    """Return why rules that a match was played by are not known here; `None` where they are."""
    revision, known = recorded.get(family, 1), REVISIONS[family]
    if 1 <= revision <= known:
        return None
    return f"it was played by revision {revision} of the rules of {family}; this flagfall has {known}"
