"""`flagfall play`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from flagfall.cli.console.files import NO_LOG, Flag, LogOptions, Output, Seed, Texts, new_folder
from flagfall.cli.serving import OpenPage, ServerOptions, open_in_browser
from flagfall.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import trio

    from flagfall.viewer.play.session import PlaySession
    from flagfall.viewer.server.access import Bind

_List = Parameter(consume_multiple=True, negative="")
_DEFAULTS: Final = ServerOptions()

_NUMBER_CHARS: Final = 4
"""Room in a name for the number of an agent that is named twice."""

DEFAULT_CONTROL: Final = "init=1m act=30s/5m result=1m"
"""The default time control of a person: time to read, and an end for a page that was closed."""


def play(
    *,
    task: Annotated[list[str], Parameter(name=["--task", "-t"]), _List],
    agent: Annotated[Texts, Parameter(name=["--agent", "-a"])] = None,
    seat: int = 0,
    name: str = "you",
    scheduler: str | None = None,
    steps: int | None = None,
    seed: Seed = 0,
    time_control: str = DEFAULT_CONTROL,
    tick: str | None = None,
    bit_mode: Flag = False,
    output: Output = None,
    open_page: OpenPage = True,
    server: ServerOptions = _DEFAULTS,
    logs: LogOptions = NO_LOG,
) -> int:
    """Play a match yourself, in the browser: games by keys, LangRoom, byte tasks, against other agents.

    The command prints the address of a page, and opens it where there is a desktop. The match begins when you
    press the button of the page. After it the page leads to the replay, and the command ends some minutes
    after the page was closed, or by Ctrl-C. You are one more agent: the kernel enforces the time
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
    """
    from flagfall.agents.hosts.registry import Player
    from flagfall.cli.runs.plan import check_tick, option_of
    from flagfall.cli.runs.task_options import TaskOptions, choose_tasks
    from flagfall.playing import MatchRequest
    from flagfall.tasks.adapters.environment_task import split_texts
    from flagfall.tasks.building import is_endless
    from flagfall.tournament.plan.entries import MAX_NAME
    from flagfall.viewer.play.session import PlaySession, check_folder

    folder = new_folder("play") if output is None else output
    check_folder(folder)
    ids = tuple(part for text in task for part in split_texts(text))
    others = agent or []
    _check_seats(ids, len(others), seat, name)
    tasks, order = choose_tasks(ids, scheduler, None, TaskOptions(bit_mode=bit_mode), steps=steps)
    request = MatchRequest(
        tasks=tasks,
        agents=tuple(
            Player(text, name=label) for text, label in zip(others, _names(others, name), strict=True)
        ),
        scheduler=order,
        time_control=time_control,
        seed=seed,
        steps=steps,
        tick_ns=None if tick is None else check_tick(tick),
    )
    if request.time_control.clock == "cpu":
        raise UsageError("--time-control: clock=cpu cannot time a person: use clock=wall")
    if is_endless(ids, scheduler, steps):
        raise UsageError(f"the scheduler {scheduler!r} never ends: add --steps")
    bind = server.bind(need_token=True)
    with logs.opened("play") as opened:
        session = PlaySession(request, seat, name, ids[0][:MAX_NAME], folder, opened.sinks(folder.name))
        session.request.check(option_of)
        session.request = session.request.seated()
        return _serve(session, bind, server, open_page=open_page)


def _check_seats(ids: Sequence[str], others: int, seat: int, name: str) -> None:
    """Check the seat and the name of the person, and the number of the other agents."""
    from flagfall.tasks.building import seats_of
    from flagfall.tournament.plan.entries import MAX_NAME

    seats = seats_of(ids)
    if others != seats - 1:
        raise UsageError(
            f"the tasks seat {seats}, you among them, but {others} --agent are given: name one for each"
            " other seat"
        )
    if not 0 <= seat < seats:
        raise UsageError(f"--seat {seat}: the seats are 0 to {seats - 1}")
    if not 0 < len(name) <= MAX_NAME or not name.isprintable() or name != name.strip():
        raise UsageError(f"--name {name!r}: write at most {MAX_NAME} printable characters")


def _names(others: Sequence[str], person: str) -> list[str]:
    """Return a name for each other agent, none of them twice, nor that of the person."""
    from flagfall.agents.spec import agent_name
    from flagfall.tournament.plan.entries import MAX_NAME

    names: list[str] = []
    for spec in others:
        name = agent_name(spec)[: MAX_NAME - _NUMBER_CHARS]
        same = sum(one == name or one.startswith(f"{name} ") for one in (person, *names))
        names.append(f"{name} {same + 1}" if same else name)
    return names


def _serve(session: PlaySession, bind: Bind, server: ServerOptions, *, open_page: bool) -> int:
    from contextlib import closing
    from functools import partial

    import trio

    from flagfall.cli.console.interrupts import run_until_interrupted, say
    from flagfall.viewer.play.routes import play_routes
    from flagfall.viewer.replay.routes import Replays
    from flagfall.viewer.server.access import Access
    from flagfall.viewer.server.app import make_app
    from flagfall.viewer.server.run import serve

    replays = Replays(session.find_journal, trust=True)  # the match was made of these tasks here

    async def run(stop: trio.Event) -> None:
        async with trio.open_nursery() as nursery:
            app = make_app(play_routes(session.about(), session.desk, replays), access=Access.of(bind))
            url = await nursery.start(partial(serve, app, bind))
            address = f"{url}?token={bind.token}" if server.token_file is None else url
            print(f"play at {address}", flush=True)
            if server.token_file is not None:
                say(f"add ?token=... with the token in {server.token_file}")
            if open_page:
                open_in_browser(address)
            try:
                await session.run(stop, say)
            finally:
                _print_results(session)
            await session.stay(stop, say)
            nursery.cancel_scope.cancel()

    with closing(replays):
        code = run_until_interrupted(run, stopping="ending the match, and closing the page")
    return 0 if session.is_over else code


def _print_results(session: PlaySession) -> None:
    import attrs

    from flagfall.cli.runs.plan import PlannedMatch
    from flagfall.cli.runs.tables import PlayedMatch, print_incidents, print_journals, print_results

    if session.result is None:
        return
    request = attrs.evolve(session.request, journal=session.journal)
    played = [PlayedMatch(PlannedMatch(0, request), session.result)]
    print_results(played, several=False)
    print_incidents(played, several=False)
    print_journals(played)
