"""`flagfall gvgai serve`, `play-on`, `train` and `results`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from flagfall.cli.console.files import NO_LOG, Flag, LogOptions, Seed, reading
from flagfall.cli.gvgai.options import (
    Journal,
    PlayOptions,
    TrackOptions,
    check_files,
    check_output,
    print_now,
    print_statistics,
    put_out,
)
from flagfall.errors import UsageError

if TYPE_CHECKING:
    from flagfall.gvgai.server import TrackSession
    from flagfall.kernel.dispatcher import Sink


_TRACK_DEFAULTS = TrackOptions()
_NUMBERED: Final = 10
"""Journals whose names are looked at in advance where the number of clients is not known."""


def serve(
    *,
    game: str | None = None,
    game_id: int | None = None,
    games_dir: Path = Path(),
    port: int = 8080,
    address: str = "127.0.0.1",
    agents: int = 1,
    options: TrackOptions = _TRACK_DEFAULTS,
    seed: Seed = 0,
    journal: Journal = None,
    results: Path | None = None,
    overwrite: Flag = False,
    original_output: Flag = False,
    json: Flag = False,
    logs: LogOptions = NO_LOG,
) -> int:
    """Let clients of the original, in Java, Python or anything else, connect and play a game.

    Each client has a match and a clock of its own, and several may play at the same time. The server keeps
    the clock: a late action is not played, and a client that violates the protocol is disqualified.

    Args:
        game: A file, or the name of a game that flagfall ships.
        game_id: Number of the game in the original, instead of `--game`; `0` is aliens.
        games_dir: For `--game-id`: folder with `examples/gridphysics`, or with the games themselves.
        port: Port for clients; by default that of the original.
        address: Address to listen on; with `0.0.0.0` any client that reaches this machine can connect.
        agents: Number of clients after which the server ends; 0: only Ctrl-C ends it.
        seed: Seed of all random choices; each further client's match has a seed of its own.
        journal: Record each match in this file, numbered if there are several.
        results: Write all statistics to this file, as JSON.
        overwrite: Replace files of `--journal` and `--results` that exist.
        original_output: Print the lines of the original's server instead of tables, client by client.
        json: Print the statistics as one JSON object instead of tables.
    """
    import trio

    from flagfall.cli.console.interrupts import run_until_interrupted, say
    from flagfall.gvgai.original_output import OriginalOutput
    from flagfall.gvgai.server import TrackServer
    from flagfall.tasks.vgdl.learning_track_setup import TrackSetup

    if agents < 0:
        raise UsageError(f"--agents {agents}: write a whole number, or 0 for no end")
    path = _game(game, game_id, games_dir)
    times, rules = options.read()
    check_output(original=original_output, json=json)
    check_files(journal, results, overwrite=overwrite, matches=agents or _NUMBERED)

    def sinks(session: int) -> list[Sink]:
        printed = [OriginalOutput(path, rules, print_now, at_once=agents == 1)] if original_output else []
        return [*printed, *opened.sinks(str(session))]

    server = TrackServer(
        TrackSetup(path, rules, options.sprites),
        times.control,
        port=port,
        address=address,
        sessions=agents or None,
        seed=seed,
        journal=journal,
        sinks=sinks,
        on_change=_report,
    )

    async def play(stop: trio.Event) -> None:
        async with trio.open_nursery() as nursery:
            bound = await nursery.start(partial(server.run, stop=stop))
            say(f"waiting for clients at {address}:{bound}")

    with logs.opened("serve", journal, results) as opened:
        code = run_until_interrupted(play)
    data = {"sessions": [_data(session) for session in server.sessions]}
    put_out(data, results, as_json=json)
    if not json and not original_output:
        for session in server.sessions:
            print(f"{session.name}, seed {session.seed}")
            print_statistics(session.sink.statistics)
    for session in server.sessions:
        if session.fault is not None:
            raise session.fault
    return code


def _game(game: str | None, number: int | None, folder: Path) -> str:
    """Return the game that the options name."""
    from flagfall.gvgai.original_output import game_file

    if game is not None and number is None:
        return game
    if game is None and number is not None:
        return game_file(number, folder)
    raise UsageError("name the game with --game FILE or with --game-id NUMBER")


def _data(session: TrackSession) -> dict[str, object]:
    journal = None if session.journal is None else str(session.journal)
    place = {"client": session.number, "seed": session.seed, "journal": journal}
    return place | session.sink.statistics.as_data()


def _report(session: TrackSession) -> None:
    from flagfall.cli.console.interrupts import say

    if session.fault is not None:
        say(f"{session.name}: void: {session.fault}")
    elif session.result is None:
        say(f"{session.name} has connected")
    else:
        reason = session.result.seats[0].disqualified
        say(f"{session.name} {'has finished' if reason is None else f'is disqualified: {reason}'}")


def play_on(
    server: str,
    /,
    *,
    agent: Annotated[str, Parameter(name=["--agent", "-a"])],
    time_control: str = "gvgai-2017",
    wait: float = 10.0,
    seed: Seed = 0,
    json: Flag = False,
    logs: LogOptions = NO_LOG,
) -> int:
    """Let an agent play at a server of the original, as a client of it.

    Args:
        server: `HOST:PORT`, such as `localhost:8080`.
        agent: Who plays: `random`, `q-learning`, `file.py:Name` or `package.module:Name`; it runs in this
            process.
        time_control: Limits that the client enforces, because that server does not. `total` is the time for
            training.
        wait: Timeout of connecting, in seconds.
        seed: Seed of the agent.
        json: Print one JSON object instead of lines.
    """
    import attrs
    import trio

    from flagfall.agents.registry import load_agent
    from flagfall.cli.console.interrupts import run_until_interrupted
    from flagfall.cli.console.output import print_json
    from flagfall.gvgai.client import ClientReport, play_remote
    from flagfall.gvgai.sample_players import PLAYERS
    from flagfall.texts import sanitize_terminal
    from flagfall.timing import TimeControl

    host, colon, port = server.rpartition(":")
    if not colon or not host or not port.isdecimal():
        raise UsageError(f"{server!r} is not an address: write HOST:PORT, such as localhost:8080")
    control = TimeControl.parse(time_control)
    player = PLAYERS[agent] if agent in PLAYERS else load_agent(agent)
    reports: list[ClientReport] = []

    async def play(stop: trio.Event) -> None:
        async with trio.open_nursery() as nursery:

            async def leave() -> None:
                await stop.wait()
                nursery.cancel_scope.cancel()

            nursery.start_soon(leave)
            reports.append(report := ClientReport())
            await play_remote(
                player,
                host,
                int(port),
                control,
                seed=seed,
                wait_seconds=wait,
                report=report,
                sinks=opened.sinks(server),
            )
            nursery.cancel_scope.cancel()

    with logs.opened("play-on") as opened:
        code = run_until_interrupted(play)
    for report in reports:
        if json:
            print_json(attrs.asdict(report))
        else:
            outcomes = (
                ", ".join(f"{count} {winner}" for winner, count in report.winners.items()) or "no games"
            )
            print(f"{outcomes}; {report.ticks} actions, {report.late} late, {report.overspent} overspent")
            if report.fault:
                print(f"the agent {sanitize_terminal(report.fault).strip()}")
            elif not report.finished:
                print("the connection ended before the server sent FINISH")
    return code


_DEFAULTS = PlayOptions()


def train(
    game: str,
    /,
    *,
    agent: Annotated[str, Parameter(name=["--agent", "-a"])],
    options: PlayOptions = _DEFAULTS,
    seed: Seed = 0,
    journal: Journal = None,
    results: Path | None = None,
    overwrite: Flag = False,
    original_output: Flag = False,
    json: Flag = False,
    logs: LogOptions = NO_LOG,
) -> int:
    """Train an agent on levels 0, 1, 2 of a game, validate it on 3 and 4, and print its statistics.

    Args:
        game: A file (`games/zelda.txt`, with `games/zelda_lvl0.txt` to `_lvl4.txt` beside it), or the name of
            a game that flagfall ships.
        agent: Who plays: `random`, `q-learning`, `file.py:Name`, `package.module:Name`, or
            `gvgai:COMMAND` for a client of the original that connects to port 8080, `program:COMMAND` for
            one over its standard input and output.
        seed: Seed of all random choices.
        journal: Record the match in this file; `.zst` at its end compresses it.
        results: Write all statistics to this file, as JSON.
        overwrite: Replace files of `--journal` and `--results` that exist.
        original_output: Print the lines of the original's server instead of tables.
        json: Print the statistics as one JSON object instead of tables.
    """
    import trio

    from flagfall.cli.console.interrupts import run_until_interrupted
    from flagfall.cli.gvgai.options import check_players
    from flagfall.gvgai.original_output import OriginalOutput
    from flagfall.gvgai.play_track import PlayedTrack, play_track
    from flagfall.tasks.vgdl.learning_track_setup import TrackSetup

    times, rules = options.read_played()
    check_output(original=original_output, json=json)
    check_files(journal, results, overwrite=overwrite)
    isolation = check_players([agent], options, times, rules)
    played: list[PlayedTrack] = []

    async def play(stop: trio.Event) -> None:
        setup = TrackSetup(game, rules, options.sprites)
        sinks = [OriginalOutput(game, rules, print_now)] if original_output else []
        played.append(
            await play_track(
                setup,
                agent,
                times,
                host=options.host,
                isolation=isolation,
                seed=seed,
                journal=journal,
                sinks=[*sinks, *opened.sinks(game)],
                stop=stop,
            )
        )

    with logs.opened("train", journal, results) as opened:
        code = run_until_interrupted(play, virtual=options.clock == "virtual")
    for track in played:
        statistics = track.statistics
        put_out(statistics.as_data(), results, as_json=json)
        if not json and not original_output:
            print_statistics(statistics)
    return code


def results(file: Path, /, *, json: Flag = False) -> None:
    """Print the statistics of a recorded track: wins, scores, ticks, times, and the training curve.

    Args:
        file: A journal.
        json: Print one JSON object instead of tables.
    """
    from flagfall.cli.console.output import print_json
    from flagfall.gvgai.track_statistics import statistics_of

    with reading(file):
        statistics = statistics_of(file)
    if json:
        print_json(statistics.as_data())
    else:
        print_statistics(statistics)
