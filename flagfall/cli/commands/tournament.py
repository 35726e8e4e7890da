"""`flagfall tournament`."""

from __future__ import annotations

import shlex
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TextIO

from cyclopts import Parameter

from flagfall.cli.console.files import NO_LOG, Flag, LogOptions, Output, Quiet
from flagfall.errors import UNAVAILABLE, FlagfallError, HostFault, UsageError
from flagfall.texts import one_line

if TYPE_CHECKING:
    import trio

    from flagfall.tournament.model import TournamentPlan
    from flagfall.tournament.run.api import Jobs


def tournament(
    plan: str,
    /,
    *,
    output: Output = None,
    jobs: Annotated[int | Literal["auto"] | None, Parameter(name=["--jobs", "-j"])] = None,
    engine: Literal["local", "ray"] = "local",
    resume: Flag = False,
    set_aside: Flag = False,
    part: str | None = None,
    seed: int | None = None,
    answers: Path | None = None,
    dry_run: Flag = False,
    report: bool | None = None,
    fail_on_disqualified: Flag = False,
    wide: Flag = False,
    json: Flag = False,
    quiet: Quiet = False,
    logs: LogOptions = NO_LOG,
) -> int:
    """Play a tournament, and print the standings.

    After the first Ctrl-C the running matches are played to their end; then the standings so far and the
    command to resume are printed. The second Ctrl-C cancels the matches. `--resume` continues a tournament
    that ended for any reason. If agents, tasks or repeats were added to its plan, what is missing is played.

    Args:
        plan: A `.toml` file (docs/tournaments.md), or the name of a plan that comes with flagfall: `demo`.
        output: Folder for the results; by default that of the plan.
        jobs: Number of matches played at the same time; by default that of the plan, or as many as leave
            each agent a processor of its own. `auto`: as many as `flagfall capacity` finds that this machine
            carries, in ten seconds before the tournament.
        engine: `ray` plays on the cluster that Ray finds (needs the extra `ray`).
        resume: Continue the tournament in the folder; if there is none, start it.
        set_aside: With `--resume`, go on even if played matches have no place in a changed plan. The
            tournament as it was is kept in the folder `former-1` of its own.
        part: Play only this part of the matches, such as `1/3`, on one of several machines; `flagfall merge`
            makes one folder of all parts.
        seed: Root seed, instead of that of the plan.
        answers: A results folder, or a journal, whose recorded answers `llm` gives again, without a model; as
            the option `answers` of all agents `llm`.
        dry_run: Print the schedule and an estimate of the time, and play nothing.
        report: Write the report at the end, a page to look at; by default as the plan has it in
            `output.report`.
        fail_on_disqualified: End with exit code 1 if an agent was disqualified, for tests of agents.
        wide: Print whole tables, however long their lines are.
        json: Print the standings as one JSON object, as `flagfall results DIR --json` does, instead of
            tables; all other lines go to the standard error.
        quiet: Show no progress.
    """
    from flagfall.tournament.plan.parser import PLANS, load_plan
    from flagfall.tournament.run.api import run_tournament

    _check_numbers(jobs, seed)
    loaded = _with_answers(load_plan(plan, seed=seed), answers)
    folder = output or loaded.output.folder
    if dry_run:
        if json:
            raise UsageError("--dry-run plays nothing, so there are no standings: leave out --json")
        from flagfall.cli.tournaments.results import print_schedule

        print_schedule(loaded, folder, None if jobs == "auto" else jobs, part)
        return 0
    again = _command_to_resume(plan, folder, jobs, engine, seed, part, answers)
    _check(loaded, folder, *([] if plan in PLANS else [Path(plan)]), *filter(None, [logs.log_file]))

    from flagfall.cli.console.interrupts import run_until_interrupted
    from flagfall.cli.tournaments.live_screen import TournamentScreen

    screen = TournamentScreen(quiet=quiet or logs.uses_stderr)

    async def play(stop: trio.Event) -> None:
        await run_tournament(
            loaded,
            folder,
            jobs=jobs,
            engine=engine,
            resume=resume,
            set_aside=set_aside,
            part=part,
            stop=stop,
            on_begin=screen.begin,
            on_record=screen.show_record,
            warn=screen.say,
            logs=opened.settings,
        )

    fault: FlagfallError | None = None
    code = 0
    reasons: set[str] = set()
    try:
        with logs.opened("tournament") as opened, screen.shown():
            code = run_until_interrupted(play, say=screen.say, stopping="ending after the running matches")
    except HostFault as error:
        fault = error
    if part is not None and code == 0 and fault is None:
        again = f"flagfall merge {shlex.quote(str(folder))} ...   (part {part} is played)"
    try:
        reasons = _print_results(loaded, folder, again, wide=wide, json=json)
    except FlagfallError as error:
        fault = fault or error
    if fault is not None:
        raise fault
    if code == 0 and (loaded.output.report if report is None else report):
        _write_report(folder, sys.stderr if json else sys.stdout)
    return code or int(UNAVAILABLE in reasons or (fail_on_disqualified and bool(reasons)))


