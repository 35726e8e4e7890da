"""What is seen of a play: against a slow reading of the rules, and made of changes or anew."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flagfall.kernel.channels.arrays import json_decoder, json_encoder, msgpack_decoder, msgpack_encoder
from flagfall.tasks.vgdl.engine.compiler import compile_game
from flagfall.tasks.vgdl.engine.cycle import advance, start
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.language.game_parser import read_game
from flagfall.tasks.vgdl.language.level_parser import read_level
from flagfall.tasks.vgdl.views.cells import cells_at
from flagfall.tasks.vgdl.views.observer import Observation, Observer, StateObservation
from tests.tasks.vgdl.zoo import PUBLIC_GAMES, played, public_play, zoo

LISTS = {
    1: "resources_positions",
    2: "portals_positions",
    3: "npc_positions",
    4: "immovable_positions",
    5: "from_avatar_sprites_positions",
    6: "movable_positions",
}

GAMES = sorted({path.stem for path in PUBLIC_GAMES.glob("*.txt") if "_lvl" not in path.stem})


def slow_cells(play: Play, x: int, y: int) -> Iterator[tuple[int, int]]:
    """The cells that a sprite at these pixels is listed in (spec section 8), literally."""
    block = play.block_size
    column, row = int(x / block), int(y / block)
    if 0 <= column < play.width and 0 <= row < play.height:
        yield column, row
        right = x >= 0 and x % block > 0 and column + 1 < play.width
        below = y >= 0 and y % block > 0 and row + 1 < play.height
        if right:
            yield column + 1, row
        if below:
            yield column, row + 1
        if right and below:
            yield column + 1, row + 1


def slowly_seen(play: Play) -> tuple[Any, dict[str, Any]]:
    """Grid and lists of a play as (type, number, category, x, y), read off its groups."""
    grid: list[list[list[Any]]] = [[[] for _ in range(play.height)] for _ in range(play.width)]
    lists: dict[str, list[Any]] = {name: [] for name in LISTS.values()}
    for type_id, group in enumerate(play.groups):
        if play.game.definition.types[type_id].parameters.get("hidden"):
            continue
        row = [(type_id, sprite.id, sprite.category, sprite.x, sprite.y) for sprite in group]
        for seen in row:
            for column, line in slow_cells(play, seen[3], seen[4]):
                grid[column][line].append(seen)
        for category in {seen[2] for seen in row} - {0}:
            lists[LISTS[category]].append(row)
    return grid, lists


def plain(rows: Any) -> Any:
    return [[msgspec.structs.astuple(seen) for seen in row] for row in rows]


def assert_complete(state: StateObservation, play: Play) -> None:
    grid, lists = slowly_seen(play)
    assert [plain(column) for column in state.observation_grid] == grid
    assert {name: plain(getattr(state, name)) for name in LISTS.values()} == lists


def test_everything_is_where_the_rules_say() -> None:
    for seed in range(3):
        play = zoo(seed)
        observer = Observer(play)
        for _ in played(play, 150):
            assert_complete(observer.observe(), play)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**40), st.sampled_from([3, 10, 24]), st.lists(st.booleans(), min_size=10, max_size=60))
def test_a_state_made_of_changes_equals_one_made_anew(seed, block, asked) -> None:
    play = zoo(seed, block)
    observer = Observer(play)
    for look, _ in zip(asked, played(play, len(asked)), strict=False):
        if look:  # it may be asked after every tick, or not
            assert observer.observe() == Observer(play).observe()


@pytest.mark.parametrize("name", GAMES)
def test_public_games(name) -> None:
    play = public_play(name, level=3, seed=1)
    observer = Observer(play)
    for tick, _ in enumerate(played(play, 60)):
        state = observer.observe()
        if tick % 15 == 0 or play.over:
            assert_complete(state, play)
            assert state == Observer(play).observe()


OPEN = """\
BasicGame
    SpriteSet
        up > Missile orientation=UP speed=0.5
        down > Missile orientation=DOWN speed=0.3
        left > Missile orientation=LEFT speed=0.3
        right > Missile orientation=RIGHT speed=0.3
        avatar > MovingAvatar
    LevelMapping
        u > up
        d > down
        l > left
        r > right
    TerminationSet
        Timeout limit=100
