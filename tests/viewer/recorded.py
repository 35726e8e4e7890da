"""Matches that tests record for pages, with the pictures that their tasks drew while they were played."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import trio
from PIL import Image

from flagfall import read_journal, run
from flagfall.events import Event, TaskEnded, TurnPlayed, total_reward
from flagfall.tasks.catalog import make_task
from flagfall.tasks.task import Task, with_pictures

if TYPE_CHECKING:
    from playwright.sync_api import Locator

Picture = np.ndarray[Any, Any]


@attrs.frozen
class Recorded:
    """A match that was played.

    Attributes:
        path: its journal.
        before: the picture of each turn, by the task's own `render` before the turn's action.
        end: the picture after the last action of a task, by its last turn.
        events: the events of the journal.
    """

    path: Path
    before: list[Picture]
    end: dict[int, Picture]
    events: list[Event] = attrs.field(factory=list)

    def turns(self, number: int) -> list[TurnPlayed]:
        """Return the turn of each seat that was asked in it."""
        return [event for event in self.events if isinstance(event, TurnPlayed) and event.turn == number]

    def earned(self, turn: int, seat: int = 0) -> float:
        """Return what a seat's action earned: the reward of its next turn, or the rest of its task's."""
        ends = [place for place, event in enumerate(self.events) if isinstance(event, TaskEnded)]
        place = next(p for p, e in enumerate(self.events) if isinstance(e, TurnPlayed) and e.turn == turn)
        last = next(end for end in ends if end > place)
        first = max((end for end in ends if end < place), default=0)
        own = [e for e in self.events[first:last] if isinstance(e, TurnPlayed) and e.seat == seat]
        for event in own[1:]:
            if event.turn > turn:
                return float(total_reward(event.reward))
        end = self.events[last]
        assert isinstance(end, TaskEnded)
        total = end.rewards[seat] if end.rewards else end.reward
        return float(total) - sum(float(total_reward(event.reward)) for event in own[1:])

    def first(self, verdict: str, after: int = -1) -> int:
        """Return the first turn with a verdict."""
        found = (e.turn for e in self.events if isinstance(e, TurnPlayed) and e.verdict == verdict)
        return next(turn for turn in found if turn > after)


def record(
    path: Path,
    task_id: str,
    agents: Any | Sequence[Any],
    *,
    steps: int,
    pictures: bool = True,
    mode: str = "rgb",
    **options: Any,
) -> Recorded:
    """Play a match on a clock of its own, and draw its task before each turn.

    Args:
        path: the journal to write.
        task_id: the task.
        agents: as for `flagfall.run`.
        steps: turns of the match.
        pictures: the task draws itself.
        mode: the mode of its `render`.
        options: as for `flagfall.run`.
    """
    with with_pictures():
        task = make_task(task_id)
    recorded = Recorded(path, [], {})
    if pictures:
        _watch(task, recorded, mode)
    run(task, agents, steps=steps, clock="virtual", journal=path, **options)
    recorded.events.extend(read_journal(path))
    return recorded


def _watch(task: Task, recorded: Recorded, mode: str) -> None:
    """Have a task draw itself after each reset and each step."""
    reset, step = task.reset, task.step

    def draw() -> Picture:
        return np.array(task.render(mode))

    def watched_reset(seed: int) -> Any:
        observation = reset(seed)
        recorded.before.append(draw())
        return observation

    def watched_step(action: Any) -> Any:
        result = step(action)
        if result[2] or result[3]:
            recorded.end[len(recorded.before) - 1] = draw()
        else:
            recorded.before.append(draw())
        return result

    task.reset = watched_reset  # type: ignore[misc, method-assign]
    task.step = watched_step  # type: ignore[method-assign]


class Dawdler:
    """Plays numbered actions; late in every 17th turn, and illegal in every 23rd."""

    def __init__(self) -> None:
        self._random = Random(5)
        self._turns = 0

    async def act(self, _observation: Any) -> Any:
        self._turns += 1
        if self._turns % 17 == 0:
            await trio.sleep(1.5)
        else:
            await trio.sleep(0.01 * self._random.random())
        return "no action" if self._turns % 23 == 0 else self._random.randrange(3)


class Ponderer:
    """A byte agent that thinks longer about some bytes than about others."""

    async def reply(self, byte: int, _reward: float) -> int:
        await trio.sleep(0.001 * (1 + byte % 7))
        return 32


def picture_of(canvas: Locator) -> Picture:
    """Return the pixels of a canvas in the page."""
    url = str(canvas.evaluate("canvas => canvas.toDataURL('image/png')"))
    image = Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])))
    return np.array(image.convert("RGB"))
