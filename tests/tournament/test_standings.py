import json
from itertools import combinations
from random import Random

import attrs
import pytest

from flagfall.tournament.columns import columns_of
from flagfall.tournament.formats.fixed_rounds import Benchmark, RoundRobin
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.formats.swiss import Knockout, Swiss
from flagfall.tournament.model import SprtRule, Stop
from flagfall.tournament.records import MatchRecord, SeatRecord, TimeHistogram, seat_scores
from flagfall.tournament.standings import compute_standings
from flagfall.tournament.stats.duels import pairs_of_games
from tests.tournament.fields import (
    by_chance,
    make_plan,
    names,
    play_all,
    record,
    task,
    the_first_named_wins,
)


def row_of(rows, agent):
    (row,) = [row for row in rows if row.agent == agent]
    return row


def test_a_round_robin_is_ranked_and_counted():
    plan = make_plan(3, RoundRobin(), repeats=2)
    records, _ = play_all(plan, the_first_named_wins)
    told = compute_standings(plan, records)
    assert [(row.place, row.agent, row.wins, row.draws, row.losses) for row in told.rows] == [
        (1, "a0", 8, 0, 0),
        (2, "a1", 4, 0, 4),
        (3, "a2", 0, 0, 8),
    ]
    first = told.rows[0]
    assert first.score is not None
    assert (first.matches, first.score.value, first.points) == (8, 1.0, None)
    assert first.score.low == pytest.approx(0.555237)  # Jeffreys: 0.025 of Beta(4.5, 0.5)
    assert told.over
    assert told.timeless == ()
    assert told.notes[0].startswith("a0, a1, a2: won or lost everything against rated agents")
    assert [(row.task, row.agent, row.score.value) for row in told.tasks] == [
        ("game", "a0", 1.0),
        ("game", "a1", 0.5),
        ("game", "a2", 0.0),
    ]


def test_who_is_as_good_shares_a_place():
    plan = make_plan(3, RoundRobin())
    records, _ = play_all(plan, lambda spec: record(spec, [0.5, 0.5]))
    assert [row.place for row in compute_standings(plan, records).rows] == [1, 1, 1]


def test_agents_who_play_alone_are_compared_on_the_same_seed():
    plan = make_plan(3, Benchmark(), task("alone", 1, names(3)), repeats=2)
    scores = {"a0": [3.0, -1.0], "a1": [3.0, 5.0], "a2": [0.0, 9.0]}
    records = {
        spec.id: record(spec, [scores[spec.entrants[0]][spec.round]]) for spec in schedule(plan).due({})
    }
    told = compute_standings(plan, records)
    shares = {row.agent: row.score.value for row in told.rows if row.score is not None}
    assert shares == {"a0": 0.375, "a1": 0.625, "a2": 0.5}
    assert {row.agent: row.score.value for row in told.tasks} == {"a0": 1.0, "a1": 4.0, "a2": 4.5}
    best = told.rows[0]
    assert (best.agent, best.wins, best.draws, best.losses) == ("a1", 2, 1, 1)


def test_who_falls_alone_loses_whatever_it_was_paid():
    plan = make_plan(2, Benchmark(), task("alone", 1, names(2)))
    one, other = schedule(plan).due({})
    records = {one.id: record(one, [7.0], ["crashed"]), other.id: record(other, [-500.0])}
    told = compute_standings(plan, records)
    assert [(row.agent, row.wins) for row in told.rows] == [("a1", 1), ("a0", 0)]


def test_tasks_count_alike_however_often_they_are_played():
    entries = [task("x", 1, names(2)), task("y", 2, names(2))]
    plan = make_plan(2, Benchmark(), *entries)
    winner = {"x": "a0", "y": "a1"}
    records = {
        spec.id: record(spec, [float(agent == winner[spec.task]) for agent in spec.entrants])
        for spec in schedule(plan).due({})
    }
    assert [row.score.value for row in compute_standings(plan, records).rows if row.score] == [0.5, 0.5]


def test_the_second_table_leaves_out_what_the_clock_decided():
    plan = make_plan(2, RoundRobin(), repeats=2)
    ids = [spec.id for spec in schedule(plan).due({})]

    def play(spec):
        if spec.id == ids[0]:
            return record(spec, [0.0, 1.0], ["late", None])
        if spec.id == ids[1]:
            return record(spec, [0.0, 1.0], ["crashed", None])
        return record(spec, [0.5, 0.5])

    told = compute_standings(plan, {spec.id: play(spec) for spec in schedule(plan).due({})})
    late, crashed = row_of(told.rows, "a0"), row_of(told.rows, "a1")
    assert (late.fell, late.time_losses, late.crashes) == (1, 1, 0)
    assert (crashed.fell, crashed.time_losses, crashed.crashes) == (1, 0, 1)
    assert late.elo is not None
    assert late.elo.value == pytest.approx(0)
    kept = row_of(told.timeless, "a0")
    assert (kept.matches, kept.wins, kept.losses, kept.time_losses) == (3, 1, 0, 0)
    assert told.timeless[0].agent == "a0"


