"""The score of a match as a page shows it: a sink that follows one seat. Pure."""

from __future__ import annotations

__all__ = ["Score", "room_word"]

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from flagfall.agents.samples.langroom_solver import LANGROOM_WORDS, is_langroom
from flagfall.events import Event, SeatDisqualified, TaskEnded, TaskStarted, TurnPlayed
from flagfall.kernel.outcomes import SeatStats

TAPE_STEPS: Final = 2_000
"""Steps of a dialogue that are kept for a page that is opened again: more than it shows at once."""

KEPT_TASKS: Final = 20
"""Results of tasks that are shown, from the end."""

KEPT_REWARDS: Final = 12
"""Rewards other than 0 that are shown, from the end."""

MAX_TEXT_CHARS: Final = 400
"""Longest name or detail that is sent to the page."""


class Score:
    """Counts what happens at one seat.

    Args:
        seat: index of the seat.
        names: names of all agents, by seat.

    Attributes:
        on_out: called with the reason when the seat is disqualified.
    """

    def __init__(self, seat: int, names: Sequence[str]) -> None:
        self.on_out: Callable[[str], None] = lambda _reason: None
        self._seat = seat
        self._names = list(names)
        self._rewards: deque[float] = deque(maxlen=KEPT_REWARDS)
        self._last_verdict = ""
        self._paid: int | None = None
        self._task: dict[str, Any] | None = None
        self._tasks: deque[dict[str, Any]] = deque(maxlen=KEPT_TASKS)
        self._solved = self._ended = 0
        self._out: dict[int, str] = {}
        self._tape: deque[list[Any]] = deque(maxlen=TAPE_STEPS)
        self._steps = 0

    def __call__(self, event: Event) -> None:
        """Take an event of the match."""
        match event:
            case TurnPlayed() if event.seat == self._seat:
                self._turn(event)
            case TaskStarted():
                self._task = {"task": event.task[:MAX_TEXT_CHARS], "index": event.index}
            case TaskEnded():
                self._end_task(event)
            case SeatDisqualified():
                self._out[event.seat] = event.reason
                if event.seat == self._seat:
                    self.on_out(event.reason)
            case _:
                pass

    def _turn(self, event: TurnPlayed) -> None:
        self._last_verdict = event.verdict
        exchange = _exchange(event.observation, event.action)
        if exchange is not None:
            reward = event.reward if isinstance(event.reward, int | float) else 0
            late = event.verdict not in {"on time", "illegal"}
            self._tape.append([*exchange, reward, int(late)])
            self._steps += 1

    def pay(self, number: int, reward: Any) -> None:
        """Keep a reward that has arrived, if it is not 0.

        Args:
            number: the number of the envelope that it came with; one that is sent again pays once.
            reward: a number, or the rewards of all players by name, which are not shown.
        """
        if number != self._paid and isinstance(reward, int | float) and reward:
            self._rewards.append(float(reward))
        self._paid = number

    def _end_task(self, event: TaskEnded) -> None:
        if event.ended != "cut":
            self._ended += 1
            self._solved += event.result is True
        row = {"result": event.result, "reward": event.reward, "steps": event.steps, "ended": event.ended}
        self._tasks.append({"task": event.task[:MAX_TEXT_CHARS], "index": event.index, **row})
        self._task = None

    def as_data(self, stats: SeatStats) -> dict[str, Any]:
        """Return the score as plain values.

        Args:
            stats: the counts of the seat.
        """
        return {
            "turns": stats.turns,
            "reward": stats.reward,
            "rewards": list(self._rewards),
            "late": stats.late,
            "illegal": stats.illegal,
            "dropped": stats.dropped,
            "verdict": self._last_verdict,
            "task": self._task,
            "tasks": list(self._tasks),
            "ended": self._ended,
            "solved": self._solved,
            "out": [
                {"seat": seat, "agent": self._names[seat][:MAX_TEXT_CHARS], "reason": reason[:MAX_TEXT_CHARS]}
                for seat, reason in sorted(self._out.items())
                if 0 <= seat < len(self._names)
            ],
        }

    def tape_since(self, step: int) -> tuple[int, list[list[Any]]]:
        """Return the steps of a dialogue since a number of steps: heard, spoken, reward, 1 if late.

        Args:
            step: number of steps that are known already.

        Returns:
            The number of steps so far, and the new ones as far as they are kept.
        """
        new = min(self._steps - step, len(self._tape))
        return self._steps, list(self._tape)[len(self._tape) - new :] if new > 0 else []


def _exchange(observation: Any, action: Any) -> tuple[int | str, int | str] | None:
    """Return what was heard and spoken in a step of a byte or bit task, or of LangRoom; else `None`."""
    if type(observation) is int and type(action) is int:
        return observation, action
    if is_langroom(observation) and isinstance(action, Mapping):
        return room_word(observation["text"]), room_word(action.get("talk"))
    return None


def room_word(number: Any) -> str:
    """Return a word of LangRoom; an empty text for silence.

    Args:
        number: its index; words without a meaning are shown as their numbers.
    """
    known = isinstance(number, int) and 0 <= number < len(LANGROOM_WORDS)
    return LANGROOM_WORDS[number] if known else f"<{number}>"
