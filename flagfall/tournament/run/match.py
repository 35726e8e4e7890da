"""Playing matches of a tournament in event loops of their own, as every engine's workers do.

Under the wall clock each match has a new event loop. Under the virtual clock matches that follow each other
share one, as long as each leaves it as it found it: making a loop costs as much as a short match.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import trio
from trio.lowlevel import current_statistics

from flagfall.agents.hosts.registry import Player
from flagfall.agents.spec import ANSWERS, AgentSpec
from flagfall.errors import HostFault, UsageError
from flagfall.kernel.dispatcher import Sink
from flagfall.kernel.outcomes import MatchResult
from flagfall.playing import MatchRequest, play_request
from flagfall.tasks.vgdl.learning_track_setup import TrackSetup
from flagfall.timing import VirtualClock
from flagfall.tournament.folder import JOURNALS, RUNNING
from flagfall.tournament.model import PlannedAgent, PlannedTask, TournamentPlan
from flagfall.tournament.openings import carried_opening
from flagfall.tournament.records import MatchRecord, MatchSpec
from flagfall.tournament.run.engine import Answer, Attempt, void_record
from flagfall.tournament.run.match_observer import MatchObserver

Play: TypeAlias = Callable[[MatchRequest, trio.Event | None], Awaitable[MatchResult]]
"""Plays a match until its end, or until an event is set."""


def play_attempts(
    plan: TournamentPlan,
    attempts: Iterable[Attempt],
    folder: Path,
    report: Callable[[Answer, float], None],
    sinks: Callable[[str, int], Sequence[Sink]] = lambda _match, _attempt: (),
) -> None:
    """Play matches one after another; block until they are over.

    Args:
        attempts: the next one is taken when the one before has been reported.
        folder: the folder of the tournament, with the folders `RUNNING` and `JOURNALS`.
        report: takes the answer to each attempt, and the seconds that it took.
        sinks: returns the sinks of a match, given its id and the number of the attempt.
    """
    left, virtual = iter(attempts), plan.clock == "virtual"

    async def play_some() -> bool:
        """Play as long as the event loop can be used for another match; return whether one may be left."""
        tasks = current_statistics().tasks_living
        for attempt in left:
            began = time.perf_counter()
            try:
                answer: Answer = await play_here(
                    plan, attempt, folder, sinks(attempt.spec.id, attempt.number)
                )
            except UsageError as error:
                answer = error
            report(answer, time.perf_counter() - began)
            if not virtual or not _is_unused(tasks):
                return True
        return False

    while trio.run(play_some, clock=VirtualClock() if virtual else None):
        pass


async def play_here(
    plan: TournamentPlan,
    attempt: Attempt,
    folder: Path,
    sinks: Sequence[Sink] = (),
    stop: trio.Event | None = None,
    play: Play | None = None,
) -> MatchRecord:
    """Play one match in the running event loop, which has the clock of the plan.

    Args:
        stop: set it to end the match before its next turn; it is void then.
        play: plays the request of the match, as `flagfall.playing.play_request` does; by default the function
            for its kind of task.

    Raises:
        UsageError: the match cannot be played as planned.
    """
    spec, entry = attempt.spec, plan.task(attempt.spec.task)
    observer = MatchObserver(len(spec.entrants), entry.control, spec.opening.turn if spec.opening else 0)
    file = folder / RUNNING / f"{spec.id}-{attempt.number}{_suffix()}" if plan.output.journals else None
    try:
        request = request_of(plan, spec, folder, journal=file, sinks=(observer, *sinks))
        result = await (play or _player_of(entry))(request, stop)
        if result.reason == "stopped":
            return void_record(spec, attempt.number, "stopped")
        record = observer.record(spec, attempt.number, result, measure=entry.score, last=entry.last)
        if observer.stalled and plan.clock == "wall":  # else a model drew them, and would do so again
            record = attrs.evolve(
                record, status="played" if attempt.counts else "void", why=f"stall: {observer.stalled}"
            )
        if file is None:
            return record
        return attrs.evolve(record, journal=_keep(file, folder, record, lasting=plan.clock == "wall"))
    except HostFault as fault:
        return void_record(spec, attempt.number, f"fault: {fault}")
    except OSError as error:
        return void_record(spec, attempt.number, f"fault: the journal cannot be kept: {error}")
    finally:
        if file is not None:
            file.unlink(missing_ok=True)


def _is_unused(tasks: int) -> bool:
    """Set the virtual clock of the running loop back, and return whether the loop is as a new one.

    A match may have left something in the loop: a task, a deadline, a call from a thread.

    Args:
        tasks: number of tasks in a loop without a match.
    """
    clock = trio.lowlevel.current_clock()
    assert isinstance(clock, VirtualClock)
    found = current_statistics()
    return (
        found.tasks_living == tasks
        and found.run_sync_soon_queue_size == 0
        and found.seconds_to_next_deadline == float("inf")
        and clock.restart()
    )


def request_of(plan: TournamentPlan, spec: MatchSpec, folder: Path, **options: Any) -> MatchRequest:
    """Return the request for a match of a plan; options are further fields of it.

    Args:
        folder: that of the results, which carries the journals of openings.
    """
    entry = plan.task(spec.task)
    players = [
        Player(
            _agent_text(agent, spec.id),
            agent.host,
            agent.name,
            agent.isolation,
            think=agent.think,
            apart=True,
        )
        for agent in map(plan.agent, spec.entrants)
    ]
    return MatchRequest(
        tasks=entry.tasks,
        agents=tuple(players),
        scheduler=entry.scheduler,
        time_control=entry.control,
        clock=plan.clock,
        seed=spec.seed,
        steps=entry.steps,
        tick_ns=entry.tick_ns,
        goes_on_from=None if spec.opening is None else carried_opening(folder, entry, spec.opening),
        **options,
    )


def _agent_text(agent: PlannedAgent, match: str) -> str:
    """Return the text of an agent for one match: recorded answers are those of the same match."""

    def place(option: str, name: str) -> str:
        if option != ANSWERS or not Path(name).is_dir():
            return name
        found = sorted(Path(name, JOURNALS).glob(f"{match}.jsonl*"))
        return str(found[0] if found else Path(name, JOURNALS, f"{match}.jsonl"))

    return AgentSpec.parse(agent.spec).with_files(place).text


def _player_of(entry: PlannedTask) -> Play:
    """Return the function that plays requests of a task."""
    if not isinstance(entry.tasks, TrackSetup):
        return play_request
    from flagfall.gvgai.play_track import play_track_request  # noqa: PLC0415 - few plans have tracks

    return play_track_request


@cache
def _suffix() -> str:
    return ".jsonl.zst" if find_spec("zstandard") is not None else ".jsonl"


def _keep(file: Path, folder: Path, record: MatchRecord, *, lasting: bool) -> str:
    """Move a complete journal to its final place, and return its path relative to the tournament's folder.

    Args:
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
