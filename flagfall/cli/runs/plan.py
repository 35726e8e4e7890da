"""What `flagfall run` is going to play, with everything checked that can be checked before.

Tasks for one player make a *series*: a match for each agent, and all of that again for each repeat. Tasks
for several players take the agents as their seats. All agents of a repeat face the same seed: the first
repeat has the seed that was given, so each match of a series can be played alone, and repeat `r` has
`derive_seed(seed, "repeat", r)`.
"""

from __future__ import annotations

__all__ = ["PlannedMatch", "RunPlan", "make_plan"]

from collections import Counter
from typing import TYPE_CHECKING, Final, Literal

import attrs

from flagfall.agents.process.isolation import USUAL_ISOLATION, Isolation
from flagfall.agents.process.visible import code_of, refuse_private
from flagfall.agents.registry import agent_name, is_human, is_sample
from flagfall.agents.spec import is_foreign, is_network
from flagfall.agents.zmq.messages import is_remote
from flagfall.cli.runs.results_file import check_results
from flagfall.cli.runs.task_options import TaskOptions, choose_tasks
from flagfall.errors import UsageError
from flagfall.kernel.seeding import MAX_SEED, derive_seed
from flagfall.playing import (
    DEFAULT_TIME_CONTROL,
    HostKind,
    TaskSetup,
    host_agent,
    is_endless,
    seats_of,
)
from flagfall.recording.journal.writer import Journal
from flagfall.recording.series_names import series_path
from flagfall.tasks.adapters.env_spec import split_texts
from flagfall.timing import TimeControl
from flagfall.timing.control import UNTIMED
from flagfall.timing.durations import parse_duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from flagfall.agents.wire.admission import Joining
    from flagfall.kernel.hosting import AgentHost

NO_OPTIONS: Final = TaskOptions()

_MATCH_START: Final = b'{"event":"match"'
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"


@attrs.frozen
class PlannedMatch:
    """One match to be played.

    Attributes:
        number: from 0.
        hosts: one for each seat.
        seed: its root seed.
        journal: the file to record it in.
        results: the file to leave its figures in.
    """

    number: int
    hosts: tuple[AgentHost, ...]
    seed: int
    journal: Path | None
    results: Path | None = None


@attrs.frozen
class RunPlan:
    """All of it.

    Attributes:
        tasks: the ids of the tasks, or what makes them.
        scheduler: the text of the task scheduler, if one was asked for and `tasks` does not say it.
        control: the time control of every seat.
        steps: turns of each match, at most.
        tick_ns: the pace; `None` for lock-step.
        virtual: whether time is virtual.
        hosts: where each agent runs, by the text that names it.
        matches: in the order in which they are played.
        isolation: how agents in processes are kept apart.
    """

    tasks: tuple[str, ...] | TaskSetup
    scheduler: str | None
    control: TimeControl
    steps: int | None
    tick_ns: int | None
    virtual: bool
    hosts: Mapping[str, AgentHost]
    matches: tuple[PlannedMatch, ...]
    isolation: Isolation = USUAL_ISOLATION

    @property
    def in_processes(self) -> list[str]:
        """The agents of the user's own that run in processes, as they were named."""
        return [
            spec
            for spec, host in self.hosts.items()
            if host.kind == "process" and not is_sample(spec) and not is_foreign(spec)
        ]

    @property
    def has_human(self) -> bool:
        """Whether somebody plays at the terminal."""
        return any(is_human(spec) for spec in self.hosts)


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
    host: HostKind | None = None,
    isolation: Isolation = USUAL_ISOLATION,
    journal: Path | None = None,
    results: Path | None = None,
    repeats: int = 1,
    tick: str | None = None,
    timed: bool = True,
    learner_command: str | None = None,
    joining: Joining | None = None,
) -> RunPlan:
    """Check what was asked for and lay it out. Agents that run in this process are imported.

    Raises:
        UsageError: something cannot be.
    """
    ids = tuple(part for text in tasks for part in split_texts(text))
    if not agents:
        raise UsageError("--agent: name at least one agent; `flagfall agents` lists the samples")
    _at_least_one("--steps", steps)
    _at_least_one("--matches", repeats)
    if not 0 <= seed <= MAX_SEED:
        raise UsageError(f"--seed {seed}: a seed is a whole number from 0 to {MAX_SEED}")
    control = TimeControl.parse((time_control or DEFAULT_TIME_CONTROL) if timed else UNTIMED)
    tick_ns = None if tick is None else _tick(tick)
    setup = choose_tasks(ids, scheduler, config, options, steps=steps)
    if setup is None and not ids:
        raise UsageError("--task: name at least one task, or a --config; `flagfall tasks` lists the tasks")
    players = seats_of(ids) if setup is None else 1
    endless = is_endless(ids if setup is None else setup, None if setup else scheduler, steps)
    seatings = _seatings(len(agents), players)
    count = len(seatings) * repeats
    if endless and count > 1:
        raise UsageError(
            f"the scheduler {scheduler or config!r} goes on until it is stopped, so only the first of"
            f" {count} matches would be played: add --steps"
        )
    hosts = _hosts(agents, host, isolation, learner_command, joining, virtual=clock == "virtual")
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
            _check_journal(match.journal)
        if match.results is not None:
            check_results(match.results)
    if results is not None and results == journal:
        raise UsageError(f"--results {results}: the journal has this name already")
    _refuse_showing_records(agents, isolation, matches)
    told = ids if setup is None else setup
    policy = None if setup else scheduler
    return RunPlan(told, policy, control, steps, tick_ns, clock == "virtual", hosts, matches, isolation)


