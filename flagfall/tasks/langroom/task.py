"""LangRoom as a task."""

from __future__ import annotations

__all__ = ["LangRoom", "action_space", "observation_space", "room_info"]

from collections.abc import Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from flagfall.kernel.outcomes import StepResult
from flagfall.tasks.langroom.images import image_cache, large_images
from flagfall.tasks.langroom.log_image import LogHistory, log_image, room_as_text
from flagfall.tasks.langroom.room import Room
from flagfall.tasks.langroom.rules import COLORS, MOVES, OBJECTS, WORDS, LangRoomRules
from flagfall.tasks.rendering import are_pictures_wanted
from flagfall.tasks.task import Task

if TYPE_CHECKING:
    from gymnasium.spaces import Dict
    from numpy.typing import NDArray

_DEFAULT_RULES: Final = LangRoomRules()
_NIL: Final = MappingProxyType({"move": 0, "talk": 0})
_WHOLE: Final = (int, np.integer)


def action_space(rules: LangRoomRules) -> Dict:
    """Return the action space: `move`, an index of `MOVES`, and `talk`, an index of the vocabulary.

    Args:
        rules: the rules of the room.
    """
    from gymnasium import spaces  # noqa: PLC0415 - takes 0.2 s, and few users need it

    return spaces.Dict({"move": spaces.Discrete(len(MOVES)), "talk": spaces.Discrete(rules.vocab_size)})


def observation_space(rules: LangRoomRules) -> Dict:
    """Return the observation space: `image`, uint8 (resolution, resolution, 3), and `text`, a word's index.

    Args:
        rules: the rules of the room.
    """
    from gymnasium import spaces  # noqa: PLC0415 - takes 0.2 s, and few users need it

    shape = (rules.resolution, rules.resolution, 3)
    return spaces.Dict(
        {"image": spaces.Box(0, 255, shape, np.uint8), "text": spaces.Discrete(rules.vocab_size)}
    )


class LangRoom(Task):
    """Walk through a room, read a question, look, and answer in the step in which the room names the answer.

    Observations are mappings `{"image": uint8 (resolution, resolution, 3), "text": int}`; the image is
    read-only. Actions are mappings `{"move": int, "talk": int}`. An episode ends by its length alone.
    It is solved (`result`) if all questions were answered, and there was at least one.

    Pictures (`rgb`) show the latest words and rewards beside the view if the task was made to be drawn
    (`flagfall.tasks.rendering`); otherwise the panels are empty.

    Args:
        rules: the rules, such as `LangRoomRules(task="echo", view=3)`.

    Attributes:
        id: the text of its rules, such as `langroom:echo:view=3`.
        rules: the rules.
    """

    render_modes: ClassVar[Sequence[str]] = ("rgb", "ansi")

    def __init__(self, rules: LangRoomRules = _DEFAULT_RULES) -> None:
        self.rules = rules
        self.id: str = str(rules)
        self.max_steps: float = rules.length
        self.nil_action: Any = dict(_NIL)
        self._images = image_cache(rules)
        self._room = Room(rules, np.random.default_rng(0))
        self._history = LogHistory() if are_pictures_wanted() else None

    @cached_property
    def action_space(self) -> Dict:
        """The action space, see `flagfall.tasks.langroom.task.action_space`."""
        return action_space(self.rules)

    @cached_property
    def observation_space(self) -> Dict:
        """The observation space, see `flagfall.tasks.langroom.task.observation_space`."""
        return observation_space(self.rules)

    def is_legal(self, action: Any) -> bool:
        """Return whether an action is a dictionary of a move and a word, whole numbers of Python or numpy.

        Args:
            action: any object.
        """
        if type(action) is not dict or action.keys() != _NIL.keys():
            return False
        move, talk = action["move"], action["talk"]
        return (
            isinstance(move, _WHOLE)
            and isinstance(talk, _WHOLE)
            and bool(0 <= move < len(MOVES) and 0 <= talk < self.rules.vocab_size)
        )

    def _reset(self, seed: int) -> dict[str, Any]:
        self._room.rng = np.random.default_rng(seed)
        self._room.begin()
        if self._history is not None:
            self._history.begin(self._room.word)
        return self._observation()

    def _step(self, action: Any) -> StepResult:
        room = self._room
        reward = room.step(int(action["move"]), int(action["talk"]))
        if self._history is not None:
            self._history.add(room.word, int(action["talk"]), reward)
        return StepResult(self._observation(), reward, info=room_info(room))

    def reached_terminal_state(self) -> bool:
        """Return `False`: only the length ends an episode."""
        return False

    def result(self) -> bool:
        """Return whether all questions were answered, and there was at least one."""
        return 0 < self._room.questions == self._room.answered

    def metrics(self) -> dict[str, Any]:
        """Return the metrics of every task, and the counts of `questions` and of those `answered`."""
        return super().metrics() | {"questions": self._room.questions, "answered": self._room.answered}

    def render(self, mode: str = "rgb", *args: Any, **kwargs: Any) -> NDArray[Any] | str:
        """Return the picture for people (`rgb`), uint8 (height, 4 * height, 3), or the text (`ansi`).

        Args:
            mode: one of `render_modes`.
            *args: for other modes.
            **kwargs: for other modes.
        """
        room = self._room
        if mode == "rgb":
            view = large_images(self.rules).get(room.place, room.colors)
            return log_image(view, self._history or LogHistory())
        if mode == "ansi":
            return room_as_text(room.player, room.colors, room.word)
        return super().render(mode, *args, **kwargs)

    def _observation(self) -> dict[str, Any]:
        room = self._room
        return {"image": self._images.get(room.place, room.colors), "text": room.word}


def room_info(room: Room) -> dict[str, Any]:
    """Return the hidden state: `player` (x, y), `colors` (object to colour), `word`.

    Args:
        room: the room.
    """
    return {
        "player": np.array(room.player),
        "colors": {name: COLORS[color] for name, color in zip(OBJECTS, room.colors, strict=True)},
        "word": WORDS[room.word],
    }
