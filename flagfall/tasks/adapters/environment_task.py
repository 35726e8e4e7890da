"""What tasks of Gymnasium and of PettingZoo share: their text form, checks, seeds and pictures."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from math import isfinite, nan
from typing import Any, Final, TypeVar

from flagfall.errors import HostFault, UsageError
from flagfall.kernel.channels.arrays import json_encoder
from flagfall.kernel.descriptions import has_shapes, name_of
from flagfall.kernel.roles import Area
from flagfall.tasks.adapters.docstrings import instructions_from
from flagfall.tasks.adapters.known_environments import known_environment
from flagfall.tasks.task import ENVIRONMENT_MODES, Task, are_pictures_wanted, best_mode

# Options in a text, such as `gym:FrozenLake-v1?is_slippery=false&map_name=8x8` (see `flagfall.texts`), are
# passed to the maker of the environment, except for those of the task itself.

_PARTS: Final = re.compile(r'"(?:\\.|[^"\\])*"|[\[\]{},]|[^"\[\]{},]+|"')
_OPENING: Final = {"[": 1, "{": 1, "]": -1, "}": -1}


def split_texts(text: str) -> Iterator[str]:
    """Yield the ids of tasks in a comma-separated text; commas in brackets or quotes do not separate."""
    depth, begun = 0, ""
    for part in _PARTS.findall(text):
        if part == "," and depth <= 0:
            if begun:
                yield begun
            begun = ""
            continue
        depth += _OPENING.get(part, 0)
        begun += part
    if begun:
        yield begun


_IGNORES_SEED: Final = "the environment ignores its seed: two resets with the same one did not show the same"

_SEEDS: Final = 2**31
"""Number of seeds that every environment accepts: some pass them to C libraries as an `int`."""

_encode = json_encoder().encode
_T = TypeVar("_T")


class SeedIgnoredWarning(UserWarning):
    """Two resets of an environment with the same seed gave different observations."""


class EnvironmentTask(Task):
    """A task around a foreign environment.

    Args:
        env: the environment; the task closes it.

    Raises:
        UsageError: `action_mask` is not a boolean.
    """

    def __init__(self, env: Any, id: str, action_mask: object) -> None:  # noqa: A002 - as everywhere
        self.id: str = id
        super().__init__(env)
        if not isinstance(action_mask, bool):
            raise UsageError(f"{id}: action_mask={action_mask!r}: write true or false")
        self._shows_mask = action_mask
        self._probed = False
        self._known = known_environment(env)
        self._names: dict[int, tuple[Sequence[str], int]] = {}

    def _started(self, start: Callable[[int], _T], seed: int, seen: Callable[[_T], Any]) -> _T:
        """Reset the environment; at first twice, to check that it follows its seed.

        Args:
            start: resets it with a seed.
            seen: returns the observations in what `start` returns.
        """
        begun = start(seed % _SEEDS)
        if not self._probed:
            self._probed = True
            first = _encode(seen(begun))
            begun = start(seed % _SEEDS)
            if _encode(seen(begun)) != first:
                self.not_repeatable = _IGNORES_SEED
                warnings.warn(f"{self.id}: {_IGNORES_SEED}", SeedIgnoredWarning, stacklevel=2)
        return begun

    def metrics(self) -> dict[str, Any]:
        """Return the metrics of every task, and `ignores_seed` if the environment does."""
        return super().metrics() | ({"ignores_seed": True} if self.not_repeatable else {})

    def render(self, mode: str = "rgb", *args: Any, **kwargs: Any) -> Any:
        """Render the environment.

        Raises:
            NotImplementedError: the environment was not made with this render mode.
        """
        made_with = getattr(self.env, "render_mode", None)
        if made_with is None or ENVIRONMENT_MODES.get(mode, mode) != made_with:
            return super().render(mode, *args, **kwargs)
        return self.env.render()

    @cached_property
    def instructions(self) -> str:  # type: ignore[override]  # made for those who ask
        """The documentation of the environment on its goal, actions, rewards and observations."""
        return instructions_from(self.env)

    def describe_action(self, action: Any, player: str | None = None) -> str:
        """Return the name of an action, as the environment or its documentation has it; else its value."""
        seat = self._seat(player)
        if seat not in self._names:
            self._names[seat] = self._named(seat)
        return name_of(action, *self._names[seat])

    def _named(self, seat: int) -> tuple[Sequence[str], int]:
        """Return the names of the actions of a player, and the number of the first one."""
        count, start = self._numbers(seat)
        meanings = getattr(self.env.unwrapped, "get_action_meanings", None)
        names = self._known.actions(count, seat) if meanings is None else [str(name) for name in meanings()]
        return (names, start) if len(names) == count else ((), start)

    def _numbers(self, seat: int) -> tuple[int, int]:
        """Return how many actions a player has, 0 for a space other than `Discrete`, and the first one."""
        space = self.action_space_of(self.players[seat])
        is_discrete = hasattr(space, "n") and hasattr(space, "start")
        return (int(space.n), int(space.start)) if is_discrete else (0, 0)

    def _seat(self, player: str | None) -> int:
        return 0 if player is None else self.players.index(player)

    def describe_observation(self, observation: Any, player: str | None = None) -> str:
        """Return an observation as text, boards of well-known games as grids with their pieces."""
        seat = self._seat(player)
        draw = self._known.board
        if draw is not None:
            space = self.observation_space_of(self.players[seat])
            board, mask = space["observation"].shape, space["action_mask"].shape
            if has_shapes(observation, observation=board, action_mask=mask):
                allowed = int((observation["action_mask"] != 0).sum())
                drawn = draw(observation["observation"], seat, allowed)
                observation = {**observation, "observation": drawn}
        return super().describe_observation(observation, player)

    def describe_player(self, player: str) -> str:
        """Return the colour or the mark of a player of a well-known game; otherwise its name."""
        return self._known.players[self._seat(player)] if self._known.players else player

    def layout_of_actions(self, player: str) -> Mapping[int, Sequence[Area]]:
        """Return where the pictures of boards are clicked; see `flagfall.kernel.roles.TaskDefaults`."""
        seat = self._seat(player)
        return self._known.layout(self._numbers(seat)[0], seat)

    def close(self) -> None:
        """Close the environment.

        Raises:
            HostFault: closing it failed.
        """
        try:
            self.env.close()
        except Exception as error:
            raise HostFault(f"{self.id} cannot be closed: {type(error).__name__}: {error}") from error


def made_for_pictures(make: Callable[..., Any], options: Mapping[str, Any], hidden: Mapping[str, Any]) -> Any:
    """Return an environment, in its best render mode if it is made to be drawn.

    Args:
        hidden: the options without any render mode, whatever window the text asks for.
    """
    if not are_pictures_wanted():
        return make(**options)
    env = make(**hidden)
    mode = best_mode(env.metadata)
    if mode is None:
        return env
    env.close()
    return make(**{**options, "render_mode": mode})


def finite_reward(reward: Any) -> float:
    """Return a reward as a number.

    Raises:
        ValueError: it is not a finite number, so it can be neither summed nor recorded.
    """
    try:
        number = nan if getattr(reward, "ndim", 0) else float(reward)  # numpy 2.0 would convert arrays of one
    except (TypeError, ValueError):
        number = nan
    if not isfinite(number):
        raise ValueError(f"its reward is {reward!r}; rewards are finite numbers")
    return number
