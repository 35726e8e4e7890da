"""The rules of a play that single games depend on."""

import pytest

from flagfall.errors import UsageError
from flagfall.tasks.vgdl.engine.cycle import LAST_TICK, fork, start
from flagfall.tasks.vgdl.engine.serialization import changes, dump, load, snapshot, state_key
from flagfall.tasks.vgdl.engine.state.game import MAX_WORK
from flagfall.tasks.vgdl.engine.state.play import MAX_SPRITES
from flagfall.tasks.vgdl.language.level_parser import read_level
from flagfall.tasks.vgdl.language.values import GameError
from tests.tasks.vgdl.small_games import begin, compiled, places, run

WALKER = "avatar > MovingAvatar\nwall > Immovable"
RIGHT = "Missile orientation=RIGHT"
TIMER = "addTimer timer=2 ftype=transformToAll stype=b stypeTo=c scoreChange=5"


def test_an_avatar_walks_a_cell_and_walls_hold_it() -> None:
    play = begin(WALKER, "avatar wall > stepBack", "A.w")
    run(play, "RIGHT RIGHT")
    assert places(play, "avatar") == [(10, 0)]
    assert play.last_action == "RIGHT"


def test_what_the_avatar_cannot_do_counts_as_nothing() -> None:
    play = begin(WALKER, "", "A.")
    run(play, ["USE", "JUMP"])
    assert play.last_action == "NIL"
    assert places(play, "avatar") == [(0, 0)]


def test_an_escape_ends_the_play_with_no_winner_after_the_cycle() -> None:
    play = begin(
        f"{WALKER}\nm > Missile orientation=RIGHT", "", "A/m", terminations="Timeout limit=1 win=True"
    )
    run(play, "NIL ESCAPE")
    assert (play.over, play.winner, play.tick, places(play, "m")) == (True, -1, 1, [(10, 10)])
    run(play, "RIGHT")
    assert play.tick == 1


def test_a_play_is_lost_at_the_last_tick() -> None:
    play = run(begin(WALKER, "", "A."), ["NIL"] * (LAST_TICK + 5))
    assert (play.tick, play.over, play.winner) == (LAST_TICK, True, 0)


def test_a_win_is_printed_with_a_score_of_one_at_least() -> None:
    play = run(begin(WALKER, "", "A.", terminations="Timeout limit=2 win=True"), "NIL NIL NIL")
    assert (play.winner, play.score, play.final_score) == (1, 0, 1)


def test_speeds_are_cut_to_whole_pixels() -> None:
    sprites = f"avatar > NullAvatar\nm > {RIGHT} speed=0.25\nn > {RIGHT} speed=0.05"
    play = run(begin(sprites, "", "A/m/n"), "NIL NIL NIL")
    assert places(play, "m") == [(4, 10)]  # the first tick is spent on waking up
    assert places(play, "n") == [(0, 20)]


def test_effects_of_a_pair_run_together_in_the_order_of_pairs() -> None:
    """The second line of the pair is moved up before the pair that stands between (spec 1.6)."""
    sprites = "avatar > MovingAvatar\na > Immovable\nb > Immovable\nc > Immovable"
    rules = "a avatar > reverseDirection\nb avatar > transformTo stype=c\na avatar > spawn stype=b"
    play = run(begin(sprites + "\nx > Immovable", rules, "Aa"), "RIGHT")
    assert places(play, "c") == [(10, 0)]


def test_a_dead_second_sprite_still_acts_and_a_dead_first_one_does_not() -> None:
    sprites = "avatar > NullAvatar\na > Immovable\nb > Immovable\nm > Missile orientation=RIGHT"
    rules = (
        "m a > killSprite scoreChange=1\nm b > killSprite scoreChange=10\nb m > killSprite scoreChange=100"
    )
    game = compiled(sprites + "\nx > Immovable", rules)
    both = game.definition
    level = read_level(both, "A.\nma")
    play = start(game, level, 1, 10)
    play.add(both.type_named("b").id, 10, 10)
    run(play, "NIL NIL")
    assert play.score == 101


def test_a_dead_avatar_stays_and_goes_on_colliding() -> None:
    play = begin("avatar > MovingAvatar\na > Immovable", "avatar a > killSprite scoreChange=-1", "Aa")
    run(play, "RIGHT NIL NIL")
    assert play.score == -3
    assert play.avatar is not None
    assert play.avatar.disabled
    assert play.count_alive((play.avatar.type,)) == 0
    run(play, "LEFT")
    assert places(play, "avatar") == [(10, 0)]


def test_a_singleton_is_refused_until_the_dead_one_is_gone() -> None:
    sprites = "avatar > ShootAvatar stype=s\ns > OrientedFlicker limit=0 singleton=True\nwall > Immovable"
    play = begin(sprites, "", "A...")
    counts = []
    for _ in range(6):
        run(play, "USE")
        counts.append((len(places(play, "s")), play.memory.next_id))
    assert counts == [(1, 2), (0, 2), (1, 3), (0, 3), (1, 4), (0, 4)]


