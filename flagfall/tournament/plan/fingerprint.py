"""Fingerprint of a plan: every setting that a resumed run must share with the interrupted one."""

from __future__ import annotations

__all__ = ["changes", "plan_facts"]

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from flagfall.agents.process.isolation import Isolation
from flagfall.tasks.building import TaskSetup
from flagfall.timing import TimeControl
from flagfall.tournament.model import TournamentPlan

_FREE: Final = frozenset({"text", "jobs", "output", "name"})
"""Settings that affect neither the schedule nor the result of a match."""

_TASKS: Final = "tasks."
_SEATS: Final = ".seats"


def plan_facts(plan: TournamentPlan) -> dict[str, str]:
    """Return the settings of a plan as text, by path: `agents.learner.spec`, `tasks.micro.steps` and so on.

    Args:
        plan: the plan of the tournament.
    """
    fields = [field for field in attrs.fields(TournamentPlan) if field.name not in _FREE]
    return dict(fact for field in fields for fact in _field_facts(field.name, field, plan))


def _field_facts(place: str, field: attrs.Attribute[Any], owner: Any) -> Iterator[tuple[str, str]]:
    value = getattr(owner, field.name)
    # Plans stored by versions without this field lack its fact.
    if not field.metadata.get("omit_default") or value != field.default:
        yield from _facts(place, value)


def _facts(place: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, TimeControl | Isolation | Path):
        yield place, str(value)
    elif attrs.has(type(value)) and not isinstance(value, TaskSetup):
        yield place, getattr(value, "name", type(value).__name__)
        for field in attrs.fields(type(value)):
            yield from _field_facts(f"{place}.{field.name}", field, value)
    elif isinstance(value, tuple) and value and attrs.has(type(value[0])):
        yield place, " ".join(entry.name for entry in value)
        for entry in value:
            yield from _facts(f"{place}.{entry.name}", entry)
    elif isinstance(value, TaskSetup):
        yield place, json.dumps(value.header(), sort_keys=True, default=str)
    else:
        yield place, json.dumps(value)


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the differences between two sets of facts, one line each.

    For an agent or a task that was added or removed, that is the only line: its settings are not listed.

    Args:
        before: facts of the stored plan.
        now: facts of the given plan.
    """
    nothing = "(nothing)"
    places = [place for place in dict.fromkeys([*before, *now]) if before.get(place) != now.get(place)]
    whole = tuple(f"{place}." for place in places if place not in before or place not in now)
    return [
        f"{place}: was {before.get(place, nothing)}, is {now.get(place, nothing)}"
        for place in places
        if not place.startswith(whole)
    ]
