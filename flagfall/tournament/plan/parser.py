"""From a file in TOML to a `Plan`. Nothing is believed, and every mistake is told, with its line.

`docs/tournaments.md` tells what may stand in the file. Paths in it begin where the file lies, but for those
of commands and of the folder for results, which begin in the working directory.
"""

from __future__ import annotations

__all__ = ["PLANS", "load_plan", "parse_plan"]

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from flagfall.agents.spec import TRACK_CLIENTS, AgentSpec
from flagfall.configfile.converter import structure
from flagfall.configfile.files import read_text, read_toml
from flagfall.configfile.problems import Problems
from flagfall.errors import UsageError, suggest
from flagfall.tasks.vgdl.learning_track_tasks import TrackSetup
from flagfall.tournament.formats.schedule import MAX_MATCHES, most_matches
from flagfall.tournament.plan.entries import names_said, read_agents, read_tasks
from flagfall.tournament.plan.model import (
    AgentEntry,
    Benchmark,
    Format,
    Gauntlet,
    Knockout,
    Output,
    Plan,
    RoundRobin,
    SprtRule,
    Stop,
    Swiss,
    TaskEntry,
)
from flagfall.tournament.plan.schema import FORMATS, SaidPlan, SaidSprt, SaidStop

PLANS: Final[Mapping[str, Path]] = MappingProxyType(
    {path.stem: path for path in sorted((Path(__file__).parent / "shipped").glob("*.toml"))}
)
"""The plans that come with flagfall, by name."""

_TABLES: Final = ("agents", "tasks", "format", "stop", "output")
_PAIR: Final = 2


def load_plan(source: str | Path, *, seed: int | None = None) -> Plan:
    """The plan in a file.

    Args:
        source: a path that ends in `.toml`, or a name out of `PLANS`.
        seed: in place of the one in the file.

    Raises:
        UsageError: there is none, or something is wrong with it; the message has all that is.
    """
    path = Path(source)
    if str(source) in PLANS:
        path = PLANS[str(source)]
    elif path.suffix != ".toml":
        raise UsageError(
            f"unknown plan {str(source)!r}{suggest(str(source), PLANS)}; or name a file that ends in .toml"
        )
    folder = Path() if str(source) in PLANS else path.parent
    return parse_plan(read_text(path, "plan"), name=str(path), folder=folder, title=path.stem, seed=seed)


def parse_plan(
    text: str,
    *,
    name: str = "plan",
    folder: Path = Path(),
    title: str = "tournament",
    seed: int | None = None,
    seats: Mapping[str, int] | None = None,
) -> Plan:
    """Return the plan in a text.

    Args:
        text: the whole file.
        name: what to call it in messages.
        folder: where relative paths in it begin.
        title: the name of the tournament, where the text says none.
        seed: in place of the one in the text.
        seats: how many agents each task seats, by its name, for a plan that is shown and not played: no task
            is made then, so nothing that the text names is imported.

    Raises:
        UsageError: something is wrong with it; the message has all that is.
    """
    document = read_toml(text, name)
    data, mistakes = document.data, document.problems
    tables = {key: data.pop(key) for key in _TABLES if key in data}
    top = structure(data, SaidPlan, (), mistakes, also=_TABLES)
    usual = top or SaidPlan()
    agents = read_agents(tables.get("agents", []), usual, folder, mistakes)
    names = names_said(tables.get("agents", []))
    tasks = read_tasks(tables.get("tasks", []), usual, names, folder, mistakes, seats)
    if seats is None:
        _check_track_clients(agents, tasks, mistakes)
    form = _read_format(tables.get("format", "benchmark"), names, tasks, mistakes)
    stop = _read_stop(tables.get("stop", {}), names, tasks, form, mistakes)
    title = usual.name or title
    output = tables.get("output", {})
    if isinstance(output, dict):
        output = {"folder": f"{title}-results", **output}
    made = structure(output, Output, ("output",), mistakes)
    if usual.anchor is not None and usual.anchor not in names:
        mistakes.unknown(("anchor",), "agent", usual.anchor, names)
    if usual.seeds is not None and usual.repeats not in {None, len(usual.seeds)}:
        mistakes.add(("repeats",), f"{usual.repeats} repeats and {len(usual.seeds)} seeds: leave one out")
    if usual.seeds is not None and not 0 < len(set(usual.seeds)) == len(usual.seeds):
        mistakes.add(("seeds",), "write one seed for each repeat, and each only once")
    mistakes.raise_if_any()
    assert made is not None
    assert form is not None
    plan = Plan(
        name=title,
        agents=agents,
        tasks=tasks,
        format=form,
        seed=usual.seed if seed is None else seed,
        repeats=usual.repeats or len(usual.seeds or (0,)),
        seeds=usual.seeds or (),
        clock=usual.clock,
        stop=stop,
        anchor=usual.anchor,
        jobs=usual.jobs,
        output=made,
        text=text,
    )
    if (count := most_matches(plan)) > MAX_MATCHES:
        mistakes.add(
            ("repeats",),
            f"{count} matches are more than {MAX_MATCHES}: take fewer repeats, or set stop.matches",
        )
        mistakes.raise_if_any()
    return plan


