"""Rules of a play that no public game depends on, worked out by hand from the specification."""

import pytest

from flagfall.tasks.vgdl.engine.cycle import advance, fork
from flagfall.tasks.vgdl.engine.serialization import dump, load, state_key
from flagfall.tasks.vgdl.language.values import GameError
from flagfall.tasks.vgdl.views.observer import Observer
from tests.tasks.vgdl.small_games import begin, compiled, places, run

STILL = "avatar > NullAvatar\na > Immovable"


def test_avatars_after_the_first_are_gone_but_have_taken_their_numbers() -> None:
    play = begin("avatar > MovingAvatar\nB > FlakAvatar stype=a oops=1\na > Passive", "", "aBAa/AB.a")
    assert [(sprite.id, sprite.type) for group in play.groups for sprite in group] == [
        *((1, 2),),
        *((0, 3), (3, 3), (6, 3)),
    ]
    assert play.avatar is play.groups[2][0]
    assert len(play.messages) == 4  # three avatars too many, and the word that the first B does not know
    advance(load(play.game, dump(play)), "NIL")


def test_the_second_avatar_is_the_first_of_its_type_though_it_goes() -> None:
    sprites = "avatar > MovingAvatar\nB > OngoingTurningAvatar spawnBehind=a orientation=RIGHT\na > Immovable"
    play = run(
        begin(f"{sprites}\nx > Immovable", "avatar x > transformTo stype=B", "Ax.B"), "RIGHT NIL NIL NIL"
    )
    assert places(play, "a") == []
    assert places(play, "wall") == [(10, 0), (20, 0)]  # a copy has lost what it was to leave behind


@pytest.mark.parametrize("line", ["a b > killSprite scoreChange=1.5", "b EOS > killSprite scoreChange=x"])
def test_a_score_that_is_no_integer_is_a_message_each_time(line: str) -> None:
    play = begin(f"{STILL}\nb > Missile orientation=RIGHT", line, "A./ba")
    run(play, "NIL NIL NIL NIL")
    assert (play.score, len(play.messages)) == (0, 1)


def test_26_scores_that_are_no_integers_end_the_play() -> None:
    play = begin(STILL, "avatar TIME > reverseDirection timer=1 repeating=True scoreChange=many", "A.")
    run(play, ["NIL"] * 40)
    assert (play.tick, play.over, play.winner, play.score) == (25, True, -1, 0)


def test_what_is_no_integer_does_not_count_where_no_score_applies() -> None:
    play = begin(
        "avatar > NullAvatar\na > Resource\nb > Missile orientation=UP",
        "b avatar > killIfHasMore resource=a limit=1 scoreChange=no",
        "A/b",
    )
    run(play, "NIL NIL NIL")
    assert (play.messages, play.score) == ([], 0)


def test_the_score_goes_with_the_avatar_that_is_transformed() -> None:
    """The second trigger transforms the dead avatar again, which did not get the score of the first."""
    play = begin(
        "avatar > NullAvatar\na > Missile orientation=DOWN\nb > Immovable\nB > NullAvatar",
        "a b > transformToAll stype=avatar stypeTo=B scoreChange=5",
        "Aaa/.bb",
    )
    run(play, "NIL NIL")
    assert (places(play, "B"), play.score) == ([(0, 0), (0, 0)], 5)
    assert play.avatar is play.groups[play.game.definition.type_named("B").id][1]


def test_a_stop_counter_lets_the_others_go_a_tick_later() -> None:
    play = begin(
        "avatar > NullAvatar\na > Flicker limit=1",
        "",
        "Aa",
        terminations="SpriteCounter stype=a limit=0 win=True\nStopCounter stype1=a limit=0 min=True",
    )
    run(play, ["NIL"] * 10)  # the flicker is gone in tick 2; until then the counter is held
    assert (play.tick, play.winner) == (3, 1)


@pytest.mark.parametrize(("stype", "why"), [("a", "there are none"), ("x", "'p' has no class")])
def test_a_random_child_needs_children(stype: str, why: str) -> None:
    sprites = "avatar > MovingAvatar\na > Immovable\np > \n  x > Passive\n  y > Passive"
    with pytest.raises(GameError, match=why):
        compiled(sprites, f"avatar a > transformToRandomChild stype={stype}")
    compiled(sprites, "avatar a > transformToRandomChild stype=p")


def test_who_flies_out_of_all_bounds_leaves_a_state_that_can_be_kept() -> None:
    sprites = "avatar > NullAvatar\na > Missile orientation=RIGHT speed=300000000"
    for line in ("a EOS > reverseDirection", "avatar a > killSprite", ""):
        play = run(begin(sprites, line, "Aa"), ["NIL"] * 5)
        assert play.over
        assert state_key(load(play.game, dump(play))) == state_key(fork(play)) == state_key(play)


def test_many_path_chasers_in_a_wide_level_are_too_much() -> None:
    sprites = "avatar > MovingAvatar\na > PathChaser stype=avatar"
    level = "A" + "." * 199 + "\n" + "\n".join(["a" * 40] + [" " * 200] * 150)
    play = begin(sprites, "", level, options="obs=wall")
    run(play, "NIL")
    assert (play.over, play.winner) == (True, -1)


def test_a_level_in_which_too_much_stands_in_one_place_is_refused() -> None:
    sprites = "avatar > NullAvatar\nc > Passive wMult=60 hMult=60"
    with pytest.raises(GameError, match="too large sprites in one place"):
        begin(sprites, "c c > killSprite", "A" + "." * 99 + "/" + "c" * 100)


def test_large_things_at_the_edge_do_not_hold_up_a_tick() -> None:
    sprites = "avatar > NullAvatar\nc > Missile orientation=RIGHT wMult=60 hMult=60 speed=0.1"
    level = "A" + "." * 99 + "/" + "/".join(["c" * 100] * 90)
    play = run(begin(sprites, "c EOS > undoAll\n" * 50, level), "NIL NIL NIL")
    assert (play.over, play.winner) == (True, -1)


def test_what_is_seen_of_a_play_that_was_broken_off_is_what_there_is() -> None:
    play = begin("avatar > NullAvatar\na > Immovable", "a a > cloneSprite", "Aa")
    play.add(play.game.definition.type_named("a").id, 10, 0)
    observer = Observer(play)
    while not play.over:
        observer.observe()
        advance(play, "NIL")
    assert play.winner == -1
    assert observer.observe() == Observer(play).observe()
