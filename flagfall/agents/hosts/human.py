"""Host of a human player at this terminal."""

from __future__ import annotations

__all__ = ["HumanHost"]

from typing import Any

from flagfall.agents.hosts.in_loop import LoopHost


class HumanHost(LoopHost):
    """Runs a human player in the event loop.

    Args:
        human: a player, see `flagfall.agents.human`.
        name: for tables and records.

    Attributes:
        human: the player; its event `stop` may be set, and its method `notice` is a sink.
    """

    def __init__(self, human: Any, name: str) -> None:
        super().__init__(human, name)
        self.human = human
