"""Aggregates of a journal in one pass: chunks of turns, tasks and seats. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import attrs
from msgspec.structs import replace

from flagfall.events import (
    OUT_VERDICTS,
    MatchEnded,
    MatchStarted,
    Printed,
    ReplyDropped,
    SeatDisqualified,
    SeatReady,
    TaskEnded,
    TaskStarted,
)
from flagfall.kernel.outcomes import STDERR_BYTES, lost_by
from flagfall.recording.match_result import CUT_OFF
from flagfall.recording.turn_limits import LimitsOfTurns
from flagfall.tournament.records import Decision, decide_match
from flagfall.viewer.replay.earned import EarnedRewards, rewards_of_seats
from flagfall.viewer.replay.texts import MAX_NAME_CHARS, bounded_values, reward_of, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

CHUNK_ROWS: Final = 1024
"""A chunk ends with the turn that reaches this number of rows: some 60 kB of JSON for a byte task."""

CHUNK_BYTES: Final = 4 * 1024 * 1024
"""A chunk ends with the turn that reaches this length in the journal, which bounds the time to read it."""

MAX_TASKS: Final = 2_000
"""The most tasks that a summary lists; the events of the chunks have all."""

MAX_LISTED_REWARDS: Final = 12
"""The most seats whose rewards are listed for each task."""

MAX_SEATS: Final = 256
"""The most seats that are shown; a journal may name any number."""

COUNTED_VERDICTS: Final = {"late": "late", "overrun": "late", "illegal": "illegal"}
"""Verdicts that a chunk counts, and the names of their counts."""

COUNTED_EVENTS: Final = {
    "start": "tasks",
    "end": "ends",
    "stall": "stalls",
    "dropped": "dropped",
    "disqualified": "disqualified",
    "fell": "disqualified",
}
"""Tags of events, and the names of their counts in a chunk; those of all others are `others`."""

MAX_DETAIL_CHARS: Final = 16_000
"""Longest text on why a seat was disqualified, or a match void."""

MAX_PRINTS: Final = 300
"""The most parts of what an agent printed; a match writes fewer."""

MAX_SHARE: Final = 1e6
"""Greatest share of a limit that is reported; a limit may be 0."""


@attrs.define(eq=False)
class ChunkEntry:
    """A part of a journal: consecutive turns, and the events before each of them.

    Attributes:
        offset: where it begins in the text of the journal, in bytes.
        rows: the number of its records of turns: one for each turn and seat.
        at_ns: the times of the first and the last row.
        counts: `late` and `illegal` turns; `tasks` that begin, `ends` of tasks, `stalls`, `dropped`,
            `disqualified`, and `others`: all other events.
        earned: the state of the rewards before its first turn.
        rewards: by seat, what its actions earned, as far as the journal tells.
        rewarded: the number of its actions that earned a reward other than 0.
        last_earned: by seat, what its last action here earned, where that stands behind the chunk.
        ends_task: a task ended after its last turn.
        max_spent_ns: by seat, the longest turn.
        max_share: by seat, the greatest share of the soft limit that a turn took; `None` without a limit.
        notes: by seat, the number of its turns with a note.
    """

    offset: int
    line: int
    limits: LimitsOfTurns
    earned: EarnedRewards
    first: int
    max_spent_ns: list[int]
    max_share: list[float | None]
    rewards: list[float]
    notes: list[int]
    last: int = 0
    turns: int = 0
    rows: int = 0
    at_ns: tuple[int, int] = (0, 0)
    rewarded: int = 0
    last_earned: dict[int, float] = attrs.Factory(dict)
    ends_task: bool = False
    counts: Counter[str] = attrs.Factory(Counter)


@attrs.define(eq=False)
class SeatEntry:
    """Facts of a seat; see the summary's fields of the same names.

    Attributes:
        reward: what it was paid in all tasks that have ended.
        won: the episodes in which no other seat was paid as much.
        has_missed: turns were played for it.
    """

    name: str
    host: str | None = None
    ready_ns: int | None = None
    turns: int = 0
    late: int = 0
    illegal: int = 0
    dropped: int = 0
    credit_ns: int = 0
    reward: float = 0.0
    won: int = 0
    has_missed: bool = False
    disqualified: tuple[int, SeatDisqualified] | None = None
    printed: list[Printed] = attrs.Factory(list)


@attrs.define(eq=False)
class TaskEntry:
    """Facts of a task that was started."""

    name: str
    index: int
    seed: int
    first_turn: int
    turns: int = 0
    end: TaskEnded | None = None


def share_of(spent_ns: int, soft_ns: int) -> float:
    """Return the share of a soft limit that a turn took."""
    return min(spent_ns / soft_ns, MAX_SHARE) if soft_ns > 0 else MAX_SHARE * (spent_ns > 0)


class Damage(Exception):
    """A line contradicts the lines before it, so that nothing after it can be shown."""


class Tally:
    """Aggregates of all lines so far.

    Attributes:
        chunks: the chunks; at least one.
        tasks: the first `MAX_TASKS` tasks.
        seats: the first `MAX_SEATS` seats.
        turns: the number of turns with a record.
        numbers: the first turn of a single seat showed a whole number, and one or none was played; `None`
            before it.
        episodes: counts of tasks that were not cut: `played`, `solved`, `failed`, and `drawn` where several
            seats had the highest reward.
        earned: the rewards of the turns so far.
        has_rewards: the rewards of all seats are known; older journals have the sum of several.
        turns_end: the end of the newest turn in the text, in bytes, and the number of the line that follows.
        pending: counts of events since the newest turn; they belong to the chunk of the turn that follows.
    """

    def __init__(self, header: MatchStarted) -> None:
        self.header = header
        self.seats: list[SeatEntry] = [SeatEntry(name) for name in header.agents[:MAX_SEATS]]
        self.tasks: list[TaskEntry] = []
        self.started: int = 0
        self.turns: int = 0
        self.over: MatchEnded | None = None
        self.numbers: bool | None = None
        self.limits: LimitsOfTurns = LimitsOfTurns(header)
        self.episodes: Counter[str] = Counter()
        self.has_rewards: bool = True
        self.earned: EarnedRewards = EarnedRewards(len(header.agents))
        self._latest: dict[int, ChunkEntry] = {}  # by seat, the chunk of its last turn
        self.turns_end: tuple[int, int] = (0, 1)
        self._last_turn = self._last_seat = -1
        self.pending: Counter[str] = Counter(others=1)  # the header
        self.chunks: list[ChunkEntry] = [self._new_chunk(0)]

    def _new_chunk(self, turn: int) -> ChunkEntry:
        seats = len(self.seats)
        states = (self.limits.copy(), self.earned.copy())
        sums = ([0.0] * seats, [0] * seats)
        return ChunkEntry(*self.turns_end, *states, turn, [0] * seats, [None] * seats, *sums)

    def take_turns(
        self, first: int, at_ns: Sequence[int], rewards: Sequence[Any], spent_ns: Sequence[int]
    ) -> None:
        """Take consecutive turns of the only seat, all on time.

        Args:
            at_ns: the time of the first one, and the difference for each other one.

        Raises:
            Damage: there is more than one seat, or the turns do not follow the earlier ones.
        """
        if len(self.header.agents) != 1:
            raise Damage("turns in columns, in a match of several seats")
        if first == self._last_turn:
            raise Damage(f"turn {first} is recorded twice")
        chunk = self._chunk_of(first)
        count = len(at_ns)
        began_ns, ended_ns = at_ns[0], sum(at_ns)
        chunk.at_ns = (chunk.at_ns[0] if chunk.rows else began_ns, ended_ns)
        chunk.rows += count
        chunk.turns += count
        chunk.last = self._last_turn = first + count - 1
        before, inside = self.earned.take_turns(first, rewards)
        self._pay_before(chunk, 0, before)
        chunk.rewards[0] += inside
        chunk.rewarded += count - 1 - list(rewards[1:]).count(0)
        self._note_spent(chunk, 0, max(spent_ns), spent_ns)
        self.turns += count
        self.seats[0].turns += count
        if self.tasks:
            self.tasks[-1].turns += count * (len(self.tasks) == self.started)

    def take_turn(
        self,
        turn: int,
        seat: int,
        at_ns: int,
        reward: Any,
        spent_ns: int,
        verdict: str,
        credit_ns: int,
        has_note: bool,
    ) -> None:
        """Take the turn of one seat; `Damage` if there is no such seat, or a later turn is known."""
        if not 0 <= seat < len(self.header.agents):
            raise Damage(f"seat {seat} of {len(self.header.agents)}")
        is_next = turn != self._last_turn
        if not is_next and seat <= self._last_seat:  # a chunk ends with a turn, so none may be endless
            raise Damage(f"turn {turn} of seat {seat} is recorded twice, or after that of a later seat")
        chunk = self._chunk_of(turn)
        self._last_seat = seat
        self.turns += is_next
        chunk.turns += is_next
        if self.tasks:
            self.tasks[-1].turns += is_next and len(self.tasks) == self.started
        chunk.last = self._last_turn = turn
        chunk.at_ns = (chunk.at_ns[0] if chunk.rows else at_ns, at_ns)
        chunk.rows += 1
        name = COUNTED_VERDICTS.get(verdict)
        if name is not None:
            chunk.counts[name] += 1
        if seat < len(self.seats):
            self._pay_before(chunk, seat, self.earned.take_turn(turn, seat, reward))
            entry = self.seats[seat]
            entry.turns += 1
            entry.has_missed |= verdict in OUT_VERDICTS
            entry.late += name == "late"
            entry.illegal += name == "illegal"
            entry.credit_ns += credit_ns
            chunk.notes[seat] += has_note
            if verdict != "absent":
                self._note_spent(chunk, seat, spent_ns, (spent_ns,))

    def _pay_before(self, chunk: ChunkEntry, seat: int, earned: float | None) -> None:
        """Take what an action earned, with the seat's turn in `chunk` that follows it."""
        self._pay(seat, earned)
        chunk.last_earned.pop(seat, None)
        self._latest[seat] = chunk

    def _pay(self, seat: int, earned: float | None) -> None:
        """Take what the last action of a seat earned, if that is known."""
        if earned is not None:
            chunk = self._latest[seat]
            chunk.rewards[seat] += earned
            chunk.rewarded += bool(earned)
            chunk.last_earned[seat] = earned

    def _chunk_of(self, turn: int) -> ChunkEntry:
        """Return the chunk that a turn belongs to; it may be a new one."""
        if turn < self._last_turn or turn < 0:
            raise Damage(f"turn {turn} follows turn {self._last_turn}")
        chunk = self.chunks[-1]
        is_full = chunk.rows >= CHUNK_ROWS or self.turns_end[0] - chunk.offset >= CHUNK_BYTES
        if is_full and turn != self._last_turn and chunk.rows:
            chunk = self._new_chunk(turn)
            self.chunks.append(chunk)
        elif not chunk.rows:
            chunk.first = turn
        chunk.ends_task = False
        if self.pending:
            chunk.counts.update(self.pending)
            self.pending.clear()
        return chunk

    def _note_spent(self, chunk: ChunkEntry, seat: int, longest_ns: int, spent_ns: Sequence[int]) -> None:
        chunk.max_spent_ns[seat] = max(chunk.max_spent_ns[seat], longest_ns)
        flat = self.limits.flat
        if flat is not None:
            self._note_share(chunk, seat, longest_ns, flat.soft_ns)
            return
        for turn, one_ns in enumerate(spent_ns, self._last_turn + 1 - len(spent_ns)):
            self._note_share(chunk, seat, one_ns, self.limits.charge(turn, seat, one_ns).soft_ns)

    @staticmethod
    def _note_share(chunk: ChunkEntry, seat: int, spent_ns: int, soft_ns: int | None) -> None:
        if soft_ns is not None:
            chunk.max_share[seat] = max(chunk.max_share[seat] or 0.0, share_of(spent_ns, soft_ns))

    def take_event(self, event: Any) -> None:
        """Take an event that is no turn; `Damage` if it names a seat that does not exist."""
        if isinstance(event, MatchStarted):
            raise Damage("a second beginning of the match")
        seat = getattr(event, "seat", None)
        if seat is not None and not 0 <= seat < len(self.header.agents):
            raise Damage(f"seat {seat} of {len(self.header.agents)}")
        self.pending[COUNTED_EVENTS.get(event.__struct_config__.tag, "others")] += 1
        if isinstance(event, TaskStarted):
            self.started += 1
            self.earned.begin_task()
            if len(self.tasks) < MAX_TASKS:
                name = shortened(event.task, MAX_NAME_CHARS)
                self.tasks.append(TaskEntry(name, event.index, event.seed, self._last_turn + 1))
        elif isinstance(event, TaskEnded):
            self._take_rewards(event)
            self.chunks[-1].ends_task = self.chunks[-1].rows > 0
            if len(self.tasks) == self.started and self.tasks and self.tasks[-1].end is None:
                metrics = bounded_values(event.metrics)
                ended = shortened(event.ended, MAX_NAME_CHARS)
                rewards = event.rewards if len(self.header.agents) <= MAX_LISTED_REWARDS else ()
                self.tasks[-1].end = replace(
                    event, task="", ended=ended, metrics=metrics, answers={}, rewards=rewards
                )
        elif isinstance(event, MatchEnded):
            detail = shortened(event.detail, MAX_DETAIL_CHARS)
            self.over = replace(event, detail=detail, reward=reward_of(event.reward), printed=())
            self._take_prints(event.printed)
        elif seat is not None and seat < len(self.seats):
            self._take_of_seat(seat, event)

    def _take_rewards(self, event: TaskEnded) -> None:
        for seat, earned in self.earned.end_task(event).items():
            self._pay(seat, earned)
        totals = rewards_of_seats(event, len(self.header.agents))
        self.has_rewards &= bool(totals)
        for entry, paid in zip(self.seats, totals, strict=False):
            entry.reward += paid
        if event.ended == "cut":
            return
        most = max(totals, default=0)
        best = [seat for seat, paid in enumerate(totals) if paid == most]
        outcomes = {"solved": event.result is True, "failed": event.result is False, "drawn": len(best) > 1}
        self.episodes.update(["played", *(name for name, has_come in outcomes.items() if has_come)])
        if len(best) == 1 and best[0] < len(self.seats):
            self.seats[best[0]].won += 1

    def decision(self) -> Decision:
        """Return who has won, as far as the journal tells."""
        if len(self.header.agents) > len(self.seats):
            return Decision(why=f"the match has more than {MAX_SEATS} seats")
        end = CUT_OFF if self.over is None else self.over.reason
        reasons = [entry.disqualified and entry.disqualified[1].reason for entry in self.seats]
        return decide_match(
            end,
            [entry.reward for entry in self.seats],
            [
                lost_by(end, reason, has_missed=entry.has_missed)
                for reason, entry in zip(reasons, self.seats, strict=True)
            ],
            has_rewards=self.has_rewards,
        )

    def _take_prints(self, printed: Sequence[Printed]) -> None:
        """Keep what agents printed, as much as a match writes; more was written by something else."""
        for part in printed:
            if not 0 <= part.seat < len(self.seats):
                raise Damage(f"seat {part.seat} of {len(self.header.agents)}")
            kept = self.seats[part.seat].printed
            room = 2 * STDERR_BYTES - sum(len(of.text) for of in kept)
            if room > 0 and len(kept) < MAX_PRINTS:
                kept.append(replace(part, text=shortened(part.text, room)))

    def _take_of_seat(self, seat: int, event: Any) -> None:
        entry = self.seats[seat]
        if isinstance(event, SeatReady):
            entry.host, entry.ready_ns = shortened(event.host, MAX_NAME_CHARS), event.spent_ns
            self.limits.take_start(event)
        elif isinstance(event, SeatDisqualified):
            if entry.disqualified is None:
                reason = shortened(event.reason, MAX_NAME_CHARS)
                detail = shortened(event.detail, MAX_DETAIL_CHARS)
                entry.disqualified = (self._last_turn + 1, replace(event, reason=reason, detail=detail))
        elif isinstance(event, ReplyDropped):
            entry.dropped += 1
