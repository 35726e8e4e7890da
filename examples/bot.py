"""Agent that repeats the byte of the turn before.

Play it with `flagfall run --task micro4 --agent examples/bot.py:Bot`.
"""

from __future__ import annotations

import sys

from flagfall import Briefing, ElapsedTimer


class Bot:
    """Agent of the README."""

    def start(self, briefing: Briefing) -> None:
        """Prepare for a match.

        Args:
            briefing: facts about the match; `briefing.seed` is for random numbers.
        """
        self.seat = briefing.seat
        self.last = 32

    def act(self, observation: int, timer: ElapsedTimer) -> int:
        """Return the byte of the turn before.

        Args:
            observation: the byte of this turn.
            timer: the clock of this turn; `timer.late` describes a late turn before it.
        """
        if timer.late:
            print(f"seat {self.seat} was late:", timer.late, file=sys.stderr)
        self.last, said = observation, self.last
        return said
