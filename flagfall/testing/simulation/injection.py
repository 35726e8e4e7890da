"""The faults of a simulated match that have not happened yet, and those that have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

import trio

from flagfall.testing.faults import Fault, Moment, Place, Unit
from flagfall.timing import Deadline, Timekeeper
from flagfall.timing.durations import NEVER_NS

_LAST: Final = 2**31
"""Rank of what happens when all else of a moment is done."""


class Timer(Deadline):
    """Something to be done at a virtual time.

    Args:
        rank: its place among what is due at that time; by default with those who sleep, before all limits.
    """

    __slots__ = ("_action",)

    def __init__(self, due_ns: int, action: Callable[[], None], rank: int = -1) -> None:
        super().__init__(rank)
        self.due_ns = due_ns
        self._action = action

    def fire(self, now_ns: int) -> None:  # noqa: ARG002 - it is known to be late enough
        """Do it."""
        self._action()


class Closable(Protocol):
    """An end of a connection."""

    def is_closed(self) -> bool:
        """Return whether the connection is closed."""


class Breakable(Protocol):
    """A process or network that can break down."""

    def strike(self, fault: Fault) -> None:
        """Let a fault happen."""


class Injection:
    """Hands out the faults of a schedule when their moments have come.

    Args:
        faults: the faults of one match, which begins now.
        keeper: the timekeeper of the event loop.

    Attributes:
        pending: the faults that have not happened.
        happened: how often each kind has happened, by name: what injects a fault counts it when it strikes.
        hosts_ends: the host's ends of the match's connections.
        places: the processes of agents, and the networks over which they play, by seat.
        actions: what to do when the moment of a fault comes that strikes no agent, by its place.
    """

    def __init__(self, faults: Iterable[Fault], keeper: Timekeeper) -> None:
        self.pending: list[Fault] = [*faults]
        self._missed: list[Fault] = [*self.pending]
        self.happened: Counter[str] = Counter()
        self.actions: Mapping[Place, Callable[[Fault], None]] = {}
        self.hosts_ends: list[Closable] = []
        self.places: dict[int, Breakable] = {}
        self.now = keeper.now
        self._deadlines = keeper.deadlines
        self._origin_ns = keeper.now()
        self._timers: list[Timer] = []
        self._resting: dict[int, trio.Event] = {}

    def begin(self) -> None:
        """Wait from now on for the faults at a time that strike no agent."""
        for fault in self.pending:
            if fault.moment.unit == "time" and fault.row.place in self.actions:
                self.do_at(self._origin_ns + fault.moment.at, lambda: self.reach("time"), _LAST)

    def end(self) -> None:
        """Do nothing more of what was to be done later."""
        for timer in self._timers:
            timer.due_ns = NEVER_NS

    def do_at(self, due_ns: int, action: Callable[[], None], rank: int = -1) -> None:
        """Do something at a virtual time, in the order of the calls; see `Timer`."""
        timer = Timer(due_ns, action, rank)
        self._timers.append(timer)
        self._deadlines.arm(timer)

    def count(self, fault: Fault) -> None:
        """Count a fault that strikes now."""
        self.happened[fault.kind] += 1
        if fault in self._missed:
            self._missed.remove(fault)

    def missed(self) -> tuple[Fault, ...]:
        """Return the faults that have not struck so far."""
        return tuple(self._missed)

    # Faults that strike an agent.

    def has(self, *places: Place, seat: int) -> bool:
        """Return whether a fault of one seat at some places is still to come."""
        return any(fault.seat == seat and fault.row.place in places for fault in self.pending)

    def take(self, place: Place, seat: int, unit: Unit, at: int = 0) -> list[Fault]:
        """Take the faults that strike an agent now."""
        due = [
            fault
            for fault in self.pending
            if fault.seat == seat and fault.row.place == place and self._is_due(fault, unit, at)
        ]
        for fault in due:
            self.pending.remove(fault)
        return due

    def _is_due(self, fault: Fault, unit: Unit, at: int) -> bool:
        if fault.moment.unit == "time" and unit in fault.row.units:
            return self.now() - self._origin_ns >= fault.moment.at
        return fault.moment == Moment(unit, at)

    async def rest(self) -> None:
        """Wait until every other task waits."""
        resting = trio.Event()
        self.do_at(self.now(), resting.set, _LAST)
        await resting.wait()

    # Other faults.

    async def wait_at_turn(self, turn: int) -> None:
        """Do what is due at a turn and strikes no agent, when every other task waits.

        Then it makes no difference in which order the agents of a match have taken the turn.
        """
        if turn not in self._resting:
            moment = Moment("turn", turn)
            if not any(one.row.place in self.actions and one.moment == moment for one in self.pending):
                return
            resting = self._resting[turn] = trio.Event()

            def act() -> None:
                self.reach("turn", turn)
                resting.set()

            self.do_at(self.now(), act, _LAST)
        await self._resting[turn].wait()

    def reach(self, unit: Unit, at: int = 0) -> None:
        """Do what is due at a moment and strikes no agent."""
        for fault in [one for one in self.pending if one.row.place in self.actions]:
            if self._is_due(fault, unit, at):
                self.pending.remove(fault)
                self.actions[fault.row.place](fault)
