"""Plan of `flagfall run`: the matches to be played, validated before the first one.

With tasks for one player, several agents make a *series*: one match for each agent, repeated `--matches`
times. With tasks for several players, the agents take the seats. All matches of a repeat have the same seed:
that of `--seed` in the first repeat, so each of its matches can be played alone, and
`derive_seed(seed, "repeat", r)` in repeat `r`.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import TYPE_CHECKING, Final

import attrs

from flagfall.agents.spec import NETWORK
from flagfall.cli.console.files import check_journal, check_record, replacing
from flagfall.errors import UsageError
from flagfall.kernel.outcomes import derive_seed
from flagfall.kernel.spaces import spaces_of
from flagfall.playing import MatchRequest, check_count
from flagfall.recording.match_logs import series_path
from flagfall.tasks.adapters.imports import UntrustedImportError
from flagfall.tasks.building import TaskSetup, is_endless, rebuild, seats_of
from flagfall.tasks.catalog import check_imports, make_task
from flagfall.texts import sanitize_terminal
from flagfall.timing.durations import parse_duration

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from flagfall.agents.hosts.registry import Player
    from flagfall.agents.spec import AgentSpec
    from flagfall.events import MatchStarted
    from flagfall.kernel.hosting import AgentHost
    from flagfall.kernel.roles import SchedulerRole
    from flagfall.recording.round1_results import Figures


_BEGINNINGS: Final = (b"* General results", b'{\n  "average_reward"')


def figures_text(figures: Figures, *, as_json: bool) -> str:
    """Return the text of a results file: as JSON, or in the layout of round 1."""
    return json.dumps(figures.as_data(), indent=2) + "\n" if as_json else figures.as_text()


def check_results(
    path: Path, beginnings: tuple[bytes, ...] = _BEGINNINGS, *, overwrite: bool = False
) -> None:
    """Check that a results file can be written, and replaces only one of its kind, if it may."""
    if path.is_dir():
        raise UsageError(f"results {path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise UsageError(f"results {path}: there is no folder {path.parent}")
    check_record("results file", path, beginnings, overwrite=overwrite)


def write_results(path: Path, figures: Figures) -> None:
    """Write a results file: JSON if its name ends in `.json`, otherwise in the layout of round 1."""
    with replacing(path) as file:
        file.write(figures_text(figures, as_json=path.suffix == ".json"))


def option_of(field: str) -> str:
    """Return the option that fills a field of `flagfall.playing.MatchRequest` or its agents."""
    if field == "isolation":
        return "--isolation, --limits, --pass-env"
    return f"--{field.removesuffix('_ns').replace('_', '-')}"


@attrs.frozen
class PlannedMatch:
    """A match to be played.

    Attributes:
        number: its place in the run, from 0.
        request: the match, with hosts as its agents.
        results: the file for its statistics.
        players: its agents as they were asked for.
    """

    number: int
    request: MatchRequest
    results: Path | None = None
    players: tuple[Player, ...] = ()

    @property
    def hosts(self) -> tuple[AgentHost, ...]:
        """One for each seat."""
        return tuple(player.agent for player in self.request.agents)


@attrs.frozen
class RunPlan:
    """Validated plan of a run.

    Attributes:
        request: what all matches have in common, with all agents.
        specs: the parsed texts of the agents, none of them twice.
        hosts: the hosts of these agents, in the same order.
        whole: journals keep observations of any length.
        endless: only a signal ends the run.
    """

    request: MatchRequest
    specs: tuple[AgentSpec, ...]
    hosts: tuple[AgentHost, ...]
    matches: tuple[PlannedMatch, ...]
    whole: bool = False
    endless: bool = False

    @property
    def apart(self) -> list[Player]:
        """The user's own agents that run in processes, of Python alone, or in WebAssembly."""
        texts = {
            spec.text
            for spec, host in zip(self.specs, self.hosts, strict=True)
            if host.kind == "wasm" or (host.kind == "process" and spec.scheme == "python")
        }
        return [player for player in self.request.agents if player.agent in texts]

    @property
    def has_human(self) -> bool:
        """True if a human plays at the terminal."""
        return any(spec.form.is_person for spec in self.specs)


def make_plan(
    request: MatchRequest,
    *,
    repeats: int = 1,
    journal: Path | None = None,
    whole: bool = False,
    results: Path | None = None,
    log: Path | None = None,
    overwrite: bool = False,
) -> RunPlan:
    """Validate what `flagfall run` is to play, and return the plan. Agents of this process are imported.

    Args:
        request: with all agents of the series, which are texts.
        repeats: number of times that all matches are played.
        journal: the file to record in; numbered in a series, as that of `results`.
        log: the file of the log, which no agent in a sandbox may see.
        overwrite: journals and statistics that are there may be replaced.

    Raises:
        UsageError: an option or a combination of options is invalid.
    """
    tasks, players = request.tasks, request.agents
    check_count("--matches", repeats)
    attrs.evolve(request, agents=players[:1]).check(option_of)
    ids = tasks if isinstance(tasks, tuple) else None
    if ids == ():
        raise UsageError("--task: name at least one task, or a --config; `flagfall tasks` lists the tasks")
    assert isinstance(tasks, tuple | TaskSetup)
    endless = is_endless(tasks, request.scheduler, request.steps)
    seatings = _seatings(len(players), 1 if ids is None else seats_of(ids))
    count = len(seatings) * repeats
    if endless and count > 1:
        order = request.scheduler or "--config"
        raise UsageError(
            f"the scheduler {order!r} never ends, so only the first of {count} matches would be played:"
            " add --steps"
        )
    specs = {spec.text: spec for spec in _checked_specs(players, ids)}
    files = [_files(journal, results, number, count, overwrite=overwrite) for number in range(count)]
    if results is not None and results == journal:
        raise UsageError(f"--results {results}: the journal has this name already")
    records = [file for both in files for file in (*both, log) if file is not None]
    for seating in seatings:
        together = tuple(players[place] for place in seating)
        attrs.evolve(request, agents=together).check(option_of, private=records)
    names = Counter(spec.name for spec in specs.values())
    distinct = {
        player.agent: attrs.evolve(
            player, name=player.name if player.name or names[player.label] == 1 else player.agent
        )
        for player in players
    }
    seated = attrs.evolve(request, agents=tuple(distinct.values())).seated()
    hosts = dict(zip(distinct, seated.agents, strict=True))
    seeds = [request.seed, *(derive_seed(request.seed, "repeat", number) for number in range(1, repeats))]
    matches = []
    for number, (seed, seating) in enumerate((seed, seating) for seed in seeds for seating in seatings):
        file, statistics = files[number]
        asked = tuple(
            attrs.evolve(distinct[players[place].agent], think=players[place].think) for place in seating
        )
        together = tuple(attrs.evolve(hosts[player.agent], think=player.think) for player in asked)
        match = attrs.evolve(request, agents=together, seed=seed, journal=file)
        matches.append(PlannedMatch(number, match, statistics, asked))
    of_agents = tuple(host.agent for host in hosts.values())
    return RunPlan(request, tuple(specs.values()), of_agents, tuple(matches), whole, endless)


