"""One match of a tournament, played in an event loop of its own: what every engine does in its workers."""

from __future__ import annotations

__all__ = ["JOURNALS", "RUNNING", "Attempt", "play_attempt"]

import os
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

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
from flagfall.tournament.plan.model import AgentEntry, Plan, TaskEntry
from flagfall.tournament.records import MatchRecord, MatchSpec
from flagfall.tournament.run.match_observer import MatchWatch, void_record

JOURNALS: Final = "journals"
"""The folder of complete journals, in that of the tournament; each appears there in one piece."""

RUNNING: Final = "running"
"""The folder of those that are being written. What lies there when a run begins is of no use."""


@attrs.frozen
class Attempt:
    """A match, to be played for the first or another time.

    Attributes:
        spec: what is to be played.
        number: from 1.
        counts: it counts though a stall of the host touches it: there were enough attempts. The record says
            so in `why`.
    """

    spec: MatchSpec
    number: int = 1
    counts: bool = False


def play_attempt(plan: Plan, attempt: Attempt, folder: Path) -> MatchRecord:
    """Play one match; blocks until it is over.

    Args:
        plan: of the tournament.
        attempt: what to play.
        folder: gets the journal; has the folders `RUNNING` and `JOURNALS`.

    Returns:
        What became of it; void where a fault or a stall of the host touched it.

    Raises:
        UsageError: it cannot be played as the plan has it.
    """
    spec = attempt.spec
    entry = plan.task(spec.task)
    watch = MatchWatch(len(spec.entrants), entry.control)
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
        sinks=[watch],
    )
    try:
        result: MatchResult = trio.run(main, clock=VirtualClock() if virtual else None)
        record = watch.record(spec, attempt.number, result, measure=entry.score, last=entry.last)
        if watch.touched:
            record = attrs.evolve(
                record, status="played" if attempt.counts else "void", why=f"stall: {watch.touched}"
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


def _host(agent: AgentEntry, *, virtual: bool) -> AgentHost:
    kind = agent.host or ("task" if virtual else "process")
    return host_agent(agent.spec, kind, agent.name, agent.isolation)


@attrs.frozen
class _BuiltSetup:
    """Setup of tasks that were built already: who plays them has to know them."""

    tasks: SchedulerRole
    setup: TaskSetup

    def build(self) -> SchedulerRole:
        return self.tasks

    def header(self) -> dict[str, Any]:
        return self.setup.header()


async def _play_track_client(entry: TaskEntry, agent: AgentEntry, **options: Any) -> MatchResult:
    """Play a track with a client of GVGAI's learning track; a track has one seat."""
    from flagfall.gvgai.clients.host import ready  # noqa: PLC0415 - few plans have such clients
    from flagfall.gvgai.play_track import control_for, host_track_client  # noqa: PLC0415
    from flagfall.tasks.vgdl.learning_track_tasks import TrackSetup  # noqa: PLC0415

    assert isinstance(entry.tasks, TrackSetup)  # the plan was checked
    track = entry.tasks.build()
    host = host_track_client(agent.spec, track, agent.name, agent.isolation)
    control = control_for(host, entry.control)
    async with ready(host):
        return await play(_BuiltSetup(track, entry.tasks), [host], time_control=control, **options)


def _suffix() -> str:
    return ".jsonl.zst" if find_spec("zstandard") is not None else ".jsonl"


def _keep(file: Path, folder: Path, record: MatchRecord, *, lasting: bool) -> str:
    """Put a complete journal in its place; gives its path in the folder.

    Args:
        file: where it is now.
        folder: of the tournament.
        record: what became of the match.
        lasting: see to it that it outlives a power cut; not needed where the match can be played again.
    """
    void = "" if record.status == "played" else f".void{record.attempt}"
    place = f"{JOURNALS}/{record.id}{void}{_suffix()}"
    if lasting:
        with file.open("rb") as written:
            os.fsync(written.fileno())
    file.replace(folder / place)
    return place
