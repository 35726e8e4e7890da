"""`flagfall gvgai serve`."""

from __future__ import annotations

__all__ = ["serve"]

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from flagfall.cli.console.log_options import NO_LOG, LogOptions
from flagfall.cli.gvgai.options import Flag, Journal, Seed, TrackOptions

if TYPE_CHECKING:
    from flagfall.gvgai.server import TrackSession
    from flagfall.kernel.sinks import Sink

_DEFAULTS = TrackOptions()
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
    options: TrackOptions = _DEFAULTS,
    seed: Seed = 0,
    journal: Journal = None,
    results: Path | None = None,
    overwrite: Annotated[bool, Flag] = False,
    original_output: Annotated[bool, Flag] = False,
    json: Annotated[bool, Flag] = False,
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
        options: Settings of the track.
        seed: Seed of all random choices; each further client's match has a seed of its own.
        journal: Record each match in this file, numbered if there are several.
        results: Write all statistics to this file, as JSON.
        overwrite: Replace files of `--journal` and `--results` that exist.
        original_output: Print the lines of the original's server instead of tables, client by client.
        json: Print the statistics as one JSON object instead of tables.
        logs: Settings of the log.
    """
    from functools import partial

    import trio

    from flagfall.cli.console.output import print_json
    from flagfall.cli.gvgai.execution import run_until_interrupted
    from flagfall.cli.gvgai.options import check_files, check_output, print_now, print_statistics, write_json
    from flagfall.errors import UsageError
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
            _say(f"waiting for clients at {address}:{bound}")

    with logs.opened(journal, results) as opened:
        code = run_until_interrupted(play)
    data = {"sessions": [_data(session) for session in server.sessions]}
    if results is not None:
        write_json(results, data)
    if json:
        print_json(data)
    elif not original_output:
        for session in server.sessions:
            print(f"{session.name}, seed {session.seed}")
            print_statistics(session.sink.statistics)
    for session in server.sessions:
        if session.fault is not None:
            raise session.fault
    return code


def _game(game: str | None, number: int | None, folder: Path) -> str:
    """Return the game that the options name.

    Raises:
        UsageError: they name none, or two.
    """
    from flagfall.errors import UsageError
    from flagfall.gvgai.game_numbers import game_file

    if game is not None and number is None:
        return game
    if game is None and number is not None:
        return game_file(number, folder)
    raise UsageError("name the game with --game FILE or with --game-id NUMBER")


def _data(session: TrackSession) -> dict[str, object]:
    journal = None if session.journal is None else str(session.journal)
    return {
        "client": session.number,
        "seed": session.seed,
        "journal": journal,
    } | session.sink.statistics.as_data()


def _report(session: TrackSession) -> None:
    if session.fault is not None:
        _say(f"{session.name}: void: {session.fault}")
    elif session.result is None:
        _say(f"{session.name} has connected")
    else:
        reason = session.result.seats[0].disqualified
        _say(f"{session.name} {'has finished' if reason is None else f'is disqualified: {reason}'}")


def _say(text: str) -> None:
    import sys

    print(f"flagfall: {text}", file=sys.stderr, flush=True)
