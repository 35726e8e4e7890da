"""Events of a match, as typed, frozen values; times are nanoseconds since the start of the match.

They are msgspec structs rather than attrs classes because one of them is made on every turn: making and
encoding one takes a fifth of the time (`python -m benchmarks kernel` shows the cost of a journal).
A sink (`flagfall.kernel.dispatcher.Sink`) gets them in the order of this life cycle:

    MatchStarted  SeatReady*  ( TaskStarted  TurnPlayed*  TaskEnded )*  MatchEnded

with ReplyDropped, SeatDisqualified and StallSeen at any point of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate, count
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from msgspec import Meta, Struct

SCHEMA = 3
"""Version of the records of a journal. Readers accept older versions, and refuse newer ones.

1: one event per line. 2: plain turns share a line (`TurnsPlayed`). 3: a seat is `disqualified`; the event was
`fell` before, and the verdict `fallen`.
"""

ON_TIME: Final = "on time"
"""The default verdict; events share this object, as a default is left out of a record only if identical."""

Verdict: TypeAlias = Literal["on time", "late", "overrun", "illegal", "disqualified", "absent"]
"""Result of a turn.

- `on time`: the seat's own action was played.
- `late`: the NIL action was played, because there was no answer in time.
- `overrun`: the action that aborts the episode was played, because the answer took longer than `act_abort`.
- `illegal`: the NIL action was played, because the answer is not in the action space.
- `disqualified`: the seat was disqualified in this turn; the NIL action was played.
- `absent`: the seat was disqualified before; the NIL action was played.
"""

LATE_VERDICTS: Final[frozenset[Verdict]] = frozenset({"late", "overrun"})
"""Verdicts of turns that another action was played for by the clock, while the seat was in the match."""

OUT_VERDICTS: Final[frozenset[Verdict]] = frozenset({"disqualified", "absent"})
"""Verdicts of turns of a seat that is out of the match; no time is charged for them."""

MAX_WHOLE: Final = 2**63 - 1
"""Largest absolute value of whole numbers in a record, except in values of tasks and agents."""

Whole: TypeAlias = Annotated[int, Meta(ge=-MAX_WHOLE, le=MAX_WHOLE)]
"""A count, an index or nanoseconds; readers of records refuse larger values."""

Amount: TypeAlias = bool | Whole | float
"""A real number."""

Reward: TypeAlias = Amount | dict[str, Amount]
"""A reward, or the rewards of all players by name."""


def total_reward(reward: Reward) -> Amount:
    """Return a reward, or the sum of those of all players."""
    return sum(reward.values()) if isinstance(reward, dict) else reward


class Event(Struct, frozen=True, tag_field="event", omit_defaults=True):
    """Base class of events: each class derived from it is read and written in journals.

    Where no code treats an event specially, `verify` checks its seat, if it has one; logs, replays and
    timelines show its title with all its fields.

    Attributes:
        title: what happened, in the words of its class by default.
        at_ns: time of the event in nanoseconds since the start of the match.
    """

    title: ClassVar[str] = ""
    level: ClassVar[Literal["info", "warning"]] = "info"

    at_ns: Whole

    def __init_subclass__(cls, **config: Any) -> None:
        super().__init_subclass__(**config)
        if "title" not in cls.__dict__:
            cls.title = re.sub("(?<!^)(?=[A-Z])", " ", cls.__name__).lower()

    def facts(self) -> dict[str, Any]:
        """Return the fields besides the time by name."""
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "at_ns"}


class Parent(Struct, frozen=True, omit_defaults=True):
    """A recorded match from which another one goes on, and what held until then.

    Attributes:
        turn: the number of the first turn that was played anew; the turns before are those of the parent.
        sha256: of the parent's journal, not compressed: the digits that `sha256sum` prints.
        agents: who played until then, in seat order.
        seed: the root seed until then: the tasks that had begun have seeds that derive from it.
        time_control: the time control until then.
    """

    turn: Whole
    sha256: str
    agents: Sequence[str]
    seed: int
    time_control: str


class MatchStarted(Event, frozen=True, tag="match", kw_only=True):
    """Start of a match, with everything that is needed to execute it again.

    Attributes:
        agents: one name for each seat, in seat order.
        seed: the root seed of the match; every other seed derives from it.
        clock: `wall` or `virtual`.
        tick_ns: the length of a tick at real-time pace; `None` at lock-step pace.
        steps: number of turns after which the match is cut; `None` for no limit.
        begun: wall time of the start (ISO 8601, UTC); `None` under the virtual clock, so that equal
            matches have equal journals.
        config: the configuration of the tasks as JSON text, if `tasks` and `scheduler` do not define them;
            `flagfall.tasks.building.rebuild` reads it.
        rules: revisions of the rules of task families (`flagfall.tasks.task`); a family that is
            missing was played by revision 1.
        code: SHA-256 of the user's own files that the tasks were made from, by their names.
        think: the model of latency of each seat as text (`flagfall.timing.latency.SeatLatency`), an empty one
            for a seat without; no texts if no seat has a model.
        parents: of a branch (`flagfall branch`), the matches whose turns it repeats, by growing turns. The
            other fields are those of the newest turns.
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
    code: Mapping[str, str] = {}
    think: Sequence[str] = ()
    parents: tuple[Parent, ...] = ()

    def settings_at(self, turn: int) -> Parent | MatchStarted:
        """Return what names the agents, the seed and the time control of a turn."""
        return next((parent for parent in self.parents if turn < parent.turn), self)


