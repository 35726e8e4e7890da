"""Rules of single classes and effects; what is expected was worked out by hand from the specification."""

import pytest

from flagfall.tasks.vgdl.engine.cycle import advance
from flagfall.tasks.vgdl.engine.state.java_random import JavaRandom
from flagfall.tasks.vgdl.engine.state.play import Play
from tests.tasks.vgdl.small_games import begin, places, run

NOBODY = "avatar > NullAvatar"
UP, LEFT, DOWN, RIGHT = (0, -10), (-10, 0), (0, 10), (10, 0)
ALL = (UP, LEFT, DOWN, RIGHT)


def draws(play: Play, ticks: int) -> list[int]:
    """How many draws there had been after each tick."""
    counts = []
    for _ in range(ticks):
        advance(play, "NIL")
        counts.append(play.random.draws)
    return counts


def step(play: Play, name: str) -> tuple[int, int]:
    """Where the only sprite of a type goes in one tick."""
    ((x, y),) = places(play, name)
    advance(play, "NIL")
    ((new_x, new_y),) = places(play, name)
    return new_x - x, new_y - y


@pytest.mark.parametrize("seed", range(6))
def test_an_alternate_chaser_counts_its_target_twice(seed: int) -> None:
    sprites = f"{NOBODY}\nc > AlternateChaser stype1=t stype2=t\nt > Immovable"
    play = begin(sprites, "", "A../c../..t", seed=seed)
    assert step(play, "c") == (DOWN, RIGHT, DOWN, RIGHT)[JavaRandom(seed).next_int(4)]
    assert play.random.draws == 1


@pytest.mark.parametrize("seed", range(6))
def test_who_flees_also_steps_aside(seed: int) -> None:
    play = begin(f"{NOBODY}\nc > Fleeing stype=t\nt > Immovable", "", "A.../.c.t/....", seed=seed)
    assert step(play, "c") == (UP, LEFT, DOWN)[JavaRandom(seed).next_int(3)]


@pytest.mark.parametrize("seed", range(12))
def test_a_chaser_by_sight_sees_only_what_is_straight_ahead(seed: int) -> None:
    chance = JavaRandom(seed)
    play = begin(
        f"{NOBODY}\nc > LOSChaser stype=t\nt > Immovable", "", "A....../......./......./.c....t", seed=seed
    )
    aim = ALL[chance.next_int(4)]
    assert step(play, "c") == aim  # at first it looks nowhere
    expected = RIGHT if aim == RIGHT and chance.next_int(1) == 0 else ALL[chance.next_int(4)]
    assert step(play, "c") == expected
    assert play.random.draws == 2


def test_a_wanderer_idles_first_and_repeats_itself() -> None:
    play = begin(f"{NOBODY}\nr > RandomNPC cons=2", "", "A/./r")
    assert draws(play, 7) == [0, 0, 1, 1, 1, 2, 2]


def test_a_spreader_draws_four_times_two() -> None:
    play = begin(f"{NOBODY}\ns > Spreader stype=f spreadprob=0\nf > Immovable", "", "A/s")
    assert draws(play, 3) == [0, 8, 8]
    assert places(play, "s") == []


def test_a_bomber_that_chooses_draws_before_it_may_drop() -> None:
    sprites = f"{NOBODY}\nb > BomberRandomMissile stypeMissile=f,g,f cooldown=9\nf > Immovable\ng > Immovable"
    assert draws(begin(sprites, "", "A/b"), 3) == [2, 4, 6]


def test_a_spawner_adds_its_start_to_the_tick() -> None:
    """Born in tick 1, it is first updated in tick 2: 2 + t is a multiple of 3 in the ticks 4 and 7."""
    sprites = f"{NOBODY}\nm > Missile orientation=DOWN\np > SpawnPoint stype=x cooldown=3\nx > Immovable"
    play = begin(f"{sprites}\nt > Immovable", "m t > transformTo stype=p", "A/m/t")
    born = []
    for _ in range(10):
        advance(play, "NIL")
        born.append(len(places(play, "x")))
    assert born == [
        0,
        0,
        0,
        0,
        1,
        1,
        1,
        2,
        2,
        2,
    ]


def test_equal_timers_take_turns() -> None:
    line = "avatar TIME > spawn repeating=True timer=1 stype="
    play = begin(f"{NOBODY}\na > Immovable\nb > Immovable", f"{line}a\n{line}b", "A")
    run(play, "NIL NIL NIL")
    born = sorted((sprite.id, sprite.kind.name) for group in play.groups for sprite in group)
    assert "".join([name for _, name in born[1:]]) == "baabba"


def test_turn_around_goes_down_twice_whatever_it_has_rested() -> None:
    play = begin(
        f"{NOBODY}\nm > Missile orientation=RIGHT cooldown=2", "m EOS > turnAround", "A../..m/.../..."
    )
    run(play, "NIL NIL")
    assert places(play, "m") == [(20, 30)]
    run(play, "NIL")
    assert places(play, "m") == [(20, 30)]
    run(play, "NIL")
    assert places(play, "m") == [(10, 30)]


