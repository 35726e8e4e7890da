"""Matches that go on from a turn of a recorded one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import trio

import flagfall
from flagfall.agents.hosts.registry import Player
from flagfall.events import Event
from flagfall.kernel.outcomes import MatchResult
from flagfall.playing import branch_request, play_request
from flagfall.recording.branching import BranchPoint
from flagfall.recording.journal.reader import read_journal
from flagfall.recording.verify import verify
from flagfall.tasks.building import rebuild
from flagfall.timing import VirtualClock


def recorded(journal: Path, **options: Any) -> list[Event]:
    given = {"clock": "virtual", "steps": 300, "seed": 5, **options}
    flagfall.run(["micro1", "micro2"], "random", journal=journal, **given)
    return list(read_journal(journal))


def branch(point: BranchPoint, journal: Path, *agents: Any, **options: Any) -> MatchResult:
    request = branch_request(point, [Player(agent) for agent in agents], **options)
    clock = VirtualClock() if request.clock == "virtual" else None
    return trio.run(play_request, attrs.evolve(request, journal=journal), clock=clock)


def test_another_agent_goes_on(tmp_path: Path):
    parent, child = tmp_path / "parent.jsonl", tmp_path / "child.jsonl"
    before = recorded(parent)
    result = branch(BranchPoint.find(parent, 120, rebuild), child, "memorizing")
    after = list(read_journal(child))
    assert (result.reason, result.turns) == ("steps", 300)
    assert after[1:123] == before[1:123]  # the seat, the task and its turns 0 to 119
    assert after[123:] != before[123:]
    assert verify(child, rebuild).ok


def test_an_agent_that_repeats_plays_the_recorded_match(tmp_path: Path):
    parent, child = tmp_path / "parent.jsonl", tmp_path / "child.jsonl"
    before = recorded(parent)
    point = attrs.evolve(BranchPoint.find(parent, 120, rebuild), rehearsed=frozenset({0}))
    branch(point, child, "random")
    assert list(read_journal(child))[1:] == before[1:]