"""


def test_things_that_leave_the_screen_are_seen_as_long_as_the_rules_say() -> None:
    game = read_game(OPEN, "open.txt")
    play = start(compile_game(game), read_level(game, "A  u \nl    \n  dr \n"), 0, 10)
    observer = Observer(play)
    seen_left_of_the_screen = False
    for _ in range(40):
        advance(play, "NIL")
        state = observer.observe()
        assert_complete(state, play)
        seen_left_of_the_screen |= any(seen.x < 0 for seen in state.observation_grid[0][1])
    assert seen_left_of_the_screen
    inside = [seen for column in state.observation_grid for cell in column for seen in cell]
    assert [seen.category for seen in inside] == [0]
    assert [len(row) for row in state.movable_positions] == [1, 1, 1, 1]  # lists know no screen


def test_a_state_is_not_changed_by_what_comes_later() -> None:
    play = zoo(5)
    observer = Observer(play)
    kept = []
    for _ in played(play, 80):
        state = observer.observe()
        kept.append((state, json_encoder().encode(state)))
    assert len({text for _, text in kept}) > 60
    assert all(json_encoder().encode(state) == text for state, text in kept)
    with pytest.raises(AttributeError):
        state.game_score = 7  # type: ignore[misc]
    with pytest.raises(AttributeError):
        state.observation_grid[0][0][0].x = 7  # type: ignore[misc]


def test_what_did_not_change_is_shared() -> None:
    play = zoo(0)
    observer = Observer(play)
    before = observer.observe()
    assert observer.observe().observation_grid is before.observation_grid
    advance(play, "NIL")
    after = observer.observe()
    shared = [a is b for a, b in zip(before.observation_grid, after.observation_grid, strict=True)]
    assert shared.count(False) <= 4
    assert after.immovable_positions is before.immovable_positions


def test_hidden_is_not_seen_and_invisible_is() -> None:
    play = zoo(0)
    names = {
        play.game.kinds[seen.itype].name
        for column in Observer(play).observe().observation_grid
        for cell in column
        for seen in cell
    }
    assert "floor" not in names
    assert {"haze", "calm", "wall", "berry"} <= names


def test_a_type_with_shots_and_others_stands_in_both_lists() -> None:
    play = zoo(0)
    observer = Observer(play)
    stone = play.game.definition.type_named("stone").id
    for action in ("USE", "NIL", "NIL", "USE") * 8:
        advance(play, action)
        state = observer.observe()
        fired = [row for row in state.from_avatar_sprites_positions if row[0].itype == stone]
        others = [row for row in state.movable_positions if row[0].itype == stone]
        if fired and others:
            assert fired[0] is others[0]
            assert {seen.category for seen in fired[0]} == {5, 6}
            return
    raise AssertionError("no stone of the archer was ever in the air with one of the keeper")


def test_facts_before_the_first_tick() -> None:
    state = Observer(zoo(0, 24)).observe()
    assert (state.game_tick, state.game_score, state.game_winner) == (0, 0.0, "NO_WINNER")
    assert (state.world_dimension, state.block_size, state.no_of_players) == ((264.0, 168.0), 24, 1)
    assert (state.avatar_position, state.avatar_orientation) == ((72.0, 72.0), (1.0, 0.0))
    assert (state.avatar_speed, state.avatar_last_action, state.is_avatar_alive) == (1.0, "NIL", True)
    assert (state.avatar_health_points, state.avatar_max_health_points) == (3, 3)
    assert state.available_actions == ("USE", "LEFT", "RIGHT", "DOWN", "UP")
    assert state.avatar_resources == {}
    assert len(state.observation_grid) == 11
    assert {len(column) for column in state.observation_grid} == {7}


def test_facts_at_the_end() -> None:
    play = zoo(0)
    observer = Observer(play)
    advance(play, "RIGHT")
    assert observer.observe().avatar_last_action == "RIGHT"
    advance(play, "ESCAPE")
    state = observer.observe()
    assert (state.game_tick, state.game_winner, state.is_game_over) == (1, "NO_WINNER", False)
    assert (state.avatar_position, state.avatar_orientation) == ((-1.0, -1.0), (-1.0, -1.0))
    assert (state.avatar_speed, state.available_actions) == (0.0, ())
    assert (state.avatar_last_action, state.is_avatar_alive) == ("ESCAPE", True)
    for _ in played(play := zoo(1), 400):
        pass
    state = Observer(play).observe()
    assert (state.is_game_over, state.game_tick) == (True, play.tick)
    assert state.game_winner in {"PLAYER_WINS", "PLAYER_LOSES"}


def test_resources_are_the_states_own() -> None:
    play = zoo(0)
    observer = Observer(play)
    berry = play.game.definition.type_named("berry").id
    for action in ("DOWN", "DOWN"):  # turn and step onto a berry
        advance(play, action)
    state = observer.observe()
    assert state.avatar_resources == {berry: 1}
    state.avatar_resources[berry] = 100
    assert observer.observe().avatar_resources == {berry: 1}


def test_a_deep_copy_is_a_state_of_its_own() -> None:
    state = Observer(zoo(0)).observe()
    copy = deepcopy(state)
    assert copy == state
    assert copy.observation_grid is state.observation_grid
    copy.avatar_resources[3] = 1
    assert state.avatar_resources == {}


def test_an_observation_has_the_protocols_figures() -> None:
    seen = Observation(9, 404, 3, 240, 16)
    assert (seen.position, seen.reference, seen.sq_dist) == ((240.0, 16.0), (-1.0, -1.0), 58370.0)


@pytest.mark.parametrize(
    ("encoder", "decoder"), [(json_encoder, json_decoder), (msgpack_encoder, msgpack_decoder)]
)
def test_a_state_goes_over_the_wire_and_comes_back(encoder, decoder) -> None:
    for _ in played(play := zoo(3), 40):
        pass
    state = Observer(play).observe()
    wire = encoder().encode(state)
    arrived = decoder()(wire)
    assert isinstance(arrived, dict)
    assert StateObservation.from_plain(arrived) == state
    assert encoder().encode(decoder()(wire)) == wire


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("block", [1, 3])
def test_cells_of_all_positions_on_and_around_a_screen(block: int, by_rows: bool) -> None:
    play = zoo(0, block)
    width, height = play.width, play.height
    found = cells_at(width, height, block, by_rows=by_rows)
    known: dict[tuple[int, ...], tuple[int, ...]] = {}
    for x in range(-2 * block, (width + 2) * block):
        for y in range(-2 * block, (height + 2) * block):
            cells = found[x][y]
            assert sorted(cells) == sorted(
                row * width + column if by_rows else column * height + row
                for column, row in slow_cells(play, x, y)
            )
            assert cells is known.setdefault(cells, cells)
