"""The intervals that standings print contain the true value as often as they say, and wrong ones do not."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest

from benchmarks import interval_coverage
from benchmarks.interval_coverage import DRAWS, SUITE
from flagfall.tournament.stats.elo import rate_duels
from flagfall.tournament.stats.intervals import Estimate

SCALE = 20
CHANCE = 4 * math.sqrt(0.05 * 0.95 / (DRAWS / SCALE))
"""Four standard deviations of a share of so many draws."""


def missed(group, draws=DRAWS // SCALE):
    """Return the rows out of 0.93 to 0.97, or below 0.93, by more than chance."""
    rows = [row for row in SUITE.groups[group](DRAWS // draws) if math.isfinite(row.number)]
    assert rows
    return {
        row.name: row.number
        for row in rows
        if "too few" not in row.value.split(",")[0]
        and (row.number < 0.93 - CHANCE or (row.number > 0.97 + CHANCE and "≥" not in row.target))
    }


@pytest.mark.release
@pytest.mark.parametrize("group", SUITE.groups)
def test_intervals_cover_as_often_as_they_say(group):
    assert missed(group) == {}


@pytest.mark.release
def test_the_bounds_notice_a_normal_distribution_in_place_of_the_right_one(monkeypatch):
    def plain(groups, *_):
        mean = sum(group.mean() for group in groups) / len(groups)
        error = math.sqrt(sum(group.var(ddof=1) / len(group) for group in groups)) / len(groups)
        return Estimate(value=mean, quantile=lambda level: mean + (1.96 if level > 0.5 else -1.96) * error)

    monkeypatch.setattr(interval_coverage, "unbounded_mean", plain)
    monkeypatch.setattr(interval_coverage, "bounded_mean", plain)
    wrong = {**missed("rewards"), **missed("scores")}
    assert "rewards, normal, 4 repeats" in wrong
    assert "share solved, p = 0.9, 10 repeats" in wrong
    assert "difference of scores, 3 tasks, 3 repeats" in wrong


@pytest.mark.release
def test_the_bounds_notice_elo_whose_games_count_one_by_one(monkeypatch):
    def of_games(names, duels, anchor=None):
        games = np.arange(len(duels.meeting))
        return rate_duels(names, attrs.evolve(duels, meeting=games), anchor)

    monkeypatch.setattr(interval_coverage, "rate_duels", of_games)
    monkeypatch.setattr(interval_coverage, "REPEATS", (30,))
    assert "Elo, 8 agents, equal games, 30 repeats" in missed("elo", draws=200)
