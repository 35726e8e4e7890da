"""Where something depends on a step into a wall, the step is taken, although the wall pushes it back."""

import pytest

from flagfall.tasks.vgdl.engine.cycle import advance
from tests.tasks.vgdl.random_games import play_of
from tests.tasks.vgdl.test_collisions import compare_with_plain

GAME = """
BasicGame
  SpriteSet
    hunter > {hunter}
    walker > RandomNPC
    stone > Passive
    avatar > MovingAvatar
    wall > Immovable
  LevelMapping
    A > avatar
    r > walker
    h > hunter
    x > wall stone
    w > wall
    . >
  InteractionSet
    {before}
    walker wall > stepBack {score}
    hunter wall > stepBack
    {after}
  TerminationSet
    SpriteCounter stype=avatar win=False
"""
LEVEL = "A..w.xxx\n..xrxxhx\n...xxrrx"
PLAIN = {"hunter": "RandomNPC", "before": "", "score": "", "after": ""}
NOTICED = (
    {"before": "stone walker > killSprite"},
    {"before": "walker stone > killSprite"},
    {"before": "hunter walker > stepBack"},
    {"before": "walker walker > stepBack"},
    {"hunter": "Chaser stype=walker"},
    {"after": "walker TIME > spawn stype=stone timer=3 repeating=True"},
    {"after": "walker stone > killSprite", "before": "walker wall > shieldFrom stype=wall ftype=stepBack"},
    {"score": "scoreChange=1"},
    {"before": "avatar wall > transformToAll stype=walker stypeTo=stone"},
)


@pytest.mark.parametrize("changes", [{}, {"after": "stone walker > killSprite"}, *NOTICED])
@pytest.mark.parametrize("block_size", [10, 7])
def test_a_step_is_taken_where_something_depends_on_it(changes: dict[str, str], block_size: int) -> None:
    game = GAME.format(**{**PLAIN, **changes})
    for seed in range(4):
        compare_with_plain((game, LEVEL), seed, block_size, ticks=40)


@pytest.mark.parametrize("changes", NOTICED)
def test_then_walls_are_no_barriers(changes: dict[str, str]) -> None:
    play = play_of((GAME.format(**{**PLAIN, **changes}), LEVEL), 1, 10)
    walker = next(kind for kind in play.game.kinds if kind.name == "walker")
    assert not play.game.barriers[walker.id]


def test_a_stone_in_a_wall_is_reached_before_the_step_back() -> None:
    play = play_of((GAME.format(**{**PLAIN, **NOTICED[0]}), "A.x\n.xr\n..x"), 1, 10)
    stones = next(play.groups[kind.id] for kind in play.game.kinds if kind.name == "stone")
    assert len(stones) == 3
    for _ in range(40):
        advance(play, "NIL")
    assert not stones
