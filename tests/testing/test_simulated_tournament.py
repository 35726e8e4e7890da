"""Tournaments under faults end as if nothing had been."""

from functools import cache

import attrs
import numpy as np
import pytest

from flagfall.agents.hosts.registry import Player
from flagfall.errors import UsageError
from flagfall.playing import MatchRequest
from flagfall.testing.faults import FAULTS, FaultSchedule, kinds_for, random_schedule
from flagfall.testing.simulation.match import simulate
from flagfall.testing.simulation.tournament import simulate_tournament
from flagfall.tournament.plan.parser import parse_plan
from tests.tournament.runs import small_plan

MATCHES = 8


def play(faults):
    return simulate_tournament(small_plan(2), faults)


@cache
def undisturbed():
    return results(play(""))


def results(run):
    records = {name: attrs.evolve(record, attempt=1) for name, record in run.records.items()}
    return records, {name: data for name, data in run.journals.items() if ".void" not in name}


@pytest.mark.parametrize(
    ("faults", "ended"),
    [
        ("kill runner @match 3", ["killed", ""]),
        ("kill runner @match 0; kill runner @match 1; kill runner @match 9", ["killed"] * 3 + [""]),
        ("lose worker @match 2", [""]),
        ("store full @match 3", ["tournament.db cannot be written: disk I/O error", ""]),
    ],
)
def test_a_fault_of_a_tournament_changes_none_of_its_results(faults, ended):
    run = play(faults)
    assert run.ended == ended
    assert results(run) == undisturbed()
    assert sum(run.happened.values()) == len(FaultSchedule.parse(faults))
    assert run.missed == []
    played = [record.id for record in run.attempts if record.status == "played"]
    assert len(played) == len(set(played)) == MATCHES


def test_random_faults_of_a_tournament_change_none_of_its_results():
    happened = set()
    for seed in range(6):
        kinds = kinds_for((), tournament=True)
        schedule = random_schedule(np.random.default_rng(seed), (), turns=MATCHES, kinds=kinds)
        run = play(schedule)
        assert results(run) == undisturbed(), schedule
        happened |= set(run.happened)
    assert happened == {row.name for row in FAULTS.values() if row.is_of_tournament}


def test_a_match_is_void_for_a_stall_that_accounts_for_its_lateness_and_for_no_other():
    plan = attrs.evolve(small_plan(2), clock="wall")
    excused = simulate_tournament(plan, "slow 1010ms @turn 3; stall host 20ms @turn 3")
    assert {record.why[:5] for record in excused.attempts} == {"stall"}
    assert len(excused.attempts) == 3 * MATCHES
    slow = simulate_tournament(plan, "slow 1030ms @turn 3; stall host 20ms @turn 3")
    assert {record.why for record in slow.attempts} == {""}
    assert slow.happened == {"slow": MATCHES, "stall host": MATCHES}


DUEL = """
clock = "wall"
time_control = "start=1s act=40ms/1s"
format = "round-robin"

[[agents]]
spec = "random"
name = "one"
host = "task"

[[agents]]
spec = "random"
name = "other"
host = "task"

[[tasks]]
task = "duel:lamps"
"""


def test_a_match_is_not_void_for_a_stall_beside_a_crash():
    run = simulate_tournament(parse_plan(DUEL), "seat 1: crash @turn 0; stall host 40ms @turn 0")
    assert {record.stalls for record in run.attempts} == {1}
    assert {record.why for record in run.attempts} == {""}
    assert {record.seats[1].fell for record in run.attempts} == {"crashed"}


def test_what_cannot_be_simulated_is_refused_in_one_line():
    with pytest.raises(UsageError, match="the match has seats 0 to 0"):
        play("seat 1: crash")
    with pytest.raises(UsageError, match="it strikes tournaments"):
        simulate(MatchRequest(tasks="micro1", agents=(Player("random"),)), "kill runner @match 0")