def _check_track_clients(
    agents: tuple[AgentEntry, ...], tasks: tuple[TaskEntry, ...], mistakes: Problems
) -> None:
    """Note the tasks that a client of GVGAI's learning track is to play and cannot."""
    clients = {agent.name for agent in agents if AgentSpec.parse(agent.spec).scheme in TRACK_CLIENTS}
    for task in tasks:
        for name in sorted(clients.intersection(task.agents)):
            if not isinstance(task.tasks, TrackSetup):
                mistakes.add(
                    ("tasks",),
                    f"{task.name}: {name} is a GVGAI client, which plays tracks only: say in `agents` who"
                    " plays this task",
                )


def _read_format(
    said: Any, names: list[str], tasks: tuple[TaskEntry, ...], mistakes: Problems
) -> Format | None:
    """The format: its name, or a table with its name as `kind`."""
    table = dict(said) if isinstance(said, dict) else {"kind": said}
    if "kind" not in table:
        mistakes.add(("format", "kind"), f"is missing; known: {', '.join(FORMATS)}")
        return None
    kind = table.pop("kind")
    if not isinstance(kind, str) or kind not in FORMATS:
        mistakes.unknown(("format", "kind"), "format", kind, FORMATS)
        return None
    form: Format | None = structure(table, FORMATS[kind], ("format",), mistakes, also=("kind",))
    if form is None:
        return None
    if not isinstance(form, Benchmark) and len(names) < _PAIR:
        mistakes.add(("agents",), f"a {kind} needs two agents at least; one alone can play a benchmark")
    if isinstance(form, Gauntlet):
        _check_champions(form.champions, names, mistakes)
    if isinstance(form, Swiss) and form.rounds == 0:
        mistakes.add(("format", "rounds"), "0 rounds: write a whole number, at least 1")
    if isinstance(form, Swiss | Knockout):
        _check_all_play(kind, names, tasks, mistakes)
    return form


def _check_champions(champions: tuple[str, ...], names: list[str], mistakes: Problems) -> None:
    for champion in champions:
        if champion not in names:
            mistakes.unknown(("format", "champions"), "agent", champion, names)
    if len(set(champions)) < len(champions):
        mistakes.add(("format", "champions"), "somebody is named twice")
    if not champions or set(names) <= set(champions):
        mistakes.add(("format", "champions"), "name some of the agents, and not all")


def _check_all_play(kind: str, names: list[str], tasks: tuple[TaskEntry, ...], mistakes: Problems) -> None:
    for task in tasks:
        if task.seats > _PAIR:
            mistakes.add(
                ("tasks",), f"{task.name} seats {task.seats} agents; in a {kind} two meet: leave it out"
            )
        if set(task.agents) != set(names):
            mistakes.add(("tasks",), f"{task.name}: in a {kind} every agent plays every task")


def _read_stop(
    said: Any,
    names: list[str],
    tasks: tuple[TaskEntry, ...],
    form: Format | None,
    mistakes: Problems,
) -> Stop:
    table = dict(said) if isinstance(said, dict) else said
    test = table.pop("sprt", None) if isinstance(table, dict) else None
    stop = structure(table, SaidStop, ("stop",), mistakes, also=("sprt",)) or SaidStop()
    if isinstance(form, Swiss | Knockout) and stop.matches is not None:
        mistakes.add(("stop", "matches"), "a part of its rounds ranks nobody: leave it out in this format")
    if isinstance(form, Knockout) and stop.falls is not None:
        mistakes.add(("stop", "falls"), "in a knockout, who falls is out anyway: leave it out")
    rule = None if test is None else _read_sprt(test, names, tasks, mistakes)
    if rule is not None and not isinstance(form, Benchmark | RoundRobin):
        mistakes.add(("stop", "sprt"), "a test needs two agents who meet again and again: take a round-robin")
    if rule is not None and stop.falls is not None:
        mistakes.add(("stop", "falls"), "a test needs both agents to its end: leave one of the two out")
    return Stop(matches=stop.matches, sprt=rule, falls=stop.falls)


def _read_sprt(
    said: Any, names: list[str], tasks: tuple[TaskEntry, ...], mistakes: Problems
) -> SprtRule | None:
    place = ("stop", "sprt")
    test = structure(said, SaidSprt, place, mistakes)
    if test is None:
        return None
    agents = test.agents or tuple(names)
    if sorted(agents) != sorted(names) or len(names) != _PAIR:
        mistakes.add(
            (*place, "agents"), f"a test is between two agents, who are all of the plan: {', '.join(names)}"
        )
        return None
    for task in tasks:
        if task.seats > _PAIR or len(task.agents) != _PAIR:
            mistakes.add(("tasks",), f"{task.name}: in a test, both agents play every task, and nobody else")
    if test.elo0 >= test.elo1:
        mistakes.add(place, f"elo0 ({test.elo0:g}) has to be below elo1 ({test.elo1:g})")
    for name, chance in (("alpha", test.alpha), ("beta", test.beta)):
        if not 0.0 < chance < 0.5:  # noqa: PLR2004 - a coin is right more often
            mistakes.add((*place, name), f"{chance:g} is no error rate: write a number between 0 and 0.5")
    first, second = agents
    return SprtRule(agents=(first, second), elo0=test.elo0, elo1=test.elo1, alpha=test.alpha, beta=test.beta)
