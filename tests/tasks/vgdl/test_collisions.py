"""The engine's way through cells and agendas comes to what comparing all sprites with all comes to."""

import itertools
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from flagfall.tasks.vgdl.engine.cycle import advance, fork
from flagfall.tasks.vgdl.engine.serialization import dump, load, state_key
from tests.tasks.vgdl.plain_collisions import plain_advance
from tests.tasks.vgdl.random_games import ACTIONS, games, play_of, walled_games

MOST_SPRITES = 120
TICKS = 12


def compare_with_plain(texts: tuple[str, str], seed: int, block_size: int, ticks: int = TICKS) -> None:
    quick = play_of(texts, seed, block_size)
    plain = play_of(texts, seed, block_size)
    plain.game.barriers = [frozenset()] * len(plain.game.kinds)
    chance = Random(seed)
    for _ in range(ticks):
        action = chance.choice(ACTIONS)
        advance(quick, action)
        if quick.over and quick.winner == -1:  # it would have cost too much
            break
        plain_advance(plain, action)
        assert state_key(quick) == state_key(plain)
        if quick.over or sum(map(len, quick.groups)) > MOST_SPRITES:
            break


@settings(max_examples=150, deadline=None)
@given(games(), st.integers(0, 2**48), st.sampled_from([10, 7, 3]))
def test_any_game_is_played_as_if_all_sprites_were_compared_with_all(
    texts: tuple[str, str], seed: int, block_size: int
) -> None:
    compare_with_plain(texts, seed, block_size)


@settings(max_examples=150, deadline=None)
@given(walled_games(), st.integers(0, 2**48), st.sampled_from([10, 7]))
def test_walkers_between_walls_are_played_as_if_they_took_every_step(
    texts: tuple[str, str], seed: int, block_size: int
) -> None:
    compare_with_plain(texts, seed, block_size, ticks=3 * TICKS)


@settings(max_examples=60, deadline=None)
@given(games(), st.integers(0, 2**48))
def test_a_fork_and_a_dump_go_on_as_the_play_itself(texts: tuple[str, str], seed: int) -> None:
    play = play_of(texts, seed, 10)
    chance = Random(seed)
    for _ in range(TICKS):
        advance(play, chance.choice(ACTIONS))
        if sum(map(len, play.groups)) > MOST_SPRITES:
            break
    before = state_key(play)
    forked, loaded = fork(play), load(play.game, dump(play))
    assert state_key(forked) == state_key(loaded) == before
    for action in itertools.islice(itertools.cycle(ACTIONS), 6):
        for each in (forked, loaded):
            advance(each, action)
        if any(each.over and each.winner == -1 for each in (forked, loaded)):  # too much work, see `load`
            break
        assert state_key(forked) == state_key(loaded)
        if forked.over or sum(map(len, forked.groups)) > MOST_SPRITES:
            break
    assert state_key(play) == before
