"""Observations that a journal does not keep whole: their digests, and what `verify` makes of them."""

import json

import msgspec
import numpy as np
import pytest

import flagfall
from flagfall import read_journal
from flagfall.events import TurnPlayed
from flagfall.kernel.outcomes import StepResult
from flagfall.recording.journal.format import MAX_KEPT_BYTES, Digest, kept
from flagfall.recording.journal.writer import Journal
from flagfall.recording.verify import verify
from flagfall.tasks.building import rebuild
from flagfall.tasks.task import Task

PICTURE = np.arange(48 * 48, dtype=np.uint8).reshape(48, 48)


def turns(path):
    return [event for event in read_journal(path) if isinstance(event, TurnPlayed)]


def test_what_is_short_is_kept_to_the_byte():
    longest = b'"' + b"x" * (MAX_KEPT_BYTES - 2) + b'"'
    assert kept(longest) == msgspec.Raw(longest)
    assert isinstance(kept(b" " + longest), Digest)


def test_equal_texts_have_equal_digests_and_others_do_not():
    text = b"0" * 5000
    assert kept(text) == kept(bytes(text))
    for changed in (b"1" + text[1:], text[:-1] + b"1", text + b"0"):
        assert kept(changed) != kept(text)


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.zst"])
def test_a_long_match_has_a_short_journal_that_verifies(tmp_path, name):
    path = tmp_path / name
    flagfall.run("langroom", "random", steps=300, journal=path, clock="virtual")
    assert all(isinstance(turn.observation, Digest) for turn in turns(path))
    assert path.stat().st_size < 300 * 400  # a picture alone has 16 kB
    assert verify(path, rebuild).ok


def test_a_changed_digest_is_found_at_its_turn(tmp_path, lab):
    path = tmp_path / "run.jsonl"
    flagfall.run("langroom", "random", steps=20, journal=path, clock="virtual")
    lines = [line for line in path.read_text().splitlines() if '"event":"seal"' not in line]
    at = next(i for i, line in enumerate(lines) if '"turn":7,' in line)
    record = json.loads(lines[at])
    record["observation"]["$digest"] = "0" * 32
    lines[at] = json.dumps(record, separators=(",", ":"))
    path.write_bytes(lab.sealed([line.encode() + b"\n" for line in lines]))
    found = verify(path, rebuild).difference
    assert found is not None
    assert found.turn == 7


def test_whole_observations_for_who_asks(tmp_path):
    path = tmp_path / "run.jsonl"
    flagfall.run("langroom", "random", steps=5, journal=Journal(path, whole=True), clock="virtual")
    assert all(turn.observation["image"].shape == (64, 64, 3) for turn in turns(path))
    assert verify(path, rebuild).ok


class Confusing(Task):
    """Shows what looks like a digest, and is none."""

    id = "confusing"
    nil_action = 0

    @property
    def action_space(self):
        raise NotImplementedError

    @property
    def observation_space(self):
        raise NotImplementedError

    def is_legal(self, action):
        return action == 0

    def _reset(self, seed):  # noqa: ARG002
        return {"$digest": 3, "bytes": [PICTURE[0, :3]]}

    def _step(self, action):  # noqa: ARG002
        return StepResult({"$digest": "x", "bytes": 1, "more": 2}, 1, terminated=True)

    def reached_terminal_state(self):
        return self.num_steps_taken() > 0


def test_a_mapping_that_is_no_digest_stays_one(tmp_path):
    path = tmp_path / "run.jsonl"
    flagfall.run(Confusing(), lambda _observation: 0, journal=path, clock="virtual")
    [turn] = turns(path)
    assert turn.observation.keys() == {"$digest", "bytes"}
