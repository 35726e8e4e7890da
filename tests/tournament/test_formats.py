from collections import Counter
from itertools import combinations, islice, pairwise, permutations, product
from random import Random

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flagfall.errors import UsageError
from flagfall.tournament.formats.adaptive import Adaptive
from flagfall.tournament.formats.fixed_rounds import Benchmark, Gauntlet, RoundRobin
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.formats.swiss import Bracket, Knockout, Swiss
from flagfall.tournament.model import Format, SprtRule, Stop
from flagfall.tournament.records import MatchRecord
from tests.tournament.fields import by_chance, make_plan, names, play_all, record, task, the_first_named_wins

FORMATS: list[Format] = [
    Benchmark(),
    RoundRobin(),
    Gauntlet(champions=("a1",)),
    Swiss(rounds=3),
    Knockout(replays=1),
    Adaptive(precision=50),
    Adaptive(goal="ratings", precision=50),
]
ANY_FORMAT = st.sampled_from(FORMATS)


def bracket_of(plan, records):
    return Bracket(plan, records, plan.format.replays)


def pairs_of(specs):
    return Counter(frozenset(spec.entrants) for spec in specs)


@given(ANY_FORMAT, st.integers(2, 7), st.sampled_from([1, 2]), st.integers(1, 2), st.integers(0, 99))
@settings(deadline=None, max_examples=80)
def test_the_order_in_which_matches_end_makes_no_difference(form, count, seats, repeats, seed):
    plan = make_plan(count, form, task(seats=seats, agents=names(count)), repeats=repeats)
    play = by_chance(seed)
    at_once, specs = play_all(plan, play)
    one_by_one, others = play_all(plan, play, Random(seed))
    assert at_once == one_by_one
    assert {spec.id: spec for spec in specs} == {spec.id: spec for spec in others}
    known = list(schedule(plan).walk(at_once))
    assert sorted(spec.id for spec in known) == sorted(at_once)
    assert list(schedule(plan).played(one_by_one)) == [(spec, at_once[spec.id]) for spec in known]


def test_what_was_played_is_found_without_a_walk_to_the_end_of_a_long_schedule():
    plan = make_plan(2, RoundRobin(), repeats=10**12)  # days of walking
    specs = list(islice(schedule(plan).walk({}), 5))
    records = {spec.id: record(spec, (1.0,) * len(spec.entrants)) for spec in specs}
    assert [spec for spec, _ in schedule(plan).played(records)] == specs


@given(ANY_FORMAT, st.integers(2, 6), st.integers(0, 99))
@settings(deadline=None)
def test_a_run_that_goes_on_is_the_same(form, count, seed):
    plan = make_plan(count, form, repeats=2)
    play = by_chance(seed)
    whole, specs = play_all(plan, play)
    random = Random(seed)
    kept = {spec.id: whole[spec.id] for spec in specs[: random.randint(0, len(specs))]}
    order = schedule(plan)
    while due := list(order.due(kept)):
        kept |= {due[0].id: play(due[0])}
    assert kept == whole


@given(ANY_FORMAT, st.integers(2, 7), st.integers(1, 3), st.integers(0, 9))
@settings(deadline=None, max_examples=50)
def test_sides_are_swapped_and_games_of_a_meeting_share_a_seed(form, count, repeats, seed):
    _, specs = play_all(make_plan(count, form, repeats=repeats), by_chance(seed))
    meetings: dict[str, list[tuple[str, ...]]] = {}
    seeds: dict[str, set[int]] = {}
    for spec in specs:
        meetings.setdefault(spec.meeting, []).append(spec.entrants)
        seeds.setdefault(spec.meeting, set()).add(spec.seed)
    assert all(games == [games[0], games[0][::-1]] for games in meetings.values())
    assert all(len(shared) == 1 for shared in seeds.values())
    assert len({seed for shared in seeds.values() for seed in shared}) == len(meetings)
    for agent in names(count):
        firsts = sum(spec.entrants[0] == agent for spec in specs)
        assert firsts * 2 == sum(agent in spec.entrants for spec in specs)