def test_mass_transformation_twice_in_a_tick_doubles() -> None:
    rules = "avatar b > transformToAll stype=a stypeTo=c\nb avatar > transformToAll stype=a stypeTo=c"
    sprites = "avatar > MovingAvatar\na > Immovable\nb > Immovable\nc > Immovable"
    play = run(begin(sprites, rules, "Aba"), "RIGHT")
    assert places(play, "a") == []
    assert places(play, "c") == [(20, 0), (20, 0)]


def test_two_lines_about_the_edge_run_twice_each() -> None:
    play = begin("avatar > MovingAvatar", "avatar EOS > flipDirection\navatar EOS > reverseDirection", "A.")
    run(play, "UP")
    assert play.random.draws == 2


def test_what_an_effect_pushes_off_the_screen_is_seen_a_tick_later() -> None:
    play = begin("avatar > MovingAvatar\na > Passive", "a avatar > bounceForward\na EOS > killSprite", "Aa")
    run(play, "RIGHT")
    assert places(play, "a") == [(20, 0)]
    run(play, "NIL")
    assert places(play, "a") == []


def test_a_shield_lasts_for_the_rest_of_the_tick() -> None:
    rules = "avatar a > shieldFrom stype=b ftype=killSprite\navatar b > killSprite"
    sprites = "avatar > MovingAvatar\na > Immovable\nb > Immovable\nx > Immovable"
    game = compiled(sprites, rules)
    play = start(game, read_level(game.definition, "A.."), 1, 10)
    play.add(game.definition.type_named("b").id, 10, 0)
    play.add(game.definition.type_named("a").id, 10, 0)
    run(play, "RIGHT")
    assert play.avatar is not None
    assert not play.avatar.disabled
    play.kill(play.groups[game.definition.type_named("a").id][0])
    run(play, "NIL NIL")
    assert play.avatar.disabled


def test_undo_all_takes_everything_back() -> None:
    sprites = "avatar > MovingAvatar\nwall > Immovable\nm > Missile orientation=RIGHT"
    play = run(begin(sprites, "avatar wall > undoAll", "Aw./m.."), "NIL RIGHT NIL")
    assert (places(play, "avatar"), places(play, "m")) == ([(0, 0)], [(10, 10)])


def test_a_spreader_of_its_own_kind_ends_a_tick() -> None:
    play = begin("avatar > NullAvatar\na > Spreader limit=9", "", "A..../...../..a..")
    run(play, ["NIL"] * 8)
    assert len(places(play, "a")) > 5


def test_a_portal_with_one_exit_takes_a_draw() -> None:
    sprites = "avatar > MovingAvatar\np > Portal stype=q\nq > Immovable"
    play = run(begin(sprites, "avatar p > teleportToExit", "Ap.q"), "RIGHT")
    assert (places(play, "avatar"), play.random.draws) == ([(30, 0)], 1)


def test_nobody_has_less_than_nothing() -> None:
    sprites = "avatar > FlakAvatar stype=s ammo=r ammoCost=5\nr > Resource limit=2\ns > Immovable"
    play = run(begin(sprites, "r avatar > collectResource", "Ar"), "RIGHT USE USE")
    assert play.avatar is not None
    assert play.avatar.resources == {play.game.definition.type_named("r").id: 0}
    assert len(places(play, "s")) == 1


def test_timers_fire_at_tick_zero_and_then_every_so_often() -> None:
    play = begin(
        "avatar > NullAvatar\na > Immovable\nb > Immovable",
        "a TIME > spawn stype=b timer=3 repeating=True",
        "Aa",
    )
    born = []
    for _ in range(8):
        run(play, "NIL")
        born.append(len(places(play, "b")))
    assert born == [1, 1, 1, 2, 2, 2, 3, 3]


def test_a_timer_set_by_a_collision_scores_twice() -> None:
    rules = f"avatar a > {TIMER}\na avatar > killSprite"
    play = begin("avatar > MovingAvatar\na > Immovable\nb > Immovable\nc > Immovable", rules, "Aab")
    scores = []
    for action in ("RIGHT", "NIL", "NIL", "NIL"):
        run(play, [action])
        scores.append((play.score, len(places(play, "c"))))
    assert scores == [(5, 0), (5, 0), (10, 1), (10, 1)]


def test_who_is_pushed_back_pushes_the_next_one_back() -> None:
    """The first is thrown back by the wall onto the second's new place, and the second is still to come."""
    sprites = "avatar > NullAvatar\nhard >\n  a > Missile orientation=LEFT\n  b > Immovable"
    play = run(begin(sprites, "a hard > stepBack", "..baa./A....."), "NIL NIL")
    assert places(play, "a") == [(30, 0), (40, 0)]


