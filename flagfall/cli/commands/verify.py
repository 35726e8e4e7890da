"""`flagfall verify`."""

from __future__ import annotations

__all__ = ["verify"]

import sys
from contextlib import ExitStack, contextmanager
from functools import partial
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import Parameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flagfall.events import MatchStarted

SHOW_AFTER_SECONDS: Final = 1.0
"""The progress of a verification is shown if it takes longer than this."""

_Flag = Parameter(negative="", show_default=False)


def verify(
    file: Path,
    /,
    *,
    config: str | None = None,
    trust: Annotated[bool, _Flag] = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"]), _Flag] = False,
) -> int:
    """Execute a recorded match again, and compare every observation, reward and result.

    Exit code 0 where all of it holds. Exit code 1 otherwise, with the first difference: its line in the
    file, its turn, what was expected and what was found.

    Args:
        file: A journal.
        config: What the match was played with, where that was a Python function: no journal alone makes
            `verify` execute one.
        trust: Import the modules that the journal names, such as `my_module` in `gym:my_module:Game-v0`.
            Without it `verify` asks at a terminal, and refuses elsewhere.
        quiet: Print only a difference.
    """
    from flagfall.cli.console.files import reading
    from flagfall.recording.verify import verify as compare
    from flagfall.terminal_text import one_line

    rebuild = partial(_rebuild, file, trust=trust) if config is None else _from_config(config)
    with reading(file), _progress(file, quiet=quiet) as watch:
        found = compare(file, rebuild, watch=watch)
    if not found.ok:
        print(one_line(f"DIFFERENT  {found}" if found.difference is not None else f"NOT VERIFIED  {found}"))
        return 1
    if not quiet:
        print(one_line(f"OK  {found}"))
    return 0


@contextmanager
def _progress(file: Path, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Return a callback for the number of turns compared so far; a terminal shows it if that takes long."""
    from rich.console import Console

    from flagfall.cli.console.progress import Progress, show_progress
    from flagfall.terminal_text import sanitize_terminal

    console = Console(stderr=True, highlight=False, markup=False)
    progress = Progress(1, None)
    progress.begin(0, f"verifying {sanitize_terminal(str(file))}")
    show_at = inf if quiet or not console.is_terminal else monotonic() + SHOW_AFTER_SECONDS
    with ExitStack() as shown:

        def watch(turns: int) -> None:
            nonlocal show_at
            progress.show_turns(turns)
            if monotonic() >= show_at:
                show_at = inf
                shown.enter_context(show_progress(progress, console))

        yield watch


def _from_config(source: str) -> Callable[[MatchStarted], Any]:
    from flagfall.cli.runs.task_options import load_setup

    setup = load_setup(source)
    return lambda _header: setup.build()


def _rebuild(file: Path, header: MatchStarted, *, trust: bool) -> Any:
    """Return the task scheduler of a match that was played with tasks by name."""
    from flagfall.errors import UsageError
    from flagfall.playing import rebuild
    from flagfall.tasks.adapters.imports import UntrustedImportError

    try:
        return rebuild(header, trust=trust)
    except UntrustedImportError as error:
        if _may_ask() and _agreed(f"{file}: {error}"):
            return _rebuild(file, header, trust=True)
        raise UsageError(f"{file}: {error}; if you trust this file, add --trust") from error
    except UsageError as error:
        if '"python"' in (header.config or ""):
            raise UsageError(f"{error}: add --config") from error
        raise UsageError(
            f"the match cannot be built again from its names, so it cannot be verified here: {error}"
        ) from error


def _may_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _agreed(question: str) -> bool:
    """Ask the user at the terminal; anything but a yes is a no."""
    from flagfall.terminal_text import sanitize_terminal

    print(f"flagfall: {sanitize_terminal(question)}. Import it? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
