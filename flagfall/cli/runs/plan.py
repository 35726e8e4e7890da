"""Plan of `flagfall run`: the matches to be played, validated before the first one.

With tasks for one player, several agents make a *series*: one match for each agent, repeated `--matches`
times. With tasks for several players, the agents take the seats. All matches of a repeat have the same seed:
that of `--seed` in the first repeat, so each of its matches can be played alone, and
`derive_seed(seed, "repeat", r)` in repeat `r`.
"""

from __future__ import annotations

__all__ = ["PlannedMatch", "RunPlan", "check_tick", "make_plan"]

from collections import Counter
from typing import TYPE_CHECKING, Final, Literal

import attrs

from flagfall.agents.hosts.registry import host_agent
from flagfall.agents.process.isolation import DEFAULT_ISOLATION, Isolation
from flagfall.agents.process.visible import code_of, refuse_private
from flagfall.agents.spec import NETWORK, REMOTE, AgentSpec
from flagfall.cli.console.files import check_journal
from flagfall.cli.runs.results_file import check_results
from flagfall.cli.runs.task_options import TaskOptions, choose_tasks
from flagfall.errors import UsageError
from flagfall.kernel.seeding import MAX_SEED, derive_seed
from flagfall.kernel.spaces import spaces_of
from flagfall.playing import DEFAULT_TIME_CONTROL
from flagfall.recording.series_names import series_path
from flagfall.tasks.adapters.env_spec import split_texts
from flagfall.tasks.building import TaskSetup, is_endless, seats_of
from flagfall.tasks.catalog import make_task
from flagfall.timing import TimeControl
from flagfall.timing.control import UNTIMED
from flagfall.timing.durations import parse_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from flagfall.agents.wire.admission import JoinPolicy
    from flagfall.kernel.hosting import AgentHost, LocalHostKind

NO_OPTIONS: Final = TaskOptions()


@attrs.frozen
class PlannedMatch:
    """A match to be played.

    Attributes:
        number: index of the match, from 0.
        hosts: one for each seat.
        seed: the root seed of the match.
        journal: the file to record it in, or `None`.
        results: the file for its statistics, or `None`.
    """

    number: int
    hosts: tuple[AgentHost, ...]
    seed: int
    journal: Path | None
    results: Path | None = None


@attrs.frozen
class RunPlan:
    """Validated plan of a run.

    Attributes:
        tasks: the ids of the tasks, or the setup that creates them.
        scheduler: the text of the task scheduler; `None` for the default or if the setup defines it.
        control: the time control of every seat.
        steps: limit of turns for each match.
        tick_ns: real-time pace in nanoseconds; `None` for lock-step.
        virtual: whether the virtual clock is used.
        hosts: the host of each agent, by the text that names the agent.
        matches: in the order in which they are played.
        isolation: isolation of agents in processes.
        endless: only a signal ends the run.
    """

    tasks: tuple[str, ...] | TaskSetup
    scheduler: str | None
    control: TimeControl
    steps: int | None
    tick_ns: int | None
    virtual: bool
    hosts: Mapping[str, AgentHost]
    matches: tuple[PlannedMatch, ...]
    isolation: Isolation = DEFAULT_ISOLATION
    endless: bool = False

    @property
    def in_processes(self) -> list[str]:
        """Texts of the user's own Python agents that run in processes."""
        return [
            spec
            for spec, host in self.hosts.items()
            if host.kind == "process" and AgentSpec.parse(spec).scheme == "python"
        ]

    @property
    def has_human(self) -> bool:
        """True if a human plays at the terminal."""
        return any(_is_human(spec) for spec in self.hosts)


