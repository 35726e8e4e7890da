"""A fixed examination of an agent: how fast it is, whether it lasts, whether it plays by the rules.

Every question is a function of its own in `QUESTIONS`; it plays what it needs, and says what it found.
"""

from __future__ import annotations

__all__ = ["QUESTIONS", "Examinee", "Mark", "examine"]

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import attrs
import trio

from flagfall.events import Event, ReplyDropped, SeatReady, TurnPlayed
from flagfall.kernel.hosting import AgentHost
from flagfall.kernel.match import play_match
from flagfall.kernel.outcomes import MatchResult
from flagfall.tasks.catalog import make_task
from flagfall.tasks.scheduler_text import parse_policy
from flagfall.timing import MS, TimeControl

STARTS: Final = 3
SHORT_TURNS: Final = 300
LONG_TURNS: Final = 5_000
ROUNDS: Final = 20

PATIENCE_S: Final = 300.0
"""What one match may take, whatever its time control allows."""

CANCEL_AFTER_S: Final = 0.5
NOT_UP: Final = "comes up"
"""The question that an agent fails which cannot even play one turn."""

GOING_S: Final = 5.0
"""How long an agent may take to go; its host gives it a second, the rest is for a busy machine."""


@attrs.frozen
class Mark:
    """What a question found.

    Attributes:
        question: in a few words.
        found: in a few words.
        passed: whether that is as it ought to be; `None` where it is neither good nor bad.
    """

    question: str
    found: str
    passed: bool | None


@attrs.frozen
class _Match:
    """A match that was played: its result, where it had one, and what happened."""

    result: MatchResult | None
    events: Sequence[Event]

    @property
    def spent_ns(self) -> list[int]:
        """What each turn took that was answered."""
        return [e.spent_ns for e in self._turns if e.verdict != "absent"]

    @property
    def actions(self) -> list[str]:
        """What was played, turn by turn."""
        return [f"{e.verdict}: {e.action!r}" for e in self._turns]

    @property
    def _turns(self) -> list[TurnPlayed]:
        return [e for e in self.events if isinstance(e, TurnPlayed)]

    @property
    def fault(self) -> str:
        """Why it was not played to its end by everybody; empty where it was."""
        if self.result is None:
            return f"not over after {PATIENCE_S:g} s"
        out = [seat for seat in self.result.seats if seat.disqualified is not None]
        return f"out: {out[0].disqualified}\n{out[0].detail}".strip() if out else ""


@attrs.frozen
class Examinee:
    """An agent, and how it is played.

    Attributes:
        host: makes a host for it, with this name; a match has one for each seat.
        tasks: the ids of the tasks that it is played on.
        control: the time that it has.
    """

    host: Callable[[str], AgentHost]
    tasks: Sequence[str]
    control: TimeControl

    def play(
        self,
        *,
        seed: int = 0,
        policy: str = "sequential",
        steps: int | None = None,
        seconds: float = PATIENCE_S,
    ) -> _Match:
        """Play one match with it at all seats, in an event loop of its own."""
        return trio.run(partial(self._play, seed, policy, steps, seconds))

    async def _play(self, seed: int, policy: str, steps: int | None, seconds: float) -> _Match:
        events: list[Event] = []
        made = [make_task(task) for task in self.tasks]
        hosts = [self.host(f"agent {number}") for number in range(len(made[0].players))]
        with trio.move_on_after(seconds):
            result = await play_match(
                parse_policy(policy, made),
                hosts,
                control=self.control,
                seed=seed,
                steps=steps,
                sinks=[events.append],
            )
            return _Match(result, events)
        return _Match(None, events)


def examine(examinee: Examinee) -> Iterator[Mark]:
    """Ask all questions, one after another.

    Raises:
        UsageError: it cannot be played as asked.
        HostFault: a task failed.
    """
    for question in QUESTIONS:
        for mark in question(examinee):
            yield mark
            if mark.question == NOT_UP:  # then there is nobody to ask
                return


def how_soon_it_comes_up(examinee: Examinee) -> Iterator[Mark]:
    """Started several times: the first may have to compile or to read what the others find ready."""
    spent: list[int] = []
    for seed in range(STARTS):
        match = examinee.play(seed=seed, steps=1)
        if match.fault:
            yield Mark(NOT_UP, match.fault, passed=False)
            return
        spent += [event.spent_ns for event in match.events if isinstance(event, SeatReady)]
    yield Mark("comes up in", f"{_ms(statistics.median(spent))}, at most {_ms(max(spent))}", passed=True)


def how_fast_it_answers(examinee: Examinee) -> Iterator[Mark]:
    """A long game: its answers, and whether it plays by the rules to the end."""
    match = examinee.play(seed=1, steps=LONG_TURNS)
    spent = sorted(match.spent_ns)
    if spent:
        shares = [_ms(spent[min(len(spent) - 1, int(share * len(spent)))]) for share in (0.5, 0.99)]
        said = f"p50 {shares[0]}, p99 {shares[1]}, at most {_ms(spent[-1])}"
        yield Mark("answers in", said, passed=None)
    lates = sum(action.startswith("late") for action in match.actions)
    yield Mark("is late", f"{lates} of {len(spent)} turns", passed=lates == 0)
    illegal = sum(action.startswith("illegal") for action in match.actions)
    dropped = sum(isinstance(event, ReplyDropped) for event in match.events)
    errors = f"{illegal} illegal actions, {dropped} replies that answer nothing"
    yield Mark("protocol errors", errors, passed=not illegal and not dropped)
    turns = match.result.turns if match.result else len(spent)
    yield Mark("lasts in a long game", match.fault or f"{turns} turns", passed=not match.fault)


def how_it_takes_a_reset(examinee: Examinee) -> Iterator[Mark]:
    """Every task again and again, from its beginning."""
    match = examinee.play(seed=2, policy=f"sequential:{ROUNDS}", steps=LONG_TURNS)
    played = sum(task.played for task in match.result.tasks) if match.result else 0
    yield Mark("lasts over resets", match.fault or f"{played} episodes", passed=not match.fault)


def whether_it_repeats_itself(examinee: Examinee) -> Iterator[Mark]:
    """What it draws by lot should come from `briefing.seed`, so that a match can be played again."""
    first, again = (examinee.play(seed=3, steps=SHORT_TURNS).actions for _ in range(2))
    pairs = enumerate(zip(first, again, strict=False))
    differs = next((turn for turn, (one, two) in pairs if one != two), None)
    if differs is None and len(first) != len(again):
        differs = min(len(first), len(again))
    said = f"{len(first)} equal turns" if differs is None else f"differs from turn {differs} on"
    yield Mark("plays alike with one seed", said, passed=differs is None)


def whether_it_goes(examinee: Examinee) -> Iterator[Mark]:
    """A match that is cancelled in the middle."""
    began = time.monotonic()
    examinee.play(seed=4, seconds=CANCEL_AFTER_S)
    late_s = max(0.0, time.monotonic() - began - CANCEL_AFTER_S)
    yield Mark("goes when it is told to", f"in {_ms(late_s * 1000 * MS)}", passed=late_s < GOING_S)


def _ms(ns: float) -> str:
    digits = max(0, 2 - math.floor(math.log10(max(ns, 1) / MS)))
    return f"{ns / MS:.{min(digits, 4)}f} ms"


QUESTIONS: Final = (
    how_soon_it_comes_up,
    how_fast_it_answers,
    how_it_takes_a_reset,
    whether_it_repeats_itself,
    whether_it_goes,
)
"""Every question, in the order in which they are asked."""
