"""All interleavings of what can happen to a referee, for one seat and two, with real seats and no event loop.

A history is a sequence of inputs: a seat takes its turn, answers it, answers an older one, answers nothing,
breaks down; the next deadline (or tick) comes; the turn is withdrawn; the sink fails at the next record.
Every history up to a depth is played from its beginning, and the invariants of
`flagfall.kernel.referee.state_machine` are asserted after each input. In the end only time goes on, and
everything that is open must come to its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import attrs
import pytest
import trio

from flagfall.events import ReplyDropped, SeatDisqualified, TurnPlayed
from flagfall.kernel.channels.turn_channel import TurnChannel
from flagfall.kernel.dispatcher import EventDispatcher
from flagfall.kernel.referee.state_machine import Referee
from flagfall.kernel.referee.task_rules import Pace, RefereeState
from flagfall.kernel.roles import complete_task
from flagfall.kernel.script import PhaseRequest, Stop
from flagfall.kernel.seat import HostSeat
from flagfall.timing import MS, TimeControl
from flagfall.timing.deadlines import DeadlineQueue
from flagfall.timing.stalls import NO_COST, StallLedger
from flagfall.timing.turn_clock import ClockState

CONTROL = TimeControl.parse("start=50ms act=40ms/50ms result=50ms")
TICK_NS = 30 * MS
NIL = -1
STEPS = 2
"""The turns of a task; then the result is shown, and a task follows."""

MAX_DEADLINES = 20
"""A seat that is silent is out after two deadlines of a turn, or one of a phase, and then all is over."""


@attrs.frozen
class Shape:
    """A kind of match.

    Attributes:
        seats: the number of seats.
        kind: `script` (turns of a script, and phases), `paced` (the same at real-time pace), or `actor`
            (single turns, which may be withdrawn).
        depth: the number of inputs in the longest histories.
        sink_fails: the sink may fail, once.
    """

    seats: int
    kind: str
    depth: int
    sink_fails: bool = False


class World:
    """A match without agents: its inputs are made by the test."""

    def __init__(self, shape: Shape, referee: type[Referee] = Referee) -> None:
        self.shape = shape
        self.now_ns = 0
        self.events: list[Any] = []
        self.may_fail, self.fails = shape.sink_fails, False
        self.over = False
        self.played = Counter[tuple[int, int]]()
        self.out: set[int] = set()
        self.withdrawn = 0
        # By seat: what the agent works on, and what it worked on before without an answer (as an agent in a
        # process does, whose host takes the next turn for it).
        self.works_on: dict[int, Any] = {}
        self.left: dict[int, Any] = {}
        self.deadlines = DeadlineQueue()
        keeper: Any = SimpleNamespace(
            now=self.now,
            deadlines=self.deadlines,
            ledger=StallLedger(),
            cost_of_this_step=lambda _now_ns: NO_COST,
        )
        paced = shape.kind == "paced"
        dispatcher = EventDispatcher([self.record], 0, solo=shape.seats == 1, paced=paced)
        dispatcher.sink_failed = lambda _error: self.referee.stop("stopped")
        self.referee = referee(dispatcher, self.now, origin_ns=0)
        if paced:
            self.referee.pace = Pace(TICK_NS, self.deadlines, shape.seats, self.referee.tick)
        self.dispatcher = dispatcher
        self.seats = [HostSeat(number, CONTROL, keeper, self.referee) for number in range(shape.seats)]
        self.referee.seat_all(self.seats)
        self.players = tuple(f"player_{number}" for number in range(shape.seats))
        self.task = complete_task(
            SimpleNamespace(players=self.players, nil_action=NIL, is_legal=lambda _action: True)
        )
        self.turn_of_task = 0
        self.phase = "start"
        for seat in self.seats:
            seat.agent.wants = frozenset({"act", "result"})
        self.referee.set_task(self.task)
        if shape.kind == "actor":
            self.ask()
        else:
            self.referee.ask_all(PhaseRequest("start"))
        self.go_on()

    def now(self) -> int:
        return self.now_ns

    def record(self, event: Any) -> None:
        self.events.append(event)
        if self.fails:
            self.fails = False
            raise ValueError("the disk is full")

    # The environment: makes the next request when one is complete.

    def go_on(self) -> None:
        while self.referee.is_complete and not self.over:
            result = self.referee.take_result()
            if isinstance(result, Stop):
                self.over = True
            elif self.shape.kind == "actor":
                self.check_actions(result, self.referee.turns - 1)
                self.ask()
            elif self.phase in {"start", "result"}:
                self.phase = "act"
                self.turn_of_task = 0
                self.referee.set_task(self.task)
                self.referee.play_turns(self.script, *self.request())
            else:
                self.phase = "result"
                self.referee.ask_all(PhaseRequest("result"))

    def request(self) -> tuple[Any, Any]:
        if self.shape.seats == 1:
            return 0, 0
        return dict.fromkeys(self.players, 0), dict.fromkeys(self.players, 0)

    def ask(self) -> None:
        self.referee.play_turns(None, *self.request())

    def script(self, actions: Any) -> Any:
        self.check_actions(actions, self.referee.turns - 1)
        self.turn_of_task += 1
        return self.request() if self.turn_of_task < STEPS else "end of the task"

    def check_actions(self, actions: Any, turn: int) -> None:
        """Each seat has one action, and it answers this turn, or at real-time pace one of this task."""
        by_seat = {0: actions} if self.shape.seats == 1 else dict(enumerate(actions.values()))
        assert len(by_seat) == self.shape.seats
        for seat, action in by_seat.items():
            self.played[turn, seat] += 1
            assert self.played[turn, seat] == 1, f"turn {turn} is played twice for seat {seat}"
            if action != NIL:
                answers, of_seat, withdrawn = action
                assert of_seat == seat
                assert withdrawn == self.withdrawn, "the answer to a turn that was withdrawn is played"
                if self.shape.kind == "paced":
                    assert turn - self.turn_of_task <= answers <= turn, "an action of an older task is played"
                else:
                    assert answers == turn, f"the stale answer to turn {answers} is played for turn {turn}"

    # Inputs.

    def inputs(self) -> Iterator[tuple[str, int]]:
        """All that can happen now."""
        if self.over:
            return
        for seat in self.seats:
            if seat.number in self.out and not seat._channel.taken:
                continue
            # A busy agent that asks at the deadline has it judged first: "deadline", and then "take".
            is_due = seat.clock.state is ClockState.BUSY and self.now_ns >= seat.clock.due_ns
            if seat._channel.waiting is not None and not is_due:
                yield "take", seat.number
            if seat._channel.taken is not None:
                yield "reply", seat.number
            else:
                yield "reply to nothing", seat.number
            if seat.number in self.left:
                yield "reply to an older one", seat.number
            if seat.number not in self.out:
                yield "break down", seat.number
        of_no_seat = {
            "deadline": self.deadlines.next_due_ns() < 2**62,
            "withdraw": self.shape.kind == "actor",
            "let the sink fail": self.may_fail,
        }
        yield from ((what, -1) for what, can_be in of_no_seat.items() if can_be)

    def apply(self, what: str, number: int) -> None:
        if what == "deadline":
            self.pass_deadline()
        elif what == "let the sink fail":
            self.may_fail, self.fails = False, True
        elif what == "withdraw":
            self.withdrawn += 1
            self.referee.withdrawn()
            self.ask()
        else:
            seat = self.seats[number]
            taken = seat._channel.taken
            if what == "take":
                if taken is not None:
                    self.left[number] = self.works_on[number]
                self.take(seat)
            elif what == "reply":
                seat.agent.reply(self.works_on.pop(number))
            elif what == "reply to an older one":
                action = self.left.pop(number)
                seat.agent.reply(action, action[0])
            elif what == "reply to nothing":
                seat.agent.reply(number, self.referee.turns)
            else:
                self.referee.disqualified(seat, "crashed")
        self.go_on()
        self.check()

    def take(self, seat: HostSeat) -> None:
        """Let the agent take the turn that lies ready, which needs no event loop."""
        try:
            seat.agent.turn().send(None)
        except StopIteration as taken:  # `pytest.raises` would take a tenth of this test's time
            self.works_on[seat.number] = (taken.value.number, seat.number, self.withdrawn)
        else:
            raise AssertionError("a turn that lies ready is waited for")

    def pass_deadline(self) -> None:
        self.now_ns = max(self.now_ns, self.deadlines.next_due_ns())
        entry = self.deadlines.pop_due(self.now_ns)
        assert entry is not None
        entry.fire(self.now_ns)

    # Invariants.

    def check(self) -> None:
        self.out |= {seat.number for seat in self.seats if seat.disqualified is not None}
        for seat in self.seats:
            if seat.number in self.out:
                assert seat.disqualified is not None, f"seat {seat.number} came back"
                assert seat.agent.closed
                assert seat._channel.waiting is None, f"seat {seat.number} is asked, and it is out"
        is_asked = self.referee.state in {RefereeState.ASKING, RefereeState.AWAITING_TICK}
        assert self.over or is_asked, "nothing is asked, and no result is there"

    def finish(self) -> None:
        """Let only time go on, until the match is over; then look at all that was recorded."""
        for _ in range(MAX_DEADLINES):
            if self.over:
                break
            self.check()
            assert self.deadlines.next_due_ns() < 2**62, "something waits for ever"
            self.pass_deadline()
            self.go_on()
        assert self.over, "it goes on for ever"
        self.dispatcher.flush()
        turns = [event for event in self.events if isinstance(event, TurnPlayed)]
        places = [(event.turn, event.seat) for event in turns]
        assert places == sorted(set(places)), "records do not come in order, or twice"
        assert all(turn < self.referee.turns for turn, _ in places), "a turn is recorded that does not count"
        assert {place for place, count in self.played.items() if count} <= set(places), "a turn has no record"
        gone: dict[int, int] = {}
        for event in self.events:
            if isinstance(event, SeatDisqualified):
                assert event.seat not in gone, f"seat {event.seat} is disqualified twice"
                gone[event.seat] = event.at_ns
            elif isinstance(event, TurnPlayed):
                if event.seat in gone and event.at_ns > gone[event.seat]:
                    assert event.verdict == "absent", f"{event.verdict} for a disqualified seat"
                if self.shape.kind != "paced":
                    is_nil = event.action == NIL
                    assert is_nil or event.action[:2] == (event.turn, event.seat), "a stale reply is recorded"
        counts = Counter(event.seat for event in turns)
        dropped = Counter(event.seat for event in self.events if isinstance(event, ReplyDropped))
        for seat in self.seats:
            # A turn that is withdrawn, or was open when the match ended, has no record.
            unrecorded = seat.stats.turns - counts[seat.number]
            assert 0 <= unrecorded <= self.withdrawn + 1, "turns that were settled, and not recorded"
            assert seat.stats.dropped == dropped[seat.number]


def explore(shape: Shape, referee: type[Referee] = Referee) -> int:
    """Play every history; returns how many distinct ones there were, each beginning of one included."""
    seen = 0
    todo: list[tuple[tuple[str, int], ...]] = [()]
    while todo:
        history = todo.pop()
        world = World(shape, referee)
        for step in history:
            world.apply(*step)
        seen += 1
        # Go on with the first input in this world; the others begin anew, later.
        while len(history) < shape.depth:
            inputs = list(world.inputs())
            if not inputs:
                break
            todo += [(*history, step) for step in inputs[1:]]
            world.apply(*inputs[0])
            history = (*history, inputs[0])
            seen += 1
        world.finish()
    return seen


SHAPES = [
    Shape(1, "script", 12),
    Shape(1, "paced", 9),
    Shape(1, "actor", 8),
    Shape(2, "script", 7),
    Shape(2, "paced", 6),
    Shape(2, "actor", 5),
    Shape(1, "script", 9, sink_fails=True),
    Shape(1, "paced", 8, sink_fails=True),
    Shape(1, "actor", 6, sink_fails=True),
    Shape(2, "script", 5, sink_fails=True),
    Shape(2, "paced", 5, sink_fails=True),
    Shape(2, "actor", 4, sink_fails=True),
]


def test_every_interleaving_keeps_the_invariants():
    seen = {shape: explore(shape) for shape in SHAPES}
    assert sum(seen.values()) >= 100_000, seen
    assert all(count >= 2_000 for count in seen.values()), seen


TRANSITIONS = {
    RefereeState.IDLE: {RefereeState.ASKING, RefereeState.COMPLETE, RefereeState.STOPPED},
    RefereeState.ASKING: {
        RefereeState.IDLE,
        RefereeState.AWAITING_TICK,
        RefereeState.COMPLETE,
        RefereeState.STOPPED,
    },
    RefereeState.AWAITING_TICK: {RefereeState.IDLE, RefereeState.STOPPED},
    RefereeState.COMPLETE: {RefereeState.IDLE},
    RefereeState.STOPPED: set(),
}
"""Each state of a referee, and those that follow it."""


def test_every_state_is_reached_and_these_transitions_are_all():
    found: dict[RefereeState, set[RefereeState]] = {state: set() for state in RefereeState}

    class Watched(Referee):
        def __setattr__(self, name: str, value: Any) -> None:
            if name == "state" and value is not (before := getattr(self, "state", value)):
                assert value is not RefereeState.AWAITING_TICK or self.pace is not None
                found[before].add(value)
            super().__setattr__(name, value)

    for shape in SHAPES:
        explore(attrs.evolve(shape, depth=4), Watched)
    assert found == TRANSITIONS


# Planted faults: each of them must be found.


class SettlesTwice(Referee):
    """Settles the turn of a seat that is disqualified, answered or not."""

    def _is_waited_for(self, seat: Any) -> bool:  # noqa: ARG002 - the fault
        return self.state is RefereeState.ASKING


class PlaysStale(Referee):
    """Plays the answer to a turn that is not open any more."""

    def replied_stale(self, seat: Any, envelope: Any, action: Any, now_ns: int, spent_ns: int) -> None:
        self.replied(seat, envelope, action, now_ns, spent_ns, 0, "on time")


class PlaysOldTasks(Referee):
    """At real-time pace, plays the answer to a turn of an older task."""

    def set_task(self, task: Any) -> None:
        pending = dict(self._pending)
        super().set_task(task)
        self._pending.update(pending)


class NumbersAgain(Referee):
    """Gives the number of a turn that was withdrawn to the next one."""

    def play_turns(self, script: Any, observation: Any, reward: Any) -> None:
        self._skips_number = False
        super().play_turns(script, observation, reward)


class LetsBackIn(Referee):
    """Asks a seat that is disqualified."""

    def disqualified(self, seat: Any, reason: str, detail: str = "") -> None:
        super().disqualified(seat, reason, detail)
        seat.disqualified = None


class WaitsForEver(Referee):
    """Does not count a seat that breaks down in a phase."""

    def _wait_no_more(self, seat: Any) -> None:
        if not any(seat.disqualified for seat in self._seats):
            super()._wait_no_more(seat)


class StopsWithinATurn(Referee):
    """Withdraws the turn that is being settled when a sink fails."""

    def stop(self, reason: Any) -> None:
        super().stop(reason)
        self._close_request()


class RecordsFirstComeFirst(Referee):
    """Records turns in the order in which seats answer."""

    def seat_all(self, seats: Any) -> None:
        super().seat_all(seats)
        self._dispatcher._solo = True


class _StaleChannel(TurnChannel):
    """Takes whatever was taken last for what is open."""

    def reply(self, action: Any = None, number: int | None = None) -> None:
        if self.taken is not None and not self.closed:
            self.open_envelope = self.taken
        super().reply(action, number)


@pytest.mark.parametrize(
    ("shape", "referee"),
    [
        (Shape(2, "script", 6), SettlesTwice),
        (Shape(1, "script", 6), PlaysStale),
        (Shape(1, "paced", 9), PlaysOldTasks),
        (Shape(1, "actor", 4), NumbersAgain),
        (Shape(2, "script", 4), LetsBackIn),
        (Shape(2, "script", 3), WaitsForEver),
        (Shape(1, "script", 5, sink_fails=True), StopsWithinATurn),
        (Shape(2, "script", 6), RecordsFirstComeFirst),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_planted_fault_is_found(shape: Shape, referee: type[Referee]):
    with pytest.raises((AssertionError, KeyError, trio.ClosedResourceError)):
        explore(shape, referee)


def test_a_channel_that_takes_a_stale_answer_for_the_open_turn_is_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("flagfall.kernel.seat.open_turn_channel", _StaleChannel._create)
    with pytest.raises(AssertionError):
        explore(Shape(1, "script", 6))
