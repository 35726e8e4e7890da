"""Transcripts: a match of byte tasks as plain records, one for each step.

They are for people to read, and for checkers that share no code with this project.

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
    """Yield the records of a match in the order of its events.

    The record of a step has the character that the environment sent (`env`), the reward that came with it,
    and the action that was played (`agent`). Characters are those of Latin-1, and `t` counts steps from 0
    over the whole match. A reward without a fraction is a whole number. If a reward was still owed when the
    match ended, the last `end` record has it as `reward`. A task that was cut short ends with the result
    `null`.

    Args:
        events: the events of one match, from the match itself or from its journal.

    Raises:
        UsageError: the match has several agents, or a turn is not one of a byte task; names the turn.
    """
    open_task: str | None = None
    end: dict[str, Any] | None = None  # held back: the last one may get the reward that is still owed
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
            raise UsageError(f"a transcript needs a match with one agent; this one has {len(event.agents)}")
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
            f"turn {event.turn}: a transcript needs byte tasks; this {what} is not a whole number from 0"
            f" to 255: {safe_repr(value)}"
        )
    return chr(value)


def _number(reward: Reward, place: str) -> float:
    if isinstance(reward, dict):
        raise UsageError(f"{place}: a transcript needs a match with one agent; this reward is for several")
    return int(reward) if isfinite(reward) and reward == int(reward) else reward
