"""`flagfall ctl`."""

from __future__ import annotations

__all__ = ["ctl"]

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from flagfall.errors import UsageError

_NEEDS = {"cancel": "the id of a match that is being played", "jobs": "a number"}


def ctl(
    folder: Path,
    wish: Literal["status", "pause", "resume", "cancel", "jobs"] = "status",
    value: str | None = None,
    /,
    *,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> None:
    """Look at a tournament that is being played, or steer it: `status`, `pause`, `resume`, `cancel`, `jobs`.

    `pause` begins no match until `resume`. `cancel MATCH` ends one at once; it is played again when nothing
    else is left. `jobs N` plays so many matches at a time from now on.

    Args:
        folder: The folder of the tournament.
        wish: What to do; `status` tells what is being played.
        value: The match for `cancel`, the number for `jobs`.
        json: Print the state as one JSON object.
    """
    from flagfall.cli.console.output import number, print_json, print_table, table
    from flagfall.terminal_text import sanitize_terminal
    from flagfall.tournament.run.control_client import send_command

    if (wish in _NEEDS) != (value is not None):
        raise UsageError(
            f"ctl {wish}: write {_NEEDS[wish]} after it" if wish in _NEEDS else f"ctl {wish} takes no value"
        )
    request: dict[str, Any] = {"do": wish}
    if wish == "cancel":
        request["match"] = value
    elif wish == "jobs":
        request["jobs"] = _count(value or "")
    state = send_command(folder, request)
    if json:
        print_json(state)
        return
    total = "" if state["total"] is None else f" of {number(state['total'])}"
    mode = "stopping" if state["stopping"] else "paused" if state["paused"] else "running"
    print(
        f"{sanitize_terminal(state['name'])}: {mode}, {number(state['played'])}{total} matches played,"
        f" {state['void']} void attempts, jobs {state['jobs']}"
    )
    rows = table("match", "task", "agents", numbers=("attempt", "for"))
    for match in state["running"]:
        agents = sanitize_terminal(", ".join(match["agents"]))
        seconds = f"{match['seconds']:.1f} s"
        rows.add_row(match["match"], sanitize_terminal(match["task"]), agents, str(match["attempt"]), seconds)
    if state["running"]:
        print_table(rows)


def _count(text: str) -> int:
    from flagfall.tournament.run.control_socket import MAX_JOBS

    if not text.isdecimal() or len(text) > len(str(MAX_JOBS)) or not 1 <= int(text) <= MAX_JOBS:
        raise UsageError(f"ctl jobs {text}: write a whole number from 1 to {MAX_JOBS}")
    return int(text)
