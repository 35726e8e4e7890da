"""Every recorded game is played as it was recorded, field for field and draw for draw."""

import pytest

from tests.conformance.vgdl_traces import DATA, FOLDERS, compare, recorded_games

UNSEEDED = {("mario", "traces", 2): 31}
"""Recordings that hang on a number which the original rolls without a seed, and the ticks before it."""

RECORDED = sorted({name for folder in FOLDERS for name in recorded_games(folder)})

pytestmark = pytest.mark.skipif(not RECORDED, reason="no recordings here")


@pytest.mark.parametrize("name", RECORDED)
def test_a_game_is_played_as_recorded(name: str) -> None:
    outcomes = [
        outcome
        for folder in FOLDERS
        if (DATA / folder / f"{name}.jsonl.gz").exists()
        for outcome in compare(name, folder)
    ]
    assert outcomes
    different = {(it.game, it.folder, it.level): it.ticks for it in outcomes if it.differs}
    assert different == {key: ticks for key, ticks in UNSEEDED.items() if key[0] == name}
