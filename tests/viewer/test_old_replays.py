"""The oldest journals that verify are shown with the pictures of their matches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from flagfall.cli.runs.plan import from_config
from flagfall.kernel.roles import SchedulerRole
from flagfall.recording.verify import verify
from flagfall.tasks.building import rebuild
from flagfall.viewer.replay.execution import Execution
from flagfall.viewer.replay.page import replay_page
from flagfall.viewer.replay.recorded_match import RecordedMatch
from tests.viewer.journals import FIXTURES, OLD_JOURNALS
from tests.viewer.reference_frames import decoded

CONFIGS = {"sampler": "inputs/goals.py", "void": "inputs/goals.py:create_failing_tasks"}
"""Journals whose tasks were made by a Python function, and that function."""

WITH_PICTURES = {
    *("gym", "langroom", "out-one-of-two", "pettingzoo-parallel", "pettingzoo-turns", "vgdl", "vgdl-shipped"),
    *("track", "contest-0", "contest-1", "digests", "whole", "ticks"),
}
"""Journals of tasks that draw."""


def kind(path: Path) -> str:
    return path.name.partition(".")[0]


@pytest.fixture(autouse=True)
def in_fixtures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Journals name files as they were written: from the folder of the fixtures."""
    monkeypatch.chdir(FIXTURES)


def makes(path: Path) -> Callable[..., SchedulerRole]:
    config = CONFIGS.get(kind(path))
    return partial(rebuild, trust=False) if config is None else partial(from_config, config)


@pytest.mark.parametrize("path", OLD_JOURNALS, ids=lambda path: f"{path.parent.name}-{kind(path)}")
def test_every_turn_of_an_old_match_that_verifies_is_shown(path):
    verified = verify(path, makes(path))
    if not verified.ok:
        assert path.name.startswith(("mini", "cut"))
        return
    match = RecordedMatch(path, rebuild=makes(path) if kind(path) in CONFIGS else None)
    match.read_all()
    summary = match.summary()
    turns = [turn for number in range(len(summary["chunks"])) for turn in match.chunk(number)["turn"]]
    assert (summary["state"], summary["turns"]) == ("complete", verified.turns)
    assert len(set(turns)) == verified.turns
    execution = Execution(path, makes(path))
    head, found = decoded(execution.draw(turns[0], turns[-1]))
    execution.close()
    if kind(path) in WITH_PICTURES:
        assert (head["kind"], head["why"]) == ("pictures", "")
        assert {turn for turn, which in found if which == "b"} == set(turns)
        assert len([turn for turn, which in found if which == "e"]) == verified.tasks
    else:
        assert (head["kind"], found) == ("none", {})
    match.close()


def test_every_kind_of_old_match_that_draws_is_there():
    names = {kind(path) for path in OLD_JOURNALS}
    assert names > WITH_PICTURES
    assert len(OLD_JOURNALS) == 84


def test_the_page_of_an_old_match_holds_its_pictures():
    page = replay_page(FIXTURES / "schema1" / "track.jsonl.zst")
    assert b'id="frames-0"' in page
