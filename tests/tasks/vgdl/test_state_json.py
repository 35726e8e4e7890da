"""States as the learning track's JSON: field by field, number by number, and the same from cached pieces."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import numpy as np
import pytest

from flagfall.gvgai.states import StateLines
from flagfall.tasks.vgdl.views.observer import Observation, Observer, StateObservation
from flagfall.tasks.vgdl.views.state_json import StateWriter, java_double
from tests.tasks.vgdl.zoo import played, zoo

FIELDS = [
    *("isValidation", "gameScore", "gameTick", "gameWinner", "isGameOver", "worldDimension", "blockSize"),
    *("noOfPlayers", "avatarSpeed", "avatarOrientation", "avatarPosition", "avatarLastAction", "avatarType"),
    *("avatarHealthPoints", "avatarMaxHealthPoints", "avatarLimitHealthPoints", "isAvatarAlive", "phase"),
    *("availableActions", "avatarResources", "observationGrid", "observationGridNum"),
    *("observationGridMaxRow", "observationGridMaxCol"),
]
LISTS = ["NPC", "immovable", "movable", "resources", "portals", "fromAvatarSprites"]
ROWS = {
    "NPC": "npc_positions",
    "immovable": "immovable_positions",
    "movable": "movable_positions",
    "resources": "resources_positions",
    "portals": "portals_positions",
    "fromAvatarSprites": "from_avatar_sprites_positions",
}


def slowly(seen: Observation) -> dict[str, Any]:
    return {
        "category": seen.category,
        "itype": seen.itype,
        "obsID": seen.obs_id,
        "position": {"x": float(seen.x), "y": float(seen.y)},
        "reference": {"x": -1.0, "y": -1.0},
        "sqDist": float((seen.x + 1) ** 2 + (seen.y + 1) ** 2),
    }


def as_float(value: float) -> float:
    """A number whose shortest text is that of the nearest one with 24 bits."""
    return float(str(np.float32(value)))


def hash_map(amounts: dict[int, int]) -> dict[str, int]:
    """The amounts as a table of Java has them: in a power of two of slots, a quarter of them free."""
    slots: list[list[int]] = [[] for _ in range(16)]
    while 4 * len(amounts) > 3 * len(slots):
        slots = [[] for _ in range(2 * len(slots))]
    for number in sorted(amounts):
        slots[number % len(slots)].append(number)
    return {str(number): amounts[number] for slot in slots for number in slot}


def slow_json(state: StateObservation, phase: str) -> str:
    """The same message by a general encoder."""
    grid = [[[slowly(seen) for seen in cell] for cell in column] for column in state.observation_grid]
    told: dict[str, Any] = {
        "isValidation": False,
        "gameScore": as_float(state.game_score),
        "gameTick": state.game_tick,
        "gameWinner": state.game_winner,
        "isGameOver": state.is_game_over,
        "worldDimension": state.world_dimension,
        "blockSize": state.block_size,
        "noOfPlayers": 1,
        "avatarSpeed": as_float(state.avatar_speed),
        "avatarOrientation": state.avatar_orientation,
        "avatarPosition": state.avatar_position,
        "avatarLastAction": f"ACTION_{state.avatar_last_action}",
        "avatarType": state.avatar_type,
        "avatarHealthPoints": state.avatar_health_points,
        "avatarMaxHealthPoints": state.avatar_max_health_points,
        "avatarLimitHealthPoints": state.avatar_limit_health_points,
        "isAvatarAlive": state.is_avatar_alive,
        "phase": phase,
        "availableActions": [f"ACTION_{action}" for action in state.available_actions],
        "avatarResources": hash_map(state.avatar_resources),
        "observationGrid": grid,
        "observationGridNum": len(grid),
        "observationGridMaxRow": len(grid[0]),
        "observationGridMaxCol": max(len(cell) for column in grid for cell in column),
    }
    for name in LISTS:
        rows = [[slowly(seen) for seen in row] for row in getattr(state, ROWS[name])]
        if rows:
            told[f"{name}Positions"] = rows
        told[f"{name}PositionsNum"] = len(rows)
        told[f"{name}PositionsMaxRow"] = max((len(row) for row in rows), default=0)
    return json.dumps(told, separators=(",", ":"))


def test_pieces_that_were_kept_make_the_same_text_as_a_general_encoder() -> None:
    for seed in range(3):
        play = zoo(seed)
        observer, writer = Observer(play), StateWriter()
        for _ in played(play, 120):
            state = observer.observe()
            assert writer.write(state, "ACT") == slow_json(state, "ACT")


@pytest.mark.parametrize(
    ("amounts", "text"),
    [
        ({3: 1, 17: 2}, '"17":2,"3":1'),
        ({19: 4, 3: 1}, '"3":1,"19":4'),
        (
            dict.fromkeys(range(8, 20), 0),
            ",".join(f'"{n}":0' for n in [16, 17, 18, 19, *range(8, 16)]),
        ),
        (dict.fromkeys(range(8, 21), 0), ",".join(f'"{n}":0' for n in range(8, 21))),
    ],
)
def test_resources_have_the_order_of_a_hash_map(amounts: dict[int, int], text: str) -> None:
    state = msgspec.structs.replace(Observer(zoo(0)).observe(), avatar_resources=amounts)
    written = StateWriter().write(state, "ACT")
    assert f'"avatarResources":{{{text}}}' in written
    assert written == slow_json(state, "ACT")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (0.1 + 0.2, "0.3"),
        (1 / 3, "0.33333334"),
        (0.2 * 0.7, "0.14"),
        (16_777_217, "1.6777216E7"),
        (-1e-50, "-0.0"),
        (-0.0, "-0.0"),
    ],
)
def test_score_and_speed_have_the_precision_of_a_float(value: float, text: str) -> None:
    state = Observer(zoo(0)).observe()
    state = msgspec.structs.replace(state, game_score=value, avatar_speed=value)
    for written in (StateWriter().write(state, "ACT"), StateLines(lambda: None).act(state, "IMAGE")):
        assert f'"gameScore":{text},' in written
    assert f'"avatarSpeed":{text},' in StateWriter().write(state, "ACT")


def test_one_writer_serves_one_play_after_another() -> None:
    writer = StateWriter()
    for seed in range(3):
        play = zoo(seed)
        for _ in played(play, 30):
            state = Observer(play).observe()
            assert writer.write(state, "ACT") == slow_json(state, "ACT")


def test_fields_stand_in_the_protocols_order() -> None:
    told = json.loads(StateWriter().write(Observer(zoo(0)).observe(), "INIT"))
    assert list(told)[: len(FIELDS)] == FIELDS
    places = [list(told).index(f"{name}PositionsNum") for name in LISTS]
    assert places == sorted(places)
    assert "fromAvatarSpritesPositions" not in told  # an absent list is left out, and counted
    assert (told["fromAvatarSpritesPositionsNum"], told["fromAvatarSpritesPositionsMaxRow"]) == (0, 0)


def test_phase_tick_and_validation_are_the_messages_own() -> None:
    state = Observer(zoo(0)).observe()
    text = StateWriter().write(state, "INIT", tick=-1, is_validation=True, image="[-119,80]")
    assert text.startswith('{"imageArray":[-119,80],"isValidation":true,"gameScore":0.0,"gameTick":-1,')
    assert '"phase":"INIT"' in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (11, "11.0"),
        (0.25, "0.25"),
        (-1.0, "-1.0"),
        (0, "0.0"),
        (58370, "58370.0"),
        (9_999_999, "9999999.0"),
        (10_000_000, "1.0E7"),
        (12_345_678, "1.2345678E7"),
        (-250_000_000.5, "-2.500000005E8"),
        (0.0001, "1.0E-4"),
    ],
)
def test_numbers_look_as_java_prints_them(value, text) -> None:
    assert java_double(value) == text
