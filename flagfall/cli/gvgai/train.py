"""`flagfall gvgai train`."""

from __future__ import annotations

__all__ = ["train"]

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from flagfall.cli.console.log_options import NO_LOG, LogOptions
from flagfall.cli.gvgai.options import Flag, Journal, PlayOptions, Seed

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
    overwrite: Annotated[bool, Flag] = False,
    original_output: Annotated[bool, Flag] = False,
    json: Annotated[bool, Flag] = False,
    logs: LogOptions = NO_LOG,
) -> int:
    """Train an agent on levels 0, 1, 2 of a game, validate it on 3 and 4, and print its statistics.

    Args:
        game: A file (`games/zelda.txt`, with `games/zelda_lvl0.txt` to `_lvl4.txt` beside it), or the name of
            a game that flagfall ships.
        agent: Who plays: `random`, `q-learning`, `file.py:Name`, `package.module:Name`, or
            `gvgai:COMMAND` for a client of the original that connects to port 8080, `program:COMMAND` for
            one over its standard input and output.
        options: Settings of the track.
        seed: Seed of all random choices.
        journal: Record the match in this file; `.zst` at its end compresses it.
        results: Write all statistics to this file, as JSON.
        overwrite: Replace files of `--journal` and `--results` that exist.
        original_output: Print the lines of the original's server instead of tables.
        json: Print the statistics as one JSON object instead of tables.
        logs: Settings of the log.
    """
    import trio

    from flagfall.cli.console.output import print_json
    from flagfall.cli.gvgai.execution import check_players, run_until_interrupted
    from flagfall.cli.gvgai.options import check_files, check_output, print_now, print_statistics, write_json
    from flagfall.gvgai.original_output import OriginalOutput
    from flagfall.gvgai.play_track import PlayedTrack, play_track
    from flagfall.tasks.vgdl.learning_track_setup import TrackSetup

    times, rules = options.read(options.think)
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

    with logs.opened(journal, results) as opened:
        code = run_until_interrupted(play, virtual=options.clock == "virtual")
    for track in played:
        statistics = track.statistics
        if results is not None:
            write_json(results, statistics.as_data())
        if json:
            print_json(statistics.as_data())
        elif not original_output:
            print_statistics(statistics)
    return code
