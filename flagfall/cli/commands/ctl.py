"""`flagfall ctl`."""

from __future__ import annotations

import shlex
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from flagfall.cli.console.files import Flag
from flagfall.errors import UsageError

_NEEDS = {"cancel": "the id of a running match", "jobs": "a number"}


def ctl(
    folder: Path,
    command: Literal["status", "pause", "resume", "cancel", "jobs"] = "status",
    value: str | None = None,
    /,
    *,
    json: Flag = False,
) -> None:
    """Show or control a running tournament: `status`, `pause`, `resume`, `cancel`, `jobs`.

    After `pause` no match starts until `resume`. `cancel MATCH` ends a match at once; it is played again
    after all others. `jobs N` sets the number of matches played at the same time.

    Args:
        folder: Folder of the tournament.
        command: What to do; `status` shows the running matches.
        value: The id of the match for `cancel`, the number for `jobs`.
        json: Print the state as one JSON object.
    """
    from flagfall.cli.console.output import number, print_json, print_table, table
    from flagfall.texts import sanitize_terminal
    from flagfall.tournament.run.control import NotPlayed, send_command

    if (command in _NEEDS) != (value is not None):
        raise UsageError(
            f"ctl {command}: write {_NEEDS[command]} after it"
            if command in _NEEDS
            else f"ctl {command} takes no value"
        )
    request: dict[str, Any] = {"do": command}
    if command == "cancel":
        request["match"] = value
    elif command == "jobs":
        request["jobs"] = _count(value or "")
    try:
        state = send_command(folder, request)
    except NotPlayed as error:
        raise UsageError(f"ctl {command}: {_why_not_played(folder, str(error))}") from error
    if json:
        print_json(state)
        return
    total = "" if state["total"] is None else f" of {number(state['total'])}"
    mode = "stopping" if state["stopping"] else "paused" if state["paused"] else "running"
    print(
        f"{sanitize_terminal(state['name'])}: {mode}, {number(state['played'])}{total} matches played,"
        f" {state['void']} void attempts, jobs {state['jobs']}"
    )
    rows = table("match", "task", "agents", numbers=("attempt", "time"))
    for match in state["running"]:
        agents = sanitize_terminal(", ".join(match["agents"]))
        seconds = f"{match['seconds']:.1f} s"
        rows.add_row(match["match"], sanitize_terminal(match["task"]), agents, str(match["attempt"]), seconds)
    if state["running"]:
        print_table(rows)


def _why_not_played(folder: Path, why: str) -> str:
    """Return the state of a tournament that is not being played, and what can be done with its folder."""
    from flagfall.tournament.standings import stored_results
    from flagfall.tournament.store import Store, holds_tournament

    if not holds_tournament(folder):
        return why
    with closing(Store(folder)) as store:
        stored = store.plan()
        if stored is None:
            return why
        over = stored_results(store, stored.for_display()).over
    shown = shlex.quote(str(folder))
    if over:
        return f"the tournament in {folder} is over; for its standings: flagfall results {shown}"
    return (
        f"the tournament in {folder} was interrupted, and is not being played; to continue it: flagfall"
        f" tournament PLAN --output {shown} --resume"
    )


def _count(text: str) -> int:
    from flagfall.tournament.run.control import MAX_JOBS

    if not text.isdecimal() or len(text) > len(str(MAX_JOBS)) or not 1 <= int(text) <= MAX_JOBS:
        raise UsageError(f"ctl jobs {text}: write a whole number from 1 to {MAX_JOBS}")
    return int(text)
