"""Formula One scoring: places on each task, and points across tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagfall.errors import UsageError
from flagfall.tournament.formats.fixed_rounds import Benchmark
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.plan.parser import parse_plan
from flagfall.tournament.records import MatchRecord, SeatRecord
from flagfall.tournament.scoring import POINTS, PointsRow, TaskRanking, total_points
from flagfall.tournament.standings import compute_standings
from flagfall.tournament.task_tables import rank_tasks
from tests.tournament.fields import make_plan, task


@attrs.frozen
class Result:
    """Validation of one agent on one game."""

    wins: int = 0
    score: float = 0.0
    ticks: int = 1
    games: int = 2
    out: str | None = None


def played(results: Mapping[str, Sequence[Result]]) -> tuple[TournamentPlan, dict[str, MatchRecord]]:
    """By agent, its result on each game."""
    (count,) = {len(each) for each in results.values()}
    names = tuple(results)
    tasks = [task(f"game {number}", seats=1, agents=names) for number in range(count)]
    plan = make_plan(len(names), Benchmark(), *tasks, scoring="formula-one")
    agents = tuple(attrs.evolve(agent, name=name) for agent, name in zip(plan.agents, names, strict=True))
    plan = attrs.evolve(plan, agents=agents)
    records = {}
    for spec in schedule(plan).walk({}):
        result = results[spec.entrants[0]][int(spec.task.removeprefix("game "))]
        share = result.wins / result.games if result.out is None else 0.0
        records[spec.id] = MatchRecord(
            id=spec.id,
            seats=(SeatRecord(agent=spec.entrants[0], score=share, fell=result.out),),
            solved=result.wins,
            tasks=result.games,
            game_score=result.score,
            ticks=result.ticks,
        )
    return plan, records


def rankings_of(results: Mapping[str, Sequence[Result]]) -> tuple[TaskRanking, ...]:
    plan, records = played(results)
    return rank_tasks(plan, records)


def places(**results: Result) -> dict[str, tuple[int, int]]:
    (ranking,) = rankings_of({agent: [result] for agent, result in results.items()})
    return {placing.agent: (placing.place, placing.points) for placing in ranking.placings}


def totals(results: Mapping[str, Sequence[float]]) -> tuple[PointsRow, ...]:
    """By agent, its score on each game."""
    made = {agent: [Result(score=score) for score in scores] for agent, scores in results.items()}
    return total_points(results, rankings_of(made))


def test_wins_come_before_score_and_score_before_ticks():
    assert places(
        slow=Result(1, 14, 100),
        quick=Result(1, 14, 90),
        rich=Result(0, 1000, 10),
        winner=Result(2, 0, 1998),
        poor=Result(1, 13, 20),
    ) == {"winner": (1, 25), "quick": (2, 18), "slow": (3, 15), "poor": (4, 12), "rich": (5, 10)}


def test_equal_agents_share_a_place_and_its_points():
    same = Result(1, 5, 9)
    assert places(a=same, b=same, c=Result(0, 5, 9)) == {"a": (1, 25), "b": (1, 25), "c": (3, 15)}


def test_disqualified_agents_come_last_and_get_nothing():
    assert places(a=Result(1, 500, 1, out="late"), b=Result(0, -5, 999), c=Result(out="gone")) == {
        "b": (1, 25),
        "a": (2, 0),
        "c": (2, 0),
    }


def test_eleventh_gets_nothing():
    results = {f"a{n}": Result(0, -n, 1) for n in range(12)}
    assert [points for _, points in places(**results).values()] == [*POINTS, 0, 0]


def test_points_add_up_across_games():
    rows = totals({"a": [3, 1, 1], "b": [2, 2, 2], "c": [1, 3, 0]})
    assert [(row.agent, row.place, row.points, row.places) for row in rows] == [
        ("b", 1, 18 + 18 + 25, (2, 2, 1)),
        ("a", 2, 25 + 15 + 18, (1, 3, 2)),
        ("c", 3, 15 + 25 + 15, (3, 1, 3)),
    ]


EVEN = {"even": (3, 3, 3), "b": (2, 1, 2), "c": (4, 2, 4), "d": (5, 4, 1), "first": (1, 5, 5)}


def test_of_equal_sums_more_first_places_are_ahead():
    rows = totals({agent: [-float(place) for place in each] for agent, each in EVEN.items()})
    found = {row.agent: (row.points, row.place) for row in rows}
    assert found["first"] == (45, 3)
    assert found["even"] == (45, 4)


def test_equal_in_everything_share_the_place():
    rows = totals({"a": [2, 1], "b": [1, 2], "c": [0, 0]})
    assert [(row.agent, row.place) for row in rows] == [("a", 1), ("b", 1), ("c", 3)]


@given(
    st.dictionaries(
        st.sampled_from("abcdefgh"), st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1
    )
)
def test_totals_hold_every_agent_once_in_order(results):
    rows = totals(results)
    assert sorted(row.agent for row in rows) == sorted(results)
    assert [row.points for row in rows] == sorted((row.points for row in rows), reverse=True)
    assert [row.place for row in rows] == sorted(row.place for row in rows)
    assert rows[0].place == 1


@pytest.mark.parametrize("count", [1, 2, 10])
def test_equal_agents_share_the_first_place(count):
    rows = totals({f"a{n}": [1.0, 1.0] for n in range(count)})
    assert {(row.place, row.points) for row in rows} == {(1, 50)}


def test_standings_of_a_plan_rank_by_points():
    results = {agent: [Result(score=-float(place)) for place in each] for agent, each in EVEN.items()}
    plan, records = played(results)
    rows = compute_standings(plan, records).rows
    expected = totals({agent: [-float(place) for place in each] for agent, each in EVEN.items()})
    assert [(row.agent, row.points, row.place) for row in rows] == [
        (row.agent, row.points, row.place) for row in expected
    ]
    by_elo = compute_standings(attrs.evolve(plan, scoring="ratings"), records).rows
    assert {row.points for row in by_elo} == {None}


def test_a_plan_takes_the_scoring_where_its_format_leaves_it_open():
    text = "scoring = 'formula-one'\nformat = 'FORMAT'\n[[agents]]\nspec = 'random'\n"
    text += "[[agents]]\nspec = 'silent'\n[[tasks]]\ntask = 'micro1'\nsteps = 9\n"
    assert parse_plan(text.replace("FORMAT", "benchmark")).scoring == "formula-one"
    with pytest.raises(UsageError, match="the format swiss ranks agents by its own rule: leave scoring out"):
        parse_plan(text.replace("FORMAT", "swiss"))
    with pytest.raises(UsageError, match="unknown value 'formula-1'; nearest: formula-one"):
        parse_plan(text.replace("FORMAT", "benchmark").replace("formula-one", "formula-1"))
