"""The agent loop: plays a seat with an agent, in the event loop, a thread or a process."""

from __future__ import annotations

__all__ = ["play_seat", "resolve"]

import inspect
from typing import Any

from flagfall.agents.agent import AdaptedAgent, AgentSeat
from flagfall.kernel.tracebacks import hide_frames

hide_frames(__file__)


async def play_seat(agent: AdaptedAgent, seat: AgentSeat) -> None:
    """Answer every turn until there are no more.

    Args:
        agent: the agent.
        seat: its seat.

    Raises:
        trio.EndOfChannel: the match is over (from the seat).
    """
    if agent.run is not None:
        await agent.run(seat)
        return
    turn, reply, answer = seat.turn, seat.reply, agent.answer
    if agent.answers_async:
        while True:
            envelope = await turn()
            if envelope.phase == "act":
                reply(await answer(envelope), envelope.number)
            else:
                reply(await resolve(agent.phases[envelope.phase](envelope)), envelope.number)
    while True:
        envelope = await turn()
        if envelope.phase == "act":
            reply(answer(envelope), envelope.number)
        else:
            reply(await resolve(agent.phases[envelope.phase](envelope)), envelope.number)


async def resolve(value: Any) -> Any:
    """Return a value, after waiting for it if it is awaitable.

    Args:
        value: as a method returned it.
    """
    return await value if value is not None and inspect.isawaitable(value) else value
