"""LangRoom as a task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from flagfall.errors import UsageError
from flagfall.kernel.descriptions import describe_value
from flagfall.kernel.outcomes import StepResult
from flagfall.tasks.langroom.images import (
    LogHistory,
    Picture,
    image_cache,
    large_images,
    log_image,
    order_of,
    room_as_text,
    view_as_text,
)
from flagfall.tasks.langroom.rules import (
    COLORS,
    LONGEST_SCRIPT,
    MOVES,
    NEXT_PLACE,
    OBJECTS,
    SIZE,
    START,
    WORDS,
    LangRoomRules,
    Room,
    draw_colors,
    draw_script,
    place_of,
    read_action,
    word_at,
)
from flagfall.tasks.task import Task, are_pictures_wanted

if TYPE_CHECKING:
    from gymnasium.spaces import Dict


Numbers = NDArray[np.intp]
Mask = NDArray[np.bool_]

_NEXT: Final[Numbers] = np.array(NEXT_PLACE, np.intp).ravel()
_UNKNOWN: Final = len(WORDS)


class RoomBatch:
    """A batch of rooms in numpy, one for each generator; each equals a `Room` with the same generator.

    A step runs no Python for single rooms, except for those whose script or episode ends.

    Attributes:
        rngs: the generators; each may be replaced before `begin`.
        colors: the colour of each object, (n, 4).
        words: the current words, (n,).
    """

    def __init__(self, rules: LangRoomRules, rngs: Iterable[Generator]) -> None:
        self.rngs: list[Generator] = list(rngs)
        self._rules = rules
        self._images = image_cache(rules)
        self._rewards = np.array(rules.rewards()).ravel()
        count = len(self.rngs)
        self._all = np.arange(count)
        self._places = np.full(count, place_of(*START), np.intp)
        self._orders = np.zeros(count, np.intp)
        self._scripts = np.zeros((count, LONGEST_SCRIPT), np.intp)
        self._ends = np.zeros(count, np.intp)
        self._cursors = np.zeros(count, np.intp)
        self._steps = np.full(count, rules.length, np.intp)
        self.colors: Numbers = np.zeros((count, len(OBJECTS)), np.intp)
        self.words: Numbers = np.zeros(count, np.intp)

    def __len__(self) -> int:
        return len(self.rngs)

    @property
    def players(self) -> Numbers:
        """The positions of the players as (x, y), of the shape (n, 2)."""
        y, x = np.divmod(self._places, SIZE)
        return np.stack((x, y), axis=1)

    @property
    def over(self) -> Mask:
        """True if the episode of each room has used all its steps; true before the first one, too."""
        over: Mask = self._steps >= self._rules.length
        return over

    def begin(self, chosen: Sequence[int] | Numbers) -> None:
        """Start an episode in some rooms."""
        self._places[chosen] = place_of(*START)
        self._steps[chosen] = 0
        for room in chosen:
            self._draw(room)
        self.words[chosen] = self._scripts[chosen, 0]
        self._cursors[chosen] = 1

    def step(
        self, moves: NDArray[Any], talks: NDArray[Any], beginning: Mask | None = None
    ) -> NDArray[np.float64]:
        """Play a step in every room.

        Args:
            moves: indices of `MOVES`, (n,).
            talks: indices of the vocabulary, (n,).
            beginning: rooms that start an episode instead, with the reward 0; their actions are ignored.

        Returns:
            the rewards, (n,).

        Raises:
            UsageError: there is no such move or word, or an episode is over; nothing was changed.
        """
        moves = self._checked("move", moves, len(MOVES))
        talks = self._checked("talk", talks, self._rules.vocab_size)
        going = self._all if beginning is None else np.flatnonzero(~beginning)
        if self._steps[going].max(initial=0) >= self._rules.length:
            rooms = np.flatnonzero(self.over)[:5].tolist()
            raise UsageError(f"no episode is going on in rooms {rooms}: reset begins one")
        self._places[going] = _NEXT[self._places[going] * len(MOVES) + moves[going]]
        self._steps[going] += 1
        self.words[going] = self._scripts[going, self._cursors[going]]
        self._cursors[going] += 1
        for room in going[self._cursors[going] == self._ends[going]]:
            self._draw(room)
        rewards = np.zeros(len(self))
        rewards[going] = self._rewards[
            self.words[going] * (_UNKNOWN + 1) + np.minimum(talks[going], _UNKNOWN)
        ]
        if beginning is not None:
            self.begin(np.flatnonzero(beginning))
        return rewards

    def look(self, out: Picture) -> None:
        """Write the views of the players into an array.

        Args:
            out: takes the images, uint8 (n, resolution, resolution, 3), in C order.
        """
        self._images.get_batch(self._places, self._orders, out)

    def _draw(self, room: int) -> None:
        rng = self.rngs[room]
        colors = draw_colors(rng)
        script = draw_script(rng, colors)
        self.colors[room] = colors
        self._orders[room] = order_of(*colors)
        self._scripts[room, : len(script)] = script
        self._ends[room] = len(script)
        self._cursors[room] = 0

    def _checked(self, name: str, numbers: NDArray[Any], count: int) -> Numbers:
        if numbers.shape != (len(self),) or numbers.dtype.kind not in "iu":
            raise UsageError(
                f"{name}: give {len(self)} whole numbers, one for each room, not an array of"
                f" {numbers.dtype} with the shape {numbers.shape}"
            )
        if numbers.min(initial=0) < 0 or numbers.max(initial=0) >= count:
            room = int(np.flatnonzero((numbers < 0) | (numbers >= count))[0])
            raise UsageError(f"{name}: {numbers[room]} in room {room} is out of range: 0 to {count - 1}")
        return numbers.astype(np.intp, copy=False)


_DEFAULT_RULES: Final = LangRoomRules()
_NIL: Final = {"move": 0, "talk": 0}
_WHOLE: Final = (int, np.integer)


def action_space(rules: LangRoomRules) -> Dict:
    """Return the action space: `move`, an index of `MOVES`, and `talk`, an index of the vocabulary."""
    from gymnasium import spaces  # noqa: PLC0415 - takes 0.2 s, and few users need it

    return spaces.Dict({"move": spaces.Discrete(len(MOVES)), "talk": spaces.Discrete(rules.vocab_size)})


def observation_space(rules: LangRoomRules) -> Dict:
    """Return the observation space: `image`, uint8 (resolution, resolution, 3), and `text`, a word."""
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
    (`flagfall.tasks.task`); otherwise the panels are empty.

    Attributes:
        id: the text of its rules, such as `langroom:echo:view=3`.
    """

    render_modes: ClassVar[Sequence[str]] = ("rgb", "ansi")

    def __init__(self, rules: LangRoomRules = _DEFAULT_RULES) -> None:
        self.rules = rules
        self.id: str = str(rules)
        self.instructions: Any = rules.instructions
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
        """Return whether an action is a dictionary of a move and a word, whole numbers of Python or numpy."""
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
        """Return the picture for people (`rgb`), uint8 (height, 4 * height, 3), or the text (`ansi`)."""
        room = self._room
        if mode == "rgb":
            view = large_images(self.rules).get(room.place, room.colors)
            return log_image(view, self._history or LogHistory())
        if mode == "ansi":
            return room_as_text(room.player, room.colors, room.word)
        return super().render(mode, *args, **kwargs)

    def describe_action(self, action: Any, player: str | None = None) -> str:
        """Return a step in words, such as `move up, say red`."""
        if not self.is_legal(action):
            return super().describe_action(action, player)
        move, word = read_action(action)
        said = f"say {word_at(word)}" if word else "say nothing"
        return f"{'move ' if move else ''}{MOVES[move]}, {said}"

    def describe_observation(self, observation: Any, player: str | None = None) -> str:
        """Return the view in letters, and the word of the room."""
        if not isinstance(observation, Mapping) or observation.keys() != {"image", "text"}:
            return super().describe_observation(observation, player)
        image, word = observation["image"], observation["text"]
        content = self._images.content_of(image)
        view = describe_value(image) if content is None else view_as_text(content, self.rules.view)
        is_word = isinstance(word, _WHOLE) and word >= 0
        said = (word_at(int(word)) or "nothing") if is_word else describe_value(word)
        return f"{view}\nthe room says: {said}"

    def _observation(self) -> dict[str, Any]:
        room = self._room
        return {"image": self._images.get(room.place, room.colors), "text": room.word}


def room_info(room: Room) -> dict[str, Any]:
    """Return the hidden state: `player` (x, y), `colors` (object to colour), `word`."""
    return {
        "player": np.array(room.player),
        "colors": {name: COLORS[color] for name, color in zip(OBJECTS, room.colors, strict=True)},
        "word": WORDS[room.word],
    }
