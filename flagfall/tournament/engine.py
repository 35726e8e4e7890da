"""What a runner asks of an engine: something that plays matches somewhere, several at a time."""

from __future__ import annotations

__all__ = ["Engine", "WorkerLost"]

from typing import Protocol

from flagfall.errors import HostFault
from flagfall.tournament.playing_matches import Attempt
from flagfall.tournament.records import MatchRecord


class WorkerLost(HostFault):
    """Who played a match is gone: its process was killed, or its machine."""


class Engine(Protocol):
    """Plays the matches of one tournament."""

    async def play(self, attempt: Attempt) -> MatchRecord:
        """Play one match. Several may be played at a time; the journal lies in the tournament's folder then.

        Cancelling it ends the match, with the processes of its agents.

        Raises:
            WorkerLost: who played it is gone; it may be played again.
            UsageError: it cannot be played as the plan has it.
        """

    async def aclose(self) -> None:
        """Let the workers go; not while a match is played."""
