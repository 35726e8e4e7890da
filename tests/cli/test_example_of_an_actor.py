"""The example of a task that is an actor, from the command line, on both clocks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "reaction_time.py"


@pytest.mark.parametrize("clock", ["virtual", "wall"])
def test_an_actor_is_played_and_verified(call, tmp_path, clock):
    journal = tmp_path / "r.jsonl"
    config = ("--config", EXAMPLE)
    played = call(
        f"run --clock {clock} --json --seed 3", *config, "--agent", f"{EXAMPLE}:Quick", "--journal", journal
    )
    assert played.code == 0, played.err
    (task,) = json.loads(played.out)["matches"][0]["tasks"]
    assert (task["task"], task["played"], task["solved"]) == ("reaction-time", 3, 0)
    assert call("verify", journal, *config).code == 0
    text = journal.read_text()
    assert '"caught":3' in text or '"caught":4' in text
    journal.write_text(text.replace('"caught":3', '"caught":5').replace('"caught":4', '"caught":5'))
    assert call("verify", journal, *config).code != 0
