"""Names, boards and areas of well-known environments, against the environments and their pictures."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from flagfall.tasks.adapters.known_environments import known_environment
from flagfall.tasks.adapters.pettingzoo import PettingZooTask, make_pettingzoo_task
from flagfall.tasks.catalog import make_task
from flagfall.tasks.task import with_pictures


def play(task: PettingZooTask, seed: int, steps: int) -> Any:
    """Play random moves, and yield player, observation and action, and the result of each."""
    dice = random.Random(seed)
    shown = task.reset(seed)
    for _ in range(steps):
        ((player, seen),) = shown.items()
        action = dice.choice(np.flatnonzero(seen["action_mask"]).tolist())
        result = task.step({player: action})
        yield player, seen, action, result
        shown = result.observation
        if result.terminated:
            return


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("gym:CartPole-v1", ["left", "right"]),
        ("gym:FrozenLake-v1", ["left", "down", "right", "up"]),
        ("gym:Taxi-v4", ["down", "up", "right", "left", "pick up", "drop off"]),
        ("pettingzoo:classic/connect_four_v3", [f"column {number}" for number in range(1, 8)]),
        ("pettingzoo:classic/rps_v2?num_actions=5", ["rock", "paper", "scissors", "lizard", "spock"]),
        ("pettingzoo:classic/rps_v2?num_actions=7", [str(number) for number in range(7)]),
    ],
)
def test_actions_have_the_names_of_the_documentation(text: str, names: list[str]):
    task = make_task(text)
    assert [task.describe_action(action) for action in range(len(names))] == names
    assert task.describe_action(None) == "NIL"
    task.close()


def test_environments_of_others_are_not_mistaken_for_known_ones():
    named_alike = type("raw_env", (), {"__module__": "mine.chess", "unwrapped": None})()
    named_alike.unwrapped = named_alike
    assert not known_environment(named_alike).players


def test_numbers_of_tictactoe_go_down_the_columns():
    task = make_task("pettingzoo:classic/tictactoe_v3")
    task.reset(0)
    shown = task.step({"player_1": 3}).observation  # documented as the middle of the first row
    assert task.describe_action(3) == "row 1, column 2"
    assert task.describe_observation(shown["player_2"], "player_2").startswith(". X .\n. . .\n. . .\nallowed")
    assert [*map(task.describe_player, task.players)] == ["X", "O"]


def test_both_players_of_connect_four_see_the_same_board():
    task = make_task("pettingzoo:classic/connect_four_v3")
    moves = [{f"player_{move % 2}": move % 2} for move in range(3)]
    seen = [task.reset(0), *(task.step(move).observation for move in moves)]
    boards = [task.describe_observation(*shown.values(), *shown) for shown in seen]
    assert boards[2].splitlines()[5:7] == ["R B . . . . .", "(R: red, B: black)"]
    assert boards[3].splitlines()[4:7] == ["R . . . . . .", "R B . . . . .", "(R: red, B: black)"]


def test_stones_of_go_have_their_colours_until_the_end():
    task = make_pettingzoo_task("pettingzoo:classic/go_v5?board_size=5")
    colours = {1: "B", -1: "W", 0: "."}
    for _player, _seen, action, result in play(task, 3, 60):
        board = [[colours[stone] for stone in row] for row in task.env.unwrapped._go.board.T]
        last = {"B": "L", "W": "O"} if task.env.unwrapped._go.to_play == -1 else {"B": "O", "W": "L"}
        for player, seen in result.observation.items():
            letters = last if seen["action_mask"].sum() == 1 else {}
            drawn = "\n".join(" ".join(letters.get(cell, cell) for cell in row) for row in board)
            assert task.describe_observation(seen, player).split("\n(")[0] == drawn
        row, column = action % 5 + 1, action // 5 + 1
        assert task.describe_action(action) == ("pass" if action == 25 else f"row {row}, column {column}")
    assert result.terminated, "this game ends by two passes"


@pytest.mark.parametrize("name", ["connect_four_v3", "tictactoe_v3", "go_v5?board_size=7", "chess_v6"])
def test_pictures_change_where_they_are_clicked(name: str):
    if name.startswith("chess"):
        pytest.importorskip("chess")
    with with_pictures():
        task = make_pettingzoo_task(f"pettingzoo:classic/{name}")
    task.reset(1)
    before = task.render()
    for player, _seen, action, _result in play(task, 1, 12):
        after = task.render()
        rows, columns, _ = np.nonzero(before != after)
        height, width, _ = after.shape
        for left, top, right, bottom in task.layout_of_actions(player).get(action, ()):  # none for a pass
            inside = (left * width <= columns) & (columns < right * width)
            inside &= (top * height <= rows) & (rows < bottom * height)
            assert inside.any(), f"{action} is clicked where nothing changes"
            columns, rows = columns[~inside], rows[~inside]
        assert not rows.size, f"{action} changes the picture beside the areas that are clicked"
        before = after
    task.close()


def row_of(module: str) -> Any:
    env = SimpleNamespace(unwrapped=type("raw_env", (), {"__module__": module})())
    return known_environment(env)


def test_moves_of_chess_are_those_of_alphazero():
    chess = row_of("pettingzoo.classic.chess.chess")
    white, black = chess.actions(4672, 0), chess.actions(4672, 1)
    knight = (6 * 8 + 0) * 73 + 56 + 3  # g1, the fourth way of a knight: one to the left, two forward
    assert (white[knight], black[knight]) == ("g1f3", "g8f6")
    promotion = (0 * 8 + 6) * 73 + 64 + 3  # straight ahead, to a knight
    assert (white[promotion], black[promotion]) == ("a7a8n", "a2a1n")
    assert white[73 * 8 - 1] == "", "a pawn on the last row"
    # 1,456 moves of a queen, 336 of a knight, and 22 ways to promote a pawn to one of three pieces
    assert sum(map(bool, white)) == sum(map(bool, black)) == 1456 + 336 + 66
    assert chess.layout(4672, 1)[knight] == [(0.75, 0.0, 0.875, 0.125), (0.625, 0.25, 0.75, 0.375)]


def test_games_of_chess_are_described_as_the_library_plays_them():
    chess = pytest.importorskip("chess")
    task = make_pettingzoo_task("pettingzoo:classic/chess_v6")
    board, promotions = chess.Board(), 0
    for seed in range(2):
        board.reset()
        for player, seen, action, _result in play(task, seed, 250):
            lines = task.describe_observation(seen, player).splitlines()
            drawn = "\n".join(line[2:] for line in lines[:8])
            assert board.ply() == 0 or drawn == str(board)
            name = task.describe_action(action, player)
            pawn = board.piece_type_at(chess.parse_square(name[:2])) == chess.PAWN
            is_queen = pawn and name[3] in "18" and len(name) == 4
            promotions += pawn and name[3] in "18"
            move = chess.Move.from_uci(name + "q" * is_queen)
            assert move in board.legal_moves
            assert len(lines[-1].split("; ")) == len({m.uci() for m in board.legal_moves})
            board.push(move)
            assert board.fen() == task.env.unwrapped.board.fen()
    assert promotions
