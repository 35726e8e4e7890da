import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from flagfall.tournament.stats.intervals import (
    Interval,
    bounded_mean,
    independent_difference,
    unbounded_mean,
)
from tests.tournament.plain_standings import ends


def test_a_share_of_one_group_has_the_interval_of_jeffreys():
    for solved, count in ((0, 3), (2, 3), (3, 3), (9, 10), (40, 100)):
        values = np.array([1.0] * solved + [0.0] * (count - solved))
        found = bounded_mean([values]).interval()
        wanted = stats.beta(solved + 0.5, count - solved + 0.5).ppf([0.025, 0.975])
        assert (found.value, found.lack) == (solved / count, "")
        assert (found.low, found.high) == pytest.approx(wanted, rel=1e-8)


def test_values_that_vary_less_than_trials_have_a_narrower_interval():
    trials, shares = np.array([0.0, 1.0] * 6), np.array([0.4, 0.6] * 6)
    one, other = bounded_mean([trials]).interval(), bounded_mean([shares]).interval()
    assert one.value == other.value == 0.5
    assert ends(one)[0] < ends(other)[0] < ends(other)[1] < ends(one)[1]


def test_values_without_skewness_have_students_interval_with_a_degree_less():
    values = np.array([-3.0, -1.0, 0.0, 1.0, 3.0])
    found = unbounded_mean([values]).interval()
    reach = stats.t(3).ppf(0.975) * values.std(ddof=1) / 5**0.5
    assert (found.low, found.high) == pytest.approx((-reach, reach), rel=1e-8)


def test_a_skewed_sample_reaches_further_on_its_long_side():
    found = unbounded_mean([np.array([0.0, 0.1, 0.2, 0.3, 0.5, 4.0])]).interval()
    low, high = ends(found)
    assert high - found.value > 2 * (found.value - low)


def test_two_different_rewards_are_a_share_between_them():
    values = np.array([-1.0] * 3 + [3.0] * 9)
    assert unbounded_mean([values]).interval() == bounded_mean([values], -1.0, 3.0).interval()


@pytest.mark.parametrize("groups", [[[0.3]], [[0.3, 0.4]], [[0.3, 0.4, 0.1], [0.5]]])
@pytest.mark.parametrize("mean_of", [bounded_mean, unbounded_mean])
def test_of_too_few_values_nobody_can_tell(groups, mean_of):
    found = mean_of([np.array(group) for group in groups])
    assert found.interval() == Interval(found.value, lack="too few")
    assert found.probability_above(0.0) is None


def test_of_two_pairs_of_rewards_the_variance_of_one_says_too_little():
    assert unbounded_mean([np.zeros(2), np.array([0.0, 1.0])]).interval() == Interval(0.25, lack="too few")


def test_equal_rewards_say_nothing_about_others():
    assert unbounded_mean([np.full(3, 7.0)]).interval().lack == "too few"
    assert unbounded_mean([np.full(100, 7.0)]).interval() == Interval(7.0, lack="all equal")
    assert unbounded_mean([np.array([1.0, 2.0, 3.0, np.inf])]).interval() == Interval(
        np.inf, lack="not finite"
    )
    low, high = ends(bounded_mean([np.full(100, 0.5)]).interval())
    assert low < 0.5 < high


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=2, max_size=6), min_size=1, max_size=4),
    st.sampled_from([bounded_mean, unbounded_mean]),
)
@example([[0.0, 0.0, 0.0, 5e-324]], unbounded_mean)
@example([[0.0, 1e-110, 2e-110, 3e-110]], unbounded_mean)
def test_every_interval_contains_its_estimate_and_agrees_with_its_probabilities(groups, mean_of):
    estimate = mean_of([np.array(group) for group in groups])
    found = estimate.interval()
    assert found.value == pytest.approx(np.mean([np.mean(group) for group in groups]))
    if found.lack:
        return
    low, high = ends(found)
    assert low <= high
    if mean_of is bounded_mean:
        assert 0 <= low < high <= 1
    if high - low > 1e-6:
        assert estimate.probability_above(low) == pytest.approx(0.975, abs=1e-4)
        assert estimate.probability_above(high) == pytest.approx(0.025, abs=1e-4)


def test_intervals_as_text():
    assert Interval(0.5, 0.25, 1.0).text(".2f") == "0.50 [0.25, 1.00]"
    assert Interval(-0.3, -1.2, 0.2).text("z.0f") == "0 [-1, 0]"
    assert Interval(600, 565).text(".0f") == ">= 565"
    assert Interval(-600, None, -565).text(".0f") == "<= -565"
    assert Interval(5, lack="too few").text("z.0f") == "5 (too few)"
    assert Interval(5).text(".0f") == "not bounded"


def test_errors_of_independent_estimates_are_added_as_legs_of_a_right_triangle():
    one, other = Interval(10.0, 7.0, 12.0), Interval(4.0, 1.0, 8.0)
    assert independent_difference(one, other) == Interval(6.0, 6.0 - 5.0, 6.0 + 13**0.5)
    swapped = independent_difference(other, one)
    assert (swapped.value, swapped.low, swapped.high) == (-6.0, -6.0 - 13**0.5, -1.0)


def test_the_difference_of_two_shares_is_near_that_of_newcombe():
    """His method 10 on 56 of 70 against 48 of 80, with Jeffreys' intervals in place of Wilson's."""
    shares = [np.array([1.0] * solved + [0.0] * (count - solved)) for solved, count in ((56, 70), (48, 80))]
    found = independent_difference(*(bounded_mean([values]).interval() for values in shares))
    assert found.value == pytest.approx(0.2)
    assert ends(found) == pytest.approx((0.0524, 0.3339), abs=0.003)


def test_a_difference_is_as_unknown_as_its_parts():
    known, open_above = Interval(1.0, 0.0, 2.0), Interval(5.0, 3.0, None)
    assert independent_difference(open_above, known) == Interval(4.0, 4.0 - 5**0.5, None)
    assert independent_difference(known, open_above) == Interval(-4.0, None, -4.0 + 5**0.5)
    assert independent_difference(open_above, open_above) == Interval(0.0)
    for unknown in (Interval(1.0, lack="too few"), Interval(1.0, lack="all equal")):
        assert independent_difference(known, unknown) == Interval(0.0, lack=unknown.lack)
        assert independent_difference(unknown, known).lack == unknown.lack