@pytest.mark.parametrize("form", [Benchmark(), RoundRobin()])
@given(count=st.integers(2, 8), repeats=st.integers(1, 3))
@settings(deadline=None, max_examples=20)
def test_each_pair_meets_as_often_as_promised(form, count, repeats):
    plan = make_plan(count, form, repeats=repeats)
    specs = list(schedule(plan).due({}))
    assert pairs_of(specs) == {frozenset(pair): 2 * repeats for pair in combinations(names(count), 2)}
    assert schedule(plan).total == len(specs)


@given(st.integers(2, 9))
def test_in_a_round_of_a_round_robin_nobody_plays_two(count):
    rounds: dict[int, list[str]] = {}
    for spec in schedule(make_plan(count, RoundRobin())).due({}):
        if spec.id.endswith("g0"):
            rounds.setdefault(spec.round, []).extend(spec.entrants)
    assert len(rounds) == count - 1 + count % 2
    for agents in rounds.values():
        assert len(set(agents)) == len(agents) == count - count % 2


def test_a_benchmark_has_every_agent_on_every_task_with_every_seed():
    tasks = [task("x", 1, names(3)), task("y", 1, names(2))]
    plan = make_plan(3, Benchmark(), *tasks, repeats=2)
    specs = list(schedule(plan).due({}))
    played = {(spec.entrants[0], spec.task, spec.round): spec.seed for spec in specs}
    assert len(played) == len(specs) == schedule(plan).total == 10
    for name in ("x", "y"):
        for repeat in (0, 1):
            assert len({seed for (_, t, r), seed in played.items() if (t, r) == (name, repeat)}) == 1
    assert len(set(played.values())) == 4


def test_seeds_that_are_named_are_those_of_the_matches():
    plan = make_plan(2, Benchmark(), task("x", 1, names(2)), repeats=2, seeds=(5, 9))
    assert [spec.seed for spec in schedule(plan).due({})] == [5, 5, 9, 9]


def test_another_agent_changes_no_seed_of_the_others():
    for form in (Benchmark(), RoundRobin()):
        few, more = (
            {frozenset(spec.entrants): spec.seed for spec in schedule(make_plan(count, form)).due({})}
            for count in (3, 4)
        )
        assert few.items() <= more.items()


def test_in_a_gauntlet_all_meet_the_champions_and_nobody_else():
    specs = list(schedule(make_plan(4, Gauntlet(champions=("a1", "a3")))).due({}))
    expected = [{"a0", "a1"}, {"a0", "a3"}, {"a1", "a2"}, {"a2", "a3"}]
    assert pairs_of(specs) == {frozenset(pair): 2 for pair in expected}


def test_a_game_for_three_is_played_in_every_rotation():
    plan = make_plan(4, Benchmark(), task(seats=3, agents=names(4)))
    specs = list(schedule(plan).due({}))
    assert len(specs) == schedule(plan).total == 12
    assert [spec.entrants for spec in specs[:3]] == [
        ("a0", "a1", "a2"),
        ("a1", "a2", "a0"),
        ("a2", "a0", "a1"),
    ]


def seated(count, seatings):
    """The orders of all agents in the matches of one meeting."""
    game = attrs.evolve(task(seats=count, agents=names(count)), seatings=seatings)
    plan = make_plan(count, Benchmark(), game)
    specs = list(schedule(plan).due({}))
    assert len(specs) == schedule(plan).total
    assert {spec.meeting for spec in specs} == {"r0-m0"}
    assert len({spec.seed for spec in specs}) == 1
    return [spec.entrants for spec in specs]


@pytest.mark.parametrize("count", range(2, 10))
def test_balanced_seats_have_each_agent_everywhere_and_before_each_other_one(count):
    orders = seated(count, "balanced")
    times = 1 + count % 2
    places = Counter((agent, place) for order in orders for place, agent in enumerate(order))
    neighbours = Counter(pair for order in orders for pair in pairwise(order))
    assert places == dict.fromkeys(product(names(count), range(count)), times)
    assert neighbours == dict.fromkeys(permutations(names(count), 2), times)


