"""Options that several commands of `flagfall gvgai` share, and tables of a track."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from flagfall.cli.console.files import Texts, check_journal, replacing
from flagfall.cli.console.output import print_json
from flagfall.errors import UsageError
from flagfall.kernel.hosting import LocalHostKind
from flagfall.timing.durations import parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flagfall.agents.process.isolation import Isolation
    from flagfall.gvgai.play_track import TrackTimes
    from flagfall.gvgai.track_statistics import TrackStatistics
    from flagfall.tasks.vgdl.learning_track import TrackRules

Rules = Literal["gvgai-document", "gvgai-2017"]

_CURVE_ROWS = 10
"""Most rows of a training curve."""


@Parameter(name="*")
@dataclass
class TrackOptions:
    """Settings of a track.

    Attributes:
        rules: `gvgai-document`: the competition's document. `gvgai-2017`: the program published for it.
        training: Time for training, such as `30s`; by default that of the rules: 10m, or 5m.
        games: Most games of training.
        rounds: Rounds of validation; by default 1, or 10.
        time_control: Such as `"gvgai-document act=80ms/1s"`; its `total` is the time for training.
        sprites: Folder of PNG files for the pictures that clients request; a game's `img=` names them.
    """

    rules: Rules = "gvgai-document"
    training: str | None = None
    games: int | None = None
    rounds: int | None = None
    time_control: str | None = None
    sprites: Path | None = None

    def read(self, think: str | None = None) -> tuple[TrackTimes, TrackRules]:
        """Return the time settings and the rules; `think` is the model of latency of each agent."""
        from flagfall.gvgai.play_track import TrackTimes
        from flagfall.recording.latency import read_models
        from flagfall.tasks.vgdl.learning_track import TrackRules

        rules = TrackRules.named(self.rules, games=self.games, rounds=self.rounds)
        model = None if think is None else read_models([think], 1, "--think")[0]
        return TrackTimes.of(rules, self.time_control, _duration("--training", self.training), model)


@Parameter(name="*")
@dataclass
class PlayOptions(TrackOptions):
    """Settings of agents that run here.

    Attributes:
        clock: `virtual`: only thinking takes time, and each action thinks for `--think`.
        think: Time that each action takes on the virtual clock, such as `10ms` or `"lognormal(10ms, 0.5)"`
            (docs/time.md).
        host: Where agents run; by default the samples in the event loop, others in processes.
        isolation: Isolation of agents in processes: `process`, `sandbox` or `none`, as for
            `flagfall run`; by default `process`, and `none` for `program:COMMAND`.
        limits: Limits of each of them, such as `memory=512MB processes=64`.
        pass_env: Environment variables that they get besides the default ones.
    """

    clock: Literal["wall", "virtual"] = "wall"
    think: str | None = None
    host: LocalHostKind | None = None
    isolation: Literal["none", "process", "sandbox"] | None = None
    limits: str | None = None
    pass_env: Texts = None

    def read_played(self) -> tuple[TrackTimes, TrackRules]:
        """Return the time settings and the rules, with the model of latency of the agents."""
        if self.think is not None and self.clock == "wall":
            raise UsageError("--think needs the virtual clock: add --clock virtual")
        return self.read(self.think)

    def read_isolation(self) -> Isolation | None:
        """Return the isolation of agents in processes, or `None` if no option sets it."""
        from flagfall.agents.process.isolation import Isolation

        if self.isolation is None and self.limits is None and self.pass_env is None:
            return None
        return Isolation.from_options(self.isolation, self.limits, self.pass_env)


def _duration(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_duration(text)
    except UsageError as error:
        raise UsageError(f"{option} {error}") from None


Journal = Annotated[Path | None, Parameter(name=["--journal", "-o"])]
Agents = Annotated[list[str], Parameter(name=["--agent", "-a"], consume_multiple=True, negative="")]


def check_output(*, original: bool, json: bool) -> None:
    """Check that at most one form of output is requested."""
    if original and json:
        raise UsageError("--original-output and --json both set the output: leave one of them out")


def print_now(line: str) -> None:
    """Print a line of the original's output at once; the match continues if its reader has ended."""
    from flagfall.cli import discard_output

    try:
        print(line, flush=True)
    except BrokenPipeError:
        discard_output()


def print_statistics(statistics: TrackStatistics) -> None:
    """Print the statistics of a track: by level, by phase, and the training curve."""
    from flagfall.cli.console.output import duration, number, print_table, table
    from flagfall.texts import sanitize_terminal

    levels = table("phase", "level", numbers=("games", "wins", "losses", "mean score", "best", "mean ticks"))
    for row in statistics.levels:
        values = (row.games, row.wins, row.losses, row.mean_score, row.best, row.mean_ticks)
        levels.add_row(row.phase, str(row.level), *map(number, values))
    print_table(levels)
    phases = table("phase", numbers=("games", "wins", "turns", "late", "illegal", "time", "thinking"))
    for row in statistics.phases:
        counts = map(number, (row.games, row.wins, row.turns, row.late, row.illegal))
        phases.add_row(row.phase, *counts, duration(row.elapsed_ns), duration(row.think_ns))
    print_table(phases)
    curve = table("training until", numbers=("games", "wins", "mean score", "mean ticks"))
    for row in statistics.curve_in(_CURVE_ROWS):
        shown = map(number, (row.games, row.wins, row.mean_score, row.mean_ticks))
        curve.add_row(duration(row.until_ns), *shown)
    print_table(curve)
    if statistics.disqualified:
        print(f"disqualified: {statistics.disqualified}: {sanitize_terminal(statistics.detail).strip()}")


_RESULTS_PREFIXES = (b'{\n  "games"', b'{\n  "sessions"', b'{\n  "standings"')
"""First bytes of the files that `--results` of these commands writes."""


def check_files(journal: Path | None, results: Path | None, *, overwrite: bool, matches: int = 1) -> None:
    """Check before a match that its journals, numbered if there are several, and results can be written."""
    from flagfall.cli.runs.plan import check_results
    from flagfall.recording.match_logs import series_path

    journals = [] if journal is None else [series_path(journal, n, matches) for n in range(matches)]
    for path in journals:
        check_journal(path, overwrite=overwrite)
    if results is not None:
        if results in journals:
            raise UsageError(f"--results {results}: the journal has this name already")
        check_results(results, _RESULTS_PREFIXES, overwrite=overwrite)


def put_out(data: Any, results: Path | None, *, as_json: bool) -> None:
    """Write plain data to the results file, if any, and print it if it is asked for as JSON."""
    if results is not None:
        with replacing(results) as file:
            json.dump(data, file, indent=2)
            file.write("\n")
    if as_json:
        print_json(data)


def check_players(
    agents: Iterable[str], options: PlayOptions, times: TrackTimes, rules: TrackRules
) -> Isolation | None:
    """Check that agents can play tracks: those of the user's own code are imported, each in a process.

    Returns:
        The isolation that the options set, or `None`.
    """
    from flagfall.cli.runs import task_options
    from flagfall.cli.runs.plan import option_of
    from flagfall.gvgai.play_track import track_player
    from flagfall.gvgai.sample_players import PLAYERS

    isolation, virtual = options.read_isolation(), options.clock == "virtual"
    players = {
        agent: track_player(agent, rules, times, options.host, isolation, virtual=virtual) for agent in agents
    }
    for player in players.values():
        player.check(option_of, virtual=virtual)
    task_options.check_players(player for agent, player in players.items() if agent not in PLAYERS)
    return isolation