def test_times_and_faults_of_all_matches_add_up():
    plan = make_plan(1, Benchmark(), task("alone", 1, names(1)), repeats=2)
    records = {}
    for number, spec in enumerate(schedule(plan).due({})):
        thinking = TimeHistogram()
        for spent in range(number * 50, number * 50 + 50):
            thinking.add(spent * 1000)
        seat = SeatRecord(
            agent="a0",
            score=1,
            turns=50,
            late=number,
            illegal=2,
            dropped=3,
            think_max_ns=number * 50_000 + 49_000,
            over_ns=number * 7,
            thinking=thinking.pairs(),
        )
        records[spec.id] = MatchRecord(id=spec.id, seats=(seat,))
    (row,) = compute_standings(plan, records).rows
    assert (row.turns, row.late, row.illegal, row.dropped, row.over_ns) == (100, 1, 4, 6, 7)
    assert 49_000 <= row.think_p50_ns <= 49_000 * 33 / 32
    assert 98_000 <= row.think_p99_ns <= 98_000 * 33 / 32
    assert row.think_max_ns == 99_000
    assert (row.score, row.elo) == (None, None)


def test_swiss_and_knockout_rank_by_their_own_rules():
    swiss = make_plan(4, Swiss(rounds=2))
    rows = compute_standings(swiss, play_all(swiss, the_first_named_wins)[0]).rows
    assert [(row.agent, row.points) for row in rows] == [("a0", 2), ("a1", 1), ("a2", 1), ("a3", 0)]
    knockout = make_plan(5, Knockout())
    rows = compute_standings(knockout, play_all(knockout, the_first_named_wins)[0]).rows
    assert [row.points for row in rows] == [3, 2, 1, 1, 0]
    assert rows[0].agent == "a0"


def test_games_for_three_are_rated_by_their_pairs():
    plan = make_plan(4, RoundRobin(), task(seats=3, agents=names(4)), repeats=3)

    def play(spec):
        best_first = sorted(spec.entrants)
        return record(spec, [1 - best_first.index(agent) / 2 for agent in spec.entrants])

    told = compute_standings(plan, {spec.id: play(spec) for spec in schedule(plan).due({})})
    assert [row.agent for row in told.rows] == list(names(4))
    assert all(row.elo is None for row in told.rows)
    skills = [row.skill.value for row in told.rows]
    assert skills == sorted(skills, reverse=True)
    assert sum(skills) == pytest.approx(0, abs=1e-5)
    assert [note.partition(":")[0] for note in told.notes] == ["a0, a1, a2, a3"]
    assert "so the skill is bounded on one side only" in told.notes[0]


def test_of_two_that_were_disqualified_neither_beat_the_other():
    plan = make_plan(3, Benchmark(), task(seats=3, agents=names(3)), repeats=20)
    random = Random(1)

    def play(spec):
        fell = [random.choice([None, "crashed"]) for _ in spec.entrants]
        rewards = [float(random.randrange(2)) for _ in spec.entrants]
        return record(spec, seat_scores("result", rewards, fell, solved=0, tasks=0), fell)

    records = {spec.id: play(spec) for spec in schedule(plan).due({})}
    played = [record.seats for record in records.values()]
    pairs = [pair for seats in played for pair in combinations(seats, 2)]
    both_out = sum(one.fell == other.fell == "crashed" for one, other in pairs)
    assert both_out > 0
    results = columns_of(plan, schedule(plan).played(records))
    assert len(pairs_of_games(results).score) == len(pairs) - both_out


def test_standings_depend_on_nothing_but_plan_and_records():
    plan = make_plan(5, RoundRobin(), repeats=3, anchor="a3")
    records, specs = play_all(plan, by_chance(5))
    shuffled = Random(1).sample(specs, k=len(specs))
    one, other = (
        compute_standings(plan, records),
        compute_standings(plan, {spec.id: records[spec.id] for spec in shuffled}),
    )
    assert one == other
    elo = row_of(one.rows, "a3").elo
    assert elo is not None
    assert elo.value == 0


def test_they_can_be_told_at_any_moment_and_as_plain_data():
    rule = SprtRule(agents=("a0", "a1"), elo1=300)
    plan = make_plan(2, RoundRobin(), repeats=30, stop=Stop(sprt=rule))
    records: dict[str, MatchRecord] = {}
    for spec in [None, *schedule(plan).due({})][:9]:
        if spec is not None:
            records[spec.id] = the_first_named_wins(spec)
        told = compute_standings(plan, records)
        data = json.loads(json.dumps(told.as_data()))
        assert data["rows"][0]["matches"] == len(records)
        assert data["sprt"]["decision"] is None
        assert not data["over"]
        assert told == compute_standings(plan, dict(records))


def test_a_match_that_nobody_knows_counts_for_nothing():
    plan = make_plan(2, RoundRobin())
    records, _ = play_all(plan, the_first_named_wins)
    stranger = attrs.evolve(records["r0-m0-g0"], id="r9-m0-g0")
    assert (
        compute_standings(plan, records | {stranger.id: stranger}).rows
        == compute_standings(plan, records).rows
    )
