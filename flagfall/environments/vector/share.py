"""The environments of one worker, stepped one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, iterate
from numpy.typing import NDArray

from flagfall.environments.vector.layout import NotUniform, as_columns, batch_of, write
from flagfall.errors import UsageError

Infos: TypeAlias = list[tuple[int, dict[str, Any]]]
Mask: TypeAlias = NDArray[np.bool_]


class SubEnvironmentError(Exception):
    """One environment, by its number in its share, failed; its error is the cause."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


class Results(NamedTuple):
    """Arrays for the results of a share, in shared memory.

    Attributes:
        observations: arrays in the structure of the space; `None` if the space has no layout.
        rewards: float64, (n,).
        terminations: bool, (n,).
        truncations: bool, (n,).
    """

    observations: Any
    rewards: NDArray[np.float64]
    terminations: Mask
    truncations: Mask


class EnvShare:
    """Share of single environments; does with them what `gymnasium.vector.SyncVectorEnv` does."""

    def __init__(
        self, makers: Sequence[Callable[[], gymnasium.Env[Any, Any]]], autoreset_mode: AutoresetMode
    ) -> None:
        self._mode = autoreset_mode
        self._envs: list[gymnasium.Env[Any, Any]] = []
        try:
            for index, make in enumerate(makers):
                with _blamed(index):
                    self._envs.append(make())
                    self._check_spaces(index)
        except SubEnvironmentError:
            self.close()
            raise
        first = self._envs[0]
        self.metadata: dict[str, Any] = {**first.metadata, "autoreset_mode": autoreset_mode}
        self.render_mode: str | None = first.render_mode
        self.single_observation_space: gymnasium.Space[Any] = first.observation_space
        self.single_action_space: gymnasium.Space[Any] = first.action_space
        self._action_space = batch_space(self.single_action_space, len(makers))
        self._seen: list[Any] = [None] * len(makers)
        self._infos: Infos = []

    def _check_spaces(self, index: int) -> None:
        env, first = self._envs[index], self._envs[0]
        for kind in ("observation_space", "action_space"):
            mine, expected = getattr(env, kind), getattr(first, kind)
            if mine != expected:
                raise UsageError(f"its {kind} is {mine}, and that of others is {expected}: give equal ones")

    def reset(
        self,
        seeds: Sequence[int | None],
        options: dict[str, Any] | None,
        mask: Mask | None,
        results: Results,
    ) -> Any:
        """Start episodes; see `gymnasium.vector.VectorEnv.reset`.

        Args:
            options: for each environment, without `reset_mask`.
            mask: the environments to reset; `None` for all.

        Returns:
            the observations, if `results` has no arrays for them; otherwise `None`.
        """
        self._infos = []
        for index, (env, seed) in enumerate(zip(self._envs, seeds, strict=True)):
            if mask is None or mask[index]:
                with _blamed(index):
                    self._seen[index], info = env.reset(seed=seed, options=options)
                results.terminations[index] = results.truncations[index] = False
                if info:
                    self._infos.append((index, info))
        return self._show(results)

    def step(self, actions: Any, results: Results) -> Any:
        """Play a step in every environment; see `gymnasium.vector.VectorEnv.step`.

        Args:
            actions: a batch; or a list with an action for each environment.

        Returns:
            as `reset`.
        """
        rewards, terminations, truncations = results.rewards, results.terminations, results.truncations
        begins = terminations | truncations if self._mode is AutoresetMode.NEXT_STEP else None
        same_step = self._mode is AutoresetMode.SAME_STEP
        seen, self._infos = self._seen, []
        each = actions if isinstance(actions, list) else iterate(self._action_space, actions)
        index = 0
        try:
            for index, (env, action) in enumerate(zip(self._envs, each, strict=True)):
                if begins is not None and begins[index]:
                    seen[index], info = env.reset()
                    rewards[index] = 0.0
                    terminations[index] = truncations[index] = False
                else:
                    seen[index], rewards[index], terminated, truncated, info = env.step(action)
                    terminations[index] = terminated
                    truncations[index] = truncated
                    if same_step and (terminated or truncated):
                        self._infos.append((index, {"final_obs": seen[index], "final_info": info}))
                        seen[index], info = env.reset()
                if info:
                    self._infos.append((index, info))
        except Exception as error:
            raise SubEnvironmentError(index) from error
        return self._show(results)

    def _show(self, results: Results) -> Any:
        if results.observations is None:
            return self._seen
        try:
            concatenate(self.single_observation_space, self._seen, results.observations)
        except Exception:
            for index, value in enumerate(self._seen):
                with _blamed(index):
                    batch_of(self.single_observation_space, [value])
            raise
        return None

    def columns(self) -> dict[str, Any] | None:
        """Return the infos of the last step or reset as columns; `None` if they have no such form."""
        try:
            return as_columns(self._infos, len(self._envs))
        except NotUniform:
            return None

    def infos(self) -> Infos:
        """Return the infos of the last step or reset, one after the other."""
        return self._infos

    def call(self, name: str, arguments: Sequence[Any], options: dict[str, Any]) -> list[Any]:
        """Return an attribute of every environment, or the result of calling it."""
        results = []
        for index, env in enumerate(self._envs):
            with _blamed(index):
                value = env.get_wrapper_attr(name)
                results.append(value(*arguments, **options) if callable(value) else value)
        return results

    def set(self, name: str, values: Sequence[Any]) -> None:
        """Set an attribute of every environment."""
        for index, (env, value) in enumerate(zip(self._envs, values, strict=True)):
            with _blamed(index):
                env.set_wrapper_attr(name, value)

    def close(self) -> None:
        """Close all environments, then raise the first error."""
        envs, self._envs = self._envs, []
        failed: SubEnvironmentError | None = None
        for index, env in enumerate(envs):
            try:
                with _blamed(index):
                    env.close()
            except SubEnvironmentError as error:
                failed = failed or error
        if failed is not None:
            raise failed


