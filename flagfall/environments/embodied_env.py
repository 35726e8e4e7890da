"""LangRoom under the interface of the public package `langroom`: dictionaries in and out.

    from flagfall.environments.embodied_env import EmbodiedLangRoom as LangRoom

    room = LangRoom(seed=0)
    seen = room.step({"move": 0, "talk": 0, "reset": True})

This is the interface of `embodied` (DreamerV3 and others), without that package.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from flagfall.errors import UsageError
from flagfall.tasks.langroom.images import LogHistory, Picture, image_cache, log_image
from flagfall.tasks.langroom.rules import (
    COLORS,
    MOST_WORDS,
    MOVES,
    OBJECTS,
    WORDS,
    LangRoomRules,
    Room,
    read_action,
    word_at,
)


class Space:
    """A space of values.

    Args:
        low: the least value, or an array of them; `None` for the least of the type.
        high: the same for the greatest. Whole numbers are drawn below it, but it belongs to the space.

    Attributes:
        low: the least values, an array of the shape.
        high: the greatest values, an array of the shape.
        discrete: whether values are whole numbers or booleans.

    Raises:
        UsageError: a bound does not have the shape.
    """

    def __init__(
        self, dtype: Any, shape: tuple[int, ...] | int = (), low: Any = None, high: Any = None
    ) -> None:
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.shape: tuple[int, ...] = (shape,) if isinstance(shape, int) else tuple(shape)
        self.discrete: bool = self.dtype.kind in "iub"
        of_type: tuple[Any, Any] = (-np.inf, np.inf)
        if self.dtype.kind == "b":
            of_type = (False, True)
        elif self.discrete:
            bounds = np.iinfo(self.dtype)
            of_type = (self.dtype.type(bounds.min), self.dtype.type(bounds.max))
        self.low: NDArray[Any] = self._bound(of_type[0] if low is None else low)
        self.high: NDArray[Any] = self._bound(of_type[1] if high is None else high)

    def _bound(self, value: Any) -> NDArray[Any]:
        try:
            return np.broadcast_to(value, self.shape)
        except ValueError:
            raise UsageError(f"{np.size(value)} values as bound of a space of shape {self.shape}") from None

    def __repr__(self) -> str:
        bounds = f"low={self.low.min()}, high={self.high.max()}"
        return f"Space(dtype={self.dtype.name}, shape={self.shape}, {bounds})"

    def __contains__(self, value: Any) -> bool:
        array = np.asarray(value)
        if array.shape != self.shape or (array > self.high).any() or (array < self.low).any():
            return False
        return bool((array.astype(self.dtype).astype(array.dtype) == array).all())

    def sample(self) -> Any:
        """Draw a value, each of them equally likely."""
        if self.dtype.kind == "b":
            drawn = self._rng.integers(2, size=self.shape)
        elif self.discrete:
            drawn = self._rng.integers(self.low, self.high, self.shape)
        else:
            of_type = np.finfo(self.dtype)
            low, high = np.maximum(self.low, of_type.min), np.minimum(self.high, of_type.max)
            drawn = low + (high / 2 - low / 2) * 2 * self._rng.random(self.shape)
        return np.asarray(drawn).astype(self.dtype)

    @cached_property
    def _rng(self) -> np.random.Generator:
        return np.random.default_rng()


class EmbodiedLangRoom:
    """One LangRoom; see `flagfall.tasks.langroom.rules` for its rules.

    A step with `reset` set, and the step after the last one of an episode, starts an episode. All episodes
    use one generator. Before the first one, `player`, `colors`, `target` and `words` are `None`.

    Args:
        task: one of `flagfall.tasks.langroom.rules.TASKS`; see `LangRoomRules`.
        vocab_size: see `LangRoomRules`; an agent may say other words, which mean nothing.
        log_image: add a `log_image` to observations: the view, and three panels with the last five words of
            the room, words of the agent, and rewards. It takes more time than everything else.

    Raises:
        UsageError: an argument is invalid.
    """

    def __init__(
        self,
        task: str = "answer-only",
        view: int = 2,
        length: int = 200,
        resolution: int = 64,
        vocab_size: int = len(WORDS),
        seed: int | None = None,
        *,
        log_image: bool = True,
    ) -> None:
        self.rules: LangRoomRules = LangRoomRules(task, view, length, resolution, vocab_size)
        self.task: str = task
        self.view: int = view
        self.length: int = length
        self.resolution: int = resolution
        self.vocab_size: int = vocab_size
        self._images = image_cache(self.rules)
        # Words beyond the vocabulary are said, too; they mean nothing.
        self._room = Room(attrs.evolve(self.rules, vocab_size=MOST_WORDS), np.random.default_rng(seed))
        self._history = LogHistory() if log_image else None
        self._begun = False

    def __len__(self) -> int:
        """Return 0: this is one environment, not a batch."""
        return 0

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"{type(self).__name__}(len=0, obs_space={self.obs_space}, act_space={self.act_space})"

    @property
    def done(self) -> bool:
        """True if the next step starts an episode."""
        return self._room.over

    @property
    def player(self) -> tuple[int, int] | None:
        """The position of the player, (x, y)."""
        return self._room.player if self._begun else None

    @property
    def colors(self) -> dict[str, str] | None:
        """The colour of each object."""
        if not self._begun:
            return None
        return {name: COLORS[color] for name, color in zip(OBJECTS, self._room.colors, strict=True)}

    @property
    def target(self) -> str | None:
        """The current word of the room; silence is empty."""
        return word_at(self._room.word) if self._begun else None

    @property
    def words(self) -> list[str] | None:
        """The words that the room says next, up to the end of a question and its answer."""
        return [word_at(word) for word in self._room.words_ahead] if self._begun else None

    @cached_property
    def obs_space(self) -> dict[str, Space]:
        """The spaces of an observation, by key."""
        size = self.rules.resolution
        logged = {"log_image": Space(np.uint8, (size, 4 * size, 3))}
        return {
            "image": Space(np.uint8, (size, size, 3)),
            "text": Space(np.uint32, (), 0, self.rules.vocab_size),
            "reward": Space(np.float32),
            "is_first": Space(bool),
            "is_last": Space(bool),
            "is_terminal": Space(bool),
            **(logged if self._history is not None else {}),
        }

    @cached_property
    def act_space(self) -> dict[str, Space]:
        """The spaces of an action, by key."""
        return {
            "move": Space(np.int32, (), 0, len(MOVES)),
            "talk": Space(np.int32, (), 0, self.rules.vocab_size),
            "reset": Space(bool),
        }

    def step(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Play a step.

        Args:
            action: `move`, `talk` and `reset`; see `act_space`. A word beyond the vocabulary means nothing; a
                negative one counts from the end of the known words. Where an episode starts, only `reset` is
                read.

        Returns:
            an observation, see `obs_space`; its arrays are copies.

        Raises:
            UsageError: the action is invalid; nothing was changed.
        """
        room = self._room
        reward = 0.0
        if is_first := bool(self._part(action, "reset")) or room.over:
            room.begin()
            self._begun = True
            if self._history is not None:
                self._history.begin(room.word)
        else:
            self._part(action, "move", "talk")
            move, talk = read_action(action)
            if talk < -len(WORDS):
                raise UsageError(f"talk={talk}: a word is a whole number from {-len(WORDS)}")
            talk += len(WORDS) if talk < 0 else 0
            reward = room.step(move, min(talk, MOST_WORDS - 1))
            if self._history is not None:
                self._history.add(room.word, talk, reward)
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
            seen["log_image"] = log_image(image, self._history)
        return seen

    def _part(self, action: Mapping[str, Any], *names: str) -> Any:
        """Return the first of some parts of an action, all of which must be there."""
        known = ", ".join(self.act_space)
        if not isinstance(action, Mapping):
            raise UsageError(f"{action!r} is not an action: it has {known}")
        if missing := [name for name in names if name not in action]:
            are = "is" if len(missing) == 1 else "are"
            raise UsageError(f"an action has {known}: {' and '.join(missing)} {are} missing")
        return action[names[0]]

    def render(self) -> Picture:
        """Return the view, uint8 (resolution, resolution, 3); the first index is the column.

        Raises:
            UsageError: no episode was started.
        """
        if not self._begun:
            raise UsageError("no episode was started: step with `reset` set starts one")
        return self._images.get(self._room.place, self._room.colors).transpose(1, 0, 2).copy()

    def close(self) -> None:
        """Do nothing: there is nothing to release."""
