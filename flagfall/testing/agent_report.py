"""Report on an agent: how fast it is, whether it lasts, whether it keeps the protocol.

Each check is a function in `CHECKS`: it plays the matches that it needs, and yields grades.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import attrs
import trio

from flagfall.events import Event, ReplyDropped, SeatReady, TurnPlayed
from flagfall.kernel.dispatcher import Sink
from flagfall.kernel.hosting import AgentHost
from flagfall.kernel.match import play_match
from flagfall.kernel.outcomes import MatchResult
from flagfall.tasks.catalog import make_task
from flagfall.tasks.schedulers import parse_policy
from flagfall.tasks.task import Task
from flagfall.texts import counted
from flagfall.timing import MS, TimeControl, VirtualClock

STARTS: Final = 3
LONG_TURNS: Final = 5_000
SHORT_TURNS: Final = 300
ROUNDS: Final = 20

ENDLESS_TURNS: Final = 10**9
"""Turns of a match that is to be cancelled."""

PATIENCE_SECONDS: Final = 300.0
"""Maximum duration of one match, whatever its time control allows."""

CANCEL_AFTER_SECONDS: Final = 0.5

STARTS_UP: Final = "starts"
"""The check that an agent fails which cannot play a single turn; there is nothing else to check then."""

END_SECONDS: Final = 5.0
"""Maximum time for an agent to end; its host gives it a second, the rest is for a busy machine."""


@attrs.frozen
class Grade:
    """Result of one check.

    Attributes:
        passed: whether the finding is good; `None` where it is neither good nor bad.
    """

    check: str
    found: str
    passed: bool | None


@attrs.frozen
class _Match:
    """A match: its result, where it ended in time, and its events."""

    result: MatchResult | None
    events: Sequence[Event]

    @property
    def turns(self) -> list[TurnPlayed]:
        """Turns of all seats, in order."""
        return [event for event in self.events if isinstance(event, TurnPlayed)]

    @property
    def actions(self) -> list[str]:
        """Verdict and action of each turn."""
        return [f"{turn.verdict}: {turn.action!r}" for turn in self.turns]

    def count(self, verdict: str) -> tuple[int, str]:
        """Return the number of turns with a verdict, and where the first of them is."""
        turns = [turn for turn in self.turns if turn.verdict == verdict]
        return len(turns), f" (first: turn {turns[0].turn}, seat {turns[0].seat})" if turns else ""

    @property
    def fault(self) -> str:
        """Reason for which not all seats played to the end; empty where they did."""
        if self.result is None:
            return "the match was not over in time"
        out = [seat for seat in self.result.seats if seat.disqualified is not None]
        return f"disqualified: {out[0].disqualified}\n{out[0].detail}".strip() if out else ""


@attrs.frozen
class AgentUnderTest:
    """An agent, and how it is played.

    Attributes:
        host: makes a host for the agent, with a name; a match has one for each seat.
        tasks: ids of tasks, or functions that make one.
        turns: number of turns of the longest match.
        is_virtual: play on the virtual clock, for agents in the event loop.
        sinks: makes sinks of the events of one match, besides those of the checks.
    """

    host: Callable[[str], AgentHost]
    tasks: Sequence[str | Callable[[], Task]]
    control: TimeControl
    turns: int = LONG_TURNS
    is_virtual: bool = False
    patience_seconds: float = PATIENCE_SECONDS
    sinks: Callable[[], Sequence[Sink]] = tuple

    def play(
        self,
        *,
        seed: int = 0,
        policy: str = "sequential",
        steps: int | None = None,
        seconds: float | None = None,
    ) -> _Match:
        """Play one match with the agent at all seats, in an event loop of its own.

        Args:
            steps: number of turns; `None` for the end of the tasks.
            seconds: when to cancel the match; `None` for the agent's patience.
        """
        limit = self.patience_seconds if seconds is None else seconds
        clock = VirtualClock() if self.is_virtual else None
        return trio.run(partial(self._play, seed, policy, steps, limit), clock=clock)

    async def _play(self, seed: int, policy: str, steps: int | None, seconds: float) -> _Match:
        events: list[Event] = []
        made = [make_task(task) if isinstance(task, str) else task() for task in self.tasks]
        hosts = [self.host(f"agent {number}") for number in range(len(made[0].players))]
        with trio.move_on_after(seconds):
            result = await play_match(
                parse_policy(policy, made),
                hosts,
                control=self.control,
                seed=seed,
                steps=steps,
                sinks=[events.append, *self.sinks()],
            )
            return _Match(result, events)
        return _Match(None, events)


def report_agent(agent: AgentUnderTest) -> Iterator[Grade]:
    """Run all checks, one after another.

    Yields:
        Grades. After one for an agent that does not start there are no others.

    Raises:
        UsageError: the agent cannot be played as requested.
        HostFault: a task failed.
    """
    for check in CHECKS:
        for grade in check(agent):
            yield grade
            if grade.check == STARTS_UP:
                return


def grade_start(agent: AgentUnderTest) -> Iterator[Grade]:
    """Start the agent several times: the first may compile or read what the others find ready."""
    spent: list[int] = []
    for seed in range(STARTS):
        match = agent.play(seed=seed, steps=1)
        if match.fault:
            yield Grade(STARTS_UP, match.fault, passed=False)
            return
        spent += [event.spent_ns for event in match.events if isinstance(event, SeatReady)]
    yield Grade("starts in", f"{_ms(statistics.median(spent))}, at most {_ms(max(spent))}", passed=True)


def grade_long_game(agent: AgentUnderTest) -> Iterator[Grade]:
    """Play a long game: think times, lateness, and the protocol."""
    match = agent.play(seed=1, steps=agent.turns)
    spent = sorted(turn.spent_ns for turn in match.turns if turn.verdict != "absent")
    if spent:
        shares = [_ms(spent[min(len(spent) - 1, int(share * len(spent)))]) for share in (0.5, 0.99)]
        times = f"p50 {shares[0]}, p99 {shares[1]}, at most {_ms(spent[-1])}"
        yield Grade("answers in", times, passed=None)
    late, first_late = match.count("late")
    yield Grade("is late", f"{late} of {counted(len(spent), 'turn')}{first_late}", passed=late == 0)
    illegal, first_illegal = match.count("illegal")
    dropped = sum(isinstance(event, ReplyDropped) for event in match.events)
    errors = f"{counted(illegal, 'illegal action')}{first_illegal}"
    errors += f", {counted(dropped, 'reply that answers no turn', 'replies that answer no turn')}"
    yield Grade("protocol errors", errors, passed=not illegal and not dropped)
    turns = match.result.turns if match.result else len(spent)
    yield Grade("lasts in a long game", match.fault or counted(turns, "turn"), passed=not match.fault)


def grade_resets(agent: AgentUnderTest) -> Iterator[Grade]:
    """Play every task from its beginning, several times."""
    match = agent.play(seed=2, policy=f"sequential:{ROUNDS}", steps=agent.turns)
    played = sum(task.played for task in match.result.tasks) if match.result else 0
    yield Grade("lasts over resets", match.fault or counted(played, "episode"), passed=not match.fault)


def grade_repetition(agent: AgentUnderTest) -> Iterator[Grade]:
    """Play the same match twice: random decisions should come from `briefing.seed`."""
    steps = min(SHORT_TURNS, agent.turns)
    first, second = (agent.play(seed=3, steps=steps).actions for _ in range(2))
    pairs = enumerate(zip(first, second, strict=False))
    differs = next((turn for turn, (one, two) in pairs if one != two), None)
    if differs is None and len(first) != len(second):
        differs = min(len(first), len(second))
    found = f"{len(first)} equal turns" if differs is None else f"differs from turn {differs} on"
    yield Grade("repeats a match with the same seed", found, passed=differs is None)


def grade_cancellation(agent: AgentUnderTest) -> Iterator[Grade]:
    """Cancel a match in the middle, and measure how long the agent takes to end."""
    # On the virtual clock an agent that answers at once uses no time: there the match ends by itself.
    steps = agent.turns if agent.is_virtual else ENDLESS_TURNS
    began = time.monotonic()
    agent.play(seed=4, steps=steps, seconds=CANCEL_AFTER_SECONDS)
    late_s = max(0.0, time.monotonic() - began - CANCEL_AFTER_SECONDS)
    yield Grade("ends when cancelled", f"in {_ms(late_s * 1000 * MS)}", passed=late_s < END_SECONDS)


def _ms(ns: float) -> str:
    digits = max(0, 2 - math.floor(math.log10(max(ns, 1) / MS)))
    return f"{ns / MS:.{min(digits, 4)}f} ms"


CHECKS: Final = (grade_start, grade_long_game, grade_resets, grade_repetition, grade_cancellation)
"""Checks, in order."""
