"""Steps per second of LangRoom with pictures: one room, and 256 rooms in a batch.

The baseline is the straightforward implementation: the same rooms, but every picture is drawn cell by cell
from float textures, and a batch is stepped in a loop.
"""

from __future__ import annotations

__all__ = ["SUITE"]

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from benchmarks.measure import Row, beside, reduced
from benchmarks.suites import Suite, by_name
from flagfall.environments.embodied_env import EmbodiedLangRoom
from flagfall.environments.langroom_env import LangRoomEnv, LangRoomVectorEnv
from flagfall.tasks.langroom.images import LogHistory
from flagfall.tasks.langroom.rules import CORNERS, SIZE, LangRoomRules, Room, word_at
from flagfall.tasks.langroom.task import LangRoom

ROOMS = 256
_TINTS = {0: (1.0, 0.2, 0.2), 1: (0.2, 1.0, 0.2), 2: (0.2, 0.2, 1.0), 3: (1.0, 1.0, 0.2)}


class PlainRoom:
    """Room that draws its picture in every step."""

    def __init__(self, seed: int, *, log_image: bool = False) -> None:
        self.rules = LangRoomRules()
        self.room = Room(self.rules, np.random.default_rng(seed))
        self.room.begin()
        textures = np.random.default_rng(0).random((7, self.rules.cell, self.rules.cell, 3))
        self.things, self.player, self.floor, self.wall = textures[:4], *textures[4:]
        self.lately = LogHistory() if log_image else None
        self.font = ImageFont.load_default(self.rules.resolution // 7)

    def step(self, move: int, talk: int) -> dict[str, Any]:
        """Play a step; after the last one of an episode the next one begins.

        Args:
            move: index of the move.
            talk: index of the word.
        """
        room = self.room
        reward = 0.0
        if room.over:
            room.begin()
        else:
            reward = room.step(move, talk)
        seen: dict[str, Any] = {"image": self.picture(), "text": room.word, "reward": np.float32(reward)}
        if self.lately is not None:
            self.lately.add(room.word, talk, reward)
            seen["log_image"] = self.log_image(seen["image"], self.lately)
        return seen

    def log_image(self, image: np.ndarray, lately: LogHistory) -> np.ndarray:
        """Return the view beside three panels, each with five lines of text.

        Args:
            image: the view, an array of (height, width, 3) bytes.
            lately: the last words and rewards.
        """
        size = len(image)
        panels = [image]
        for values in (map(word_at, lately.heard), map(word_at, lately.said), map(str, lately.paid)):
            panel = Image.new("RGB", (size, size))
            text = "\n".join(values)
            ImageDraw.Draw(panel).multiline_text((1, 0), text, font=self.font, spacing=0)
            panels.append(np.asarray(panel))
        return np.concatenate(panels, axis=1)

    def picture(self) -> np.ndarray:
        """Draw the view cell by cell."""
        view, cell = self.rules.view, self.rules.cell
        drawn = np.zeros((self.rules.cells * cell, self.rules.cells * cell, 3))
        here_x, here_y = self.room.player
        for row in range(self.rules.cells):
            for column in range(self.rules.cells):
                at = here_x + column - view, here_y + row - view
                top, left = row * cell, column * cell
                drawn[top : top + cell, left : left + cell] = self._texture(at)
        border = (self.rules.resolution - len(drawn)) // 2
        padded = np.pad(drawn, ((border, border), (border, border), (0, 0)))
        return (255 * padded).astype(np.uint8)

    def _texture(self, at: tuple[int, int]) -> Any:
        x, y = at
        if at == self.room.player:
            return self.player
        if at in CORNERS:
            thing = CORNERS.index(at)
            return self.things[thing] * np.array(_TINTS[self.room.colors[thing]])
        return self.floor if 0 < x < SIZE - 1 and 0 < y < SIZE - 1 else self.wall


def rate(steps: int, step: Callable[[int], object], each: int = 1) -> float:
    """Return the steps per second of a function.

    Args:
        steps: number of calls.
        step: called with the number of the step.
        each: rooms that a call steps.
    """
    began = time.perf_counter()
    for number in range(steps):
        step(number)
    return each * steps / (time.perf_counter() - began)


def gymnasium_step(env: Any) -> Callable[[int], None]:
    """Return a function that plays a step of an environment, and resets it when an episode has ended.

    Args:
        env: a Gymnasium environment.
    """
    env.reset(seed=0)

    def step(number: int) -> None:
        if env.step({"move": number % 5, "talk": number % 7})[3]:
            env.reset()

    return step


def task_step(task: LangRoom) -> Callable[[int], None]:
    """Return a function that plays a step of a task, and resets it when an episode has ended.

    Args:
        task: the task.
    """
    task.reset(0)

    def step(number: int) -> None:
        if task.step({"move": number % 5, "talk": number % 7}).truncated:
            task.reset(number)

    return step


def row(name: str, ours: Callable[[], float], plain: Callable[[], float], target: str = "") -> Row:
    """Measure a row of the table.

    Args:
        name: of the row.
        ours: returns our rate.
        plain: returns the rate of the baseline.
        target: the target as text.
    """
    mine, theirs, ratio = beside(ours, plain)
    return Row(name, f"{mine:,.0f}/s", f"{theirs:,.0f}/s", f"{ratio:.1f}x", target)


def one(scale: int) -> Iterator[Row]:
    """Measure one room.

    Args:
        scale: divides the amount of work.
    """
    plain, plain_logged = PlainRoom(0), PlainRoom(0, log_image=True)
    steps, plain_steps = reduced(50_000, scale), reduced(3_000, scale)

    def plainly() -> float:
        return rate(plain_steps, lambda number: plain.step(number % 5, number % 7))

    single, task = gymnasium_step(LangRoomEnv()), task_step(LangRoom())
    yield row("Gymnasium, with picture", lambda: rate(steps, single), plainly, ">= 16,000/s")
    yield row("task, with picture", lambda: rate(steps, task), plainly)
    room, logged = EmbodiedLangRoom(seed=0, log_image=False), EmbodiedLangRoom(seed=0)

    def action(number: int) -> dict[str, Any]:
        return {"move": number % 5, "talk": number % 7, "reset": False}

    yield row("dictionaries", lambda: rate(steps, lambda number: room.step(action(number))), plainly)
    yield row(
        "dictionaries, with log_image too",
        lambda: rate(steps, lambda number: logged.step(action(number))),
        lambda: rate(reduced(plain_steps, 10), lambda number: plain_logged.step(number % 5, number % 7)),
    )


def many(scale: int) -> Iterator[Row]:
    """Measure 256 rooms.

    Args:
        scale: divides the amount of work.
    """
    batch = LangRoomVectorEnv(ROOMS)
    batch.reset(seed=0)
    batch.action_space.seed(0)
    actions = [batch.action_space.sample() for _ in range(50)]
    plain = [PlainRoom(seed) for seed in range(ROOMS)]

    def plain_batch(number: int) -> np.ndarray:
        chosen = actions[number % 50]
        pairs = zip(chosen["move"].tolist(), chosen["talk"].tolist(), strict=True)
        seen = [room.step(*pair) for room, pair in zip(plain, pairs, strict=True)]
        return np.stack([shown["image"] for shown in seen])

    yield row(
        f"{ROOMS} rooms in a batch, with pictures",
        lambda: rate(reduced(1_000, scale), lambda number: batch.step(actions[number % 50]), ROOMS),
        lambda: rate(reduced(10, scale), plain_batch, ROOMS),
        ">= 165,000/s",
    )


SUITE = Suite("steps of LangRoom with pictures", by_name(one, many))
