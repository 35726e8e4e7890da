"""The results folder of a match with a person: that of a tournament of one match."""

from __future__ import annotations

__all__ = ["PERSON", "PlayedFolder", "check_folder", "play_plan"]

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import attrs

from flagfall.errors import UsageError
from flagfall.kernel.outcomes import MatchResult
from flagfall.tasks.building import TaskSetup
from flagfall.tournament.folder import JOURNALS, RUNNING
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.plan.parser import parse_plan
from flagfall.tournament.records import MatchSpec
from flagfall.tournament.run.api import open_tournament
from flagfall.tournament.run.match_observer import MatchObserver
from flagfall.tournament.store import holds_tournament

PERSON: Final = "human-browser"
"""The text that names a person in the browser in a stored plan."""


def play_plan(
    names: Sequence[str],
    specs: Sequence[str],
    task: Mapping[str, Any],
    *,
    seed: int,
    seats: int,
    setup: TaskSetup | None = None,
) -> TournamentPlan:
    """Return the plan of one match.

    Args:
        names: names of the agents, in the order of the seats.
        specs: their texts; `PERSON` for the person.
        task: the table of the task, see `docs/tournaments.md`; values that are `None` are left out.
        seed: root seed of the match.
        seats: number of seats of the task.
        setup: builds the tasks, if their ids alone do not define them.

    Raises:
        UsageError: a value is invalid.
    """
    name = str(task["name"])
    lines = [
        f"name = {_toml(name)}",
        'format = "benchmark"',
        f"seeds = [{seed}]",
        "",
        "[stop]",
        "matches = 1",
    ]
    for agent, spec in zip(names, specs, strict=True):
        lines += ["", "[[agents]]", f"name = {_toml(agent)}", f"spec = {_toml(spec)}"]
    lines += ["", "[[tasks]]", 'score = "reward"']
    lines += [f"{key} = {_toml(value)}" for key, value in task.items() if value is not None]
    plan = parse_plan("\n".join(lines) + "\n", title=name, seats={name: seats})
    if setup is None:
        return plan
    return attrs.evolve(plan, tasks=(attrs.evolve(plan.tasks[0], tasks=setup, scheduler=None),))


def _toml(value: Any) -> str:
    """Return a value in TOML, whose strings and numbers are written as in JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        escaped = "".join(f"\\U{ord(c):08x}" if c in '"\\' or not c.isprintable() else c for c in value)
        return f'"{escaped}"'
    return f"[{', '.join(map(_toml, value))}]"


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
        self.journal = folder / RUNNING / f"{first.id}.jsonl"
        self.observer = MatchObserver(len(plan.agents), plan.tasks[0].control)
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
