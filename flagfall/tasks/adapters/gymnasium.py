"""Any Gymnasium environment as a task: `gym:CartPole-v1`, or `GymnasiumTask(env)`."""

from __future__ import annotations

__all__ = ["GymnasiumTask", "make_gymnasium_task"]

from collections.abc import Mapping
from typing import Any, Final

import gymnasium

from flagfall.errors import UsageError, nearest
from flagfall.kernel.channels.arrays import json_encoder
from flagfall.kernel.outcomes import StepResult
from flagfall.tasks.adapters.action_masks import (
    MASK_KEY,
    has_mask,
    is_allowed,
    mask_of,
    with_mask,
    with_mask_space,
)
from flagfall.tasks.adapters.checks import checked_flag, close_environment, finite_reward
from flagfall.tasks.adapters.env_spec import parse_text
from flagfall.tasks.adapters.imports import import_named
from flagfall.tasks.adapters.seeding import IGNORES_SEED, environment_seed, warn_of_ignored_seed
from flagfall.tasks.adapters.space_values import (
    NotOfSpace,
    check_writable,
    contains,
    default_action,
    frozen_copy,
    read,
)
from flagfall.tasks.task import Task

PREFIX: Final = "gym:"

_OUR_IDS: Final = "flagfall/"
_OUR_MODULE: Final = "flagfall.environments:"
"""Gymnasium imports what stands before a colon, which is where our ids are registered."""

_NOOP: Final = "NOOP"
"""What environments with `get_action_meanings` call doing nothing."""

_RENDER_MODES: Final = {"rgb": "rgb_array", "ansi": "ansi"}
_encode = json_encoder().encode


class GymnasiumTask(Task):
    """A Gymnasium environment, as a task for one player.

    Observations are copies that cannot be written to. Actions may come as JSON or MessagePack have them
    (`flagfall.tasks.adapters.space_values`). Where the environment says in its last info whether it
    `is_success`, that is the result.

    A task that is played for the first time resets its environment twice with the same seed, to see whether
    it goes by it: one reset more, once. `not_repeatable` and the metric `ignores_seed` say if it does not.

    Args:
        env: the environment; the task closes it.
        id: the text that it can be made of again, `gym:...`; by default `gym:` and the id of its spec.
        nil: what is played for an agent that is late, wrong or absent. By default: the action that the
            environment calls `NOOP`; else the lowest one (`default_action`). Where a mask is shown that forbids it,
            the lowest that the mask allows is played instead.
        action_mask: show the mask that the environment gives in its info, and hold agents to it:
            observations become `{"observation": ..., "action_mask": ...}`. A mask that the environment shows
            in its observations by itself is held to in any case.

    Raises:
        UsageError: its values cannot be recorded, or `nil` is no action of it.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        id: str | None = None,  # noqa: A002 - as everywhere
        *,
        nil: Any = None,
        action_mask: bool = False,
    ) -> None:
        self.id = id or PREFIX + (type(env).__name__ if env.spec is None else env.spec.id)
        super().__init__(env)
        self.not_repeatable: str | None = None
        self._action_space = env.action_space
        self._shows_mask = checked_flag(self.id, "action_mask", action_mask)
        space = env.observation_space
        self._observation_space = with_mask_space(self.id, space, env.action_space) if action_mask else space
        check_writable(self._observation_space, "observations")
        check_writable(self._action_space, "actions")
        self.nil_action = self._choose_nil(nil)
        self._mask: Any = None
        self._over = self._probed = False
        self._result: bool | None = None

    def _choose_nil(self, nil: Any) -> Any:
        space = self._action_space
        if nil is not None:
            if not contains(space, nil):
                raise UsageError(f"{self.id}: nil={nil!r} is no action of {space}")
            return frozen_copy(read(space, nil))
        meanings: list[str] = getattr(self.env.unwrapped, "get_action_meanings", list)()
        if _NOOP in meanings:
            return int(getattr(space, "start", 0)) + meanings.index(_NOOP)
        if has_mask(self._observation_space):
            return None  # whatever is the lowest that is allowed then
        try:
            return frozen_copy(default_action(space))
        except NotOfSpace as error:
            raise UsageError(f"{self.id}: {error}; add nil=, for an agent that is late") from None

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """The environment's own."""
        return self._action_space

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """The environment's own, with the mask beside it where that is asked for."""
        return self._observation_space

    def is_legal(self, action: Any) -> bool:
        """Whether it is of the action space, and allowed by the mask where one is shown."""
        return contains(self._action_space, action) and is_allowed(self._action_space, self._mask, action)

    def _reset(self, seed: int) -> Any:
        self._over, self._result = False, None
        observation, info = self.env.reset(seed=environment_seed(seed))
        if not self._probed:
            self._probed = True
            first = _encode(observation)
            observation, info = self.env.reset(seed=environment_seed(seed))
            if _encode(observation) != first:
                self.not_repeatable = IGNORES_SEED
                warn_of_ignored_seed(self.id)
        return self._shown(observation, info)

    def _step(self, action: Any) -> StepResult:
        if action is None or not is_allowed(self._action_space, self._mask, action):  # NIL alone can be that
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
        """Whether the environment terminated the episode."""
        return self._over

    def result(self) -> bool | None:
        """What the environment said of `is_success` at the end; `None` where it did not."""
        return self._result

    def metrics(self) -> dict[str, Any]:
        """Those of every task, and `ignores_seed` where that is so."""
        return super().metrics() | ({"ignores_seed": True} if self.not_repeatable else {})

    def render(self, mode: str = "rgb", *args: Any, **kwargs: Any) -> Any:
        """The environment's own picture, if it was made with this render mode."""
        if _RENDER_MODES.get(mode, mode) != self.env.render_mode:
            return super().render(mode, *args, **kwargs)
        return self.env.render()

    def close(self) -> None:
        """Close the environment."""
        close_environment(self.id, self.env)


def make_gymnasium_task(text: str) -> GymnasiumTask:
    """The task that a text such as `gym:CartPole-v1` means; see `flagfall.tasks.adapters.env_spec`.

    The options `nil` and `action_mask` are those of `GymnasiumTask`; all others go to `gymnasium.make`.

    Raises:
        UsageError: there is no such environment, or it cannot be made so.
    """
    name, options = parse_text(text)
    name = name.removeprefix(PREFIX)
    own = {key: options.pop(key) for key in ("nil", "action_mask") if key in options}
    try:
        module = _OUR_MODULE if name.startswith(_OUR_IDS) else ""
        named, colon, env_id = name.partition(":")
        if colon:
            import_named(named)
            name = env_id
        env = gymnasium.make(module + name, disable_env_checker=True, **options)
    except gymnasium.error.UnregisteredEnv as error:
        hint = nearest(name, gymnasium.registry)
        raise UsageError(f"{text}: unknown Gymnasium environment {name!r}{hint}") from error
    except Exception as error:
        raise UsageError(f"{text} cannot be made: {type(error).__name__}: {error}") from error
    try:
        return GymnasiumTask(env, text, **own)
    except UsageError:
        env.close()
        raise
