"""`flagfall play`."""

from __future__ import annotations

__all__ = ["play"]

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import Parameter

from flagfall.cli.console.log_options import NO_LOG, LogOptions
from flagfall.cli.pages.serving import OpenPage, ServerOptions, open_in_browser
from flagfall.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import trio

    from flagfall.kernel.hosting import AgentHost
    from flagfall.tournament.model import TournamentPlan
    from flagfall.viewer.play.session import PlaySession
    from flagfall.viewer.server.bind import Bind

_List = Parameter(consume_multiple=True, negative="")
_Flag = Parameter(negative="", show_default=False)
_DEFAULTS: Final = ServerOptions()

_NUMBER_CHARS: Final = 4
"""Room in a name for the number of an agent that is named twice."""

DEFAULT_CONTROL: Final = "init=1m act=30s/5m result=1m"
"""The default time control of a person: time to read, and an end for a page that was closed."""


def play(
    *,
    task: Annotated[list[str], Parameter(name=["--task", "-t"]), _List],
    agent: Annotated[list[str] | None, Parameter(name=["--agent", "-a"]), _List] = None,
    seat: int = 0,
    name: str = "you",
    scheduler: str | None = None,
    steps: int | None = None,
    seed: Annotated[int, Parameter(name=["--seed", "-s"])] = 0,
    time_control: str = DEFAULT_CONTROL,
    tick: str | None = None,
    bit_mode: Annotated[bool, _Flag] = False,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    open_page: OpenPage = True,
    server: ServerOptions = _DEFAULTS,
    logs: LogOptions = NO_LOG,
) -> int:
    """Play a match yourself, in the browser: games by keys, LangRoom, byte tasks, against other agents.

    The command prints the address of a page, opens it where there is a desktop, and ends with the match. The
    match begins when you press the button of the page. You are one more agent: the kernel enforces the time
    control, and the time that the connection takes is yours. The page may be closed and opened again; turns
    that pass meanwhile are late.

    The folder of results has the journal of the match and can be read like that of a tournament: `flagfall
    results`, `flagfall report`, `flagfall verify`. Ctrl-C ends the match after its turn.

    Args:
        task: Ids of tasks, such as `vgdl:windfall#0`, `langroom`, `micro1`, `gym:CartPole-v1`; `flagfall
            tasks` lists them.
        agent: The agents of the other seats, in their order, as for `run`.
        seat: Your seat, from 0, in tasks for several players.
        name: Your name in the results.
        scheduler: Order of the tasks, as for `run`.
        steps: Number of turns after which the match ends.
        seed: Root seed of all random numbers.
        time_control: As for `run`; `untimed` for no limits.
        tick: Real-time pace: the world moves at each tick (such as `100ms`), and takes your newest action.
        bit_mode: One step of a byte task is one bit instead of one byte.
        output: Folder of the results; by default a new one in the working directory, `play-` and the time.
        open_page: Open the page in the browser of this desktop, if there is one.
        server: Address of the page, and who may open it. The token is made here if there is no token file.
        logs: Settings of the log.
    """
    from flagfall.viewer.play.record import check_folder
    from flagfall.viewer.play.session import PlaySession

    folder = _new_folder() if output is None else output
    check_folder(folder)
    options: dict[str, Any] = {
        "scheduler": scheduler,
        "steps": steps,
        "time_control": time_control,
        "tick": tick,
        "bit_mode": bit_mode,
    }
    plan, hosts = _make_plan(task, agent or [], seat, name, options, seed)
    bind = server.bind(need_token=True)
    with logs.opened() as opened:
        session = PlaySession(plan, hosts, folder, opened.sinks(folder.name))
        try:
            return _serve(session, bind, server, open_page=open_page)
        finally:
            _print_results(session, seed)


def _new_folder() -> Path:
    from datetime import datetime

    return Path(f"play-{datetime.now().astimezone():%Y%m%d-%H%M%S}")


