"""Texts to levels: sizes, order, singletons, avatars, and what is refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flagfall.tasks.vgdl.definition import GameDefinition
from flagfall.tasks.vgdl.language.game_parser import read_game
from flagfall.tasks.vgdl.language.level_parser import MAX_CELLS, MAX_PLACED, load_level, read_level
from flagfall.tasks.vgdl.language.line_tree import MAX_TEXT
from flagfall.tasks.vgdl.language.values import MAX_NOTICES, GameError

GAME = read_game("""\
BasicGame
  SpriteSet
    floor > Immovable
    lamp > Passive singleton=True
      red >
      blue >
    things >
      pot > Passive
    other > MovingAvatar
  LevelMapping
    . > floor
    A > floor avatar
    B > other
    r > floor red
    b > blue
    t > things
    g > ghost
    d > floor floor pot
""")


def placed(level_text: str, game: GameDefinition = GAME) -> list[tuple[int, int, str]]:
    return [(x, y, game.types[number].name) for x, y, number in read_level(game, level_text).sprites]


def test_rows_from_left_to_right_and_in_a_cell_as_mapped():
    level = read_level(GAME, "Aw\nd.\n", "maps/first.txt")
    assert (level.name, level.width, level.height, level.notices) == ("first", 2, 2, ())
    assert placed("Aw\nd.\n") == [
        *((0, 0, "floor"), (0, 0, "avatar"), (1, 0, "wall")),
        *((0, 1, "floor"), (0, 1, "floor"), (0, 1, "pot"), (1, 1, "floor")),
    ]


def test_the_first_line_says_the_width():
    level = read_level(GAME, "A  \nwwwww\n\n w\n\n")
    assert (level.width, level.height) == (3, 5)
    assert placed("A  \nwwwww\n\n w\n\n")[2:] == [
        (0, 1, "wall"),
        (1, 1, "wall"),
        (2, 1, "wall"),
        (1, 3, "wall"),
    ]


def test_line_ends_do_not_matter():
    assert read_level(GAME, "Aw\r\n w") == read_level(GAME, "Aw\r w\r") == read_level(GAME, "Aw\n w\n")


def test_blanks_are_empty_unless_mapped():
    assert placed("A w")[2:] == [(2, 0, "wall")]
    game = read_game("BasicGame\n  SpriteSet\n    a > Door\n  LevelMapping\n    = > a\n    , > a wall")
    assert placed("A=,", game)[1:] == [(1, 0, "a"), (2, 0, "a"), (2, 0, "wall")]


def test_a_singleton_is_made_once_in_its_whole_family():
    assert placed("Ab.r\nrbrb")[2:] == [
        *((1, 0, "blue"), (2, 0, "floor"), (3, 0, "floor")),
        *((0, 1, "floor"), (2, 1, "floor")),
    ]


def test_the_first_avatar_stays_and_the_others_are_told():
    level = read_level(GAME, "BA\nAB", "l")
    placed = [GAME.types[number].name for _, _, number in level.sprites]
    assert placed == ["other", "floor", "avatar", "floor", "avatar", "other"]  # numbers are taken by all
    assert [str(notice) for notice in level.notices] == [
        "l:1:2: a second avatar ('avatar'); the first one stays",
        "l:2:1: a second avatar ('avatar'); the first one stays",
        "l:2:2: a second avatar ('other'); the first one stays",
    ]
    assert all(notice.logged for notice in level.notices)


def test_unmapped_characters_are_told():
    level = read_level(GAME, "A?\nX ", "l")
    assert [str(notice) for notice in level.notices] == [
        "l:1:2: '?' is not mapped; the cell stays empty",
        "l:2:1: 'X' is not mapped; the cell stays empty",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "l:1:1: the first line of a level determines its width, and this one is empty"),
        ("\nA", "l:1:1: the first line of a level determines its width, and this one is empty"),
        ("w.", "l:1:1: no avatar in this level"),
        ("A\nt", "l:2:1: 'things' has no class, so no sprite can be made of it"),
        ("A.g", "l:1:3: unknown sprite behind 'g': 'ghost'"),
        ("A" + "." * 1000 + "\n" * 1000, f"l:1:1: 1001 x 1000 cells: the limit is {MAX_CELLS}"),
        ("A" + "w" * 9998 + "\nww", f"l:2:1: more than {MAX_PLACED} sprites"),
        ("A" + "?" * (MAX_NOTICES + 1), f"l:1:{MAX_NOTICES + 2}: more than {MAX_NOTICES} mistakes"),
        (" " * (MAX_TEXT + 1), f"l:1:1: more than {MAX_TEXT} characters"),
    ],
)
def test_what_is_refused(text: str, message: str):
    with pytest.raises(GameError) as refused:
        read_level(GAME, text, "l")
    assert str(refused.value).startswith(message)


def test_files(tmp_path):
    path = tmp_path / "cellar.txt"
    path.write_text("A.\n")
    assert load_level(GAME, path).name == "cellar"
    path.write_bytes(b"A.\n\xc3(")
    with pytest.raises(GameError, match=r"cellar\.txt:2:1: this is not UTF-8 text$"):
        load_level(GAME, path)


@given(st.text("A.wrbtgdB \n\t\r\x00é", max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_text_is_a_level_or_a_clear_refusal(text: str):
    try:
        level = read_level(GAME, text, "l")
    except GameError as refused:
        assert str(refused).startswith("l:")  # noqa: PT017 - either outcome is right
    else:
        assert all(x < level.width and y < level.height for x, y, _ in level.sprites)
