"""A race on a grid: two players move at the same time, and collect lamps that appear at random."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from flagfall.kernel.descriptions import describe_board
from flagfall.kernel.outcomes import StepResult
from flagfall.tasks.task import Task

Cell: TypeAlias = tuple[int, int]
"""Row and column."""

SIZE: Final = 9
STEPS: Final = 100
N_LAMPS: Final = 3
MOVES: Final[tuple[Cell, ...]] = ((0, 0), (-1, 0), (0, 1), (1, 0), (0, -1))
"""Change of row and column of each action: stay, up, right, down, left."""

STARTS: Final[tuple[Cell, Cell]] = ((0, 0), (SIZE - 1, SIZE - 1))
PILLARS: Final = frozenset((row, column) for row in (2, 4, 6) for column in (2, 4, 6))
"""Cells that cannot be entered; they look the same from both corners."""

_CELLS: Final = [(row, column) for row in range(SIZE) for column in range(SIZE)]
_FREE: Final = [cell for cell in _CELLS if cell not in PILLARS]

_CELL_PIXELS: Final = 24
_GROUND, _PILLAR, _LAMP = (244, 241, 232), (120, 113, 100), (245, 183, 49)
_COLOURS: Final = ("blue", "red")
_LETTERS: Final = "BR"
_PLAYERS: Final = ((37, 99, 168), (178, 58, 72))


class Lamps(Task):
    """Two players on a grid of 9 x 9 cells collect lamps, one point each, for 100 steps.

    Both choose a move, and move at the same time. A move into a pillar or out of the grid is none. Where both
    would enter one cell, or change places, neither moves. There are always three lamps; one that is collected
    appears again on a free cell, drawn from the seed.

    An observation is int8 (4, 9, 9), planes of 0 and 1: the player, the opponent, lamps, pillars. So both
    players see the same in the same situation.
    """

    id = "duel:lamps"
    players: Sequence[str] = ("player_0", "player_1")
    instructions = (
        f"You and your opponent move on a grid of {SIZE} x {SIZE} cells at the same time, one cell up, "
        "right, down or left, or not at all. Who enters a cell with a lamp collects it: one point. There "
        f"are always {N_LAMPS} lamps; a new one appears on a free cell, drawn at random. Nobody can enter a "
        "pillar or leave the grid. Where both of you would enter the same cell, or change places, neither "
        f"moves. The game lasts {STEPS} steps; who has more points wins."
    )
    render_modes: ClassVar[Sequence[str]] = ("rgb", "ansi")
    nil_action = 0
    action_space: spaces.Discrete[Any] = spaces.Discrete(len(MOVES))
    observation_space: spaces.Box = spaces.Box(0, 1, (4, SIZE, SIZE), np.int8)

    def __init__(self) -> None:
        super().__init__(max_steps=STEPS)
        self._pillars = np.zeros((SIZE, SIZE), np.int8)
        for cell in PILLARS:
            self._pillars[cell] = 1
        self._reset(0)

    @classmethod
    def class_action_names(cls) -> tuple[str, ...]:
        """Return the names of the actions, by number."""
        return ("NOOP", "UP", "RIGHT", "DOWN", "LEFT")

    def describe_player(self, player: str) -> str:
        """Return the colour in which a player is drawn."""
        return _COLOURS[self.players.index(player)]

    def describe_observation(self, observation: Any, player: str | None = None) -> str:
        """Return the grid, with a letter for the colour of each player."""
        if getattr(observation, "shape", None) != self.observation_space.shape:
            return super().describe_observation(observation, player)
        seat = 0 if player is None else self.players.index(player)
        own, other = _LETTERS[seat], _LETTERS[1 - seat]
        board = describe_board(observation.tolist(), [own, other, "*", "#"])
        return f"{board}\n({own}: you, {other}: the opponent, *: lamp, #: pillar)"

    def _reset(self, seed: int) -> Any:
        self._random = Random(seed)
        self.cells: list[Cell] = list(STARTS)
        self.lamps: list[Cell] = []
        while len(self.lamps) < N_LAMPS:
            self._place_lamp()
        return self._shown()

    def _place_lamp(self) -> None:
        taken = {*self.cells, *self.lamps}
        self.lamps.append(self._random.choice([cell for cell in _FREE if cell not in taken]))

    def _step(self, action: Any) -> StepResult:
        aims = [
            _moved(cell, int(action[player])) for cell, player in zip(self.cells, self.players, strict=True)
        ]
        if aims[0] != aims[1] and aims != self.cells[::-1]:
            self.cells = aims
        rewards = {}
        for player, cell in zip(self.players, self.cells, strict=True):
            rewards[player] = float(cell in self.lamps)
            if cell in self.lamps:
                self.lamps.remove(cell)
        while len(self.lamps) < N_LAMPS:
            self._place_lamp()
        return StepResult(self._shown(), rewards, False, False, {})

    def _shown(self) -> dict[str, NDArray[np.int8]]:
        shown = {}
        for seat, player in enumerate(self.players):
            planes = np.zeros((4, SIZE, SIZE), np.int8)
            planes[0][self.cells[seat]] = 1
            planes[1][self.cells[1 - seat]] = 1
            for lamp in self.lamps:
                planes[2][lamp] = 1
            planes[3] = self._pillars
            shown[player] = planes
        return shown

    def reached_terminal_state(self) -> bool:
        """Return `False`: only the number of steps ends an episode."""
        return False

    def render(self, mode: str = "rgb", *args: Any, **kwargs: Any) -> NDArray[Any] | str:
        """Return the grid as a picture (`rgb`) or as text (`ansi`)."""
        if mode == "ansi":
            letters = "".join(map(self._letter, _CELLS))
            return "\n".join(letters[start : start + SIZE] for start in range(0, len(letters), SIZE))
        if mode != "rgb":
            return super().render(mode, *args, **kwargs)
        picture = np.empty((SIZE, SIZE, 3), np.uint8)
        picture[:] = _GROUND
        for cell in PILLARS:
            picture[cell] = _PILLAR
        for cell in self.lamps:
            picture[cell] = _LAMP
        for cell, colour in zip(self.cells, _PLAYERS, strict=True):
            picture[cell] = colour
        large = picture.repeat(_CELL_PIXELS, 0).repeat(_CELL_PIXELS, 1)
        large[::_CELL_PIXELS] = large[:, ::_CELL_PIXELS] = _PILLAR
        return large

    def _letter(self, cell: Cell) -> str:
        if cell in self.cells:
            return _LETTERS[self.cells.index(cell)]
        return "#" if cell in PILLARS else "*" if cell in self.lamps else "."


def _moved(cell: Cell, move: int) -> Cell:
    row, column = cell[0] + MOVES[move][0], cell[1] + MOVES[move][1]
    inside = 0 <= row < SIZE and 0 <= column < SIZE and (row, column) not in PILLARS
    return (row, column) if inside else cell
