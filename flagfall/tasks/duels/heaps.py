"""The game of Nim: players in turn take counters from one of three heaps, and who takes the last one wins."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, ClassVar, Final

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from flagfall.kernel.descriptions import has_shapes
from flagfall.kernel.outcomes import StepResult
from flagfall.tasks.task import Task

N_HEAPS: Final = 3
LARGEST: Final = 7
"""Most counters of a heap."""

N_ACTIONS: Final = N_HEAPS * LARGEST


class Heaps(Task):
    """Nim with three heaps of one to seven counters, drawn from the seed, as is the player who begins.

    Only the player to move is asked. An observation has `observation`, int8 (3,), the sizes of the heaps, and
    `action_mask`, int8 (21,). Action `7 * heap + count - 1` takes `count` counters from a heap. Who takes the
    last counter gets 1, and the other player -1. For an agent that is late the lowest legal action is played.
    The winning strategy is known (C. L. Bouton, "Nim, a game with a complete mathematical theory", 1901).
    """

    id = "duel:heaps"
    players: Sequence[str] = ("player_0", "player_1")
    instructions = (
        f"There are three heaps of one to {LARGEST} counters. You and your opponent take turns; in your turn "
        "take one or more counters from one heap. Who takes the last counter of all wins: 1 for the winner, "
        "-1 for the other player."
    )
    render_modes: ClassVar[Sequence[str]] = ("ansi",)
    nil_action = None

    action_space: spaces.Discrete[Any] = spaces.Discrete(N_ACTIONS)
    """Space of the numbers of actions; the mask has those that are legal."""

    observation_space: spaces.Dict = spaces.Dict(
        {
            "observation": spaces.Box(0, LARGEST, (N_HEAPS,), np.int8),
            "action_mask": spaces.Box(0, 1, (N_ACTIONS,), np.int8),
        }
    )
    """Space of the heaps and the mask."""

    def __init__(self) -> None:
        super().__init__()
        self.heaps: list[int] = [1] * N_HEAPS
        self.to_move: int = 0

    @classmethod
    def class_action_names(cls) -> tuple[str, ...]:
        """Return the names of the actions, by number."""
        heaps, counts = range(N_HEAPS), range(1, LARGEST + 1)
        return tuple(f"take {count} of heap {heap}" for heap in heaps for count in counts)

    def is_legal(self, action: Any) -> bool:
        """Return whether an action takes as many counters as the heap has, at most."""
        if action is None:
            return True
        is_number = isinstance(action, int | np.integer) and not isinstance(action, bool)
        if not is_number or not 0 <= action < N_ACTIONS:
            return False
        heap, count = _parts(int(action))
        return count <= self.heaps[heap]

    def _reset(self, seed: int) -> Any:
        random = Random(seed)
        self.heaps = [random.randint(1, LARGEST) for _ in range(N_HEAPS)]
        self.to_move = random.randrange(2)
        return self._shown()

    def _step(self, action: Any) -> StepResult:
        mover = self.players[self.to_move]
        chosen = action[mover]
        heap, count = _parts(next(filter(self.is_legal, range(N_ACTIONS))) if chosen is None else int(chosen))
        self.heaps[heap] -= count
        self.to_move = 1 - self.to_move
        if any(self.heaps):
            return StepResult(self._shown(), {mover: 0.0}, False, False, {})
        rewards = {mover: 1.0, self.players[self.to_move]: -1.0}
        return StepResult(self._shown(), rewards, True, False, {})

    def _shown(self) -> dict[str, Any]:
        mask = np.array([self.is_legal(action) for action in range(N_ACTIONS)], np.int8)
        shown = {"observation": np.array(self.heaps, np.int8), "action_mask": mask}
        return {self.players[self.to_move]: shown}

    def describe_observation(self, observation: Any, player: str | None = None) -> str:
        """Return the heaps as in `render`, and the actions that are possible."""
        is_own = has_shapes(observation, observation=(N_HEAPS,), action_mask=(N_ACTIONS,))
        if is_own and self.observation_space.contains(observation):
            observation = {**observation, "observation": _drawn(observation["observation"].tolist())}
        return super().describe_observation(observation, player)

    def reached_terminal_state(self) -> bool:
        """Return whether all heaps are empty."""
        return not any(self.heaps)

    def render(self, mode: str = "rgb", *args: Any, **kwargs: Any) -> NDArray[Any] | str:
        """Return the heaps as text (`ansi`)."""
        if mode != "ansi":
            return super().render(mode, *args, **kwargs)
        return f"{_drawn(self.heaps)}\n{self.players[self.to_move]} is to move"


def _drawn(heaps: Sequence[int]) -> str:
    return "\n".join(f"{number}  {'o' * size}" for number, size in enumerate(heaps))


def _parts(action: int) -> tuple[int, int]:
    """Return the heap and the number of counters of an action."""
    heap, rest = divmod(action, LARGEST)
    return heap, rest + 1
