"""How to be rid of an agent in the event loop that does not want to stop.

Trio tells a cancelled task so again at each of its checkpoints, and waits for every task that was started. An
agent that swallows that and goes on would keep its match from ending, and on the virtual clock time itself.
So each of its tasks is driven through a leash that counts what it ignores, and lets go of it in the end.

Trio has no public way to put something in the place of a task's coroutine: `coro` and `_next_send_fn` of a
task, and the scopes that it is in, are used here and nowhere else.
"""

from __future__ import annotations

__all__ = ["MAX_IGNORED_CANCELLATIONS", "CancellationGuard", "guard", "unshield"]

import ctypes
import inspect
import types
from collections.abc import Coroutine, Generator
from typing import Any, Final

import outcome
import trio
from trio.lowlevel import Task, current_task

from flagfall.errors import AgentFault
from flagfall.kernel.seat import Seat
from flagfall.kernel.tracebacks import hide_frames

hide_frames(__file__)

MAX_IGNORED_CANCELLATIONS: Final = 100
"""How often a task may go on waiting after it was told to stop (cleaning up takes a few)."""

MAX_STEPS: Final = 10_000
"""How many steps all tasks of an agent may take after that: each could start another, and end in time."""


@types.coroutine
def guard(agent: Coroutine[Any, Any, None], seat: Seat) -> Generator[Any, Any, None]:
    """Drive an agent's coroutine for trio; let go of it when it does not want to stop.

    While it plays, being cancelled is its own affair: it may have time limits of its own.
    """
    answer: Any = None
    ignored = 0
    while True:
        try:
            trap = agent.send(answer)
        except StopIteration:
            return
        answer = yield trap
        ignored += seat.closed and _is_cancelled(answer)
        if ignored > MAX_IGNORED_CANCELLATIONS and not _has_children():
            _abandon(agent)
            raise AgentFault("crashed", "it ignored its cancellation")


class CancellationGuard:
    """Holds every task below one, and those that they start.

    Args:
        top: the agent's task; it is driven already.
    """

    def __init__(self, top: Task) -> None:
        self._top = top
        self._steps = 0

    def take(self) -> None:
        """Take hold of those that are not held yet."""
        above = [self._top]
        while above:
            children = [task for nursery in above.pop().child_nurseries for task in nursery.child_tasks]
            above += children
            for task in children:
                if inspect.iscoroutine(task.coro):  # else it is held
                    self._wrap(task, task.coro)

    def _wrap(self, task: Task, coroutine: Coroutine[Any, Any, Any]) -> None:
        held = self._drive(coroutine)
        next(held)
        task.coro = held  # type: ignore[assignment]  # trio only sends to it, and throws
        if task._next_send_fn == coroutine.send:  # noqa: SLF001 - trio has no public way to it
            task._next_send_fn = held.send  # noqa: SLF001 - likewise

    def _drive(self, agent: Coroutine[Any, Any, Any]) -> Generator[Any, Any, None]:
        """Drive the coroutine from its next step on."""
        ignored = 0
        answer = yield
        while True:
            self._steps += 1
            ignored += _is_cancelled(answer)
            if (ignored > MAX_IGNORED_CANCELLATIONS or self._steps > MAX_STEPS) and not _has_children():
                _abandon(agent)
                raise AgentFault("crashed", "a task that it started ignored its cancellation")
            try:
                trap = agent.send(answer)
            except StopIteration:
                return
            finally:
                self.take()
            answer = yield trap


def _is_cancelled(answer: Any) -> bool:
    return isinstance(answer, outcome.Error) and isinstance(answer.error, trio.Cancelled)


def _has_children() -> bool:
    """Whether tasks live below the current one: they must go first, for they would wake it when they end."""
    return any(nursery.child_tasks for nursery in current_task().child_nurseries)


def _abandon(agent: Coroutine[Any, Any, None]) -> None:
    awaited = [agent]
    while (inner := getattr(awaited[-1], "cr_await", None)) is not None:
        awaited.append(inner)
    try:
        agent.close()
    except RuntimeError:  # it ignored even that
        # Keep its frames for good: if the end of the program ended them, one that swallows whatever comes
        # could go round for ever.
        for coroutine in awaited:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(coroutine))
    except BaseException:  # noqa: BLE001, S110 - whatever it says as it goes, it has gone
        pass


def unshield(task: Task) -> None:
    """Let the cancellation through to a task and to those below it, whatever scopes they opened."""
    nursery = task.parent_nursery
    top = None if nursery is None else nursery.cancel_scope
    # Trio has no public way to the scopes that a task is in; without this one, a shielded agent stays.
    status = getattr(task, "_cancel_status", None)
    while status is not None and (scope := status._scope) is not top:  # noqa: SLF001 - see above
        scope.shield = False
        status = status._parent  # noqa: SLF001 - likewise
    for below in task.child_nurseries:
        for child in below.child_tasks:
            unshield(child)
