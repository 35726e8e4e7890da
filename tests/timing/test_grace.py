"""One grace period a turn, whatever the host loses and whenever, on a scripted clock and ledger."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from flagfall.kernel.channels.turn_channel import Envelope
from flagfall.kernel.seat import HostSeat
from flagfall.timing import MS, NEVER_NS, TimeControl
from flagfall.timing.deadlines import DeadlineQueue
from flagfall.timing.stalls import (
    GRACE_NS,
    HEARING_PASSES,
    NO_COST,
    STALL_NS,
    Grace,
    StallLedger,
    StallMonitor,
)

LIMIT_NS = 40 * MS
PASS_NS = 1_000


class ScriptedHost:
    """A loop whose clock and losses are scripted; it holds one seat, and notes the seat's verdict."""

    def __init__(self, control: str = "act=40ms/20s") -> None:
        self.now_ns = 0
        self.ledger = StallLedger()
        self.verdict: tuple[int, str, int] | None = None
        self.sleeps_after_deadline = 0
        keeper: Any = SimpleNamespace(
            now=lambda: self.now_ns,
            deadlines=DeadlineQueue(),
            ledger=self.ledger,
            cost_of_this_step=lambda _now_ns: NO_COST,
        )
        referee: Any = SimpleNamespace(
            abortable=False,
            result_until_ns=0,
            is_paced=lambda _phase: False,
            deadline=lambda _seat, verdict, spent_ns, _credit_ns: self.judge(verdict, spent_ns),
            disqualified=lambda _seat, _reason, _detail: self.judge("disqualified", 0),
            replied=lambda *values: self.judge(values[6], values[4]),
            replied_stale=lambda *_values: None,
        )
        self.seat = HostSeat(0, TimeControl.parse(control), keeper, referee)

    def judge(self, verdict: str, spent_ns: int) -> None:
        self.verdict = self.now_ns, verdict, spent_ns

    def post(self) -> None:
        self.seat.post(Envelope(0, None, 0, "act", None), self.now_ns)

    def wake(self, late_ns: int, *, as_load: bool) -> None:
        """Sleep until the seat is due, wake so much later, and let it look."""
        due_ns = self.seat.clock.due_ns
        is_sleep = due_ns > self.now_ns + PASS_NS
        if is_sleep and due_ns >= LIMIT_NS and self.now_ns >= LIMIT_NS:
            self.sleeps_after_deadline += 1
        self.now_ns = max(self.now_ns, due_ns) + (late_ns if is_sleep else 0)
        if is_sleep and late_ns > STALL_NS:
            if as_load:
                self.ledger.book_load(late_ns, self.now_ns)
            else:
                self.ledger.book(late_ns, None, self.now_ns)
        self.seat.fire(self.now_ns)


LATENESS_MS = (0, 3, 12, 60)


@pytest.mark.parametrize("as_load", [True, False])
async def test_late_wakes_put_a_verdict_off_by_one_grace_period_at_most(*, as_load: bool):
    """However late the loop wakes, again and again: one sleep after the deadline, and a few passes."""
    for lateness in itertools.product(LATENESS_MS, repeat=4):
        host = ScriptedHost()
        host.post()
        left = [late_ms * MS for late_ms in lateness]
        wakes = 0
        while host.verdict is None:
            host.wake(left.pop(0) if left else 0, as_load=as_load)
            wakes += 1
        first_ns, second_ns = lateness[0] * MS, lateness[1] * MS
        late_ns = first_ns if first_ns >= GRACE_NS else GRACE_NS + second_ns if first_ns else 0
        passes_ns = HEARING_PASSES * PASS_NS if first_ns else 0
        assert host.verdict[:2] == (LIMIT_NS + late_ns + passes_ns, "late"), lateness
        assert host.sleeps_after_deadline <= 1
        assert wakes <= 2 + HEARING_PASSES