def _with_answers(plan: TournamentPlan, answers: Path | None) -> TournamentPlan:
    """Return a plan whose language models give recorded answers, if there are any."""
    import attrs

    from flagfall.agents.registry import with_answers

    texts = with_answers([agent.spec for agent in plan.agents], answers and answers.absolute())
    agents = [attrs.evolve(agent, spec=text) for agent, text in zip(plan.agents, texts, strict=True)]
    return attrs.evolve(plan, agents=tuple(agents))


def _check_numbers(jobs: Jobs, seed: int | None) -> None:
    from flagfall.kernel.outcomes import MAX_SEED

    if isinstance(jobs, int) and jobs < 1:
        raise UsageError(f"--jobs {jobs}: write a whole number, at least 1, or auto")
    if seed is not None and not 0 <= seed <= MAX_SEED:
        raise UsageError(f"--seed {seed}: write a whole number from 0 to {MAX_SEED}")


def _command_to_resume(
    plan: str, folder: Path, jobs: Jobs, engine: str, seed: int | None, part: str | None, answers: Path | None
) -> str:
    """Return the command that continues a tournament."""
    words = ["flagfall", "tournament", plan, "--output", str(folder), "--resume"]
    words += [] if jobs is None else ["--jobs", str(jobs)]
    words += [] if engine == "local" else ["--engine", engine]
    words += [] if seed is None else ["--seed", str(seed)]
    words += [] if part is None else ["--part", part]
    words += [] if answers is None else ["--answers", str(answers)]
    return shlex.join(words)


def _write_report(folder: Path, told: TextIO) -> None:
    """Write the report; the tournament has succeeded in any case, so a failure is only a warning."""
    from flagfall.tournament.folder import REPORT

    again = f"flagfall report {shlex.quote(str(folder))}"
    try:
        from flagfall.cli.tournaments.results import write_report

        write_report(folder, folder / REPORT)
    except Exception as error:  # noqa: BLE001 - see above
        print(f"flagfall: no report was written ({one_line(str(error))}); try {again}", file=sys.stderr)
    else:
        print(f"report:  {folder / REPORT}   (open it in a browser)", file=told)


def _check(plan: TournamentPlan, *private: Path) -> None:
    """Check what needs more than the plan: formats, agents, and that no agent can see these files."""
    from flagfall.agents.hosts.registry import Player
    from flagfall.cli.runs.task_options import check_players
    from flagfall.tournament.run.api import refuse_showing
    from flagfall.tournament.standings import check_format

    for form in plan.output.tables:
        check_format(form)
    refuse_showing(plan, *private)
    check_players(Player(agent.spec, agent.host, isolation=agent.isolation) for agent in plan.agents)


def _print_results(plan: TournamentPlan, folder: Path, again: str, *, wide: bool, json: bool) -> set[str]:
    """Print the standings, write the tables of the plan, and return why agents were disqualified."""
    from flagfall.cli.console.output import print_json
    from flagfall.cli.tournaments.results import print_standings
    from flagfall.tournament.folder import replace_file
    from flagfall.tournament.lock_file import add_made
    from flagfall.tournament.standings import agent_rows, export, stored_standings
    from flagfall.tournament.store import Store

    with closing(Store(folder)) as store:
        stands = stored_standings(store, plan)
    if json:
        print_json(stands.as_data())
    else:
        print_standings(stands, wide=wide)
    told = sys.stderr if json else sys.stdout
    print(f"results: {folder}   (flagfall results {shlex.quote(str(folder))})", file=told)
    if not stands.over:
        print(f"go on:   {again}", file=told)
    for form in plan.output.tables:
        path = folder / f"standings.{form}"
        try:
            replace_file(path, export(agent_rows(stands), form))
        except OSError as error:
            raise HostFault(f"{path} cannot be written: {error.strerror or error}") from error
        add_made(folder, path)
    return {one.reason for one in stands.disqualified}
