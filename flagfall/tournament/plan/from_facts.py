"""The plan of a stored tournament from its facts alone.

Reading the text of a plan looks for the files of agents and configurations that it names, which are not there
when a results folder has been moved to another machine; a plan that a program made has no text at all. The
facts hold every setting that standings and reports need, and nothing in them is imported or opened.
"""

from __future__ import annotations

__all__ = ["plan_of_facts"]

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from flagfall.configfile.converter import structure
from flagfall.configfile.problems import Problems
from flagfall.errors import UsageError
from flagfall.kernel.seeding import MAX_SEED
from flagfall.terminal_text import one_line
from flagfall.timing import TimeControl
from flagfall.tournament.formats.registry import FORMATS
from flagfall.tournament.formats.schedule import MAX_MATCHES, most_matches
from flagfall.tournament.model import (
    DEFAULT_SCORING,
    MAX_REPEATS,
    Format,
    Output,
    PlannedAgent,
    PlannedTask,
    SprtRule,
    Stop,
    TournamentPlan,
)

_CLASSES: Final = {form.__name__: form for form in FORMATS.values()}
_NAME: Final = ".name"
_MAX_SEATS: Final = 9999
_MAX_REASON_CHARS: Final = 200
_MAX_NAME_CHARS: Final = 1000
"""Longest name of an agent or a task; plan files allow 80 characters, and programs that make plans any."""


def plan_of_facts(name: str, seed: int, facts: Mapping[str, str]) -> TournamentPlan:
    """Return a plan for display; it cannot be played, because its tasks are only named.

    Args:
        name: title of the tournament.
        seed: its root seed.
        facts: see `flagfall.tournament.plan.fingerprint.plan_facts`; they may come from a damaged file.

    Raises:
        UsageError: the facts are not those of a plan.
    """
    try:
        return _plan(name, seed, _Facts(facts))
    except (KeyError, TypeError, ValueError, RecursionError, UsageError) as error:
        reason = one_line(str(error) or type(error).__name__, _MAX_REASON_CHARS)
        raise UsageError(f"the stored plan cannot be read ({reason})") from error


class _Facts:
    """Facts by path.

    Args:
        facts: as they are stored.
    """

    def __init__(self, facts: Mapping[str, str]) -> None:
        self.texts = facts

    def value(self, place: str, kind: type[Any] | tuple[type[Any], ...], default: Any = ...) -> Any:
        """Return the value of a fact, of one of some types."""
        if place not in self.texts and default is not ...:
            return default
        found = json.loads(self.texts[place])
        if not isinstance(found, kind) or (isinstance(found, bool) and kind is int):
            raise ValueError(f"{place} has another type")
        return found

    def names(self, place: str) -> Iterator[str]:
        """Yield the names of the entries of a table, such as `agents`, in their order."""
        for key in self.texts:
            if key.startswith(f"{place}.") and key.endswith(_NAME):
                name = self.value(key, str)
                if len(name) > _MAX_NAME_CHARS:
                    raise ValueError(f"{key[:_MAX_REASON_CHARS]} has {len(name):,} characters")
                if key == f"{place}.{name}{_NAME}":
                    yield name

    def texts_at(self, place: str) -> tuple[str, ...]:
        """Return a list of texts."""
        found = self.value(place, list)
        if not all(isinstance(one, str) for one in found):
            raise ValueError(f"{place} is not a list of texts")
        return tuple(found)


def _plan(name: str, seed: int, facts: _Facts) -> TournamentPlan:
    agents = tuple(_agent(facts, one) for one in facts.names("agents"))
    names = [agent.name for agent in agents]
    tasks = tuple(_task(facts, one, names) for one in facts.names("tasks"))
    if not agents or not tasks:
        raise ValueError("no agents or no tasks")
    stop = Stop(
        matches=_count(facts, "stop.matches"),
        sprt=_sprt(facts, names) if "stop.sprt.agents" in facts.texts else None,
        falls=_count(facts, "stop.falls"),
    )
    repeats = _bounded(facts, "repeats", 1, MAX_REPEATS)
    plan = TournamentPlan(
        name=name,
        agents=agents,
        tasks=tasks,
        format=_format(facts, names, tasks, stop),
        seed=seed,
        repeats=repeats,
        seeds=_seeds(facts, repeats),
        clock=_one_of(facts, "clock", "wall", "virtual"),
        stop=stop,
        anchor=facts.value("anchor", (str, type(None)), None),
        scoring=facts.value("scoring", str, DEFAULT_SCORING),
        output=Output(folder=Path()),
    )
    if most_matches(plan) > MAX_MATCHES:
        raise ValueError("too many matches")
    return plan


