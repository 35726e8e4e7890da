"""Random results of tournaments of all formats, with everything that standings count."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import attrs

from flagfall.tournament.formats.adaptive import Adaptive
from flagfall.tournament.formats.fixed_rounds import Benchmark, Gauntlet, RoundRobin
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.formats.swiss import Knockout, Swiss
from flagfall.tournament.model import Stop, TournamentPlan
from flagfall.tournament.records import MatchRecord, MatchSpec, SeatRecord, seat_scores
from tests.tournament.fields import make_plan, names, task


def random_record(random: Random, plan: TournamentPlan, spec: MatchSpec) -> MatchRecord:
    """Return a possible result of a match, with everything that standings count."""
    rewards = [float(random.randrange(-2, 3)) for _ in spec.entrants]
    fell = [random.choice(["late", "crashed", None, None, None, None, None]) for _ in spec.entrants]
    solved, tasks = random.randrange(4), random.choice([0, 3])
    solved = min(solved, tasks)
    measure = plan.task(spec.task).score
    scores = seat_scores(measure, rewards, fell, solved=solved, tasks=tasks)

    def count() -> int:
        return random.randrange(100)

    return MatchRecord(
        id=spec.id,
        solved=solved,
        tasks=tasks,
        game_score=random.random(),
        ticks=count(),
        seats=tuple(
            SeatRecord(
                agent=agent,
                score=score,
                reward=reward,
                fell=reason,
                turns=count(),
                late=count(),
                illegal=count(),
                dropped=count(),
                over_ns=count(),
                think_max_ns=count(),
                thinking=tuple((bucket, 1 + count()) for bucket in sorted(random.sample(range(200), 3))),
            )
            for agent, score, reward, reason in zip(spec.entrants, scores, rewards, fell, strict=True)
        ),
    )


def results_of(plan: TournamentPlan, seed: int, share: float) -> dict[str, MatchRecord]:
    """Play a part of a tournament; the results come in any order."""
    random = Random(seed)
    records: dict[str, MatchRecord] = {}
    while due := [spec for spec in schedule(plan).due(records) if random.random() < share]:
        random.shuffle(due)
        for spec in due:
            records[spec.id] = random_record(random, plan, spec)
    return records


def plans() -> Iterator[tuple[str, TournamentPlan]]:
    alone, other = task("alone", 1, names(4)), task("other", 1, names(3))
    by_reward = attrs.evolve(task("paid", 1, names(4)), score="reward")
    pair, three = task("pair", 2, names(4)), task("three", 3, names(4))
    yield "benchmark", make_plan(4, Benchmark(), alone, other, by_reward, pair, three, repeats=4)
    balanced = attrs.evolve(three, seatings="balanced")
    every = attrs.evolve(task("every", 3, names(4)), seatings="all")
    yield "seatings", make_plan(4, Benchmark(), alone, balanced, every, repeats=3)
    yield "formula-one", make_plan(4, Benchmark(), alone, pair, repeats=4, scoring="formula-one")
    yield "round-robin", make_plan(5, RoundRobin(), repeats=6, anchor="a1")
    yield "gauntlet", make_plan(5, Gauntlet(champions=("a0", "a2")), repeats=5)
    yield "limited", make_plan(4, RoundRobin(), pair, alone, repeats=5, stop=Stop(matches=40))
    yield "withdrawals", make_plan(5, RoundRobin(), repeats=5, stop=Stop(falls=3))
    yield "swiss", make_plan(6, Swiss(rounds=4), repeats=2)
    yield "knockout", make_plan(6, Knockout(), repeats=2)
    yield "adaptive", make_plan(4, Adaptive(), alone, pair, repeats=3, stop=Stop(falls=3))


PLANS = dict(plans())
"""Plans by name."""
