"""`flagfall branch`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

from cyclopts import Parameter

from flagfall.cli.console.files import NO_LOG, Flag, LogOptions, Quiet, Texts, check_journal, reading
from flagfall.errors import UsageError
from flagfall.kernel.hosting import LocalHostKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flagfall.agents.hosts.registry import Player
    from flagfall.agents.process.isolation import Isolation
    from flagfall.cli.runs.plan import RunPlan
    from flagfall.playing import MatchRequest
    from flagfall.recording.branching import BranchPoint

RECORDED: Final = "recorded"
"""In place of an agent: what is recorded of the seat is played on."""


def branch(
    file: Path,
    /,
    *,
    at: int,
    journal: Annotated[Path, Parameter(name=["--journal", "-o"])],
    agent: Annotated[Texts, Parameter(name=["--agent", "-a"])] = None,
    answers: str | None = None,
    replay_agents: Flag = False,
    time_control: str | None = None,
    clock: Literal["wall", "virtual"] | None = None,
    seed: Annotated[int | None, Parameter(name=["--seed", "-s"])] = None,
    steps: int | None = None,
    host: LocalHostKind | None = None,
    isolation: Literal["none", "process", "sandbox"] | None = None,
    limits: str | None = None,
    pass_env: Texts = None,
    config: str | None = None,
    trust: Flag = False,
    overwrite: Flag = False,
    wide: Flag = False,
    json: Flag = False,
    quiet: Quiet = False,
    logs: LogOptions = NO_LOG,
) -> int:
    """Play on from a turn of a recorded match, with other agents, clocks or seeds.

    The match is executed again up to the turn, exactly, and played on from there. The new journal holds the
    recorded turns, too, and names its parent; `verify`, `replay` and `results` take it as any other. What is
    not named stays as it was. A seat that was disqualified before stays out.

    Args:
        file: A journal; it may lack its end.
        at: The number of the first turn that is played anew, at least 1.
        journal: Record the match in this file; a name that ends in `.zst` compresses it.
        agent: An agent for each seat, in their order, as for `run`; `recorded` plays on what is recorded of
            the seat. Further seats have their agents of before, if these are samples without options,
            and not `llm`.
        answers: A journal whose recorded answers `llm` gives again, without a model, as for `run`; `recorded`
            for those of this match.
        replay_agents: Let the agents play the recorded turns, too, outside of their time, and compare their
            answers with the record; by default only a sample that has played the seat does, and with `--seed`
            none. Other agents begin at the turn, with the turns of their seat as a transcript in their
            briefing.
        time_control: The time control from the turn on; the recorded times are charged to it.
        clock: The clock from the turn on.
        seed: Root seed of tasks that begin after the turn, and of the agents. The order of tasks, and the
            task that runs, keep the one of before.
        steps: Number of turns after which the match ends, those before the turn included.
        host: Where agents run, as for `run`.
        isolation: Isolation of agents in processes, as for `run`.
        limits: Limits of an agent in a process, as for `run`.
        pass_env: Environment variables passed to agents in processes, as for `run`.
        config: The Python configuration of the match, if it had one, as for `verify`.
        trust: Import the modules that the journal names; by default `branch` asks at a terminal, and refuses
            elsewhere.
        overwrite: Replace a file of `--journal` that exists.
        wide: Print whole tables, however long their lines are.
        json: Print one JSON object instead of tables; times in nanoseconds.
        quiet: Print only errors (and the object of `--json`).
    """
    import attrs

    from flagfall.agents.process.isolation import Isolation
    from flagfall.cli.runs.plan import option_of
    from flagfall.cli.runs.session import RunSession
    from flagfall.playing import branch_request

    if journal.exists() and file.exists() and journal.samefile(file):
        raise UsageError(f"--journal {journal}: this is the journal of the match; name another file")
    check_journal(journal, overwrite=overwrite)
    with reading(file):
        point = _find(file, at, config, trust=trust)
        point, players = seat_players(
            point,
            _with_answers(agent or [], answers, file),
            host,
            Isolation.from_options(isolation, limits, pass_env),
        )
        if replay_agents:
            seats = {seat for seat, player in enumerate(players) if isinstance(player.agent, str)}
            point = attrs.evolve(point, rehearsed=frozenset(seats))
        elif seed not in {None, point.header.seed}:  # agents with another seed may give other answers
            point = attrs.evolve(point, rehearsed=frozenset())
        request = branch_request(
            point, players, time_control=time_control, clock=clock, seed=seed, steps=steps
        )
        request = attrs.evolve(request, journal=journal)
        request.check(option_of)
    plan = _plan(request)
    with logs.opened("branch", journal) as opened:
        progress = not quiet and not logs.uses_stderr
        session = RunSession(plan, logs=opened, progress=progress, quiet=quiet)
        return session.run(json=json, wide=wide)


def _with_answers(texts: Sequence[str], answers: str | None, file: Path) -> list[str]:
    from flagfall.agents.registry import with_answers

    return with_answers(texts, None if answers is None else file if answers == RECORDED else Path(answers))


def _find(file: Path, at: int, config: str | None, *, trust: bool) -> BranchPoint:
    import attrs

    from flagfall.cli.runs.plan import decide_trust, from_config, rebuild_asking
    from flagfall.recording.branching import BranchPoint

    if config is not None:
        return BranchPoint.find(file, at, partial(from_config, config))
    point = BranchPoint.find(file, at, partial(rebuild_asking, file, trust=trust))
    trusted = trust or decide_trust(file, point.header)
    return attrs.evolve(point, rebuild=partial(rebuild_asking, file, trust=trusted))


def seat_players(
    point: BranchPoint, texts: Sequence[str], host: LocalHostKind | None, isolation: Isolation
) -> tuple[BranchPoint, list[Player]]:
    """Return the agents of all seats, and the turn with the seats whose agents play the recorded turns, too.

    Raises:
        UsageError: a seat has no agent, or there are more agents than seats.
    """
    import attrs

    from flagfall.agents.hosts.registry import Player
    from flagfall.recording.recorded_host import RecordedHost

    names = point.header.agents
    if len(texts) > len(names):
        raise UsageError(f"--agent: {len(texts)} agents are given; {point.journal} has {len(names)} seats")
    players: list[Player] = []
    rehearsed: set[int] = set()
    for seat, name in enumerate(names):
        if seat < len(texts) and texts[seat] == RECORDED:
            players.append(Player(RecordedHost(point, seat)))
            continue
        if seat >= len(texts) and not _is_sample(name):
            raise UsageError(
                f"{point.journal}: seat {seat} was played by {name!r}, and only samples without options that"
                " cost nothing are taken from a file: add --agent for it;"
                f" {RECORDED!r} plays on what is recorded"
            )
        player = Player(texts[seat] if seat < len(texts) else name, host, None, isolation)
        players.append(player)
        if player.agent == name and _repeats(player):
            rehearsed.add(seat)
    return attrs.evolve(point, rehearsed=frozenset(rehearsed)), players


def _is_sample(name: str) -> bool:
    """Return whether a name is that of a sample that costs nothing.

    Options may name files, and addresses that get a key.
    """
    from flagfall.agents.registry import SAMPLES, load_agent
    from flagfall.agents.spec import AgentSpec

    return name in SAMPLES and not getattr(load_agent(AgentSpec.parse(name)), "resumes", False)


def _repeats(player: Player) -> bool:
    """Return whether an agent is a sample that gives its answers again.

    They follow from its seed and what it is shown, or it takes them from its notes.
    """
    from flagfall.agents.registry import load_agent

    spec = player.spec
    if spec is None or spec.scheme != "sample":
        return False
    found = load_agent(spec)
    return getattr(found, "repeats", True) is True or getattr(found, "resumes", False) is True


def _plan(request: MatchRequest) -> RunPlan:
    """Return the plan of the match, whose agents exist."""
    from flagfall.cli.runs.plan import PlannedMatch, RunPlan
    from flagfall.cli.runs.task_options import check_players

    specs = tuple(
        spec for player in request.agents if isinstance(player.agent, str) and (spec := player.spec)
    )
    seated = request.seated()
    hosts = tuple(player.agent for player in seated.agents)
    pairs = zip(request.agents, hosts, strict=True)
    check_players(
        player for player, host in pairs if isinstance(player.agent, str) and host.kind in {"process", "wasm"}
    )
    return RunPlan(request, specs, hosts, (PlannedMatch(0, seated),))
