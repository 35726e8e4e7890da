"""Planners: they win small games, leave the play alone, and see that boards repeat."""

from __future__ import annotations

from random import Random

import pytest

from examples.vgdl_search import best_first, greedy, situation, tree_search
from flagfall.tasks.vgdl.engine.compiler import compile_game
from flagfall.tasks.vgdl.engine.cycle import advance, start
from flagfall.tasks.vgdl.engine.serialization import state_key
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.language.game_parser import read_game
from flagfall.tasks.vgdl.language.level_parser import read_level
from tests.tasks.vgdl.zoo import PUBLIC_GAMES, public_play, zoo

PUSH = """\
BasicGame
    SpriteSet
        spot > Immovable
        box > Passive
        avatar > MovingAvatar
    LevelMapping
        o > spot
        x > box
    InteractionSet
        avatar wall > stepBack
        box avatar > bounceForward
        box wall box > undoAll
        box spot > killSprite scoreChange=1
    TerminationSet
        SpriteCounter stype=box win=True
"""


def push(level: str) -> Play:
    game = read_game(PUSH, "push.txt")
    return start(compile_game(game), read_level(game, level, "push_lvl0.txt"), 0, 10)


TWO_BOXES = """\
wwwwwww
wA   ow
w xx  w
w    ow
wwwwwww
"""


def test_best_first_wins_and_the_actions_do_so_again() -> None:
    play = push(TWO_BOXES)
    plan = best_first(play, expansions=20_000)
    assert plan.won
    assert plan.score == 2
    assert play.tick == -1
    for action in plan.actions:
        assert not play.over
        advance(play, action)
    assert (play.over, play.winner, play.score) == (True, 1, 2)


def test_a_search_that_cannot_win_gives_the_best_that_it_saw() -> None:
    plan = best_first(push("wwwww\nwAxow\nwo xw\nwwwww"), expansions=50)
    assert (plan.won, plan.score) == (False, 1)
    assert plan.expanded <= 50


def test_a_play_that_is_over_needs_no_plan() -> None:
    play = push("wwwww\nwAxow\nwwwww")
    advance(play, "RIGHT")
    assert play.winner == 1
    plan = best_first(play)
    assert (plan.actions, plan.won, plan.expanded) == ((), True, 0)


def test_the_greedy_one_takes_what_lies_beside_it() -> None:
    play = push("wwwwww\nw Axow\nwx   w\nwwwwww")
    assert greedy(play, Random(0)) == "RIGHT"
    assert (play.tick, play.score) == (-1, 0)


def test_tree_search_finds_a_way_of_some_steps() -> None:
    play = push("wwwwwww\nwA  xow\nwwwwwww")
    dice = Random(5)
    for _ in range(10):
        if play.over:
            break
        advance(play, tree_search(play, dice, simulations=60, horizon=8))
    assert play.winner == 1


def test_the_same_board_is_the_same_situation() -> None:
    play = push(TWO_BOXES)
    before = situation(play)
    advance(play, "RIGHT")
    assert situation(play) != before
    advance(play, "LEFT")
    assert situation(play) == before
    assert state_key(play) != state_key(push(TWO_BOXES))


def test_planners_leave_the_play_as_it_is() -> None:
    play = zoo(3)
    for _ in range(10):
        advance(play, "RIGHT")
    before = state_key(play)
    best_first(play, expansions=20)
    greedy(play, Random(1))
    tree_search(play, Random(1), simulations=10, horizon=5)
    assert state_key(play) == before


@pytest.mark.skipif(not PUBLIC_GAMES.is_dir(), reason="the public games are not here")
def test_a_public_game_is_won() -> None:
    plan = best_first(public_play("zelda", 0, 1), expansions=3_000)
    assert plan.won
