"""Tournaments of all formats with made-up results in real folders, to grow and to merge."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import attrs

from flagfall.tournament.formats.schedule import Part, schedule
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.plan.parser import parse_plan
from flagfall.tournament.records import MatchRecord
from flagfall.tournament.run.api import open_tournament
from flagfall.tournament.standings import stored_standings
from flagfall.tournament.store import Store
from tests.tournament.random_results import random_record
from tests.tournament.runs import journal_bytes, stored

FORMATS = {
    "benchmark": '"benchmark"',
    "round-robin": '"round-robin"',
    "gauntlet": '{ kind = "gauntlet", champions = ["one"] }',
    "swiss": '"swiss"',
    "knockout": '"knockout"',
    "adaptive": '"adaptive"',
}
DEPEND = {"swiss", "knockout", "adaptive"}
"""Formats whose pairings depend on results."""


def plan(
    form: str = "round-robin",
    agents: Mapping[str, str] | tuple[str, ...] = ("one", "two", "three"),
    tasks: tuple[str, ...] = ("duel:heaps", "micro1"),
    repeats: int = 2,
    *,
    more: str = "",
    clock: str = "virtual",
) -> TournamentPlan:
    specs = agents if isinstance(agents, Mapping) else dict.fromkeys(agents, "random")
    lines = [
        f'format = {FORMATS[form]}\nclock = "{clock}"\nrepeats = {repeats}\ntime_control = "act=1s"\n',
        more,
    ]
    lines += [f'[[agents]]\nname = "{name}"\nspec = "{spec}"\n' for name, spec in specs.items()]
    lines += [f'[[tasks]]\ntask = "{task}"\nsteps = 6\n' for task in tasks]
    return parse_plan("\n".join(lines), title="grown")


def play(
    plan: TournamentPlan,
    folder: Path,
    most: int = 10_000,
    *,
    part: str | None = None,
    salt: str = "",
    **options: Any,
) -> list[MatchRecord]:
    """Make up results of matches that are due, and store and return them.

    They follow from what is played: task, agents and seed, which are also the text of the journal.

    Args:
        salt: another one gives other results, as on the wall clock.
    """
    options = {"resume": True, **options}
    new: list[MatchRecord] = []
    order = schedule(plan, None if part is None else Part.parse(part, plan))
    with open_tournament(plan, folder, **options) as store:
        records = store.played(plan)
        while due := list(order.due(records))[: most - len(new)]:
            for spec in due:
                key = f"{spec.task} {spec.entrants} {spec.seed}"
                record = random_record(Random(key + salt), plan, spec)
                journal = f"journals/{spec.id}.jsonl"
                (folder / journal).write_text(key)
                records[spec.id] = attrs.evolve(record, journal=journal)
            new += [records[spec.id] for spec in due]
            store.put(*new[-len(due) :])
    return new


def assert_same(grown: Path, wanted: Path, plan: TournamentPlan) -> None:
    assert stored(grown) == stored(wanted)
    assert journal_bytes(grown) == journal_bytes(wanted)
    both = []
    for folder in (grown, wanted):
        with closing(Store(folder)) as store:
            found = store.plan()
            assert found is not None
            both.append((found.facts, found.text, json.dumps(stored_standings(store, plan).as_data())))
    assert both[0] == both[1]
    assert (grown / "plan.toml").read_bytes() == (wanted / "plan.toml").read_bytes()


FOUR = ("one", "two", "three", "four")


def tree(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
