"""What the public package `langroom` 0.1.2 answered, step by step, is what happens here."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flagfall.environments.embodied_env import EmbodiedLangRoom
from flagfall.tasks.langroom.rules import COLORS, LangRoomRules
from flagfall.tasks.langroom.task import LangRoom, RoomBatch

RECORDINGS = Path(__file__).parents[3] / "../shared/data/langroom/trajectories.jsonl.gz"

pytestmark = pytest.mark.skipif(not RECORDINGS.is_file(), reason="the recordings are not there")


def recordings():
    if not RECORDINGS.is_file():
        return []
    with gzip.open(RECORDINGS, "rt") as lines:
        return [json.loads(line) for line in lines]


def name(recording):
    return f"{recording['task']}, seed {recording['seed']}"


def options(recording):
    return {name: recording[name] for name in ("view", "vocab_size", "length")}


@pytest.mark.parametrize("recording", recordings(), ids=name)
def test_the_dictionary_form_is_the_recording(recording):
    room = EmbodiedLangRoom(recording["task"], seed=recording["seed"], **options(recording))
    for number, row in enumerate(recording["rows"]):
        given = dict(zip(recording["columns"], row, strict=True))
        seen = room.step({name: given[name] for name in ("move", "talk", "reset")})
        for key in ("text", "reward", "is_first", "is_last", "is_terminal"):
            assert seen[key] == given[key], f"row {number}: {key}"
        assert seen["reward"].dtype == np.float32
        assert room._room.player == (given["player_x"], given["player_y"]), f"row {number}"
        assert [COLORS[color] for color in room._room.colors] == row[-1], f"row {number}"


def test_in_a_batch_all_at_once():
    batches: dict[LangRoomRules, list[dict[str, Any]]] = {}
    for recording in recordings():
        batches.setdefault(LangRoomRules(recording["task"], **options(recording)), []).append(recording)
    for rules, played in batches.items():
        rooms = RoomBatch(rules, [np.random.default_rng(recording["seed"]) for recording in played])
        over = rooms.over
        for number, rows in enumerate(zip(*(recording["rows"] for recording in played), strict=True)):
            given = {
                column: np.array(values) for column, *values in zip(played[0]["columns"], *rows, strict=True)
            }
            beginning = given["reset"].astype(bool) | over
            rewards = rooms.step(given["move"], given["talk"], beginning)
            over = rooms.over
            seen: dict[str, Any] = {
                "text": rooms.words,
                "reward": rewards.astype(np.float32),
                "is_first": beginning,
                "is_last": over,
                "player_x": rooms.players[:, 0],
                "player_y": rooms.players[:, 1],
                "colors[ball,rug,table,vase]": np.array(COLORS)[rooms.colors],
            }
            for column, values in seen.items():
                assert np.array_equal(values, given[column]), f"{rules}, row {number}: {column}"


@pytest.mark.parametrize("recording", recordings(), ids=name)
def test_the_first_episode_as_a_task(recording):
    task = LangRoom(LangRoomRules(recording["task"], **options(recording)))
    rows = [dict(zip(recording["columns"], row, strict=True)) for row in recording["rows"]]
    end = next(n for n, row in enumerate(rows) if row["is_last"] or (n and row["reset"]))
    assert task.reset(recording["seed"])["text"] == rows[0]["text"]
    for number, row in enumerate(rows[1 : end + 1], 1):
        shown, reward, terminated, truncated, info = task.step({"move": row["move"], "talk": row["talk"]})
        assert shown["text"] == row["text"], f"row {number}"
        assert np.float32(reward) == row["reward"], f"row {number}"
        assert (terminated, truncated) == (False, bool(row["is_last"])), f"row {number}"
        assert info["player"].tolist() == [row["player_x"], row["player_y"]], f"row {number}"
        assert list(info["colors"].values()) == row["colors[ball,rug,table,vase]"], f"row {number}"


def test_they_show_all_three_rewards_and_long_vocabularies():
    told = recordings()
    assert {recording["task"] for recording in told} == {"answer-only", "answer-and-echo", "echo"}
    assert {recording["vocab_size"] for recording in told} == {15, 50}
    assert sum(len(recording["rows"]) for recording in told) > 9_000
