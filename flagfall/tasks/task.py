"""Task and TaskSampler: AllenAct's interface to any environment, as synchronous machines.

A task is a goal on an environment, and several may share one: "reach the flag" and "collect the coins" in
one grid. It is one episode after another: `reset(seed)` begins one, `step(action)` moves it on. There is
no event loop in it, so the same object serves the kernel, Gymnasium, plain loops, replay and tests.

Names and meaning follow AllenAct's `Task` and `TaskSampler`. What differs, and why:

- A step gives `terminated` and `truncated` apart, as Gymnasium does; `StepResult.done` is AllenAct's word.
- `reset(seed)` is new: matches are repeated and verified from seeds. A task that AllenAct's samplers would
  make anew for each episode needs no `_reset`: by default it shows what its sensors see.
- Rewards of several players are mappings by player, not lists.
"""

from __future__ import annotations

__all__ = ["SINGLE_PLAYER", "Task", "TaskSampler"]

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, final

from flagfall.kernel.outcomes import Outcome, StepResult
from flagfall.tasks.sensors import Sensor, SensorSuite

if TYPE_CHECKING:
    import numpy as np
    from gymnasium.spaces import Space

SINGLE_PLAYER = ("player_0",)

_NO_INFO: Final[Mapping[str, Any]] = MappingProxyType({})
_NO_SENSORS: Final = SensorSuite(())


class Task(ABC):
    """A goal-directed episode with which agents interact by steps.

    A subclass gives `action_space`, `_step` and `reached_terminal_state`, and either sensors or its own
    `observation_space` and `_reset`; everything else has a default. The initializer need not be called.

    Args:
        env: the environment, which other tasks may share; `None` where the task is all there is.
        sensors: what an observation is made of, see `flagfall.tasks.sensors`.
        task_info: the goal, and whatever else tells this task from others on the environment.
        max_steps: after this many steps an episode is over; `None` leaves what the class says.

    Attributes:
        env: likewise.
        sensor_suite: the sensors, as one.
        task_info: likewise.
        max_steps: likewise; `math.inf` for no limit.
        id: the task's name in configurations, journals and tables.
        players: who plays; more than one makes observations, rewards and actions mappings.
        continuous: see `flagfall.kernel.roles.TaskRole.continuous`.
        nil_action: what is played for an agent that is late, wrong or absent.
        render_modes: what `render` can give: `rgb`, `ansi`, or words of the task's own.
    """

    id: str
    env: Any = None
    sensor_suite: SensorSuite = _NO_SENSORS
    task_info: Mapping[str, Any] = _NO_INFO
    render_modes: ClassVar[Sequence[str]] = ()
    players: Sequence[str] = SINGLE_PLAYER
    continuous: ClassVar[bool] = False
    max_steps: float = math.inf
    nil_action: Any = None

    _steps: int = 0
    _earned: float = 0.0

    def __init__(
        self,
        env: Any = None,
        sensors: SensorSuite | Sequence[Sensor] = (),
        task_info: Mapping[str, Any] | None = None,
        max_steps: float | None = None,
    ) -> None:
        self.env = env
        self.sensor_suite = sensors if isinstance(sensors, SensorSuite) else SensorSuite(sensors)
        if task_info is not None:
            self.task_info = task_info
        if max_steps is not None:
            self.max_steps = max_steps

    @property
    @abstractmethod
    def action_space(self) -> Space[Any]:
        """The Gymnasium space of one player's actions."""

    @property
    def observation_space(self) -> Space[Any]:
        """The Gymnasium space of one player's observations; by default that of the sensors."""
        self._require_sensors("observation_space")
        return self.sensor_suite.observation_spaces

    def action_space_of(self, player: str) -> Space[Any]:  # noqa: ARG002 - by default all are alike
        """The space of this player's actions; a task where they differ also has `is_legal_for`."""
        return self.action_space

    def observation_space_of(self, player: str) -> Space[Any]:  # noqa: ARG002 - likewise
        """The space of this player's observations."""
        return self.observation_space

    def get_observations(self, **kwargs: Any) -> dict[str, Any]:
        """What the sensors see now, by their names."""
        return self.sensor_suite.get_observations(self.env, self, **kwargs)

    def _reset(self, seed: int) -> Any:  # noqa: ARG002 - a task that is made for one episode has it all
        """Set up a new episode from this seed alone; returns the first observation.

        By default nothing is set up, and the sensors say what is seen.
        """
        self._require_sensors("_reset")
        return self.get_observations()

    def _require_sensors(self, what: str) -> None:
        if not self.sensor_suite.sensors:
            raise NotImplementedError(f"{type(self).__name__} has neither sensors nor `{what}` of its own")

    @abstractmethod
    def _step(self, action: Any) -> StepResult:
        """Take one action that `is_legal` accepted; `step` counts it afterwards."""

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
        """Take one action (one of each player asked), and count it. Subclasses implement `_step`.

        The episode is over where `_step` says so, in a terminal state, and when `max_steps` are used up.
        """
        result = self._step(action)
        self._steps += 1
        reward = result.reward
        self._earned += reward if not isinstance(reward, Mapping) else sum(reward.values())
        terminated = bool(result.terminated or self.reached_terminal_state())
        truncated = bool(result.truncated or (not terminated and self.reached_max_steps()))
        if terminated is result.terminated and truncated is result.truncated:
            return result
        return result._replace(terminated=terminated, truncated=truncated)

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
        """What is worth telling of the episode: its length and its reward, and its `task_info` if given."""
        told = {"ep_length": self._steps, "reward": self.cumulative_reward}
        return told if self.task_info is _NO_INFO else {**told, "task_info": dict(self.task_info)}

    def render(self, mode: str = "rgb", *args: Any, **kwargs: Any) -> np.ndarray[Any, Any] | str:
        """A picture of the state: an array of (height, width, 3) bytes for `rgb`, a text for `ansi`.

        Raises:
            NotImplementedError: the task has no such picture; `render_modes` says which it has.
        """
        raise NotImplementedError(f"task {self.id} has no picture {mode!r}; it has {list(self.render_modes)}")

    def query_expert(self, **kwargs: Any) -> tuple[Any, bool]:  # noqa: ARG002 - experts may ask for more
        """What an expert would do now, and whether it knows; by default nobody does.

        Even where the second value is `False`, an expert's first one lies in the action space (or is a
        policy of the right shape), so that it can be masked.
        """
        return None, False

    def action_names(self) -> tuple[str, ...]:
        """The names of the actions, by a class method `class_action_names` of the task.

        Deprecated as in AllenAct: not every action space has names.

        Raises:
            NotImplementedError: the task defines no `class_action_names`.
        """
        warnings.warn("`action_names` is deprecated and will be removed", DeprecationWarning, stacklevel=2)
        named = getattr(self, "class_action_names", None)
        if named is None:
            raise NotImplementedError(f"{type(self).__name__} defines no class_action_names")
        return tuple(named())

    def close(self) -> None:  # noqa: B027 - most tasks hold nothing
        """Release what the task holds; an environment that it shares is its sampler's to close."""


class TaskSampler(ABC):
    """Decides which task comes next. Every sampler is a task scheduler of the kernel.

    Its tasks may share an environment, and may be made anew for each `next_task`: the kernel has done with
    a task when it asks for the next one.
    """

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
        """Close what is open: every task is closed once, here or when the next one was given."""

    def report(self, outcome: Outcome) -> None:  # noqa: B027 - many samplers do not look back
        """How the last task went; a sampler that learns from it overrides this."""
