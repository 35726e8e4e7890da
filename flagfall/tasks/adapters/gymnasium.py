"""Gymnasium environments as tasks: `gym:CartPole-v1`, or `GymnasiumTask(env)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import gymnasium

from flagfall.errors import UsageError, suggest
from flagfall.kernel.outcomes import StepResult
from flagfall.tasks.adapters.environment_task import EnvironmentTask, finite_reward, made_for_pictures
from flagfall.tasks.adapters.imports import import_named, own_options
from flagfall.tasks.adapters.space_values import (
    MASK_KEY,
    NotOfSpace,
    check_writable,
    contains,
    default_action,
    frozen_copy,
    has_mask,
    is_allowed,
    mask_of,
    read,
    with_mask,
    with_mask_space,
)
from flagfall.texts import parse_text

PREFIX: Final = "gym:"

_OUR_IDS: Final = "flagfall/"
_OUR_MODULE: Final = "flagfall.environments:"
"""Gymnasium imports the module before a colon; this one registers the ids of flagfall."""

_NOOP: Final = "NOOP"
"""The meaning of doing nothing, in environments with `get_action_meanings`."""


class GymnasiumTask(EnvironmentTask):
    """A Gymnasium environment as a task for one player.

    Observations are read-only copies. Actions may have the form of JSON or MessagePack
    (`flagfall.tasks.adapters.space_values`). The result is `is_success` of the last info, if there is one.

    The first reset resets the environment twice with the same seed, to check that it follows the seed. If it
    does not, `not_repeatable` and the metric `ignores_seed` say so.

    Args:
        env: the environment; the task closes it.
        id: the text from which the task can be made again, `gym:...`; by default `gym:` and the spec's id.
        nil: the action that is played for an agent that is late, wrong or absent. By default: the action that
            the environment calls `NOOP`; else the lowest one (`default_action`). If a shown mask forbids it,
            the lowest allowed action is played instead.
        action_mask: show the mask from the info, and enforce it: observations become
            `{"observation": ..., "action_mask": ...}`. A mask that is part of the observations already is
            enforced in any case.

    Raises:
        UsageError: the values of the environment cannot be recorded, or `nil` is not one of its actions.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        id: str | None = None,  # noqa: A002 - as everywhere
        *,
        nil: Any = None,
        action_mask: bool = False,
    ) -> None:
        name = type(env).__name__ if env.spec is None else env.spec.id
        super().__init__(env, id or PREFIX + name, action_mask)
        self._action_space = env.action_space
        space = env.observation_space
        self._observation_space = with_mask_space(self.id, space, env.action_space) if action_mask else space
        check_writable(self._observation_space, "observations")
        check_writable(self._action_space, "actions")
        self.nil_action: Any = self._choose_nil(nil)
        self._mask: Any = None
        self._over = False
        self._result: bool | None = None

    def _choose_nil(self, nil: Any) -> Any:
        space = self._action_space
        if nil is not None:
            if not contains(space, nil):
                raise UsageError(f"{self.id}: nil={nil!r} is not an action of {space}")
            return frozen_copy(read(space, nil))
        meanings: list[str] = getattr(self.env.unwrapped, "get_action_meanings", list)()
        if _NOOP in meanings:
            return int(getattr(space, "start", 0)) + meanings.index(_NOOP)
        if has_mask(self._observation_space):
            return None  # the lowest action that is allowed at that time
        try:
            return frozen_copy(default_action(space))
        except NotOfSpace as error:
            raise UsageError(f"{self.id}: {error}; set nil=, the action for an agent that is late") from None

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """The action space of the environment."""
        return self._action_space

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """The observation space of the environment, with the mask if `action_mask` is set."""
        return self._observation_space

    def is_legal(self, action: Any) -> bool:
        """Return whether an action lies in the action space and is allowed by the shown mask."""
        return contains(self._action_space, action) and is_allowed(self._action_space, self._mask, action)

    def _reset(self, seed: int) -> Any:
        self._over, self._result = False, None
        observation, info = self._started(
            lambda number: self.env.reset(seed=number), seed, lambda begun: begun[0]
        )
        return self._shown(observation, info)

    def _step(self, action: Any) -> StepResult:
        if action is None or not is_allowed(self._action_space, self._mask, action):  # only possible for NIL
            action = default_action(self._action_space, self._mask)
        observation, reward, terminated, truncated, info = self.env.step(read(self._action_space, action))
        self._over = bool(terminated)
        if terminated or truncated:
            success = info.get("is_success")
            self._result = None if success is None else bool(success)
        shown = self._shown(observation, info)
        return StepResult(shown, finite_reward(reward), self._over, bool(truncated), info)

    def _shown(self, observation: Any, info: Mapping[str, Any]) -> Any:
        if self._shows_mask:
            observation = with_mask(observation, info.get(MASK_KEY), self._action_space)
        shown = frozen_copy(observation)
        self._mask = mask_of(shown)
        return shown

    def reached_terminal_state(self) -> bool:
        """Return whether the environment has terminated the episode."""
        return self._over

    def result(self) -> bool | None:
        """Return `is_success` of the last info; `None` if there is none."""
        return self._result


def make_gymnasium_task(text: str) -> GymnasiumTask:
    """Make the task of a Gymnasium environment.

    The options `nil` and `action_mask` are those of `GymnasiumTask`; all others go to `gymnasium.make`.

    Args:
        text: such as `gym:CartPole-v1`; see `flagfall.tasks.adapters.environment_task`.

    Raises:
        UsageError: there is no such environment, or it cannot be made with these options.
    """
    name, options = parse_text(text)
    name = name.removeprefix(PREFIX)
    own = own_options(options)
    try:
        module = _OUR_MODULE if name.startswith(_OUR_IDS) else ""
        named, colon, env_id = name.partition(":")
        if colon:
            import_named(named)
            name = env_id
        env_id = module + name

        def make(**chosen: Any) -> gymnasium.Env[Any, Any]:
            return gymnasium.make(env_id, disable_env_checker=True, **chosen)

        env = made_for_pictures(make, options, {**options, "render_mode": None})
    except gymnasium.error.UnregisteredEnv as error:
        hint = suggest(name, gymnasium.registry)
        raise UsageError(f"{text}: unknown Gymnasium environment {name!r}{hint}") from error
    except Exception as error:
        raise UsageError(f"{text} cannot be made: {type(error).__name__}: {error}") from error
    try:
        return GymnasiumTask(env, text, **own)
    except UsageError:
        env.close()
        raise
