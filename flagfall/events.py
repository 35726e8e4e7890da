"""Every event of a match, as typed, frozen values; times are nanoseconds since the match began.

They are msgspec structs rather than attrs classes because one of them is made on every turn: making and
encoding one takes a fifth of the time (`python -m benchmarks kernel` shows what a journal costs).
A sink (`flagfall.kernel.sinks.Sink`) gets them in the order of this life cycle:

    MatchStarted  SeatReady*  ( TaskStarted  TurnPlayed*  TaskEnded )*  MatchEnded

with ReplyDropped, SeatDisqualified and StallSeen at any place.
"""

from __future__ import annotations

__all__ = [
    "ON_TIME",
    "SCHEMA",
    "Event",
    "MatchEnded",
    "MatchStarted",
    "ReplyDropped",
    "SeatDisqualified",
    "SeatReady",
    "StallSeen",
    "TaskEnded",
    "TaskStarted",
    "TurnPlayed",
    "TurnsPlayed",
    "Verdict",
]

from collections.abc import Mapping, Sequence
from itertools import accumulate, count
from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta, Struct

SCHEMA = 3
"""The version of a journal's records. A reader takes older ones, and refuses a newer one.

1: an event a line. 2: plain turns stand together (`TurnsPlayed`). 3: a seat is `disqualified`; the event was
`fell` before, and the verdict `fallen`.
"""

ON_TIME: Final = "on time"
"""The usual verdict. One object for all: a default is left out of a record only where it is this very one."""

Verdict: TypeAlias = Literal["on time", "late", "overrun", "illegal", "disqualified", "absent"]
"""The judgement of a turn.

- `on time`: the seat's own action was played.
- `late`: the NIL action was played, because no answer was there in time.
- `overrun`: the action that aborts the episode was played, because the answer took longer than `act_abort`.
- `illegal`: the NIL action was played, because the answer is not in the action space.
- `disqualified`: the seat was disqualified in this turn; the NIL action was played.
- `absent`: the seat was disqualified before; the NIL action was played.
"""


MAX_WHOLE: Final = 2**63 - 1
"""The largest whole number in a record, other than in what tasks and agents say; the smallest is its like."""

Whole: TypeAlias = Annotated[int, Meta(ge=-MAX_WHOLE, le=MAX_WHOLE)]
"""A count, a number of something, or nanoseconds; a reader of records refuses larger ones."""

Amount: TypeAlias = bool | Whole | float
"""A number that may have a point."""

Reward: TypeAlias = Amount | dict[str, Amount]
"""A reward, or one for each player."""


class Event(Struct, frozen=True, tag_field="event", omit_defaults=True):
    """A fact.

    Attributes:
        at_ns: when it happened, in nanoseconds since the match began.
    """

    at_ns: Whole


class MatchStarted(Event, frozen=True, tag="match", kw_only=True):
    """The match is set up; says all that is needed to execute it again.

    Attributes:
        schema: the version of the records.
        flagfall: the version of the program.
        tasks: the ids of the tasks, in the order given.
        scheduler: the text form of the task scheduler.
        agents: one name for each seat, in seat order.
        seed: the root seed of the match; every other seed derives from it.
        time_control: text form.
        clock: `wall` or `virtual`.
        tick_ns: the length of a tick at real-time pace; `None` at lock-step pace.
        steps: after so many turns the match is cut; `None` for no limit.
        begun: wall time of the start (ISO 8601, UTC); `None` under the virtual clock, so that equal
            matches have equal journals.
        config: the configuration of the tasks, as JSON text, where there was more to say than `tasks` and
            `scheduler` can; `flagfall.playing.rebuild` reads it.
        rules: revisions of the rules of task families (`flagfall.tasks.rule_revisions`); a family that is
            missing was played by revision 1.
    """

    schema: Whole
    flagfall: str
    tasks: Sequence[str]
    scheduler: str
    agents: Sequence[str]
    seed: int
    time_control: str
    clock: str
    tick_ns: Whole | None = None
    steps: Whole | None = None
    begun: str | None = None
    config: str | None = None
    rules: Mapping[str, int] = {}


class SeatReady(Event, frozen=True, tag="ready"):
    """An agent has started, within its time.

    Attributes:
        seat: the number of the seat.
        spent_ns: how long it took.
        host: where the agent runs: `task`, `thread`, `process` or `remote` (`flagfall.kernel.hosting`).
    """

    seat: Whole
    spent_ns: Whole
    host: str


class TaskStarted(Event, frozen=True, tag="start"):
    """A task begins.

    Attributes:
        task: its id.
        index: zero-based index of the task within the match.
        seed: what it was reset with.
    """

    task: str
    index: Whole
    seed: Whole


