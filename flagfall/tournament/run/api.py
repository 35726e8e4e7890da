"""`run_tournament`: plays a plan in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from time import perf_counter_ns
from typing import Final, Literal, TypeAlias

import attrs
import trio

from flagfall.agents.process.enforcement import advisory_line
from flagfall.agents.process.isolation import code_of, refuse_private
from flagfall.errors import FlagfallError, HostFault, UsageError
from flagfall.recording.match_logs import NO_LOGS, LogSettings
from flagfall.timing.durations import format_duration
from flagfall.tournament.code_folder import carry_code
from flagfall.tournament.folder import LOCK_FILE, Lock
from flagfall.tournament.formats.schedule import Part
from flagfall.tournament.lock_file import write_lock_file
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.plan.growth import Growth
from flagfall.tournament.records import MatchRecord
from flagfall.tournament.run.control import serve_control
from flagfall.tournament.run.engine import Engine
from flagfall.tournament.run.local_engine import LocalEngine
from flagfall.tournament.run.probe import measure_capacity
from flagfall.tournament.run.runner import Engines, Run
from flagfall.tournament.store import Store, holds_tournament

Jobs: TypeAlias = int | Literal["auto"] | None
"""Number of matches at the same time; `None` for the default, `auto` for what this machine carries."""

TIGHT: Final = 5
"""A limit below this multiple of the 99th percentile of the latency is too tight: one turn in a hundred
would lose a fifth of its time to the machine."""

SLEEPS: Final = 200
SLEEP_SECONDS: Final = 0.001


@attrs.frozen
class TimerLatency:
    """Distribution of the time between a timer's deadline and the program's running."""

    p50_ns: int
    p99_ns: int

    def __str__(self) -> str:
        p50, p99 = (format_duration(round(ns, -3)) for ns in (self.p50_ns, self.p99_ns))
        return f"p50 {p50}, p99 {p99}"


async def measure_latency() -> TimerLatency:
    """Measure the latency by `SLEEPS` short sleeps in the running loop; takes half a second."""
    late_ns = []
    for _ in range(SLEEPS):
        began_ns = perf_counter_ns()
        await trio.sleep(SLEEP_SECONDS)
        late_ns.append(max(0, perf_counter_ns() - began_ns - int(SLEEP_SECONDS * 1e9)))
    late_ns.sort()
    return TimerLatency(late_ns[SLEEPS // 2], late_ns[SLEEPS * 99 // 100])


def warn_tight_limits(plan: TournamentPlan, latency: TimerLatency) -> Iterator[str]:
    """Yield a warning for each limit that is too tight for this machine."""
    for task in plan.tasks:
        for name, limit_ns in task.control.turn_durations().items():
            if 0 < limit_ns < TIGHT * latency.p99_ns:
                yield (
                    f"task {task.name}: {name}={format_duration(limit_ns)} is less than {TIGHT} times"
                    f" this machine's timer latency ({latency}): late turns there may be caused"
                    " by this machine, not by the agent"
                )


def _ignore(_what: object) -> None:
    """Do nothing: the default of callbacks."""


async def run_tournament(
    plan: TournamentPlan,
    out: Path | None = None,
    *,
    jobs: Jobs = None,
    engine: Engines = "local",
    resume: bool = False,
    set_aside: bool = False,
    part: str | None = None,
    stop: trio.Event | None = None,
    on_begin: Callable[[Run], None] = _ignore,
    on_record: Callable[[MatchRecord], None] = _ignore,
    warn: Callable[[str], None] = _ignore,
    logs: LogSettings = NO_LOGS,
) -> dict[str, MatchRecord]:
    """Play a tournament.

    Args:
        out: its folder; by default the plan's. A missing folder is made.
        jobs: number of matches at the same time; by default the plan's, or as many as there are processors
            for. `auto`: as many as a probe of ten seconds finds that this machine carries, as `flagfall
            capacity` does; `warn` is told what it chose. Only with the engine `local`.
        engine: `local`, or `ray`: on the cluster that `ray.init` finds.
        resume: continue the tournament in the folder, if there is one. If the plan has changed, recorded
            matches that the changed plan has count for it, and the others are played.
        set_aside: continue also if recorded matches have no place in the schedule of the changed plan; the
            tournament with them is kept in a folder within its own.
        part: play this part only, such as `1/3`; the folders of all parts can be merged. Only for a plan
            whose schedule does not depend on results.
        stop: setting it begins no further matches, and ends the run when those being played are over.
        on_begin: called with the run when it begins, to observe and control it.
        on_record: called with each record when it is stored, including void attempts.
        warn: called with each warning, a line of text.
        logs: logs, sinks and telemetry of the matches; not with the engine `ray`.

    Returns:
        The records of matches that count, by id.

    Raises:
        UsageError: it cannot be played with these arguments; or the folder holds a tournament and `resume` is
            false, or matches that a changed plan does not have and `set_aside` is false, or it is in use by
            another runner.
        HostFault: see `Run.play`.

    If it is cancelled, matches that are being played are lost; `resume` plays them again.
    """
    folder = plan.output.folder if out is None else out
    refuse_showing(plan, folder)
    if engine == "ray" and logs != NO_LOGS:
        raise UsageError(
            "logs, sinks and telemetry need the engine local: workers of Ray may run on other machines, and"
            " return the journals of their matches alone"
        )
    if engine == "ray" and jobs == "auto":
        raise UsageError(
            "jobs auto measures this machine, and Ray plays on others too: write a number of jobs"
        )
    chosen_part = None if part is None else Part.parse(part, plan)
    with open_tournament(plan, folder, resume=resume, set_aside=set_aside, warn=warn) as store:
        plan = store.as_begun(plan)
        players = _engine(engine, plan, folder, logs)
        try:
            chosen = (jobs if isinstance(jobs, int) else plan.jobs) or players.default_jobs
            run = Run(plan, store, players, chosen, on_record, part=chosen_part)
            if jobs == "auto" and not run.over():
                run.jobs, line = await _measured_jobs(plan, stop, players.default_jobs)
                warn(line)
            if plan.clock == "wall":
                most = None if jobs == "auto" else players.default_jobs
                for line in _warnings(plan, await measure_latency(), run.jobs, most):
                    warn(line)
            on_begin(run)
            await _play(run, folder, stop, warn)
        finally:
            with trio.CancelScope(shield=True):
                await players.aclose()
        return run.records


def refuse_showing(plan: TournamentPlan, *private: Path) -> None:
    """Refuse sandboxed agents that could read records, the plan or an opening of their own tournament.

    Args:
        private: its folder, and the plan file if there is one.

    Raises:
        UsageError: an agent could read one of them.
    """
    openings = [plan.folder / opening.file for task in plan.tasks for opening in task.openings]
    for agent in plan.agents:
        if agent.isolation.kind == "sandbox":
            for path in (*private, *openings):
                refuse_private([*agent.isolation.readable, *code_of(agent.spec)], path)


@contextmanager
def open_tournament(
    plan: TournamentPlan,
    folder: Path,
    *,
    resume: bool,
    set_aside: bool = False,
    warn: Callable[[str], None] = _ignore,
) -> Iterator[Store]:
    """Open the store of a tournament, locked while the context lasts; a missing one is made.

    At the end the lock file of the folder is written; see `flagfall.tournament.lock_file`.

    Args:
        warn: called with a line for each change of the plan, and each file of its code that is not carried.

    Raises:
        UsageError: as for `run_tournament`.
    """
    if holds_tournament(folder):  # a tournament that is refused stays as it is
        with closing(Store(folder)) as store:
            _growth(store, plan, resume=resume, set_aside=set_aside)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = Lock(folder)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror or error}") from error
    durable = plan.clock == "wall"
    with closing(lock), _lock_file_written(folder), closing(Store(folder, "make", durable=durable)) as store:
        growth = _growth(store, plan, resume=resume, set_aside=set_aside)
        if growth is None:
            store.begin(plan)
        store.prepare()
        if growth is not None and growth.changes:
            for line in growth.lines():
                warn(f"the plan has changed: {line}")
            if former := store.grow(growth):
                warn(f"the tournament as it was is kept in {folder / former}")
        for line in carry_code(plan, folder):
            warn(line)
        try:
            yield store
        finally:
            store.clean_up()


def _growth(store: Store, plan: TournamentPlan, *, resume: bool, set_aside: bool) -> Growth | None:
    """Return how a tournament goes on, or `None` if it has not begun; raise an error if it must not."""
    if resume or store.plan() is None:
        growth = store.growth(plan)
        if growth is not None and growth.without_place and not set_aside:
            raise UsageError(
                f"the plan has changed since the tournament in {store.folder} began:\n"
                + "\n".join(f"  {line}" for line in growth.lines())
                + "\nRestore it, start another tournament with another --output, or go on without these"
                " matches by --set-aside of `flagfall tournament`, which keeps the tournament as it was"
            )
        return growth
    raise UsageError(
        f"{store.folder} already holds a tournament: add --resume to continue it, or choose another --output"
    )


@contextmanager
def _lock_file_written(folder: Path) -> Iterator[None]:
    """Write the lock file at the end, however that comes, unless the tournament was refused."""
    try:
        yield
    except BaseException:
        if not (folder / LOCK_FILE).exists():
            with suppress(FlagfallError):
                write_lock_file(folder)
        raise
    write_lock_file(folder)


async def _measured_jobs(plan: TournamentPlan, stop: trio.Event | None, default: int) -> tuple[int, str]:
    """Return how many matches this machine carries at once, at least 1, and a line that says so.

    Args:
        stop: setting it ends the measurement.
        default: returned where nothing can be measured.
    """
    try:
        capacity = await measure_capacity(plan, stop=stop)
    except HostFault as fault:
        return default, f"jobs auto: {default} at once, for nothing could be measured: {fault}"
    if capacity is None:
        return default, "jobs auto: stopped"
    jobs = max(1, capacity.jobs)
    told = "; ".join((f"jobs auto: {jobs} at once", f"this machine carries {capacity}", *capacity.remarks))
    return jobs, told


def _warnings(plan: TournamentPlan, latency: TimerLatency, jobs: int, most: int | None) -> Iterator[str]:
    """Yield what to know before a run.

    Args:
        most: the number of matches for which there are processors; `None` if `jobs` was measured.
    """
    yield from warn_tight_limits(plan, latency)
    yield from dict.fromkeys(filter(None, (advisory_line(agent.isolation) for agent in plan.agents)))
    if most is not None and jobs > most:
        yield (
            f"{jobs} matches at the same time are more than there are processors for:"
            f" with {most}, every agent has a processor of its own"
        )


def _engine(name: Engines, plan: TournamentPlan, folder: Path, logs: LogSettings) -> Engine:
    if name == "ray":
        from flagfall.tournament.run.ray_engine import RayEngine  # noqa: PLC0415 - an extra

        return RayEngine(plan, folder)
    return LocalEngine(plan, folder, logs)


async def _play(run: Run, folder: Path, stop: trio.Event | None, warn: Callable[[str], None]) -> None:
    fault: FlagfallError | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_control, run, folder, warn)
        if stop is not None:
            nursery.start_soon(run.stop_when, stop)
        try:
            await run.play()
        except FlagfallError as error:  # the nursery would wrap it in a group
            fault = error
        nursery.cancel_scope.cancel()
    if fault is not None:
        raise fault
