"""`flagfall run`."""

from __future__ import annotations

__all__ = ["run"]

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from flagfall.cli.session import Session

_SIGNALLED: Final = 128
"""What shells add to the number of a signal for an exit code."""

_List = Parameter(consume_multiple=True, negative="")
_Flag = Parameter(negative="", show_default=False)


def run(
    *,
    task: Annotated[list[str], Parameter(name=["--task", "-t"]), _List],
    agent: Annotated[list[str], Parameter(name=["--agent", "-a"]), _List],
    scheduler: str | None = None,
    steps: int | None = None,
    matches: int = 1,
    seed: Annotated[int, Parameter(name=["--seed", "-s"])] = 0,
    time_control: str | None = None,
    no_timeout: Annotated[bool, _Flag] = False,
    clock: Literal["wall", "virtual"] = "wall",
    host: Literal["task", "thread", "process"] | None = None,
    tick: str | None = None,
    journal: Annotated[Path | None, Parameter(name=["--journal", "-o"])] = None,
    json: Annotated[bool, _Flag] = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"]), _Flag] = False,
    log_level: Literal["debug", "info", "warning", "error"] | None = None,
) -> int:
    """Play agents on tasks, under a time control, and print how they did.

    Everything is checked before anything is played. Several agents on tasks for one player make a series:
    a match for each agent, all with the same seed. Tasks for several players take the agents as seats.

    The first Ctrl-C ends the match after its turn, prints the results and completes the journal; the second
    one cancels at once. An agent that is late, crashes or answers nonsense loses its turn or its seat, which
    is a result: the exit code stays 0, the table says `fell`, and `--json` has `fell` and `detail`.

    Args:
        task: Ids of tasks, such as `micro1`; `flagfall tasks` lists them.
        agent: Who plays: a sample (`flagfall agents`), `file.py:Name` or `package.module:Name`.
        scheduler: Which task comes next: `random`, `sequential`, `sequential:2` (rounds), `incremental:3`,
            `consecutive:5`, `dependencies:micro1>micro2;unlock_threshold=4`. By default every task once,
            or round and round with `--steps`.
        steps: Each match ends after so many turns.
        matches: Play everything so many times; the first time with `--seed`, then with seeds derived from it.
        seed: Everything random derives from it.
        time_control: Such as `act=40ms/1s`, `blitz` or `"start=1s act=40ms total=10m"`; by default
            `start=10s init=5s act=1s/5s result=5s`.
        no_timeout: No time limits at all, whatever `--time-control` says: for debuggers.
        clock: `virtual`: waiting takes no time, and the same seed gives the same journal, byte by byte.
        host: Where agents run. By default samples in the event loop, and agents of your own in processes;
            under the virtual clock all in the loop.
        tick: Real-time pace: the world moves every so often (`20ms`) and takes each agent's newest action.
        journal: Record the match in this file; `.zst` at its end compresses it. In a series each match has
            its own, with its number: `run-0.jsonl`, `run-1.jsonl`, ...
        json: Print one JSON object instead of tables; times in nanoseconds.
        quiet: Print nothing but errors (and the object of `--json`).
        log_level: Log to the standard error what happens, from this level on.
    """
    import trio

    from flagfall.cli.plan import make_plan
    from flagfall.cli.session import Session
    from flagfall.timing import VirtualClock

    plan = make_plan(
        task,
        agent,
        scheduler=scheduler,
        steps=steps,
        seed=seed,
        time_control=time_control,
        clock=clock,
        host=host,
        journal=journal,
        repeats=matches,
        tick=tick,
        timed=not no_timeout,
    )
    if plan.in_processes:
        _check(plan.in_processes)
    if log_level is not None:
        from flagfall.recording.logs import configure_logging

        configure_logging(level=log_level)
    session = Session(plan, logs=log_level is not None, progress=not quiet and log_level is None)
    try:
        trio.run(session.play, clock=VirtualClock() if plan.virtual else None)
    finally:
        _report(session, json=json, quiet=quiet)
    if session.fault is not None:
        raise session.fault
    return _SIGNALLED + session.signal if session.signal else 0


def _check(agents: list[str]) -> None:
    """Check agents in processes; Ctrl-C comes out of there as itself, not in a group."""
    import trio

    from flagfall.cli.preflight import check_agents

    try:
        trio.run(check_agents, agents)
    except BaseExceptionGroup as group:
        if group.subgroup(KeyboardInterrupt) is None:
            raise
        raise KeyboardInterrupt from None


def _report(session: Session, *, json: bool, quiet: bool) -> None:
    """Print what was played."""
    from flagfall.cli.output import print_json
    from flagfall.cli.results import as_data, print_falls, print_journals, print_results

    if json:
        ended = "fault" if session.fault is not None else "signal" if session.signal else "done"
        print_json({"ended": ended, "matches": [as_data(match) for match in session.played]})
    elif session.played and not quiet:
        several = len(session.plan.matches) > 1
        print_results(session.played, several=several)
        print_falls(session.played, several=several)
        print_journals(session.played)