@pytest.mark.parametrize("stalls", list(itertools.product((0, 4, 100), repeat=3)))
async def test_what_others_take_before_the_deadline_is_given_back_once(stalls: tuple[int, ...]):
    """Stalls at 5, 15 and 25 ms of the agent's time: it has all of its time, then one grace period."""
    host = ScriptedHost()
    host.post()
    lost_ns = 0
    for at_ms, stall_ms in zip((5, 15, 25), stalls, strict=True):
        host.now_ns = at_ms * MS + lost_ns + stall_ms * MS
        host.ledger.book(stall_ms * MS, None, host.now_ns)
        lost_ns += stall_ms * MS
        if host.now_ns >= host.seat.clock.due_ns:
            host.seat.fire(host.now_ns)
            assert host.verdict is None
    while host.verdict is None:
        host.wake(0, as_load=True)
    in_grace_ns = GRACE_NS + HEARING_PASSES * PASS_NS if lost_ns else 0
    assert host.verdict[:2] == (LIMIT_NS + lost_ns + in_grace_ns, "late")


def outside(age_ms: float | None, load_ms: float = 0, control: str = "act=40ms/20s") -> ScriptedHost:
    """A seat whose agent is a process, with a turn that was posted at 0, and a loop that load delayed.

    Args:
        age_ms: how long ago the answer that is read has arrived; `None` if that is unknown.
        load_ms: the delay, at the very beginning.
        control: the seat's time control.
    """
    host = ScriptedHost(control)
    host.seat.clock.use_arrivals(lambda: None if age_ms is None else int(age_ms * MS))
    host.post()
    host.seat._channel.receive_nowait()
    if load_ms:
        host.ledger.book_load(int(load_ms * MS), int(load_ms * MS))
    return host


@pytest.mark.parametrize(
    ("read_ms", "age_ms", "verdict", "spent_ms"),
    [
        (39, 0, "on time", 39),
        (90, 51, "on time", 39),  # it lay unread
        (90, 50, "late", 40),
        (46, 0, "late", 46),  # the machine is loaded, and the agent is late all the same
        (46, 5, "late", 41),
        (50, 55, "on time", 0),  # the kernel's time of the arrival is in ticks
        (44.9, 1000, "on time", 44.9),  # no time of the arrival, but of when the pipe was opened: unknown
        (44.9, -3, "late", 44.9),
        (44.9, None, "on time", 44.9),
        (45, None, "late", 45),
    ],
)
async def test_an_agent_outside_is_judged_by_when_its_answer_arrived(
    read_ms: float, age_ms: float | None, verdict: str, spent_ms: float
):
    host = outside(age_ms, load_ms=3)
    host.now_ns = int(read_ms * MS)
    host.seat.agent.reply(7)
    assert host.verdict == (host.now_ns, verdict, int(spent_ms * MS))


@pytest.mark.parametrize("answered_ms", [40, 44.9])
async def test_an_agent_in_the_loop_has_no_time_beyond_what_it_lost(answered_ms: float):
    host = ScriptedHost()
    host.post()
    host.seat._channel.receive_nowait()
    host.ledger.book_load(3 * MS, 3 * MS)
    host.now_ns = int(answered_ms * MS)
    host.seat.agent.reply(7)
    assert host.verdict == (host.now_ns, "late", host.now_ns)


async def test_an_agent_outside_has_its_time_from_when_its_turn_was_sent():
    host = outside(0)
    host.seat.clock.sent_ns = 8 * MS
    host.now_ns = 47 * MS
    host.seat.agent.reply(7)
    assert host.verdict == (host.now_ns, "on time", 39 * MS)


@pytest.mark.parametrize(("cause", "spent_ms"), [("host", 45), ("agent", 45), ("stop", 15)])
async def test_an_agent_outside_loses_what_a_stop_takes_and_not_what_delays_the_loop(
    cause: str, spent_ms: float
):
    host = outside(0)
    task: Any = Task()
    host.ledger.register(task, host.seat.clock)
    other: Any = Agent() if cause == "agent" else None
    host.ledger.book(30 * MS, other, 40 * MS, stopped=cause == "stop")
    host.now_ns = 45 * MS
    host.seat.agent.reply(7)
    assert host.verdict == (host.now_ns, "late" if spent_ms > 40 else "on time", int(spent_ms * MS))


