"""Results: of a step, of a task, of a seat and of a match. Values that nothing here computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from math import sqrt
from typing import Any, Final, Literal, NamedTuple

import attrs

from flagfall.errors import UNAVAILABLE, UNRESPONSIVE
from flagfall.events import Printed

STDERR_BYTES: Final = 8 * 1024
"""Bytes that are kept of the beginning of what an agent in a process prints in a match, and of its end: a
hundred lines each. An agent may print gigabytes, and a tournament has a journal for each match."""


class StepResult(NamedTuple):
    """Result of one step of a task; unpacks like a Gymnasium step.

    Attributes:
        observation: the next observation; `None` where the task is over and shows nothing more.
            A task of several players gives a mapping from player to observation.
        reward: the reward for the action just taken (a mapping from player for several players).
        terminated: the task reached an end of its own.
        truncated: the task was cut short by a limit on its steps or its time.
        info: further values; never shown to an agent by the kernel.
    """

    observation: Any
    reward: Any = 0
    terminated: bool = False
    truncated: bool = False
    info: Mapping[str, Any] = {}

    @property
    def done(self) -> bool:
        """Return whether the episode is over, either way: AllenAct's third value."""
        return self.terminated or self.truncated


@attrs.frozen
class Outcome:
    """Result of one instance of a task, as a task scheduler receives it.

    Attributes:
        index: zero-based index of the instance within the match.
        result: `True` solved, `False` failed, `None` where the task judges nothing or was cut short.
        reward: the sum of the rewards it paid (over all players).
        ended: `finished`, `truncated` (by the task's own limit), `time` (its `play_until_ns` had come) or
            `cut` (the match ended first).
        metrics: the value of `Task.metrics` at the end.
        answers: the answer of each seat to the result, by seat number; empty where seats were not asked.
        at_ns: time of the end, in nanoseconds since the match began; 0 where there is no clock.
        rewards: the sum of the rewards of each of several seats, by number; empty for one seat.
    """

    task: str
    index: int
    result: bool | None
    reward: float
    steps: int
    ended: Literal["finished", "truncated", "time", "cut"] = "finished"
    metrics: Mapping[str, Any] = attrs.Factory(dict)
    answers: Mapping[int, Any] = attrs.Factory(dict)
    at_ns: int = 0
    rewards: tuple[float, ...] = ()


@attrs.define(eq=False)
class SeatStats:
    """Counts and times of a seat in a match, in nanoseconds.

    Attributes:
        reward: the sum of its rewards in all episodes, also in one that was cut short.
        turns: the turns that were judged.
        late: turns for which it was late (the one that disqualified it included).
        illegal: turns answered with something outside the action space.
        absent: turns played for it after it was disqualified.
        dropped: replies that answered no open turn.
        skipped: turns that it never took, because a newer one was there first.
        think_ns: all the time that it was charged for turns.
        think_max_ns: the most that it was charged for one turn.
        credit_ns: time that the host lost while the seat had a turn; not charged.
        start_ns: time from the beginning to its answer to `start`.
        illegal_note: the first illegal action and what would have been legal, as text; empty without one.
        noted: sums of the numbers in the agent's notes, by name (`flagfall.kernel.notes`).
        episodes: episodes that were not cut short.
        return_mean: the mean of their returns: what the seat was paid in an episode.
        return_squares: the sum of the squared distances of the returns from their mean.
    """

    reward: float = 0
    turns: int = 0
    late: int = 0
    illegal: int = 0
    absent: int = 0
    dropped: int = 0
    skipped: int = 0
    think_ns: int = 0
    think_max_ns: int = 0
    credit_ns: int = 0
    start_ns: int = 0
    illegal_note: str = ""
    noted: dict[str, float] = attrs.Factory(dict)
    is_cut: bool = False
    episodes: int = 0
    return_mean: float = 0.0
    return_squares: float = 0.0

    def add_rewards(self, paid: float, *, is_cut: bool) -> None:
        """Count the rewards of an episode, by Welford's method: one pass, and no difference of large sums.

        Source: B. P. Welford, Note on a method for calculating corrected sums of squares and products,
        Technometrics 4 (1962).
        """
        self.reward += paid
        if is_cut:
            return
        self.episodes += 1
        distance = paid - self.return_mean
        self.return_mean += distance / self.episodes
        self.return_squares += distance * (paid - self.return_mean)

    @property
    def has_missed(self) -> bool:
        """Turns were played for it."""
        return bool(self.absent or self.is_cut)

    @property
    def return_sd(self) -> float | None:
        """The standard deviation of the returns, as of a sample; `None` for fewer than two."""
        return sqrt(self.return_squares / (self.episodes - 1)) if self.episodes > 1 else None


