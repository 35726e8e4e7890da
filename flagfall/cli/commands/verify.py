"""`flagfall verify`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flagfall.cli.console.files import Flag, Quiet, reading
from flagfall.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from flagfall.recording.verify import Verification
    from flagfall.tournament.verification import FolderVerification


def verify(
    file: Path,
    /,
    *,
    config: str | None = None,
    replay: Flag = False,
    trust: Flag = False,
    json: Flag = False,
    quiet: Quiet = False,
) -> int:
    """Execute a recorded match again and compare it with its journal, or check the results of a tournament.

    Of a match every observation, reward and result is compared. Of a tournament every file is compared with
    `flagfall.lock`, the records with the journals and the schedule, and the standings with the records; its
    matches are executed again with `--replay`. The exit code is 0 if everything is as it was recorded.
    Otherwise it is 1, and one line names the first difference: of a match its line in the file, its turn, the
    expected and the actual value; of a tournament the file.

    Args:
        file: A journal, or the folder of a tournament.
        config: The Python configuration of the match, if it had one: a journal alone cannot make `verify`
            execute a function.
        replay: Execute all matches of the tournament again.
        trust: Import the modules that the journals name, such as `my_module` in `gym:my_module:Game-v0`, from
            the folder of a tournament if it carries them. Without this option `verify` asks at a terminal,
            and refuses elsewhere.
        json: Print one JSON object, which has all problems of a folder.
        quiet: Print only a difference.
    """
    if file.is_dir():
        if config is not None or (trust and not replay):
            raise UsageError("--config is for a journal, and --trust for a journal or with --replay")
        found: Any = _check_folder(file, replay=replay, trust=trust, quiet=quiet)
    elif replay:
        raise UsageError(f"--replay is for the folder of a tournament; {file} is executed again in any case")
    else:
        found = _verify_journal(file, config, trust=trust, quiet=quiet)
    _print(found, as_json=json, quiet=quiet)
    return int(not found.ok)


def _verify_journal(file: Path, config: str | None, *, trust: bool, quiet: bool) -> Verification:
    from flagfall.cli.console.progress import watch_turns
    from flagfall.cli.runs.plan import from_config, rebuild_asking
    from flagfall.recording.verify import verify as compare

    rebuild = partial(rebuild_asking, file, trust=trust) if config is None else partial(from_config, config)
    with reading(file), watch_turns(f"verifying {file}", quiet=quiet) as watch:
        return compare(file, rebuild, watch=watch)


def _check_folder(folder: Path, *, replay: bool, trust: bool, quiet: bool) -> FolderVerification:
    from flagfall.cli.console.progress import watch_turns
    from flagfall.tournament.verification import verify_folder

    execute: Callable[[Path], Verification] | None = None
    if replay:
        execute = partial(_verify_journal, config=None, trust=trust, quiet=True)
    with watch_turns(f"verifying {folder}", quiet=quiet) as watch:
        return verify_folder(folder, execute, watch=watch)


def _print(found: FolderVerification | Verification, *, as_json: bool, quiet: bool) -> None:
    from flagfall.cli.console.output import print_json
    from flagfall.texts import one_line

    if as_json:
        print_json(found.as_data())
    elif not found.ok or not quiet:
        print(one_line(f"{found.verdict}  {found}"))
