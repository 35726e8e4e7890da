"""Environments as their makers write them: all spaces, arrays used again, seeds ignored, players who die."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv, ParallelEnv

EVERY_SPACE = spaces.Dict(
    {
        "box": spaces.Box(-1, 1, (2, 3)),
        "scalar": spaces.Box(0, 9, (), np.float64),
        "discrete": spaces.Discrete(5, start=-2),
        "binary": spaces.MultiBinary([2, 2]),
        "multi": spaces.MultiDiscrete([3, 4]),
        "tuple": spaces.Tuple([spaces.Discrete(3), spaces.Tuple([spaces.Text(4), spaces.Box(0, 1, (1,))])]),
        "text": spaces.Text(8, min_length=0),
        "sequence": spaces.Sequence(spaces.Discrete(4)),
        "stacked": spaces.Sequence(spaces.Box(0, 1, (2,)), stack=True),
        "one of": spaces.OneOf([spaces.Discrete(3), spaces.Box(-5, 5, (2,))]),
        "graph": spaces.Graph(spaces.Box(-1, 1, (2,)), spaces.Discrete(3)),
        "dict": spaces.Dict({"inner": spaces.Discrete(2)}),
    }
)


class Everything(gymnasium.Env[Any, Any]):
    """Shows a value of every space, and takes one of every space; pays for what it was given."""

    def __init__(self, length: int = 4) -> None:
        self.observation_space = deepcopy(EVERY_SPACE)
        self.action_space = deepcopy(EVERY_SPACE)
        self.length = length
        self.taken: list[Any] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:  # noqa: ARG002
        self.taken = []
        self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        assert action in self.action_space, action
        self.taken.append(action)
        paid = np.float32(action["box"].sum()) + len(action["text"]) + len(action["sequence"])
        over = len(self.taken) == self.length
        ended: Any = np.bool_(over)
        return self.observation_space.sample(), paid, ended, False, {"is_success": np.True_}


class Reused(gymnasium.Env[Any, Any]):
    """Shows one and the same array, which is its state; three steps, then it is cut."""

    observation_space = spaces.Box(-100, 100, (2,), np.int64)
    action_space = spaces.Discrete(3, start=-1)

    def __init__(self) -> None:
        self.state = np.zeros(2, np.int64)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:  # noqa: ARG002
        self.state[:] = 0, (seed or 0) % 7
        return self.state, {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        assert type(action) is int
        self.state += [1, action]
        return self.state, np.float64(action), False, bool(self.state[0] == 3), {}


class Unseeded(Reused):
    """Goes its own way, whatever the seed."""

    made = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:  # noqa: ARG002
        Unseeded.made += 1
        return super().reset(seed=Unseeded.made)


class WithNoop(Reused):
    def get_action_meanings(self) -> list[str]:
        return ["FIRE", "NOOP", "LEFT"]


class Masked(Reused):
    """Says in its info that only the action of the step's number is allowed; in the first one, all are."""

    action_space = spaces.Discrete(3)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        shown, paid, over, cut, _ = super().step(action)
        mask = np.zeros(3, np.int8)
        mask[shown[0] % 3] = 1
        return shown, paid, over, cut, {"action_mask": mask}


class Hunt(ParallelEnv[str, Any, Any]):  # type: ignore[misc]  # PettingZoo has no types
    """Three players with spaces of their own. One a step dies, the last but one step on; the last is cut."""

    metadata = {"name": "hunt_v0", "render_modes": []}  # noqa: RUF012 - as PettingZoo has it

    def __init__(self, length: int = 3, players: int = 3) -> None:
        self.possible_agents = [f"hunter_{number}" for number in range(players)]
        self.agents: list[str] = []
        self.length = length
        self.state_array = np.zeros(2, np.float32)
        self.shown = spaces.Box(-1000, 1000, (2,), np.float32)
        self.moves = {agent: spaces.Discrete(2 + place) for place, agent in enumerate(self.possible_agents)}

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        del agent
        return self.shown

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Two actions for the first, three for the second, four for the third."""
        return self.moves[agent]

    def reset(self, seed: int | None = None, options: Any = None) -> Any:  # noqa: ARG002
        self.agents = list(self.possible_agents)
        self.steps = 0
        self.state_array[:] = 0, (seed or 0) % 11
        return dict.fromkeys(self.agents, self.state_array), {agent: {} for agent in self.agents}

    def step(self, actions: Any) -> Any:
        assert actions.keys() == set(self.agents)
        self.steps += 1
        self.state_array += [1, sum(actions.values())]
        alive = list(self.agents)
        dies = alive[0] if len(alive) > 1 else None
        cut = self.steps == self.length
        self.agents = [] if cut else [agent for agent in alive if agent != dies]
        return (
            dict.fromkeys(alive, self.state_array),
            {agent: np.float32(10 * self.steps + actions[agent]) for agent in alive},
            {agent: agent == dies for agent in alive},
            dict.fromkeys(alive, cut),
            {agent: {} for agent in alive},
        )


class Countdown(AECEnv[str, Any, Any]):  # type: ignore[misc]  # PettingZoo has no types
    """Players take 1 or 2 from a heap in turn; with an empty heap, who is next to move has lost, and is out.

    With three players the others play on with a new heap, until one is left. The mask is in the info.
    """

    metadata = {"name": "countdown_v0", "render_modes": []}  # noqa: RUF012 - as PettingZoo has it

    def __init__(self, heap: int = 4, players: int = 3) -> None:
        super().__init__()
        self.possible_agents = [f"player_{number}" for number in range(players)]
        self.agents: list[str] = []
        self.size = heap
        self.shown = spaces.Box(0, 20, (1,), np.int8)
        self.moves = spaces.Discrete(2, start=1)
        self.infos: dict[str, Any] = {}

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        del agent
        return self.shown

    def action_space(self, agent: str) -> spaces.Space[Any]:
        del agent
        return self.moves

    def observe(self, agent: str) -> Any:
        del agent
        return np.array([self.heap], np.int8)

    def reset(self, seed: int | None = None, options: Any = None) -> None:  # noqa: ARG002
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.heap = self.size + (seed or 0) % 3
        self.agent_selection = self.agents[0]
        self._tell_mask()

    def _tell_mask(self) -> None:
        mask = np.array([self.heap >= 1, self.heap >= 2], np.int8)
        self.infos = {agent: {"action_mask": mask} for agent in self.agents}

    def step(self, action: Any) -> None:
        player = self.agent_selection
        if self.terminations[player]:
            self._was_dead_step(action)
            return
        assert 1 <= action <= self.heap
        self._cumulative_rewards[player] = 0
        self._clear_rewards()
        self.heap -= action
        after, then = (self.agents[(self.agents.index(player) + by) % len(self.agents)] for by in (1, 2))
        self.agent_selection = after
        if self.heap == 0:
            self.agent_selection = then
            self.rewards = {agent: -1 if agent == after else 1 for agent in self.agents}
            self.terminations[after] = True
            self.heap = self.size
            if len(self.agents) == 2:
                self.terminations[player] = True
        self._tell_mask()
        self._accumulate_rewards()
        self._deads_step_first()


def env(**options: Any) -> AECEnv[str, Any, Any]:
    return Countdown(**options)


def parallel_env(**options: Any) -> ParallelEnv[str, Any, Any]:
    return Hunt(**options)
