"""The state of a recorded match at one of its turns, from which another match goes on.

`flagfall.recording.branching` makes it from a journal; the environment begins with it, not with a new script.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

if TYPE_CHECKING:
    from flagfall.events import Event, SeatDisqualified
    from flagfall.kernel.channels.turn_channel import Envelope, LateNotice, PlayedTurn
    from flagfall.kernel.outcomes import SeatStats, TaskStats
    from flagfall.kernel.roles import TaskRole
    from flagfall.kernel.script import Request
    from flagfall.timing import Budget

Rehearsed: TypeAlias = Generator["Envelope", Any, None]
"""Yields what an agent is shown before the match goes on, and is sent its answers: `None` for none."""


@attrs.frozen(eq=False)
class SeatState:
    """One seat of a match at a turn.

    Attributes:
        budget: what is left of the time control under which the match goes on.
        disqualified: the record of its disqualification; it stays out.
        notice: of its last turn, if that was late or illegal.
        transcript: its last turns, for an agent that did not play them.
        rehearse: begins what the agent is shown before the match goes on, outside of its time.
    """

    stats: SeatStats
    budget: Budget
    disqualified: SeatDisqualified | None
    notice: LateNotice | None
    transcript: Sequence[PlayedTurn]
    rehearse: Callable[[], Rehearsed]


@attrs.frozen(eq=False)
class Continuation:
    """A match at one of its turns.

    Attributes:
        script: the script of the match, with the actions of all turns before.
        request: what the script requests.
        task: the task of the last turn.
        turn: the number of the turn.
        phases: the number of times that seats were asked outside the turns.
        at_ns: the time of the last turn, since the match began.
        events: the recorded events before the turn, without the start of the match.
        incidents: further ones of that time, which were recorded when it had moved on.
        tasks: counts for each task so far.
        rules: revisions of the rules of task families, as in `flagfall.events.MatchStarted`.
    """

    script: Generator[Any, Any, None]
    request: Request
    task: TaskRole
    turn: int
    phases: int
    at_ns: int
    events: Iterable[Event]
    incidents: Sequence[Event]
    seats: Sequence[SeatState]
    tasks: Sequence[TaskStats]
    rules: Mapping[str, int]
