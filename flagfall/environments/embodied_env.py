"""LangRoom as the public package `langroom` has it: one dictionary in, one dictionary out.

    room = EmbodiedLangRoom(seed=0)
    seen = room.step({"move": 0, "talk": 0, "reset": True})

This is the interface of `embodied` (DreamerV3 and others), without that package.
"""

from __future__ import annotations

__all__ = ["EmbodiedLangRoom", "Space"]

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from flagfall.errors import UsageError
from flagfall.tasks.langroom.images import image_cache
from flagfall.tasks.langroom.log_image import LogHistory, log_image
from flagfall.tasks.langroom.room import Room
from flagfall.tasks.langroom.rules import MOVES, LangRoomRules, read_action


@attrs.frozen
class Space:
    """What values there are.

    Attributes:
        dtype: their type.
        shape: their shape.
        low: the least.
        high: what they stay below, where they are whole numbers or truth values; else the greatest.
    """

    dtype: np.dtype[Any] = attrs.field(converter=np.dtype)
    shape: tuple[int, ...] = ()
    low: float = -np.inf
    high: float = np.inf

    def __contains__(self, value: Any) -> bool:
        array = np.asarray(value)
        if array.shape != self.shape or not np.can_cast(array.dtype, self.dtype, "same_kind"):
            return False
        below = array <= self.high if self.dtype.kind == "f" else array < self.high
        return bool((array >= self.low).all() and below.all())

    def sample(self, rng: np.random.Generator) -> Any:
        """Any of them; for whole numbers and truth values only."""
        return rng.integers(int(self.low), int(self.high), self.shape).astype(self.dtype)


class EmbodiedLangRoom:
    """One LangRoom; see `flagfall.tasks.langroom.rules` for what happens in it.

    A step with `reset` set, and the one after the last of an episode, begins an episode. One generator serves
    all of them.

    Args:
        task: one of `flagfall.tasks.langroom.rules.TASKS`; this and the options as for `LangRoomRules`.
        seed: for `numpy.random.default_rng`.
        log_image: observations have a `log_image`, too: the view, and three panels of the last five words of
            the room, those of the agent, and the rewards. It takes longer than all the rest.

    Raises:
        UsageError: an argument cannot be.
    """

    def __init__(
        self,
        task: str = "answer-only",
        *,
        seed: int | None = None,
        log_image: bool = False,
        **options: Any,
    ) -> None:
        self.rules = LangRoomRules.choose(task, **options)
        self._pictures = image_cache(self.rules)
        self._room = Room(self.rules, np.random.default_rng(seed))
        self._lately = LogHistory() if log_image else None

    @cached_property
    def obs_space(self) -> dict[str, Space]:
        """What an observation has."""
        size = self.rules.resolution
        logged = {"log_image": Space(np.uint8, (size, 4 * size, 3), 0, 256)}
        return {
            "image": Space(np.uint8, (size, size, 3), 0, 256),
            "text": Space(np.uint32, (), 0, self.rules.vocab_size),
            "reward": Space(np.float32),
            "is_first": Space(bool, (), 0, 2),
            "is_last": Space(bool, (), 0, 2),
            "is_terminal": Space(bool, (), 0, 2),
            **(logged if self._lately is not None else {}),
        }

    @cached_property
    def act_space(self) -> dict[str, Space]:
        """What an action has."""
        return {
            "move": Space(np.int32, (), 0, len(MOVES)),
            "talk": Space(np.int32, (), 0, self.rules.vocab_size),
            "reset": Space(bool, (), 0, 2),
        }

    def step(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Take a step.

        Args:
            action: `move`, `talk` and `reset`; see `act_space`.

        Returns:
            An observation; see `obs_space`. Its arrays are the caller's own.

        Raises:
            UsageError: the action is none; nothing has happened.
        """
        if not isinstance(action, Mapping):
            raise UsageError(f"{action!r} is no action: it has {', '.join(self.act_space)}")
        if missing := self.act_space.keys() - action.keys():
            raise UsageError(
                f"an action has {', '.join(self.act_space)}; {', '.join(sorted(missing))} is missing"
            )
        room = self._room
        move, talk = read_action(action)
        reward = 0.0
        is_first = bool(action["reset"]) or room.over
        if is_first:
            room.begin()
        else:
            reward = room.step(move, talk)
        image = self._pictures.get(room.place, room.colors).copy()
        seen = {
            "image": image,
            "text": np.uint32(room.word),
            "reward": np.float32(reward),
            "is_first": is_first,
            "is_last": room.over,
            "is_terminal": False,
        }
        if self._lately is not None:
            if is_first:
                self._lately.begin(room.word)
            else:
                self._lately.add(room.word, talk, reward)
            seen["log_image"] = log_image(image, self._lately)
        return seen

    def close(self) -> None:
        """Nothing is held."""
