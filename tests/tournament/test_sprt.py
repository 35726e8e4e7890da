import math

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flagfall.tournament.model import SprtRule
from flagfall.tournament.stats.duels import (
    NORMALIZED_SCALE,
    expected_score,
    log_likelihood_ratio,
    sprt_bounds,
    sprt_state,
)

TESTS = 300
RULE = SprtRule(agents=("new", "old"), elo1=60.0, beta=0.1)


def test_bounds_are_those_of_wald():
    assert sprt_bounds(0.05, 0.05) == pytest.approx((-math.log(19), math.log(19)))


def test_of_wins_and_losses_it_is_the_ratio_of_binomial_likelihoods():
    p0, p1 = expected_score(0), expected_score(100)
    exact = 30 * math.log(p1 / p0) + 12 * math.log((1 - p1) / (1 - p0))
    assert log_likelihood_ratio({0.0: 12, 1.0: 30}, 0, 100) == pytest.approx(exact, abs=1e-9)


def test_swapping_agents_and_hypotheses_turns_the_sign():
    counts = {0.0: 3, 0.25: 9, 0.5: 30, 0.75: 14, 1.0: 5}
    mirrored = {1 - outcome: count for outcome, count in counts.items()}
    assert log_likelihood_ratio(counts, -5, 20) == pytest.approx(-log_likelihood_ratio(mirrored, -20, 5))


def test_the_approximation_by_mean_and_variance_is_near():
    """For small differences LLR is (s1 - s0)(2 m - s0 - s1) n / (2 v), as engine testers have it."""
    counts = {0.0: 210, 0.25: 1100, 0.5: 2400, 0.75: 1210, 1.0: 260}
    n = sum(counts.values())
    mean = sum(a * c for a, c in counts.items()) / n
    variance = sum((a - mean) ** 2 * c for a, c in counts.items()) / n
    s0, s1 = expected_score(0), expected_score(10)
    near = (s1 - s0) * (2 * mean - s0 - s1) * n / (2 * variance)
    assert log_likelihood_ratio(counts, 0, 10) == pytest.approx(near, rel=0.02)


def test_nothing_seen_says_nothing():
    state = sprt_state({0.0: 0, 0.5: 0, 1.0: 0}, RULE)
    assert (state.llr, state.decision) == (0.0, None)


def test_decisions_are_at_the_bounds():
    assert sprt_state({0.0: 0, 0.5: 0, 1.0: 60}, RULE).decision == "H1"
    assert sprt_state({0.0: 60, 0.5: 0, 1.0: 0}, RULE).decision == "H0"
    assert sprt_state({0.0: 10, 0.5: 0, 1.0: 10}, RULE).decision is None


# A test by fishtest of 256 games of engines, with its figures, which are rounded:
# https://montytest.muzhen.org/tests/stats/69d3c8dc7c5b3724e29d2712
FISHTEST = {0.0: 13, 0.25: 37, 0.5: 50, 0.75: 25, 1.0: 3}


def test_the_ratios_are_those_of_fishtest():
    assert log_likelihood_ratio(FISHTEST, 0, 4, "normalized") == pytest.approx(-0.54912, abs=6e-6)
    assert log_likelihood_ratio(FISHTEST, 0, 2.716, "logistic") == pytest.approx(-0.53772, abs=6e-5)


@given(
    st.lists(st.integers(0, 10**6), min_size=3, max_size=5).filter(lambda one: len(one) != 4 and any(one)),
    st.floats(-4000, 4000),
    st.floats(-4000, 4000),
)
@settings(max_examples=50)
def test_of_any_outcomes_and_hypotheses_there_is_a_normalized_ratio(seen, elo0, elo1):
    outcomes = [place / (len(seen) - 1) for place in range(len(seen))]
    counts, mirrored = (dict(zip(outcomes, some, strict=True)) for some in (seen, seen[::-1]))
    llr = log_likelihood_ratio(counts, elo0, elo1, "normalized")
    assert math.isfinite(llr)
    assert log_likelihood_ratio(mirrored, -elo1, -elo0, "normalized") == pytest.approx(-llr, abs=1e-6)


def accepted(random, share, outcomes, rule):
    """What tests of an agent that scores `share` decide: how often H1, and after how many meetings."""
    ones = 0
    meetings = 0
    for _ in range(TESTS):
        counts = dict.fromkeys(outcomes, 0)
        while True:
            for _ in range(4):  # looking after every fourth meeting spares time, and can only err less
                counts[draw(random, share, outcomes)] += 1
                meetings += 1
            decision = sprt_state(counts, rule).decision
            if decision is not None:
                ones += decision == "H1"
                break
    return ones, meetings / TESTS


def draw(random, share, outcomes):
    """One meeting: as many games as there are steps between outcomes, half of whose points are drawn."""
    games = (len(outcomes) - 1) // 2
    halves = random.binomial(2 * games, share)
    return outcomes[halves]


@pytest.mark.parametrize("model", ["logistic", "normalized"])
@pytest.mark.parametrize("outcomes", [(0.0, 0.5, 1.0), (0.0, 0.25, 0.5, 0.75, 1.0)], ids=["single", "pairs"])
def test_error_rates_are_kept(outcomes, model):
    """Wrong decisions in 300 tests: at most the rate, and four standard deviations of the binomial."""
    share = expected_score(RULE.elo1)
    # Halves of points are drawn, so the variance of a game is s (1 - s) / 2.
    normalized = (share - 0.5) / math.sqrt(share * (1 - share) / 2) * NORMALIZED_SCALE
    rule = attrs.evolve(RULE, elo1=normalized, model=model) if model == "normalized" else RULE
    random = np.random.default_rng(11)
    wrong_h1, meetings = accepted(random, 0.5, outcomes, rule)
    right_h1, _ = accepted(random, share, outcomes, rule)
    for wrong, rate in ((wrong_h1, RULE.alpha), (TESTS - right_h1, RULE.beta)):
        assert wrong <= TESTS * rate + 4 * math.sqrt(TESTS * rate * (1 - rate))
        assert wrong > 0
    # A test of fixed length with these errors needs n = ((z_a + z_b) sd / (s1 - s0))^2 meetings.
    fixed = ((1.645 + 1.282) / (share - 0.5)) ** 2 * 0.125 / ((len(outcomes) - 1) // 2)
    assert meetings < fixed


def test_normalized_hypotheses_take_as_many_meetings_however_often_games_are_drawn():
    """With a tenth of the variance, the same normalized Elo is decided as fast, and the same Elo faster."""
    meetings = {}
    for drawn in (0.0, 0.9):
        random = np.random.default_rng(5)
        for model in ("logistic", "normalized"):
            found = []
            for _ in range(40):
                counts = {0.0: 0, 0.5: 0, 1.0: 0}
                while sprt_state(counts, attrs.evolve(RULE, model=model)).decision is None:
                    for _ in range(4):
                        draw = random.random() < drawn
                        counts[0.5 if draw else float(random.integers(2))] += 1
                found.append(sum(counts.values()))
            meetings[model, drawn] = sum(found) / len(found)
    assert 0.6 < meetings["normalized", 0.9] / meetings["normalized", 0.0] < 1.6
    assert meetings["logistic", 0.9] < meetings["logistic", 0.0] / 4
