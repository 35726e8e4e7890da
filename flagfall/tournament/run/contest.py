"""A GVGAI contest: a tournament of tracks with Formula One scoring, played in the running event loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import attrs
import trio

from flagfall.agents.process.isolation import Isolation
from flagfall.errors import UsageError
from flagfall.gvgai.play_track import TrackTimes, track_player
from flagfall.kernel.outcomes import derive_seed
from flagfall.tasks.vgdl.learning_track_setup import TrackSetup
from flagfall.tournament.formats.fixed_rounds import Benchmark
from flagfall.tournament.model import Output, PlannedAgent, PlannedTask, TournamentPlan
from flagfall.tournament.records import MatchRecord, MatchSpec
from flagfall.tournament.run.api import open_tournament, refuse_showing
from flagfall.tournament.run.engine import Batch, void_record
from flagfall.tournament.run.match import play_here
from flagfall.tournament.run.runner import Run

if TYPE_CHECKING:
    from flagfall.kernel.dispatcher import Sink
    from flagfall.kernel.hosting import LocalHostKind
    from flagfall.tasks.vgdl.learning_track import TrackRules


def contest_plan(
    games: Sequence[str],
    agents: Sequence[str],
    times: TrackTimes,
    rules: TrackRules,
    *,
    seed: int = 0,
    sprites: Path | None = None,
    clock: Literal["wall", "virtual"] = "wall",
    host: LocalHostKind | None = None,
    isolation: Isolation | None = None,
) -> TournamentPlan:
    """Return the plan of a contest: every agent plays every game, with the same seed on a game.

    The games are read, so that a mistake in one is reported at once.

    Args:
        games: files or names.
        agents: see `flagfall.gvgai.play_track.track_player`.
        times: time control of every match, and the time that turns take on the virtual clock.
        seed: seed of the first game; the others derive theirs from it.
        sprites: see `TrackSetup`.

    Raises:
        UsageError: there is no game or no agent, one is named twice, or a game cannot be played.
    """
    for what, names in (("game", games), ("agent", agents)):
        twice = [name for name, count in Counter(names).items() if count > 1]
        if not names or twice:
            raise UsageError(f"{what} {twice[0]!r} is named twice" if twice else f"name at least one {what}")
    players = [
        track_player(agent, rules, times, host, isolation, virtual=clock == "virtual") for agent in agents
    ]
    labels = Counter(player.label for player in players)
    entrants = tuple(
        PlannedAgent(
            name=player.label if labels[player.label] == 1 else agent,
            spec=player.agent,
            host=player.host,
            isolation=player.isolation,
            think=player.think,
        )
        for agent, player in zip(agents, players, strict=True)
    )
    tasks = []
    for place, game in enumerate(games):
        setup = TrackSetup(game, rules, sprites)
        setup.build().close()
        task = PlannedTask(
            name=game,
            tasks=setup,
            agents=tuple(agent.name for agent in entrants),
            control=times.control,
            last=len(rules.validation) * rules.rounds,
            seed=seed if place == 0 else derive_seed(seed, "game", place),
        )
        tasks.append(task)
    return TournamentPlan(
        name="contest",
        agents=entrants,
        tasks=tuple(tasks),
        format=Benchmark(),
        seed=seed,
        clock=clock,
        scoring="formula-one",
        jobs=1,
        output=Output(folder=Path()),
    )


async def play_contest(
    plan: TournamentPlan,
    folder: Path,
    *,
    resume: bool = False,
    sinks: Callable[[MatchSpec], Sequence[Sink]] = lambda _spec: (),
    stop: trio.Event | None = None,
    on_record: Callable[[MatchRecord], None] = lambda _record: None,
    warn: Callable[[str], None] = lambda _line: None,
) -> dict[str, MatchRecord]:
    """Play a contest, one match after another in the running event loop, which has the clock of the plan.

    A match that fails on the host's side is left out; a resumed contest plays it again.

    Args:
        stop: setting it ends the running match after its turn; that match does not count.
        warn: called with each warning, a line of text.

    Returns:
        The records of the matches that count, by id.

    Raises:
        UsageError: see `flagfall.tournament.run.api.run_tournament`.
    """
    refuse_showing(plan, folder)
    stop = trio.Event() if stop is None else stop
    with open_tournament(plan, folder, resume=resume, warn=warn) as store:
        engine = _LoopEngine(plan, folder, sinks, stop)
        run = Run(plan, store, engine, 1, on_record, fault_attempts=1, skip_failed=True)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run.stop_when, stop)
            await run.play()
            nursery.cancel_scope.cancel()
        return run.records


@attrs.define(eq=False)
class _LoopEngine:
    """Engine that plays in the running event loop; see `flagfall.tournament.run.engine.Engine`.

    Stalls of the host void no match: the agents of a contest wait for the host, and their time is credited.
    """

    plan: TournamentPlan
    folder: Path
    sinks: Callable[[MatchSpec], Sequence[Sink]]
    stop: trio.Event
    default_jobs: int = 1
    batch_seconds: float = 0.0

    async def play_batch(self, batch: Batch) -> None:
        attempt = attrs.evolve(batch.left[0], counts=True)
        record = void_record(attempt.spec, attempt.number, "stopped")
        if not self.stop.is_set():
            sinks = self.sinks(attempt.spec)
            record = await play_here(self.plan, attempt, self.folder, sinks, self.stop)
        batch.report([(record, 0.0)])

    async def aclose(self) -> None:
        """Do nothing: there are no workers."""
