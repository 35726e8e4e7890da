"""Host that delays every answer by a fixed time: on the virtual clock only delays take time."""

from __future__ import annotations

__all__ = ["FixedDelayHost"]

from typing import TYPE_CHECKING, Any

import attrs
import trio

from flagfall.agents.hosts.in_loop import LoopHost
from flagfall.agents.loop import resolve

if TYPE_CHECKING:
    from flagfall.agents.agent import AdaptedAgent
    from flagfall.kernel.channels.envelope import Envelope
    from flagfall.kernel.hosting import Briefing
    from flagfall.kernel.seat import HostSeat

_NS = 1_000_000_000


class FixedDelayHost(LoopHost):
    """Host of an agent in the event loop that takes a fixed time for each turn.

    Args:
        agent: any agent that is asked turn by turn, see `flagfall.agents.agent`.
        name: name in tables and records.
        think_ns: time of each turn in nanoseconds.
    """

    def __init__(self, agent: Any, name: str, think_ns: int) -> None:
        super().__init__(agent, name)
        self._seconds = think_ns / _NS

    async def _start(self, seat: HostSeat, briefing: Briefing) -> AdaptedAgent:
        played = await super()._start(seat, briefing)

        async def answer(envelope: Envelope) -> Any:
            await trio.sleep(self._seconds)
            return await resolve(played.answer(envelope))

        return attrs.evolve(played, answer=answer, answers_async=True)
