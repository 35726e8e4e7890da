"""Values of a tournament's matches: what is to be played, and the result of playing it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import attrs

from flagfall.recording.match_result import CUT_OFF

# Bucket widths of histograms of turn times grow with the times, so a quantile is at most 1/32 too large, and
# the buckets stay few: a thousand of them reach from a nanosecond to an hour. The layout is that of
# HdrHistogram.

_BITS: Final = 5
_PARTS: Final = 1 << _BITS
"""Buckets between two powers of two."""

MAX_BUCKET: Final = 64 * _PARTS
"""Exceeds the bucket of the longest time that 64 bits hold."""

MAX_TURNS: Final = 1 << 39
"""Most turns that a stored histogram may count in a bucket: ten million such counts fit into 64 bits."""


class TimeHistogram:
    """Histogram of durations; those of many matches can be added, and give quantiles over all of them.

    Args:
        pairs: buckets and counts, as `pairs` returns them.
    """

    def __init__(self, pairs: Iterable[tuple[int, int]] = ()) -> None:
        self._counts: Counter[int] = Counter()
        self.update(pairs)

    def add(self, spent_ns: int) -> None:
        """Count one turn."""
        self._counts[_bucket(spent_ns)] += 1

    def add_all(self, spent_ns: Sequence[int]) -> None:
        """Count turns; equal times, as on the virtual clock, together."""
        if spent_ns and spent_ns.count(spent_ns[0]) == len(spent_ns):
            self._counts[_bucket(spent_ns[0])] += len(spent_ns)
            return
        for one_ns, count in Counter(spent_ns).items():
            self._counts[_bucket(one_ns)] += count

    def update(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Add the counts of another histogram."""
        for bucket, number in pairs:
            self._counts[bucket] += number

    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Return buckets and counts, the shortest times first."""
        return tuple(sorted(self._counts.items()))

    @property
    def total(self) -> int:
        """Number of turns counted."""
        return self._counts.total()

    def quantile_ns(self, share: float) -> int:
        """Return the time that a share of the turns did not exceed, at most 1/32 too large; 0 without turns.

        Args:
            share: from 0 to 1.
        """
        wanted = share * self.total
        seen = 0
        for bucket, number in self.pairs():
            seen += number
            if seen >= wanted:
                return longest_ns(bucket)
        return 0


def _bucket(spent_ns: int) -> int:
    shift = max(0, spent_ns.bit_length() - _BITS - 1)
    return (shift << _BITS) + (spent_ns >> shift)


def longest_ns(bucket: int) -> int:
    """Return the longest time in a bucket, in nanoseconds."""
    shift = max(0, (bucket >> _BITS) - 1)
    return ((bucket - (shift << _BITS) + 1) << shift) - 1


TIME_LOSSES: Final = frozenset({"late"})
"""Reasons for disqualification that are time losses; see `SeatRecord.fell`."""


@attrs.frozen
class Opening:
    """A turn of a recorded match from which matches of a task go on.

    Attributes:
        name: the file and the first turn that is played anew: `matches/first.jsonl@40`.
        sha256: of the journal, not compressed; the results folder carries it under this name.

    Raises:
        ValueError: one of them has another form.
    """

    name: str = attrs.field(validator=attrs.validators.matches_re(r"(?s).+@[1-9][0-9]{0,8}"))
    sha256: str = attrs.field(validator=attrs.validators.matches_re("[0-9a-f]{64}"))

    def __str__(self) -> str:
        return self.name

    @property
    def file(self) -> str:
        """Path of the journal; a relative one starts in the folder of the plan."""
        return self.name.rpartition("@")[0]

    @property
    def turn(self) -> int:
        """The first turn that is played anew."""
        return int(self.name.rpartition("@")[2])


@attrs.frozen
class MatchSpec:
    """A match of the schedule: everything that a worker needs besides the plan.

    Attributes:
        id: derived from the position in the schedule, such as `r3-m2-g1` (round, meeting, game). Unique, and
            valid as a file name.
        entrants: names of agents of the plan, in the order of the seats.
        seed: root seed of the match; matches that are compared share it.
        round: zero-based. A later round may depend on the results of earlier ones.
        opening: where it begins; `None` for the beginning of its task.
    """

    id: str
    entrants: tuple[str, ...]
    task: str
    seed: int
    round: int = 0
    opening: Opening | None = None

    @property
    def meeting(self) -> str:
        """Id shared by the matches of one meeting: same task, same seed, same agents."""
        return self.id.rpartition("-")[0]


@attrs.frozen(kw_only=True)
class SeatRecord:
    """Result of one seat of a match. The counters are those of the kernel's statistics of a seat.

    The fields but `noted` are the columns of the database and of exported tables, so their names are part of
    the format.

    Attributes:
        score: see `seat_scores`.
        fell: reason of the disqualification; `None` for a seat that was not disqualified, or only when all
            turns of the match were over (`flagfall.kernel.outcomes.SeatReport.lost_by`).
        detail: details of the disqualification in one line, such as an error; empty without any.
        turns: turns that were judged.
        illegal: turns answered with an action outside the action space.
        absent: turns played for the seat after its disqualification.
        dropped: replies that answered no open turn.
        skipped: turns that the agent never took.
        think_ns: total time charged for turns.
        think_p99_ns: 99th percentile of the time of a turn.
        over_ns: total time beyond the limits; 0 if no turn was late.
        credit_ns: time credited for stalls of the host during its turns.
        start_ns: time until the agent was ready.
        noted: sums of the numbers that the agent noted on its turns, by name; see `flagfall.kernel.notes`.
        thinking: distribution of the turn times: the pairs of a `TimeHistogram`.
    """

    agent: str
    score: float
    reward: float = 0.0
    fell: str | None = None
    detail: str = ""
    turns: int = 0
    late: int = 0
    illegal: int = 0
    absent: int = 0
    dropped: int = 0
    skipped: int = 0
    think_ns: int = 0
    think_p50_ns: int = 0
    think_p99_ns: int = 0
    think_max_ns: int = 0
    over_ns: int = 0
    credit_ns: int = 0
    start_ns: int = 0
    noted: Mapping[str, float] = attrs.field(factory=dict)
    thinking: tuple[tuple[int, int], ...] = ()


@attrs.frozen(kw_only=True)
class MatchRecord:
    """Result of a match.

    The fields but `seats` are columns of the database and of exported tables.

    Attributes:
        attempt: one-based. Every void attempt is followed by another one with the same seed.
        status: a `void` attempt counts for nothing: a fault or a stall of the host affected it.
        why: reason that the attempt is void.
        reason: see `flagfall.events.MatchEnded`.
        solved: task instances that were solved, of those that count.
        tasks: task instances that count.
        elapsed_ns: time from the first event to the last.
        journal: path of the journal, relative to the tournament's folder.
        game_score: sum of the game scores of the instances that count; 0 for tasks that report none.
        ticks: sum of the game ticks of the instances that count; 0 for tasks that report none.
    """

    id: str
    attempt: int = 1
    status: Literal["played", "void"] = "played"
    why: str = ""
    reason: str = "finished"
    seats: tuple[SeatRecord, ...] = ()
    solved: int = 0
    tasks: int = 0
    turns: int = 0
    elapsed_ns: int = 0
    stalls: int = 0
    journal: str | None = None
    game_score: float = 0.0
    ticks: int = 0

    @property
    def is_stalled(self) -> bool:
        """Return whether a stall of the host affected the match."""
        return self.why.startswith("stall: ")


MATCH_FIELDS: Final = tuple(field.name for field in attrs.fields(MatchRecord) if field.name != "seats")
SEAT_FIELDS: Final = tuple(field.name for field in attrs.fields(SeatRecord) if field.name != "noted")
assert SEAT_FIELDS[-1] == "thinking"

Records: TypeAlias = Mapping[str, MatchRecord]
"""Records of the matches that count, by match id; void attempts are not among them."""


def seat_scores(
    measure: Literal["result", "reward"],
    rewards: Sequence[float],
    disqualified: Sequence[str | None],
    *,
    solved: int,
    tasks: int,
) -> tuple[float, ...]:
    """Return the score of each seat of a match.

    With several seats, a seat's score is the share of the other seats with a lower reward, where a tie counts
    half: for two seats 1, 0.5 or 0. A disqualified seat scores 0, and every other seat beats it. A single
    seat is scored by the measure of its task: `result` is the share of instances solved (0 if none was
    played or the seat was disqualified), `reward` the sum of the rewards.

    Args:
        measure: measure of the task, for a single seat.
    """
    if len(rewards) == 1:
        if measure == "reward":
            return (float(rewards[0]),)
        return (solved / tasks if tasks and disqualified[0] is None else 0.0,)
    standing = [(reason is None, reward) for reason, reward in zip(disqualified, rewards, strict=True)]
    return tuple(
        sum(_compare(mine, theirs) for seat, theirs in enumerate(standing) if seat != me)
        / (len(standing) - 1)
        if mine[0]
        else 0.0
        for me, mine in enumerate(standing)
    )


@attrs.frozen
class Decision:
    """Who has won a match of several seats, as tournaments count it.

    Attributes:
        scores: by seat, as `seat_scores` returns them; empty where nobody can win.
        winners: the seats with the highest score, which have drawn if they are several.
        why: why nobody has won, or has won without a comparison of rewards; otherwise empty.
    """

    scores: Sequence[float] = ()
    winners: Sequence[int] = ()
    why: str = ""


_UNDECIDED: Final = {"void": "the match is void", CUT_OFF: "the journal ends before the match did"}


def decide_match(
    end: str, rewards: Sequence[float], lost: Sequence[str | None], *, has_rewards: bool
) -> Decision:
    """Return who has won a match; nobody if it has one seat.

    Args:
        end: why the match ended.
        rewards: the sum of the rewards of each seat.
        lost: by seat, why it loses the match, see `flagfall.kernel.outcomes.lost_by`.
        has_rewards: the rewards of the seats are known, not only their sum.
    """
    if len(rewards) < 2:  # noqa: PLR2004 - a seat without others
        return Decision()
    if end in _UNDECIDED:
        return Decision(why=_UNDECIDED[end])
    present = lost.count(None)
    if not has_rewards and present > 1:
        return Decision(why="this journal is older than the record of each seat's rewards")
    scores = seat_scores("reward", rewards, lost, solved=0, tasks=0)
    best = max(scores)
    winners = [seat for seat, score in enumerate(scores) if score == best > 0]
    if not winners:
        return Decision(scores, why="every seat was disqualified")
    return Decision(scores, winners, "all others were disqualified" if present == 1 else "")


def _compare(mine: tuple[bool, float], theirs: tuple[bool, float]) -> float:
    if mine[0] != theirs[0]:
        return float(mine[0])
    return 0.5 if mine[1] == theirs[1] else float(mine[1] > theirs[1])


def compare_solo(first: MatchRecord, second: MatchRecord) -> tuple[float, float]:
    """Return the points of two agents that played the same match alone: 1, 0.5 or 0 each.

    A disqualified agent loses, and both may lose.
    """
    (mine,), (theirs,) = first.seats, second.seats
    if mine.fell is not None or theirs.fell is not None:
        return float(mine.fell is None), float(theirs.fell is None)
    if mine.score == theirs.score:
        return 0.5, 0.5
    return float(mine.score > theirs.score), float(theirs.score > mine.score)


def without_time_losses(records: Records) -> dict[str, MatchRecord]:
    """Return the records of matches in which no seat was disqualified by the clock."""
    return {
        name: record
        for name, record in records.items()
        if not any(seat.fell in TIME_LOSSES for seat in record.seats)
    }
