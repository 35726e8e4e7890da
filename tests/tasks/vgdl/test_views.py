"""Planes, pictures and texts: each against a slow reading of the state, on plays that change a lot."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flagfall.errors import UsageError
from flagfall.tasks.vgdl.engine.compiler import compile_game
from flagfall.tasks.vgdl.engine.cycle import advance, start
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.language.game_parser import read_game
from flagfall.tasks.vgdl.language.level_parser import read_level
from flagfall.tasks.vgdl.rendering.icons import load_icons
from flagfall.tasks.vgdl.rendering.painter import Painter
from flagfall.tasks.vgdl.rendering.tile_set import BACKDROP, TileSet, choose_drawing
from flagfall.tasks.vgdl.views.observer import Observer
from flagfall.tasks.vgdl.views.planes import PlanesView, TextView, characters
from tests.tasks.vgdl.small_games import begin, compiled
from tests.tasks.vgdl.zoo import PUBLIC_GAMES, ZOO, played, public_play, zoo

GAMES = ["aliens", "boulderdash", "frogs", "missilecommand", "zelda"]


def named(play: Play, *names: str) -> list[int]:
    return [play.game.definition.type_named(name).id for name in names]


# Planes.


def test_planes_are_the_grid() -> None:
    for seed in range(3):
        play = zoo(seed)
        view = PlanesView(play.game.definition, play.width, play.height)
        observer = Observer(play)
        for _ in played(play, 60):
            state = observer.observe()
            seen = view.view(state)
            expected = np.zeros_like(seen["planes"])
            for column, cells in enumerate(state.observation_grid):
                for row, cell in enumerate(cells):
                    for sprite in cell:
                        expected[view.types.index(sprite.itype), row, column] = 1
            assert (seen["planes"] == expected).all()
            assert view.space.contains(seen)


def test_planes_are_the_callers_own() -> None:
    play = zoo(0)
    view = PlanesView(play.game.definition, play.width, play.height)
    state = Observer(play).observe()
    first = view.view(state)
    first["planes"][:] = 9
    assert view.view(state)["planes"].max() == 1


def test_the_facts_of_the_avatar() -> None:
    play = zoo(0)
    view = PlanesView(play.game.definition, play.width, play.height)
    observer = Observer(play)
    for action in ("DOWN", "DOWN"):  # onto a berry
        advance(play, action)
    assert view.view(observer.observe())["avatar"].tolist() == [3, 4, 0, 1, 1, 1, 3, 1]
    assert list(view.resources) == named(play, "berry")


def test_a_hidden_type_has_no_plane() -> None:
    play = zoo(0)
    view = PlanesView(play.game.definition, play.width, play.height)
    floor, haze = named(play, "floor", "haze")
    assert floor not in view.types
    assert haze in view.types
    assert view.space["planes"].shape == (len(view.types), 7, 11)


# Pictures.


def slow_picture(play: Play, block: int) -> np.ndarray:
    """Every tile laid where its sprite is, type after type."""
    definition = play.game.definition
    canvas = np.empty((play.height * block, play.width * block, 3), np.uint8)
    canvas[:] = BACKDROP
    tiles = TileSet(definition)
    for type_id in definition.order:
        for sprite in play.groups[type_id]:
            if definition.types[type_id].parameters["invisible"] or sprite.disabled:
                continue
            left, top = sprite.x * block // play.block_size, sprite.y * block // play.block_size
            right = (sprite.x + sprite.w) * block // play.block_size
            bottom = (sprite.y + sprite.h) * block // play.block_size
            if abs(sprite.ox) >= abs(sprite.oy):
                facing = (-1 if sprite.ox < 0 else 1, 0)
            else:
                facing = (0, -1 if sprite.oy < 0 else 1)
            tile = tiles.tile(type_id, max(1, right - left), max(1, bottom - top), facing)
            tile.lay(canvas, left, top)
    return canvas


@pytest.mark.parametrize("block", [10, 20])
def test_pictures_painted_cell_by_cell_are_the_whole_picture(block) -> None:
    for seed in range(2):
        play = zoo(seed)
        painter = Painter(play, block)
        for tick, _ in enumerate(played(play, 50)):
            if tick % 17 != 3:  # it may miss a tick
                assert (painter.paint() == slow_picture(play, block)).all()


@pytest.mark.skipif(not PUBLIC_GAMES.is_dir(), reason="the public games are not here")
@pytest.mark.parametrize("name", GAMES)
def test_pictures_of_public_games(name) -> None:
    play = public_play(name, level=1, seed=4)
    painter = Painter(play)
    for tick, _ in enumerate(played(play, 80)):
        picture = painter.paint()
        if tick % 10 == 0 or play.over:
            assert (picture == slow_picture(play, play.block_size)).all()


def test_a_picture_is_the_callers_own() -> None:
    painter = Painter(zoo(0), 8)
    first = painter.paint()
    assert (first.shape, first.dtype.name) == ((56, 88, 3), "uint8")
    kept = first.copy()
    first[:] = 0
    assert (painter.paint() == kept).all()


def test_what_is_hidden_is_drawn_and_what_is_invisible_is_not() -> None:
    play = zoo(0)
    bare = Painter(play).paint()
    haze, floor = named(play, "haze", "floor")
    play.groups[haze].clear()
    assert (Painter(play).paint() == bare).all()
    play.groups[floor].clear()
    assert (Painter(play).paint() != bare).any()


def test_a_level_too_large_to_be_seen_is_refused() -> None:
    play = begin("avatar > NullAvatar", "", "A" + " " * 999 + "\n" * 200)
    with pytest.raises(UsageError, match=":pixels="):
        Painter(play, 200)
    types = "\n".join(f"t{number} > Passive" for number in range(600))
    with pytest.raises(UsageError, match="602 planes of 1000 x 200 cells"):
        PlanesView(compiled(f"avatar > NullAvatar\n{types}").definition, play.width, play.height)


def test_a_parent_of_which_there_are_sprites_is_seen() -> None:
    play = begin("avatar > NullAvatar\np > Immovable\n  x > color=RED\n  y >", "", "Ap")
    state = Observer(play).observe()
    view = PlanesView(play.game.definition, play.width, play.height)
    parent = play.game.definition.type_named("p").id
    assert view.types[0] == parent
    assert view.view(state)["planes"][0].tolist() == [[0, 1]]
    assert TextView(play.game.definition).board(state) == ["Ap"]


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.sampled_from([(1, 0), (-1, 0), (0, 1), (0, -1)]))
def test_every_drawing_has_every_size(width, height, facing) -> None:
    for icon in load_icons().values():
        picture = icon.draw(width, height, icon.colour, facing)
        assert (picture.shape, picture.dtype.name) == ((height, width, 4), "uint8")
        assert min(width, height) < 4 or picture[..., 3].max() > 100  # something is to be seen


def test_an_icon_that_turns_is_the_same_thing_turned() -> None:
    ship = load_icons()["ship"]  # the same above and below
    pictures = {
        facing: ship.draw(12, 12, (255, 0, 0), facing) for facing in ((1, 0), (-1, 0), (0, 1), (0, -1))
    }
    right = pictures[1, 0]
    assert (pictures[-1, 0] == right[:, ::-1]).all()
    assert (pictures[0, 1] == right.transpose(1, 0, 2)).all()
    assert (pictures[0, -1] == right.transpose(1, 0, 2)[::-1]).all()


def drawing_of(line: str) -> tuple[str, tuple[int, int, int]]:
    game = read_game(f"BasicGame\n  SpriteSet\n    {line}\n", "one.txt")
    drawing = choose_drawing(game.types[-1])
    return drawing.icon.name, drawing.colour


@pytest.mark.parametrize(
    ("line", "icon"),
    [
        ("hero > MovingAvatar img=oryx/bat1", "person"),
        ("bigDiamond > Immovable", "gem"),
        ("keys > Immovable", "key"),
        ("stonewall > Immovable", "bricks"),
        ("thing > Immovable img=newset/water2_1", "water"),
        ("monster > RandomNPC img=oryx/spider2", "crawler"),
        ("monster > RandomNPC", "creature"),
        ("qqq > RandomNPC", "creature"),
        ("qqq > Missile", "dart"),
        ("qqq > Door", "door"),
        ("qqq > Resource", "token"),
        ("qqq > SpawnPoint stype=avatar", "nest"),
        ("qqq > OrientedFlicker", "spark"),
        ("qqq > Passive", "crate"),
        ("qqq > Immovable", "slab"),
    ],
)
def test_which_drawing_a_sprite_gets(line, icon) -> None:
    assert drawing_of(line)[0] == icon


def test_the_games_colour_counts_and_a_classes_own_does_not() -> None:
    assert drawing_of("qqq > Passive color=LIGHTGREEN")[1] != drawing_of("qqq > Passive")[1]
    assert drawing_of("qqq > Passive color=RED")[1] == drawing_of("qqq > Passive")[1]  # what its class has


def test_every_role_has_a_drawing() -> None:
    assert {"avatar", "npc", "missile", "portal", "resource", "flicker", "static"} <= {
        icon.role for icon in load_icons().values()
    }


# Texts.


def test_a_text_shows_the_level_as_it_was_written() -> None:
    play = zoo(0)
    view = TextView(play.game.definition)
    shown = view.show(Observer(play).observe()).splitlines()
    assert shown[0] == "score 0  tick 0  health 3/3"
    assert shown[1:8] == [
        "wwwwwwwwwww",
        "w b  g  bdw",
        "w h x   e w",
        "   A    aw ",
        "w xb x h  w",
        "w    b   dw",
        "wwwwwwwwwww",
    ]
    assert shown[8].startswith("w wall  h haze  g gate")


def test_a_text_after_some_ticks() -> None:
    play = zoo(0)
    view = TextView(play.game.definition)
    observer = Observer(play)
    view.show(observer.observe())
    for action in ("DOWN", "DOWN"):
        advance(play, action)
    shown = view.show(observer.observe()).splitlines()
    assert shown[0] == "score 1  tick 2  health 3/3  berry 1"
    assert shown[5][3] == "A"
    assert shown == TextView(play.game.definition).show(Observer(play).observe()).splitlines()


def test_the_end_is_told() -> None:
    for _ in played(play := zoo(1), 400):
        pass
    status = TextView(play.game.definition).show(Observer(play).observe()).splitlines()[0]
    assert status.endswith("won" if play.winner == 1 else "lost")


def test_texts_lie_in_their_space() -> None:
    play = zoo(2)
    view = TextView(play.game.definition)
    space = view.space(play.width, play.height)
    observer = Observer(play)
    for _ in played(play, 100):
        assert view.show(observer.observe()) in space


def test_every_type_that_is_seen_has_a_character_of_its_own() -> None:
    definition = read_game(ZOO, "zoo.txt")
    chosen = characters(definition)
    names = {definition.types[number].name: character for number, character in chosen.items()}
    assert {name: names[name] for name in ("calm", "wall", "berry")} == {
        "calm": "A",
        "wall": "w",
        "berry": "b",
    }
    assert "floor" not in names
    assert len(set(names.values())) == len(names)
    assert " " not in names.values()


def test_the_last_drawn_stands_on_top() -> None:
    sprites = "mat > Immovable\n    cup > Immovable"
    mapping = "x > cup mat\n    m > mat"
    definition = read_game(
        f"BasicGame\n  SpriteSet\n    {sprites}\n  LevelMapping\n    {mapping}\n", "mat.txt"
    )
    play = start(compile_game(definition), read_level(definition, "xmA"), 0, 10)
    assert TextView(definition).board(Observer(play).observe()) == ["xmA"]
