"""Host of an agent in the event loop itself: the fastest host, for trusted agents.

An agent here shares the loop with the match and the other agents. One that blocks can be disqualified, but
not stopped; the others are not charged for it. One that ignores its cancellation is abandoned, unless it does
so in tasks of its own or behind a shield: its match waits for these.
"""

from __future__ import annotations

__all__ = ["LoopHost"]

import inspect
from contextlib import nullcontext
from typing import Any, Final

import attrs
import trio
from trio.lowlevel import cancel_shielded_checkpoint

from flagfall.agents.agent import AdaptedAgent, adapt
from flagfall.agents.hosts.cancellation import guard
from flagfall.agents.loop import play_seat, resolve
from flagfall.errors import AgentFault, HostFault, UsageError
from flagfall.kernel.channels.envelope import Envelope
from flagfall.kernel.hosting import Briefing, HostKind
from flagfall.kernel.seat import HostSeat
from flagfall.kernel.tracebacks import agent_traceback, hide_frames
from flagfall.timing.cpu_clock import counting_steps
from flagfall.timing.durations import S

hide_frames(__file__)

CLOSE_SECONDS: Final = 0.5
"""The longest time of an agent's `close`."""

_SETTLING_PASSES: Final = 2
"""Passes of the loop after which an agent that ended too early is disqualified. Turns of absent seats take a
pass each; so those of one moment on the virtual clock come first, in whatever order trio runs the tasks."""

_NOTHING_COUNTED: Final = nullcontext()


class LoopHost:
    """Runs an agent as a task of the event loop.

    Args:
        agent: an agent of any kind, see `flagfall.agents.agent`. A class is instantiated in the match.
        name: for tables and records.
        think_ns: a fixed time in nanoseconds that each action takes besides, of an agent that is asked turn
            by turn: on the virtual clock only waiting takes time.
    """

    kind: HostKind = "task"

    def __init__(self, agent: Any, name: str, think_ns: int = 0) -> None:
        self.name = name
        self._agent = agent
        self._think_ns = think_ns

    async def run(self, seat: HostSeat, briefing: Briefing) -> None:
        """Play the seat; see `flagfall.kernel.hosting.AgentHost`.

        Args:
            seat: the seat to play.
            briefing: the information for the agent.
        """
        try:
            await guard(self._play(seat, briefing), seat)
        except (UsageError, HostFault) as error:  # from the agent's own code, not from the user or the host
            raise AgentFault("crashed", agent_traceback(error)) from error
        finally:
            if not seat.is_closed():
                for _ in range(_SETTLING_PASSES):
                    await cancel_shielded_checkpoint()

    async def _play(self, seat: HostSeat, briefing: Briefing) -> None:
        try:
            await seat.agent.turn()
        except trio.EndOfChannel:
            return
        with counting_steps() if seat.budget.control.clock == "cpu" else _NOTHING_COUNTED as cpu:
            if cpu is not None:
                seat.clock.cpu_clock = cpu.used_ns
            agent = await self._start(seat, briefing)
            try:
                await play_seat(agent, seat.agent)
            except trio.EndOfChannel:
                pass
            finally:
                closing = agent.close()
                if closing is not None and inspect.isawaitable(closing):
                    with trio.move_on_after(CLOSE_SECONDS, shield=True):
                        await closing

    async def _start(self, seat: HostSeat, briefing: Briefing) -> AdaptedAgent:
        try:
            agent = adapt(self._agent, seat.agent.timer)
            await resolve(agent.start(briefing))
        except Exception as error:
            raise AgentFault("not started", agent_traceback(error)) from error
        seat.agent.wants = agent.wants
        seat.agent.reply()
        return _delayed(agent, self._think_ns) if self._think_ns else agent


def _delayed(agent: AdaptedAgent, think_ns: int) -> AdaptedAgent:
    """Return an agent that takes a time for each answer, before its own."""

    async def answer(envelope: Envelope) -> Any:
        await trio.sleep(think_ns / S)
        return await resolve(agent.answer(envelope))

    return attrs.evolve(agent, answer=answer, answers_async=True)
