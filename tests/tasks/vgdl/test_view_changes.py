"""Views that follow a play show what views made anew show: after every tick, in any game, on any copy."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flagfall.tasks.vgdl.definition import ACTIONS, GameDefinition
from flagfall.tasks.vgdl.engine.compiler import compile_game
from flagfall.tasks.vgdl.engine.cycle import advance, fork, remove_dead, start
from flagfall.tasks.vgdl.engine.serialization import dump, load
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.language.game_parser import load_game
from flagfall.tasks.vgdl.language.level_parser import load_level
from flagfall.tasks.vgdl.rendering import cell_pictures
from flagfall.tasks.vgdl.rendering.icons import load_icons
from flagfall.tasks.vgdl.rendering.painter import Painter
from flagfall.tasks.vgdl.rendering.tile_set import TileSet
from flagfall.tasks.vgdl.task_id import game_ids, game_path
from flagfall.tasks.vgdl.views import cells as cell_members
from flagfall.tasks.vgdl.views.cells import CellMembers, first_moment
from flagfall.tasks.vgdl.views.observer import Observer
from flagfall.tasks.vgdl.views.planes import PlanesObserver, PlanesView
from flagfall.tasks.vgdl.views.state_json import StateWriter
from tests.tasks.vgdl.small_games import begin
from tests.tasks.vgdl.zoo import PUBLIC_GAMES, played, public_play, zoo

GAMES = sorted({path.stem for path in PUBLIC_GAMES.glob("*.txt") if "_lvl" not in path.stem})


class Views:
    """All views of one play, from this tick on."""

    def __init__(self, play: Play, writer: StateWriter | None = None) -> None:
        self.play = play
        self.observer = Observer(play)
        self.layout = PlanesView(play.game.definition, play.width, play.height)
        self.planes = PlanesObserver(play, self.layout)
        self.writer = writer or StateWriter()
        self.painter = Painter(play)

    def check(self) -> None:
        """Compare all views with views made anew, which share nothing with any other play."""
        play = self.play
        state = self.observer.observe()
        fresh = anew(play, lambda: Observer(play).observe())
        assert state == fresh
        assert self.writer.write(state, "ACT") == StateWriter().write(fresh, "ACT")
        planes, expected = self.planes.observe(), self.layout.view(fresh)
        assert planes["planes"].tobytes() == expected["planes"].tobytes()
        assert planes["avatar"].tobytes() == expected["avatar"].tobytes()
        tiles = TileSet(play.game.definition)
        assert np.array_equal(self.painter.paint(), anew(play, lambda: Painter(play, tiles=tiles).paint()))


def anew(play: Play, look: Callable[[], Any]) -> Any:
    """Return an observation of a play that is made without what is kept of first moments."""
    moment = first_moment(play)
    kept = {} if moment is None else dict(moment.parts)
    if moment is not None:
        moment.parts.clear()
    try:
        return look()
    finally:
        if moment is not None:
            moment.parts.clear()
            moment.parts.update(kept)


@settings(max_examples=10, deadline=None)
@given(
    st.integers(0, 2**40), st.sampled_from([3, 10, 24]), st.lists(st.integers(0, 9), min_size=5, max_size=30)
)
def test_views_of_a_play_its_forks_and_its_stored_copies(seed, block, deeds) -> None:
    views = [Views(zoo(seed, block))]
    dice = Random(seed)
    for deed in deeds:
        chosen = dice.choice(views)
        chosen.check()
        if deed == 0 and len(views) < 4:
            views.append(Views(fork(chosen.play), chosen.writer))
        elif deed == 1 and len(views) < 4:
            views.append(Views(load(chosen.play.game, dump(chosen.play))))
        elif deed == 2:
            advance(chosen.play, dice.choice(ACTIONS))  # a tick that no view of this play sees
        for one in views:
            advance(one.play, dice.choice((*ACTIONS, "NIL")))
    for one in views:
        one.check()


@pytest.mark.parametrize("name", game_ids())
def test_views_of_games(name) -> None:
    path = game_path(name)
    game = compile_game(load_game(path))
    level = load_level(game.definition, Path(path).with_name(f"{path.stem}_lvl1.txt"))
    writer = StateWriter()
    for seed in range(2):
        views = Views(start(game, level, seed, 10), writer)
        views.check()
        for tick, _ in enumerate(played(views.play, 40)):
            if tick % 4 == 0 or views.play.over:
                views.check()
            else:
                views.observer.observe()
                views.planes.observe()
                views.painter.paint()


@pytest.mark.parametrize("name", GAMES[::6])
def test_views_of_public_games(name) -> None:
    views = Views(public_play(name, level=2, seed=3))
    for tick, _ in enumerate(played(views.play, 45)):
        views.observer.observe()
        views.planes.observe()
        views.painter.paint()
        if tick % 15 == 14 or views.play.over:
            views.check()


def test_plays_that_begin_alike_share_their_first_observation_and_nothing_that_changes() -> None:
    game, level = zoo(0).game, zoo(0).level
    first, second = start(game, level, 1, 10), start(game, level, 2, 10)
    one, other = Observer(first), Observer(second)
    grid = one.observe().observation_grid
    assert other.observe().observation_grid is grid
    for action in ("DOWN", "DOWN", "RIGHT"):
        advance(first, action)
        one.observe()
    assert other.observe().observation_grid is grid
    assert Observer(start(game, level, 3, 10)).observe().observation_grid is grid


def test_a_play_with_other_sprites_shares_no_first_observation() -> None:
    game = zoo(0).game
    level = zoo(0).level
    memory = game.new_memory()
    begun = [start(game, level, 0, 10), start(game, level, 0, 10, memory), start(game, level, 0, 10, memory)]
    numbers = [Observer(play).observe().observation_grid[0][0][0].obs_id for play in begun]
    assert numbers[0] == numbers[1] < numbers[2]  # the second play with one memory counts on


def test_what_is_kept_of_first_moments_is_bounded(monkeypatch) -> None:
    monkeypatch.setattr("flagfall.tasks.vgdl.views.cells.MAX_PARTS", 2)
    play = zoo(0)
    for block in (4, 5, 6):
        Painter(play, block).paint()
    moment = first_moment(play)
    assert moment is not None
    assert len(moment.parts) == 2


def test_what_is_kept_for_a_game_goes_with_the_game() -> None:
    def seen() -> weakref.ref[GameDefinition]:
        play = zoo(0)
        views = Views(play)
        for _ in played(play, 3):
            views.check()
        return weakref.ref(play.game.definition)

    game = seen()
    gc.collect()
    assert game() is None


def test_pictures_are_right_when_those_of_cells_are_dropped(monkeypatch) -> None:
    monkeypatch.setattr(cell_pictures, "MAX_LOOKS", 30)
    play = zoo(4)
    tiles = TileSet(play.game.definition)
    painter = Painter(play, 8, tiles)
    generations = set()
    for _ in played(play, 60):
        assert np.array_equal(painter.paint(), Painter(play, 8, TileSet(play.game.definition)).paint())
        (pictures,) = tiles.cell_pictures.values()
        generations.add(pictures.generation)
    assert len(generations) > 2


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.sets(st.integers(0, 2))), max_size=40), st.integers(1, 5))
def test_members_of_cells_are_in_order(moves, crowd) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cell_members, "CROWD", crowd)
        values = {number: -number for number in range(10)}
        members = CellMembers(3, values)  # in the order of the values: descending numbers
        cells: dict[int, set[int]] = {}
        for number, new in moves:
            members.move(number, cells.get(number, set()), new)
            cells[number] = new
            members.finish()
            for cell in range(3):
                there = sorted([values[other] for other in cells if cell in cells[other]])
                assert list(members.fetch[cell](values)) == there


def test_drawings_that_do_not_show_a_direction_are_the_same_in_all() -> None:
    for icon in load_icons().values():
        for size in (3, 10, 24):
            pictures = {
                icon.draw(size, size, (9, 99, 199), facing).tobytes()
                for facing in ((1, 0), (-1, 0), (0, 1), (0, -1))
            }
            assert len(pictures) == 1 or icon.turns or icon.looks, icon


SPRITES = """\
n > SpawnPoint stype=c cooldown=1
c > Immovable
f > Missile orientation=LEFT img=fish speed=0.2
w > Immovable
avatar > OrientedAvatar
"""


def test_a_sprite_that_is_born_and_dies_in_one_tick_leaves_no_trace() -> None:
    play = begin(SPRITES, "c n > killSprite", "n...A")
    views = Views(play)
    passed = 0
    for _ in range(6):
        views.check()
        advance(play, "NIL")
        passed += len({sprite.id for sprite in play.born} & {sprite.id for sprite in play.died})
    views.check()
    assert passed > 2


def test_sprites_that_turn_in_place_are_painted_anew() -> None:
    play = begin(SPRITES, "f w > turnAround\nf EOS > reverseDirection", "w.f..A.f.w")
    views = Views(play)
    seen = set()
    for action in ("UP", "LEFT", "DOWN", "RIGHT") * 12:
        views.check()
        advance(play, action)
        seen |= {(sprite.type, sprite.ox, sprite.oy) for group in play.groups for sprite in group}
    views.check()
    assert len(seen) > 6


def test_a_sprite_that_turns_while_others_of_its_type_are_born_and_die_is_painted_anew() -> None:
    play = begin(SPRITES, "f w > turnAround\nf EOS > reverseDirection", "w.f.f.f..A")
    views = Views(play)
    views.check()
    advance(play, "NIL")
    first, second, third = play.groups[play.game.definition.type_named("f").id]
    second.ox, third.ox = 1, -1
    views.check()
    # The directions of all, in the order of birth, are the same before and after this tick.
    advance(play, "NIL")
    play.kill(first)
    second.ox, third.ox = -1, 1
    remove_dead(play)
    born = play.add(second.type, 70, 0)
    assert born is not None
    born.ox = -1
    views.check()
