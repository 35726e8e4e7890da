"""An agent that says what it was told one turn ago.

Try it with `flagfall run --task micro4 --agent examples/bot.py:Bot`.
"""

from __future__ import annotations

import sys

from flagfall import Briefing, ElapsedTimer


class Bot:
    """The agent of the README."""

    def start(self, briefing: Briefing) -> None:
        """Come up; `briefing.seed` is there for whatever is random."""
        self.seat = briefing.seat
        self.last = 32

    def act(self, observation: int, timer: ElapsedTimer) -> int:
        """Answer with the byte before the last."""
        if timer.late:
            print(f"seat {self.seat} was late:", timer.late, file=sys.stderr)
        self.last, said = observation, self.last
        return said
