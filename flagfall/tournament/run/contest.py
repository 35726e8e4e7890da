"""A GVGAI contest: a tournament of tracks with Formula One scoring, played in the running event loop."""

from __future__ import annotations

__all__ = ["MemoryStore", "TrackEngine", "contest_plan"]

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import trio

from flagfall.agents.process.isolation import DEFAULT_ISOLATION, Isolation
from flagfall.errors import HostFault, UsageError
from flagfall.gvgai.play_track import PlayedTrack, TrackTimes, agent_label, play_track
from flagfall.kernel.seeding import derive_seed
from flagfall.recording.journal.writer import Journal
from flagfall.recording.series_names import series_path
from flagfall.tasks.vgdl.learning_track_setup import TrackSetup
from flagfall.tournament.formats.benchmark import Benchmark
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import Output, PlannedAgent, PlannedTask, TournamentPlan
from flagfall.tournament.records import MatchRecord, MatchSpec, Records
from flagfall.tournament.run.engine import Attempt, void_record
from flagfall.tournament.run.match_observer import MatchObserver

if TYPE_CHECKING:
    from flagfall.kernel.hosting import LocalHostKind
    from flagfall.kernel.sinks import Sink
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
        agents: see `flagfall.gvgai.play_track.seat_agent`.
        times: time control of every match.
        rules: the rules of every track.
        seed: seed of the first game; the others derive theirs from it.
        sprites: see `TrackSetup`.
        clock: see `TournamentPlan`.
        host: where agents run.
        isolation: the isolation of agents in processes.

    Raises:
        UsageError: there is no game or no agent, one is named twice, or a game cannot be played.
    """
    for what, names in (("game", games), ("agent", agents)):
        twice = [name for name, count in Counter(names).items() if count > 1]
        if not names or twice:
            raise UsageError(f"{what} {twice[0]!r} is named twice" if twice else f"name at least one {what}")
    labels = Counter(map(agent_label, agents))
    entrants = [(agent, label if labels[label := agent_label(agent)] == 1 else agent) for agent in agents]
    tasks = []
    for place, game in enumerate(games):
        setup = TrackSetup(game, rules, sprites)
        setup.build().close()
        task = PlannedTask(
            name=game,
            tasks=setup,
            agents=tuple(name for _, name in entrants),
            control=times.control,
            last=len(rules.validation) * rules.rounds,
            seed=seed if place == 0 else derive_seed(seed, "game", place),
        )
        tasks.append(task)
    return TournamentPlan(
        name="contest",
        agents=tuple(
            PlannedAgent(name=name, spec=agent, host=host, isolation=isolation or DEFAULT_ISOLATION)
            for agent, name in entrants
        ),
        tasks=tuple(tasks),
        format=Benchmark(),
        seed=seed,
        clock=clock,
        scoring="formula-one",
        jobs=1,
        output=Output(folder=Path()),
    )


class MemoryStore:
    """Store of a tournament that is not resumed: it keeps no records beyond those of the run."""

    def records(self) -> Iterator[MatchRecord]:
        """Yield no records: no earlier run was stored."""
        return iter(())

    def put(self, *records: MatchRecord) -> None:
        """Store nothing; see `flagfall.tournament.run.runner.RecordStore`.

        Args:
            records: kept by the run.
        """

    def check(self, plan: TournamentPlan, records: Records) -> None:
        """Accept the records; there are none.

        Args:
            plan: the plan of the tournament.
            records: the records of earlier runs.
        """


class TrackEngine:
    """Engine that plays tracks in the running event loop; see `flagfall.tournament.run.engine.Engine`.

    Stalls of the host void no match: the agents of a contest wait for the host, and their time is credited.

    Args:
        plan: a plan whose tasks are tracks.
        times: time control, and the thinking time of agents on the virtual clock.
        isolation: the isolation of agents in processes; `None` for the default of each kind of agent.
        journal: file for the record of a match; numbered if there are several matches.
        sinks: returns additional sinks of a match.

    Raises:
        UsageError: a journal cannot be written.

    Attributes:
        played: tracks that were played, by match id.
        faults: faults of the host, by match id.
        stop: setting it ends the running match after its turn; that match does not count.
    """

    default_jobs = 1

    def __init__(
        self,
        plan: TournamentPlan,
        times: TrackTimes,
        *,
        isolation: Isolation | None = None,
        journal: Path | None = None,
        sinks: Callable[[MatchSpec], Sequence[Sink]] = lambda _spec: (),
    ) -> None:
        self.played: dict[str, PlayedTrack] = {}
        self.faults: dict[str, HostFault] = {}
        self._plan = plan
        self._times = times
        self._isolation = isolation
        self._sinks = sinks
        self.stop: trio.Event | None = None
        specs = list(schedule(plan).walk({}))
        self._journals: dict[str, Path] = {}
        for number, spec in enumerate(specs if journal is not None else []):
            assert journal is not None
            self._journals[spec.id] = series_path(journal, number, len(specs))
            Journal.check(self._journals[spec.id])

    async def play(self, attempt: Attempt) -> MatchRecord:
        """Play one track; see `Engine`.

        Args:
            attempt: the attempt to play.
        """
        spec = attempt.spec
        if self.stop is not None and self.stop.is_set():
            return void_record(spec, attempt.number, "stopped")
        task = self._plan.task(spec.task)
        agent = self._plan.agent(spec.entrants[0])
        assert isinstance(task.tasks, TrackSetup)
        observer = MatchObserver(1, task.control)
        try:
            played = await play_track(
                task.tasks,
                agent.spec,
                self._times,
                host=agent.host,
                isolation=self._isolation,
                name=agent.name,
                seed=spec.seed,
                journal=self._journals.get(spec.id),
                sinks=[observer, *self._sinks(spec)],
                stop=self.stop,
            )
        except HostFault as fault:
            self.faults[spec.id] = fault
            return void_record(spec, attempt.number, f"fault: {fault}")
        self.played[spec.id] = played
        if played.result.reason == "stopped":
            return void_record(spec, attempt.number, "stopped")
        return observer.record(spec, attempt.number, played.result, measure=task.score, last=task.last)

    async def aclose(self) -> None:
        """Do nothing: there are no workers."""
