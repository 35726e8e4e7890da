"""Parser of plan files: TOML to a `TournamentPlan`.

Every value is validated; all problems are reported at once with their line. `docs/tournaments.md` describes
the file. Relative paths start in the folder of the file, but those of commands and of the results folder
start in the working directory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import attrs

from flagfall.agents.spec import AgentSpec
from flagfall.configfile.converter import DIALECT, Problems, structure, table_schema
from flagfall.configfile.files import read_text, read_toml
from flagfall.errors import UsageError, suggest
from flagfall.tasks.vgdl.learning_track_setup import TrackSetup
from flagfall.tournament.formats.schedule import FORMATS, MAX_MATCHES, most_matches
from flagfall.tournament.model import (
    DEFAULT_SCORING,
    Format,
    Output,
    PlannedAgent,
    PlannedTask,
    SprtRule,
    Stop,
    TournamentPlan,
)
from flagfall.tournament.plan.entries import (
    AgentTable,
    PlanTable,
    SprtTable,
    StopTable,
    TaskTable,
    agent_names,
    read_agents,
    read_tasks,
)
from flagfall.tournament.scoring import check_scoring
from flagfall.tournament.tables import scorings


def plan_schema() -> dict[str, Any]:
    """Return the schema of a plan; what depends on several values is checked only when a plan is read."""
    output = table_schema(Output)
    output.pop("required", None)  # the folder has a default, which is made from the name of the plan
    top = table_schema(
        PlanTable,
        {
            "scoring": {"enum": scorings(), "default": DEFAULT_SCORING},
            "agents": {"type": "array", "items": table_schema(AgentTable), "minItems": 1},
            "tasks": {"type": "array", "items": table_schema(TaskTable), "minItems": 1},
            "format": {"anyOf": [{"enum": list(FORMATS)}, *map(_format_schema, FORMATS)]},
            "stop": table_schema(StopTable, {"sprt": table_schema(SprtTable)}),
            "output": output,
        },
    )
    return {
        "$schema": DIALECT,
        "title": "A tournament plan of flagfall",
        **top,
        "required": ["agents", "tasks"],
    }


def _format_schema(kind: str) -> dict[str, Any]:
    schema = table_schema(FORMATS[kind], {"kind": {"const": kind}})
    return {**schema, "required": ["kind", *schema.get("required", ())]}


PLANS: Final[Mapping[str, Path]] = MappingProxyType(
    {path.stem: path for path in sorted((Path(__file__).parent / "shipped").glob("*.toml"))}
)
"""The plans that flagfall ships, by name."""

_TABLES: Final = ("agents", "tasks", "format", "stop", "output")
_PAIR: Final = 2


def load_plan(source: str | Path, *, seed: int | None = None) -> TournamentPlan:
    """Return the plan in a file.

    Args:
        source: a path that ends in `.toml`, or a name in `PLANS`.
        seed: replaces the seed in the file.

    Raises:
        UsageError: there is no such plan, or it is invalid; the message names every problem.
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
) -> TournamentPlan:
    """Return the plan in a text.

    Args:
        name: name of the file in messages.
        title: name of the tournament, if the text has none.

    Raises:
        UsageError: the text is invalid; the message names every problem.
    """
    document = read_toml(text, name)
    data, problems = document.data, document.problems
    tables = {key: data.pop(key) for key in _TABLES if key in data}
    top = structure(data, PlanTable, (), problems, also=_TABLES)
    defaults = top or PlanTable()
    agents = read_agents(tables.get("agents", []), defaults, folder, problems)
    names = agent_names(tables.get("agents", []))
    tasks = read_tasks(tables.get("tasks", []), defaults, names, folder, problems)
    _check_track_clients(agents, tasks, problems)
    stop = _read_stop(tables.get("stop", {}), names, tasks, problems)
    form = _read_format(tables.get("format", "benchmark"), names, tasks, stop, problems)
    if form is not None:
        check_scoring(defaults.scoring, form, problems)
    title = defaults.name or title
    output = tables.get("output", {})
    if isinstance(output, dict):
        output = {"folder": f"{title}-results", **output}
    made = structure(output, Output, ("output",), problems)
    _check_top(defaults, names, problems)
    problems.raise_if_any()
    assert made is not None
    assert form is not None
    plan = TournamentPlan(
        name=title,
        agents=agents,
        tasks=tasks,
        format=form,
        seed=defaults.seed if seed is None else seed,
        repeats=defaults.repeats or len(defaults.seeds or (0,)),
        seeds=defaults.seeds or (),
        clock=defaults.clock,
        stop=stop,
        anchor=defaults.anchor,
        scoring=defaults.scoring,
        jobs=defaults.jobs,
        output=made,
        text=text,
        folder=folder,
    )
    if (count := most_matches(plan)) > MAX_MATCHES:
        problems.add(
            ("repeats",),
            f"{count} matches are more than {MAX_MATCHES}: use fewer repeats, or set stop.matches",
        )
        problems.raise_if_any()
    return plan


