"""A task that is an actor: it waits a random time, shows a light, and pays an agent that reacts fast enough.

    flagfall run --config examples/reaction_time.py --agent examples/reaction_time.py:Quick --journal r.jsonl
    flagfall verify r.jsonl --config examples/reaction_time.py

Most tasks are machines with a `step`. This one has `async run` instead: it waits by itself between its turns,
and gives a turn up when the agent takes too long. `verify` runs it again on a virtual clock, where the
recorded answers come at their recorded times.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Final

import trio

from flagfall.tasks import AskTurns, SequentialTaskScheduler, StepResult

DARK, LIGHT = range(2)
WAIT, PRESS = range(2)

ROUNDS: Final = 5
PATIENCE_SECONDS: Final = 0.25
"""The longest time in which an answer still counts; simple human reactions take about 0.2 s."""


class ReactionTime:
    """Shows `DARK`, then `LIGHT` after 0.1 to 0.5 s; pays 1 for each light at which `PRESS` comes in time."""

    id = "reaction-time"
    players = ("player_0",)
    continuous = False
    nil_action = WAIT

    def __init__(self) -> None:
        self._random = Random(0)
        self._caught = 0

    def is_legal(self, action: Any) -> bool:
        """Return whether it is `WAIT` or `PRESS`."""
        return type(action) is int and action in {WAIT, PRESS}

    def reset(self, seed: int) -> int:
        """Begin again in the dark."""
        self._random = Random(seed)
        self._caught = 0
        return DARK

    def step(self, _action: int) -> StepResult:
        """Never called: the task is an actor.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError

    async def run(self, turns: AskTurns) -> None:
        """Play `ROUNDS` rounds."""
        reward = 0
        for _ in range(ROUNDS):
            early = await turns.ask(DARK, reward)
            reward = 0
            await trio.sleep(self._random.uniform(0.1, 0.5))
            with trio.move_on_after(PATIENCE_SECONDS):
                if await turns.ask(LIGHT) == PRESS and early != PRESS:
                    reward = 1
            self._caught += reward
        await turns.ask(DARK, reward)

    def result(self) -> bool:
        """Return whether every light was caught."""
        return self._caught == ROUNDS

    def metrics(self) -> Mapping[str, Any]:
        """Return the number of lights that were caught."""
        return {"caught": self._caught}

    def close(self) -> None:
        """Do nothing: it holds nothing."""


class Quick:
    """Waits in the dark, and presses 20 ms after it sees the light, but 0.3 s after every third one."""

    def __init__(self) -> None:
        self._lights = 0

    async def act(self, observation: int) -> int:
        """Return the action for what is shown."""
        if observation == DARK:
            return WAIT
        self._lights += 1
        await trio.sleep(0.02 if self._lights % 3 else 0.3)
        return PRESS


def create_tasks() -> SequentialTaskScheduler:
    """Return what `--config` takes: the task, three times."""
    tasks: list[Any] = [ReactionTime()]
    return SequentialTaskScheduler(tasks, rounds=3)
