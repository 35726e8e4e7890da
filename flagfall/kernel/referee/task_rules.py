"""The running task as the referee sees it: its players, legal actions, NIL action and times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Literal, Protocol

import attrs

from flagfall.kernel.safe_values import safe_repr
from flagfall.kernel.spaces import legal_actions
from flagfall.timing import NEVER_NS, Deadline
from flagfall.timing.deadlines import DeadlineQueue

if TYPE_CHECKING:
    from flagfall.events import Verdict
    from flagfall.kernel.channels.turn_channel import Envelope
    from flagfall.kernel.outcomes import SeatStats
    from flagfall.kernel.roles import Player, TaskRole
    from flagfall.timing import Budget
    from flagfall.timing.control import Phase


class Pace(Deadline):
    """The ticks of one match.

    Args:
        tick_ns: the time between two ticks.
        deadlines: the deadlines of the event loop.
        rank: the rank among deadlines of one moment.
        on_tick: called with the present time and the time of the tick.
    """

    __slots__ = ("_deadlines", "_on_tick", "_tick_ns")

    def __init__(
        self, tick_ns: int, deadlines: DeadlineQueue, rank: int, on_tick: Callable[[int, int], None]
    ) -> None:
        super().__init__(rank)
        self._tick_ns = tick_ns
        self._deadlines = deadlines
        self._on_tick = on_tick

    def start_turn(self, now_ns: int) -> None:
        """Set the tick that ends a turn: it keeps the rate; ticks that the host missed are left out."""
        planned_ns = self.due_ns + self._tick_ns if self.due_ns < NEVER_NS else now_ns + self._tick_ns
        self.due_ns: int = planned_ns if planned_ns > now_ns else now_ns + self._tick_ns
        self._deadlines.arm(self)

    def stop(self) -> None:
        """Stop ticking until the next turn starts, from which the rate counts then."""
        self.due_ns = NEVER_NS

    def fire(self, now_ns: int) -> None:
        """Report a tick."""
        self._on_tick(now_ns, self.due_ns)


class RefereeState(Enum):
    """What the referee of a match waits for."""

    IDLE = auto()
    """For the next request; nothing is asked."""

    ASKING = auto()
    """For answers of seats. Where `Referee.stopped` is set, they count until the result is taken."""

    AWAITING_TICK = auto()
    """For the tick, at real-time pace: all seats have answered, and the world has not moved."""

    COMPLETE = auto()
    """For the environment, which has not taken the result yet."""

    STOPPED = auto()
    """For nothing: the match is over, and nothing is open."""


class SeatPort(Protocol):
    """A seat as the referee needs it; implemented by `flagfall.kernel.seat.HostSeat`."""

    number: int
    stats: SeatStats
    disqualified: str | None
    reason_detail: str
    budget: Budget

    @property
    def wants(self) -> frozenset[str]:
        """Return the phases that the agent wants to be asked in."""

    @property
    def limit_ns(self) -> int:
        """Return the limit of the last request: an answer that takes longer is late."""

    @property
    def held_up_loop(self) -> bool:
        """Return whether it was this seat's agent that held up the event loop last."""

    def post(self, envelope: Envelope, now_ns: int) -> None:
        """Send a request to the agent."""

    def expire(self) -> None:
        """End the open request, which was judged."""

    def withdraw(self) -> None:
        """End the open request, without a verdict."""

    def is_untouched(self, now_ns: int, reason: str) -> bool:
        """Return true if the reason for disqualification precedes the open turn."""

    def disqualify(self, reason: str, detail: str) -> str:
        """Close the seat for good; return the reason, which the seat may replace by a more exact one."""


class RefereePort(Protocol):
    """A referee as a seat needs it; see `flagfall.kernel.referee.state_machine.Referee`."""

    turns: int

    @property
    def abortable(self) -> bool:
        """Return whether the episode can be aborted by an action."""

    @property
    def result_until_ns(self) -> int:
        """Return the time until which agents may answer a result in any case; 0 for none."""

    def is_paced(self, phase: Phase) -> bool:
        """Return whether the world waits for the tick in this phase, and not for the agent."""

    def has_asked(self, number: int) -> bool:
        """Return whether there was an envelope of this number."""

    def replied(
        self,
        seat: Any,
        envelope: Envelope,
        action: Any,
        now_ns: int,
        spent_ns: int,
        credit_ns: int,
        verdict: Verdict,
    ) -> None:
        """Take the reply of a seat to the open request."""

    def replied_stale(self, seat: Any, envelope: Envelope, action: Any, now_ns: int, spent_ns: int) -> None:
        """Take the reply of a seat to a request that is no longer open."""

    def dropped(self, seat: Any, number: int, why: Literal["stale", "double", "unasked"]) -> None:
        """Take note of a reply that answers no open turn."""

    def deadline(self, seat: Any, verdict: Literal["late", "overrun"], spent_ns: int, credit_ns: int) -> None:
        """End the turn of a seat whose time for it is over."""

    def disqualified(self, seat: Any, reason: str, detail: str = "") -> None:
        """Disqualify a seat."""


@attrs.frozen
class TaskRules:
    """The rules of one task; without arguments those before the first, when nothing is played.

    Attributes:
        players: in seat order.
        nil: the action that is played for a late, wrong or absent agent.
        abort: the action that ends the episode at once; `None` where there is none.
        play_until_ns: the end of the task's time, since the match began; `NEVER_NS` for none.
        result_until_ns: until then agents may think of its result, since the match began; 0 for no such time.
    """

    players: tuple[Player, ...] = ()
    nil: Any = None
    abort: Any = None
    play_until_ns: int = NEVER_NS
    result_until_ns: int = 0
    _is_legal: Callable[[Any], bool] = lambda _action: True
    _is_legal_for: Callable[[Player, Any], bool] | None = None
    _task: TaskRole | None = None

    @classmethod
    def of(cls, task: TaskRole) -> TaskRules:
        """Read the rules of a task."""
        return cls(
            tuple(task.players),
            task.nil_action,
            task.abort_action,
            task.play_until_ns,
            task.result_until_ns,
            task.is_legal,
            task.is_legal_for,
            task,
        )

    def legal(self, seat: int, action: Any) -> bool:
        """Return whether a seat may play an action; one that breaks the task's own check is not legal."""
        is_legal_for = self._is_legal_for
        try:
            return (
                self._is_legal(action) if is_legal_for is None else is_legal_for(self.players[seat], action)
            )
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - an action may hold any code of its agent's
            return False

    def refuse(self, seat: SeatPort, action: Any, turn: int) -> tuple[str, str | None]:
        """Count an illegal action; return it as text, and with a seat's first one the legal ones as text."""
        stats = seat.stats
        stats.illegal += 1
        refused = safe_repr(action)
        if stats.illegal > 1:
            return refused, None
        legal = self._legal_actions(seat.number)
        stats.illegal_note = f"turn {turn}: {refused}; legal: {legal}"
        return refused, legal

    def _legal_actions(self, seat: int) -> str:
        try:
            text = "" if self._task is None else legal_actions(self._task, seat)
        except Exception:  # noqa: BLE001 - a task's own spaces may be anything
            text = ""
        return text or "not described by the task"

    def share_of(self, seat: int, shown: Any, paid: Any) -> tuple[Any, Any]:
        """Return one seat's share of an observation and a reward."""
        if len(self.players) <= 1:
            return shown, paid
        player = self.players[seat]
        return (
            shown.get(player) if type(shown) is dict or isinstance(shown, Mapping) else shown,
            paid.get(player, 0) if type(paid) is dict or isinstance(paid, Mapping) else 0,
        )
