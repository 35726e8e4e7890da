"""Ranks and points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagfall.gvgai.contest import POINTS, Contest
from flagfall.gvgai.track_statistics import GameFigures, TrackFigures


def game(winner: int, score: float, ticks: int, phase: str = "validation") -> GameFigures:
    return GameFigures(
        phase=phase,
        level=3,
        winner=winner,
        score=score,
        ticks=ticks,
        ended="finished",
        at_ns=0,
        elapsed_ns=0,
        think_ns=0,
        turns=ticks + 1,
        late=0,
        illegal=0,
    )


def figures(*games: GameFigures, out: str = "") -> TrackFigures:
    return TrackFigures(games, disqualified=out)


def places(**played: TrackFigures) -> dict[str, tuple[int, int]]:
    contest = Contest(list(played))
    for agent, what in played.items():
        contest.add("a game", agent, what)
    return {placing.agent: (placing.place, placing.points) for placing in contest.rankings[0].placings}


def test_wins_come_before_score_and_score_before_ticks():
    assert places(
        slow=figures(game(1, 5, 90), game(0, 9, 10)),
        quick=figures(game(1, 5, 80), game(0, 9, 10)),
        rich=figures(game(0, 500, 5), game(0, 500, 5)),
        winner=figures(game(1, 0, 999), game(1, 0, 999)),
        poor=figures(game(1, 4, 10), game(0, 9, 10)),
    ) == {"winner": (1, 25), "quick": (2, 18), "slow": (3, 15), "poor": (4, 12), "rich": (5, 10)}


def test_training_counts_for_nothing():
    trained = figures(game(1, 99, 1, phase="training"), game(0, 1, 9))
    assert places(a=trained, b=figures(game(0, 2, 9))) == {"b": (1, 25), "a": (2, 18)}


def test_equals_share_a_place_and_its_points():
    same = figures(game(1, 5, 9))
    assert places(a=same, b=same, c=figures(game(0, 5, 9))) == {"a": (1, 25), "b": (1, 25), "c": (3, 15)}


def test_disqualified_agents_come_last_and_get_nothing():
    out = figures(game(1, 500, 1), out="late")
    assert places(a=out, b=figures(game(0, -5, 999)), c=figures(out="gone")) == {
        "b": (1, 25),
        "a": (2, 0),
        "c": (2, 0),
    }


def test_eleventh_gets_nothing():
    played = {f"a{n}": figures(game(0, -n, 1)) for n in range(12)}
    assert [points for _, points in places(**played).values()] == [*POINTS, 0, 0]


def contest_of(results: Mapping[str, Sequence[float]]) -> Contest:
    """By agent, its score on each game."""
    contest = Contest(list(results))
    for agent, scores in results.items():
        for number, score in enumerate(scores):
            contest.add(f"game {number}", agent, figures(game(0, score, 1)))
    return contest


def test_points_add_up_across_games():
    standings = contest_of({"a": [3, 1, 1], "b": [2, 2, 2], "c": [1, 3, 0]}).standings
    assert [(s.agent, s.place, s.points, s.places) for s in standings] == [
        ("b", 1, 18 + 18 + 25, (2, 2, 1)),
        ("a", 2, 25 + 15 + 18, (1, 3, 2)),
        ("c", 3, 15 + 25 + 15, (3, 1, 3)),
    ]


def test_of_equal_sums_more_first_places_are_ahead():
    places = {"even": (3, 3, 3), "b": (2, 1, 2), "c": (4, 2, 4), "d": (5, 4, 1), "first": (1, 5, 5)}
    standings = contest_of(
        {agent: [-float(place) for place in each] for agent, each in places.items()}
    ).standings
    found = {standing.agent: (standing.points, standing.place) for standing in standings}
    assert found["first"] == (45, 3)
    assert found["even"] == (45, 4)


def test_equal_in_everything_share_the_place():
    standings = contest_of({"a": [2, 1], "b": [1, 2], "c": [0, 0]}).standings
    assert [(s.agent, s.place) for s in standings] == [("a", 1), ("b", 1), ("c", 3)]


@given(
    st.dictionaries(
        st.sampled_from("abcdefgh"), st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1
    )
)
def test_standings_hold_everybody_once_in_order(results):
    standings = contest_of(results).standings
    assert sorted(s.agent for s in standings) == sorted(results)
    assert [s.points for s in standings] == sorted((s.points for s in standings), reverse=True)
    assert [s.place for s in standings] == sorted(s.place for s in standings)
    assert standings[0].place == 1


@pytest.mark.parametrize("count", [1, 2, 10])
def test_everybody_equal_shares_the_first_place(count):
    standings = contest_of({f"a{n}": [1.0, 1.0] for n in range(count)}).standings
    assert {(s.place, s.points) for s in standings} == {(1, 50)}
