"""The explorer finds planted bugs and former faults, and finds nothing in flagfall as it is."""

from __future__ import annotations

import gc
import os
import random
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from flagfall.agents.hosts.registry import Player
from flagfall.agents.wire.session import WireSession
from flagfall.errors import UsageError
from flagfall.kernel.channels.turn_channel import TurnChannel
from flagfall.kernel.dispatcher import EventDispatcher
from flagfall.kernel.referee.state_machine import Referee
from flagfall.kernel.seat import HostSeat
from flagfall.playing import MatchRequest
from flagfall.testing.cases import TIME_CONTROLS, Case, Ground
from flagfall.testing.exploration import Exploration, explore
from flagfall.testing.faults import FAULTS, FaultSchedule
from flagfall.testing.invariants import (
    charges_each_turn_once,
    ends_at_the_hard_limit,
    fails_in_order,
    is_excused_for_what_a_stall_explains,
    keeps_the_disqualified_out,
    plays_no_stale_answer,
    records_each_turn_once,
    verifies,
)
from flagfall.testing.simulation.injection import Injection
from flagfall.timing.deadlines import DeadlineQueue
from flagfall.timing.turn_clock import TurnClock
from flagfall.tournament.run.match_observer import _Late
from tests.tournament.runs import small_plan

RUNS = 18_000
"""Most matches in which a planted bug has to be found: 60 seconds, at 300 a second."""

SEED = 1
"""Of the searches for planted bugs. It was taken for its time, of 0, 1 and 2: every bug was found with each
of them, after up to 2,900, 1,500 and 7,500 matches."""


SCHEDULES = int(os.environ.get("FLAGFALL_SCHEDULES", "1000"))
"""Matches of a campaign, 150 for each second of the processor; `FLAGFALL_SCHEDULES=50000` for one by hand."""


class Hesitant:
    """Answers with what it sees, after up to 20 ms."""

    def start(self, briefing: Any) -> None:
        self._dice = random.Random(briefing.seed)

    async def act(self, observation: Any) -> Any:
        await trio.sleep(self._dice.choice([0, 0, 0, 1, 5, 20]) / 1000)
        return observation if isinstance(observation, int) else self._dice.randrange(3)


def match_of(*hosts: Any, tasks: Any = None) -> MatchRequest:
    tasks = tasks or ("micro1" if len(hosts) == 1 else "duel:heaps")
    return MatchRequest(
        tasks=(tasks,), agents=tuple(Player(Hesitant, None if host == "remote" else host) for host in hosts)
    )


def find(request: MatchRequest, *rules: Any) -> None:
    """Find a case that breaks one of some invariants, with at most three faults, that can be shown again."""
    ground = Ground.of_match(request, TIME_CONTROLS, rules, ())
    found = Exploration([ground], SEED).search(RUNS)
    assert found is not None
    assert len(found.case.faults) <= 3
    assert Case.parse(str(found.case)) == found.case
    shown = Exploration([ground]).check(found.case)
    assert shown is not None
    assert shown.rule == found.rule


# flagfall as it is.


GROUNDS = (["task"], ["process"], ["remote"], ["remote", "task"], ["process", "remote"])


def invariants_hold(runs: int, seed: int) -> Exploration:
    grounds = [Ground.of_match(match_of(*hosts), TIME_CONTROLS) for hosts in GROUNDS]
    exploration = Exploration(grounds, seed)
    assert exploration.search(runs) is None, exploration.finding
    assert exploration.runs == runs
    assert exploration.inert == []
    return exploration


def test_every_invariant_holds_in_500_schedules():
    assert invariants_hold(500, 1).behaviours > 200


@pytest.mark.release
def test_every_invariant_holds_in_a_campaign_and_every_kind_of_fault_happens():
    happened = invariants_hold(SCHEDULES, 2).happened
    assert set(happened) == {row.name for row in FAULTS.values() if not row.is_of_tournament}


@pytest.mark.release
def test_every_invariant_of_tournaments_holds_and_every_kind_of_their_faults_happens():
    exploration = Exploration([Ground.of_tournament(small_plan(1))], 3)
    assert exploration.search(100) is None, exploration.finding
    assert {row.name for row in FAULTS.values() if row.is_of_tournament} <= set(exploration.happened)


