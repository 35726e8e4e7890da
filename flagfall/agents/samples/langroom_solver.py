"""Agent that answers the questions of LangRoom, from the picture and the words alone.

It knows the rules: the words, the places of the objects, and the start of an episode.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from flagfall.timing import ElapsedTimer

LANGROOM_WORDS: Final = (
    *("", "red", "green", "blue", "yellow"),
    *("ball", "rug", "table", "vase"),
    *("what", "color", "is", "the", "?", "it"),
)
"""Words of LangRoom by index; further ones have no meaning."""

_CORNERS: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {"ball": (1, 1), "rug": (7, 1), "table": (1, 7), "vase": (7, 7)}
)
_START: Final = (4, 4)

_DEFAULT_VIEW: Final = 2
_WIDEST_VIEW: Final = 8

_MIDDLE: Final = 4
"""Index of the player in its 3 x 3 cells, row by row."""

_STEPS: Final = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))
"""Steps (x, y) of the moves, by index."""

_COLORS: Final = {
    (True, False, False): "red",
    (False, True, False): "green",
    (False, False, True): "blue",
    (True, True, False): "yellow",
}
"""Names of colours, by whether red, green and blue are strong in them."""


def is_langroom(observation: Any) -> bool:
    """Return whether an observation is one of LangRoom."""
    return isinstance(observation, Mapping) and observation.keys() == {"image", "text"}


def langroom_action(move: int = 0, word: str = "") -> dict[str, int]:
    """Return an action of LangRoom.

    Args:
        move: 0 stay, 1 down, 2 up, 3 right, 4 left.
    """
    return {"move": move, "talk": LANGROOM_WORDS.index(word)}


class LangRoomSolver:
    """Plays LangRoom: walks to where it sees the object of a question, and answers with its colour in time.

    A question comes thirteen steps before its answer, which is enough to see any object from anywhere. The
    colours are new with each question, so it uses only what it has seen since the question began.

    Args:
        view: number of cells seen to each side. By default it is found from the first observation of an
            episode.
    """

    def __init__(self, view: int | None = None) -> None:
        self._given_view = view
        self._begin()

    def init(self, observation: Mapping[str, Any]) -> None:
        """Begin an episode."""
        self._begin()
        self._view = self._given_view or _found_view(observation["image"])

    def _begin(self) -> None:
        self._view = self._given_view or _DEFAULT_VIEW
        self._at = _START
        self._step = 0
        self._heard = self._asked = ""
        self._seen: dict[str, str] = {}

    def act(self, observation: Mapping[str, Any], timer: ElapsedTimer) -> dict[str, int]:
        """Look, listen, and return a move and a word."""
        late: Any = timer.late
        dx, dy = _STEPS[self._step if late is None else late.played["move"]]
        self._at = self._at[0] + dx, self._at[1] + dy
        before, self._heard = self._heard, LANGROOM_WORDS[observation["text"]]
        if self._heard == "what":
            self._seen.clear()
        elif self._heard in _CORNERS:
            self._asked = self._heard
        self._look(observation["image"])
        self._step = self._towards(self._asked)
        answer = ""
        if (before, self._heard) == ("it", "is"):
            answer, self._asked = self._seen.get(self._asked, ""), ""
        return langroom_action(self._step, answer)

    def _look(self, image: Any) -> None:
        """Note the colours of the objects in sight."""
        view, cells = self._view, _cells_of(image, self._view)
        for name, corner in _CORNERS.items():
            column, row = (there - here + view for there, here in zip(corner, self._at, strict=True))
            if 0 <= column < len(cells) and 0 <= row < len(cells):
                self._seen[name] = _color_of(cells[row, column])

    def _towards(self, name: str) -> int:
        """Return the move that brings an object nearer to the view; 0 where it is or was in view."""
        if not name or name in self._seen:
            return 0
        for axis, moves in enumerate(((4, 3), (2, 1))):
            away = _CORNERS[name][axis] - self._at[axis]
            if abs(away) > self._view:
                return moves[away > 0]
        return 0


def _cells_of(image: Any, view: int) -> Any:
    """Return the cells of a picture: `[cells, cells, pixels, pixels, 3]`, by row and column."""
    cells = 2 * view + 1
    size = len(image) // cells
    margin = (len(image) - cells * size) // 2
    inner = image[margin : margin + cells * size, margin : margin + cells * size]
    return inner.reshape(cells, size, cells, size, 3).swapaxes(1, 2)


def _found_view(image: Any) -> int:
    """Return the view with which a picture shows the start of an episode; the default one if none does."""
    fitting = (view for view in range(1, _WIDEST_VIEW + 1) if _is_beginning(image, view))
    return next(fitting, _DEFAULT_VIEW)


def _is_beginning(image: Any, view: int) -> bool:
    """Return whether a view gives a border, and floor around the player, who stands on something else."""
    cells = 2 * view + 1
    spare = len(image) % cells
    if spare % 2 or cells > len(image):
        return False
    border, inner = image.copy(), slice(spare // 2, len(image) - spare // 2)
    border[inner, inner] = 0
    near = slice(view - 1, view + 2)
    around = _cells_of(image, view)[near, near].reshape(9, -1)
    like_the_first = (around == around[0]).all(axis=1).tolist()
    return not border.any() and like_the_first == [cell != _MIDDLE for cell in range(len(around))]


def _color_of(cell: Any) -> str:
    """Return the colour of a cell by its most colourful pixel; grey is none."""
    pixels = cell.reshape(-1, 3).astype(int)
    strongest = pixels[(pixels.max(axis=1) - pixels.min(axis=1)).argmax()].tolist()
    middle = (min(strongest) + max(strongest)) / 2
    return _COLORS.get(tuple(part > middle for part in strongest), "")
