"""Matches that go on from a turn of a recorded one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

import flagfall
from flagfall.agents.hosts.registry import Player
from flagfall.events import Event, TurnPlayed
from flagfall.kernel.outcomes import MatchResult
from flagfall.playing import branch_request, play_request
from flagfall.recording.branching import BranchPoint
from flagfall.recording.journal.reader import read_journal
from flagfall.recording.recorded_host import RecordedHost
from flagfall.recording.verify import verify
from flagfall.tasks.building import rebuild
from flagfall.timing import VirtualClock


def recorded(journal: Path, **options: Any) -> list[Event]:
    given = {"clock": "virtual", "steps": 300, "seed": 5, **options}
    flagfall.run(["micro1", "micro2"], "random", journal=journal, **given)
    return list(read_journal(journal))


def branch(point: BranchPoint, journal: Path, *agents: Any, **options: Any) -> MatchResult:
    players = [agent if isinstance(agent, Player) else Player(agent) for agent in agents]
    request = branch_request(point, players, **options)
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


def test_a_seat_keeps_its_model_of_latency(tmp_path: Path):
    parent, child = tmp_path / "parent.jsonl", tmp_path / "child.jsonl"
    before = recorded(parent, think="uniform(1ms, 39ms)", time_control="act=40ms")
    point = BranchPoint.find(parent, 120, rebuild)
    branch(attrs.evolve(point, rehearsed=frozenset({0})), child, "random")
    after: list[Any] = list(read_journal(child))
    assert after[0].think == point.header.think != ()
    assert after[1 : point.kept] == before[1 : point.kept]
    assert spent(after)[120:200] == spent(before)[:80]  # drawn anew
    assert verify(child, rebuild).ok

    branch(point, child, RecordedHost(point, 0))
    assert list(read_journal(child))[1:] == before[1:]
    branch(point, child, "random", clock="wall")  # where a turn takes the time that it takes
    assert max(spent(list(read_journal(child)))[120:]) > 0


def spent(events: list[Any]) -> list[int]:
    return [event.spent_ns for event in events if isinstance(event, TurnPlayed)]


@pytest.mark.parametrize("think", ["none", "uniform(1ms, 60ms)"])
def test_an_agent_in_a_process_plays_the_recorded_turns_first(think: str, tmp_path: Path):
    file, parent, child = tmp_path / "bot.py", tmp_path / "parent.jsonl", tmp_path / "child.jsonl"
    file.write_text(
        "class Bot:\n"
        "    turns = 0\n"
        "    def act(self, observation):\n"
        "        self.turns += 1\n"
        "        return self.turns % 128\n"
    )
    options: dict[str, Any] = {"host": "process", "clock": "virtual", "steps": 60, "think": think}
    flagfall.run("micro1", f"{file}:Bot", journal=parent, time_control="start=9s act=40ms/9s", **options)
    before = list(read_journal(parent))
    point = attrs.evolve(BranchPoint.find(parent, 30, rebuild), rehearsed=frozenset({0}))
    branch(point, child, Player(f"{file}:Bot", "process"))
    after = list(read_journal(child))
    assert after[1 : point.kept] == before[1 : point.kept]
    assert verify(child, rebuild).ok
    turns = [event for event in after if isinstance(event, TurnPlayed)]
    assert len(turns) == 60
    if think == "none":
        assert after[1:] == before[1:]
    else:
        assert {turn.verdict for turn in turns[30:]} == {"on time", "late"}
