"""LangRoom as Gymnasium environments: one room, and a batch of rooms.

gymnasium.make("flagfall/LangRoom-v0", task="echo", view=3)
gymnasium.make_vec("flagfall/LangRoom-v0", num_envs=256)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from gymnasium import Env, Space
from gymnasium.spaces import MultiDiscrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from flagfall.environments.vector.memory import check_count, checked_autoreset, checked_mask, seeds_of
from flagfall.errors import UsageError, suggest
from flagfall.tasks.langroom.images import (
    LogHistory,
    Picture,
    image_cache,
    large_images,
    log_image,
    room_as_text,
)
from flagfall.tasks.langroom.rules import COLORS, OBJECTS, WORDS, LangRoomRules, Room, place_of, read_action
from flagfall.tasks.langroom.task import RoomBatch, action_space, observation_space, room_info

Observation: TypeAlias = dict[str, Any]
Info: TypeAlias = dict[str, Any]

_FRAMES_PER_SECOND: Final = 5

_PARTS: Final = 2
"""Numbers of a flat action: the move and the word."""

_NOT_BEGUN: Final = "no episode is going on: reset begins one"

_COLOR_NAMES: Final = np.array(COLORS, object)
_WORD_NAMES: Final = np.array(WORDS, object)


class LangRoomEnv(Env[Observation, Any]):
    """One LangRoom; see `flagfall.tasks.langroom.rules` for its rules.

    An observation has `image`, uint8 (resolution, resolution, 3), and `text`, the index of the current word;
    an action has `move` and `talk`. `info` has the hidden state: `player` (x, y), `colors` (object to
    colour), `word`. An episode is truncated after `length` steps, and never terminated.

    A reset with a seed creates the generator `numpy.random.default_rng(seed)`; without one it continues.

    Args:
        render_mode: `rgb_array` for an image of the view and of the last words and rewards; `ansi` for the
            whole room in letters.
        flat_actions: an action is an array of the move and the word, of a `MultiDiscrete` space, for
            libraries that take no dictionaries as actions, such as stable-baselines3.
        options: the other options of `LangRoomRules`.

    Raises:
        UsageError: an argument is invalid.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium declares it so
        "render_modes": ["rgb_array", "ansi"],
        "render_fps": _FRAMES_PER_SECOND,
    }

    def __init__(
        self,
        task: str = "answer-only",
        *,
        render_mode: str | None = None,
        flat_actions: bool = False,
        **options: Any,
    ) -> None:
        self.rules: LangRoomRules = LangRoomRules.choose(task, **options)
        self.render_mode: str | None = _checked_mode(render_mode, self.metadata["render_modes"])
        self._images = image_cache(self.rules)
        self._flat = flat_actions
        self.action_space: Space[Any] = _action_space(self.rules, flat=flat_actions)
        self.observation_space: Space[Any] = observation_space(self.rules)
        self._room = Room(self.rules, np.random.default_rng(0))
        self._history = LogHistory()
        self._begun = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Start an episode; see `gymnasium.Env.reset`."""
        super().reset(seed=seed, options=options)
        self._room.rng = self.np_random
        self._room.begin()
        self._begun = True
        self._history.begin(self._room.word)
        return self._observation(), room_info(self._room)

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, Info]:
        """Play a step; see `gymnasium.Env.step`.

        Args:
            action: `move` and `talk`, or an array of the two.

        Raises:
            UsageError: there is no such move or word, or no episode is running.
        """
        room = self._room
        move, talk = read_action(_named(action) if self._flat else action)
        reward = room.step(move, talk)
        self._history.add(room.word, talk, reward)
        return self._observation(), reward, False, room.over, room_info(room)

    def render(self) -> Any:
        """Return the image, uint8 (height, 4 * height, 3), or the text, depending on `render_mode`.

        Raises:
            UsageError: no episode was started.
        """
        if not self._begun:
            raise UsageError(_NOT_BEGUN)
        room = self._room
        if self.render_mode == "ansi":
            return room_as_text(room.player, room.colors, room.word)
        if self.render_mode == "rgb_array":
            return log_image(large_images(self.rules).get(room.place, room.colors), self._history)
        return None

    def _observation(self) -> Observation:
        room = self._room
        return {"image": self._images.get(room.place, room.colors).copy(), "text": room.word}


class LangRoomVectorEnv(VectorEnv[Observation, Any, NDArray[Any]]):
    """A batch of LangRooms in numpy; each room equals a `LangRoomEnv` with the same seed.

    `reset(seed=7)` gives room i the seed 7 + i; a list gives each room its own seed. A reset without a seed,
    and every automatic one, continues with the generators.

    Args:
        render_mode: `rgb_array`: `render` returns the view of each room.
        autoreset_mode: what follows the end of an episode (`gymnasium.vector.AutoresetMode`): the next step
            is the reset and ignores its action (`NEXT_STEP`); the last step returns the first observation of
            the next episode, and `final_obs` and `final_info` in `info` (`SAME_STEP`); or nothing, and the
            rooms that have ended must be reset with `options={"reset_mask": mask}` (`DISABLED`).

    Raises:
        UsageError: an argument is invalid.
    """

    metadata: dict[str, Any]

    def __init__(
        self,
        num_envs: int = 1,
        task: str = "answer-only",
        *,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        flat_actions: bool = False,
        **options: Any,
    ) -> None:
        check_count("num_envs", num_envs)
        self.num_envs = num_envs
        self._flat = flat_actions
        self.rules: LangRoomRules = LangRoomRules.choose(task, **options)
        self.render_mode: str | None = _checked_mode(render_mode, ["rgb_array"])
        self._autoreset = checked_autoreset(autoreset_mode)
        self.metadata = {
            "render_modes": ["rgb_array"],
            "render_fps": _FRAMES_PER_SECOND,
            "autoreset_mode": self._autoreset,
        }
        self._rooms = RoomBatch(self.rules, [np.random.default_rng(0) for _ in range(num_envs)])
        self.single_action_space: Space[Any] = _action_space(self.rules, flat=flat_actions)
        self.single_observation_space: Space[Any] = observation_space(self.rules)
        self.action_space: Space[Any] = batch_space(self.single_action_space, num_envs)
        self.observation_space: Space[Any] = batch_space(self.single_observation_space, num_envs)
        self._begun = np.zeros(num_envs, np.bool_)
        self._everywhere = np.ones(num_envs, np.bool_)
        self._everywhere.flags.writeable = False

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Start an episode in every room, or in those of a mask.

        Args:
            seed: a number, for the seed `seed + i` of room i; a list with a seed for each room; or `None`.
            options: optionally `reset_mask`, bool (num_envs,): the rooms to reset.

        Raises:
            UsageError: the seeds or the mask do not fit the rooms.
        """
        mask = (options or {}).get("reset_mask")
        mask = self._everywhere if mask is None else checked_mask(mask, self.num_envs)
        seeds = seeds_of(seed, self.num_envs)
        chosen = np.flatnonzero(mask)
        for room in chosen:
            own = seeds[int(room)]
            if own is not None or not self._begun[room]:
                self._rooms.rngs[room] = np.random.default_rng(own)
        self._begun |= mask
        self._rooms.begin(chosen)
        return self._observation(), self._info(mask)

    def step(
        self, actions: Any
    ) -> tuple[Observation, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Info]:
        """Play a step in every room; see `gymnasium.vector.VectorEnv.step`.

        Args:
            actions: arrays `move` and `talk`, each (num_envs,), or one array (num_envs, 2).

        Raises:
            UsageError: there is no such move or word, or an episode is over; nothing was changed.
        """
        rooms = self._rooms
        if not self._begun.all():
            raise UsageError(_NOT_BEGUN)
        try:
            named = _named(actions) if self._flat else actions
            moves, talks = np.asarray(named["move"]), np.asarray(named["talk"])
        except (TypeError, LookupError):
            raise UsageError(
                f"{actions!r} are not actions: give an array of moves and one of talks"
            ) from None
        over = rooms.over
        beginning = over if self._autoreset is AutoresetMode.NEXT_STEP and over.any() else None
        rewards = rooms.step(moves, talks, beginning)
        truncated = rooms.over
        final: Info = {}
        if self._autoreset is AutoresetMode.SAME_STEP and truncated.any():
            final = self._final(truncated)
            rooms.begin(np.flatnonzero(truncated))
        terminated = np.zeros(self.num_envs, np.bool_)
        return self._observation(), rewards, terminated, truncated, self._info(self._everywhere) | final

    def render(self) -> tuple[Picture, ...] | None:
        """Return the view of each room, as in the last observation but larger.

        Raises:
            UsageError: a room has no episode yet.
        """
        if self.render_mode is None:
            return None
        if not self._begun.all():
            raise UsageError(_NOT_BEGUN)
        large = large_images(self.rules)
        places = [place_of(x, y) for x, y in self._rooms.players.tolist()]
        return tuple(
            large.get(place, colors).copy()
            for place, colors in zip(places, self._rooms.colors.tolist(), strict=True)
        )

    def _observation(self) -> Observation:
        size = self.rules.resolution
        images = np.empty((self.num_envs, size, size, 3), np.uint8)
        self._rooms.look(images)
        return {"image": images, "text": self._rooms.words.copy()}

    def _info(self, mask: NDArray[np.bool_]) -> Info:
        """Return the infos in Gymnasium's form for batches: each with a mask of the rooms it holds for."""
        rooms = self._rooms
        known = mask.copy()
        colors: Info = {}
        for number, name in enumerate(OBJECTS):
            colors |= {name: _COLOR_NAMES[rooms.colors[:, number]], f"_{name}": known}
        player, word = rooms.players, _WORD_NAMES[rooms.words]
        if mask is not self._everywhere:
            player[~mask] = 0
            for names in (word, *(colors[name] for name in OBJECTS)):
                names[~mask] = None
        return {
            "player": player,
            "_player": known,
            "colors": colors,
            "_colors": known,
            "word": word,
            "_word": known,
        }

    def _final(self, ended: NDArray[np.bool_]) -> Info:
        """Return the final observations and infos of the rooms that have ended."""
        shown = self._observation()
        observations = np.full(self.num_envs, None, object)
        for room in np.flatnonzero(ended):
            observations[room] = {"image": shown["image"][room].copy(), "text": shown["text"][room]}
        return {
            "final_obs": observations,
            "_final_obs": ended.copy(),
            "final_info": self._info(ended),
            "_final_info": ended.copy(),
        }


def _action_space(rules: LangRoomRules, *, flat: bool) -> Space[Any]:
    named = action_space(rules)
    return MultiDiscrete([space.n for space in named.values()]) if flat else named  # type: ignore[attr-defined]


def _named(actions: Any) -> dict[str, Any]:
    """Return flat actions with the names of their parts.

    Raises:
        UsageError: the last dimension does not hold a move and a word.
    """
    values = np.asarray(actions)
    if values.ndim == 0 or values.shape[-1] != _PARTS:
        raise UsageError(f"{actions!r} is not a flat action: it has a move and a word")
    return {"move": values[..., 0], "talk": values[..., 1]}


def _checked_mode(mode: str | None, known: Sequence[str]) -> str | None:
    if mode is not None and mode not in known:
        raise UsageError(f"render_mode={mode!r}: unknown mode{suggest(str(mode), known)}")
    return mode
