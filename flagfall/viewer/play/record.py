"""The results folder of a match with a person: that of a tournament of one match."""

from __future__ import annotations

__all__ = ["PERSON", "PlayedFolder", "check_folder", "play_plan"]

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import attrs

from flagfall.errors import UsageError
from flagfall.kernel.outcomes import MatchResult
from flagfall.playing import MatchRequest
from flagfall.tasks.building import TaskSetup
from flagfall.tournament.folder import JOURNALS, RUNNING
from flagfall.tournament.formats.benchmark import Benchmark
from flagfall.tournament.model import Output, PlannedAgent, PlannedTask, Stop, TournamentPlan
from flagfall.tournament.records import MatchSpec
from flagfall.tournament.run.api import open_tournament
from flagfall.tournament.run.match_observer import MatchObserver
from flagfall.tournament.store import holds_tournament

PERSON: Final = "human-browser"
"""The text that names a person in the browser in a stored plan."""


def play_plan(request: MatchRequest, name: str) -> TournamentPlan:
    """Return the plan of one match.

    Args:
        request: the match; an agent that is no text is the person.
        name: the name of what is played.
    """
    agents = tuple(
        PlannedAgent(name=player.label, spec=player.agent if isinstance(player.agent, str) else PERSON)
        for player in request.agents
    )
    assert isinstance(request.tasks, tuple | TaskSetup)
    task = PlannedTask(
        name=name,
        tasks=request.tasks,
        scheduler=request.scheduler,
        seats=len(agents),
        agents=tuple(agent.name for agent in agents),
        control=request.time_control,
        steps=request.steps,
        tick_ns=request.tick_ns,
        score="reward",
    )
    return TournamentPlan(
        name=name,
        agents=agents,
        tasks=(task,),
        format=Benchmark(),
        seeds=(request.seed,),
        stop=Stop(matches=1),
        output=Output(folder=Path()),
    )


def check_folder(folder: Path) -> None:
    """Check that results can be written to a folder that need not exist.

    Args:
        folder: the folder.

    Raises:
        UsageError: it holds results already, or cannot be written.
    """
    if folder.is_dir() and holds_tournament(folder):
        raise UsageError(f"--output {folder}: it holds results already; choose another folder")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--output {folder}: this is a file; name a folder")
    above = folder.absolute()
    while not above.exists():
        above = above.parent
    if not os.access(above, os.W_OK | os.X_OK):
        raise UsageError(f"--output {folder}: no permission to write to {above}")


class PlayedFolder:
    """A results folder while its match is played.

    Args:
        plan: the plan of the match.
        folder: the folder; it is made.

    Attributes:
        spec: the match of the plan.
        journal: the file to record it in.
        observer: a sink that must see every event.
    """

    def __init__(self, plan: TournamentPlan, folder: Path) -> None:
        first = next(iter(plan.format.schedule(plan, {})))
        assert first is not None
        self.spec: MatchSpec = first
        self.journal: Path = folder / RUNNING / f"{first.id}.jsonl"
        self.observer: MatchObserver = MatchObserver(len(plan.agents), plan.tasks[0].control)
        self._plan = plan
        self._folder = folder
        self._store = open_tournament(plan, folder, resume=False)

    @contextmanager
    def opened(self) -> Iterator[PlayedFolder]:
        """Make the folder and its database; what was recorded stays, however the match ends.

        Raises:
            UsageError: the folder is in use, or holds another match.
            HostFault: it cannot be written.
        """
        with self._store as self._open:
            try:
                yield self
            finally:
                if self.journal.exists():
                    self.journal.replace(self.kept)

    @property
    def kept(self) -> Path:
        """The place of the journal after the match."""
        return self._folder / JOURNALS / self.journal.name

    def put(self, result: MatchResult) -> None:
        """Store the result.

        Args:
            result: of the kernel.

        Raises:
            HostFault: it cannot be written.
        """
        relative = str(self.kept.relative_to(self._folder))
        record = self.observer.record(self.spec, 1, result, measure=self._plan.tasks[0].score, last=None)
        self._open.put(attrs.evolve(record, journal=relative))
