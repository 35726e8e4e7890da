"""`check_agent`: plays an agent, and looks whether it would last in a tournament.

    def test_my_agent_lasts():
        check_agent(MyAgent)
        check_agent("bot.py:MyAgent", host="process", tasks=["micro4"])

Every rule is a function of its own in `RULES`; a rule that is broken is an `AssertionError` that says which.
"""

from __future__ import annotations

__all__ = ["RULES", "check_agent"]

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import attrs
import trio

from flagfall.agents.hosts.registry import host_agent
from flagfall.events import Event, TurnPlayed
from flagfall.kernel.channels.arrays import msgpack_encoder
from flagfall.kernel.hosting import LocalHostKind
from flagfall.kernel.match import play_match
from flagfall.kernel.outcomes import MatchResult
from flagfall.tasks.catalog import make_task
from flagfall.tasks.scheduler_text import parse_policy
from flagfall.tasks.task import Task
from flagfall.timing import TimeControl, VirtualClock

PATIENCE_S: Final = 60.0
"""How long one match may take in real time, before the agent is said to hang."""

CANCEL_AFTER_S: Final = 0.5
"""In the middle of a match, or of coming up."""

GOING_S: Final = 5.0
"""How long an agent may take to go; its host gives it a second, the rest is for a busy machine."""


@attrs.frozen
class _Trial:
    """How the agent is played."""

    agent: Any
    host: LocalHostKind
    tasks: Sequence[str | Callable[[], Task]]
    control: TimeControl
    steps: int

    def play(
        self, seed: int = 0, cancel_after_s: float | None = None
    ) -> tuple[MatchResult | None, list[Event]]:
        """A match in a loop of its own, on the virtual clock where the agent is in the loop."""
        clock = VirtualClock() if self.host == "task" else None
        return trio.run(partial(self._play, seed, cancel_after_s), clock=clock)

    async def _play(self, seed: int, cancel_after_s: float | None) -> tuple[MatchResult | None, list[Event]]:
        events: list[Event] = []
        made = [make_task(task) if isinstance(task, str) else task() for task in self.tasks]
        hosts = [host_agent(self.agent, self.host, f"agent {seat}") for seat in range(len(made[0].players))]
        limit = PATIENCE_S if cancel_after_s is None else cancel_after_s
        with trio.move_on_after(limit):
            scheduler = parse_policy("sequential", made)
            result = await play_match(
                scheduler, hosts, control=self.control, seed=seed, steps=self.steps, sinks=[events.append]
            )
            return result, events
        return None, events


def check_agent(
    agent: Any,
    *,
    host: LocalHostKind = "task",
    tasks: Sequence[str | Callable[[], Task]] = ("micro1", "micro4"),
    time_control: str = "start=10s init=5s act=1s/5s result=5s",
    steps: int = 200,
) -> None:
    """Check that an agent lasts: it comes up, answers in time with what is legal, goes when it is told to.

    Args:
        agent: an agent of any kind (`flagfall.agents.agent`): best a class, as each match then has its own;
            or a text such as `bot.py:Bot`.
        host: where it runs. In the loop (`task`) it is played on the virtual clock.
        tasks: what it is played on, ids or makers of tasks; all seats of a task get the agent.
        time_control: the time it has.
        steps: how many turns each match has.

    Raises:
        AssertionError: a rule is broken; the message says which, and how.
        UsageError: it cannot be played as asked.
    """
    trial = _Trial(agent, host, tasks, TimeControl.parse(time_control), steps)
    for rule in RULES:
        rule(trial)


def plays_to_the_end(trial: _Trial) -> None:
    """It comes up, answers each turn once, in time and legally, and closes without a failure."""
    for seed in (0, 1):
        result, events = trial.play(seed)
        assert result is not None, f"plays_to_the_end: the match was not over after {PATIENCE_S:.0f} s"
        for number, seat in enumerate(result.seats):
            assert seat.disqualified is None, (
                f"plays_to_the_end: seat {number} is out: {seat.disqualified}\n{seat.detail}"
            )
            assert seat.stats.dropped == 0, (
                f"plays_to_the_end: seat {number} gave {seat.stats.dropped} replies that answer nothing"
            )
        for event in events:
            if isinstance(event, TurnPlayed):
                assert event.verdict == "on time", (
                    f"plays_to_the_end: turn {event.turn}, seat {event.seat}: {event.verdict}"
                )


def plays_alike_with_the_same_seed(trial: _Trial) -> None:
    """What it draws by lot comes from `briefing.seed`, so that a match can be played again."""
    if trial.host != "task":
        return
    first, again = trial.play(7)[1], trial.play(7)[1]
    for one, two in zip(first, again, strict=False):
        assert _encoder.encode(one) == _encoder.encode(two), (
            f"plays_alike_with_the_same_seed: {one} became {two}"
        )
    assert len(first) == len(again), "plays_alike_with_the_same_seed: one match was longer"


def goes_when_it_is_told_to(trial: _Trial) -> None:
    """A match that is cancelled in the middle is over soon, with no seat left in it."""
    # On the virtual clock an agent that is quick uses no time at all: there the match ends by itself.
    endless = trial if trial.host == "task" else attrs.evolve(trial, steps=10**9)
    began = time.monotonic()
    endless.play(0, cancel_after_s=CANCEL_AFTER_S)
    late_s = time.monotonic() - began - CANCEL_AFTER_S
    assert late_s < GOING_S, f"goes_when_it_is_told_to: it took {late_s:.1f} s to go"


_encoder = msgpack_encoder()  # arrays cannot be compared by ==

RULES: Final = (plays_to_the_end, plays_alike_with_the_same_seed, goes_when_it_is_told_to)
"""Every rule, in the order in which they are checked."""
