"""A match of byte tasks as plain records, one a byte step: for reading, and for checkers of other makers.

{"event": "start", "task": "micro3"}
{"t": 0, "env": "a", "reward": 0, "agent": " "}
{"event": "end", "task": "micro3", "result": true}
"""

from __future__ import annotations

__all__ = ["transcript"]

from math import isfinite
from typing import TYPE_CHECKING, Any

from flagfall.errors import UsageError
from flagfall.events import Event, MatchEnded, MatchStarted, Reward, TaskEnded, TaskStarted, TurnPlayed
from flagfall.kernel.safe_values import safe_repr

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def transcript(events: Iterable[Event]) -> Iterator[dict[str, Any]]:
    """The records of a match, as its events come.

    A step says what the environment said (`env`), the reward that came with it, and what the agent
    answered (`agent`: the action that was played); characters are numbered as in Latin-1, and `t` counts
    steps from 0 over the whole match. Rewards are whole numbers where they are whole. Where the match
    ended with a reward that no step could bring any more, the last `end` has it as `reward`. A task that
    was cut short ends with the result `null`.

    Raises:
        UsageError: the match is not one of byte tasks with one agent; names the turn.
    """
    open_task: str | None = None
    end: dict[str, Any] | None = None  # kept back: a reward may come to it
    steps = 0
    for event in events:
        if type(event) is TurnPlayed:
            yield _step(steps, event)
            steps += 1
        elif type(event) is TaskStarted:
            if end is not None:
                yield end
                end = None
            open_task = event.task
            yield {"event": "start", "task": event.task}
        elif type(event) is TaskEnded:
            open_task = None
            end = {"event": "end", "task": event.task, "result": event.result}
        elif type(event) is MatchEnded:
            end = _last_end(end, open_task, event)
        elif type(event) is MatchStarted and len(event.agents) != 1:
            raise UsageError(f"a transcript is of one agent, and this match has {len(event.agents)}")
    if end is not None:
        yield end


def _last_end(end: dict[str, Any] | None, open_task: str | None, event: MatchEnded) -> dict[str, Any] | None:
    if open_task is not None:  # a void match may leave its task without an end
        end = {"event": "end", "task": open_task, "result": None}
    if end is not None and event.reward:
        end["reward"] = _number(event.reward, "the end of the match")
    return end


def _step(t: int, event: TurnPlayed) -> dict[str, Any]:
    return {
        "t": t,
        "env": _character(event.observation, event, "observation"),
        "reward": _number(event.reward, f"turn {event.turn}"),
        "agent": _character(event.action, event, "action"),
    }


def _character(value: Any, event: TurnPlayed, what: str) -> str:
    if type(value) is not int or not 0 <= value <= 255:  # noqa: PLR2004 - a byte
        raise UsageError(
            f"turn {event.turn}: a transcript is of byte tasks, and this {what} is no whole number from 0"
            f" to 255: {safe_repr(value)}"
        )
    return chr(value)


def _number(reward: Reward, place: str) -> float:
    if isinstance(reward, dict):
        raise UsageError(f"{place}: a transcript is of one agent, and this reward is of several")
    return int(reward) if isfinite(reward) and reward == int(reward) else reward
