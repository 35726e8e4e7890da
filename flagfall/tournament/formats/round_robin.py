"""Formats whose meetings are known from the start: benchmark, round robin, gauntlet.

All repeats play the same meetings, each with another seed. With one seat, all agents of a task meet at once:
each plays it alone, and all have the same seed.
"""

from __future__ import annotations

__all__ = ["count_matches", "walk_all"]

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TypeAlias

from flagfall.tournament.formats.encounters import meeting
from flagfall.tournament.formats.pairing import circle_rounds
from flagfall.tournament.formats.withdrawals import Falls
from flagfall.tournament.plan.model import Gauntlet, Plan, RoundRobin, TaskEntry
from flagfall.tournament.records import MatchRecord, MatchSpec

Meetings: TypeAlias = Sequence[tuple[str, ...]]


def _rounds(plan: Plan, task: TaskEntry) -> Sequence[Meetings]:
    """Who meets on a task, in the rounds of one repeat."""
    if task.seats == 1:
        return [[task.agents]]
    if isinstance(plan.format, RoundRobin) and task.seats == 2:  # noqa: PLR2004 - pairs
        return circle_rounds(task.agents)
    together = combinations(task.agents, task.seats)
    if not isinstance(plan.format, Gauntlet):
        return [list(together)]
    champions = set(plan.format.champions)
    return [[agents for agents in together if 0 < len(champions.intersection(agents)) < task.seats]]


def count_matches(plan: Plan) -> int:
    """How many matches there are, where nobody is withdrawn."""
    once = sum(len(agents) for task in plan.tasks for meetings in _rounds(plan, task) for agents in meetings)
    return once * plan.repeats  # an agent alone is one match, and k agents at a game are k rotations


def walk_all(plan: Plan, records: Mapping[str, MatchRecord]) -> Iterator[MatchSpec]:
    """The matches of all rounds that can be known: all of them, where nobody can be withdrawn."""
    rounds = {task.name: _rounds(plan, task) for task in plan.tasks}
    stages = max(map(len, rounds.values()))
    falls = Falls(plan.stop.falls)
    for number in range(plan.repeats * stages):
        repeat, stage = divmod(number, stages)
        specs = _stage(plan, rounds, number, repeat, stage, falls.gone)
        if plan.stop.falls is None:
            yield from specs
            continue
        known = list(specs)
        yield from known
        if any(spec.id not in records for spec in known):
            return
        falls.add(records[spec.id] for spec in known)


def _stage(
    plan: Plan,
    rounds: Mapping[str, Sequence[Meetings]],
    number: int,
    repeat: int,
    stage: int,
    gone: frozenset[str],
) -> Iterator[MatchSpec]:
    """One round."""
    count = 0
    for task in plan.tasks:
        if stage >= len(rounds[task.name]):
            continue
        for agents in rounds[task.name][stage]:
            name = f"r{number}-m{count}"
            count += 1
            if task.seats == 1:
                seed = plan.match_seed(repeat, task.name)
            else:
                seed = plan.match_seed(repeat, task.name, *sorted(agents))
            if task.seats == 1 or gone.isdisjoint(agents):
                here = [agent for agent in agents if agent not in gone]
                yield from meeting(name, task, here, seed, number)