async def test_a_verdict_waits_for_an_answer_that_may_lie_unread_however_the_loop_was_delayed():
    host = outside(51)
    task: Any = Task()
    host.ledger.register(task, host.seat.clock)
    host.ledger.book(50 * MS, None, 90 * MS)
    host.now_ns = 90 * MS
    host.seat.fire(host.now_ns)
    assert host.verdict is None
    host.seat.agent.reply(7)
    assert host.verdict == (host.now_ns, "on time", 39 * MS)


def test_the_next_deadline_has_a_grace_period_of_its_own():
    grace = Grace()
    first, second = object(), object()
    assert grace.put_off(10 * MS, 10 * MS, first) == 15 * MS
    assert [grace.put_off(15 * MS, 15 * MS, first) for _ in range(HEARING_PASSES + 1)][-1] == 0
    assert grace.put_off(20 * MS, 20 * MS, first) == 0
    assert grace.put_off(20 * MS, 20 * MS, second) == 25 * MS


# An agent with times of its own.


def threaded(took_ms: float | None, made_ms: float | None, control: str = "act=40ms/20s") -> ScriptedHost:
    """A seat whose agent lives in a thread, with a turn that was posted at 0."""
    host = ScriptedHost(control)
    times = tuple(None if at_ms is None else int(at_ms * MS) for at_ms in (took_ms, made_ms))
    host.seat.clock.use_times(lambda _number: times)  # type: ignore[arg-type, return-value]
    host.post()
    host.seat._channel.receive_nowait()
    return host


@pytest.mark.parametrize(
    ("took_ms", "made_ms", "heard_ms", "verdict", "spent_ms"),
    [
        (0, 39, 39, "on time", 39),
        (0, 39, 90, "on time", 39),  # it lay unheard
        (0, 40, 40, "late", 40),
        (0, 45, 46, "late", 45),
        (0, 41, 90, "late", 41),
        (8, 47, 47, "on time", 39),  # it was given the turn late
        (8, 48, 48, "late", 40),
    ],
)
@pytest.mark.parametrize("load_ms", [0, 30])
async def test_a_thread_is_judged_by_when_its_answer_was_made(
    took_ms: float, made_ms: float, heard_ms: float, verdict: str, spent_ms: float, load_ms: int
):
    """Load on the machine that delays the loop makes it neither late nor earlier."""
    host = threaded(took_ms, made_ms)
    host.ledger.book_load(load_ms * MS, int(heard_ms * MS))
    host.now_ns = int(heard_ms * MS)
    host.seat.agent.reply(7)
    assert host.verdict == (host.now_ns, verdict, int(spent_ms * MS))


async def test_a_verdict_waits_for_the_answer_of_a_thread_that_is_under_way():
    host = threaded(0, 39)
    verdicts = []
    for _ in range(20):
        host.wake(MS, as_load=True)
        verdicts.append(host.verdict)
    host.seat.agent.reply(7)
    assert verdicts == [None] * 20
    assert host.verdict == (host.now_ns, "on time", 39 * MS)


@pytest.mark.parametrize("control", ["act=40ms/40ms", "act=40ms late=out"])
async def test_a_thread_that_was_given_its_turn_late_is_not_out_before_its_own_time_is_over(control: str):
    host = threaded(8, None, control)
    while host.verdict is None:
        host.wake(0, as_load=True)
    assert host.verdict[:2] == (48 * MS, "disqualified")


async def test_a_thread_that_has_made_no_answer_is_late_at_once():
    host = threaded(0, None)
    host.wake(0, as_load=True)
    assert host.verdict == (LIMIT_NS, "late", LIMIT_NS)