def _check_top(top: PlanTable, names: Sequence[str], problems: Problems) -> None:
    if top.anchor is not None and top.anchor not in names:
        problems.unknown(("anchor",), "agent", top.anchor, names)
    if top.seeds is None:
        return
    if top.repeats not in {None, len(top.seeds)}:
        problems.add(("repeats",), f"{top.repeats} repeats and {len(top.seeds)} seeds: leave one out")
    if not 0 < len(set(top.seeds)) == len(top.seeds):
        problems.add(("seeds",), "write one seed for each repeat, and each only once")


def _check_track_clients(
    agents: Sequence[PlannedAgent], tasks: Sequence[PlannedTask], problems: Problems
) -> None:
    """Report the tasks assigned to GVGAI clients that are not tracks."""
    clients = {agent.name for agent in agents if AgentSpec.parse(agent.spec).form.plays_tracks}
    for task in tasks:
        for name in sorted(clients.intersection(task.agents)):
            if not isinstance(task.tasks, TrackSetup):
                problems.add(
                    ("tasks",),
                    f"{task.name}: {name} is a GVGAI client, which plays tracks only: list the"
                    " agents that play this task in its `agents`",
                )


def _read_format(
    value: Any,
    names: Sequence[str],
    tasks: Sequence[PlannedTask],
    stop: Stop,
    problems: Problems,
) -> Format | None:
    """Return the format that a plan gives as a name, or as a table with its name as `kind`."""
    table = dict(value) if isinstance(value, dict) else {"kind": value}
    if "kind" not in table:
        problems.add(("format", "kind"), f"is missing; known: {', '.join(FORMATS)}")
        return None
    kind = table.pop("kind")
    if not isinstance(kind, str) or kind not in FORMATS:
        problems.unknown(("format", "kind"), "format", kind, FORMATS)
        return None
    form = structure(table, FORMATS[kind], ("format",), problems, also=("kind",))
    if form is not None:
        form.check(names, tasks, stop, problems)
    return form


def _read_stop(value: Any, names: Sequence[str], tasks: Sequence[PlannedTask], problems: Problems) -> Stop:
    table = dict(value) if isinstance(value, dict) else value
    test = table.pop("sprt", None) if isinstance(table, dict) else None
    stop = structure(table, StopTable, ("stop",), problems, also=("sprt",)) or StopTable()
    rule = None if test is None else _read_sprt(test, names, tasks, problems)
    if rule is not None and stop.falls is not None:
        problems.add(("stop", "falls"), "a test needs both agents to its end: leave one of the two out")
    return Stop(matches=stop.matches, sprt=rule, falls=stop.falls)


def _read_sprt(
    value: Any, names: Sequence[str], tasks: Sequence[PlannedTask], problems: Problems
) -> SprtRule | None:
    place = ("stop", "sprt")
    test = structure(value, SprtTable, place, problems)
    if test is None:
        return None
    agents = test.agents or tuple(names)
    if sorted(agents) != sorted(names) or len(names) != _PAIR:
        problems.add(
            (*place, "agents"),
            f"a test is between two agents, which must be all agents of the plan: {', '.join(names)}",
        )
        return None
    for task in tasks:
        if task.seats > _PAIR or len(task.agents) != _PAIR:
            problems.add(("tasks",), f"{task.name}: in a test, exactly its two agents play every task")
    if test.elo0 >= test.elo1:
        problems.add(place, f"elo0 ({test.elo0:g}) has to be below elo1 ({test.elo1:g})")
    for name, rate in (("alpha", test.alpha), ("beta", test.beta)):
        if not 0.0 < rate < 0.5:  # noqa: PLR2004 - a coin has an error rate of a half
            problems.add((*place, name), f"{rate:g} is not an error rate: write a number between 0 and 0.5")
    first, second = agents
    return SprtRule(**attrs.asdict(test) | {"agents": (first, second)})
