"""`flagfall verify`."""

from __future__ import annotations

__all__ = ["verify"]

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from flagfall.events import MatchStarted


def verify(
    file: Path,
    /,
    *,
    config: str | None = None,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="", show_default=False)] = False,
) -> int:
    """Execute a recorded match again, and compare every observation, reward and result.

    Exit code 0 where all of it holds. Exit code 1 otherwise, with the first difference: its line in the
    file, its turn, what was expected and what was found.

    Args:
        file: A journal.
        config: What the match was played with, where that was a Python function: no journal alone makes
            `verify` execute one.
        quiet: Print only a difference.
    """
    from flagfall.cli.files import require_file
    from flagfall.recording.verify import verify as compare

    require_file(file)
    found = compare(file, _rebuild if config is None else _from_config(config))
    if not found.ok:
        print(f"DIFFERENT  {found}" if found.difference is not None else f"NOT VERIFIED  {found}")
        return 1
    if not quiet:
        print(f"OK  {found}")
    return 0


def _from_config(source: str) -> Callable[[MatchStarted], Any]:
    from flagfall.cli.configs import load_setup

    setup = load_setup(source)
    return lambda _header: setup.build()


def _rebuild(header: MatchStarted) -> Any:
    """The task scheduler of a match that was played with tasks by name."""
    from flagfall.errors import UsageError
    from flagfall.playing import rebuild

    try:
        return rebuild(header)
    except UsageError as error:
        if '"python"' in (header.config or ""):
            raise UsageError(f"{error}: add --config") from error
        raise UsageError(
            f"the match cannot be built again from its names, so it cannot be verified here: {error}"
        ) from error
