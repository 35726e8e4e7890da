"""Turns of a task that is an actor: asks for them one at a time, pays what is owed, and counts.

The kernel runs such a task with agents, a replay with recorded actions. Both use this file, so both count
alike.
"""

from __future__ import annotations

__all__ = ["ActorTurns", "run_actor"]

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import trio

from flagfall.kernel.requests import Actions, ActorResult, EndOfMatch, add_rewards
from flagfall.kernel.roles import AskTurns, TaskRole


class ActorTurns(AskTurns):
    """The turns of one episode.

    Args:
        play_turn: plays one turn with an observation and a reward, and returns the actions; raises
            `EndOfMatch`.
        owed: a reward from before, which comes with the first turn.

    Attributes:
        steps: the number of turns whose actions the task got.
        earned: the sum of the rewards it paid, over all players.
        owed: what is still owed from before.
    """

    def __init__(self, play_turn: Callable[[Any, Any], Awaitable[Actions]], owed: Any = 0) -> None:
        self.steps: int = 0
        self.earned: float = 0.0
        self.owed: Any = owed
        self._play_turn = play_turn
        self._is_asking = False

    async def ask(self, observation: Any, reward: Any = 0) -> Actions:
        """Play one turn; see `flagfall.kernel.roles.AskTurns`.

        Raises:
            EndOfMatch: the match is over.
            trio.BusyResourceError: another turn is open.
        """
        if self._is_asking:
            raise trio.BusyResourceError("a task asks for one turn at a time, and one is open")
        self.earned += sum(reward.values()) if isinstance(reward, Mapping) else reward
        if self.owed:
            reward, self.owed = add_rewards(reward, self.owed), 0
        self._is_asking = True
        try:
            actions = await self._play_turn(observation, reward)
        finally:
            self._is_asking = False
        self.steps += 1
        return actions


async def run_actor(task: TaskRole, turns: ActorTurns) -> ActorResult:
    """Run the episode of a task that is an actor, to its end or to that of the match.

    Raises:
        Exception: whatever the task raises, but `EndOfMatch`.
    """
    try:
        await task.run(turns)  # type: ignore[misc]  # it is an actor, so it has one
    except Exception as error:
        if not _is_end_of_match(error):
            raise
        return ActorResult(turns.steps, turns.earned, "cut", turns.owed)
    return ActorResult(turns.steps, turns.earned, "finished", turns.owed)


def _is_end_of_match(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_end_of_match, error.exceptions))
    return isinstance(error, EndOfMatch)
