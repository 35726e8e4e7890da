"""Forced cancellation of in-loop agents that ignore cancellation.

Trio raises `Cancelled` in a cancelled task at each of its checkpoints, and waits for every task that was
started. An agent that catches it and goes on would keep its match from ending, and on the virtual clock time
itself. So each of its tasks is driven by a guard that counts the cancellations it ignores, and abandons it in
the end.

Trio has no public way to replace a task's coroutine: `coro` and `_next_send_fn` of a task, and the scopes
and nurseries that it is in, are used here and nowhere else.
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
from trio.lowlevel import Task, cancel_shielded_checkpoint, current_task

from flagfall.errors import AgentFault
from flagfall.kernel.seat import Seat
from flagfall.kernel.tracebacks import hide_frames

hide_frames(__file__)

MAX_IGNORED_CANCELLATIONS: Final = 100
"""Maximum number of waits of a task after its cancellation; cleaning up takes a few."""

MAX_STEPS: Final = 10_000
"""The most steps of all tasks of an agent after its cancellation: each task could start another and end."""


@types.coroutine
def guard(agent: Coroutine[Any, Any, None], seat: Seat) -> Generator[Any, Any, None]:
    """Drive an agent's coroutine for trio; abandon it if it ignores its cancellation.

    Cancellations during play are not counted: the agent may use time limits of its own. The agent's task has
    no parent nursery meanwhile, so the agent can neither cancel that of the match nor start tasks in it.

    Args:
        agent: its coroutine.
        seat: its seat; closed when the agent has to end.

    Raises:
        AgentFault: it ignored its cancellation.
    """
    task = current_task()
    status = task._cancel_status  # noqa: SLF001 - trio has no public way to the scopes that a task is in
    parent, task._parent_nursery = task._parent_nursery, None  # noqa: SLF001 - trio needs it when the task ends
    answer: Any = None
    ignored = steps = 0
    below = CancellationGuard(task)
    try:
        while True:
            try:
                trap = agent.send(answer)
            except StopIteration:
                if task.child_nurseries:
                    raise AgentFault("crashed", "it ended, and left a nursery open") from None
                return
            finally:
                if seat.closed:
                    below.wrap_tasks()
                    steps += 1
            if type(trap).__name__ == "PermanentlyDetachCoroutineObject":  # trio would end the task behind us
                raise AgentFault("crashed", "it detached its task from the event loop")
            answer = yield trap
            ignored += seat.closed and _is_cancelled(answer)
            if (ignored > MAX_IGNORED_CANCELLATIONS or steps > MAX_STEPS) and not _has_children():
                _abandon(agent)
                raise AgentFault("crashed", "it ignored its cancellation")
    finally:
        if task.child_nurseries:
            yield from _end_tasks_left(task, below)
        task._parent_nursery = parent  # noqa: SLF001 - as above
        _leave_behind(task, status)


def _end_tasks_left(task: Task, below: CancellationGuard) -> Generator[Any, Any, None]:
    """End the tasks in nurseries that an agent left open, whatever they do."""
    while any(nursery.child_tasks for nursery in task.child_nurseries):
        for nursery in task.child_nurseries:
            nursery.cancel_scope.cancel()
            for child in nursery.child_tasks:
                unshield(child, nursery.cancel_scope)
        below.wrap_tasks()
        checkpoint = cancel_shielded_checkpoint()  # noqa: ASYNC105 - awaited in the next line
        yield from checkpoint.__await__()


def _leave_behind(task: Task, status: Any) -> None:
    """Take a task out of the scopes and nurseries that its agent left open: the task goes on without it.

    Args:
        task: the task.
        status: the cancellation status of the task before the agent began.
    """
    for nursery in task._child_nurseries:  # noqa: SLF001 - as trio does when a task ends
        nursery.cancel_scope.cancel()
        nursery._closed = True  # noqa: SLF001 - as above
        nursery._parent_task = None  # type: ignore[assignment]  # noqa: SLF001 - it leads to the match
    task._child_nurseries.clear()  # noqa: SLF001 - as above
    if task._cancel_status is not status:  # noqa: SLF001 - as above
        task._activate_cancel_status(status)  # noqa: SLF001 - as above


class CancellationGuard:
    """Guards every task below an agent's, and those that they start.

    Args:
        top: the agent's task, which is guarded already.
    """

    def __init__(self, top: Task) -> None:
        self._top = top
        self._steps = 0

    def wrap_tasks(self) -> None:
        """Guard the tasks that are not guarded yet."""
        above = [self._top]
        while above:
            children = [task for nursery in above.pop().child_nurseries for task in nursery.child_tasks]
            above += children
            for task in children:
                if inspect.iscoroutine(task.coro):  # else it is guarded
                    self._wrap(task, task.coro)

    def _wrap(self, task: Task, coroutine: Coroutine[Any, Any, Any]) -> None:
        guarded = self._drive(coroutine)
        next(guarded)
        task.coro = guarded  # type: ignore[assignment]  # trio only sends to it, and throws
        if task._next_send_fn == coroutine.send:  # noqa: SLF001 - trio has no public way to it
            task._next_send_fn = guarded.send  # noqa: SLF001 - no public way either

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
                self.wrap_tasks()
            answer = yield trap


def _is_cancelled(answer: Any) -> bool:
    return isinstance(answer, outcome.Error) and isinstance(answer.error, trio.Cancelled)


def _has_children() -> bool:
    """Return true if tasks run below the current one: they must end first, and wake it then."""
    return any(nursery.child_tasks for nursery in current_task().child_nurseries)


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


def unshield(task: Task, top: trio.CancelScope) -> None:
    """Remove the shields of a task's cancel scopes, and of those of the tasks below it.

    Args:
        task: the task.
        top: a scope around all that is to be unshielded.
    """
    shielded = [(task, top)]
    while shielded:
        inner, outside = shielded.pop()
        # Trio has no public way to the scopes that a task is in; without this one, a shielded agent stays.
        status = getattr(inner, "_cancel_status", None)
        while status is not None and (scope := status._scope) is not outside:  # noqa: SLF001 - see above
            scope.shield = False
            status = status._parent  # noqa: SLF001 - as above
        shielded += [
            (child, nursery.cancel_scope)
            for nursery in inner.child_nurseries
            for child in nursery.child_tasks
        ]