def _make_plan(
    task: Sequence[str],
    agents: Sequence[str],
    seat: int,
    name: str,
    options: dict[str, Any],
    seed: int,
) -> tuple[TournamentPlan, list[AgentHost | None]]:
    """Return the plan of the match, and the hosts of its seats; `None` for the person's.

    Raises:
        UsageError: an option is invalid.
    """
    from flagfall.agents.hosts.registry import host_agent
    from flagfall.cli.runs.plan import check_tick
    from flagfall.cli.runs.task_options import TaskOptions, choose_tasks
    from flagfall.kernel.seeding import MAX_SEED
    from flagfall.tasks.adapters.env_spec import split_texts
    from flagfall.tasks.building import seats_of
    from flagfall.timing import TimeControl
    from flagfall.tournament.model import PlannedTask
    from flagfall.tournament.plan.entries import MAX_NAME
    from flagfall.viewer.play.record import PERSON, play_plan

    ids = [part for text in task for part in split_texts(text)]
    if not 0 <= seed <= MAX_SEED:
        raise UsageError(f"--seed {seed}: a seed is a whole number from 0 to {MAX_SEED}")
    seats = seats_of(ids)
    _check_options(ids, options)
    if len(agents) != seats - 1:
        raise UsageError(
            f"the tasks seat {seats}, you among them, but {len(agents)} --agent are given: name one for each"
            " other seat"
        )
    if not 0 <= seat < seats:
        raise UsageError(f"--seat {seat}: the seats are 0 to {seats - 1}")
    if not 0 < len(name) <= MAX_NAME or not name.isprintable() or name != name.strip():
        raise UsageError(f"--name {name!r}: write at most {MAX_NAME} printable characters")
    specs = [*agents[:seat], PERSON, *agents[seat:]]
    names = _names(specs, name)
    hosts = [
        None if spec is PERSON else host_agent(spec, name=label)
        for spec, label in zip(specs, names, strict=True)
    ]
    chosen = TaskOptions(bit_mode=options["bit_mode"])
    setup = choose_tasks(ids, options["scheduler"], None, chosen, steps=options["steps"])
    planned = PlannedTask(
        name=ids[0][:MAX_NAME],
        tasks=tuple(ids) if setup is None else setup,
        scheduler=options["scheduler"] if setup is None else None,
        seats=seats,
        agents=tuple(names),
        control=TimeControl.parse(options["time_control"]),
        steps=options["steps"],
        tick_ns=None if options["tick"] is None else check_tick(options["tick"]),
        score="reward",
    )
    return play_plan(names, specs, planned, seed=seed), hosts


def _check_options(ids: Sequence[str], options: dict[str, Any]) -> None:
    """Check the options of the match in the words of the command line."""
    from flagfall.tasks.building import is_endless
    from flagfall.timing import TimeControl

    if options["steps"] is not None and options["steps"] < 1:
        raise UsageError(f"--steps {options['steps']}: write a whole number, at least 1")
    if TimeControl.parse(options["time_control"]).clock == "cpu":
        raise UsageError("--time-control: clock=cpu cannot time a person: use clock=wall")
    if is_endless(ids, options["scheduler"], options["steps"]):
        raise UsageError(f"the scheduler {options['scheduler']!r} never ends: add --steps")


def _names(specs: Sequence[str], person: str) -> list[str]:
    """Return a name for each agent, none of them twice."""
    from flagfall.agents.spec import agent_name
    from flagfall.tournament.plan.entries import MAX_NAME
    from flagfall.viewer.play.record import PERSON

    names: list[str] = []
    for spec in specs:
        name = person if spec is PERSON else agent_name(spec)[: MAX_NAME - _NUMBER_CHARS]
        same = sum(one == name or one.startswith(f"{name} ") for one in names)
        names.append(f"{name} {same + 1}" if same else name)
    return names


def _serve(session: PlaySession, bind: Bind, server: ServerOptions, *, open_page: bool) -> int:
    from functools import partial

    import trio

    from flagfall.cli.gvgai.execution import run_until_interrupted
    from flagfall.viewer.play.routes import play_routes
    from flagfall.viewer.server.access import Access
    from flagfall.viewer.server.app import make_app
    from flagfall.viewer.server.run import serve

    async def run(stop: trio.Event) -> None:
        async with trio.open_nursery() as nursery:
            app = make_app(play_routes(session.about(), session.desk), access=Access.of(bind))
            url = await nursery.start(partial(serve, app, bind))
            address = f"{url}?token={bind.token}" if server.token_file is None else url
            print(f"play at {address}", flush=True)
            if server.token_file is not None:
                _say(f"add ?token=... with the token in {server.token_file}")
            if open_page:
                open_in_browser(address)
            await session.run(stop, _say)
            nursery.cancel_scope.cancel()

    return run_until_interrupted(run, say=_say)


def _say(text: str) -> None:
    with suppress(OSError):  # the terminal was closed
        print(f"flagfall: {text}", file=sys.stderr, flush=True)


def _print_results(session: PlaySession, seed: int) -> None:
    from flagfall.cli.runs.plan import PlannedMatch
    from flagfall.cli.runs.tables import PlayedMatch, print_disqualifications, print_journals, print_results

    if session.result is None:
        return
    played = [PlayedMatch(PlannedMatch(0, (), seed, session.journal), session.result)]
    print_results(played, several=False)
    print_disqualifications(played, several=False)
    print_journals(played)