@pytest.mark.release
def test_equal_searches_play_equal_cases():
    def cases(seed: int) -> list[Case]:
        played: list[Case] = []
        ground = Ground.of_match(match_of("task"), TIME_CONTROLS, (), ())

        def play(case: Case) -> Any:
            played.append(case)
            return ground.play(case)

        Exploration([attrs.evolve(ground, play=play)], seed).search(120)
        return played

    assert cases(5) == cases(5) != cases(6)


def test_a_search_in_which_a_kind_of_fault_never_happens_fails(monkeypatch):
    monkeypatch.setattr(Injection, "take", lambda *_args, **_named: [])
    with pytest.raises(AssertionError, match="kinds of faults that never happened: crash"):
        explore(match_of("task"), runs=250)


@pytest.mark.parametrize(
    "case",
    [
        Case(),
        Case(2, 7, "act=40ms/1s", 3, FaultSchedule.parse("seat 1: delay 20ms @turn 2; disk full @1.5s")),
    ],
)
def test_a_case_is_a_text(case):
    assert Case.parse(str(case)) == case


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("seed x", "'seed x': write a whole number behind seed"),
        ("seed 1; nonsense", "unknown fault 'nonsense'"),
        ("time_control act=x", "act=x"),
        ("ground 3", "ground 3: write 0 to 0"),
    ],
)
def test_a_case_that_is_none_is_refused_in_one_line(text, why):
    with pytest.raises(UsageError, match=re.escape(why)):
        explore(match_of("task"), again=text)


def test_an_invariant_of_ones_own_is_broken_by_the_smallest_schedule():
    def is_never_late(run: Any) -> None:
        """Check that nobody is ever late."""
        assert run.result.seats[0].stats.late == 0, "somebody was late"

    request = attrs.evolve(match_of("task"), time_control="start=1s init=1s act=40ms/1s result=1s")
    with pytest.raises(AssertionError) as failed:
        explore(request, runs=500, invariants=[is_never_late])
    text = str(failed.value)
    assert text.startswith("is_never_late: nobody is ever late\n  broken:  somebody was late\n")
    assert "steps 1; seat 0: " in text
    again = text.partition("again='")[2].partition("'")[0]
    with pytest.raises(AssertionError, match="is_never_late"):
        explore(request, invariants=[is_never_late], again=again)
    explore(request, runs=100)


TEST_OF_A_USER = """
from flagfall.testing import MatchRequest, Player, explore

def answer(observation):
    return 65

my_match = MatchRequest(tasks="micro1", agents=(Player(answer, "task"),), steps=5)

def is_on_time(run):
    "Check that it is on time."
    assert all(getattr(event, "verdict", "on time") != "late" for event in run.events)

def test_plain():
    explore(my_match, runs=50)

def test_fixture(explore):
    explore(my_match, invariants=[is_on_time])
"""


@pytest.mark.release
def test_the_plugin_of_pytest_explores_and_shows_a_case_again(tmp_path):
    (tmp_path / "test_mine.py").write_text(TEST_OF_A_USER)

    def run(*options: str) -> str:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "flagfall.testing.pytest_plugin", *options]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout

    assert "2 passed" in run("--explore-runs", "1")
    found = run("--explore-runs", "300")
    assert "1 failed, 1 passed" in found
    again = found.partition("again='")[2].partition("'")[0]
    assert "is_on_time: it is on time" in run("-k", "fixture", "--explore-again", again)


def test_the_plugin_of_pytest_costs_nothing_until_it_is_used():
    code = "import sys, flagfall.testing.pytest_plugin; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"trio", "numpy", "flagfall.testing.exploration"} & set(done.stdout.split())
    points = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert "flagfall.testing.pytest_plugin" in points["entry-points"]["pytest11"].values()


# Planted bugs.


