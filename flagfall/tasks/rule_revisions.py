"""Revisions of the rules of task families, recorded in journals.

The header of a journal holds `REVISIONS` as they were when the match was played; a family that is missing
there was played under revision 1. A task whose rules have changed has a method `follow_rules`, which takes
the recorded revisions; see `flagfall.kernel.roles.TaskRole.reset`.
"""

from __future__ import annotations

__all__ = ["REVISIONS", "ROUND1", "revision_of", "unknown_revision"]

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

ROUND1: Final = "round1"
"""The micro-tasks and mini-tasks of round 1 of the General AI Challenge.

Revision 1 repaired four quirks of the original and drew strings for mini-tasks that the original cannot draw.
Revision 2 follows the original, with the repairs as the option `fixes`; some strings of mini-tasks were more
or less likely than there. Revision 3 draws them as the original does.
"""

REVISIONS: Final[Mapping[str, int]] = MappingProxyType({ROUND1: 3})
"""The current revisions, by family."""


def revision_of(recorded: Mapping[str, int], family: str) -> int:
    """Return the revision of a family under which a match was played.

    Args:
        recorded: the revisions in the journal, by family.
        family: such as `ROUND1`.
    """
    return recorded.get(family, 1)


def unknown_revision(recorded: Mapping[str, int], family: str) -> str | None:
    """Return why the rules of a recorded match are unknown to this version; `None` if they are known.

    Args:
        recorded: the revisions in the journal, by family.
        family: such as `ROUND1`.
    """
    revision, known = revision_of(recorded, family), REVISIONS[family]
    if 1 <= revision <= known:
        return None
    return f"it was played by revision {revision} of the rules of {family}; this flagfall has {known}"
