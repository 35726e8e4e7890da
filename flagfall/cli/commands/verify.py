"""`flagfall verify`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from flagfall.cli.console.files import Flag, Quiet, reading


def verify(file: Path, /, *, config: str | None = None, trust: Flag = False, quiet: Quiet = False) -> int:
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
    from flagfall.cli.console.progress import watch_turns
    from flagfall.cli.runs.plan import from_config, rebuild_asking
    from flagfall.recording.verify import verify as compare
    from flagfall.texts import one_line

    rebuild = partial(rebuild_asking, file, trust=trust) if config is None else partial(from_config, config)
    with reading(file), watch_turns(f"verifying {file}", quiet=quiet) as watch:
        found = compare(file, rebuild, watch=watch)
    if not found.ok:
        print(one_line(f"DIFFERENT  {found}" if found.difference is not None else f"NOT VERIFIED  {found}"))
        return 1
    if not quiet:
        print(one_line(f"OK  {found}"))
    return 0
