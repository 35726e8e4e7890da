"""The CPU time of one actor in an event loop: the steps of its task and of the tasks below it, added up.

A step is counted by the CPU clock of the loop's thread, so what other processes and threads use is not in it.
It costs a system call before and after each step, and is installed only where a time control asks for it.
"""

from __future__ import annotations

__all__ = ["StepClock", "counting_steps"]

import time
from collections.abc import Iterator
from contextlib import contextmanager

import trio


class StepClock(trio.abc.Instrument):
    """Counts the CPU time of a task and of the tasks below it.

    Args:
        task: the task.
    """

    def __init__(self, task: trio.lowlevel.Task) -> None:
        self._task = task
        self._used_ns = 0
        self._began_ns: int | None = None

    def used_ns(self) -> int:
        """Return what they have used, the step that runs included."""
        if self._began_ns is None:
            return self._used_ns
        return self._used_ns + time.thread_time_ns() - self._began_ns

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Start counting, if the step is one of theirs."""
        if self._owns(task):
            self._began_ns = time.thread_time_ns()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:  # noqa: ARG002 - trio's contract
        """Stop counting at the end of a step."""
        if self._began_ns is not None:
            self._used_ns += time.thread_time_ns() - self._began_ns
            self._began_ns = None

    def _owns(self, task: trio.lowlevel.Task | None) -> bool:
        while task is not None:
            if task is self._task:
                return True
            nursery = task.parent_nursery
            task = None if nursery is None else nursery.parent_task
        return False


@contextmanager
def counting_steps() -> Iterator[StepClock]:
    """Return a clock of what the current task uses of the CPU from now on."""
    clock = StepClock(trio.lowlevel.current_task())
    clock.before_task_step(trio.lowlevel.current_task())
    trio.lowlevel.add_instrument(clock)
    try:
        yield clock
    finally:
        trio.lowlevel.remove_instrument(clock)