def _files(
    journal: Path | None, results: Path | None, number: int, count: int, *, overwrite: bool
) -> tuple[Path | None, Path | None]:
    """Return the names of the journal and the statistics of a match, which can be written."""
    journal, results = (
        None if file is None else series_path(file, number, count) for file in (journal, results)
    )
    if journal is not None:
        check_journal(journal, overwrite=overwrite)
    if results is not None:
        check_results(results, overwrite=overwrite)
    return journal, results


def check_tick(text: str) -> int:
    """Return the length of a tick in nanoseconds, from the text of `--tick`."""
    try:
        tick_ns = parse_duration(text)
    except UsageError as error:
        raise UsageError(f"--tick {error}") from None
    if tick_ns == 0:
        raise UsageError("--tick 0: a tick must be longer than 0; leave --tick out for lock-step pace")
    return tick_ns


def _seatings(agents: int, players: int) -> list[tuple[int, ...]]:
    """Return the agents of each match: all of them, or one at a time."""
    if agents == players:
        return [tuple(range(agents))]
    if players == 1:
        return [(agent,) for agent in range(agents)]
    raise UsageError(f"the tasks seat {players} agents, but {agents} are given: name one --agent per seat")


def _checked_specs(players: Sequence[Player], ids: Sequence[str] | None) -> tuple[AgentSpec, ...]:
    """Return the parsed texts of the agents, which the tasks and the options for connections fit."""
    specs = [spec for player in players if (spec := player.spec) is not None]
    if ids is not None and any(spec.text == "human-keys" for spec in specs):
        _refuse_invisible(ids)
    join_policy = players[0].join_policy
    if join_policy is not None and not any(spec.form.connects for spec in specs):
        raise UsageError(
            "--agent-token-file, --agent-cert, --agent-key and --agent-reconnect are for agents that connect:"
            " name one, such as --agent tcp://127.0.0.1:7777"
        )
    certified = join_policy is not None and (join_policy.certificate or join_policy.reconnect)
    if certified and not any(spec.scheme in NETWORK for spec in specs):
        raise UsageError(
            "--agent-cert, --agent-key and --agent-reconnect do not apply to ZeroMQ: leave them out"
        )
    return tuple(specs)


def _refuse_invisible(ids: Sequence[str]) -> None:
    """Refuse tasks whose observations a human who plays by keys could not see."""
    from flagfall.agents.human.keys import is_visible

    for task_id in ids:
        task = make_task(task_id)
        space = spaces_of(task, 0).observation
        task.close()
        if not is_visible(space):
            way = "; add :observation=image or :observation=text" if task_id.startswith("vgdl:") else ""
            raise UsageError(
                f"--agent human-keys: {task_id} shows neither a picture nor a text{way}"
                " (in byte tasks play as human, in LangRoom as human-room)"
            )


def from_config(source: str, _header: MatchStarted) -> SchedulerRole:
    """Return the task scheduler of a configuration that the user gave; see `load_setup`."""
    from flagfall.cli.runs.task_options import load_setup

    return load_setup(source).build()


def rebuild_asking(file: Path, header: MatchStarted, *, trust: bool) -> SchedulerRole:
    """Return the task scheduler of a match whose tasks were named by ids or a configuration file.

    Without trust, a user at a terminal is asked whether to import the modules that the header names.
    """
    try:
        return rebuild(header, trust=trust, journal=file)
    except UntrustedImportError as error:
        if _agrees(file, error):
            return rebuild_asking(file, header, trust=True)
        raise UsageError(f"{file}: {error}; if you trust this file, add --trust") from error
    except UsageError as error:
        if '"python"' in (header.config or ""):
            raise UsageError(f"{error}: add --config") from error
        raise UsageError(
            f"the tasks of the match cannot be created here, so it cannot be verified: {error}"
        ) from error


def decide_trust(file: Path, header: MatchStarted) -> bool:
    """Return whether the modules that a journal names may be imported: a user at a terminal is asked."""
    try:
        for task in header.tasks:
            check_imports(task)
    except UntrustedImportError as error:
        return _agrees(file, error)
    return False


def _agrees(file: Path, error: UntrustedImportError) -> bool:
    """Ask the user, if there is a terminal; every answer but yes means no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    question = sanitize_terminal(f"{file}: {error}")
    print(f"flagfall: {question}. Import it? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
