"""Playing one match of a tournament in an event loop of its own, as every engine's workers do."""

from __future__ import annotations

__all__ = ["play_attempt"]

import os
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import attrs
import trio

from flagfall.agents.hosts.registry import host_agent
from flagfall.agents.spec import TRACK_CLIENTS, AgentSpec
from flagfall.errors import HostFault
from flagfall.kernel.hosting import AgentHost
from flagfall.kernel.outcomes import MatchResult
from flagfall.kernel.roles import SchedulerRole
from flagfall.playing import play
from flagfall.tasks.building import TaskSetup
from flagfall.timing import VirtualClock
from flagfall.tournament.folder import JOURNALS, RUNNING
from flagfall.tournament.model import PlannedAgent, PlannedTask, TournamentPlan
from flagfall.tournament.records import MatchRecord
from flagfall.tournament.run.engine import Attempt, void_record
from flagfall.tournament.run.match_observer import MatchObserver


def play_attempt(plan: TournamentPlan, attempt: Attempt, folder: Path) -> MatchRecord:
    """Play one match; block until it is over.

    Args:
        plan: the plan of the tournament.
        attempt: the attempt to play.
        folder: the folder of the tournament, with the folders `RUNNING` and `JOURNALS`.

    Returns:
        The record; void if a fault or a stall of the host affected the match.

    Raises:
        UsageError: the match cannot be played as planned.
    """
    spec = attempt.spec
    entry = plan.task(spec.task)
    observer = MatchObserver(len(spec.entrants), entry.control)
    virtual = plan.clock == "virtual"
    file = folder / RUNNING / f"{spec.id}-{attempt.number}{_suffix()}" if plan.output.journals else None
    agents = [plan.agent(name) for name in spec.entrants]
    if any(AgentSpec.parse(agent.spec).scheme in TRACK_CLIENTS for agent in agents):
        played = partial(_play_track_client, entry, agents[0])
    else:
        hosts = [_host(agent, virtual=virtual) for agent in agents]
        played = partial(play, entry.tasks, hosts, time_control=entry.control)
    main = partial(
        played,
        scheduler=entry.scheduler,
        seed=spec.seed,
        steps=entry.steps,
        tick_ns=entry.tick_ns,
        journal=file,
        sinks=[observer],
    )
    try:
        result: MatchResult = trio.run(main, clock=VirtualClock() if virtual else None)
        record = observer.record(spec, attempt.number, result, measure=entry.score, last=entry.last)
        if observer.stalled:
            record = attrs.evolve(
                record, status="played" if attempt.counts else "void", why=f"stall: {observer.stalled}"
            )
        if file is None:
            return record
        return attrs.evolve(record, journal=_keep(file, folder, record, lasting=not virtual))
    except HostFault as fault:
        return void_record(spec, attempt.number, f"fault: {fault}")
    except OSError as error:
        return void_record(spec, attempt.number, f"fault: the journal cannot be kept: {error}")
    finally:
        if file is not None:
            file.unlink(missing_ok=True)


def _host(agent: PlannedAgent, *, virtual: bool) -> AgentHost:
    kind = agent.host or ("task" if virtual else "process")
    return host_agent(agent.spec, kind, agent.name, agent.isolation)


@attrs.frozen
class _BuiltSetup:
    """Setup of tasks that are already built: the host of their agent needs them before the match begins."""

    tasks: SchedulerRole
    setup: TaskSetup

    def build(self) -> SchedulerRole:
        return self.tasks

    def header(self) -> dict[str, Any]:
        return self.setup.header()


async def _play_track_client(entry: PlannedTask, agent: PlannedAgent, **options: Any) -> MatchResult:
    """Play a track, which has one seat, with a client of GVGAI's learning track."""
    from flagfall.gvgai.clients.host import ready  # noqa: PLC0415 - few plans have such clients
    from flagfall.gvgai.play_track import control_for, host_track_client  # noqa: PLC0415
    from flagfall.tasks.vgdl.learning_track_tasks import TrackSetup  # noqa: PLC0415

    assert isinstance(entry.tasks, TrackSetup)  # checked by the parser of the plan
    track = entry.tasks.build()
    host = host_track_client(agent.spec, track, agent.name, agent.isolation)
    control = control_for(host, entry.control)
    async with ready(host):
        return await play(_BuiltSetup(track, entry.tasks), [host], time_control=control, **options)


def _suffix() -> str:
    return ".jsonl.zst" if find_spec("zstandard") is not None else ".jsonl"


def _keep(file: Path, folder: Path, record: MatchRecord, *, lasting: bool) -> str:
    """Move a complete journal to its final place, and return its path relative to the tournament's folder.

    Args:
        file: the journal as it was written.
        folder: the folder of the tournament.
        record: the record of the match.
        lasting: flush it to disk, so that it survives a power failure; not needed if the match can be
            replayed with the same result.
    """
    void = "" if record.status == "played" else f".void{record.attempt}"
    place = f"{JOURNALS}/{record.id}{void}{_suffix()}"
    if lasting:
        with file.open("rb") as written:
            os.fsync(written.fileno())
    file.replace(folder / place)
    return place