@pytest.mark.release
def test_a_stale_reply_that_is_taken_is_found(monkeypatch):
    def reply(self: TurnChannel, action: Any = None, number: int | None = None) -> None:
        taken, envelope = self.taken, self.open_envelope
        if taken is None or envelope is None:
            original(self, action, number)
            return
        self.taken = self.waiting = self.open_envelope = None
        self._handler.answered(envelope, action)  # whichever turn it was meant for

    original = TurnChannel.reply
    monkeypatch.setattr(TurnChannel, "reply", reply)
    find(match_of("task"), plays_no_stale_answer)
    find(match_of("remote"), plays_no_stale_answer)


@pytest.mark.release
def test_a_bank_that_is_charged_twice_is_found(monkeypatch):
    def dropped(self: Referee, seat: Any, number: int, why: Any) -> None:
        if why == "double":
            seat.budget.charge("act", seat.stats.think_max_ns)
        original(self, seat, number, why)

    original = Referee.dropped
    monkeypatch.setattr(Referee, "dropped", dropped)
    find(match_of("process"), charges_each_turn_once)


@pytest.mark.release
def test_a_seat_that_is_revived_after_it_reconnects_is_found(monkeypatch):
    def disqualify(self: HostSeat, reason: str, detail: str) -> str:
        scope, self.agent_scope = self.agent_scope, None  # its host goes on
        try:
            return original_disqualify(self, reason, detail)
        finally:
            self.agent_scope = scope

    async def start(self: WireSession, channel: Any) -> None:
        seat: Any = self._seat
        if self.is_up and seat.disqualified is not None:
            seat.disqualified, seat.agent.closed, seat._channel.closed = None, False, False
            seat._referee._in_play += 1
        await original_start(self, channel)

    original_disqualify, original_start = HostSeat.disqualify, WireSession.start
    monkeypatch.setattr(HostSeat, "disqualify", disqualify)
    monkeypatch.setattr(WireSession, "start", start)
    find(match_of("remote", "task"), keeps_the_disqualified_out)


# Former faults, whose fixes are undone.


def undo_that_what_fails_stays_in_its_match(monkeypatch):
    def end_turn(self: EventDispatcher) -> None:
        for number in sorted(self._turn):
            self.dispatch(self._turn[number])
        self._turn.clear()

    def stop(self: Referee, reason: Any) -> None:
        original(self, reason)
        self._close_request()

    def fire_next(self: DeadlineQueue, now_ns: int) -> bool:
        entry = self.pop_due(now_ns)
        if entry is not None:
            entry.fire(now_ns)
        return entry is not None

    original = Referee.stop
    monkeypatch.setattr(EventDispatcher, "end_turn", end_turn)
    monkeypatch.setattr(Referee, "stop", stop)
    monkeypatch.setattr(DeadlineQueue, "fire_next", fire_next)


IN_A_LOOP_THAT_BREAKS = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore:coroutine:RuntimeWarning"
)
"""A loop that breaks leaves coroutines behind, which are collected with these warnings."""


@pytest.fixture
def collected() -> Iterator[None]:
    """Collect what a test has left behind before the next one begins."""
    yield
    for _ in range(3):
        gc.collect()


@pytest.mark.release
@IN_A_LOOP_THAT_BREAKS
@pytest.mark.usefixtures("collected")
def test_a_failing_sink_that_ends_other_matches_is_found(monkeypatch):
    undo_that_what_fails_stays_in_its_match(monkeypatch)
    find(match_of("task", "task"), fails_in_order)


@pytest.mark.release
@IN_A_LOOP_THAT_BREAKS
@pytest.mark.usefixtures("collected")
def test_a_sink_that_fails_while_a_turn_is_settled_is_found(monkeypatch):
    undo_that_what_fails_stays_in_its_match(monkeypatch)
    find(match_of("task"), verifies, fails_in_order, records_each_turn_once)


def test_a_stale_answer_that_escapes_the_hard_limit_is_found(monkeypatch):
    monkeypatch.setattr(TurnClock, "read_stale", lambda _self, _now_ns: 0)
    find(match_of("task"), ends_at_the_hard_limit)


@pytest.mark.release
def test_a_match_that_a_stall_excuses_and_does_not_explain_is_found(monkeypatch):
    def explain(self: _Late) -> str:
        return f"{self.what}, and there was a stall" if self.lost_ns else ""

    monkeypatch.setattr(_Late, "explain", explain)
    find(match_of("task"), is_excused_for_what_a_stall_explains)
