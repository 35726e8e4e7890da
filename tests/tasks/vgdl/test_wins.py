"""Every level of our own games can be won: lists of actions, found by `find_wins.py`, win when replayed."""

from pathlib import Path

import pytest

from flagfall.tasks.vgdl.engine.compiler import compile_game
from flagfall.tasks.vgdl.engine.cycle import advance, start
from flagfall.tasks.vgdl.language.game_parser import load_game
from flagfall.tasks.vgdl.language.level_parser import load_level
from flagfall.tasks.vgdl.task_id import LEVELS, game_ids, game_path, level_path
from tests.tasks.vgdl.find_wins import ACTIONS, BLOCK, SEED, WINS

WON = 1


@pytest.mark.parametrize("name", game_ids())
def test_all_levels_can_be_won(name: str):
    game = compile_game(load_game(game_path(name)))
    lines = (WINS / f"{name}.txt").read_text().splitlines()
    assert len(lines) == LEVELS
    for number, line in enumerate(lines):
        level, score, letters = line.split(" ")
        assert level == str(number)
        play = start(game, load_level(game.definition, level_path(game_path(name), number)), SEED, BLOCK)
        for letter in letters:
            assert not play.over
            advance(play, ACTIONS[letter])
        assert (play.winner, play.score) == (WON, int(score))


def test_there_is_a_list_for_each_game_and_no_other():
    assert sorted(path.stem for path in Path(WINS).glob("*")) == list(game_ids())
