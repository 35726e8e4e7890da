"""`flagfall gvgai contest`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from flagfall.cli.console.files import NO_LOG, Flag, LogOptions, Quiet, Seed, new_folder
from flagfall.cli.gvgai.options import Agents, PlayOptions, check_files, check_output, print_now, put_out
from flagfall.cli.gvgai.options import Journal as JournalFile
from flagfall.errors import HostFault
from flagfall.texts import counted, sanitize_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from flagfall.gvgai.track_statistics import TrackStatistics
    from flagfall.kernel.dispatcher import Sink
    from flagfall.tournament.records import MatchRecord, MatchSpec
    from flagfall.tournament.scoring import PointsRow, TaskRanking

_DEFAULTS = PlayOptions()
_FAULT: Final = "fault: "


def contest(
    *games: str,
    agent: Agents,
    options: PlayOptions = _DEFAULTS,
    seed: Seed = 0,
    output: Path | None = None,
    resume: Flag = False,
    journal: JournalFile = None,
    results: Path | None = None,
    overwrite: Flag = False,
    original_output: Flag = False,
    json: Flag = False,
    quiet: Quiet = False,
    logs: LogOptions = NO_LOG,
) -> int:
    """Play every agent on every game; rank them by wins, then score, then ticks, with points across games.

    An agent that is disqualified gets no points for that game, and the contest continues. The folder of
    results is that of a tournament: `flagfall results`, `flagfall report`, `flagfall verify` read it, and
    `--resume` continues a contest that ended for any reason.

    Args:
        games: Files, or names of games that flagfall ships.
        agent: Who plays; see `flagfall gvgai train --help`.
        seed: Seed of all random choices; all agents face the same seed on a game.
        output: Folder of the contest; by default a new one in the working directory, `contest-` and the time.
        resume: Continue the contest in the folder; if there is none, start it.
        journal: Record each match in this file too, numbered.
        results: Write ranks, points and all statistics to this file, as JSON.
        overwrite: Replace files of `--journal` and `--results` that exist.
        original_output: Print the lines of the original's server for each match, instead of tables.
        json: Print them as one JSON object instead of tables.
        quiet: Do not report progress.
    """
    import trio

    from flagfall.cli.console.interrupts import run_until_interrupted, say
    from flagfall.cli.gvgai.options import check_players
    from flagfall.gvgai.original_output import OriginalOutput
    from flagfall.recording.journal.writer import Journal
    from flagfall.recording.match_logs import series_path
    from flagfall.tournament.formats.schedule import schedule
    from flagfall.tournament.run.contest import contest_plan, play_contest
    from flagfall.tournament.scoring import total_points
    from flagfall.tournament.task_tables import rank_tasks

    times, rules = options.read_played()
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
        isolation=options.read_isolation(),
    )
    specs = list(schedule(plan).walk({}))
    check_files(journal, results, overwrite=overwrite or resume, matches=len(specs))
    check_players(agent, options, times, rules)
    folder = output or new_folder("contest", make=True)
    report = _Report(specs, folder, quiet=quiet)
    records: dict[str, MatchRecord] = {}

    def sinks(spec: MatchSpec) -> list[Sink]:
        made = opened.sinks(f"{spec.task}, {spec.entrants[0]}")
        if original_output:
            made.append(OriginalOutput(spec.task, rules, print_now, games.index(spec.task)))
        if journal is not None:
            made.append(Journal(series_path(journal, specs.index(spec), len(specs))))
        return made

    async def play(stop: trio.Event) -> None:
        records.update(
            await play_contest(
                plan, folder, resume=resume, sinks=sinks, stop=stop, on_record=report, warn=say
            )
        )

    with logs.opened("contest", journal, results) as opened:
        code = run_until_interrupted(play, virtual=options.clock == "virtual")
    rankings = rank_tasks(plan, records)
    totals = total_points([entrant.name for entrant in plan.agents], rankings)
    data = {**_data(rankings, totals), "matches": list(report.matches(records)), "folder": str(folder)}
    put_out(data, results, as_json=json)
    if not json and not original_output:
        _print(rankings, totals, folder)
    report.end(records)
    return code


@attrs.define
class _Report:
    """Progress of a contest, and the data of its matches for the results file.

    Attributes:
        faults: the fault of the host in each match that was left out, by its id.
    """

    _specs: Sequence[MatchSpec]
    _folder: Path
    _quiet: bool = attrs.field(kw_only=True)
    faults: dict[str, str] = attrs.field(factory=dict, init=False)

    def __call__(self, record: MatchRecord) -> None:
        """Report a match."""
        if record.status == "void":
            if not record.why.startswith(_FAULT):  # it was stopped
                return
            self.faults[record.id] = record.why.removeprefix(_FAULT)
        if self._quiet:
            return
        number, spec = next(pair for pair in enumerate(self._specs, 1) if pair[1].id == record.id)
        line = (
            f"void: {self.faults[record.id]}" if record.status == "void" else _line(self._statistics(record))
        )
        match = f"[{number}/{len(self._specs)}] {spec.task}, {spec.entrants[0]}"
        print(f"{match}: {line}", file=sys.stderr, flush=True)

    def end(self, records: Mapping[str, MatchRecord]) -> None:
        """Tell how a contest that is not over goes on; raise `HostFault` if a match was left out."""
        if len(records) < len(self._specs):
            again = f"--output {shlex.quote(str(self._folder))} --resume"
            print(f"flagfall: to go on, add {again}", file=sys.stderr)
        for fault in self.faults.values():
            raise HostFault(fault)

    def _statistics(self, record: MatchRecord) -> TrackStatistics:
        from flagfall.gvgai.track_statistics import statistics_of

        return statistics_of(self._folder / (record.journal or ""))

    def matches(self, records: Mapping[str, MatchRecord]) -> Iterator[dict[str, Any]]:
        """Yield the data of the matches that are over, those of earlier runs too."""
        for spec in self._specs:
            place = {"game": spec.task, "agent": spec.entrants[0], "seed": spec.seed}
            if spec.id in records:
                yield {**place, **self._statistics(records[spec.id]).as_data()}
            elif spec.id in self.faults:
                yield {**place, "fault": self.faults[spec.id]}


def _data(rankings: tuple[TaskRanking, ...], totals: tuple[PointsRow, ...]) -> dict[str, Any]:
    """Return ranks and points for the results file."""
    return {
        "standings": [attrs.asdict(row) for row in totals],
        "rankings": [
            {"game": ranking.task, "placings": [attrs.asdict(placing) for placing in ranking.placings]}
            for ranking in rankings
        ],
    }


def _line(statistics: TrackStatistics) -> str:
    """Return the line of progress for a match."""
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
    lines = sanitize_terminal(detail).strip().splitlines()
    if not lines:
        return ""
    return f": {lines[-1 if lines[0].startswith('Traceback') else 0]}"


def _print(rankings: tuple[TaskRanking, ...], totals: tuple[PointsRow, ...], folder: Path) -> None:
    """Print the ranks on each game, and across games."""
    from flagfall.cli.console.output import number, print_table, table

    for ranking in rankings:
        rows = table(
            "place", "agent", numbers=("points", "wins", "games", "score", "ticks", "out"), title=ranking.task
        )
        for placing in ranking.placings:
            counts = (placing.points, placing.wins, placing.games, placing.score, placing.ticks)
            agent = sanitize_terminal(placing.agent)
            rows.add_row(str(placing.place), agent, *map(number, counts), placing.disqualified)
        print_table(rows)
    rows = table("place", "agent", numbers=("points", "wins", "out", "places"), title="all games")
    for row in totals:
        sums = map(number, (row.points, row.wins, row.disqualified))
        rows.add_row(str(row.place), sanitize_terminal(row.agent), *sums, " ".join(map(str, row.places)))
    print_table(rows)
    print(f"results: {folder}   (flagfall results {shlex.quote(str(folder))})")
