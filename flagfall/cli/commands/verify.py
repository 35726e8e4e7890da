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
"""Time after which the progress of a verification is shown."""

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

    The exit code is 0 if everything matches. Otherwise it is 1, and the first difference is printed: its line
    in the file, its turn, the expected and the actual value.

    Args:
        file: A journal.
        config: The Python configuration of the match, if it had one: a journal alone cannot make `verify`
            execute a function.
        trust: Import the modules that the journal names, such as `my_module` in `gym:my_module:Game-v0`.
            Without this option `verify` asks at a terminal, and refuses elsewhere.
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
    """Return a callback for the number of compared turns, which a terminal shows if it takes long."""
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
    """Return the task scheduler of a match whose tasks were named by ids or a configuration file."""
    from flagfall.errors import UsageError
    from flagfall.tasks.adapters.imports import UntrustedImportError
    from flagfall.tasks.building import rebuild

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
            f"the tasks of the match cannot be created here, so it cannot be verified: {error}"
        ) from error


def _may_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _agreed(question: str) -> bool:
    """Ask the user at the terminal; every answer but yes means no."""
    from flagfall.terminal_text import sanitize_terminal

    print(f"flagfall: {sanitize_terminal(question)}. Import it? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
