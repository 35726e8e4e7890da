"""What environments of Gymnasium and PettingZoo do not tell of themselves: one row an environment.

Names and numbers of actions are those of their documentation; colours and places are those of their pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import isqrt
from typing import Any, Final, TypeAlias

import attrs

from flagfall.kernel.descriptions import describe_board
from flagfall.kernel.roles import Area

Names: TypeAlias = Callable[[int, int], Sequence[str]]
Layout: TypeAlias = Mapping[int, Sequence[Area]]
MakeLayout: TypeAlias = Callable[[int, int], Layout]
Board: TypeAlias = Callable[[Any, int, int], str]


def _fixed(*names: str) -> Names:
    return lambda _count, _seat: names


def _no_names(_count: int, _seat: int) -> Sequence[str]:
    return ()


def _no_layout(_count: int, _seat: int) -> Layout:
    return {}


@attrs.frozen
class KnownEnvironment:
    """Names and places of an environment.

    Attributes:
        actions: returns the names of the actions, given their number and the number of the player. They are
            used if there are as many; an empty one stands for an action that is never possible.
        players: names of the players, in their order; empty for those that the environment has.
        layout: returns the areas of actions, given the same; see `TaskDefaults.layout_of_actions`.
        board: returns the text of a board, given the array, the number of the player, and how many actions it
            is allowed.
    """

    actions: Names = _no_names
    players: Sequence[str] = ()
    layout: MakeLayout = _no_layout
    board: Board | None = None


_NOTHING: Final = KnownEnvironment()


def known_environment(env: Any) -> KnownEnvironment:
    """Return the row of an environment; an empty one if it is not of Gymnasium or PettingZoo, or has none."""
    module = type(env.unwrapped).__module__
    is_theirs = module.startswith(("gymnasium.", "pettingzoo."))
    return _ROWS.get(module.rpartition(".")[2], _NOTHING) if is_theirs else _NOTHING


# Boards for two. Planes are the last dimension; the first two are the pieces of the players.


def _drawn(planes: Any, players: Sequence[str], first: int) -> str:
    """Return two planes as a board, with the first letters of the players' names.

    Args:
        planes: an array (2 or more, rows, columns).
        first: the number of the player whose pieces are the first plane.
    """
    letters = [player[0].upper() for player in players]
    board = describe_board(planes[:2].tolist(), [letters[first], letters[1 - first]])
    legend = ", ".join(f"{letter}: {name}" for letter, name in zip(letters, players, strict=True))
    return board if letters == list(players) else f"{board}\n({legend})"


_CHIPS: Final = ("red", "black")
_MARKS: Final = ("X", "O")
_STONES: Final = ("black", "white")
_SIDES: Final = ("white", "black")


def _chips(board: Any, seat: int, _allowed: int) -> str:
    return _drawn(board.transpose(2, 0, 1), _CHIPS, seat)


def _columns(_count: int, _seat: int) -> Layout:
    # A chip is 9/13 of a column wide, and the first one begins 6/13 beside the edge; 99/13 are the width.
    return {column: [((13 * column + 4) / 99, 0.0, (13 * column + 17) / 99, 1.0)] for column in range(7)}


def _marks(board: Any, seat: int, _allowed: int) -> str:
    return _drawn(board.transpose(2, 1, 0), _MARKS, seat)


def _cell(column: int, row: int, size: int, right: float = 0.0) -> Area:
    """Return a cell of a square board that lies to the right and below its place by a share of a cell."""
    left, top = (column + right) / size, (row + right) / size
    return left, top, min(1.0, left + 1 / size), min(1.0, top + 1 / size)


def _cell_names(size: int) -> list[str]:
    """Return the names of the cells of a board whose actions are counted down its columns."""
    return [f"row {row}, column {column}" for column, row in product(range(1, size + 1), repeat=2)]


def _nine_cells(_count: int, _seat: int) -> Layout:
    return {3 * column + row: [_cell(column, row, 3)] for column, row in product(range(3), repeat=2)}


def _stones(board: Any, seat: int, allowed: int) -> str:
    # The first plane is that of the player who moved last, other than documented (PettingZoo 1.27). At the
    # end, when only passing is allowed, both see it, and nothing tells who that was.
    planes = board.transpose(2, 1, 0)
    return _drawn(planes, _STONES, 1 - seat) if allowed > 1 else _drawn(planes, ("last to move", "other"), 0)


def _points(count: int, _seat: int) -> Layout:
    size = isqrt(count)
    places = product(range(size), repeat=2)
    return {number: [_cell(column, row, size, 1 / 12)] for number, (column, row) in enumerate(places)}


def _point_names(count: int, _seat: int) -> Sequence[str]:
    return [*_cell_names(isqrt(count)), "pass"]


# Chess: an action is a square, from which a piece is taken, and one of 73 ways to move it, as in AlphaZero;
# black sees the board from its own side. See `pettingzoo.classic.chess.chess_utils`, which needs `chess`.

_RANKS: Final = 8
_QUEEN_MOVES: Final = [
    (distance * right, distance * up)
    for distance in range(1, _RANKS)
    for right, up in product((-1, 0, 1), repeat=2)
    if right or up
]
_KNIGHT_MOVES: Final = [
    (right, up)
    for right, up in product(range(-2, 3), repeat=2)
    if abs(right) + abs(up) == 3  # noqa: PLR2004 - one and two
]
_WAYS: Final = (
    *((move, "") for move in (*_QUEEN_MOVES, *_KNIGHT_MOVES)),
    *(((right, 1), piece) for right in (-1, 0, 1) for piece in "nbr"),
)
"""Columns to the right and rows forward, and the piece that a pawn becomes, if it does not become a queen."""


@lru_cache(maxsize=2)
def _chess_moves(seat: int) -> Sequence[tuple[int, int, int, int, str] | None]:
    """Return column and row of both squares, and the new piece, of each action; rows from white's side."""
    moves: list[tuple[int, int, int, int, str] | None] = []
    for column, row, ((right, up), piece) in product(range(_RANKS), range(_RANKS), _WAYS):
        to_column, to_row = column + right, row + up
        rows = (row, to_row) if seat == 0 else (_RANKS - 1 - row, _RANKS - 1 - to_row)
        is_promotion = row == _RANKS - 2
        inside = to_column in range(_RANKS) and to_row in range(_RANKS) and (not piece or is_promotion)
        moves.append((column, rows[0], to_column, rows[1], piece) if inside else None)
    return moves