@pytest.mark.parametrize(("way", "x"), [("RIGHT", 5), ("LEFT", 15)])
def test_who_wraps_around_comes_in_with_an_offset(way: str, x: int) -> None:
    level = {"RIGHT": "..m", "LEFT": "m.."}[way]
    play = begin(f"{NOBODY}\nm > Missile orientation={way}", "m EOS > wrapAround offset=0.5", f"A../{level}")
    run(play, "NIL NIL")
    assert places(play, "m") == [(x, 10)]


def test_a_singleton_takes_over_and_looks_back() -> None:
    sprites = (
        f"{NOBODY}\na > OrientedFlicker limit=90\nm > Missile orientation=UP\nx > OrientedFlicker limit=90\n"
        "y > Immovable"
    )
    play = begin(
        sprites,
        "a m > transformToSingleton stype=x stype_other=y takeOrientation=True scoreChange=2",
        "A.x/a/m",
    )
    run(play, "NIL NIL")
    (new,) = play.groups[play.game.definition.type_named("x").id]
    assert (new.x, new.y, new.ox, new.oy) == (0, 10, 0, 1)
    assert (places(play, "y"), places(play, "a"), play.score) == ([(20, 0)], [], 2)


def test_health_is_taken_from_the_first_of_the_last_type_that_is_there() -> None:
    sprites = f"{NOBODY}\np > Immovable healthPoints=2\n  q >\n  r >\n  s >\nm > Missile orientation=UP"
    play = begin(
        sprites,
        "m avatar > subtractHealthPoints stype=p value=2 scoreChange=1 scoreChangeIfKilled=7",
        "Aqrr/m",
    )
    run(play, "NIL NIL")
    assert (places(play, "q"), places(play, "r"), play.score) == ([(10, 0)], [(30, 0)], 7)


def test_health_is_given_only_where_the_limit_is_not_reached() -> None:
    sprites = "avatar > NullAvatar healthPoints=4 limitHealthPoints=5\nm > Missile orientation=UP"
    for line, health, score in (("addHealthPoints", 4, 0), ("addHealthPointsToMax", 5, 3)):
        play = run(begin(sprites, f"avatar m > {line} scoreChange=3 killSecond=True", "A/m"), "NIL NIL")
        assert play.avatar is not None
        assert (play.avatar.health, play.score, len(places(play, "m"))) == (health, score, score == 0)


def test_what_is_paid_is_noted_even_where_it_is_nothing() -> None:
    sprites = f"{NOBODY}\nc > Resource\nx > Immovable\nm > Missile orientation=UP"
    line = "avatar m > spawnIfHasMore resource=c limit=0 stype=x scoreChange=1"
    play = run(begin(sprites, line, "A/m"), "NIL NIL")
    assert play.avatar is not None
    assert (places(play, "x"), play.score, list(play.avatar.resources.values())) == ([(0, 0)], 1, [0])


@pytest.mark.parametrize(("effect", "dies"), [("killIfFrontal", False), ("killIfNotFrontal", True)])
def test_who_is_met_from_the_side(effect: str, dies: bool) -> None:
    sprites = f"{NOBODY}\na > Missile orientation=RIGHT\nb > Missile orientation=DOWN"
    play = run(begin(sprites, f"a b > {effect} scoreChange=1", "A.b/.a."), "NIL NIL")
    assert (places(play, "a") == [], play.score) == (dies, int(dies))


def test_who_stands_is_met_head_on_and_not() -> None:
    for effect in ("killIfFrontal", "killIfNotFrontal"):
        play = run(
            begin(f"{NOBODY}\na > Missile orientation=UP\nb > Immovable", f"b a > {effect}", "A/b/a"),
            "NIL NIL",
        )
        assert places(play, "b") == []


@pytest.mark.parametrize(("row", "dies"), [("A./b./a.", True), ("A./ab", False)])
def test_who_comes_from_above_kills(row: str, dies: bool) -> None:
    """The second must have moved down, from more than half its height above."""
    goes, stands = "ba" if dies else "ab"
    way = "DOWN" if dies else "RIGHT"
    sprites = f"{NOBODY}\n{goes} > Missile orientation={way}\n{stands} > Immovable"
    play = run(begin(sprites, "a b > killIfFromAbove", row), "NIL NIL")
    assert (places(play, "a") == []) == dies


def test_beside_is_a_cell_from_the_second_and_with_a_step_back_from_where_it_was() -> None:
    sprites = f"{NOBODY}\na > Immovable\nm > Missile orientation=RIGHT\nx > Immovable\ny > Immovable"
    play = begin(sprites, "a m > spawnAbove stype=x\na m > spawnLeft stype=y stepBack=True", "A.../..../.ma.")
    run(play, "NIL NIL")
    assert (places(play, "x"), places(play, "y")) == ([(20, 10)], [(0, 20)])
    assert play.random.draws == 4


def test_a_flak_needs_more_than_its_least_ammunition() -> None:
    sprites = "avatar > FlakAvatar stype=s ammo=c minAmmo=1 ammoCost=3\ns > Missile\nc > Resource value=2"
    play = begin(sprites, "c avatar > collectResource", "A/c")
    run(play, "USE")
    assert places(play, "s") == []
    assert play.avatar is not None
    play.avatar.gain(play.game.definition.type_named("c").id, 2)
    run(play, "USE USE")
    assert (len(places(play, "s")), list(play.avatar.resources.values())) == (1, [0])
