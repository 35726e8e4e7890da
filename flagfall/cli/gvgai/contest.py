"""`flagfall gvgai contest`."""

from __future__ import annotations

__all__ = ["contest"]

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from flagfall.cli.gvgai.options import Agents, Flag, Journal, PlayOptions, Seed

if TYPE_CHECKING:
    from flagfall.errors import HostFault
    from flagfall.gvgai.contest import Contest
    from flagfall.gvgai.contest_runner import Fixture
    from flagfall.gvgai.play_track import PlayedTrack

_USUAL = PlayOptions()


def contest(
    *games: str,
    agent: Agents,
    options: PlayOptions = _USUAL,
    seed: Seed = 0,
    journal: Journal = None,
    results: Path | None = None,
    original_output: Annotated[bool, Flag] = False,
    json: Annotated[bool, Flag] = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"]), Flag] = False,
) -> int:
    """Play every agent on every game; rank them by wins, then score, then ticks, with points across games.

    An agent that is disqualified gets no points for that game, and the contest goes on.

    Args:
        games: Files, or names of games that come with flagfall.
        agent: Who plays; see `flagfall gvgai train --help`.
        options: What the tracks may be told.
        seed: Everything random derives from it; all agents face the same seed on a game.
        journal: Record each match in this file, numbered.
        results: Leave ranks, points and all figures in this file, as JSON.
        original_output: Print the lines of the original's server for each match, instead of tables.
        json: Print them as one JSON object instead of tables.
        quiet: Do not tell how far it is.
    """
    import trio

    from flagfall.cli.console.output import print_json
    from flagfall.cli.gvgai.execution import check_players, run_until_interrupted
    from flagfall.cli.gvgai.options import check_files, check_output, print_now, write_json
    from flagfall.gvgai.contest import Contest
    from flagfall.gvgai.contest_runner import fixtures, play_series
    from flagfall.gvgai.original_output import OriginalOutput

    times, rules = options.read(options.think)
    isolation = options.kept_apart()
    check_output(original=original_output, json=json)
    check_files(journal, results)
    planned = fixtures(games, agent, rules, seed, journal, options.sprites)
    check_players(agent, isolation)
    names = list(dict.fromkeys(fixture.name for fixture in planned))
    standing = Contest(names)
    matches: list[dict[str, Any]] = []
    faults: list[HostFault] = []

    def tell(fixture: Fixture, played: PlayedTrack | HostFault) -> None:
        where = {"game": fixture.setup.game, "agent": fixture.name, "seed": fixture.seed}
        if isinstance(played, Exception):
            faults.append(played)
            matches.append({**where, "fault": str(played)})
        else:
            matches.append({**where, **played.figures.as_data()})
        if not quiet:
            print(_line(fixture, played, len(planned)), file=sys.stderr, flush=True)

    def printed(fixture: Fixture) -> list[OriginalOutput]:
        game = fixture.setup.game
        return [OriginalOutput(game, rules, print_now, games.index(game))] if original_output else []

    async def play(stop: trio.Event) -> None:
        await play_series(
            planned,
            times,
            standing,
            host=options.host,
            isolation=isolation,
            sinks=printed,
            stop=stop,
            tell=tell,
        )

    code = run_until_interrupted(play, virtual=options.clock == "virtual")
    data = {**standing.as_data(), "matches": matches}
    if results is not None:
        write_json(results, data)
    if json:
        print_json(data)
    elif not original_output:
        _print(standing)
    if faults:
        raise faults[0]
    return code


def _line(fixture: Fixture, played: PlayedTrack | HostFault, count: int) -> str:
    """One match in a line."""
    what = f"[{fixture.number + 1}/{count}] {fixture.setup.game}, {fixture.name}: "
    if isinstance(played, Exception):
        return f"{what}void: {played}"
    figures = played.figures
    if figures.disqualified:
        return f"{what}disqualified: {figures.disqualified}{_reason(figures.detail)}"
    games = figures.of("validation")
    training = figures.sums("training")
    return (
        f"{what}{sum(game.won for game in games)} of {len(games)} won in validation"
        f" after {training.games if training else 0} games of training"
    )


def _reason(detail: str) -> str:
    """Return the line of a detail that says most: the first one, and of a traceback the last one."""
    from flagfall.terminal_text import sanitize_terminal

    lines = sanitize_terminal(detail).strip().splitlines()
    if not lines:
        return ""
    return f": {lines[-1 if lines[0].startswith('Traceback') else 0]}"


def _print(standing: Contest) -> None:
    """Print the ranks on each game, and across games."""
    from flagfall.cli.console.output import number, print_table, table
    from flagfall.terminal_text import sanitize_terminal

    rankings = standing.rankings
    for ranking in rankings:
        rows = table(
            "place", "agent", numbers=("points", "wins", "games", "score", "ticks", "out"), title=ranking.game
        )
        for placing in ranking.placings:
            counts = (placing.points, placing.wins, placing.games, placing.score, placing.ticks)
            rows.add_row(
                str(placing.place),
                sanitize_terminal(placing.agent),
                *map(number, counts),
                placing.disqualified,
            )
        print_table(rows)
    rows = table("place", "agent", numbers=("points", "wins", "out", "places"), title="all games")
    for one in standing.standings:
        sums = map(number, (one.points, one.wins, one.disqualified))
        rows.add_row(str(one.place), sanitize_terminal(one.agent), *sums, " ".join(map(str, one.places)))
    print_table(rows)