@pytest.mark.parametrize(("began_ms", "ended_ms", "spent_ms"), [(10, 30, 19), (35, 60, 35), (50, 80, 39)])
async def test_a_thread_is_credited_with_what_was_lost_while_it_had_the_turn(
    began_ms: int, ended_ms: int, spent_ms: int
):
    host = threaded(0, 39)
    host.ledger.book((ended_ms - began_ms) * MS, None, ended_ms * MS, stopped=True)
    host.now_ns = 90 * MS
    host.seat.agent.reply(7)
    assert host.verdict == (90 * MS, "on time", spent_ms * MS)


async def test_a_thread_is_not_credited_with_what_delayed_the_loop_alone():
    host = threaded(0, 43)
    task: Any = Task()
    host.ledger.register(task, host.seat.clock)
    host.ledger.book(30 * MS, None, 50 * MS)
    host.now_ns = 50 * MS
    host.seat.agent.reply(7)
    assert host.verdict == (50 * MS, "late", 43 * MS)


# Load on the machine.


class ScriptedMeter:
    """A meter whose readings are scripted."""

    def __init__(self) -> None:
        self.sampled_ns = 0
        self.script = (0, 0)
        self.when_read: Callable[[], None] = lambda: None

    def sample(self, now_ns: int) -> None:
        self.sampled_ns = now_ns
        self.script = (0, 0)

    def taken(self, _now_ns: int) -> tuple[int, int]:
        found = self.script
        self.when_read()
        return found

    def close(self) -> None:
        pass


class Agent:
    place: Any = "loop"

    def __init__(self) -> None:
        self.not_lost_ns = self.load_seen_ns = self.clock_began_ns = 0
        self.alarm = 0, NEVER_NS


async def _nothing() -> None:
    """End at once."""


class Task:
    parent_nursery = None

    def __init__(self) -> None:
        self.coro = _nothing()
        self.coro.close()


