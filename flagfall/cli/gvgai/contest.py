"""`flagfall gvgai contest`."""

from __future__ import annotations

__all__ = ["contest"]

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from flagfall.cli.console.log_options import NO_LOG, LogOptions
from flagfall.cli.gvgai.options import Agents, Flag, Journal, PlayOptions, Seed

if TYPE_CHECKING:
    from flagfall.gvgai.track_statistics import TrackStatistics
    from flagfall.kernel.sinks import Sink
    from flagfall.tournament.records import MatchRecord, MatchSpec
    from flagfall.tournament.run.contest import TrackEngine
    from flagfall.tournament.scoring import PointsRow, TaskRanking

_DEFAULTS = PlayOptions()


def contest(
    *games: str,
    agent: Agents,
    options: PlayOptions = _DEFAULTS,
    seed: Seed = 0,
    journal: Journal = None,
    results: Path | None = None,
    overwrite: Annotated[bool, Flag] = False,
    original_output: Annotated[bool, Flag] = False,
    json: Annotated[bool, Flag] = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"]), Flag] = False,
    logs: LogOptions = NO_LOG,
) -> int:
    """Play every agent on every game; rank them by wins, then score, then ticks, with points across games.

    An agent that is disqualified gets no points for that game, and the contest continues.

    Args:
        games: Files, or names of games that flagfall ships.
        agent: Who plays; see `flagfall gvgai train --help`.
        options: Settings of the tracks.
        seed: Seed of all random choices; all agents face the same seed on a game.
        journal: Record each match in this file, numbered.
        results: Write ranks, points and all statistics to this file, as JSON.
        overwrite: Replace files of `--journal` and `--results` that exist.
        original_output: Print the lines of the original's server for each match, instead of tables.
        json: Print them as one JSON object instead of tables.
        quiet: Do not report progress.
        logs: Settings of the log.
    """
    import trio

    from flagfall.cli.console.output import print_json
    from flagfall.cli.gvgai.execution import check_players, run_until_interrupted
    from flagfall.cli.gvgai.options import check_files, check_output, print_now, write_json
    from flagfall.gvgai.original_output import OriginalOutput
    from flagfall.tournament.formats.schedule import schedule
    from flagfall.tournament.run.contest import MemoryStore, TrackEngine, contest_plan
    from flagfall.tournament.run.runner import Run
    from flagfall.tournament.scoring import rank_tasks, total_points

    times, rules = options.read(options.think)
    isolation = options.read_isolation()
    check_output(original=original_output, json=json)
    plan = contest_plan(
        games,
        agent,
        times,
        rules,
        seed=seed,
        sprites=options.sprites,
        clock=options.clock,
        host=options.host,
        isolation=isolation,
    )
    order = schedule(plan)
    specs = {spec.id: spec for spec in order.walk({})}
    check_files(journal, results, overwrite=overwrite, matches=len(specs))
    check_players(agent, isolation)

    def sinks(spec: MatchSpec) -> list[Sink]:
        shown = OriginalOutput(spec.task, rules, print_now, games.index(spec.task))
        return [*([shown] if original_output else []), *opened.sinks(f"{spec.task}, {spec.entrants[0]}")]

    engine = TrackEngine(plan, times, isolation=isolation, journal=journal, sinks=sinks)
    report = _Report(specs, engine, quiet=quiet)
    run = Run(plan, MemoryStore(), engine, 1, report, fault_attempts=1, skip_failed=True)

    async def play(stop: trio.Event) -> None:
        engine.stop = stop
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run.stop_when, stop)
            await run.play()
            nursery.cancel_scope.cancel()

    with logs.opened(journal, results) as opened:
        code = run_until_interrupted(play, virtual=options.clock == "virtual")
    rankings = rank_tasks(plan, list(order.played(run.records)))
    totals = total_points([entrant.name for entrant in plan.agents], rankings)
    data = {**_data(rankings, totals), "matches": report.matches}
    if results is not None:
        write_json(results, data)
    if json:
        print_json(data)
    elif not original_output:
        _print(rankings, totals)
    for fault in engine.faults.values():
        raise fault
    return code


class _Report:
    """Progress of a contest, and the data of its matches for the results file.

    Args:
        specs: the schedule, by match id.
        engine: has what was played.
        quiet: do not print progress.
    """

    def __init__(self, specs: dict[str, MatchSpec], engine: TrackEngine, *, quiet: bool) -> None:
        self.matches: list[dict[str, Any]] = []
        self._specs = specs
        self._engine = engine
        self._quiet = quiet

    def __call__(self, record: MatchRecord) -> None:
        """Report a match."""
        spec = self._specs[record.id]
        place = {"game": spec.task, "agent": spec.entrants[0], "seed": spec.seed}
        fault, played = self._engine.faults.get(spec.id), self._engine.played.get(spec.id)
        if fault is not None:
            self.matches.append({**place, "fault": str(fault)})
            line = f"void: {fault}"
        elif played is not None:
            self.matches.append({**place, **played.statistics.as_data()})
            line = _line(played.statistics)
        else:  # the contest was stopped before the match began
            return
        if not self._quiet:
            number = 1 + list(self._specs).index(spec.id)
            match = f"[{number}/{len(self._specs)}] {spec.task}, {spec.entrants[0]}"
            print(f"{match}: {line}", file=sys.stderr, flush=True)


def _data(rankings: tuple[TaskRanking, ...], totals: tuple[PointsRow, ...]) -> dict[str, Any]:
    """Return ranks and points for the results file."""
    import attrs

    return {
        "standings": [attrs.asdict(row) for row in totals],
        "rankings": [
            {"game": ranking.task, "placings": [attrs.asdict(placing) for placing in ranking.placings]}
            for ranking in rankings
        ],
    }


def _line(statistics: TrackStatistics) -> str:
    """Return the line of progress for a match."""
    from flagfall.terminal_text import counted

    if statistics.disqualified:
        return f"disqualified: {statistics.disqualified}{_reason(statistics.detail)}"
    games = statistics.of("validation")
    training = statistics.sums("training")
    return (
        f"{sum(game.won for game in games)} of {len(games)} won in validation"
        f" after {counted(training.games if training else 0, 'game')} of training"
    )


def _reason(detail: str) -> str:
    """Return the most informative line of a detail: the first one, but the last one of a traceback."""
    from flagfall.terminal_text import sanitize_terminal

    lines = sanitize_terminal(detail).strip().splitlines()
    if not lines:
        return ""
    return f": {lines[-1 if lines[0].startswith('Traceback') else 0]}"


def _print(rankings: tuple[TaskRanking, ...], totals: tuple[PointsRow, ...]) -> None:
    """Print the ranks on each game, and across games."""
    from flagfall.cli.console.output import number, print_table, table
    from flagfall.terminal_text import sanitize_terminal

    for ranking in rankings:
        rows = table(
            "place", "agent", numbers=("points", "wins", "games", "score", "ticks", "out"), title=ranking.task
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
    for row in totals:
        sums = map(number, (row.points, row.wins, row.disqualified))
        rows.add_row(str(row.place), sanitize_terminal(row.agent), *sums, " ".join(map(str, row.places)))
    print_table(rows)