@attrs.define
class TaskStats:
    """Counts over all instances of one task in a match.

    Attributes:
        played: instances that ended.
        solved: with result `True`.
        failed: with result `False`.
    """

    task: str
    played: int = 0
    solved: int = 0
    failed: int = 0
    steps: int = 0
    reward: float = 0

    def add(self, outcome: Outcome) -> None:
        """Count one more instance."""
        self.played += outcome.ended != "cut"
        self.solved += outcome.result is True
        self.failed += outcome.result is False
        self.steps += outcome.steps
        self.reward += outcome.reward


@attrs.frozen
class SeatReport:
    """Result of a seat.

    Attributes:
        disqualified: why the seat was disqualified, or `None`.
        detail: details of that for the agent's author.
        printed: the beginning and the end of what it printed, where its host has that.
        lost_by: why it loses the match: `disqualified`, or `None` if all turns of the match were over before,
            and the reason was neither `late` nor `unavailable`.
    """

    agent: str
    disqualified: str | None
    detail: str
    stats: SeatStats
    printed: Sequence[Printed] = ()
    lost_by: str | None = attrs.field(default=attrs.Factory(lambda self: self.disqualified, takes_self=True))

    @property
    def stderr_tail(self) -> str:
        """The end of what it printed."""
        return end_of(self.printed)


def lost_by(end: str, disqualified: str | None, *, has_missed: bool) -> str | None:
    """Return why a seat loses a match: not by what broke when all turns were over.

    Args:
        end: why the match ended.
        disqualified: why the seat was disqualified.
        has_missed: turns were played for it.
    """
    is_played = not has_missed and disqualified not in {"late", UNAVAILABLE, UNRESPONSIVE}
    is_decided = end in {"finished", "steps"} and is_played
    return None if is_decided else disqualified


def end_of(printed: Sequence[Printed]) -> str:
    """Return the end of what an agent printed, without a gap in it."""
    text = ""
    for part in printed:
        text = part.text if part.left_out else text + part.text
    return text[-STDERR_BYTES:].strip()


@attrs.frozen
class MatchResult:
    """Result of a match.

    Attributes:
        reason: why the match ended; see `flagfall.events.MatchEnded`.
        tasks: counts for each task that was played, in the order of their first instance.
        elapsed_ns: from the first event to the last.
    """

    reason: str
    turns: int
    seats: tuple[SeatReport, ...]
    tasks: tuple[TaskStats, ...]
    elapsed_ns: int


# One root seed, and a seed of its own for everything that is random in a match.
#
# Deriving seeds by name keeps them apart: whether a task draws more numbers, or one more seat is added,
# changes nothing for the others.

MAX_SEED: Final = 2**63 - 1
"""The largest value of `derive_seed`, and the largest that a journal can hold."""


def derive_seed(root: int, *path: str | int) -> int:
    """Return the seed of one part of a match.

    Args:
        root: the root seed of the match.
        path: the name of the part, such as `"task", 7`.

    Returns:
        A whole number from 0 to `MAX_SEED`.
    """
    name = "/".join(map(str, (root, *path)))
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest()) >> 1
