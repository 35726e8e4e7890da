"""The work of a tick follows what moves and touches, not the size of the board or the number of sprites.

Work is the number of lines of the engine that a tick runs, which is the same on every machine.
"""

from __future__ import annotations

import sys
from collections import Counter
from types import FrameType
from typing import Any

import pytest

from flagfall.tasks.vgdl.definition import NIL
from flagfall.tasks.vgdl.engine import cycle
from flagfall.tasks.vgdl.engine.cycle import advance
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.engine.state.sprite import Sprite
from tests.tasks.vgdl.random_games import play_of

pytestmark = pytest.mark.skipif(not str(cycle.__file__).endswith(".py"), reason="compiled code runs no lines")

GAME = """
BasicGame
  SpriteSet
    wall > Immovable
    stone > Passive
    log > Missile orientation=LEFT speed=0.1
    walker > RandomNPC
    zombie > Chaser stype=avatar speed=0.1 cooldown=4
    avatar > MovingAvatar
  LevelMapping
    . >
    A > avatar
    s > stone
    l > log
    r > walker
    z > zombie
    w > wall
  InteractionSet
    walker zombie wall > stepBack
    avatar stone log zombie > killSprite
  TerminationSet
    SpriteCounter stype=avatar win=False
"""


def lines_of_tick(play: Play) -> Counter[str]:
    """Lines that are run in a tick, by module."""
    lines: Counter[str] = Counter()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        name = frame.f_globals["__name__"]
        if event == "line" and name.startswith("flagfall."):  # not what a collection of garbage calls
            lines[name.rsplit(".", 1)[1]] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        advance(play, NIL)
    finally:
        sys.settrace(before)
    return lines


def sprites(play: Play, name: str) -> list[Sprite]:
    return next(group for kind, group in zip(play.game.kinds, play.groups, strict=True) if kind.name == name)


def play_after_a_tick(level: str) -> Play:
    play = play_of((GAME, level), 1, 10)
    advance(play, NIL)
    return play


def field(width: int, height: int, corner: str) -> str:
    return "\n".join([corner.ljust(width, "."), *["." * width] * (height - 1)])


def test_a_still_board_takes_the_same_work_at_any_size():
    sizes = ((10, 1), (40, 25), (250, 100))
    still = [lines_of_tick(play_after_a_tick(field(width, height, "A.s.s"))) for width, height in sizes]
    assert still[0] == still[1] == still[2]
    full = play_after_a_tick("\n".join(["A" + "." * 39, "." * 40, *["s" * 40] * 23]))
    assert lines_of_tick(full) == still[0]


def test_a_sprite_that_moves_takes_the_same_work_on_any_board():
    small, large = (play_after_a_tick(field(size, size, "A......r")) for size in (15, 200))
    for _ in range(6):
        assert lines_of_tick(small) == lines_of_tick(large)
    walker, same = (sprites(play, "walker")[0] for play in (small, large))
    assert (walker.x, walker.y) == (same.x, same.y) != (70, 0)


def test_a_walker_that_only_meets_walls_does_not_move():
    play = play_of((GAME, "A....\n..w..\n.wrw.\n..w.."), 3, 10)
    for _ in range(60):
        advance(play, NIL)
        assert not play.moved
    assert play.random.draws == 60
    lines = lines_of_tick(play)
    assert not play.moved
    nothing = lines_of_tick(play_after_a_tick("A....\n..w..\n.w.w.\n..w.."))
    assert lines["collisions"] == nothing["collisions"]


def test_a_gathering_takes_work_for_each_of_its_sprites_once():
    few, many = (
        lines_of_tick(moving(play_of((GAME, "A........" + "z" * count), 1, 10))) for count in (10, 40)
    )
    assert 2 * few["collisions"] < many["collisions"] < 4.5 * few["collisions"]


def moving(play: Play) -> Play:
    """A play in which all zombies are in one place, and move in the next tick."""
    for _ in range(3):
        advance(play, NIL)
    for zombie in sprites(play, "zombie"):
        zombie.x = zombie.last_x = 90
        play.grid.enter(zombie)
    return play


def test_what_flies_in_other_rows_is_not_examined():
    few, many = (play_after_a_tick(f"{'.' * count}A\n.{'l' * count}") for count in (5, 400))
    assert len(sprites(many, "log")) == 400
    assert lines_of_tick(few)["collisions"] == lines_of_tick(many)["collisions"]
