"""What is known of a match under another rate comes true when it is played under it."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
import trio

from flagfall.kernel.hosting import Briefing
from flagfall.recording.other_rates import judge_rate
from flagfall.recording.seat_times import MatchTimes
from flagfall.recording.what_if import judge_match
from flagfall.timing import VirtualClock
from flagfall.timing.latency import SeatLatency
from tests.fakes import CountTask, InTurnTask, ListScheduler, TogetherTask, play_here
from tests.recording.test_what_if import times_of, verdicts

RATES = (
    "tokens(10/s)",
    "tokens(25/s)",
    "tokens(30/s)",
    "tokens(100/s)",
    "tokens(20/s, prompt=100/s, first=5ms)",
)
FUEL_RATES = ("fuel(1k/s)", "fuel(1.25k/s)", "fuel(2k/s)", "fuel(5k/s)")
CONTROLS = (
    *(
        "act=1s/10s",
        "act=1s late=out",
        "act=1s/2s",
        "bank=10s",
        "bank=5s+500ms",
        "act=500ms bank=3s late=nil",
    ),
    *(
        "total=10s+1s act=1s",
        "act=2s/20s",
        "act=1s/10s budget=300tokens",
        "budget=200tokens late=out",
        "untimed",
    ),
    "act=1s act_abort=2s act_hard=5s",
)
TOKENS = (0, 1, 5, 10, 20, 25, 30, 60, 250)


class Model:
    """Says that its answers have so many tokens; in some turns it is not asked."""

    measures = "tokens"

    def __init__(self, seed: int) -> None:
        dice = random.Random(seed)
        self.used = [dice.choice([None, *TOKENS]) for _ in range(100)]

    def start(self, briefing: Briefing) -> None:
        self.briefing = briefing

    async def act(self, _observation: Any) -> int:
        if (tokens := self.used.pop()) is not None:
            await self.briefing.think(prompt_tokens=2 * tokens, answer_tokens=tokens, cost=tokens / 100)
        return 7


class Machine:
    """A host whose agent does so many units of work in each turn that it takes."""

    kind: Any = "task"
    name = "machine"

    def __init__(self, seed: int) -> None:
        dice = random.Random(seed)
        self.work = [dice.choice([0, 10, 100, 500, 1000, 1500, 3000, 12000]) for _ in range(100)]

    async def run(self, seat: Any, _briefing: Briefing) -> None:
        seat.has_own_scopes = False
        with suppress(trio.EndOfChannel):
            while True:
                envelope = await seat.agent.turn()
                await seat.spend(seat.rate.time_ns(self.work.pop()))
                seat.agent.reply(7, envelope.number)


def played(seed: int, rate: str, control: str) -> MatchTimes:
    """A match of models whose tokens are decided by the seed alone, or of machines with their work."""
    whim = random.Random(seed)
    kind, seats, steps = whim.randrange(3), whim.randrange(2, 4), whim.randrange(3, 20)
    if kind == 0:
        seats, tasks = 1, [CountTask(steps), CountTask(steps)]
    else:
        together = TogetherTask(seats, steps)
        tasks = [together if kind == 1 else InTurnTask(whim.choices(range(seats), k=steps), seats)]
    make: Any = Model if rate.startswith("tokens") else Machine
    agents = [make(whim.randrange(10**9)) for _ in range(seats)]
    think = [SeatLatency.parse(rate)] * seats
    match = partial(play_here, ListScheduler(tasks), *agents, control=control, think=think)
    return times_of(trio.run(match, clock=VirtualClock()).events)


def check_against_played(seed: int) -> Counter[str]:
    choice = random.Random(-seed - 1)
    rates = RATES if choice.random() < 0.7 else FUEL_RATES
    rate, other, control = choice.choice(rates), choice.choice(rates), choice.choice(CONTROLS)
    times = played(seed, rate, control)
    if rates is RATES and not any(seat.usage for seat in times.seats):
        return Counter()
    assert judge_match(times, times.control).changed is None, (seed, rate, control)
    same = judge_rate(times, SeatLatency.parse(rate).rate)  # type: ignore[arg-type]
    if "act_abort" not in control and rates is RATES:
        assert same.changed is None, (seed, rate, control, same)
        assert [seat.late for seat in same.seats] == [seat.recorded_late for seat in same.seats], (
            seed,
            rate,
            control,
        )
    found, truth = judge_rate(times, SeatLatency.parse(other).rate), played(seed, other, control)  # type: ignore[arg-type]
    counts: Counter[str] = Counter()
    for place, seat in enumerate(found.seats):
        where = (seed, rate, other, control, seat)
        assert verdicts(times, place, found.changed) == verdicts(truth, place, found.changed), where
        counts["changed" if found.changed is not None else "same"] += 1
        if seat.changed is not None and seat.after is not None and seat.row is not None:
            counts[seat.after] += 1
            came = verdicts(truth, place).get(seat.changed, "disqualified")  # it was before its turn came
            assert seat.after in {"unknown", came}, where
    return counts


@pytest.mark.parametrize("block", range(4))
def test_what_is_known_comes_true(block: int):
    counts: Counter[str] = Counter()
    for seed in range(200 * block, 200 * (block + 1)):
        counts += check_against_played(seed)
    assert min(counts[kind] for kind in ("changed", "same", "late", "on time", "disqualified")) > 0, counts
    assert counts["unknown"] < counts["late"] + counts["on time"] + counts["disqualified"], counts
