"""A bound on what one cycle may cost: no game, however it was written, can hold up its host for long.

The original has no such bound; a game that doubles its sprites with each effect stands still there.
"""

from __future__ import annotations

__all__ = ["CROWDED", "MAX_EFFORT", "MAX_TIMERS", "TooMuchEffortError", "spend"]

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from flagfall.tasks.vgdl.engine.state.play import Play

MAX_EFFORT: Final = 300_000
"""Sprites made, killed, looked at or run through in one cycle; the public games stay below 10,000."""

MAX_TIMERS: Final = 10_000
"""Timers that wait; the public games stay below 20."""

CROWDED: Final = 32
"""Cells and groups with no more sprites than these are not worth counting."""


class TooMuchEffortError(Exception):
    """A cycle costs too much; the play ends."""


def spend(play: Play, effort: int) -> None:
    """Count some effort of this cycle.

    Raises:
        TooMuchEffortError: that was too much.
    """
    play.effort += effort
    if play.effort > MAX_EFFORT:
        raise TooMuchEffortError(f"more than {MAX_EFFORT} steps in one cycle")
