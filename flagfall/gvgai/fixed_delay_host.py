"""An agent whose every act takes some time: on the virtual clock, nothing else does."""

from __future__ import annotations

__all__ = ["PonderingHost"]

from typing import TYPE_CHECKING, Any

import attrs
import trio

from flagfall.agents.hosts.in_loop import LoopHost
from flagfall.agents.loop import resolve

if TYPE_CHECKING:
    from flagfall.agents.agent import AdaptedAgent
    from flagfall.kernel.channels.envelope import Envelope
    from flagfall.kernel.hosting import Briefing
    from flagfall.kernel.seat import Seat

_NS = 1_000_000_000


class PonderingHost(LoopHost):
    """Runs an agent in the event loop, and lets it take so long for each turn.

    Args:
        agent: of any kind that is asked turn by turn, see `flagfall.agents.agent`.
        name: for tables and records.
        think_ns: nanoseconds.
    """

    def __init__(self, agent: Any, name: str, think_ns: int) -> None:
        super().__init__(agent, name)
        self._seconds = think_ns / _NS

    async def _start(self, seat: Seat, briefing: Briefing) -> AdaptedAgent:
        played = await super()._start(seat, briefing)

        async def answer(envelope: Envelope) -> Any:
            await trio.sleep(self._seconds)
            return await resolve(played.answer(envelope))

        return attrs.evolve(played, answer=answer, answers_async=True)
