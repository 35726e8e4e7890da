"""Journals name the rules that their tasks were played by, and are verified by those."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest

import flagfall
from flagfall import playing, read_journal
from flagfall.kernel.roles import SchedulerRole
from flagfall.recording.verify import Verification, verify
from flagfall.tasks.building import rebuild
from flagfall.tasks.commai.mini.task import MINI_SETS, MiniTask, make_example
from flagfall.tasks.configs import Config, change_config, config_of, parse_config
from flagfall.tasks.schedulers import SequentialTaskScheduler
from flagfall.tasks.task import REVISIONS

CHANGED = """
[scheduler]
policy = "sequential"
tasks = ["micro4", "micro5.3", "micro13.1"]
[tasks."micro*"]
max_time = 50
"""
"""Micro-tasks in which the random agent often ends an answer in the step of the timeout."""


@attrs.frozen
class FirstRevision:
    """A configuration as it was played before its rules had a revision: with all that `fixes` repairs."""

    config: Config

    def build(self) -> SchedulerRole:
        return change_config(self.config, {"fixes": True}).build()

    def header(self) -> dict[str, Any]:
        return self.config.header()


@pytest.fixture
def record(tmp_path: Path) -> Any:
    def record(tasks: Any, revisions: dict[str, int] | None = None, steps: int = 2000) -> Path:
        path = tmp_path / "match.jsonl"
        with pytest.MonkeyPatch.context() as patch:
            if revisions is not None:
                patch.setattr(playing, "REVISIONS", revisions)
            flagfall.run(tasks, "random", journal=path, steps=steps, clock="virtual")
        return path

    return record


verified = partial(verify, rebuild=rebuild)


def header(path: Path) -> Any:
    return next(iter(read_journal(path)))


def test_a_header_names_the_revisions_in_force(record: Any) -> None:
    path = record(["micro4"])
    assert header(path).rules == dict(REVISIONS) == {"round1": 3}
    assert verified(path).ok
    assert header(record(["micro4"], revisions={})).rules == {}


@pytest.mark.parametrize("options", [{}, {"bit_mode": True}, {"max_reward_per_task": 5}])
def test_micro_tasks_played_before_revisions_are_verified_by_the_rules_of_that_time(
    record: Any, options: dict[str, Any]
) -> None:
    setup = FirstRevision(change_config(parse_config(CHANGED, ".toml"), options))
    steps = 16_000 if options.get("bit_mode") else 2000
    path = record(setup, revisions={}, steps=steps)
    found = verified(path)
    assert found.ok, str(found)
    assert found.turns == steps
    # By the rules of today the same turns are no match.
    assert verified(record(setup, steps=steps)).difference is not None


def test_mini_tasks_played_before_revisions_cannot_be_compared(record: Any) -> None:
    setup = FirstRevision(config_of(["micro4", "mini1"], "sequential", {}))
    found: Verification = verified(record(setup, revisions={}))
    assert not found.ok
    assert found.difference is None
    assert found.turns > 0
    assert str(found.not_repeatable) == (
        "task mini1: it was played by revision 1 of the rules of round1,"
        " which drew other strings for mini-tasks"
    )


def test_examples_of_a_user_are_not_compared_with_those_of_revision_2(record: Any) -> None:
    task = partial(MiniTask, "mini1", partial(make_example, row=MINI_SETS["mini1"]))
    path = record([task()], revisions={"round1": 2}, steps=100)
    assert "revision 2 of the rules of round1, which drew other strings" in str(
        verify(path, lambda _: SequentialTaskScheduler([task()])).not_repeatable
    )


@pytest.mark.parametrize("task", ["micro4", "mini1"])
@pytest.mark.parametrize("revision", [4, 0, -1, 10**30])
def test_rules_of_another_time_are_named(record: Any, task: str, revision: int) -> None:
    found = verified(record([task], revisions={"round1": revision}, steps=100))
    assert found.not_repeatable == (
        f"task {task}: it was played by revision {revision} of the rules of round1; this flagfall has 3"
    )


def test_other_tasks_do_not_look_at_revisions(record: Any) -> None:
    assert verified(record(["langroom"], revisions={}, steps=100)).ok
    assert verified(record(["langroom"], revisions={"langroom": 7}, steps=100)).ok


@pytest.mark.parametrize("fixes", [False, True])
def test_fixes_stand_in_the_journal(record: Any, fixes: bool) -> None:
    config = change_config(parse_config(CHANGED, ".toml"), {"fixes": fixes})
    path = record(config)
    assert ('"fixes":true' in header(path).config) is fixes
    assert verified(path).ok
    other = change_config(config, {"fixes": not fixes})
    assert verify(path, lambda _: other.build()).difference is not None
