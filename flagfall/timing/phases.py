"""The phases in which an agent is asked something."""

from __future__ import annotations

__all__ = ["PHASES", "Phase"]

from typing import Final, Literal, TypeAlias, get_args

Phase: TypeAlias = Literal["start", "init", "act", "result"]
"""Phase of a match in which an agent is asked.

- `start`: load and get ready; the observation is what the agent may know before it plays (`Briefing` fields).
- `init`: a task begins; the observation is its first.
- `act`: choose an action.
- `result`: a task is over; the observation is its last one, the reward its last reward.
"""

PHASES: Final[tuple[Phase, ...]] = get_args(Phase)
"""All phases."""
