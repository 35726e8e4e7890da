"""Adaptive tournaments: who meets, when they end, what they say, and runs that are killed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from random import Random

import attrs
import numpy as np
import pytest
import trio

from flagfall.tournament.columns import columns_of
from flagfall.tournament.formats.adaptive import GROWTH, Adaptive
from flagfall.tournament.formats.fixed_rounds import RoundRobin
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import Stop, TournamentPlan
from flagfall.tournament.plan.parser import load_plan
from flagfall.tournament.records import MatchRecord, MatchSpec
from flagfall.tournament.run.api import run_tournament
from flagfall.tournament.standings import compute_standings
from flagfall.tournament.stats.duels import expected_score
from flagfall.tournament.stats.sequences import is_above, log_capital, swapped
from flagfall.tournament.tables import AgentTable
from tests.tournament.fields import Play, make_plan, names, record, task
from tests.tournament.runs import count, has_come_to, journal_bytes, program, stored, wait_until


def strong(*strengths: float, seed: int = 0, draws: float = 0.5, elapsed_ns: int = 0) -> Play:
    """Results of agents of known strengths in Elo, which depend on nothing but the match."""

    def play(spec: MatchSpec) -> MatchRecord:
        luck = Random(f"{seed}/{spec.id}").random()
        one, other = (strengths[int(name[1:])] for name in spec.entrants)
        expected = expected_score(one - other)
        drawn = draws * min(expected, 1 - expected)
        score = 1.0 if luck < expected - drawn else 0.5 if luck < expected + drawn else 0.0
        return attrs.evolve(record(spec, [score, 1 - score]), elapsed_ns=elapsed_ns)

    return play


def play_on(plan: TournamentPlan, play: Play) -> tuple[dict[str, MatchRecord], list[MatchSpec]]:
    """Play a whole tournament along one walk of its schedule, as its runner does."""
    records: dict[str, MatchRecord] = {}
    specs: list[MatchSpec] = []
    for spec in schedule(plan).live(records):
        if spec is not None:
            specs.append(spec)
        else:
            records |= {one.id: play(one) for one in specs[len(records) :]}
    records |= {one.id: play(one) for one in specs[len(records) :]}
    assert schedule(plan).over(records)
    return records, specs


def encounters(records: dict[str, MatchRecord]) -> Counter[str]:
    """How often each pair met."""
    return Counter("-".join(sorted(seat.agent for seat in one.seats)) for one in records.values())


def remark(plan: TournamentPlan, records: dict[str, MatchRecord], beginning: str) -> list[str]:
    """The pairs in the remark that begins so."""
    notes = compute_standings(plan, records).notes
    found = [note.rpartition(": ")[2].split(", ") for note in notes if note.startswith(beginning)]
    return found[0] if found else []


def test_neighbours_play_until_each_is_decided():
    plan = make_plan(4, Adaptive(), repeats=5000)
    records, _ = play_on(plan, strong(300, 100, 0, -200))
    assert remark(plan, records, "stronger") == ["a0 over a1", "a1 over a2", "a2 over a3"]
    met = encounters(records)
    assert met["a1-a2"] > 2 * max(met["a0-a1"], met["a2-a3"]), met  # the closest take the most games
    assert met["a0-a3"] < met["a0-a1"]
    assert len(records) < 2000


def test_equal_agents_end_by_precision_or_equivalence_or_the_repeats():
    play = strong(100, 0, 0, draws=1.0)
    plan = make_plan(3, Adaptive(precision=30), repeats=20_000)
    records, _ = play_on(plan, play)
    assert remark(plan, records, "not decided, but their difference is known to 30 Elo") != []
    assert remark(plan, records, "not decided:") == []
    plan = make_plan(3, Adaptive(equivalence=40), repeats=20_000)
    records, _ = play_on(plan, play)
    assert set(remark(plan, records, "closer than 40 Elo")) <= {"a1 and a2", "a2 and a1"}
    assert remark(plan, records, "closer than 40 Elo") != []
    plan = make_plan(3, Adaptive(), repeats=20)
    records, _ = play_on(plan, play)
    assert len(remark(plan, records, "not decided")) == 2 - len(remark(plan, records, "stronger"))
    assert encounters(records)["a1-a2"] == 2 * 20


def test_ratings_are_played_to_the_precision_that_is_asked_for():
    plan = make_plan(6, Adaptive(goal="ratings", precision=40), repeats=20_000)
    records, _ = play_on(plan, strong(300, 200, 50, 0, -150, -400))
    for row in compute_standings(plan, records).rows:
        assert max(row.elo.high - row.elo.value, row.elo.value - row.elo.low) <= 40
    met = encounters(records)
    assert met["a0-a5"] < met["a0-a1"], met  # 700 Elo apart: such games tell little
    anchored = attrs.evolve(plan, anchor="a5")
    rows = compute_standings(anchored, play_on(anchored, strong(300, 200, 50, 0, -150, -400))[0]).rows
    assert all(row.elo.high - row.elo.low <= 80 for row in rows)
    assert next(row for row in rows if row.agent == "a5").elo.value == 0


def test_no_round_begins_after_the_duration():
    form = Adaptive(duration="1m")
    plan = make_plan(4, form, repeats=5000)
    records, specs = play_on(plan, strong(0, 0, 0, 0, elapsed_ns=10**9))
    before = [spec for spec in specs if spec.round < specs[-1].round]
    assert len(before) < 60 <= len(records)


def test_matches_of_a_plan_end_it_within_a_round():
    plan = make_plan(4, Adaptive(), repeats=5000, stop=Stop(matches=31))
    records, _ = play_on(plan, strong(0, 0, 0, 0))
    assert len(records) == schedule(plan).total == 31
    assert compute_standings(plan, records).over


def test_rounds_grow_with_what_has_been_played():
    plan = make_plan(2, Adaptive(), repeats=2000)
    _, specs = play_on(plan, strong(0, 0, draws=1.0))
    sizes = Counter(spec.round for spec in specs)
    before = 0
    for number in range(len(sizes)):
        assert sizes[number] <= max(2, before // GROWTH)
        before += sizes[number]
    assert len(sizes) < 80


def test_who_is_disqualified_again_and_again_is_withdrawn():
    plan = make_plan(4, Adaptive(), repeats=500, stop=Stop(falls=2))
    other = strong(200, 0, 0, -200)

    def play(spec: MatchSpec) -> MatchRecord:
        if "a2" not in spec.entrants:
            return other(spec)
        falls = ["late" if agent == "a2" else None for agent in spec.entrants]
        return record(spec, [float(fell is None) for fell in falls], falls)

    records, specs = play_on(plan, play)
    assert {spec.round for spec in specs if "a2" in spec.entrants} == {0}
    pairs = [pair for title in ("stronger", "not decided") for pair in remark(plan, records, title)]
    assert "a2" not in " ".join(pairs)
    assert len(pairs) == 2


def test_agents_that_all_fail_alone_end_by_the_repeats():
    plan = make_plan(3, Adaptive(precision=20), task(seats=1, agents=names(3)), repeats=4)
    records, _ = play_on(plan, lambda spec: record(spec, [0.0], ["crashed"]))
    assert set(encounters(records)) == {"a0", "a1", "a2"}
    assert remark(plan, records, "stronger") == []


def test_on_tasks_for_one_the_two_play_with_one_seed():
    plan = make_plan(2, Adaptive(), task(seats=1, agents=names(2)), repeats=3)
    _, specs = play_on(plan, lambda spec: record(spec, [1.0]))
    meetings: dict[str, list[MatchSpec]] = {}
    for spec in specs:
        meetings.setdefault(spec.meeting, []).append(spec)
    assert len(meetings) == 3
    assert all({one.entrants for one in pair} == {("a0",), ("a1",)} for pair in meetings.values())
    assert len({spec.seed for spec in specs}) == 3


def test_capital_is_that_of_a_fair_game():
    """Under the hypothesis the expected capital is 1: exactly, over all outcomes."""
    shares = {0.0: 0.2, 0.25: 0.1, 0.5: 0.3, 1.0: 0.4}
    mean = sum(points * share for points, share in shares.items())
    expected = 0.0
    for one, first in shares.items():
        for other, second in shares.items():
            for last, third in shares.items():
                expected += first * second * third * np.exp(log_capital(Counter([one, other, last]), mean))
    assert expected == pytest.approx(1.0)


def test_equal_agents_are_rarely_decided_by_looking_after_every_game():
    """At most 5 % ever are: of 200 at most 10, and four standard deviations of the binomial (3.1)."""
    random = np.random.default_rng(4)
    wrong = 0
    for _ in range(200):
        counts: Counter[float] = Counter()
        for points in random.choice([0.0, 0.5, 1.0], 300).tolist():
            counts[points] += 1
            if is_above(counts, 0.0) or is_above(swapped(counts), 0.0):
                wrong += 1
                break
    assert 0 < wrong <= 22


def test_intervals_are_wider_where_decisions_end_the_games():
    wide = make_plan(3, Adaptive(precision=60), repeats=300)
    records, _ = play_on(wide, strong(50, 0, -50))
    by_decisions, fixed = (
        AgentTable(plan, columns_of(plan, schedule(wide).played(records))).elo.elo["a0"]
        for plan in (wide, attrs.evolve(wide, format=RoundRobin()))
    )
    assert by_decisions.value == fixed.value
    assert by_decisions.high is not None
    assert fixed.high is not None
    assert by_decisions.high - by_decisions.value > 1.25 * (fixed.high - fixed.value)


PLAN = """
format = {{ kind = "adaptive", precision = {precision}, duration = "1h" }}
clock = "virtual"
repeats = 60
time_control = "act=1s"
[[agents]]
spec = "random"
name = "one"
[[agents]]
spec = "random"
name = "other"
[[agents]]
spec = "repeating"
[[tasks]]
task = "duel:heaps"
"""


def write_plan(folder: Path, precision: int = 60) -> Path:
    path = folder / "plan.toml"
    path.write_text(PLAN.format(precision=precision))
    return path


@pytest.mark.release
def test_a_run_that_is_killed_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    plan, out, calm = write_plan(tmp_path), tmp_path / "out", tmp_path / "calm"
    random = Random(3)
    for _ in range(4):
        runner = program("tournament", plan, "--output", out, "--resume", "--jobs", 2, "--quiet")
        goal = count(out) + random.randrange(1, 25)
        wait_until(partial(has_come_to, out, goal, runner))
        assert runner.poll() is None, runner.communicate()
        runner.kill()
        runner.communicate()
    ended = program("tournament", plan, "--output", out, "--resume", "--jobs", 2)
    told, complaints = ended.communicate(timeout=120)
    assert ended.returncode == 0, complaints
    assert "go on:" not in told
    trio.run(partial(run_tournament, load_plan(plan), calm))
    assert stored(out) == stored(calm)
    assert compute_standings(load_plan(plan), stored(out)) == compute_standings(load_plan(plan), stored(calm))
    assert journal_bytes(out) == journal_bytes(calm)


def flagfall(*words: object) -> str:
    command = [sys.executable, "-m", "flagfall", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.release
def test_commands_show_it(tmp_path: Path) -> None:
    plan, out = write_plan(tmp_path, precision=300), tmp_path / "out"
    dry = flagfall("tournament", plan, "--dry-run")
    assert "4 matches are known so far; the others depend on results" in dry
    flagfall("tournament", plan, "--output", out, "--report", "--quiet")
    results = json.loads(flagfall("results", out, "--json"))
    assert results["over"] is True
    (note, *_) = [one for one in results["notes"] if one.startswith(("stronger", "not decided"))]
    assert note.partition(":")[0] in flagfall("results", out, "--wide").replace("\n", " ")
    assert note.partition(":")[0] in (out / "report.html").read_text()
