"""`run_tournament`: a plan is played in a folder, to its end or as far as it comes."""

from __future__ import annotations

__all__ = ["open_tournament", "refuse_showing", "run_tournament"]

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import trio

from flagfall.agents.process.enforcement import advisory_line
from flagfall.agents.process.visible import code_of, refuse_private
from flagfall.errors import FlagfallError, UsageError
from flagfall.tournament.plan.model import Plan
from flagfall.tournament.records import MatchRecord
from flagfall.tournament.run.control_socket import serve_control
from flagfall.tournament.run.engine import Engine
from flagfall.tournament.run.local_engine import LocalEngine
from flagfall.tournament.run.runner import Engines, Run
from flagfall.tournament.run.timer_lag import HostLag, measure_lag, tight_limits
from flagfall.tournament.store import Lock, Store


def _ignore(_what: object) -> None:
    """For who does not want to know."""


async def run_tournament(
    plan: Plan,
    out: Path | None = None,
    *,
    jobs: int | None = None,
    engine: Engines = "local",
    resume: bool = False,
    base: Path = Path(),
    stop: trio.Event | None = None,
    begun: Callable[[Run], None] = _ignore,
    noticed: Callable[[MatchRecord], None] = _ignore,
    warn: Callable[[str], None] = _ignore,
) -> dict[str, MatchRecord]:
    """Play a tournament.

    Args:
        plan: of the tournament.
        out: its folder; by default the plan's. It is made where there is none.
        jobs: how many matches at a time; by default what the plan says, or what there are processors for.
        engine: `local`, or `ray`: on the cluster that `ray.init` finds.
        resume: go on with what is in the folder, if anything is.
        base: where paths in the plan's text begin, for who reads it again.
        stop: set it to begin no more matches, and end when those that are being played are over.
        begun: is given the run when it begins, to look at and to steer.
        noticed: is given each record when it is stored, void ones too.
        warn: is told what is questionable, in a line.

    Returns:
        The records of matches that count, by id.

    Raises:
        UsageError: it cannot be played as asked; or the folder holds a tournament and `resume` is not
            asked for, or one of another plan, or another runner is in it.
        HostFault: see `Run.play`.

    If it is cancelled, matches that are being played are lost; `resume` plays them again.
    """
    folder = plan.output.folder if out is None else out
    refuse_showing(plan, folder)
    with open_tournament(plan, folder, resume=resume, base=base) as store:
        players = _engine(engine, plan, folder)
        try:
            chosen = jobs or plan.jobs or players.usual_jobs
            if plan.clock == "wall":
                for line in _doubts(plan, await measure_lag(), chosen, players):
                    warn(line)
            run = Run(plan, store, players, chosen, noticed)
            begun(run)
            await _play(run, folder, stop, warn)
        finally:
            with trio.CancelScope(shield=True):
                await players.aclose()
        return run.records


def refuse_showing(plan: Plan, *private: Path) -> None:
    """Refuse agents in sandboxes that would see records or the plan of their own tournament.

    Args:
        plan: of the tournament.
        private: its folder, and the file of the plan where it has one.

    Raises:
        UsageError: an agent would see one of them.
    """
    for agent in plan.agents:
        if agent.isolation.kind == "sandbox":
            for path in private:
                refuse_private([*agent.isolation.readable, *code_of(agent.spec)], path)


@contextmanager
def open_tournament(plan: Plan, folder: Path, *, resume: bool, base: Path = Path()) -> Iterator[Store]:
    """The store of a tournament, held by nobody else while the context lasts; it is made where there is none.

    Raises:
        UsageError: as for `run_tournament`.
        HostFault: it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = Lock(folder)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror or error}") from error
    with closing(lock), closing(Store(folder, "make", durable=plan.clock == "wall")) as store:
        _take_up(store, plan, base, resume=resume)
        store.make_room()
        try:
            yield store
        finally:
            store.clean_up()


def _take_up(store: Store, plan: Plan, base: Path, *, resume: bool) -> None:
    if store.plan() is None:
        store.begin(plan, base)
    elif resume:
        store.go_on(plan)
    else:
        raise UsageError(
            f"{store.folder} holds a tournament already: add --resume to go on with it, or take another --out"
        )


def _doubts(plan: Plan, lag: HostLag, jobs: int, engine: Engine) -> Iterator[str]:
    yield from tight_limits(plan, lag)
    yield from dict.fromkeys(filter(None, (advisory_line(agent.isolation) for agent in plan.agents)))
    if jobs > engine.usual_jobs:
        yield (
            f"{jobs} matches at a time are more than there are processors for:"
            f" with {engine.usual_jobs} every agent has its own"
        )


def _engine(name: Engines, plan: Plan, folder: Path) -> Engine:
    if name == "ray":
        from flagfall.tournament.run.ray_engine import RayEngine  # noqa: PLC0415 - an extra

        return RayEngine(plan, folder)
    return LocalEngine(plan, folder)


async def _play(run: Run, folder: Path, stop: trio.Event | None, warn: Callable[[str], None]) -> None:
    fault: FlagfallError | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_control, run, folder, warn)
        if stop is not None:
            nursery.start_soon(_stop_when, stop, run)
        try:
            await run.play()
        except FlagfallError as error:  # out of the nursery it would come in a group
            fault = error
        nursery.cancel_scope.cancel()
    if fault is not None:
        raise fault


async def _stop_when(stop: trio.Event, run: Run) -> None:
    await stop.wait()
    run.stop()