def _seeds(facts: _Facts, repeats: int) -> tuple[int, ...]:
    """Return the root seeds of the repeats; none if they are derived."""
    seeds = tuple(facts.value("seeds", list, []))
    if not all(type(seed) is int and 0 <= seed <= MAX_SEED for seed in seeds):
        raise ValueError("seeds has what is no seed")
    if seeds and len(seeds) != repeats:
        raise ValueError(f"{len(seeds)} seeds for {repeats} repeats")
    return seeds


def _agent(facts: _Facts, name: str) -> PlannedAgent:
    place = f"agents.{name}"
    return PlannedAgent(
        name=name,
        spec=facts.value(f"{place}.spec", str),
        host=facts.value(f"{place}.host", (str, type(None))),
    )


def _task(facts: _Facts, name: str, names: list[str]) -> PlannedTask:
    place = f"tasks.{name}"
    agents = facts.texts_at(f"{place}.agents")
    seats = _bounded(facts, f"{place}.seats", 1, _MAX_SEATS)
    if not set(agents) <= set(names) or len(set(agents)) < max(seats, len(agents)):
        raise ValueError(f"{place}.agents does not fit the agents")
    listed = json.loads(facts.texts[f"{place}.tasks"])
    ids = listed if isinstance(listed, list) else ()
    return PlannedTask(
        name=name,
        tasks=tuple(one for one in ids if isinstance(one, str)),
        seats=seats,
        agents=agents,
        control=TimeControl.parse(facts.texts[f"{place}.control"]),
        scheduler=facts.value(f"{place}.scheduler", (str, type(None)), None),
        steps=_count(facts, f"{place}.steps"),
        tick_ns=_count(facts, f"{place}.tick_ns"),
        score=_one_of(facts, f"{place}.score", "result", "reward"),
        last=_count(facts, f"{place}.last"),
        seed=facts.value(f"{place}.seed", (int, type(None)), None),
    )


def _format(facts: _Facts, names: list[str], tasks: tuple[PlannedTask, ...], stop: Stop) -> Format:
    form = _CLASSES[facts.texts["format"]]
    table = {
        field.name: value
        for field in attrs.fields(form)  # type: ignore[arg-type]  # every format is an attrs class
        if (value := json.loads(facts.texts[f"format.{field.name}"])) is not None
    }
    problems = Problems("the stored plan")
    made = structure(table, form, ("format",), problems)
    if made is not None:
        made.check(names, tasks, stop, problems)
    problems.raise_if_any()
    assert made is not None
    return made


def _sprt(facts: _Facts, names: list[str]) -> SprtRule:
    first, second = facts.texts_at("stop.sprt.agents")
    if {first, second} != set(names) or first == second:
        raise ValueError("stop.sprt.agents does not fit the agents")
    numbers = {name: float(facts.value(f"stop.sprt.{name}", (int, float))) for name in ("elo0", "elo1")}
    rates = {name: facts.value(f"stop.sprt.{name}", float) for name in ("alpha", "beta")}
    if not numbers["elo0"] < numbers["elo1"] or not all(0.0 < rate < 0.5 for rate in rates.values()):  # noqa: PLR2004
        raise ValueError("stop.sprt is not a test")
    return SprtRule(agents=(first, second), **numbers, **rates)


def _count(facts: _Facts, place: str) -> int | None:
    found: int | None = facts.value(place, (int, type(None)), None)
    if found is not None and found < 0:
        raise ValueError(f"{place} is below zero")
    return found


def _bounded(facts: _Facts, place: str, low: int, high: int) -> int:
    number: int = facts.value(place, int)
    if not low <= number <= high:
        raise ValueError(f"{place}: expected a whole number from {low} to {high}, got {number}")
    return number


def _one_of(facts: _Facts, place: str, *known: str) -> Any:
    found = facts.value(place, str, known[0])
    if found not in known:
        raise ValueError(f"{place} is unknown")
    return found
