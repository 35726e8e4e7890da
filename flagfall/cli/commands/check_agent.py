"""`flagfall check-agent`."""

from __future__ import annotations

from itertools import count
from typing import Literal

from flagfall.cli.console.files import NO_LOG, Flag, LogOptions, TaskIds, Texts
from flagfall.errors import UsageError
from flagfall.kernel.hosting import LocalHostKind


def check_agent(
    spec: str,
    /,
    *,
    task: TaskIds = None,
    time_control: str | None = None,
    host: LocalHostKind | None = None,
    isolation: Literal["none", "process", "sandbox"] | None = None,
    limits: str | None = None,
    pass_env: Texts = None,
    show: Texts = None,
    json: Flag = False,
    logs: LogOptions = NO_LOG,
) -> int:
    """Examine an agent, and report its speed, its stability, and whether it keeps to the rules.

    The agent is started several times: for a long game, for repeated tasks, for the same match twice, and for
    a match that is cut off. The exit code is 1 if it failed a check.

    Args:
        spec: The agent: a sample, `file.py:Name`, `package.module:Name`, or `cmd:PROGRAM`.
        task: Ids of the tasks to play; by default `micro1` and `micro4`.
        time_control: As for `flagfall run`.
        host: Where the agent runs; by default in a process, or where an agent of its form runs.
        isolation: As for `flagfall run`.
        limits: As for `flagfall run`.
        pass_env: As for `flagfall run`.
        show: As for `flagfall run`.
        json: Print one JSON object instead of a table.
        logs: Settings of the log; each match of the examination has a number in it.
    """
    import attrs

    from flagfall.agents.hosts.registry import Player
    from flagfall.agents.process.isolation import Isolation
    from flagfall.agents.spec import AgentSpec
    from flagfall.cli.console.output import print_json, print_table, table
    from flagfall.cli.runs.plan import option_of
    from flagfall.cli.runs.task_options import check_players
    from flagfall.playing import DEFAULT_TIME_CONTROL
    from flagfall.testing.agent_report import AgentUnderTest, report_agent
    from flagfall.texts import sanitize_terminal
    from flagfall.timing import TimeControl

    kept = Isolation.from_options(isolation, limits, pass_env, show)
    player = Player(spec, host, "agent", kept, apart=True)
    if not AgentSpec.parse(spec).form.is_startable:
        raise UsageError(f"{spec}: check-agent starts the agent itself, several times: name one it can start")
    player.check(option_of)
    if player.seated().kind in {"process", "wasm"}:  # which reports invalid options before anything is played
        check_players([player])
    with logs.opened("check-agent") as opened:
        numbers = count(1)
        tested = AgentUnderTest(
            lambda name: attrs.evolve(player, name=name).seated(),
            task or ("micro1", "micro4"),
            TimeControl.parse(time_control or DEFAULT_TIME_CONTROL),
            sinks=lambda: opened.sinks(f"check-{next(numbers)}"),
        )
        grades = list(report_agent(tested))
    passed = all(grade.passed is not False for grade in grades)
    if json:
        found = [{"question": grade.check, "found": grade.found, "passed": grade.passed} for grade in grades]
        print_json({"agent": spec, "passed": passed, "marks": found})
        return int(not passed)
    rows = table("check", "result", "passed")
    for grade in grades:
        first, *_ = sanitize_terminal(grade.found).splitlines()
        rows.add_row(grade.check, first, {True: "yes", False: "NO", None: ""}[grade.passed])
    print_table(rows)
    for grade in grades:
        if "\n" in grade.found:
            print(f"{grade.check}: {sanitize_terminal(grade.found)}")
    return int(not passed)
