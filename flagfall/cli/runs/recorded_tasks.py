"""Tasks of recorded matches, made again; modules that a journal names are imported if the user trusts it."""

from __future__ import annotations

__all__ = ["decide_trust", "from_config", "rebuild_asking"]

import sys
from typing import TYPE_CHECKING

from flagfall.errors import UsageError
from flagfall.tasks.adapters.imports import UntrustedImportError
from flagfall.tasks.building import rebuild
from flagfall.tasks.catalog import check_imports
from flagfall.terminal_text import sanitize_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from flagfall.events import MatchStarted
    from flagfall.kernel.roles import SchedulerRole


def from_config(source: str, _header: MatchStarted) -> SchedulerRole:
    """Return the task scheduler of a configuration that the user gave.

    Args:
        source: see `flagfall.cli.runs.task_options.load_setup`.

    Raises:
        UsageError: it does not exist or is invalid.
    """
    from flagfall.cli.runs.task_options import load_setup

    return load_setup(source).build()


def rebuild_asking(file: Path, header: MatchStarted, *, trust: bool) -> SchedulerRole:
    """Return the task scheduler of a match whose tasks were named by ids or a configuration file.

    Args:
        file: the journal, for the messages.
        header: its header.
        trust: import the modules that the header names; without it, a user at a terminal is asked.

    Raises:
        UsageError: the tasks cannot be made, or the user does not trust the file.
    """
    try:
        return rebuild(header, trust=trust)
    except UntrustedImportError as error:
        if _agrees(file, error):
            return rebuild_asking(file, header, trust=True)
        raise UsageError(f"{file}: {error}; if you trust this file, add --trust") from error
    except UsageError as error:
        if '"python"' in (header.config or ""):
            raise UsageError(f"{error}: add --config") from error
        raise UsageError(
            f"the tasks of the match cannot be created here, so it cannot be verified: {error}"
        ) from error


def decide_trust(file: Path, header: MatchStarted) -> bool:
    """Return whether the modules that a journal names may be imported: a user at a terminal is asked.

    Args:
        file: the journal, for the question.
        header: its header.
    """
    try:
        for task in header.tasks:
            check_imports(task)
    except UntrustedImportError as error:
        return _agrees(file, error)
    return False


def _agrees(file: Path, error: UntrustedImportError) -> bool:
    """Ask the user, if there is a terminal; every answer but yes means no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    question = sanitize_terminal(f"{file}: {error}")
    print(f"flagfall: {question}. Import it? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
