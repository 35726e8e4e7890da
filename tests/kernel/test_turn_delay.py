"""Turns that a model of latency delays: as those of an agent that sleeps, with every limit and every pace."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from math import exp
from typing import Any

import attrs
import numpy as np
import pytest
import trio

from flagfall.errors import UsageError
from flagfall.events import MatchStarted, StallSeen, TurnPlayed
from flagfall.kernel.outcomes import derive_seed
from flagfall.timing import MS, NEVER_NS, S, TimeControl, VirtualClock
from flagfall.timing.latency import SeatLatency
from flagfall.timing.rates import Fuel
from tests.fakes import (
    CountTask,
    ListScheduler,
    Played,
    Sleeper,
    TogetherTask,
    play,
    play_here,
    shuffled_tasks,
)
from tests.kernel.test_determinism import CONTROLS, Whimsical, some_task

TURNS = 100_000


def models(*texts: str | None) -> list[SeatLatency | None]:
    return [None if text is None else SeatLatency.parse(text) for text in texts]


def delays_of(text: str, seed: int, seat: int = 0, phase: Any = "act") -> Iterator[int]:
    """The delays of a seat, as the documents say that they are drawn."""

    def generator(part: str) -> np.random.Generator:
        return np.random.default_rng(derive_seed(seed, "latency", seat, phase, part))

    return (delay for delay, _ in SeatLatency.parse(text).delays(phase, generator))


def facts(played: Played) -> list[Any]:
    assert played.result is not None
    reports = [(seat.disqualified, attrs.asdict(seat.stats)) for seat in played.result.seats]
    events = [event for event in played.events if not isinstance(event, MatchStarted)]
    return [*events, reports, played.result.reason, played.result.elapsed_ns]


# As an agent that sleeps.

MODELS = (
    "mixture(0.5 0s, 0.2 10ms, 0.2 40ms, 0.1 80ms)",  # at times that tie with limits and ticks
    "mixture(0.9 0s, 0.1 1s)",
    "exponential(30ms)",
    "uniform(35ms, 45ms)",
    "cpu=2 mixture(0.5 0s, 0.5 20ms)",
)


class Sleepy(Whimsical):
    """Sleeps in each turn before it does what it would do otherwise, if it has delays."""

    def __init__(self, seed: int, delays: Iterator[int] | None, *, may_break: bool) -> None:
        super().__init__(seed, may_break=may_break)
        self.delays = delays

    async def run(self, seat: Any) -> None:
        await super().run(Sleeping(seat, self.delays))


class Sleeping:
    def __init__(self, seat: Any, delays: Iterator[int] | None) -> None:
        self.seat = seat
        self.delays = delays
        self.reply = seat.reply

    def __aiter__(self) -> Sleeping:
        return self

    async def __anext__(self) -> Any:
        turn = await self.seat.__anext__()
        if self.delays is not None:
            await trio.sleep(next(self.delays) / S)
        return turn


def some_match(seed: int, *, sleepy: bool) -> Played:
    """A match of agents that do anything, delayed by models, or by their own sleep for the same times."""
    dice = random.Random(seed)
    players = dice.choice([1, 1, 2, 3])
    options: dict[str, Any] = {"control": dice.choice(CONTROLS), "seed": seed}
    if dice.random() < 0.3:
        options["tick_ns"] = dice.choice([10, 20, 40]) * MS
    if dice.random() < 0.3:
        options["steps"] = dice.randrange(1, 40)
    tasks = [some_task(dice, players) for _ in range(3)]
    texts = dice.choices(MODELS, k=players)
    if not sleepy:
        options["think"] = models(*texts)
    agents = [
        Sleepy(10 * seed + i, delays_of(text, seed, i) if sleepy else None, may_break=seed % 3 > 0)
        for i, text in enumerate(texts)
    ]
    scheduler = ListScheduler(tasks, asynchronous=dice.random() < 0.2)
    return play(scheduler, *agents, **options)


@pytest.mark.parametrize("group", range(10))
def test_a_delayed_agent_plays_as_one_that_sleeps_for_as_long(group: int):
    seen = set()
    for seed in range(30 * group, 30 * group + 30):
        played = some_match(seed, sleepy=False)
        assert facts(played) == facts(some_match(seed, sleepy=True)), seed
        seen |= {turn.verdict for turn in played.turns}
    assert seen >= {"on time", "late", "illegal", "absent"}


@pytest.mark.parametrize("group", range(10))
def test_time_that_passes_at_once_changes_nothing(group: int, monkeypatch: pytest.MonkeyPatch):
    jumps = 0
    jump = VirtualClock.jump

    def counting(clock: VirtualClock, *arguments: Any) -> bool:
        nonlocal jumps
        has_passed = jump(clock, *arguments)
        jumps += has_passed
        return has_passed

    seeds = range(30 * group, 30 * group + 30)
    with monkeypatch.context() as patch:
        patch.setattr(VirtualClock, "jump", counting)
        with_jumps = [facts(some_match(seed, sleepy=False)) for seed in seeds]
    assert jumps >= 10
    monkeypatch.setattr(VirtualClock, "jump", lambda *_arguments: False)
    for seed, expected in zip(seeds, with_jumps, strict=True):
        with shuffled_tasks(seed):
            assert facts(some_match(seed, sleepy=False)) == expected, seed


# Closed forms.


def late_turns(think: str, control: str, seed: int = 1) -> int:
    """How many of `TURNS` turns are late, each with its whole time: the task waits for late answers."""
    late = 0

    def count(event: Any) -> None:
        nonlocal late
        late += isinstance(event, TurnPlayed) and event.verdict == "late"

    play(CountTask(TURNS), answers, control=control, think=models(think), seed=seed, sinks=[count])
    return late


def answers(_observation: Any) -> int:
    return 1


@pytest.mark.release
@pytest.mark.parametrize(
    ("think", "share"),
    [
        ("20ms", 0.0),
        ("40ms", 1.0),
        ("exponential(20ms)", exp(-2)),
        ("cpu=2 exponential(20ms)", exp(-1)),
        ("mixture(0.99 5ms, 0.01 2s)", 0.01),
        ("mixture(0.7 exponential(10ms), 0.3 uniform(0s, 50ms))", 0.7 * exp(-4) + 0.3 * 0.2),
        ("lognormal(40ms, 0.8)", 0.5),
        ("20ms loss=0.05/25ms", 1 - 0.95**2),
        ("network=exponential(10ms)", 5 * exp(-4)),  # the sum of two
    ],
)
def test_the_share_of_late_turns_is_that_of_the_distribution(think: str, share: float):
    late = late_turns(think, "act=40ms act_abort=1h")
    bound = 3.2905 * (share * (1 - share) / TURNS) ** 0.5  # binomial, at 99.9 %
    assert abs(late / TURNS - share) <= bound


@pytest.mark.release
@pytest.mark.parametrize(("bank", "increment_ms"), [("1m+21ms", 21), ("10s+19ms", 19)])
def test_a_bank_with_increment_is_a_random_walk(bank: str, increment_ms: int):
    """Turn by turn, against a walk that shares nothing with the kernel but the seed of its steps."""
    think, seed = "exponential(20ms)", 3
    limits: list[int] = []

    class Watching:
        def act(self, _observation: Any, timer: Any) -> int:
            limits.append(timer.limit_ns)
            return 1

    played = play(CountTask(TURNS), Watching(), control=f"bank={bank}", think=models(think), seed=seed)
    used = np.fromiter(delays_of(think, seed), np.int64, TURNS)
    start = TimeControl.parse(f"bank={bank}").bank or 0
    before = start + np.concatenate([[0], np.cumsum(increment_ms * MS - used)[:-1]])
    ends = np.flatnonzero(used >= before)
    last = int(ends[0]) if len(ends) else TURNS
    assert [turn.spent_ns for turn in played.turns[:last]] == used[:last].tolist()
    assert limits == before[:last].tolist()
    assert played.reason == ("seats" if len(ends) else "finished")
    assert (increment_ms < 20) == bool(len(ends))


# Seeds, seats, phases and parts.


def test_the_seed_decides_and_each_seat_draws_for_itself():
    def spent(seed: int, *texts: str | None) -> list[list[int]]:
        task = TogetherTask(2, 50)
        played = play(task, answers, answers, think=models(*texts), seed=seed, control="untimed")
        return [[turn.spent_ns for turn in played.turns if turn.seat == seat] for seat in range(2)]

    think = "lognormal(20ms, 0.8)"
    both = spent(1, think, think)
    assert spent(1, think, think) == both
    assert both[0] != both[1]
    assert not set(both[0]) & set(spent(2, think, think)[0])
    assert spent(1, think, None) == [both[0], [0] * 50]
    assert spent(1, "exponential(1s)", think)[1] == both[1]
    assert spent(1, f"{think} start=1s", think) == both


class AllPhases:
    def init(self, observation: Any) -> None: ...

    act = staticmethod(answers)

    def result(self, observation: Any, reward: Any) -> None: ...


@pytest.mark.parametrize(
    ("think", "ended_ms"),
    [
        ("start=100ms", 100),
        ("init=100ms", 200),
        ("act=100ms", 400),
        ("result=100ms", 200),
        ("network=5ms", 90),
    ],
)
def test_each_phase_takes_its_time(think: str, ended_ms: int):
    """A match of two episodes of two turns has 9 requests, and so 18 messages."""
    played = play(ListScheduler([CountTask(2)] * 2), AllPhases(), control="untimed", think=models(think))
    assert played.result is not None
    assert played.result.elapsed_ns == ended_ms * MS
    limits = f"start={ended_ms}ms init=100ms act=100ms result=100ms late=out"
    late = play(ListScheduler([CountTask(2)] * 2), AllPhases(), control=limits, think=models(think))
    assert [event.reason for event in late.disqualified] == ([] if think.startswith("network") else ["late"])


def test_a_stall_of_the_host_is_credited():
    def played(text: str, turns: int = 50) -> Played:
        return play(CountTask(turns), answers, control="act=40ms/1s", think=models(text), seed=5)

    whole = played("20ms stall=0.1/500ms")
    stalls = [event for event in whole.events if isinstance(event, StallSeen)]
    assert whole.verdicts() == ["on time"] * 50
    assert 0 < len(stalls) < 20
    assert {(event.lost_ns, event.seat) for event in stalls} == {(500 * MS, None)}
    assert whole.stats().credit_ns == len(stalls) * 500 * MS
    assert {turn.spent_ns for turn in whole.turns} == {20 * MS}
    late = played("mixture(0.5 20ms, 0.5 50ms) stall=0.1/500ms", 200)
    stalled = {turn.turn: turn for turn in late.turns if turn.credit_ns}
    assert {turn.verdict for turn in stalled.values()} == {"on time", "late"}
    short = play(CountTask(50), answers, control="bank=10s", think=models("20ms stall=1/1ms"))
    assert {(turn.spent_ns, turn.credit_ns) for turn in short.turns} == {(20 * MS, 1 * MS)}


# An agent that does not wait for its turn.


def test_an_agent_that_cancels_its_wait_gets_the_same_turn_at_the_same_time():
    seen: list[tuple[int, int]] = []

    async def body(seat: Any) -> None:
        while True:
            with trio.move_on_after(0.007):
                turn = await seat.turn()
                seen.append((turn.number, round(trio.current_time() * 1000)))
                seat.reply(turn.number)

    played = play(CountTask(5), body, control="act=40ms/1s", think=models("20ms"))
    assert seen == [(number, 20 * number + 20) for number in range(5)]
    assert played.verdicts() == ["on time"] * 5
    assert [turn.spent_ns for turn in played.turns] == [20 * MS] * 5


def test_an_agent_that_cancels_its_wait_for_good_is_late():
    async def body(seat: Any) -> None:
        with trio.move_on_after(0.007):
            await seat.turn()
        seat.reply(1)  # answers nothing: it has not seen the turn
        await trio.sleep(0.1)
        async for turn in seat:
            seat.reply(turn.number)

    played = play(CountTask(5), body, control="act=40ms/1s", think=models("20ms"))
    assert played.verdicts() == ["late", "late", "late", "on time", "on time"]
    assert [(event.at_ns, event.why) for event in played.dropped] == [(7 * MS, "double"), (127 * MS, "stale")]


def test_a_turn_cannot_be_answered_or_taken_by_another_task_while_it_is_under_way():
    async def body(seat: Any) -> None:
        async def impatient() -> None:
            await trio.sleep(0.005)
            seat.reply(7)
            with pytest.raises(trio.BusyResourceError):
                await seat.turn()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(impatient)
            turn = await seat.turn()
        seat.reply(turn.number)
        async for turn in seat:
            seat.reply(turn.number)

    played = play(CountTask(3), body, control="act=40ms/1s", think=models("20ms"))
    assert played.actions() == [0, 1, 2]
    assert len(played.dropped) == 1


def test_the_timer_of_the_agent_starts_when_it_sees_the_turn():
    seen: list[Any] = []

    class Watching:
        async def act(self, _observation: Any, timer: Any) -> int:
            seen.append((timer.elapsed_ns, timer.remaining_ns))
            await trio.sleep(0.01)
            seen.append((timer.elapsed_ns, timer.remaining_ns))
            return 1

    played = play(CountTask(2), Watching(), control="act=40ms/1s", think=models("20ms"))
    assert seen == [(0, 40 * MS), (10 * MS, 30 * MS)] * 2
    assert [turn.spent_ns for turn in played.turns] == [30 * MS] * 2


def test_limits_of_the_agents_own_scopes_are_kept_where_time_passes_at_once():
    """Nothing else runs, so the time of most turns passes at once, but not beyond a deadline of the agent."""
    ended: list[float] = []

    async def body(seat: Any) -> None:
        with trio.move_on_after(0.105):
            async for turn in seat:
                seat.reply(turn.number)
        ended.append(trio.current_time())
        async for turn in seat:
            seat.reply(turn.number)

    played = play(CountTask(50), body, control="untimed", think=models("10ms"))
    assert ended == [0.105]
    assert [turn.at_ns for turn in played.turns] == [10 * MS * number for number in range(1, 51)]


def test_a_model_needs_the_virtual_clock_and_one_for_each_seat():
    with pytest.raises(UsageError, match="virtual clock"):
        trio.run(partial(play_here, CountTask(), answers, think=models("20ms")))
    with pytest.raises(UsageError, match="2 models of latency for 1 seats"):
        play(CountTask(), answers, think=models("20ms", "20ms"))


def test_other_matches_of_the_loop_go_on_meanwhile():
    async def matches() -> list[Played]:
        played = [Played(), Played(), Played()]
        async with trio.open_nursery() as nursery:
            for into, text in zip(played, ("7ms", "exponential(20ms)", None), strict=True):
                agent = answers if text else Sleeper(0.013)
                call = partial(play_here, CountTask(60), agent, into=into, seed=4, think=models(text))
                nursery.start_soon(call)
        return played

    together = [facts(played) for played in trio.run(matches, clock=VirtualClock())]
    alone = [
        facts(play(CountTask(60), answers, seed=4, think=models("7ms"))),
        facts(play(CountTask(60), answers, seed=4, think=models("exponential(20ms)"))),
        facts(play(CountTask(60), Sleeper(0.013), seed=4)),
    ]
    assert together == alone


# Think times that are measured.


class Working:
    """A host whose agent does so many units of work in each turn, by the rate of its seat or by sleeping."""

    name = "working"

    def __init__(self, kind: str, seed: int, rate: Fuel | None) -> None:
        self.kind = kind
        self.dice, self.rate = random.Random(seed), rate
        self.most: list[tuple[int, int]] = []

    async def run(self, seat: Any, _briefing: Any) -> None:
        seat.has_own_scopes = False
        with suppress(trio.EndOfChannel):
            while True:
                envelope = await seat.agent.turn()
                units = self.dice.choice([0, 1, 10, 40, 41, 500, 1000])
                self.most.append((seat.most_ns, seat.now()))
                if self.rate is None:
                    assert seat.rate is not None
                    await seat.spend(seat.rate.time_ns(units))
                else:
                    sleep = trio.sleep_until(trio.current_time() + self.rate.time_ns(units) / S)
                    await (sleep if seat.hold is None else seat.hold.release(sleep))
                seat.agent.reply(self.dice.randrange(3), envelope.number)


@pytest.mark.parametrize("kind", ["task", "process"])
def test_measured_work_takes_the_time_of_its_rate_and_is_judged_as_sleep(kind: str):
    seen = set()
    for seed in range(100):
        dice = random.Random(seed)
        control, players = dice.choice(CONTROLS), dice.choice([1, 2])
        pace = {"tick_ns": 20 * MS} if dice.random() < 0.3 else {}
        tasks = [some_task(dice, players) for _ in range(2)]
        rate = Fuel(1000)
        found = []
        for spends in (True, False):
            hosts = [Working(kind, seed + seat, None if spends else rate) for seat in range(players)]
            think = models(*["fuel(1k/s)"] * players) if spends else []
            played = play(
                ListScheduler(tasks), *hosts, control=control, seed=seed, think=think, steps=40, **pace
            )
            found.append((facts(played), [host.most for host in hosts]))
            seen |= {turn.verdict for turn in played.turns}
        assert found[0] == found[1], seed
    assert seen >= {"on time", "late", "absent"}


def test_the_most_that_an_agent_may_use_ends_at_its_hard_limit():
    most: list[int] = []
    for seed in range(20):
        host = Working("task", seed, None)
        played = play(CountTask(30), host, control="act=40ms/1s", think=models("fuel(1k/s) cpu=2"))
        (start, *act) = [most for most, _ in host.most]
        assert start >= NEVER_NS
        most += act
        in_time = {turn.spent_ns for turn in played.turns if turn.verdict == "on time"}
        assert all(0 <= spent < 40 * MS for spent in in_time)
    assert max(most) == S
    assert any(960 * MS < one < S for one in most), "the turn was posted while an older one was late"


def test_measured_work_leaves_the_delay_of_a_turn_that_was_put_back():
    seen: list[int] = []

    class Host:
        kind, name = "task", "impatient"

        async def run(self, seat: Any, _briefing: Any) -> None:
            await seat.agent.turn()  # start
            seat.agent.reply()
            with trio.move_on_after(0.01):
                await seat.agent.turn()
            await seat.spend(5 * MS)
            seen.append(seat.now())
            await seat.agent.turn()
            seen.append(seat.now())
            seat.agent.reply(1)

    play(CountTask(1), Host(), control="untimed", think=models("act=30ms fuel(1k/s)"), steps=1)
    assert seen == [15 * MS, 30 * MS]
