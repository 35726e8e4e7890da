"""Events of turns that are played without the kernel, for logs and sinks: lessons, games at other servers."""

from __future__ import annotations

__all__ = ["PlainEvents"]

import time
from typing import TYPE_CHECKING, Any, Literal

from flagfall.events import (
    SCHEMA,
    Event,
    MatchEnded,
    MatchStarted,
    SeatDisqualified,
    TaskEnded,
    TaskStarted,
    TurnPlayed,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flagfall.kernel.outcomes import Outcome
    from flagfall.kernel.sinks import Sink


class PlainEvents:
    """Passes what happens to the only seat of a match to sinks, as the kernel passes the events of a match.

    Args:
        sinks: take every event; without any, nothing is made.
        tasks: ids of the tasks.
        agent: name of the agent.
        seed: root seed.
        scheduler: text of the task scheduler.
        time_control: text of the time control.
        now: clock in nanoseconds.
    """

    def __init__(
        self,
        sinks: Sequence[Sink],
        tasks: Sequence[str],
        agent: str,
        seed: int,
        *,
        scheduler: str = "",
        time_control: str = "",
        now: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self._sinks = sinks
        self._now = now
        self._began_ns = now()
        self._turns = 0
        self._give(
            MatchStarted,
            schema=SCHEMA,
            flagfall="",
            tasks=tasks,
            scheduler=scheduler,
            agents=[agent],
            seed=seed,
            time_control=time_control,
            clock="wall",
        )

    def begin_task(self, task: str, index: int, seed: int) -> None:
        """Pass on the start of a task; the arguments are those of `TaskStarted`."""
        self._give(TaskStarted, task, index, seed)

    def turn(
        self, observation: Any, reward: Any, action: Any, spent_ns: int, verdict: Verdict = "on time"
    ) -> None:
        """Pass on a turn; the arguments are those of `TurnPlayed`."""
        self._give(TurnPlayed, self._turns, observation, reward, action, spent_ns, 0, verdict)
        self._turns += 1

    def end_task(self, outcome: Outcome) -> None:
        """Pass on the end of a task.

        Args:
            outcome: its outcome.
        """
        values = (outcome.result, outcome.reward, outcome.steps, outcome.ended, outcome.metrics)
        self._give(TaskEnded, outcome.task, outcome.index, *values)

    def end(self, reason: Literal["finished", "steps", "seats", "stopped"], fault: str = "") -> None:
        """Pass on the end of the match.

        Args:
            reason: see `MatchEnded`.
            fault: the error of the agent that ended it; empty if there was none.
        """
        if fault:
            self._give(SeatDisqualified, 0, "crashed", fault)
        self._give(MatchEnded, reason, self._turns)

    def _give(self, kind: type[Event], *values: Any, **named: Any) -> None:
        if self._sinks:
            event = kind(self._now() - self._began_ns, *values, **named)
            for sink in self._sinks:
                sink(event)
