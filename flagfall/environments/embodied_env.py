"""LangRoom under the interface of the public package `langroom`: dictionaries in and out.

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
    """A space of values.

    Attributes:
        dtype: the type of the values.
        shape: their shape.
        low: the least value.
        high: exclusive upper bound of whole numbers and booleans; inclusive bound of other values.
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
        """Draw a value; for whole numbers and booleans only.

        Args:
            rng: the source of the draw.
        """
        return rng.integers(int(self.low), int(self.high), self.shape).astype(self.dtype)


class EmbodiedLangRoom:
    """One LangRoom; see `flagfall.tasks.langroom.rules` for its rules.

    A step with `reset` set, and the step after the last one of an episode, starts an episode. All episodes
    use one generator.

    Args:
        task: one of `flagfall.tasks.langroom.rules.TASKS`; see `LangRoomRules`.
        seed: for `numpy.random.default_rng`.
        log_image: add a `log_image` to observations: the view, and three panels with the last five words of
            the room, words of the agent, and rewards. It takes more time than everything else.
        options: the other options of `LangRoomRules`.

    Raises:
        UsageError: an argument is invalid.
    """

    def __init__(
        self,
        task: str = "answer-only",
        *,
        seed: int | None = None,
        log_image: bool = False,
        **options: Any,
    ) -> None:
        self.rules: LangRoomRules = LangRoomRules.choose(task, **options)
        self._images = image_cache(self.rules)
        self._room = Room(self.rules, np.random.default_rng(seed))
        self._history = LogHistory() if log_image else None

    @cached_property
    def obs_space(self) -> dict[str, Space]:
        """The spaces of an observation, by key."""
        size = self.rules.resolution
        logged = {"log_image": Space(np.uint8, (size, 4 * size, 3), 0, 256)}
        return {
            "image": Space(np.uint8, (size, size, 3), 0, 256),
            "text": Space(np.uint32, (), 0, self.rules.vocab_size),
            "reward": Space(np.float32),
            "is_first": Space(bool, (), 0, 2),
            "is_last": Space(bool, (), 0, 2),
            "is_terminal": Space(bool, (), 0, 2),
            **(logged if self._history is not None else {}),
        }

    @cached_property
    def act_space(self) -> dict[str, Space]:
        """The spaces of an action, by key."""
        return {
            "move": Space(np.int32, (), 0, len(MOVES)),
            "talk": Space(np.int32, (), 0, self.rules.vocab_size),
            "reset": Space(bool, (), 0, 2),
        }

    def step(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Play a step.

        Args:
            action: `move`, `talk` and `reset`; see `act_space`.

        Returns:
            an observation, see `obs_space`; its arrays are copies.

        Raises:
            UsageError: the action is invalid; nothing was changed.
        """
        if not isinstance(action, Mapping):
            raise UsageError(f"{action!r} is not an action: it has {', '.join(self.act_space)}")
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
        image = self._images.get(room.place, room.colors).copy()
        seen = {
            "image": image,
            "text": np.uint32(room.word),
            "reward": np.float32(reward),
            "is_first": is_first,
            "is_last": room.over,
            "is_terminal": False,
        }
        if self._history is not None:
            if is_first:
                self._history.begin(room.word)
            else:
                self._history.add(room.word, talk, reward)
            seen["log_image"] = log_image(image, self._history)
        return seen

    def close(self) -> None:
        """Do nothing: there is nothing to release."""
