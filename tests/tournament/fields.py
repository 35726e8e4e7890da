"""Plans and records for tests: fields of agents whose results are made up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

from flagfall.timing import TimeControl
from flagfall.tournament.formats.schedule import Schedule, schedule
from flagfall.tournament.model import Format, Output, PlannedAgent, PlannedTask, TournamentPlan
from flagfall.tournament.records import MatchRecord, MatchSpec, SeatRecord

Play = Callable[[MatchSpec], MatchRecord]


def names(count: int) -> tuple[str, ...]:
    return tuple(f"a{number}" for number in range(count))


def task(name: str = "game", seats: int = 2, agents: Iterable[str] = ()) -> PlannedTask:
    return PlannedTask(name=name, tasks=("micro1",), seats=seats, agents=tuple(agents), control=TimeControl())


def make_plan(count: int, form: Format, *tasks: PlannedTask, **options: Any) -> TournamentPlan:
    """A plan for so many agents, by default with one game for two."""
    entries = tuple(PlannedAgent(name=name, spec="random") for name in names(count))
    return TournamentPlan(
        name="test",
        agents=entries,
        tasks=tasks or (task(agents=names(count)),),
        format=form,
        output=Output(folder=Path("nowhere")),
        **options,
    )


def record(spec: MatchSpec, scores: Iterable[float], fell: Iterable[str | None] = ()) -> MatchRecord:
    falls = [*fell] or [None] * len(spec.entrants)
    return MatchRecord(
        id=spec.id,
        seats=tuple(
            SeatRecord(agent=agent, score=score, fell=out)
            for agent, score, out in zip(spec.entrants, scores, falls, strict=True)
        ),
    )


def by_chance(seed: int, draws: float = 0.3) -> Play:
    """Results that depend on nothing but the match."""

    def play(spec: MatchSpec) -> MatchRecord:
        random = Random(f"{seed}/{spec.id}")
        if len(spec.entrants) == 1:
            return record(spec, [random.choice([0.0, 0.5, 1.0])])
        if random.random() < draws:
            return record(spec, [0.5] * len(spec.entrants))
        scores = [1.0, *[0.0] * (len(spec.entrants) - 1)]
        random.shuffle(scores)
        return record(spec, scores)

    return play


def the_first_named_wins(spec: MatchSpec) -> MatchRecord:
    """In the order of the plan."""
    if len(spec.entrants) == 1:
        return record(spec, [-float(spec.entrants[0][1:])])
    return record(spec, [float(agent == min(spec.entrants, key=_number)) for agent in spec.entrants])


def _number(agent: str) -> int:
    return int(agent[1:])


def play_all(
    plan: TournamentPlan, play: Play, at_a_time: Random | None = None
) -> tuple[dict[str, MatchRecord], list[MatchSpec]]:
    """Play a whole tournament.

    Args:
        plan: of it.
        play: makes the results.
        at_a_time: draws how many matches end before the schedule is asked again, and in which order.

    Returns:
        The records, and the specs in the order in which they were played.
    """
    order = schedule(plan)
    records: dict[str, MatchRecord] = {}
    specs: list[MatchSpec] = []
    while due := _some(order, records, at_a_time):
        for spec in due:
            assert spec.id not in records
            records[spec.id] = play(spec)
            specs.append(spec)
    assert order.over(records)
    return records, specs


def _some(order: Schedule, records: dict[str, MatchRecord], random: Random | None) -> list[MatchSpec]:
    due = list(order.due(records))
    assert due == list(order.due(records))
    assert bool(due) != order.over(records)
    if random is None or not due:
        return due
    random.shuffle(due)
    return due[: random.randint(1, len(due))]
