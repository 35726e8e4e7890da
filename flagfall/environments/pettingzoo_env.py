"""Tasks for several players as PettingZoo environments, parallel and in turns (AEC)."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
from pettingzoo import AECEnv, ParallelEnv

from flagfall.environments.gymnasium_env import SEEDS, end_of, own_copy, pictures_of
from flagfall.errors import UsageError
from flagfall.tasks.adapters.space_values import contains, default_action
from flagfall.tasks.task import Task

if TYPE_CHECKING:
    from gymnasium.spaces import Space


class TaskParallelEnv(ParallelEnv[str, Any, Any]):  # type: ignore[misc]  # PettingZoo is not typed
    """One task as an environment; its players are the agents, all of which live until the episode is over.

    If a task asks only some of its players, the actions of the others are ignored and their last observation
    is repeated (before the first one, the lowest value of their space: zeros); `info` has `asked` for each.
    Seeds, illegal actions, and the last `info` are as in `flagfall.environments.gymnasium_env.TaskEnv`.

    Args:
        task: the task; the environment closes it.

    Raises:
        UsageError: the task is for one player, or does not have this render mode.
    """

    metadata: dict[str, Any] = {"name": "flagfall", "render_modes": []}  # noqa: RUF012 - as PettingZoo has it

    def __init__(self, task: Task, render_mode: str | None = None) -> None:
        if len(task.players) == 1:
            raise UsageError(f"{task.id} is for one player: use flagfall.environments.gymnasium_env.TaskEnv")
        pictures = pictures_of(task, render_mode)
        self.metadata = {**self.metadata, "name": task.id, "render_modes": list(pictures)}
        self.task = task
        self.render_mode = render_mode
        self.possible_agents: list[str] = list(task.players)
        self.agents: list[str] = []
        # Copies, because seeding the spaces of one environment must not affect another one.
        self.action_spaces: dict[str, Space[Any]] = {
            player: deepcopy(task.action_space_of(player)) for player in task.players
        }
        self.observation_spaces: dict[str, Space[Any]] = {
            player: deepcopy(task.observation_space_of(player)) for player in task.players
        }
        self._random = np.random.default_rng()
        self._picture = None if render_mode is None else pictures[render_mode]
        self._shown: dict[str, Any] = {}
        self._asked: set[str] = set()

    def observation_space(self, agent: str) -> Space[Any]:
        """Return the observation space of a player."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space[Any]:
        """Return the action space of a player."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start an episode; see `pettingzoo.ParallelEnv.reset`."""
        del options
        if seed is None:
            seed = int(self._random.integers(SEEDS))
        else:
            self._random = np.random.default_rng(seed)
        self.agents = list(self.possible_agents)
        self._shown = {player: default_action(self.observation_spaces[player]) for player in self.agents}
        self._see(self.task.reset(seed))
        return own_copy(self._shown), self._infos({})

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """Play a step; see `pettingzoo.ParallelEnv.step`.

        Args:
            actions: the action of every player that was asked; others are ignored.

        Raises:
            UsageError: the action of a player that was asked is missing or does not lie in its space.
        """
        agents = list(self.agents)
        chosen, illegal = self._actions(actions)
        result = self.task.step(chosen)
        self._see(result.observation)
        rewards = result.reward if isinstance(result.reward, Mapping) else {}
        ends = end_of(self.task) if result.done else {}
        if result.done:
            self.agents = []
        infos = self._infos(ends)
        for player in illegal:
            infos[player]["illegal"] = True
        return (
            {player: own_copy(self._shown[player]) for player in agents},
            {player: float(rewards.get(player, 0)) for player in agents},
            dict.fromkeys(agents, result.terminated),
            dict.fromkeys(agents, result.truncated),
            infos,
        )

    def _actions(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Return the actions of the players that were asked, and the players whose action is illegal now."""
        judge = self.task.is_legal_for
        chosen, illegal = {}, []
        for player in self.possible_agents:
            if player not in self._asked:
                continue
            if player not in actions:
                raise UsageError(f"{self.task.id}: {player} was asked, and its action is missing")
            action, space = actions[player], self.action_spaces[player]
            legal = self.task.is_legal(action) if judge is None else judge(player, action)
            if not legal and not contains(space, action):
                raise UsageError(
                    f"{action!r} is not an action of {player} in {self.task.id}: it takes {space}"
                )
            chosen[player] = action if legal else self.task.nil_action
            illegal += [] if legal else [player]
        return chosen, illegal

    def _see(self, observation: Any) -> None:
        shown = observation if isinstance(observation, Mapping) else {}
        self._asked = set(shown)
        self._shown.update(shown)

    def _infos(self, ends: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        return {player: {"asked": player in self._asked, **ends} for player in self.possible_agents}

    def render(self) -> Any:
        """Render the task in the mode `render_mode`: an array or a text."""
        return None if self._picture is None else self.task.render(self._picture)

    def close(self) -> None:
        """Close the task."""
        self.task.close()


class TaskAECEnv(AECEnv[str, Any, Any]):  # type: ignore[misc]  # PettingZoo is not typed
    """One task as an environment in turns: of the players that a task asks, one after another acts.

    The task moves when all of them have acted, so in a game in turns it moves after each action. Seeds,
    illegal actions and the last `info` are as in `flagfall.environments.pettingzoo_env.TaskParallelEnv`.

    Args:
        task: the task; the environment closes it.

    Raises:
        UsageError: the task is for one player, or does not have this render mode.
    """

    metadata: dict[str, Any] = {"name": "flagfall", "render_modes": [], "is_parallelizable": False}  # noqa: RUF012

    def __init__(self, task: Task, render_mode: str | None = None) -> None:
        super().__init__()
        self._together = TaskParallelEnv(task, render_mode)
        self.metadata = {**self.metadata, **self._together.metadata}
        self.task = task
        self.render_mode = render_mode
        self.possible_agents: list[str] = list(self._together.possible_agents)
        self.agents: list[str] = []
        self.agent_selection: str = self.possible_agents[0]
        self._shown: dict[str, Any] = {}
        self._chosen: dict[str, Any] = {}
        self._waiting: list[str] = []

    def observation_space(self, agent: str) -> Space[Any]:
        """Return the observation space of a player."""
        return self._together.observation_space(agent)

    def action_space(self, agent: str) -> Space[Any]:
        """Return the action space of a player."""
        return self._together.action_space(agent)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode; see `pettingzoo.AECEnv.reset`."""
        self._shown, infos = self._together.reset(seed, options)
        self.agents = list(self.possible_agents)
        self.rewards: dict[str, float] = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations: dict[str, bool] = dict.fromkeys(self.agents, False)
        self.truncations: dict[str, bool] = dict.fromkeys(self.agents, False)
        self._ask(infos)

    def observe(self, agent: str) -> Any:
        """Return the newest observation of a player."""
        return own_copy(self._shown[agent])

    def step(self, action: Any) -> None:
        """Play the action of `agent_selection`; see `pettingzoo.AECEnv.step`.

        Args:
            action: its action; `None` for a player whose episode is over.

        Raises:
            UsageError: the action does not lie in the player's space.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        self._chosen[agent] = action
        if self._waiting:
            self._clear_rewards()
            self.agent_selection = self._waiting.pop(0)
            return
        shown, self.rewards, self.terminations, self.truncations, infos = self._together.step(self._chosen)
        self._shown |= shown
        self._accumulate_rewards()
        self._ask(infos)

    def _ask(self, infos: dict[str, dict[str, Any]]) -> None:
        self.infos: dict[str, dict[str, Any]] = deepcopy(infos)
        asked = [player for player in self.agents if infos[player]["asked"]] or self.agents
        self._chosen = {}
        self.agent_selection, *self._waiting = asked
        if any(self.terminations.values()) or any(self.truncations.values()):
            self.agent_selection, self._waiting = self.agents[0], []

    def render(self) -> Any:
        """Render the task in the mode `render_mode`: an array or a text."""
        return self._together.render()

    def close(self) -> None:
        """Close the task."""
        self._together.close()
