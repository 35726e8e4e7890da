"""Task and TaskSampler: AllenAct's interface to any environment, as synchronous machines.

A task here is one episode after another on some environment: `reset(seed)` begins one, `step(action)`
moves it on. There is no event loop in it, so the same object serves the kernel, Gymnasium, plain loops,
replay and tests. The method names and their meaning follow AllenAct's `Task` and `TaskSampler`.
"""

from __future__ import annotations

__all__ = ["SINGLE_PLAYER", "Task", "TaskSampler"]

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, final

from flagfall.kernel.roles import Outcome, StepResult

if TYPE_CHECKING:
    from gymnasium.spaces import Space

SINGLE_PLAYER = ("player_0",)


class Task(ABC):
    """A goal-directed episode with which agents interact by steps.

    A subclass gives the two spaces, `_reset`, `_step` and `reached_terminal_state`; everything else
    has a default.

    Attributes:
        id: the task's name in configurations, journals and tables.
        players: who plays; more than one makes observations, rewards and actions mappings.
        continuous: see `flagfall.kernel.roles.TaskRole.continuous`.
        max_steps: after this many steps an episode is over; `math.inf` for no limit.
        nil_action: what is played for an agent that is late, wrong or absent.
    """

    id: str
    players: Sequence[str] = SINGLE_PLAYER
    continuous: ClassVar[bool] = False
    max_steps: float = math.inf
    nil_action: Any = None

    _steps: int = 0
    _earned: float = 0.0

    @property
    @abstractmethod
    def action_space(self) -> Space[Any]:
        """The Gymnasium space of one player's actions."""

    @property
    @abstractmethod
    def observation_space(self) -> Space[Any]:
        """The Gymnasium space of one player's observations."""

    @abstractmethod
    def _reset(self, seed: int) -> Any:
        """Set up a new episode from this seed alone; returns the first observation."""

    @abstractmethod
    def _step(self, action: Any) -> StepResult:
        """Take one action that `is_legal` accepted."""

    @abstractmethod
    def reached_terminal_state(self) -> bool:
        """Whether the episode reached an end of its own (the step limit is not one)."""

    def is_legal(self, action: Any) -> bool:
        """Whether `action` lies in the action space; any object may be asked about."""
        return bool(self.action_space.contains(action))

    @final
    def reset(self, seed: int) -> Any:
        """Begin a new episode.

        Args:
            seed: everything random in the episode follows from it.

        Returns:
            The first observation.
        """
        self._steps = 0
        self._earned = 0.0
        return self._reset(seed)

    def step(self, action: Any) -> StepResult:
        """Take one action and count it. Subclasses implement `_step`."""
        self._steps += 1
        result = self._step(action)
        reward = result.reward
        self._earned += reward if not isinstance(reward, Mapping) else sum(reward.values())
        if self._steps >= self.max_steps and not result.terminated:
            return result._replace(truncated=True)
        return result

    def num_steps_taken(self) -> int:
        """Steps taken in this episode so far."""
        return self._steps

    def reached_max_steps(self) -> bool:
        """Whether the episode has used up `max_steps`."""
        return self._steps >= self.max_steps

    def is_done(self) -> bool:
        """Whether the episode is over, by an end of its own or by the step limit."""
        return self.reached_terminal_state() or self.reached_max_steps()

    @property
    def cumulative_reward(self) -> float:
        """The rewards of this episode so far, summed over time, as a mean over the players."""
        return self._earned / len(self.players)

    def result(self) -> bool | None:
        """`True` solved, `False` failed, `None` where the task does not judge."""
        return None

    def metrics(self) -> dict[str, Any]:
        """What is worth telling of the episode: by default its length and its reward."""
        return {"ep_length": self._steps, "reward": self.cumulative_reward}

    def close(self) -> None:  # noqa: B027 - most tasks hold nothing
        """Release what the task holds."""


class TaskSampler(ABC):
    """Decides which task comes next. Every sampler is a task scheduler of the kernel."""

    @property
    @abstractmethod
    def length(self) -> float:
        """How many tasks can still be sampled; `math.inf` where there is no end."""

    @property
    @abstractmethod
    def last_sampled_task(self) -> Task | None:
        """The task that `next_task` gave last."""

    @abstractmethod
    def next_task(self, force_advance_scene: bool = False) -> Task | None:
        """The next task, or `None` where there are no more.

        Args:
            force_advance_scene: take a new scene for it, where the sampler knows scenes.
        """

    @property
    @abstractmethod
    def all_observation_spaces_equal(self) -> bool:
        """Whether all tasks that can be sampled share one observation space."""

    @abstractmethod
    def reset(self) -> None:
        """Back to the original state, except for the seed."""

    @abstractmethod
    def set_seed(self, seed: int) -> None:
        """Take a new seed for whatever is random in the choice."""

    @abstractmethod
    def close(self) -> None:
        """Close the tasks and whatever else is open."""

    def report(self, outcome: Outcome) -> None:  # noqa: B027 - many samplers do not look back
        """How the last task went; a sampler that learns from it overrides this."""