def _at_least_one(option: str, value: int | None) -> None:
    if value is not None and value < 1:
        raise UsageError(f"{option} {value}: write a whole number, at least 1")


def _tick(text: str) -> int:
    try:
        tick_ns = parse_duration(text)
    except UsageError as error:
        raise UsageError(f"--tick {error}") from None
    if tick_ns == 0:
        raise UsageError("--tick 0: a tick takes some time; leave --tick out for lock-step pace")
    return tick_ns


def _seatings(agents: int, players: int) -> list[tuple[int, ...]]:
    """Which agents sit together: all at once, or each alone."""
    if agents == players:
        return [tuple(range(agents))]
    if players == 1:
        return [(agent,) for agent in range(agents)]
    raise UsageError(f"the tasks seat {players} agents, and {agents} are given: one --agent for each seat")


def _refuse_showing_records(
    agents: Sequence[str], isolation: Isolation, matches: Sequence[PlannedMatch]
) -> None:
    """Refuse sandboxes that show journals or results, which have the seed of a match."""
    if isolation.kind != "sandbox":
        return
    shown = [*isolation.readable, *(path for spec in agents for path in code_of(spec))]
    for match in matches:
        for file in (match.journal, match.results):
            if file is not None:
                refuse_private(shown, file)


def _refuse_crowd(agents: Sequence[str], seatings: Sequence[Sequence[int]]) -> None:
    """A human takes the whole terminal."""
    for seating in seatings:
        if len(seating) > 1 and any(is_human(agents[number]) for number in seating):
            raise UsageError("--agent: a human plays alone in a match: there is one terminal")


def _hosts(
    specs: Sequence[str],
    kind: HostKind | None,
    isolation: Isolation,
    learner_command: str | None,
    joining: Joining | None,
    *,
    virtual: bool,
) -> dict[str, AgentHost]:
    if virtual and kind not in {None, "task"}:
        raise UsageError(
            f"--clock virtual takes only agents in the event loop, and --host {kind} lives in real time:"
            " leave --host out, or take --clock wall"
        )
    if isolation != USUAL_ISOLATION and (virtual or kind in {"task", "thread"}):
        raise UsageError(
            "--isolation, --limits and --pass-env are for agents in processes: leave --host and --clock out"
        )
    if joining is not None and not any(is_network(spec) or is_remote(spec) for spec in specs):
        raise UsageError(
            "--agent-token-file, --agent-cert, --agent-key and --agent-reconnect are for agents who connect:"
            " name one, such as --agent tcp://127.0.0.1:7777"
        )
    if joining is not None and (joining.certificate or joining.reconnect) and not any(map(is_network, specs)):
        raise UsageError(
            "--agent-cert, --agent-key and --agent-reconnect are not for learners over ZeroMQ: leave them out"
        )
    distinct = list(dict.fromkeys(specs))
    names = Counter(agent_name(spec) for spec in distinct)
    made: dict[str, AgentHost] = {}
    for spec in distinct:
        short = agent_name(spec)
        name = short if names[short] == 1 else spec
        if learner_command is not None and is_remote(spec) and not virtual:
            from flagfall.agents.zmq.host import parse_remote

            token = "" if joining is None else joining.token
            made[spec] = parse_remote(spec, learner_command, name, token)
        else:
            made[spec] = host_agent(spec, "task" if virtual else kind, name, isolation, joining)
    return made


def _check_journal(path: Path) -> None:
    """Whether the journal can be written, and whether what it replaces is a journal."""
    Journal.check(path)
    if not path.is_file():
        return
    with path.open("rb") as file:
        start = file.read(len(_MATCH_START))
    if start and start != _MATCH_START and not start.startswith(_ZSTD_MAGIC):
        raise UsageError(f"journal {path}: the file exists and is no journal; it is not overwritten")
