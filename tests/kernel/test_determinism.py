"""The same seed, the same match: whatever order the loop runs its tasks in."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import trio

from flagfall.agents.samples.basic import MemorizingAgent, RandomAgent
from flagfall.tasks.commai.catalog import CATALOG
from flagfall.tasks.schedulers import parse_policy
from flagfall.timing import MS, VirtualClock
from tests.fakes import (
    CountTask,
    InTurnTask,
    ListScheduler,
    Played,
    Sleeper,
    TogetherTask,
    play,
    play_here,
    shuffled_tasks,
)

ORDERS = 50
TICKS_MS = (0, 0, 10, 10, 20, 39, 40, 80, 100)


class Whimsical:
    """An actor that sleeps, answers twice, skips, breaks down: from a seed, at times that tie with others."""

    def __init__(self, seed: int, *, may_break: bool = True) -> None:
        self.seed = seed
        self.may_break = may_break

    async def run(self, seat: Any) -> None:
        whim = random.Random(self.seed)
        async for turn in seat:
            await trio.sleep(whim.choice(TICKS_MS) / 1000)
            for _ in range(whim.randrange(4)):
                await trio.lowlevel.checkpoint()
            dice = whim.random()
            if dice < 0.1:
                seat.reply(1)
                seat.reply(2)
            elif dice < 0.2:
                continue
            elif dice < 0.23 and self.may_break:
                if dice < 0.215:
                    seat.reply(5)
                for _ in range(whim.randrange(4)):
                    await trio.lowlevel.checkpoint()
                raise ValueError("a whim")
            elif dice < 0.4:
                seat.reply("illegal")
            else:
                seat.reply(turn.number % 100)
            if dice > 0.9:
                await trio.sleep(whim.choice(TICKS_MS) / 1000)


def same_in_any_order(match: Callable[[], Any], orders: int = ORDERS) -> list[Any]:
    """Play it over and over; gives the one list of events that must come of it."""
    outcomes: list[list[Any]] = []
    for seed in range(orders):
        with shuffled_tasks(seed):
            outcomes.append(trio.run(match, clock=VirtualClock()))
    for other in outcomes[1:]:
        assert other == outcomes[0]
    assert outcomes[0]
    return outcomes[0]


async def events(tasks: Any, *agents: Any, **options: Any) -> list[Any]:
    played = await play_here(tasks, *agents, **options)
    assert played.result is not None
    tallies = [
        (seat.disqualified, seat.stats.reward, seat.stats.dropped, seat.stats.late)
        for seat in played.result.seats
    ]
    return [*played.events, tallies]


@pytest.mark.parametrize("seed", range(4))
def test_one_seat(seed: int):
    same_in_any_order(lambda: events(ListScheduler([CountTask(10)] * 3), Whimsical(seed)))


@pytest.mark.parametrize("seed", range(6))
def test_several_seats_with_ties(seed: int):
    same_in_any_order(
        lambda: events(
            ListScheduler([TogetherTask(4, 10), TogetherTask(4, 10, continuous=True)]),
            *(Whimsical(seed * 10 + i) for i in range(4)),
        )
    )


@pytest.mark.parametrize("sleep", [0.01, 0.0399, 0.04, 0.08, 1.0, 0.0])
def test_all_sleep_equally_long(sleep: float):
    for control in ("act=40ms/1s", "act=40ms late=out", "act=40ms/80ms", "bank=100ms+10ms"):
        same_in_any_order(
            lambda control=control: events(  # type: ignore[misc]
                TogetherTask(3, 5), Sleeper(sleep), Sleeper(sleep), Sleeper(sleep, 0.0), control=control
            ),
            20,
        )


@pytest.mark.parametrize("seed", range(3))
def test_players_in_turn(seed: int):
    order = random.Random(seed).choices(range(3), k=40)
    same_in_any_order(
        lambda: events(InTurnTask(order, 3), *(Whimsical(seed * 10 + i) for i in range(3))),
    )


@pytest.mark.parametrize("seed", range(3))
def test_real_time_pace(seed: int):
    agents = 1 + seed % 3
    task = CountTask if agents == 1 else TogetherTask
    same_in_any_order(
        lambda: events(
            task(steps=25) if agents == 1 else TogetherTask(agents, 25),
            *(Whimsical(seed * 10 + i) for i in range(agents)),
            tick_ns=20 * MS,
            control="act_hard=100ms",
        )
    )


def test_several_matches_in_one_loop():
    async def matches() -> list[Any]:
        played = [Played() for _ in range(5)]
        async with trio.open_nursery() as nursery:
            for number, into in enumerate(played):

                async def one(number: int = number, into: Played = into) -> None:
                    agents = [Whimsical(number + 7 * i, may_break=number % 2 == 0) for i in range(2)]
                    await play_here(TogetherTask(2, 15), *agents, into=into, seed=number)

                nursery.start_soon(one)
        return [into.events for into in played]

    same_in_any_order(matches)


@pytest.mark.parametrize("policy", ["random", "consecutive:2", "incremental:2"])
def test_tasks_of_the_catalog_under_a_scheduler(policy: str):
    def match(seed: int) -> Any:
        tasks = [CATALOG[name]() for name in ("micro1", "micro4", "micro5.3")]
        agent = RandomAgent if seed % 2 else MemorizingAgent
        return events(parse_policy(policy, tasks), agent, seed=seed, steps=1500)

    assert same_in_any_order(lambda: match(1), 8) != same_in_any_order(lambda: match(3), 2)
    same_in_any_order(lambda: match(2), 4)


CONTROLS = (
    "act=40ms/1s",
    "act=40ms/80ms",
    "act=40ms late=out",
    "bank=300ms+20ms",
    "act=40ms/120ms total=3s+1s",
    "init=40ms act=20ms/100ms result=40ms",
)


def some_task(dice: random.Random, players: int) -> Any:
    steps, continuous = dice.randrange(1, 12), dice.random() < 0.5
    if players == 1:
        return CountTask(steps, continuous=continuous)
    if continuous:
        return TogetherTask(players, steps, continuous=dice.random() < 0.5)
    return InTurnTask([dice.randrange(players) for _ in range(steps)], players)


def some_match(seed: int) -> Any:
    dice = random.Random(seed * 7 + 1)
    players = dice.choice([1, 2, 2, 3, 4])
    options: dict[str, Any] = {"control": dice.choice(CONTROLS)}
    if dice.random() < 0.4:
        options["tick_ns"] = dice.choice([10, 20, 40]) * MS
    if dice.random() < 0.3:
        options["steps"] = dice.randrange(1, 40)
    tasks = [some_task(dice, players) for _ in range(3)]
    scheduler = ListScheduler(tasks, asynchronous=dice.random() < 0.2)
    return events(
        scheduler, *(Whimsical(seed * 10 + i, may_break=seed % 3 > 0) for i in range(players)), **options
    )


@pytest.mark.parametrize("seed", range(25))
def test_any_mixture(seed: int):
    same_in_any_order(lambda: some_match(seed), 12)


def test_limits_that_several_seats_reach_at_once_fall_in_seat_order():
    async def busy(seat: Any) -> None:
        await seat.turn()
        await trio.sleep(9)

    seen = same_in_any_order(
        lambda: events(InTurnTask([0, 1, 0, 1, 2], 3), *[busy] * 3, control="act=40ms/80ms")
    )
    assert [e.seat for e in seen if type(e).__name__ == "SeatDisqualified"][:2] == [0, 1]


class BreaksWhenCancelled:
    """Never answers, and breaks down when its match cancels it."""

    async def act(self, _observation: Any) -> Any:
        await trio.sleep_forever()

    def close(self) -> None:
        raise ValueError("closing failed")


def test_what_an_agent_raises_while_it_is_cancelled_is_recorded_alike() -> None:
    played = [play(CountTask(), BreaksWhenCancelled) for _ in range(2)]  # cancelled at the end of the match
    details = [match.disqualified[0].detail for match in played]
    assert "closing failed" in details[0]
    assert details[0] == details[1]