class TurnPlayed(Event, frozen=True, tag="turn", gc=False):
    """One exchange: what went out, what came back, and what the clock said of it.

    Attributes:
        turn: the number of the turn in the match, from 0.
        observation: what the seat was shown.
        reward: the reward that came with it, for the action of an earlier turn.
        action: the action that was played: the seat's own, or NIL.
        spent_ns: what the seat was charged: the time it had the turn, less `credit_ns`.
        seat: the number of the seat.
        verdict: see `Verdict`.
        credit_ns: time the host lost while the seat had the turn; not held against it.
        answers: at real-time pace, the turn that the action answered, where that is an older one.
        refused: for an illegal action: what it was, shortened (`flagfall.kernel.safe_values`).
    """

    turn: Whole
    observation: Any
    reward: Reward
    action: Any
    spent_ns: Whole = 0
    seat: Whole = 0
    verdict: Verdict = ON_TIME
    credit_ns: Whole = 0
    answers: Whole | None = None
    refused: str | None = None


class TurnsPlayed(Struct, frozen=True, tag_field="event", tag="turns"):
    """Plain turns, one after another: columns in place of events.

    A turn is plain where the only seat of a match at lock-step pace was on time, nothing was credited, and
    observation and action are whole numbers.

    Attributes:
        turn: the number of the first; each other one has the next number.
        at_ns: the time of the first as in an `Event`; of each other one, how long after the one before.
        observation: as in `TurnPlayed`, as are `reward`, `action` and `spent_ns`. All have one length.
    """

    turn: Whole
    at_ns: Sequence[Whole]
    observation: Sequence[int]
    reward: Sequence[Amount]
    action: Sequence[int]
    spent_ns: Sequence[Whole]

    def __len__(self) -> int:
        return len(self.at_ns)

    def events(self) -> Sequence[TurnPlayed]:
        """Each turn as an event; where columns differ in length, as far as the shortest goes."""
        columns = (self.observation, self.reward, self.action, self.spent_ns)
        return list(map(TurnPlayed, accumulate(self.at_ns), count(self.turn), *columns))


class ReplyDropped(Event, frozen=True, tag="dropped"):
    """A reply that answers no open turn. It is counted and never played.

    Attributes:
        seat: the number of the seat.
        turn: the turn that it answers, as the agent named it; -1 where it named none, or one beyond 2**53.
        why: `stale` (its turn was judged already), `double` (its turn was answered already) or
            `unasked` (there was no such turn yet: the agent may name any number).
    """

    seat: Whole
    turn: int
    why: Literal["stale", "double", "unasked"]


class SeatDisqualified(Event, frozen=True, tag="disqualified"):
    """A seat is disqualified for the rest of the match.

    Attributes:
        seat: the number of the seat.
        reason: `late`, `crashed`, `gone`, `garbage` or `not started`; of an agent that was to connect also
            `not connected`, or `silent` where a client connected and sent nothing.
        detail: details for the agent's author; bounded in length.
    """

    seat: Whole
    reason: str
    detail: str = ""


class StallSeen(Event, frozen=True, tag="stall"):
    """The event loop could not run for a while.

    Attributes:
        lost_ns: for how long.
        seat: the seat whose agent held it up; `None` where it was no agent of this match.
    """

    lost_ns: Whole
    seat: Whole | None = None


class TaskEnded(Event, frozen=True, tag="end"):
    """A task is over.

    Attributes:
        task: its id.
        index: zero-based index of the task within the match.
        result: `True`, `False`, or `None` where it judges nothing or was cut short.
        reward: the sum of the rewards it paid.
        steps: the number of its steps.
        ended: `finished`, `truncated`, `time` or `cut`; see `flagfall.kernel.outcomes.Outcome`.
        metrics: the task's own figures.
        answers: the answer of each seat to the result, by seat number: a task scheduler may use it.
    """

    task: str
    index: Whole
    result: bool | None
    reward: Amount
    steps: Whole
    ended: str = "finished"
    metrics: Mapping[str, Any] = {}
    answers: Mapping[int, Any] = {}


class MatchEnded(Event, frozen=True, tag="over"):
    """The last event.

    Attributes:
        reason: `finished` (the scheduler had no more tasks), `steps` (the limit was reached),
            `seats` (every seat is disqualified), `stopped` (by request) or `void` (a host fault).
        turns: how many turns were played.
        reward: a reward still owed when the match ended; the agents were shown it at the end.
        detail: for `void`: what failed.
    """

    reason: Literal["finished", "steps", "seats", "stopped", "void"]
    turns: Whole
    reward: Reward = 0
    detail: str = ""
