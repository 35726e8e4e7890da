"""`flagfall capacity`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from flagfall.cli.console.files import Flag
from flagfall.errors import UsageError

if TYPE_CHECKING:
    import trio

    from flagfall.tournament.capacity import Capacity


def capacity(
    plan: str,
    /,
    *,
    seconds: Annotated[str, Parameter(name=["--time"])] = "10s",
    bound: str | None = None,
    json: Flag = False,
) -> int:
    """Measure how many matches of a plan this machine carries at once, without delaying their turns.

    Plays matches of the plan, with its agents, hosts and time controls, at 1, 2, 4, ... at once, and keeps
    nothing of them. Agents that cost money cost it here too. The delay of a turn is the time in which an
    agent's threads (the longest of them) and flagfall's own were ready to run and waited for a processor, as
    Linux counts it. The machine carries a number of matches if the delays of 99 of 100 turns are within the
    bound, and if its memory and process numbers suffice: an agent with a memory limit counts with all of it,
    others with what they used. In parentheses stands what single measurements would have given. The answer is
    `at least` if no measurement exceeded the bound.

    On the virtual clock nothing is delayed, and nothing played: the answer is the number of processors.

    Args:
        plan: A `.toml` file (docs/tournaments.md), or the name of a plan that comes with flagfall: `demo`.
        seconds: Duration of the measurement, such as `30s`; workers and agents need about a second each to
            start, so more time tries more matches at once.
        bound: Longest delay of 99 of 100 turns: a duration such as `5ms`, or a share of the smallest limit of
            a turn in the plan such as `5%`. By default `10%`, or 10 ms where no turn is limited.
        json: Print one JSON object instead of the table; times in nanoseconds, memory in bytes.
    """
    from flagfall.agents.hosts.registry import Player
    from flagfall.cli.console.interrupts import run_until_interrupted
    from flagfall.cli.console.output import print_json
    from flagfall.cli.runs.task_options import check_players
    from flagfall.tournament.capacity import parse_bound
    from flagfall.tournament.plan.parser import load_plan
    from flagfall.tournament.run.probe import measure_capacity

    loaded = load_plan(plan)
    real_seconds = _seconds(seconds)
    parse_bound(bound, loaded)
    check_players(Player(agent.spec, agent.host, isolation=agent.isolation) for agent in loaded.agents)
    measured: list[Capacity] = []

    async def measure(stop: trio.Event) -> None:
        found = await measure_capacity(loaded, seconds=real_seconds, bound=bound, stop=stop)
        measured.extend(filter(None, [found]))

    code = run_until_interrupted(measure, stopping="ending the measurement")
    for found in measured:
        if json:
            print_json(found.as_data())
        else:
            _show(found)
    return code


def _seconds(text: str) -> float:
    from flagfall.timing.durations import HOUR, S, parse_duration

    try:
        duration_ns = parse_duration(text)
    except UsageError as error:
        raise UsageError(f"--time: {error}") from None
    if not S <= duration_ns <= HOUR:
        raise UsageError(f"--time {text}: write a duration from 1s to 1h")
    return duration_ns / S


def _show(found: Capacity) -> None:
    from flagfall.cli.console.output import duration, number, print_table, print_text, table

    print(f"{found}   (limited by {found.limited_by})" if found.exact else str(found))
    if not found.levels:
        print("on the virtual clock nothing is delayed: one match for each processor")
        return
    rows = table(numbers=("at once", "turns", "delay p50", "p99", "least", "most", "processors busy"))
    for level in found.levels:
        cells = [""] * 4
        if windows := [window.p99_ns for window in level.windows]:
            cells = list(map(duration, (level.p50_ns, level.p99_ns, min(windows), max(windows))))
        rows.add_row(str(level.jobs), number(len(level.delays_ns)), *cells, f"{level.busy:.0%}")
    print_table(rows)
    print_text(
        f"bound: {duration(found.bound_ns)} in 99 of 100 turns; least and most: p99 of single measurements"
    )
    for line in (*map(str, found.resources), *(f"note: {remark}" for remark in found.remarks)):
        print_text(line)
