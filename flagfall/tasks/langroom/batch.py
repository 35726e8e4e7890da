"""A batch of LangRooms in numpy, with their images.

Each room equals a `room.Room` with the same generator. A step runs no Python for single rooms, except for
those whose script or episode ends.
"""

from __future__ import annotations

__all__ = ["RoomBatch"]

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from flagfall.errors import UsageError
from flagfall.tasks.langroom.images import Picture, image_cache, order_of
from flagfall.tasks.langroom.rules import (
    MOVES,
    NEXT_PLACE,
    OBJECTS,
    SIZE,
    START,
    WORDS,
    LangRoomRules,
    place_of,
)
from flagfall.tasks.langroom.script import LONGEST_SCRIPT, draw_colors, draw_script

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

Numbers = NDArray[np.intp]
Mask = NDArray[np.bool_]

_NEXT: Final[Numbers] = np.array(NEXT_PLACE, np.intp).ravel()
_UNKNOWN: Final = len(WORDS)


class RoomBatch:
    """A batch of rooms, one for each generator.

    Args:
        rules: the rules of all rooms.
        rngs: the source of everything random in each room.

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
        """Start an episode in some rooms.

        Args:
            chosen: indices of the rooms.
        """
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
