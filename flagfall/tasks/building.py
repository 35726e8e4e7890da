"""Task schedulers from task ids, task objects, configurations and journals."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from inspect import isclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from flagfall.errors import UsageError
from flagfall.events import MatchStarted
from flagfall.kernel.outcomes import Outcome, StepResult, derive_seed
from flagfall.kernel.roles import SchedulerRole, TaskRole, complete_task
from flagfall.kernel.safe_values import safe_repr
from flagfall.kernel.script import NextTask, PhaseRequest, match_script
from flagfall.tasks.catalog import check_imports, in_folder, make_task, portable_id, task_files
from flagfall.tasks.code_files import digests_of, find_code, let_import, missing_code
from flagfall.tasks.commai.catalog import COMMAI_CATALOG
from flagfall.tasks.schedulers import ConsecutiveTaskScheduler, TaskScheduler, parse_policy
from flagfall.tasks.task import Task

if TYPE_CHECKING:
    from gymnasium.spaces import Space


MAX_TASKS: Final = 10_000
"""The most tasks of a recorded match; a curriculum has some hundreds."""


@runtime_checkable
class TaskSetup(Protocol):
    """A builder of tasks and their scheduler, such as a `flagfall.tasks.configs.Config`."""

    def build(self) -> SchedulerRole:
        """Return a task scheduler with new tasks."""

    def header(self) -> dict[str, Any]:
        """Return the fields of `MatchStarted` from which the scheduler can be built again."""


def build_scheduler(
    tasks: str | Task | type[Task] | Iterable[str | Task | type[Task]] | SchedulerRole | TaskSetup,
    scheduler: str | None,
    steps: int | None,
) -> tuple[SchedulerRole, dict[str, Any]]:
    """Build the task scheduler of a match.

    Args:
        tasks: ids, task objects, a task scheduler or a configuration, see `flagfall.playing.play`.
        scheduler: the text of a task scheduler, such as `consecutive:5`; `None` for the default.

    Returns:
        The scheduler, and the fields of `MatchStarted` from which it can be built again.

    Raises:
        UsageError: there is no such task or scheduler, or both a scheduler and its text are given.
    """
    given: list[str | Task | type[Task]]
    if isclass(tasks):
        tasks = _instance(tasks)
    if isinstance(tasks, str):
        given = [tasks]
    elif isinstance(tasks, tuple | list):  # first, since checking a protocol costs as much as making a task
        given = [*tasks]
    elif isinstance(tasks, TaskSetup):
        if scheduler is not None:
            raise UsageError("a configuration defines its own scheduler: leave scheduler out")
        return tasks.build(), tasks.header()
    elif hasattr(tasks, "next_task"):
        if scheduler is not None:
            raise UsageError("give a task scheduler of your own or the name of one, not both")
        return tasks, {"scheduler": type(tasks).__name__}  # type: ignore[return-value]  # it has the role's method
    elif isinstance(tasks, Task):
        given = [tasks]
    elif isinstance(tasks, Iterable):
        given = [*tasks]
    else:  # from callers without types
        raise UsageError(f"tasks: {tasks!r} is neither a task, an id, a list of these, nor a task scheduler")
    made = [_portable(task) if isinstance(task, str) else _instance(task) for task in given]
    text = scheduler or default_scheduler_text(steps)
    header: dict[str, Any] = {"scheduler": text, "tasks": [task.id for task in made]}
    return parse_policy(text, made), header | _code_of(task for task in given if isinstance(task, str))


def _code_of(ids: Iterable[str]) -> dict[str, Any]:
    """Return the field of the header that has the code of tasks; nothing for those of flagfall."""
    files: dict[str, Path] = {}
    for task_id in ids:
        files |= task_files(task_id)
    return {"code": digests_of(files)} if files else {}


def _portable(task_id: str) -> Task:
    """Return a new task that has an id for journals, without the folders of this machine."""
    task, portable = make_task(task_id), portable_id(task_id)
    if portable != task_id:
        task.id = portable
    return task


def _instance(task: Any) -> Any:
    """Return a task or scheduler; a class is instantiated, without arguments."""
    if not isclass(task):
        return task
    try:
        return task()
    except TypeError as error:
        raise UsageError(f"tasks: {task.__name__} is a class; give an instance of it ({error})") from error


def default_scheduler_text(steps: int | None) -> str:
    """Return the text of the default scheduler: every task once, or in rotation where turns are limited."""
    return "sequential" if steps is not None else "sequential:1"


def tasks_of(
    ids: Sequence[str], scheduler: str | None, settings: Mapping[str, Any], steps: int | None, *, name: str
) -> tuple[tuple[str, ...] | TaskSetup, str | None]:
    """Return tasks with settings of byte tasks, and the text of their scheduler, if they need one.

    Args:
        ids: ids of tasks. The original CommAI tasks have ids too, although no list has them.
        name: what is named in messages about the settings.

    Raises:
        UsageError: a setting is invalid, or a task has none.
    """
    if not ids or not (settings or any(task_id in COMMAI_CATALOG for task_id in ids)):
        return tuple(ids), scheduler
    from flagfall.tasks.configs import config_of  # noqa: PLC0415 - few matches need a configuration

    return config_of(ids, scheduler or default_scheduler_text(steps), settings, name=name), None


def seats_of(ids: Sequence[str]) -> int:
    """Return the number of agents that every one of the tasks seats.

    Raises:
        UsageError: there is no such task, or they seat different numbers of agents.
    """
    seats: dict[int, str] = {}
    for task_id in ids:
        task = make_task(task_id)
        seats.setdefault(len(task.players), task_id)
        task.close()
    if len(seats) > 1:
        counts = ", ".join(f"{task_id} seats {count}" for count, task_id in seats.items())
        raise UsageError(f"tasks of one match must seat equally many agents: {counts}")
    return next(iter(seats))


def is_endless(tasks: Sequence[str] | TaskSetup, scheduler: str | None, steps: int | None) -> bool:
    """Return true if only a signal ends a match of these tasks.

    A match of `consecutive` has no limit of turns, but it ends: when the last task is learned.

    Raises:
        UsageError: the text of the scheduler is invalid.
    """
    built, _ = build_scheduler(tasks, scheduler, steps)
    policy = getattr(built, "policy", built)
    try:
        return (
            steps is None
            and isinstance(policy, TaskScheduler)
            and policy.length == inf
            and not isinstance(policy, ConsecutiveTaskScheduler)
        )
    finally:
        built.close()


def rebuild(header: MatchStarted, *, trust: bool = False, journal: Path | None = None) -> SchedulerRole:
    """Return the task scheduler of a recorded match, with new tasks.

    Args:
        header: the first event of its journal.
        trust: import the modules that its tasks name, such as `gym:my_module:Game-v0`. Without it only tasks
            of flagfall are made, and environments that an installed library registers by itself.
        journal: the file, to find the code of the tasks with it: `flagfall.tasks.code_files.find_code`. By
            default the code is where it was played, or in the working directory.

    Raises:
        UntrustedImportError: a task names a module, and `trust` is not given; nothing was imported.
        UsageError: it was played with tasks of the user's own, or the header is damaged.
    """
    folder = None if journal is None else find_code(journal, header.code)
    if not trust and header.config is None:
        for task in header.tasks[:MAX_TASKS]:
            check_imports(task, "" if folder is None else f"with {journal}")
    if trust and folder is not None:
        let_import(folder)
    if header.config is not None:
        from flagfall.tasks.vgdl.learning_track_setup import TrackSetup  # noqa: PLC0415 - few matches are tracks

        track = TrackSetup.from_config(header.config, folder)
        if track is not None:
            return track.build()
        _refuse_python(header.config)
        from flagfall.tasks.configs import parse_config  # noqa: PLC0415 - few matches have one

        return parse_config(header.config, name="the configuration in the journal", folder=None).build()
    if len(header.tasks) > MAX_TASKS:
        raise UsageError(f"{len(header.tasks)} tasks; {MAX_TASKS} are the most")
    missing = [] if folder is not None else missing_code(header.code)
    hint = f"; go to the folder with {missing[0]}" if missing else ""
    text = header.scheduler or default_scheduler_text(header.steps)
    return _RecordedTasks(text, [_Place(task_id, folder, hint) for task_id in header.tasks])


class _RecordedTasks:
    """Task scheduler of a recorded match; builds a task when it is due, as a journal may name thousands."""

    def __init__(self, scheduler: str, places: Any) -> None:
        self._places = places
        self._policy = parse_policy(scheduler, places)
        self.set_seed = self._policy.set_seed
        self.report = self._policy.report
        self.close = self._policy.close

    @property
    def tasks(self) -> Sequence[Task]:
        """The first task, of which agents are told when they start; raises as `next_task` does."""
        return [place.build() for place in self._places[:1]]

    def next_task(self) -> Task | None:
        """Return the next task.

        Raises:
            UsageError: it cannot be built.
        """
        place: Any = self._policy.next_task()
        return None if place is None else place.build()


class _Place:
    """The place of a task in a scheduler, which may never be due.

    Args:
        folder: the folder with the code of the task, if it is known.
        hint: where that code may be, for messages.
    """

    def __init__(self, task_id: str, folder: Path | None, hint: str) -> None:
        self.id = task_id
        self._folder = folder
        self._hint = hint
        self._task: Task | None = None

    def build(self) -> Task:
        if self._task is None:
            try:
                self._task = make_task(self.id if self._folder is None else in_folder(self.id, self._folder))
            except UsageError as error:
                if not self._hint or type(error) is not UsageError:  # a page must know what quotes a file
                    raise
                raise UsageError(f"{error}{self._hint}") from error
            if self._folder is not None:
                self._task.id = self.id
        return self._task

    def close(self) -> None:
        if self._task is not None:
            self._task.close()


def _refuse_python(config: str) -> None:
    with suppress(ValueError, RecursionError):
        table = json.loads(config)
        if isinstance(table, dict) and "python" in table:
            source = table["python"] if isinstance(table["python"], str) else safe_repr(table["python"])
            raise UsageError(f"its tasks were made by {source}, which must be given to make them again")


class CurriculumTask(Task):
    """The tasks of a scheduler, one after another, as one task for one player.

    An episode with the seed s has the tasks, seeds and rewards of `flagfall.play(..., seed=s)`. The
    boundaries between tasks are not visible to the player. The episode ends when the scheduler has no more
    tasks, which many schedulers always have.

    Args:
        build: makes a task scheduler with new tasks; called for each episode.

    Raises:
        UsageError: the scheduler has no task; or a task is for several players, has other spaces than the
            first one, or waits for something outside of its steps.

    Attributes:
        outcomes: the outcomes of the tasks that have ended in this episode.
    """

    def __init__(self, id: str, build: Callable[[], SchedulerRole]) -> None:  # noqa: A002 - as everywhere
        super().__init__()
        self.id = id
        self._build = build
        self._scheduler: SchedulerRole | None = None
        self._script: Generator[Any, Any, None]
        self._request: Any = None
        self._over = False
        self._task: TaskRole = self._first_task()
        self._action_space: Space[Any] = self._task.action_space
        self._observation_space: Space[Any] = self._task.observation_space
        self.nil_action: Any = self._task.nil_action
        self.instructions: Any = self._task.instructions
        self.outcomes: list[Outcome] = []

    def _first_task(self) -> TaskRole:
        """Return a task for its spaces only."""
        scheduler = self._build()
        try:
            scheduler.set_seed(0)
            task = scheduler.next_task()
        finally:
            scheduler.close()
        if task is None:
            raise UsageError(f"{self.id}: its scheduler has no task")
        if len(task.players) != 1:
            raise UsageError(f"{self.id}: {task.id} is for {len(task.players)} players, expected one")
        return complete_task(task)

    @property
    def action_space(self) -> Space[Any]:
        """The action space of all tasks."""
        return self._action_space

    @property
    def observation_space(self) -> Space[Any]:
        """The observation space of all tasks."""
        return self._observation_space

    def is_legal(self, action: Any) -> bool:
        """Return whether the current task accepts an action."""
        return self._task.is_legal(action)

    def _reset(self, seed: int) -> Any:
        self.close()
        self._over, self.outcomes = False, []
        self._scheduler = self._build()
        self._scheduler.set_seed(derive_seed(seed, "scheduler"))
        self._script = match_script(seed)
        self._request = next(self._script)
        return self._go_on().observation

    def _step(self, action: Any) -> StepResult:
        self._request = self._script.send(action)
        return self._go_on()

    def _go_on(self) -> StepResult:
        """Answer the requests of the match script up to the next turn, or to its end."""
        paid = 0
        while type(self._request) is not tuple:
            request = self._request
            if isinstance(request, PhaseRequest):  # a phase without turns; the player has no part in it
                paid += request.reward
                self._request = self._script.send(None)
            elif not isinstance(request, NextTask):
                raise UsageError(
                    f"{self.id}: {self._task.id} waits for something outside of its steps: play it in a match"
                )
            elif self._choose(request.outcome):
                self._request = self._script.send(self._task)
            else:
                self._over = True
                return StepResult(None, paid + request.owed, terminated=True)
        observation, reward = self._request
        return StepResult(observation, paid + reward)

    def _choose(self, outcome: Outcome | None) -> bool:
        """Report the last outcome and take the next task; return whether there is one."""
        assert self._scheduler is not None
        if outcome is not None:
            self.outcomes.append(outcome)
            self._scheduler.report(outcome)
        given = self._scheduler.next_task()
        if given is None:
            return False
        task = complete_task(given)
        if (task.action_space, task.observation_space) != (self._action_space, self._observation_space):
            raise UsageError(f"{self.id}: the spaces of {task.id} are not those of the first task")
        self._task = task
        return True

    def reached_terminal_state(self) -> bool:
        """Return whether the scheduler has no more tasks."""
        return self._over

    def result(self) -> bool | None:
        """Return the result of the only task; `None` for several tasks, which have no result in common."""
        return self.outcomes[0].result if len(self.outcomes) == 1 else None

    def metrics(self) -> dict[str, Any]:
        """Return the metrics of every task, and the counts of tasks `played` and `solved`."""
        solved = sum(outcome.result is True for outcome in self.outcomes)
        return super().metrics() | {"played": len(self.outcomes), "solved": solved}

    def close(self) -> None:
        """Close the tasks of the episode."""
        if self._scheduler is not None:
            self._script.close()
            self._scheduler.close()
            self._scheduler = None
