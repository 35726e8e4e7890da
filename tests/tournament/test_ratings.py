import math
import os
import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tournament.plain_standings import RatedDuel, ends, rate

STRENGTHS = {"a": -160.0, "b": -40.0, "c": 0.0, "d": 60.0, "e": 140.0}
TOURNAMENTS = 200


def simulated(random, repeats, draws=0.0, sides=1):
    """A round robin of agents of known strengths; `draws`: how many of the most that there could be."""
    duels = []
    pairs = [(one, other) for one in STRENGTHS for other in STRENGTHS if one < other]
    for meeting, (one, other) in enumerate(pairs * repeats):
        expected = 1 / (1 + 10 ** ((STRENGTHS[other] - STRENGTHS[one]) / 400))
        drawn = draws * 2 * min(expected, 1 - expected)
        luck = random.random()
        score = 1.0 if luck < expected - drawn / 2 else 0.5 if luck < expected + drawn / 2 else 0.0
        duels += [RatedDuel(one, other, score, meeting)] * sides
    return duels


@pytest.mark.parametrize(
    ("draws", "sides"), [(0.0, 1), (0.7, 1), (0.0, 2)], ids=["wins", "draws", "games that depend"]
)
def test_intervals_cover_known_strengths_at_their_rate(draws, sides):
    """Of 200 intervals at 95 %, 190 cover, give or take four standard deviations of the binomial (3.1)."""
    random = np.random.default_rng(2)
    covered = dict.fromkeys(STRENGTHS, 0)
    for _ in range(TOURNAMENTS):
        elo = rate(simulated(random, 20, draws, sides)).elo
        for name, strength in STRENGTHS.items():
            low, high = ends(elo[name])
            covered[name] += low <= strength <= high
    assert all(178 <= count < TOURNAMENTS for count in covered.values()), covered


def test_estimates_are_not_biased():
    random = np.random.default_rng(3)
    found = [rate(simulated(random, 40)).elo for _ in range(60)]
    for name, strength in STRENGTHS.items():
        mean = sum(elo[name].value for elo in found) / len(found)
        assert abs(mean - strength) < 12  # an estimate has a standard error of 35, their mean one of 4.5


@given(st.integers(1, 300), st.integers(0, 300), st.integers(1, 300))
@settings(deadline=None)
def test_two_players_have_the_closed_form(wins, draws, losses):
    scores = [1.0] * wins + [0.5] * draws + [0.0] * losses
    elo = rate([RatedDuel("a", "b", score, number) for number, score in enumerate(scores)], anchor="b").elo
    share = sum(scores) / len(scores)
    assert elo["a"].value == pytest.approx(-400 * math.log10(1 / share - 1), abs=1e-6)
    assert (elo["b"].value, elo["b"].low, elo["b"].high) == pytest.approx((0, 0, 0), abs=1e-4)
    if len(scores) >= 300 and 0.2 < share < 0.8:  # so many that the likelihood is nearly a parabola
        variance = sum((score - share) ** 2 for score in scores) / (len(scores) - 1) / len(scores)
        wide = 2 * 1.96 * 400 / math.log(10) * math.sqrt(variance) / (share * (1 - share))
        low, high = ends(elo["a"])
        assert high - low == pytest.approx(wide, rel=0.05, abs=1)


def test_games_of_a_meeting_count_as_one():
    """Each game twice, in the same meeting, tells hardly more."""
    once = simulated(np.random.default_rng(5), 10)
    one, twice = rate(once).elo["a"], rate(once + once).elo["a"]
    assert twice.value == pytest.approx(one.value)
    assert ends(twice)[1] - ends(twice)[0] == pytest.approx(ends(one)[1] - ends(one)[0], rel=0.02)


@given(st.permutations(range(40)))
@settings(deadline=None, max_examples=20)
def test_the_order_of_duels_makes_no_difference(order):
    duels = simulated(np.random.default_rng(1), 4)
    one, other = rate(duels).elo, rate([duels[place] for place in order]).elo
    for name in STRENGTHS:
        assert one[name].value == pytest.approx(other[name].value, abs=2e-6)  # rounded to 1e-6
        assert one[name].high == pytest.approx(other[name].high, abs=2e-6)


RATED = """
import sys
import numpy as np
from flagfall.tournament.stats.duels import Duels
from flagfall.tournament.stats.elo import rate_duels
random = np.random.default_rng(1)
pairs = random.permuted(np.tile(np.arange(6), (300, 1)), axis=1)[:, :2]
scores = np.array([random.integers(3) / 2 for _ in pairs])
ratings = rate_duels("012345", Duels(*pairs.T, scores, np.arange(300)), anchor=sys.argv[1])
print(sorted((name, elo.value, elo.low, elo.high) for name, elo in ratings.elo.items()))
"""


def test_another_processor_gives_the_same_elo():
    def printed(**settings: str) -> str:
        """Rate in a process whose libraries are told which instructions the processor has."""
        command = [sys.executable, "-c", RATED, "0"]
        return subprocess.check_output(command, env={**os.environ, **settings}, text=True)

    plain = printed(OPENBLAS_CORETYPE="Prescott", GLIBC_TUNABLES="glibc.cpu.hwcaps=-AVX2,-FMA")
    assert plain == printed(OPENBLAS_CORETYPE="Haswell") == printed()
    assert "-0.0" not in plain


def test_agents_that_always_draw_keep_an_interval():
    """It narrows with the number of meetings, and never to a point."""
    widths = []
    for meetings in (29, 30, 300):
        elo = rate([RatedDuel("a", "b", 0.5, number) for number in range(meetings) for _ in range(2)]).elo[
            "a"
        ]
        assert elo.value == 0
        widths.append(ends(elo)[1] - ends(elo)[0])
    assert widths[0] > widths[1] > widths[2] > 1
    assert widths[0] < 1.1 * widths[1]


