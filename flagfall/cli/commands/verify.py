"""`flagfall verify`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from flagfall.cli.console.files import Flag, Quiet, Texts, reading
from flagfall.errors import UsageError
from flagfall.kernel.hosting import LocalHostKind

if TYPE_CHECKING:
    from flagfall.cli.runs.agents_again import AgentsAgain
    from flagfall.recording.verify import Verification
    from flagfall.tournament.verification import FolderVerification


def verify(
    file: Path,
    /,
    *,
    config: str | None = None,
    replay: Flag = False,
    agents: Flag = False,
    agent: Annotated[Texts, Parameter(name=["--agent", "-a"])] = None,
    host: LocalHostKind | None = None,
    isolation: Literal["none", "process", "sandbox"] | None = None,
    limits: str | None = None,
    pass_env: Texts = None,
    trust: Flag = False,
    json: Flag = False,
    quiet: Quiet = False,
) -> int:
    """Execute a recorded match again and compare it with its journal, or check the results of a tournament.

    Of a match every observation, reward and result is compared. Of a tournament every file is compared with
    `flagfall.lock`, the records with the journals and the schedule, and the standings with the records; its
    matches are executed again with `--replay`. With `--agents` the agents play again, too, and every action,
    verdict and time is compared. The exit code is 0 if everything is as it was recorded.
    Otherwise it is 1, and one line names the first difference: of a match its line in the file, its turn, the
    expected and the actual value; of a tournament the file.

    Args:
        file: A journal, or the folder of a tournament.
        config: The Python configuration of the match, if it had one: a journal alone cannot make `verify`
            execute a function.
        replay: Execute all matches of the tournament again.
        agents: Let the agents play the matches again, which must be on the virtual clock. Language models
            give their recorded answers.
        agent: Agents for the seats of a journal, in their order, as for `run`; of further seats only samples
            are run, by their names. It implies `--agents`.
        host: Where agents play again; by default where they played.
        isolation: Isolation of agents in processes, as for `run`.
        limits: Limits of an agent in a process, as for `run`.
        pass_env: Environment variables passed to agents in processes, as for `run`.
        trust: Import the modules that the journals name, such as `my_module` in `gym:my_module:Game-v0`, from
            the folder of a tournament if it carries them, and with `--agents` run its agents. Without this
            option `verify` asks at a terminal before it imports, and refuses elsewhere.
        json: Print one JSON object, which has all problems of a folder.
        quiet: Print only a difference.
    """
    again = None
    if agents or agent:
        from flagfall.agents.process.isolation import Isolation
        from flagfall.cli.runs.agents_again import AgentsAgain

        kept = Isolation.from_options(isolation, limits, pass_env)
        again = AgentsAgain(agent or (), host, kept, trust=trust)
    elif any(option is not None for option in (host, isolation, limits, pass_env)):
        raise UsageError("--host, --isolation, --limits and --pass-env are for agents: add --agents")
    if file.is_dir() and (config is not None or agent or (trust and not (replay or agents))):
        raise UsageError(
            "--config and --agent are for a journal, and --trust for a journal or with --replay or --agents"
        )
    if replay and not file.is_dir():
        raise UsageError(f"--replay is for the folder of a tournament; {file} is executed again in any case")
    found: Any = (
        _check_folder(file, again, replay=replay, trust=trust, quiet=quiet)
        if file.is_dir()
        else _verify_journal(file, config, again, trust=trust, quiet=quiet)
    )
    _print(found, as_json=json, quiet=quiet)
    return int(not found.ok)


def _verify_journal(
    file: Path,
    config: str | None,
    again: AgentsAgain | None,
    results: Path | None = None,
    *,
    trust: bool,
    quiet: bool,
) -> Verification:
    from flagfall.cli.console.progress import watch_turns
    from flagfall.cli.runs.plan import from_config, rebuild_asking
    from flagfall.recording.verify import verify as compare

    rebuild = partial(rebuild_asking, file, trust=trust) if config is None else partial(from_config, config)
    with reading(file):
        with watch_turns(f"verifying {file}", quiet=quiet) as watch:
            found = compare(file, rebuild, watch=watch)
        return again.play(file, found, rebuild, results) if again is not None and found.ok else found


def _check_folder(
    folder: Path, again: AgentsAgain | None, *, replay: bool, trust: bool, quiet: bool
) -> FolderVerification:
    from flagfall.cli.console.progress import watch_turns
    from flagfall.tournament.verification import verify_folder

    def execute(journal: Path) -> Verification:
        return _verify_journal(journal, None, again, journal.parent.parent, trust=trust, quiet=True)

    with watch_turns(f"verifying {folder}", quiet=quiet) as watch:
        return verify_folder(folder, execute if replay or again else None, watch=watch)


def _print(found: FolderVerification | Verification, *, as_json: bool, quiet: bool) -> None:
    from flagfall.cli.console.output import print_json
    from flagfall.texts import one_line

    if as_json:
        print_json(found.as_data())
    elif not found.ok or not quiet:
        print(one_line(f"{found.verdict}  {found}"))