def make_plan(
    tasks: Sequence[str],
    agents: Sequence[str],
    *,
    config: str | None = None,
    options: TaskOptions = NO_OPTIONS,
    scheduler: str | None = None,
    steps: int | None = None,
    seed: int = 0,
    time_control: str | None = None,
    clock: Literal["wall", "virtual"] = "wall",
    host: LocalHostKind | None = None,
    isolation: Isolation = DEFAULT_ISOLATION,
    journal: Path | None = None,
    results: Path | None = None,
    log: Path | None = None,
    overwrite: bool = False,
    repeats: int = 1,
    tick: str | None = None,
    timed: bool = True,
    learner_command: str | None = None,
    join_policy: JoinPolicy | None = None,
) -> RunPlan:
    """Validate the options of `flagfall run`, and return the plan. Agents of this process are imported.

    Args:
        tasks: the texts of `--task`; each may hold several ids.
        agents: the texts that name the agents.
        config: the text of `--config`.
        options: settings of byte tasks.
        scheduler: the text of `--scheduler`.
        steps: limit of turns for each match.
        seed: the root seed.
        time_control: the text of a time control; `None` for the default.
        clock: the clock of the matches.
        host: where agents run; `None` for the default of each agent.
        isolation: isolation of agents in processes.
        journal: the file to record in; numbered in a series.
        results: the file for the statistics; numbered in a series.
        log: the file of the log, which no agent in a sandbox may see.
        overwrite: journals and statistics that are there may be replaced.
        repeats: number of times that all matches are played.
        tick: the text of a duration, for real-time pace.
        timed: `False` removes all time limits.
        learner_command: the command that starts a learner of round 1.
        join_policy: conditions for agents that connect over a network.

    Raises:
        UsageError: an option or a combination of options is invalid.
    """
    ids = tuple(part for text in tasks for part in split_texts(text))
    if not agents:
        raise UsageError("--agent: name at least one agent; `flagfall agents` lists the samples")
    _at_least_one("--steps", steps)
    _at_least_one("--matches", repeats)
    if not 0 <= seed <= MAX_SEED:
        raise UsageError(f"--seed {seed}: a seed is a whole number from 0 to {MAX_SEED}")
    control = TimeControl.parse((time_control or DEFAULT_TIME_CONTROL) if timed else UNTIMED)
    tick_ns = None if tick is None else check_tick(tick)
    setup = choose_tasks(ids, scheduler, config, options, steps=steps)
    if setup is None and not ids:
        raise UsageError("--task: name at least one task, or a --config; `flagfall tasks` lists the tasks")
    players = seats_of(ids) if setup is None else 1
    endless = is_endless(ids if setup is None else setup, None if setup else scheduler, steps)
    seatings = _seatings(len(agents), players)
    count = len(seatings) * repeats
    if endless and count > 1:
        raise UsageError(
            f"the scheduler {scheduler or config!r} never ends, so only the first of {count} matches would be"
            " played: add --steps"
        )
    if setup is None:
        _refuse_invisible(agents, ids)
    hosts = _hosts(agents, host, isolation, learner_command, join_policy, virtual=clock == "virtual")
    _refuse_crowd(agents, seatings)
    seeds = [seed, *(derive_seed(seed, "repeat", number) for number in range(1, repeats))]
    matches = tuple(
        PlannedMatch(
            number=number,
            hosts=tuple(hosts[agents[number]] for number in seating),
            seed=match_seed,
            journal=None if journal is None else series_path(journal, number, count),
            results=None if results is None else series_path(results, number, count),
        )
        for number, (match_seed, seating) in enumerate(
            (match_seed, seating) for match_seed in seeds for seating in seatings
        )
    )
    for match in matches:
        if match.journal is not None:
            check_journal(match.journal, overwrite=overwrite)
        if match.results is not None:
            check_results(match.results, overwrite=overwrite)
    if results is not None and results == journal:
        raise UsageError(f"--results {results}: the journal has this name already")
    records = [file for match in matches for file in (match.journal, match.results, log) if file is not None]
    _refuse_showing_records(agents, isolation, records)
    played = ids if setup is None else setup
    policy = None if setup else scheduler
    virtual = clock == "virtual"
    return RunPlan(played, policy, control, steps, tick_ns, virtual, hosts, matches, isolation, endless)


def _at_least_one(option: str, value: int | None) -> None:
    if value is not None and value < 1:
        raise UsageError(f"{option} {value}: write a whole number, at least 1")


def check_tick(text: str) -> int:
    """Return the length of a tick in nanoseconds.

    Args:
        text: the text of `--tick`.

    Raises:
        UsageError: it is no duration above 0.
    """
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


def _refuse_showing_records(agents: Sequence[str], isolation: Isolation, records: Iterable[Path]) -> None:
    """Refuse sandboxes in which a journal, a results file or the log is visible, as those hold the seed."""
    if isolation.kind != "sandbox":
        return
    shown = [*isolation.readable, *(path for spec in agents for path in code_of(spec))]
    for file in records:
        refuse_private(shown, file)


def _refuse_crowd(agents: Sequence[str], seatings: Sequence[Sequence[int]]) -> None:
    """Refuse matches of a human with other agents, as a human needs the whole terminal."""
    for seating in seatings:
        if len(seating) > 1 and any(_is_human(agents[number]) for number in seating):
            raise UsageError("--agent: a human needs the whole terminal: leave the other agents out")


def _refuse_invisible(agents: Sequence[str], ids: Sequence[str]) -> None:
    """Refuse tasks whose observations a human who plays by keys could not see."""
    if "human-keys" not in agents:
        return
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


def _hosts(
    specs: Sequence[str],
    kind: LocalHostKind | None,
    isolation: Isolation,
    learner_command: str | None,
    join_policy: JoinPolicy | None,
    *,
    virtual: bool,
) -> dict[str, AgentHost]:
    if virtual and kind not in {None, "task"}:
        raise UsageError(
            f"--clock virtual needs agents in the event loop, but --host {kind} runs in real time:"
            " leave --host out, or use --clock wall"
        )
    if isolation != DEFAULT_ISOLATION and (virtual or kind in {"task", "thread"}):
        raise UsageError(
            "--isolation, --limits and --pass-env are for agents in processes: leave --host and --clock out"
        )
    parsed = {spec: AgentSpec.parse(spec) for spec in specs}
    schemes = {spec.scheme for spec in parsed.values()}
    if join_policy is not None and not schemes & REMOTE:
        raise UsageError(
            "--agent-token-file, --agent-cert, --agent-key and --agent-reconnect are for agents that connect:"
            " name one, such as --agent tcp://127.0.0.1:7777"
        )
    if (
        join_policy is not None
        and (join_policy.certificate or join_policy.reconnect)
        and not schemes & NETWORK
    ):
        raise UsageError(
            "--agent-cert, --agent-key and --agent-reconnect do not apply to ZeroMQ: leave them out"
        )
    names = Counter(spec.name for spec in parsed.values())
    hosts: dict[str, AgentHost] = {}
    for text, spec in parsed.items():
        name = spec.name if names[spec.name] == 1 else text
        asked = "task" if virtual else kind
        hosts[text] = host_agent(text, asked, name, isolation, join_policy, learner_command)
    return hosts


def _is_human(text: str) -> bool:
    return AgentSpec.parse(text).scheme == "human"