@pytest.mark.parametrize("count", range(2, 7))
def test_all_seatings_are_all_permutations(count):
    orders = seated(count, "all")
    assert len(orders) == len(set(orders))
    assert set(orders) == set(permutations(names(count)))


def test_games_for_many_seats_are_not_played_in_all_orders():
    with pytest.raises(UsageError, match=r"game seats 7 agents.*balanced"):
        seated(7, "all")


def test_two_seats_are_taken_alike_in_all_ways():
    assert seated(2, "cyclic") == seated(2, "balanced") == seated(2, "all") == [("a0", "a1"), ("a1", "a0")]


@given(st.integers(2, 9), st.integers(1, 8), st.integers(0, 99))
@settings(deadline=None, max_examples=80)
def test_swiss_nobody_meets_twice_while_that_can_be(count, rounds, seed):
    _, specs = play_all(make_plan(count, Swiss(rounds=rounds)), by_chance(seed))
    met = Counter(pair for pair, games in pairs_of(specs).items() for _ in range(games // 2))
    # Dirac: while each of an even number has half of the others left to meet, there is a pairing.
    early = pairs_of(spec for spec in specs if spec.round < count // 2)
    assert set(early.values()) == {2}
    assert met.total() == rounds * (count // 2)
    for number in range(rounds):
        here = [a for spec in specs if spec.round == number and spec.id.endswith("g0") for a in spec.entrants]
        assert len(set(here)) == len(here) == count - count % 2


@given(st.integers(1, 4).map(lambda half: 2 * half + 1), st.integers(1, 9), st.integers(0, 99))
@settings(deadline=None, max_examples=40)
def test_swiss_byes_go_round(count, rounds, seed):
    form = Swiss(rounds=rounds)
    plan = make_plan(count, form)
    records, _ = play_all(plan, by_chance(seed))
    table = form.table(plan, records)
    assert table.byes.total() == rounds
    if rounds <= count // 2:
        assert max(table.byes.values()) == 1


def test_swiss_the_leaders_meet_and_the_strongest_wins():
    form = Swiss()
    plan = make_plan(8, form)
    records, specs = play_all(plan, the_first_named_wins)
    assert len({spec.round for spec in specs}) == 3
    last = [spec.entrants for spec in specs if spec.round == 2]
    assert ("a0", "a1") in last or ("a0", "a2") in last
    table = form.table(plan, records)
    assert table.ranking()[0] == "a0"
    assert table.score("a0") == 3
    assert sum(table.score(name) for name in names(8)) == 12


@given(st.integers(2, 17), st.integers(0, 99), st.sampled_from([1, 2]))
@settings(deadline=None, max_examples=60)
def test_knockout_the_winner_beat_everybody_it_met(count, seed, seats):
    plan = make_plan(count, Knockout(replays=2), task(seats=seats, agents=names(count)))
    records, specs = play_all(plan, by_chance(seed, draws=0.1))
    bracket = bracket_of(plan, records)
    rounds = (count - 1).bit_length()
    assert bracket.winner is not None
    assert bracket.survived[bracket.winner] == rounds
    assert sum(survived == rounds for survived in bracket.survived.values()) == 1
    encounters = {spec.id.rpartition("-m")[0] for spec in specs}
    assert len(encounters) == count - 1
    for spec in specs:
        assert all(bracket.survived[agent] >= spec.round for agent in spec.entrants)


def test_knockout_keeps_the_best_apart_and_gives_them_the_byes():
    plan = make_plan(6, Knockout())
    records, specs = play_all(plan, the_first_named_wins)
    met = {number: {frozenset(s.entrants) for s in specs if s.round == number} for number in range(3)}
    assert met[0] == {frozenset({"a3", "a4"}), frozenset({"a2", "a5"})}
    assert met[1] == {frozenset({"a0", "a3"}), frozenset({"a1", "a2"})}
    assert met[2] == {frozenset({"a0", "a1"})}
    assert bracket_of(plan, records).winner == "a0"


def test_knockout_a_draw_is_replayed_with_other_seeds_and_then_the_seeding_decides():
    plan = make_plan(2, Knockout(replays=2))
    records, specs = play_all(plan, lambda spec: record(spec, [0.5, 0.5]))
    assert len(specs) == 6
    assert len({spec.seed for spec in specs}) == 3
    assert bracket_of(plan, records).winner == "a0"


def test_knockout_an_encounter_waits_for_its_own_agents_only():
    plan = make_plan(8, Knockout())
    order = schedule(plan)
    records = {
        spec.id: the_first_named_wins(spec)
        for spec in order.due({})
        if spec.id.startswith(("r0-p0", "r0-p1"))
    }
    rounds = Counter(spec.round for spec in order.due(records))
    assert rounds == {0: 4, 1: 2}


@pytest.mark.parametrize("form", [RoundRobin(), Swiss(rounds=5)])
def test_who_falls_again_and_again_is_withdrawn(form):
    plan = make_plan(6, form, stop=Stop(falls=2))

    def play(spec):
        if "a2" in spec.entrants:
            return record(
                spec,
                [float(a != "a2") for a in spec.entrants],
                [("late" if a == "a2" else None) for a in spec.entrants],
            )
        return the_first_named_wins(spec)

    records, specs = play_all(plan, play)
    assert {spec.round for spec in specs if "a2" in spec.entrants} == {0}
    assert {spec.round for spec in specs} == set(range(5))
    assert records == play_all(plan, play, Random(3))[0]


def test_the_first_matches_of_a_schedule_are_enough_where_the_plan_says_so():
    plan = make_plan(4, RoundRobin(), stop=Stop(matches=5))
    records, specs = play_all(plan, the_first_named_wins)
    assert len(records) == schedule(plan).total == 5
    whole = list(schedule(make_plan(4, RoundRobin())).due({}))
    assert specs == whole[:5]


@given(st.integers(0, 99), st.sampled_from([1, 2]))
@settings(deadline=None, max_examples=25)
def test_a_test_stops_at_the_same_match_in_any_order(seed, seats):
    rule = SprtRule(agents=("a0", "a1"), elo0=0, elo1=120)
    plan = make_plan(2, RoundRobin(), task(seats=seats, agents=names(2)), repeats=400, stop=Stop(sprt=rule))
    play = by_chance(seed)
    order = schedule(plan)
    in_order: dict[str, MatchRecord] = {}
    while not order.over(in_order):
        spec = next(order.due(in_order))
        in_order[spec.id] = play(spec)
    shuffled: dict[str, MatchRecord] = {}
    random = Random(seed)
    other = schedule(plan)
    while not other.over(shuffled):
        specs = list(other.due(shuffled))[:20]
        for spec in random.sample(specs, k=random.randint(1, len(specs))):
            shuffled[spec.id] = play(spec)
    assert len(in_order) < 800
    assert in_order.items() <= shuffled.items()
    first, second = order.sprt(in_order), other.sprt(shuffled)
    assert first is not None
    assert first.decision is not None
    assert first == second


def test_a_test_looks_anew_at_other_records():
    rule = SprtRule(agents=("a0", "a1"), elo0=0, elo1=200)
    plan = make_plan(2, RoundRobin(), repeats=100, stop=Stop(sprt=rule))
    order = schedule(plan)
    won = {spec.id: the_first_named_wins(spec) for spec in order.walk({})}
    lost = {
        name: attrs.evolve(r, seats=tuple(attrs.evolve(seat, score=1 - seat.score) for seat in r.seats))
        for name, r in won.items()
    }
    for records, decision in ((won, "H1"), (lost, "H0"), (won, "H1"), ({}, None)):
        state = order.sprt(records)
        assert state is not None
        assert state.decision == decision
