"""End of in-loop agents that ignore their cancellation.

Trio raises `Cancelled` in a cancelled task at each of its checkpoints, and waits until the task has ended. An
agent that catches it and goes on would keep its match from ending, and on the virtual clock time itself. So
its coroutine is driven by a guard that counts the cancellations it ignores, and abandons it in the end.

The guard sees the agent's own task only, and no cancellation behind a shield: agents in the loop are trusted
(`docs/hosts.md`).
"""

from __future__ import annotations

__all__ = ["MAX_IGNORED_CANCELLATIONS", "guard"]

import ctypes
import types
from collections.abc import Coroutine, Generator
from typing import Any, Final

import outcome
import trio
from trio.lowlevel import current_task

from flagfall.errors import AgentFault
from flagfall.kernel.seat import HostSeat
from flagfall.kernel.tracebacks import hide_frames

hide_frames(__file__)

MAX_IGNORED_CANCELLATIONS: Final = 100
"""Maximum number of waits of a task after its cancellation; cleaning up takes a few."""


@types.coroutine
def guard(agent: Coroutine[Any, Any, None], seat: HostSeat) -> Generator[Any, Any, None]:
    """Drive an agent's coroutine for trio; abandon it if it ignores its cancellation.

    Cancellations during play are not counted: the agent may use time limits of its own.

    Args:
        agent: its coroutine.
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
        ignored += seat.is_closed() and _is_cancelled(answer)
        # Where it has a nursery, the agent must leave that first: trio ends no task that has one.
        if ignored > MAX_IGNORED_CANCELLATIONS and not current_task().child_nurseries:
            _abandon(agent)
            raise AgentFault("crashed", "it ignored its cancellation")


def _is_cancelled(answer: Any) -> bool:
    return isinstance(answer, outcome.Error) and isinstance(answer.error, trio.Cancelled)


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