class SeatReady(Event, frozen=True, tag="ready"):
    """Successful start of an agent.

    Attributes:
        host: where the agent runs: `task`, `thread`, `process` or `remote` (`flagfall.kernel.hosting`).
    """

    seat: Whole
    spent_ns: Whole
    host: str


class TaskStarted(Event, frozen=True, tag="start"):
    """Start of a task.

    Attributes:
        index: zero-based index of the task within the match.
    """

    task: str
    index: Whole
    seed: Whole


class TurnPlayed(Event, frozen=True, tag="turn", gc=False):
    """One exchange of a seat: observation, reward, action, and the verdict by the clock.

    Attributes:
        turn: the number of the turn in the match, from 0.
        reward: sent with the observation, for the action of an earlier turn.
        action: the action that was played: the seat's own, or NIL.
        spent_ns: time charged to the seat: the duration of its turn, less `credit_ns`.
        credit_ns: time that the host lost during the turn; not charged to the seat.
        answers: at real-time pace, the turn that the action answered, if it is an older one.
        refused: the illegal action, shortened (`flagfall.kernel.safe_values`).
        legal: with the first illegal action of a seat: the actions that would have been legal, as text.
        note: what the agent noted on the turn (`flagfall.kernel.notes`), in plain values.
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
    legal: str | None = None
    note: Any = None


class TurnsPlayed(Struct, frozen=True, tag_field="event", tag="turns"):
    """Consecutive plain turns, in columns instead of events.

    A turn is plain if the only seat of a match at lock-step pace was on time, nothing was credited, and
    observation and action are whole numbers.

    Attributes:
        turn: the number of the first turn; the others follow it.
        at_ns: the time of the first turn as in an `Event`; for each other turn the time since the one before.
        observation: as in `TurnPlayed`, like `reward`, `action` and `spent_ns`. All columns have one length.
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
        """Return each turn as an event; if the columns differ in length, as many as the shortest has."""
        columns = (self.observation, self.reward, self.action, self.spent_ns)
        return list(map(TurnPlayed, accumulate(self.at_ns), count(self.turn), *columns))


class ReplyDropped(Event, frozen=True, tag="dropped"):
    """Reply that answers no open turn; it is counted and never played.

    Attributes:
        turn: the turn that the agent named; -1 if it named none, or one beyond 2**53.
        why: `stale` (its turn was judged already), `double` (its turn was answered already) or
            `unasked` (there was no such turn yet: the agent may name any number).
    """

    level = "warning"

    seat: Whole
    turn: int
    why: Literal["stale", "double", "unasked"]


class SeatDisqualified(Event, frozen=True, tag="disqualified"):
    """Disqualification of a seat for the rest of the match.

    Attributes:
        reason: `late`, `crashed`, `gone`, `garbage`, `not started` or `unavailable`; for an agent that
            connects also `not connected`, or `silent` if a client connected and sent nothing; on the virtual
            clock also `unresponsive`, for an agent that takes too much real time.
        detail: information for the author of the agent; bounded in length.
    """

    level = "warning"

    seat: Whole
    reason: str
    detail: str = ""


class StallSeen(Event, frozen=True, tag="stall"):
    """Time in which the event loop could not run.

    Attributes:
        seat: the seat whose agent blocked the loop; `None` if it was no agent of this match.
    """

    title = "stall"
    level = "warning"

    lost_ns: Whole
    seat: Whole | None = None


class TaskEnded(Event, frozen=True, tag="end"):
    """End of a task.

    Attributes:
        result: `True`, `False`, or `None` if the task has no result or was cut short.
        ended: `finished`, `truncated`, `time` or `cut`; see `flagfall.kernel.outcomes.Outcome`.
        answers: the answers of the seats to the result, by seat number; a task scheduler may use them.
        rewards: the sum of the rewards of each of several seats; older journals lack it.
    """

    task: str
    index: Whole
    result: bool | None
    reward: Amount
    steps: Whole
    ended: str = "finished"
    metrics: Mapping[str, Any] = {}
    answers: Mapping[int, Any] = {}
    rewards: tuple[Amount, ...] = ()


class Printed(Struct, frozen=True, omit_defaults=True):
    """A part of what an agent printed.

    Attributes:
        turn: the turn that was open, or due, when the host read it: it was printed in that turn or before. On
            the virtual clock that depends on real time, and so it is the number of turns of the match.
        text: decoded as UTF-8; it may hold anything, such as control characters of terminals.
        left_out: bytes before this part that were not kept.
    """

    seat: Whole
    turn: Whole
    text: str
    left_out: Whole = 0


class MatchEnded(Event, frozen=True, tag="over"):
    """End of the match, its last event.

    Attributes:
        reason: `finished` (the scheduler had no more tasks), `steps` (the limit was reached),
            `seats` (every seat is disqualified), `stopped` (on request) or `void` (a host fault).
        reward: a reward still owed at the end of the match, which the agents got then.
        detail: for `void`, the failure.
        printed: what agents in processes printed, seat by seat.
    """

    reason: Literal["finished", "steps", "seats", "stopped", "void"]
    turns: Whole
    reward: Reward = 0
    detail: str = ""
    printed: tuple[Printed, ...] = ()