def _chess_names(_count: int, seat: int) -> Sequence[str]:
    return ["" if move is None else _uci(*move) for move in _chess_moves(seat)]


def _uci(column: int, row: int, to_column: int, to_row: int, piece: str) -> str:
    return f"{'abcdefgh'[column]}{row + 1}{'abcdefgh'[to_column]}{to_row + 1}{piece}"


def _squares(_count: int, seat: int) -> Layout:
    return {
        action: [
            _cell(move[0], _RANKS - 1 - move[1], _RANKS),
            _cell(move[2], _RANKS - 1 - move[3], _RANKS),
        ]
        for action, move in enumerate(_chess_moves(seat))
        if move is not None
    }


_FIRST_PIECE: Final = 7
"""The plane of the own pawns; five more of own pieces follow, then those of the opponent."""


def _chess_board(board: Any, seat: int, _allowed: int) -> str:
    own, other = ("PNBRQK", "pnbrqk") if seat == 0 else ("pnbrqk", "PNBRQK")
    letters = own + other
    planes = (board if seat == 0 else board[::-1]).transpose(2, 0, 1)
    rows = dict(zip(letters, planes[_FIRST_PIECE : _FIRST_PIECE + len(letters)].tolist(), strict=True))
    for pawn, shown, stands in (("P", 7, 4), ("p", 0, 3)):  # pawns that can be taken en passant
        columns = zip(rows[pawn][shown], rows[pawn][stands], strict=True)
        rows[pawn][stands], rows[pawn][shown] = [any(column) for column in columns], [0] * _RANKS
    lines = describe_board([*rows.values()], letters).splitlines()
    ranks = [f"{_RANKS - at} {line}" for at, line in enumerate(lines)]
    return "\n".join([*ranks, "  a b c d e f g h", "(PNBRQK: white, pnbrqk: black)"])


_HANDS: Final = ("rock", "paper", "scissors", "lizard", "spock")


def _hands(count: int, _seat: int) -> Sequence[str]:
    return _HANDS[:count]


_ROWS: Final[Mapping[str, KnownEnvironment]] = {
    "cartpole": KnownEnvironment(_fixed("left", "right")),
    "mountain_car": KnownEnvironment(_fixed("left", "no push", "right")),
    "acrobot": KnownEnvironment(_fixed("left", "no torque", "right")),
    "frozen_lake": KnownEnvironment(_fixed("left", "down", "right", "up")),
    "cliffwalking": KnownEnvironment(_fixed("up", "right", "down", "left")),
    "taxi": KnownEnvironment(_fixed("down", "up", "right", "left", "pick up", "drop off")),
    "blackjack": KnownEnvironment(_fixed("stick", "hit")),
    "lunar_lander": KnownEnvironment(_fixed("no engine", "left", "up", "right")),
    "connect_four": KnownEnvironment(_fixed(*map("column {}".format, range(1, 8))), _CHIPS, _columns, _chips),
    "tictactoe": KnownEnvironment(_fixed(*_cell_names(3)), _MARKS, _nine_cells, _marks),
    "chess": KnownEnvironment(_chess_names, _SIDES, _squares, _chess_board),
    "go": KnownEnvironment(_point_names, _STONES, _points, _stones),
    "rps": KnownEnvironment(_hands),
    "leduc_holdem": KnownEnvironment(_fixed("call", "raise", "fold", "check")),
    "texas_holdem": KnownEnvironment(_fixed("call", "raise", "fold", "check")),
    "texas_holdem_no_limit": KnownEnvironment(
        _fixed("fold", "check or call", "raise half the pot", "raise the pot", "all in")
    ),
    "cooperative_pong": KnownEnvironment(_fixed("noop", "up", "down")),
    "knights_archers_zombies": KnownEnvironment(
        _fixed("forward", "backward", "turn counterclockwise", "turn clockwise", "use weapon", "noop")
    ),
}
"""By the last part of the module of its class."""