def test_the_results_bound_the_undefeated_on_one_side():
    """After n wins without a loss, a true chance of a win below some bound is as good as excluded."""
    lows = []
    for games in (12, 50):
        ratings = rate([RatedDuel("a", "b", 1.0, number) for number in range(games)], anchor="b")
        assert ratings.unbounded == {"a"}
        assert ratings.elo["a"].high is None
        assert (ratings.elo["b"].value, ratings.elo["b"].low, ratings.elo["b"].high) == (0, 0, 0)
        low = ratings.elo["a"].low
        assert low is not None
        lows.append(1 / (1 + 10 ** (-low / 400)) ** games)
    assert all(0.01 < chance_of_no_loss < 0.1 for chance_of_no_loss in lows)
    apart = rate([RatedDuel("a", "b", 1.0, 0), RatedDuel("a", "b", 0.5, 1)])
    assert apart.unbounded == set()
    assert apart.elo["a"].lack == "too few"


def test_one_undefeated_agent_does_not_move_the_others():
    duels = simulated(np.random.default_rng(7), 4)
    more = [RatedDuel("top", name, 1.0, len(duels) + number) for number, name in enumerate(STRENGTHS)]
    alone, together = rate(duels), rate(duels + more)
    assert together.unbounded == {"top"}
    assert together.elo["top"].high is None
    for name in STRENGTHS:
        assert together.elo[name] == alone.elo[name]


def test_the_difference_of_two_agents_is_that_of_their_ratings():
    ratings = rate(simulated(np.random.default_rng(8), 30))
    apart = ratings.difference("e", "a")
    assert apart is not None
    assert apart.value == pytest.approx(ratings.elo["e"].value - ratings.elo["a"].value, abs=1e-5)
    low, high = ends(apart.interval(0.9))
    assert low < apart.value < high
    assert apart.probability_above(low) == pytest.approx(0.95, abs=1e-6)
    assert apart.probability_above(high) == pytest.approx(0.05, abs=1e-6)
    swapped = ratings.difference("a", "e")
    assert swapped is not None
    assert ends(swapped.interval(0.9)) == pytest.approx((-high, -low), abs=1e-4)
    assert rate([RatedDuel("a", "b", 1.0, 0), RatedDuel("c", "d", 1.0, 1)]).difference("a", "d") is None


def test_who_cannot_be_compared_is_rated_apart():
    duels = [RatedDuel("a", "b", 0.5, 0), RatedDuel("c", "d", 1.0, 1), RatedDuel("d", "e", 0.5, 2)]
    ratings = rate(duels, anchor="e")
    assert [set(group) for group in ratings.groups] == [{"c", "d", "e"}, {"a", "b"}]
    assert ratings.unbounded == {"c"}
    assert ratings.elo["a"].value == ratings.elo["b"].value == 0
    assert ratings.elo["e"].value == 0


def test_nobody_is_rated_without_duels():
    assert rate([]).elo == {}


def finished(random):
    """The agents in the order in which they finish, by the model of Plackett and Luce.

    The least of exponential times, at rates that are the strengths, wins.
    """
    times = {name: random.exponential(10 ** (-strength / 400)) for name, strength in STRENGTHS.items()}
    return sorted(times, key=times.__getitem__)


def test_pairs_of_games_for_five_are_rated_with_intervals_that_cover():
    """As for duels; all pairs of a game depend on each other, and so do the two games of a meeting."""
    random = np.random.default_rng(4)
    covered, sums = dict.fromkeys(STRENGTHS, 0), dict.fromkeys(STRENGTHS, 0.0)
    for _ in range(TOURNAMENTS):
        orders = [finished(random) for _ in range(60)]
        duels = [
            RatedDuel(one, other, 1.0, meeting)
            for meeting, order in enumerate(orders)
            for one, other in [*combinations(order, 2)] * 2
        ]
        for name, elo in rate(duels).elo.items():
            low, high = ends(elo)
            covered[name] += low <= STRENGTHS[name] <= high
            sums[name] += elo.value
    assert all(178 <= count < TOURNAMENTS for count in covered.values()), covered
    assert all(abs(sums[name] / TOURNAMENTS - strength) < 12 for name, strength in STRENGTHS.items())


@given(
    st.lists(
        st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef"), st.sampled_from([0.0, 0.5, 1.0])),
        max_size=40,
    )
)
@settings(deadline=None, max_examples=200)
def test_everybody_scored_what_its_rating_expects(games):
    """The equations of the greatest likelihood, for any duels that have one."""
    duels = [RatedDuel(a, b, s, number) for number, (a, b, s) in enumerate(games) if a != b]
    ratings = rate(duels)
    log_odds = {name: elo.value / 400 * math.log(10) for name, elo in ratings.elo.items()}
    surprise = dict.fromkeys(log_odds, 0.0)
    for duel in duels:
        expected = 1 / (1 + math.exp(log_odds[duel.second] - log_odds[duel.first]))
        surprise[duel.first] += duel.score - expected
        surprise[duel.second] -= duel.score - expected
    for group in ratings.groups:
        if ratings.unbounded.isdisjoint(group):
            assert sum(log_odds[name] for name in group) == pytest.approx(0, abs=1e-7)
            assert all(surprise[name] == pytest.approx(0, abs=1e-7) for name in group)
        for name in group:
            low, high = ratings.elo[name].low, ratings.elo[name].high
            assert low is None or low <= ratings.elo[name].value
            assert high is None or high >= ratings.elo[name].value
