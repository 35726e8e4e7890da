"""Base classes of tasks and task samplers: AllenAct's interface, without an event loop.

A task is a goal on an environment; several tasks may share one, such as "reach the flag" and "collect the
coins" in one grid. It is played in episodes: `reset(seed)` starts one, `step(action)` advances it. A task has
no event loop in it, so the same object serves the kernel, Gymnasium, plain loops, replay and tests.

Names and meaning follow AllenAct's `Task` and `TaskSampler`. The differences:

- A step returns `terminated` and `truncated` separately, as in Gymnasium; `StepResult.done` is AllenAct's.
- `reset(seed)` is new, because matches are repeated and verified from seeds. A task that is made for a single
  episode, as by AllenAct's samplers, needs no `_reset`: by default it returns the values of its sensors.
- Rewards of several players are mappings by player; lists in the order of the players are taken, too.

What is written against AllenAct 0.5.4 is played with other imports: results may be `RLStepResult`,
constructors take further keywords, which have no effect, classes take subscripts, and a task without an `id`
has the name of its class.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import cleandoc
from types import GenericAlias, MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, final

from flagfall.errors import UsageError
from flagfall.kernel.descriptions import MAX_INSTRUCTIONS_CHARS, name_of
from flagfall.kernel.outcomes import Outcome, StepResult
from flagfall.kernel.roles import TaskRole
from flagfall.tasks.sensors import Sensor, SensorSuite

if TYPE_CHECKING:
    import numpy as np
    from gymnasium.spaces import Space


# The replay of a match requests tasks that can be drawn: environments of Gymnasium and PettingZoo draw only
# if they were made for that, and a room keeps the words of its dialogue only for its pictures. What a task
# does is the same either way.

_wanted: ContextVar[bool] = ContextVar("flagfall_pictures", default=False)

ENVIRONMENT_MODES: Final[Mapping[str, str]] = MappingProxyType({"rgb": "rgb_array", "ansi": "ansi"})
"""Render modes of tasks, and those of environments that return the same; the best first."""


@contextmanager
def with_pictures() -> Iterator[None]:
    """Return a context in which tasks are made so that they can be drawn."""
    token = _wanted.set(True)
    try:
        yield
    finally:
        _wanted.reset(token)


def are_pictures_wanted() -> bool:
    """Return whether a task is being made to be drawn."""
    return _wanted.get()


def best_mode(metadata: Mapping[str, Any]) -> str | None:
    """Return the render mode in which an environment is to be made; `None` if it draws nothing."""
    known = metadata.get("render_modes", ())
    return next((mode for mode in ENVIRONMENT_MODES.values() if mode in known), None)


# Revisions of the rules of task families, recorded in journals.
#
# The header of a journal holds `REVISIONS` as they were when the match was played; a family that is missing
# there was played under revision 1. A task whose rules have changed has a method `follow_rules`, which takes
# the recorded revisions; see `flagfall.kernel.roles.TaskRole.reset`.

ROUND1: Final = "round1"
"""The micro-tasks and mini-tasks of round 1 of the General AI Challenge.

Revision 1 repaired four quirks of the original and drew strings for mini-tasks that the original cannot draw.
Revision 2 follows the original, with the repairs as the option `fixes`; some strings of mini-tasks were more
or less likely than there. Revision 3 draws them as the original does.
"""

REVISIONS: Final[Mapping[str, int]] = MappingProxyType({ROUND1: 3})
"""The current revisions, by family."""


def revision_of(recorded: Mapping[str, int], family: str) -> int:
    """Return the revision of a family under which a match was played."""
    return recorded.get(family, 1)


def unknown_revision(recorded: Mapping[str, int], family: str) -> str | None:
    """Return why the rules of a recorded match are unknown to this version; `None` if they are known."""
    revision, known = revision_of(recorded, family), REVISIONS[family]
    if 1 <= revision <= known:
        return None
    return f"it was played by revision {revision} of the rules of {family}; this flagfall has {known}"


SINGLE_PLAYER = ("player_0",)

_NO_INFO: Final[Mapping[str, Any]] = MappingProxyType({})
_LISTS: Final = (list, tuple)
_NO_SENSORS: Final = SensorSuite(())


class RLStepResult(StepResult):
    """Result of a step as AllenAct writes it: `done` in place of `terminated` and `truncated`.

    Args:
        reward: the reward; a list of those of several players; `None` for 0.
    """

    def __new__(cls, observation: Any, reward: Any, done: bool | None, info: Any) -> Self:
        """Make a `StepResult` of what AllenAct's has."""
        paid = 0 if reward is None else reward
        return super().__new__(cls, observation, paid, bool(done), False, info or {})

    def clone(self, new_info: Mapping[str, Any]) -> RLStepResult:
        """Return a copy with other values.

        Args:
            new_info: some of `observation`, `reward`, `done` and `info`.
        """
        values = dict(new_info)
        done = bool(values.pop("done", self.done))
        if done != self.done:
            values |= {"terminated": done, "truncated": False}
        return self._replace(**values)


