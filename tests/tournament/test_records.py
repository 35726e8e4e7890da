import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagfall.tournament.records import (
    MatchRecord,
    SeatRecord,
    TimeHistogram,
    seat_scores,
    without_time_losses,
)


@pytest.mark.parametrize(
    ("rewards", "fell", "expected"),
    [
        ((1, -1), (None, None), (1, 0)),
        ((0, 0), (None, None), (0.5, 0.5)),
        ((1, -1), ("crashed", None), (0, 1)),
        ((1, -1), ("crashed", "late"), (0, 0)),
        ((3, 2, 1), (None, None, None), (1, 0.5, 0)),
        ((3, 3, 1), (None, None, None), (0.75, 0.75, 0)),
        ((9, 2, 1), ("late", None, None), (0, 1, 0.5)),
    ],
)
def test_seats_of_one_match_are_compared_by_reward_and_the_fallen_lose(rewards, fell, expected):
    assert seat_scores("result", rewards, fell, solved=0, tasks=1) == expected


def test_one_seat_scores_by_the_measure_of_its_task():
    assert seat_scores("result", [7.0], [None], solved=3, tasks=4) == (0.75,)
    assert seat_scores("result", [7.0], [None], solved=0, tasks=0) == (0.0,)
    assert seat_scores("result", [7.0], ["crashed"], solved=1, tasks=1) == (0.0,)
    assert seat_scores("reward", [7.0], [None], solved=3, tasks=4) == (7.0,)


def test_matches_with_a_time_loss_can_be_left_out():
    records = {
        why: MatchRecord(id=why, seats=(SeatRecord(agent="a", score=0, fell=why or None),))
        for why in ("", "late", "crashed")
    }
    assert list(without_time_losses(records)) == ["", "crashed"]


@given(st.lists(st.integers(0, 10**13), min_size=1, max_size=60), st.floats(0.01, 1))
def test_quantiles_of_think_times_are_right_but_for_a_part_in_32(times, share):
    counted = TimeHistogram()
    for spent in times:
        counted.add(spent)
    exact = sorted(times)[math.ceil(share * len(times)) - 1]
    assert exact <= counted.quantile_ns(share) <= exact + exact / 32 + 1
    assert counted.total == len(times)


@given(st.lists(st.integers(0, 10**12)), st.lists(st.integers(0, 10**12)))
def test_think_times_of_matches_add_up(first, second):
    together, one, other = TimeHistogram(), TimeHistogram(), TimeHistogram()
    for spent in first:
        one.add(spent)
        together.add(spent)
    for spent in second:
        other.add(spent)
        together.add(spent)
    one.update(other.pairs())
    assert one.pairs() == together.pairs() == TimeHistogram(together.pairs()).pairs()


def test_nothing_counted_has_no_quantile():
    assert TimeHistogram().quantile_ns(0.5) == 0
