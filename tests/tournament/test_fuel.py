"""Tournaments of agents in WebAssembly: equal by bytes on an idle and on a busy machine."""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.fuel_cup import Cup, burning, differences, played_turns

MATCHES = int(os.environ.get("FLAGFALL_FUEL_MATCHES", "6"))
"""`FLAGFALL_FUEL_MATCHES=1000` for a longer run by hand: ten minutes."""


@pytest.mark.release
@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs ziglang")
def test_journals_are_the_same_on_a_busy_machine_and_with_any_number_of_jobs(tmp_path: Path) -> None:
    cup = Cup(tmp_path, "fuel", MATCHES)
    cup.write()
    alone = cup.play("alone", jobs=1)
    with burning(4):
        busy = cup.play("busy", jobs=4, hash_seed=1)
    assert len(list(alone.iterdir())) == MATCHES
    assert differences(alone, busy) == (0, 0)
    seen = Counter(verdict for verdict, _ in played_turns(alone).values())
    assert min(seen["on time"], seen["late"], seen["disqualified"]) > MATCHES // 2, seen