class _ClassName:
    """The name of a task's class, until a class or an object has an `id` of its own."""

    def __get__(self, task: Task | None, owner: type[Task]) -> str:
        return owner.__name__


class _OwnDocstring:
    """The docstring of a task's class below `Task`, until a class or an object has `instructions`."""

    def __get__(self, task: Task | None, owner: type[Task]) -> str:
        below = owner.__mro__[: owner.__mro__.index(Task)]
        return next((cleandoc(kind.__doc__) for kind in below if kind.__doc__), "")[:MAX_INSTRUCTIONS_CHARS]


class Task(TaskRole, ABC):
    """A goal-directed episode that agents play in steps.

    A subclass defines `action_space`, `_step` and `reached_terminal_state`, and either sensors or its own
    `observation_space` and `_reset`; everything else has a default, such as the members in
    `flagfall.kernel.roles.TaskDefaults`. Calling the initializer is optional.

    Args:
        env: the environment, which other tasks may share; `None` if the task needs none.
        sensors: the parts of an observation, see `flagfall.tasks.sensors`.
        task_info: the goal, and anything else that distinguishes the task from others on the environment.
        max_steps: step limit of an episode; `None` for the value of the class.

    Attributes:
        task_info: the goal and further facts, as passed.
        max_steps: step limit of an episode; `math.inf` for no limit.
        id: the name of the task in configurations, journals and tables; by default that of its class.
        players: names of the players; with more than one, observations, rewards and actions are mappings.
        continuous: see `flagfall.kernel.roles.TaskRole.continuous`.
        class_action_names: a class method that returns the names of the actions of a `Discrete` space.
        render_modes: the modes of `render`: `rgb`, `ansi`, or the task's own.
    """

    __class_getitem__: ClassVar[Any] = classmethod(GenericAlias)

    id: Any = _ClassName()
    instructions: Any = _OwnDocstring()
    env: Any = None
    sensor_suite: SensorSuite = _NO_SENSORS
    task_info: Mapping[str, Any] = _NO_INFO
    render_modes: ClassVar[Sequence[str]] = ()
    players: Sequence[str] = SINGLE_PLAYER
    continuous: bool = False
    max_steps: float = math.inf
    nil_action: Any = None
    class_action_names: Callable[[], Sequence[str]] | None = None

    _num_steps_taken: int = 0
    _total_reward: Any = 0.0

    def __init__(
        self,
        env: Any = None,
        sensors: SensorSuite | Sequence[Sensor] = (),
        task_info: Mapping[str, Any] | None = None,
        max_steps: float | None = None,
        **kwargs: Any,  # noqa: ARG002 - as AllenAct's
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
        """The Gymnasium space of one player's observations; by default the space of the sensors."""
        self._require_sensors("observation_space")
        return self.sensor_suite.observation_spaces

    def get_observations(self, **kwargs: Any) -> dict[str, Any]:
        """Return the current values of the sensors, by their names."""
        return self.sensor_suite.get_observations(self.env, self, **kwargs)

    def _reset(self, seed: int) -> Any:  # noqa: ARG002 - a task made for one episode is set up already
        """Set up a new episode from this seed alone, and return the first observation.

        By default nothing is set up, and the observation comes from the sensors.
        """
        self._require_sensors("_reset")
        return self.get_observations()

    def _require_sensors(self, what: str) -> None:
        if not self.sensor_suite.sensors:
            raise NotImplementedError(f"{type(self).__name__} has neither sensors nor its own `{what}`")

    @abstractmethod
    def _step(self, action: Any) -> StepResult:
        """Play one action that `is_legal` accepted; `step` counts it afterwards."""

    @abstractmethod
    def reached_terminal_state(self) -> bool:
        """Return whether the episode has reached a terminal state (the step limit is not one)."""

    def is_legal(self, action: Any) -> bool:
        """Return whether an action may be played now."""
        try:
            return bool(self.action_space.contains(action))
        except OverflowError:  # older spaces convert a number before they compare it
            return False

    @final
    def reset(self, seed: int) -> Any:
        """Start a new episode, and return the first observation.

        Args:
            seed: determines everything random in the episode.
        """
        self._num_steps_taken = 0
        self._total_reward = 0.0
        return self._reset(seed)

    def step(self, action: Any) -> StepResult:
        """Play one action and count it; subclasses implement `_step`.

        The episode ends if `_step` says so, in a terminal state, and after `max_steps` steps.

        Args:
            action: a legal action; with several players, a mapping of those of the players who were asked.
        """
        assert not self.is_done(), "the episode is over: reset begins another"
        result = self._step(action)
        self._num_steps_taken += 1
        reward = result.reward
        if isinstance(reward, _LISTS):
            result = result._replace(reward=self._add_listed(reward))
        else:
            self._total_reward += reward if not isinstance(reward, Mapping) else sum(reward.values())
        at_limit = self.reached_max_steps()
        says_so = result.terminated and not (at_limit and isinstance(result, RLStepResult))
        terminated = bool(says_so or self.reached_terminal_state())
        truncated = bool(result.truncated or (not terminated and at_limit))
        if terminated is result.terminated and truncated is result.truncated:
            return result
        return result._replace(terminated=terminated, truncated=truncated)

    def _add_listed(self, rewards: Sequence[float]) -> Any:
        """Add the rewards of a list; return them by player, for a single one their mean."""
        before = self._total_reward if isinstance(self._total_reward, list) else [0.0] * len(rewards)
        self._total_reward = [float(old + new) for old, new in zip(before, rewards, strict=True)]
        if len(self.players) == 1:
            return sum(rewards) / len(rewards)
        if len(self.players) != len(rewards):
            raise UsageError(f"{self.id} paid {len(rewards)} rewards to {len(self.players)} players")
        return dict(zip(self.players, rewards, strict=True))

    def num_steps_taken(self) -> int:
        """Return the number of steps taken in this episode."""
        return self._num_steps_taken

    def reached_max_steps(self) -> bool:
        """Return whether the episode has reached its step limit."""
        return self._num_steps_taken >= self.max_steps

    def is_done(self) -> bool:
        """Return whether the episode is over, by a terminal state or by the step limit."""
        return self.reached_terminal_state() or self.reached_max_steps()

    @property
    def cumulative_reward(self) -> float:
        """The sum of the rewards of this episode so far, as a mean over the players."""
        total = self._total_reward
        return float(sum(total) / len(total)) if isinstance(total, list) else total / len(self.players)

    def result(self) -> bool | None:
        """Return `True` for solved, `False` for failed, `None` for a task that does not judge."""
        return None

    def metrics(self) -> dict[str, Any]:
        """Return metrics of the episode: length, reward and, if there is any, `task_info`."""
        own = {"ep_length": self._num_steps_taken, "reward": self.cumulative_reward}
        return own if self.task_info is _NO_INFO else {**own, "task_info": dict(self.task_info)}

    def render(self, mode: str = "rgb", *args: Any, **kwargs: Any) -> np.ndarray[Any, Any] | str:
        """Render the current state.

        Returns:
            an array uint8 (height, width, 3) for `rgb`, a text for `ansi`.

        Raises:
            NotImplementedError: the task does not have this mode.
        """
        raise NotImplementedError(
            f"task {self.id} has no render mode {mode!r}; it has {list(self.render_modes)}"
        )

    def query_expert(self, **kwargs: Any) -> tuple[Any, bool]:  # noqa: ARG002 - for experts with parameters
        """Return the action of an expert, and whether the expert knows one; by default it does not.

        Even if the second value is `False`, the first value of an expert lies in the action space (or is a
        policy of the right shape), so that it can be masked.
        """
        return None, False

    def action_names(self) -> tuple[str, ...]:
        """Return the names of the actions, from the class method `class_action_names`.

        Deprecated as in AllenAct: not every action space has names.

        Raises:
            NotImplementedError: the task defines no `class_action_names`.
        """
        line = "Task.action_names is deprecated since 0.1, and removed in 0.2: use class_action_names"
        warnings.warn(line, DeprecationWarning, stacklevel=2)
        if self.class_action_names is None:
            raise NotImplementedError(f"{type(self).__name__} defines no class_action_names")
        return tuple(self.class_action_names())

    def describe_action(self, action: Any, player: str | None = None) -> str:
        """Return the name of an action, from `class_action_names`; its value if it has none."""
        if self.class_action_names is None:
            return super().describe_action(action, player)
        space = self.action_space_of(self.players[0] if player is None else player)
        return name_of(action, self.class_action_names(), int(getattr(space, "start", 0)))

    def close(self) -> None:
        """Release resources of the task; a shared environment is closed by the sampler."""


class TaskSampler(ABC):
    """Base class of task schedulers: decides which task comes next.

    The tasks may share an environment, and may be made anew for each `next_task`: the kernel no longer uses
    a task when it requests the next one.
    """

    __class_getitem__: ClassVar[Any] = classmethod(GenericAlias)

    @property
    @abstractmethod
    def length(self) -> float:
        """The number of tasks that can still be sampled; `math.inf` without an end."""

    @property
    @abstractmethod
    def last_sampled_task(self) -> Task | None:
        """The task that `next_task` returned last."""

    @abstractmethod
    def next_task(self, force_advance_scene: bool = False) -> Task | None:
        """Return the next task, or `None` if there are no more.

        Args:
            force_advance_scene: take a new scene for it, if the sampler has scenes.
        """

    @property
    @abstractmethod
    def all_observation_spaces_equal(self) -> bool:
        """True if all tasks that can be sampled have the same observation space."""

    @abstractmethod
    def reset(self) -> None:
        """Return to the original state, except for the seed."""

    @abstractmethod
    def set_seed(self, seed: int) -> None:
        """Set the seed of random choices."""

    @abstractmethod
    def close(self) -> None:
        """Close all open tasks; each task is closed once, here or when the next one was sampled."""

    def report(self, outcome: Outcome) -> None:  # noqa: B027 - many samplers ignore outcomes
        """Take the outcome of the last task; a sampler that adapts overrides this."""