class Loop:
    """Drives a watch by hand: two agents, each with a task."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.ledger = StallLedger()
        self.meter = ScriptedMeter()
        meter: Any = self.meter
        self.watch = StallMonitor(lambda: self.now_ns, self.ledger, meter)
        self.agents = Agent(), Agent()
        self.tasks: list[Any] = [Task() for _ in self.agents]
        for task, agent in zip(self.tasks, self.agents, strict=True):
            self.ledger.register(task, agent)

    def wait(self, planned_ms: int, took_ms: int, load_ms: int = 0, stopped_ms: int = 0) -> None:
        self.now_ns += took_ms * MS
        self.meter.script = (load_ms * MS, stopped_ms * MS)
        self.watch.after_io_wait(planned_ms / 1e3)

    def step(self, agent: int, took_ms: int, load_ms: int = 0, stopped_ms: int = 0) -> None:
        self.now_ns += took_ms * MS
        self.meter.script = (load_ms * MS, stopped_ms * MS)
        self.watch.after_task_step(self.tasks[agent])

    def credits_ms(self) -> list[float]:
        return [(self.ledger.lost_ns - agent.not_lost_ns) / MS for agent in self.agents]


@pytest.mark.parametrize(("idle_ms", "span_ms", "read_anew"), [(0, 1, False), (6, 1, True), (0, 3, True)])
def test_a_match_begins_with_counters_no_older_than_in_a_match(idle_ms: int, span_ms: int, read_anew: bool):
    loop = Loop()
    for _ in range(idle_ms):  # short steps, of which the counters are not read
        loop.now_ns += MS
        loop.watch.after_task_step(loop.tasks[0])
    loop.now_ns += span_ms * MS
    loop.watch.begin()
    assert (loop.meter.sampled_ns == loop.now_ns) == read_anew
    assert loop.ledger.step_began_ns == loop.now_ns


def test_a_match_is_not_credited_with_load_from_before_it_began():
    loop = Loop()
    loop.wait(10, 30, load_ms=20)
    loop.watch.begin()
    loop.step(0, 1)
    assert loop.credits_ms() == [0, 0]


def test_a_wake_that_load_delayed_is_credited_to_the_agents_that_run_then():
    loop = Loop()
    loop.wait(10, 30, load_ms=20)
    loop.step(0, 1)
    assert loop.credits_ms() == [20, 0]
    loop.wait(0, 0)
    loop.step(0, 1)
    loop.step(1, 1)  # it became ready meanwhile
    assert loop.credits_ms() == [20, 20]


@pytest.mark.parametrize(("woken_ms", "credit_ms"), [(5, 20), (10, 20), (24, 6), (31, 20)])
def test_an_agent_that_slept_when_the_delay_began_has_waited_since_it_woke(woken_ms: int, credit_ms: int):
    loop = Loop()
    loop.agents[0].alarm = id(loop.tasks[0]), woken_ms * MS
    loop.wait(10, 30, load_ms=20)
    loop.step(0, 1)
    assert loop.credits_ms() == [credit_ms, 0]


def test_a_delay_that_began_before_the_turn_is_credited_from_its_beginning_on():
    loop = Loop()
    loop.agents[0].clock_began_ns = 25 * MS
    loop.wait(10, 30, load_ms=20)
    loop.step(0, 1)
    assert loop.credits_ms() == [5, 0]


def test_an_agent_that_has_nothing_to_do_then_loses_nothing():
    loop = Loop()
    for _ in range(10):
        loop.wait(10, 30, load_ms=20)
        loop.step(0, 1)
        loop.wait(0, 0)
    loop.wait(10, 10)
    loop.step(1, 1)
    assert loop.credits_ms() == [200, 0]


def test_a_step_that_load_prolonged_is_credited_to_its_own_agent_too():
    loop = Loop()
    loop.step(0, 30, load_ms=29)
    loop.step(1, 1)
    assert loop.credits_ms() == [29, 29]


def test_a_step_that_blocks_is_charged_to_its_agent_and_credited_to_the_other():
    loop = Loop()
    loop.step(0, 30)
    assert loop.credits_ms() == [0, 30]


def test_a_stop_is_credited_to_all():
    loop = Loop()
    loop.step(0, 200, stopped_ms=150)
    assert loop.credits_ms() == [150, 200]
    loop.wait(1_000, 300, stopped_ms=100)
    assert loop.credits_ms() == [250, 300]


@pytest.mark.parametrize("kind", ["wait", "step"])
def test_a_stop_while_the_counters_are_read_is_credited_to_all(kind):
    loop = Loop()

    def stop() -> None:
        loop.now_ns += 250 * MS
        loop.meter.script = (0, 250 * MS)
        loop.meter.when_read = lambda: None

    loop.meter.when_read = stop
    if kind == "wait":
        loop.wait(10, 13)
        assert loop.credits_ms() == [253, 253]
    else:
        loop.step(0, 3)
        assert loop.credits_ms() == [250, 253]
    loop.step(1, 1)
    assert loop.credits_ms()[1] == 253, "it is entered once"


def test_a_long_measurement_is_a_delay_by_load():
    loop = Loop()

    def wait_for_the_heartbeat() -> None:
        loop.now_ns += 20 * MS
        loop.meter.when_read = lambda: None

    loop.meter.when_read = wait_for_the_heartbeat
    loop.wait(10, 13)
    loop.step(0, 1)
    assert loop.credits_ms() == [23, 3]


def test_what_was_delayed_before_its_turn_began_is_not_credited():
    loop = Loop()
    loop.wait(10, 30, load_ms=20)
    loop.agents[0].clock_began_ns = loop.now_ns
    loop.step(0, 1)
    loop.agents[1].clock_began_ns = NEVER_NS
    loop.step(1, 1)
    assert loop.credits_ms() == [0, 0]


def test_the_owner_of_a_task_is_looked_up_anew_when_agents_come_and_go():
    ledger = StallLedger()
    above: Any = Task()
    below: Any = Task()
    below.parent_nursery = SimpleNamespace(parent_task=above)
    agent: Any = Agent()
    assert ledger.owner_of(below) is None
    ledger.register(above, agent)
    assert ledger.owner_of(below) is agent
    assert ledger.owner_of(below) is agent
    ledger.forget(above)
    assert ledger.owner_of(below) is None
