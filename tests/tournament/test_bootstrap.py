import math

import numpy as np
import pytest

from flagfall.tournament.stats.intervals import bootstrap_mean, wilson


def test_the_same_seed_gives_the_same_interval():
    values = [[0.0, 1.0, 1.0, 0.5], [1.0, 0.0]]
    one = bootstrap_mean(values, 3)
    assert one == bootstrap_mean(values, 3)
    many = [number**0.5 for number in range(40)]
    assert bootstrap_mean([many], 3) != bootstrap_mean([many], 4)
    assert one.value == pytest.approx((0.625 + 0.5) / 2)


def test_of_one_value_nobody_can_tell():
    assert bootstrap_mean([[0.3]], 0).low is None
    assert bootstrap_mean([[0.3, 0.4], [0.5]], 0).high is None
    assert bootstrap_mean([[0.3, 0.4]], 0, resamples=0).low is None


def test_a_share_of_all_or_nothing_has_an_interval():
    all_of_three = wilson(1.0, 3)
    assert (all_of_three.low, all_of_three.high) == pytest.approx((3 / (3 + 1.959964**2), 1.0))
    none_of_three = wilson(0.0, 3)
    assert none_of_three.high == pytest.approx(1 - 3 / (3 + 1.959964**2))


def test_of_many_values_it_is_that_of_the_normal_distribution():
    values = np.random.default_rng(1).normal(5, 2, size=3000)
    interval = bootstrap_mean([values.tolist()], 1)
    wide = 1.96 * values.std(ddof=1) / math.sqrt(3000)
    assert interval.high is not None
    assert interval.low is not None
    assert interval.high - interval.value == pytest.approx(wide, rel=0.08)
    assert interval.value - interval.low == pytest.approx(wide, rel=0.08)


def test_intervals_cover_at_about_their_rate():
    """The percentiles of 20 values are a little narrow: 93 to 94 of 100 are known for 95."""
    random = np.random.default_rng(6)
    covered = 0
    for number in range(300):
        groups = [random.binomial(4, 0.6, size=20) / 4, random.binomial(4, 0.2, size=20) / 4]
        interval = bootstrap_mean([group.tolist() for group in groups], number, resamples=500)
        assert interval.low is not None
        assert interval.high is not None
        covered += interval.low <= 0.4 <= interval.high
    assert 268 <= covered <= 297
