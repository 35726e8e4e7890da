"""An agent in the event loop itself: the fastest host, for agents that one trusts.

An agent here shares the loop with everybody. One that blocks can be convicted, not stopped; the others
are not charged for it. One that ignores its cancellation is let go of.
"""

from __future__ import annotations

__all__ = ["LoopHost"]

import types
from collections.abc import Coroutine, Generator
from typing import Any, Final, Literal

import outcome
import trio

from flagfall.agents.agent import adapt
from flagfall.agents.playing import play_seat, settled
from flagfall.errors import AgentFault
from flagfall.kernel.match import Briefing
from flagfall.kernel.seat import Seat

MAX_IGNORED_CANCELLATIONS: Final = 100
"""How often an agent may go on waiting after it was told to stop (cleaning up takes a few)."""

CLOSE_SECONDS: Final = 0.5
"""What `close` of an agent may take."""

_frozen: list[Coroutine[Any, Any, Any]] = []


class LoopHost:
    """Runs an agent as a task of the event loop.

    Args:
        agent: an agent of any kind, see `flagfall.agents.agent`. A class is instantiated in the match.
        name: for tables and records.
    """

    kind: Literal["task"] = "task"

    def __init__(self, agent: Any, name: str) -> None:
        self.name = name
        self._agent = agent

    async def run(self, seat: Seat, briefing: Briefing) -> None:
        """Play the seat; see `flagfall.kernel.match.AgentHost`."""
        await _leashed(self._play(seat, briefing))

    async def _play(self, seat: Seat, briefing: Briefing) -> None:
        try:
            await seat.turn()
        except trio.EndOfChannel:
            return
        agent = adapt(self._agent, seat.timer)
        await settled(agent.start(briefing))
        seat.wants = agent.wants
        seat.reply()
        try:
            await play_seat(agent, seat)
        except trio.EndOfChannel:
            pass
        finally:
            with trio.move_on_after(CLOSE_SECONDS) as scope:
                scope.shield = True
                await settled(agent.close())


@types.coroutine
def _leashed(agent: Coroutine[Any, Any, None]) -> Generator[Any, Any, None]:
    """Drive an agent's coroutine for trio; let go of it when it does not want to stop.

    Trio tells a task that it is cancelled again at each of its checkpoints. An agent that swallows that
    and goes on would keep the match from ending.
    """
    answer: Any = None
    ignored = 0
    while True:
        try:
            trap = agent.send(answer)
        except StopIteration:
            return
        answer = yield trap
        if isinstance(answer, outcome.Error) and isinstance(answer.error, trio.Cancelled):
            ignored += 1
            if ignored > MAX_IGNORED_CANCELLATIONS:
                _let_go(agent)
                raise AgentFault("crashed", "it ignored its cancellation")


def _let_go(agent: Coroutine[Any, Any, None]) -> None:
    awaited = [agent]
    while (inner := getattr(awaited[-1], "cr_await", None)) is not None:
        awaited.append(inner)
    try:
        agent.close()
    except RuntimeError:  # it ignored even that: keep its frames, or the end of each would be one more error
        _frozen.extend(awaited)
