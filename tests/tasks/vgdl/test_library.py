"""The games that come with flagfall: where they lie, and that they are games."""

from pathlib import Path

import pytest

from flagfall.errors import UsageError
from flagfall.tasks.vgdl.engine.compiler import compile_game
from flagfall.tasks.vgdl.engine.cycle import advance, start
from flagfall.tasks.vgdl.language.game_parser import load_game
from flagfall.tasks.vgdl.language.level_parser import load_level
from flagfall.tasks.vgdl.task_id import LEVELS, game_ids, game_path, level_path, level_paths

WIDEST, HIGHEST = 26, 14

NAMES = (
    *("causeway", "cinders", "gatedash", "gearworks", "glacier"),
    *("goslings", "pepperpot", "underdig", "wellpaths", "windfall"),
)


def test_ten_games():
    assert game_ids() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_games_and_their_levels_read_without_a_notice(name: str):
    path = game_path(name)
    game = load_game(path)
    assert (game.name, game.notices) == (name, ())
    assert list(level_paths(path)) == list(range(LEVELS))
    for number in range(LEVELS):
        level = load_level(game, level_path(path, number))
        assert level.notices == ()
        assert level.width <= WIDEST
        assert level.height <= HIGHEST
        play = start(compile_game(game), level, seed=1)
        for _ in range(30):
            advance(play, "NIL")
        assert play.winner != 1
        assert not play.messages


def test_they_use_the_breadth_of_the_language():
    games = [load_game(game_path(name)) for name in NAMES]
    classes = {known.kind for game in games for known in game.types}
    effects = {rule.effect for game in games for rule in game.rules}
    assert len(classes) >= 18
    assert len(effects) >= 15
    assert any(known.singleton for game in games for known in game.types)


def test_a_file_is_a_game_and_levels_lie_beside_it(tmp_path: Path):
    file = tmp_path / "walk.txt"
    file.write_text("BasicGame\n  SpriteSet\n    a > Door")
    for name in ("walk_lvl0.txt", "walk_lvl12.txt", "walker_lvl1.txt", "walk_lvl1x.txt", "other.txt"):
        (tmp_path / name).write_text("A")
    assert game_path(str(file)) == file
    assert level_paths(file) == {0: tmp_path / "walk_lvl0.txt", 12: tmp_path / "walk_lvl12.txt"}
    assert level_path(file, 12) == level_path(file, "12") == tmp_path / "walk_lvl12.txt"
    assert level_path(file, str(tmp_path / "other.txt")) == tmp_path / "other.txt"


@pytest.mark.parametrize(
    ("game", "message"),
    [
        ("windfal", "no game 'windfal'; nearest: windfall; a file's name ends in .txt"),
        ("", f"no game ''; known: {', '.join(NAMES)}; a file's name ends in .txt"),
        ("../games/windfall", "no game '../games/windfall'; nearest: windfall; a file's name ends in .txt"),
        ("nowhere/walk.txt", "no file 'nowhere/walk.txt'; there is no folder 'nowhere'"),
    ],
)
def test_games_that_are_not_there(game: str, message: str):
    with pytest.raises(UsageError) as refused:
        game_path(game)
    assert str(refused.value) == message


def test_files_that_are_not_there_are_guessed(tmp_path: Path):
    (tmp_path / "walk.txt").write_text("BasicGame")
    with pytest.raises(UsageError, match=r"wlk\.txt'; nearest: walk\.txt$"):
        game_path(str(tmp_path / "wlk.txt"))


@pytest.mark.parametrize(
    ("level", "message"),
    [
        ("5", "windfall has no level 5; it has 0, 1, 2, 3, 4"),
        ("0" * 5000, f"windfall has no level {'0' * 5000}; it has 0, 1, 2, 3, 4"),
        ("²", "no level '²': write a number or the name of a file"),
        ("-1", "no level '-1': write a number or the name of a file"),
        (
            "no/such.txt",
            "no level 'no/such.txt': write a number or the name of a file; there is no folder 'no'",
        ),
    ],
)
def test_levels_that_are_not_there(level: str, message: str):
    with pytest.raises(UsageError) as refused:
        level_path(game_path("windfall"), level)
    assert str(refused.value) == message


def test_a_game_without_levels_says_what_it_lacks(tmp_path: Path):
    file = tmp_path / "walk.txt"
    file.write_text("BasicGame")
    with pytest.raises(UsageError, match=r"walk has no level 0; there is no walk_lvl0\.txt beside it"):
        level_path(file, 0)
