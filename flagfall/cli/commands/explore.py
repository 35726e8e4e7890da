"""`flagfall explore`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from flagfall.cli.console.files import Flag, Quiet, Seed, TaskIds, Texts
from flagfall.errors import UsageError

if TYPE_CHECKING:
    from flagfall.testing.cases import Ground, Rule
    from flagfall.testing.exploration import Exploration


def explore(
    plan: str | None = None,
    /,
    *,
    task: TaskIds = None,
    agent: Annotated[Texts, Parameter(name=["--agent", "-a"])] = None,
    scheduler: str | None = None,
    steps: int | None = None,
    time_control: Texts = None,
    tick: str | None = None,
    host: Literal["task", "process"] | None = None,
    runs: int = 10_000,
    time: str | None = None,
    seed: Seed = 0,
    invariant: Texts = None,
    again: str | None = None,
    json: Flag = False,
    quiet: Quiet = False,
) -> int:
    """Search for faults under which a match, or a tournament, breaks an invariant (docs/faults.md).

    Matches are simulated under schedules of faults (docs/faults.md), with other seeds, lengths and time
    controls; schedules that led to new behaviour are varied first. Where an invariant is broken, the search
    ends, and prints the smallest schedule that breaks it with the command that shows it again. Ctrl-C prints
    what is known. The exit code is 1 if an invariant is broken, or if a kind of fault never happened.

    Args:
        plan: Explore the matches of this plan, and the tournament as a whole, instead of `--task` and
            `--agent`: a `.toml` file, or a plan by its name.
        task: Ids of tasks.
        agent: The agents: samples, `file.py:Name` or `package.module:Name`.
        scheduler: Order of the tasks, as for `flagfall run`.
        steps: Most turns of a match; by default 20.
        time_control: Play under these; by default under several with all rules, and a plan under its own.
        tick: Real-time pace, as for `flagfall run`.
        host: Where agents are simulated to run, as for `flagfall run --fault`.
        runs: Number of simulations.
        time: Begin no other simulation after this time, such as `60s`.
        seed: Seed of the search.
        invariant: Further invariants: `file.py:function`, a function that takes a simulated match
            (`flagfall.testing.SimulatedRun`) and raises `AssertionError` where it is broken.
        again: Simulate only this case, as it was printed.
        json: Print one JSON object instead of lines.
        quiet: Print only a broken invariant.
    """
    from flagfall.playing import check_count
    from flagfall.testing.cases import Case, grounds_of_plan
    from flagfall.testing.exploration import Exploration
    from flagfall.testing.invariants import INVARIANTS
    from flagfall.timing.durations import S, parse_duration
    from flagfall.tournament.plan.parser import load_plan

    check_count("--runs", runs)
    check_count("--steps", steps)
    case = None if again is None else Case.parse(again)
    seconds = None if time is None else parse_duration(time) / S
    rules = [_load_rule(text) for text in invariant or ()]
    if plan is None:
        grounds = _grounds(task, agent, scheduler, steps, time_control, tick, host, rules)
    elif task or agent or scheduler or steps or tick or host:
        raise UsageError(
            "a plan has its own tasks and agents: leave out --task, --agent and what belongs to them"
        )
    else:
        grounds = grounds_of_plan(load_plan(plan), time_control or (), (*INVARIANTS, *rules))
    words = {"task": task, "agent": agent, "scheduler": scheduler, "steps": steps, "tick": tick, "host": host}
    words |= {"time-control": time_control, "invariant": invariant}
    exploration = Exploration(grounds, seed)
    try:
        if case is None:
            exploration.search(runs, seconds)
        else:
            exploration.check(case)
    finally:  # Ctrl-C prints what is known
        _report(exploration, _command(plan, words), json=json, quiet=quiet)
    return int(exploration.finding is not None or bool(exploration.inert))


def _grounds(
    task: list[str] | None,
    agent: list[str] | None,
    scheduler: str | None,
    steps: int | None,
    time_controls: list[str] | None,
    tick: str | None,
    host: Literal["task", "process"] | None,
    rules: list[Rule],
) -> list[Ground]:
    """Return the matches that options name; in tasks for one player each agent has a match of its own."""
    import attrs

    from flagfall.agents.hosts.registry import Player
    from flagfall.cli.runs.plan import check_tick, make_plan
    from flagfall.cli.runs.task_options import TaskOptions, choose_tasks
    from flagfall.playing import MatchRequest
    from flagfall.tasks.adapters.environment_task import split_texts
    from flagfall.testing.cases import MOST_TURNS, TIME_CONTROLS, Ground
    from flagfall.testing.invariants import INVARIANTS

    ids = tuple(part for text in task or () for part in split_texts(text))
    steps = MOST_TURNS if steps is None else steps
    tasks, order = choose_tasks(ids, scheduler, None, TaskOptions(), steps=steps)
    request = MatchRequest(
        tasks=tasks,
        agents=tuple(Player(text, host) for text in agent or ()),
        scheduler=order,
        steps=steps,
        tick_ns=None if tick is None else check_tick(tick),
    )
    return [
        Ground.of_match(
            attrs.evolve(match.request, agents=match.players),
            time_controls or TIME_CONTROLS,
            (*INVARIANTS, *rules),
        )
        for match in make_plan(request).matches
    ]


def _load_rule(text: str) -> Rule:
    from flagfall.code_loader import find_member, load_module

    place, _, member = text.rpartition(":")
    if not place or not member:
        raise UsageError(f"--invariant {text!r}: write module:function or file.py:function")
    found: Rule = find_member(load_module(place, "invariant"), member, place)
    if not callable(found):
        raise UsageError(f"--invariant {text}: it is no function that takes a simulated match")
    return found


def _command(plan: str | None, options: dict[str, Any]) -> str:
    """Return the command without what belongs to a search."""
    words = ["flagfall", "explore", *([] if plan is None else [plan])]
    for name, given in options.items():
        if given is not None:
            words += [f"--{name}", *map(str, given if isinstance(given, list) else [given])]
    return shlex.join(words)


def _report(exploration: Exploration, command: str, *, json: bool, quiet: bool) -> None:
    """Print what a search has found so far."""
    from flagfall.cli.console.output import print_json, print_table, table
    from flagfall.texts import sanitize_terminal

    finding = exploration.finding
    again = "" if finding is None else f"{command} --again {shlex.quote(str(finding.case))}"
    if json:
        print_json(exploration.as_data() | {"again": again})
        return
    if not quiet:
        rows = table("fault", numbers=("scheduled", "happened"))
        for kind, count in sorted(exploration.scheduled.items()):
            rows.add_row(kind, f"{count:,}", f"{exploration.happened[kind]:,}")
        print_table(rows)
        rate = exploration.runs / max(exploration.seconds, 1e-3)
        print(
            f"{exploration.runs:,} simulations ({rate:,.0f}/s), {exploration.behaviours:,} behaviours:"
            f" {'every invariant held' if finding is None else 'an invariant is broken'}"
        )
    if finding is not None:
        print(sanitize_terminal(str(finding)))
        print(f"  again:   {again}")
    if exploration.inert:
        print(f"never happened: {', '.join(exploration.inert)}")
