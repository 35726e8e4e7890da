"""A plan as plain facts: what a run goes by. A run that goes on must go by the same."""

from __future__ import annotations

__all__ = ["changes", "plan_facts", "seats_in"]

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from flagfall.agents.process.isolation import Isolation
from flagfall.tasks.building import TaskSetup
from flagfall.timing import TimeControl
from flagfall.tournament.plan.model import Plan

_FREE: Final = frozenset({"text", "jobs", "output", "name"})
"""What changes neither the schedule nor what becomes of a match."""

_TASKS: Final = "tasks."
_SEATS: Final = ".seats"


def plan_facts(plan: Plan) -> dict[str, str]:
    """The plan, one fact a line: `agents.learner.spec`, `tasks.micro.steps` and so on, with their values."""
    fields = [field.name for field in attrs.fields(Plan) if field.name not in _FREE]
    return dict(fact for name in fields for fact in _facts(name, getattr(plan, name)))


def seats_in(facts: Mapping[str, str]) -> dict[str, int]:
    """Return how many agents each task seats, by its name.

    Args:
        facts: of a plan. What is no number of seats in them is left out: they may come from a damaged file.
    """
    seats = {}
    for place, fact in facts.items():
        if place.startswith(_TASKS) and place.endswith(_SEATS) and re.fullmatch("[1-9][0-9]{0,3}", fact):
            seats[place[len(_TASKS) : -len(_SEATS)]] = int(fact)
    return seats


def _facts(place: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, TimeControl | Isolation | Path):
        yield place, str(value)
    elif attrs.has(type(value)) and not isinstance(value, TaskSetup):
        yield place, getattr(value, "name", type(value).__name__)
        for field in attrs.fields(type(value)):
            yield from _facts(f"{place}.{field.name}", getattr(value, field.name))
    elif isinstance(value, tuple) and value and attrs.has(type(value[0])):
        yield place, " ".join(entry.name for entry in value)
        for entry in value:
            yield from _facts(f"{place}.{entry.name}", entry)
    elif isinstance(value, TaskSetup):
        yield place, json.dumps(value.header(), sort_keys=True, default=str)
    else:
        yield place, json.dumps(value)


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What has changed, one line each; empty where nothing has.

    Of an agent or a task that came or went, that is the change: what stands in its table is no other one.
    """
    nothing = "(nothing)"
    places = [place for place in dict.fromkeys([*before, *now]) if before.get(place) != now.get(place)]
    whole = tuple(f"{place}." for place in places if place not in before or place not in now)
    return [
        f"{place}: was {before.get(place, nothing)}, is {now.get(place, nothing)}"
        for place in places
        if not place.startswith(whole)
    ]
