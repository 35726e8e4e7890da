"""Hosts of agents in the event loop, and of people at this terminal.

Trio raises `Cancelled` in a cancelled task at each of its checkpoints, and waits until the task has ended. An
agent that catches it and goes on would keep its match from ending, and on the virtual clock time itself. So
its coroutine is driven by a guard that counts the cancellations it ignores, and abandons it in the end.

The guard sees the agent's own task only, and no cancellation behind a shield: agents in the loop are trusted
(`docs/hosts.md`).
"""

from __future__ import annotations

import ctypes
import inspect
import types
from collections.abc import Coroutine, Generator
from contextlib import nullcontext
from typing import Any, Final

import outcome
import trio
from trio.lowlevel import cancel_shielded_checkpoint, current_task

from flagfall.agents.agent import AdaptedAgent, adapt, play_seat, resolve
from flagfall.errors import AgentFault, HostFault, UsageError
from flagfall.kernel.hosting import Briefing, HostKind
from flagfall.kernel.seat import HostSeat
from flagfall.kernel.tracebacks import agent_traceback, hide_frames
from flagfall.timing.clocks import counting_steps

hide_frames(__file__)

MAX_IGNORED_CANCELLATIONS: Final = 100
"""Maximum number of waits of a task after its cancellation; cleaning up takes a few."""


@types.coroutine
def guard(agent: Coroutine[Any, Any, None], seat: HostSeat) -> Generator[Any, Any, None]:
    """Drive an agent's coroutine for trio; abandon it if it ignores its cancellation.

    Cancellations during play are not counted: the agent may use time limits of its own.

    Args:
        seat: its seat; closed when the agent has to end.

    Raises:
        AgentFault: it ignored its cancellation.
    """
    answer: Any = None
    ignored = 0
    while True:
        try:
            trap = agent.send(answer)
        except StopIteration:
            return
        if type(trap).__name__ == "PermanentlyDetachCoroutineObject":  # trio would end the task behind us
            raise AgentFault("crashed", "it detached its task from the event loop")
        answer = yield trap
        is_cancelled = isinstance(answer, outcome.Error) and isinstance(answer.error, trio.Cancelled)
        ignored += is_cancelled and seat.is_closed()
        # Where it has a nursery, the agent must leave that first: trio ends no task that has one.
        if ignored > MAX_IGNORED_CANCELLATIONS and not current_task().child_nurseries:
            _abandon(agent)
            raise AgentFault("crashed", "it ignored its cancellation")


def _abandon(agent: Coroutine[Any, Any, None]) -> None:
    awaited = [agent]
    while (inner := getattr(awaited[-1], "cr_await", None)) is not None:
        awaited.append(inner)
    try:
        agent.close()
    except RuntimeError:  # it ignored even that
        # Keep its frames for good: if the interpreter closed them at its end, one that catches everything
        # could loop for ever.
        for coroutine in awaited:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(coroutine))
    except BaseException:  # noqa: BLE001, S110 - its exceptions no longer matter
        pass


# Host of an agent in the event loop itself: the fastest host, for trusted agents.
#
# An agent here shares the loop with the match and the other agents. One that blocks can be disqualified, but
# not stopped; the others are not charged for it. One that ignores its cancellation is abandoned, unless it
# does so in tasks of its own or behind a shield: its match waits for these.

CANCEL_SECONDS: Final = 0.5
"""The longest time of an agent's `close`."""

_SETTLING_PASSES: Final = 2
"""Passes of the loop after which an agent that ended too early is disqualified. Turns of absent seats take a
pass each; so those of one moment on the virtual clock come first, in whatever order trio runs the tasks."""

_NOTHING_COUNTED: Final = nullcontext()


class LoopHost:
    """Runs an agent as a task of the event loop.

    Args:
        agent: an agent of any kind, see `flagfall.agents.agent`. A class is instantiated in the match.

    Attributes:
        measures: `tokens` if the agent reports those of its language model, by its attribute of this name.
    """

    kind: HostKind = "task"

    def __init__(self, agent: Any, name: str) -> None:
        self.name = name
        self.measures: str = getattr(agent, "measures", "")
        self._agent = agent

    async def run(self, seat: HostSeat, briefing: Briefing) -> None:
        """Play the seat; see `flagfall.kernel.hosting.AgentHost`."""
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
                    with trio.move_on_after(CANCEL_SECONDS, shield=True):
                        await closing

    async def _start(self, seat: HostSeat, briefing: Briefing) -> AdaptedAgent:
        try:
            agent = adapt(self._agent, seat.agent.timer)
            await resolve(agent.start(briefing))
        except Exception as error:
            raise AgentFault("not started", agent_traceback(error)) from error
        seat.agent.wants = agent.wants
        seat.has_own_scopes = agent.run is not None
        seat.agent.reply()
        return agent


class HumanHost(LoopHost):
    """Runs a human player in the event loop.

    Attributes:
        human: the player; its event `stop` may be set, and its method `notice` is a sink.
    """

    def __init__(self, human: Any, name: str) -> None:
        super().__init__(human, name)
        self.human = human