class BatchShare:
    """Share that is a vector environment itself, such as a batch in numpy.

    It has the interface of `EnvShare`.

    Raises:
        UsageError: it has another number of environments.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], count: int) -> None:
        if env.num_envs != count:
            env.close()
            raise UsageError(f"env_fns({count}) made {env.num_envs} environments")
        self._env = env
        self.metadata: dict[str, Any] = dict(env.metadata)
        self.render_mode: str | None = env.render_mode
        self.single_observation_space: gymnasium.Space[Any] = env.single_observation_space
        self.single_action_space: gymnasium.Space[Any] = env.single_action_space
        self._seen: Any = None
        self._columns: dict[str, Any] = {}

    def reset(
        self,
        seeds: Sequence[int | None],
        options: dict[str, Any] | None,
        mask: Mask | None,
        results: Results,
    ) -> Any:
        """Start episodes; see `EnvShare.reset`."""
        self._columns = {}
        if mask is None or mask.any():
            own = None if all(seed is None for seed in seeds) else list(seeds)
            chosen = options if mask is None else {**(options or {}), "reset_mask": mask}
            self._seen, self._columns = self._env.reset(seed=own, options=chosen)  # type: ignore[arg-type]  # as SyncVectorEnv
            results.terminations[mask if mask is not None else slice(None)] = False
            results.truncations[mask if mask is not None else slice(None)] = False
        return self._show(results)

    def step(self, actions: Any, results: Results) -> Any:
        """Play a step in every environment; see `EnvShare.step`."""
        if isinstance(actions, list):
            actions = batch_of(self.single_action_space, actions)
        self._seen, *ends, self._columns = self._env.step(actions)
        results.rewards[:], results.terminations[:], results.truncations[:] = ends
        return self._show(results)

    def _show(self, results: Results) -> Any:
        if results.observations is None:
            return list(iterate(self._env.observation_space, self._seen))
        write(self._seen, into=results.observations)
        return None

    def columns(self) -> dict[str, Any]:
        """Return the infos as columns; see `EnvShare.columns`."""
        return self._columns

    def infos(self) -> Infos:
        """Raise an error: a batch has its infos as columns only."""
        raise UsageError("the infos of the batches of two workers have different types")

    def call(self, name: str, arguments: Sequence[Any], options: dict[str, Any]) -> list[Any]:
        """Return the pictures of `render`, the only attribute of single environments."""
        if name != "render":
            raise UsageError(f"{name}: a batch has no single environments to ask for it")
        return list(self._env.render(*arguments, **options) or [None] * self._env.num_envs)

    def set(self, name: str, values: Sequence[Any]) -> None:
        """Raise an error: a batch has no single environments."""
        del values
        raise UsageError(f"{name}: a batch has no single environments to set it in")

    def close(self) -> None:
        """Close the vector environment."""
        self._env.close()


@contextmanager
def _blamed(index: int) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise SubEnvironmentError(index) from error
