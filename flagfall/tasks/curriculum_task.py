"""A whole curriculum as one task: an episode runs a task scheduler from its first task to its last."""

from __future__ import annotations

__all__ = ["CurriculumTask"]

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from flagfall.errors import UsageError
from flagfall.kernel.outcomes import Outcome, StepResult
from flagfall.kernel.requests import NextTask, PhaseRequest
from flagfall.kernel.roles import SchedulerRole, TaskRole, complete_task
from flagfall.kernel.script import match_script
from flagfall.kernel.seeding import derive_seed
from flagfall.tasks.task import Task

if TYPE_CHECKING:
    from gymnasium.spaces import Space


class CurriculumTask(Task):
    """The tasks of a scheduler, one after another, as one task for one player.

    An episode with the seed s has the tasks, seeds and rewards of `flagfall.play(..., seed=s)`. The
    boundaries between tasks are not visible to the player. The episode ends when the scheduler has no more
    tasks, which many schedulers always have.

    Args:
        id: the id of this task.
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
        """Return whether the current task accepts an action.

        Args:
            action: any object.
        """
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
