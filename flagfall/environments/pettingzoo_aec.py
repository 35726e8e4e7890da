"""Tasks for several players as PettingZoo environments in turns (AEC); requires the extra `pettingzoo`."""

from __future__ import annotations

__all__ = ["TaskAECEnv"]

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from pettingzoo import AECEnv

from flagfall.environments.gymnasium_env import own_copy
from flagfall.environments.pettingzoo_env import TaskParallelEnv

if TYPE_CHECKING:
    from gymnasium.spaces import Space

    from flagfall.tasks.task import Task


class TaskAECEnv(AECEnv[str, Any, Any]):  # type: ignore[misc]  # PettingZoo is not typed
    """One task as an environment in turns: of the players that a task asks, one after another acts.

    The task moves when all of them have acted, so in a game in turns it moves after each action. Seeds,
    illegal actions and the last `info` are as in `flagfall.environments.pettingzoo_env.TaskParallelEnv`.

    Args:
        task: the task; the environment closes it.
        render_mode: as for `flagfall.environments.gymnasium_env.TaskEnv`.

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
        """Return the observation space of a player.

        Args:
            agent: the player.
        """
        return self._together.observation_space(agent)

    def action_space(self, agent: str) -> Space[Any]:
        """Return the action space of a player.

        Args:
            agent: the player.
        """
        return self._together.action_space(agent)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode; see `pettingzoo.AECEnv.reset`.

        Args:
            seed: the seed of the episode; `None` to draw one.
            options: not used.
        """
        self._shown, infos = self._together.reset(seed, options)
        self.agents = list(self.possible_agents)
        self.rewards: dict[str, float] = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations: dict[str, bool] = dict.fromkeys(self.agents, False)
        self.truncations: dict[str, bool] = dict.fromkeys(self.agents, False)
        self._ask(infos)

    def observe(self, agent: str) -> Any:
        """Return the newest observation of a player.

        Args:
            agent: the player.
        """
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