def test_a_memory_keeps_its_timers_and_numbers() -> None:
    game = compiled("avatar > NullAvatar\na > Immovable\nb > Immovable", "a TIME > transformTo stype=b")
    level = read_level(game.definition, "Aa")
    memory = game.new_memory()
    first = run(start(game, level, 1, 10, memory), "NIL")
    second = run(start(game, level, 1, 10, memory), "NIL")
    fresh = run(start(game, level, 1, 10), "NIL")
    assert [len(places(play, "b")) for play in (first, second, fresh)] == [1, 0, 1]
    assert [sprite.id for group in second.groups for sprite in group] == [3, 4]


def test_a_repeating_timer_that_never_rests_is_refused() -> None:
    with pytest.raises(GameError, match="timer=1 or more"):
        compiled("avatar > NullAvatar\na > Immovable", "a TIME > killSprite repeating=True")


def test_a_memory_remembers_who_was_pulled() -> None:
    """In a later level the ticks start anew, an effect that acts once a tick waits until they catch up."""
    game = compiled(f"avatar > NullAvatar\nm > {RIGHT} speed=0.5", "avatar m > pullWithIt")
    level = read_level(game.definition, "A   ")
    memory = game.new_memory()
    pulled = []
    for _ in range(2):
        play = start(game, level, 1, 10, memory)
        play.add(game.definition.type_named("m").id, 0, 0)
        run(play, "NIL NIL NIL NIL")
        pulled += places(play, "avatar")
    assert pulled == [(15, 0), (0, 0)]


def test_a_sprite_larger_than_a_level_is_refused() -> None:
    with pytest.raises(GameError, match="is the most"):
        compiled("avatar > NullAvatar\na > Immovable wMult=1000000")


def test_cells_have_a_size() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        begin(WALKER, "", "A.", block=0)


def test_no_more_sprites_than_ten_thousand() -> None:
    play = begin(WALKER, "", "A.")
    for _ in range(MAX_SPRITES + 10):
        play.work.used = 0
        play.add(0, 0, 0)
    assert len(play.groups[0]) == MAX_SPRITES
    assert len(play.messages) == 10


def test_too_many_messages_end_the_play() -> None:
    play = begin("avatar > MovingAvatar\na > Immovable", "avatar EOS > bounceForward scoreChange=1", "A.")
    run(play, "UP")
    assert len(play.messages) == 1
    run(play, ["NIL"] * 30)
    assert (play.over, play.winner, play.tick, play.score) == (True, -1, 25, 26)


def test_a_game_that_doubles_itself_is_broken_off() -> None:
    rules = "a b > cloneSprite\nb a > cloneSprite"
    play = begin("avatar > NullAvatar\na > Immovable\nb > Immovable\nx > Immovable", rules, "Ab")
    for _ in range(20):
        play.add(play.game.definition.type_named("a").id, 10, 0)
    run(play, ["NIL"] * 50)
    assert (play.over, play.winner) == (True, -1)
    assert str(MAX_WORK) in play.messages[-1]
    assert state_key(fork(play)) == state_key(play)


def test_who_flies_out_of_all_bounds_ends_the_play() -> None:
    play = begin(
        "avatar > NullAvatar\na > Missile orientation=RIGHT speed=100000000", "a EOS > reverseDirection", "Aa"
    )
    run(play, ["NIL"] * 50)
    assert play.over or abs(places(play, "a")[0][0]) < 1 << 31


def test_forks_do_not_notice_the_deaths_of_each_other() -> None:
    """What never changes is shared between them, and dies in one only."""
    play = begin("avatar > MovingAvatar\na > Immovable", "a avatar > killSprite", "Aaa")
    forked = fork(play)
    before = state_key(forked)
    run(play, "RIGHT RIGHT")
    assert (places(play, "a"), places(forked, "a")) == ([], [(10, 0), (20, 0)])
    assert state_key(forked) == before
    run(forked, "RIGHT")
    assert places(forked, "a") == [(20, 0)]


def test_plays_of_one_level_begin_alike_and_draw_by_their_seed() -> None:
    game = compiled("avatar > NullAvatar\na > RandomNPC", "")
    level = read_level(game.definition, "A....\n..a..\n.....")
    plays = [run(start(game, level, seed, 10), ["NIL"] * 5) for seed in (1, 1, 2)]
    assert state_key(plays[0]) == state_key(plays[1]) != state_key(plays[2])


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x81\xa4form\xa5other", b"\xc0"])
def test_bytes_that_are_no_state_are_refused(data: bytes) -> None:
    with pytest.raises(UsageError, match="state"):
        load(compiled(WALKER), data)


def test_a_state_of_another_game_is_refused() -> None:
    data = dump(begin(WALKER, "", "A."))
    with pytest.raises(UsageError, match="not to"):
        load(compiled("avatar > MovingAvatar\na > Immovable"), data)


def test_a_snapshot_tells_what_has_changed() -> None:
    play = begin(WALKER, "", "A.w")
    before = snapshot(play)
    run(play, "RIGHT")
    assert changes(before, snapshot(play))["sprites"] == {"avatar": [[1.0, 0.0]]}
    assert snapshot(play)["sprites"] == {"avatar": [[1.0, 0.0]], "wall": [[2.0, 0.0]]}
