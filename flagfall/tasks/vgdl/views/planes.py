"""A state as arrays for learners: a plane of ones and zeros for each type, and facts of the avatar."""

from __future__ import annotations

__all__ = ["AVATAR_FACTS", "Planes", "PlanesView"]

from typing import TYPE_CHECKING, Final, TypedDict

import numpy as np
from gymnasium import spaces

from flagfall.errors import UsageError
from flagfall.tasks.vgdl.views.state_observation import Column
from flagfall.tasks.vgdl.views.visible_types import visible_types

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from flagfall.tasks.vgdl.definition import GameDefinition
    from flagfall.tasks.vgdl.views.state_observation import StateObservation

AVATAR_FACTS: Final = ("x", "y", "orientation x", "orientation y", "speed", "alive", "health")
"""First facts of the avatar; x and y in cells, speed in cells a tick. The amount of each resource follows."""

MAX_FACT: Final = 1e6
"""Bound of the absolute value of a fact; larger ones are clipped."""

MAX_VALUES: Final = 10**8
"""Limit of the values of all planes together; the public games need 17,360."""


class Planes(TypedDict):
    """Arrays of one state.

    Attributes:
        planes: `[type, row, column]`, 1 in cells with a sprite of the type, else 0.
        avatar: the facts; see `AVATAR_FACTS`.
    """

    planes: NDArray[np.uint8]
    avatar: NDArray[np.float32]


class PlanesView:
    """Converts states of one game to planes; columns that did not change are not converted again.

    Args:
        definition: the definition of the game.
        width: the width of its level, in cells.
        height: the height of its level, in cells.

    Attributes:
        types: type of each plane; see `visible_types`.
        resources: types whose amounts are the last facts.
        space: the space of the results.

    Raises:
        UsageError: the level is too large.
    """

    def __init__(self, definition: GameDefinition, width: int, height: int) -> None:
        self.types = visible_types(definition)
        if len(self.types) * height * width > MAX_VALUES:
            size = f"{len(self.types)} planes of {width} x {height} cells"
            raise UsageError(f"{size}: more than {MAX_VALUES} values; use observation=state for such a level")
        self.resources = tuple(number for number, limit in enumerate(definition.limits) if limit > 0)
        self._plane_of = {number: plane for plane, number in enumerate(self.types)}
        self._planes = np.zeros((len(self.types), height, width), np.uint8)
        self._columns: list[Column] = [((),) * height] * width
        facts = len(AVATAR_FACTS) + len(self.resources)
        self.space = spaces.Dict(
            {
                "planes": spaces.Box(0, 1, self._planes.shape, np.uint8),
                "avatar": spaces.Box(-MAX_FACT, MAX_FACT, (facts,), np.float32),
            }
        )

    def view(self, state: StateObservation) -> Planes:
        """Return the planes of a state, as new arrays.

        Args:
            state: the state of the game.
        """
        planes, plane_of = self._planes, self._plane_of
        for at, column in enumerate(state.observation_grid):
            if column is not self._columns[at]:
                planes[:, :, at] = 0
                for row, cell in enumerate(column):
                    for seen in cell:
                        planes[plane_of[seen.itype], row, at] = 1
                self._columns[at] = column
        return {"planes": planes.copy(), "avatar": self._facts(state)}

    def _facts(self, state: StateObservation) -> NDArray[np.float32]:
        x, y = state.avatar_position
        amounts = state.avatar_resources
        facts = np.array(
            [
                x / state.block_size,
                y / state.block_size,
                *state.avatar_orientation,
                state.avatar_speed,
                state.is_avatar_alive,
                state.avatar_health_points,
                *[amounts.get(number, 0) for number in self.resources],
            ],
            np.float32,
        )
        return np.clip(facts, -MAX_FACT, MAX_FACT)
