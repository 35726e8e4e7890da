"""Coverage: how often the intervals that flagfall prints contain the true value, by simulation.

Each draw takes a true value at random, plays, and computes the interval as the standings do. The true shares
are uniform from 0.02 to 0.98, for no interval of few trials covers equally often at each of them; strengths
are normal with a standard deviation in Elo.
"""

from __future__ import annotations

__all__ = ["SUITE"]

import math
from collections.abc import Callable, Iterator
from statistics import median
from typing import Final, TypeAlias

import numpy as np

from benchmarks.measure import Row, reduced
from benchmarks.suites import Suite, by_name
from flagfall.recording.think_times import ThinkTimes
from flagfall.timing import TimeControl
from flagfall.tournament.columns import Array
from flagfall.tournament.limits import curve_of
from flagfall.tournament.stats.duels import ELO_SCALE, Duels
from flagfall.tournament.stats.elo import rate_duels
from flagfall.tournament.stats.intervals import (
    Interval,
    bounded_mean,
    independent_difference,
    unbounded_mean,
)

DRAWS: Final = 20_000
GOOD: Final = "0.93 to 0.97, or too few"
AT_LEAST: Final = "≥ 0.93"
REPEATS: Final = (3, 5, 10, 30)

Draw: TypeAlias = Callable[[np.random.Generator], list[tuple[float, Interval]]]
"""Plays once, and returns intervals with the true values."""


def _row(name: str, draw: Draw, draws: int, target: str = GOOD) -> Row:
    """Return the share of intervals that contain the true value, of those that are printed."""
    random = np.random.default_rng(list(name.encode()))
    found: list[tuple[float, Interval]] = []
    while len(found) < draws:
        found += draw(random)
    printed = [(true, one) for true, one in found if not one.lack]
    covered = [
        (-math.inf if one.low is None else one.low) <= true <= (math.inf if one.high is None else one.high)
        for true, one in printed
    ]
    if not covered:
        return Row(name, "0 printed: too few", target=target)
    widths = [one.high - one.low for _, one in printed if one.low is not None and one.high is not None]
    text = f"{sum(covered) / len(covered):.3f}"
    if widths:
        text += f", ±{float(f'{median(widths) / 2:.2g}'):g}"
    if len(printed) < 0.995 * len(found):
        text += f", {1 - len(printed) / len(found):.0%} too few"
    return Row(name, text, target=target)


def _shares(random: np.random.Generator, tasks: int) -> Array:
    return random.uniform(0.02, 0.98, (tasks, 1))


def _of_shares(play: Callable[[np.random.Generator, Array, int], Array], tasks: int, repeats: int) -> Draw:
    """Return draws of the mean of some tasks, each with its own true share.

    Args:
        play: returns the scores of the repeats by the true shares.
    """

    def draw(random: np.random.Generator) -> list[tuple[float, Interval]]:
        shares = _shares(random, tasks)
        return [(float(shares.mean()), bounded_mean([*play(random, shares, repeats)]).interval())]

    return draw


def _solved(random: np.random.Generator, shares: Array, repeats: int) -> Array:
    return (random.random((len(shares), repeats)) < shares).astype(float)


def _of_ten(random: np.random.Generator, shares: Array, repeats: int) -> Array:
    return random.binomial(10, shares, (len(shares), repeats)) / 10


def _drawn(random: np.random.Generator, shares: Array, repeats: int) -> Array:
    """Return scores of a game, half as often drawn as could be."""
    luck, drawn = random.random((len(shares), repeats)), 0.5 * np.minimum(shares, 1 - shares)
    return np.where(luck < shares - drawn, 1.0, np.where(luck < shares + drawn, 0.5, 0.0))


def _both_sides(random: np.random.Generator, shares: Array, repeats: int) -> Array:
    return (_solved(random, shares, repeats) + _solved(random, shares, repeats)) / 2


def scores(scale: int) -> Iterator[Row]:
    """Yield rows of shares and scores: a task of the task table, and an agent's score over several tasks."""
    draws = reduced(DRAWS, scale)
    kinds = {"share solved": _solved, "share of ten solved": _of_ten, "games with draws": _drawn}
    kinds["both sides of a game"] = _both_sides
    for kind, play in kinds.items():
        for repeats in REPEATS:
            yield _row(f"{kind}, {repeats} repeats", _of_shares(play, 1, repeats), draws)
    for repeats in REPEATS:
        at = _fixed(0.9, repeats)
        yield _row(f"share solved, p = 0.9, {repeats} repeats", at, draws, AT_LEAST)
    for tasks, some in ((3, REPEATS), (10, (3, 10)), (20, (2,))):
        for kind, play in (("solved", _solved), ("both sides", _both_sides)):
            for repeats in some:
                name = f"score, {tasks} tasks, {repeats} repeats, {kind}"
                yield _row(name, _of_shares(play, tasks, repeats), draws)
    for tasks in REPEATS:
        yield _row(f"score beyond {tasks} tasks, 3 repeats", _beyond(tasks), draws)
    for repeats in REPEATS:
        yield _row(f"difference of scores, 3 tasks, {repeats} repeats", _paired(3, repeats), draws)
        yield _row(
            f"difference of two tournaments, share solved, {repeats} repeats", _unpaired(repeats), draws
        )


def _fixed(share: float, repeats: int) -> Draw:
    shares = np.array([[share]])
    return lambda random: [(share, bounded_mean([*_solved(random, shares, repeats)]).interval())]


def _beyond(tasks: int) -> Draw:
    """Return draws of the mean of all tasks from a sample of them."""

    def draw(random: np.random.Generator) -> list[tuple[float, Interval]]:
        mean = random.uniform(0.1, 0.9)
        shares = random.beta(4 * mean, 4 * (1 - mean), (tasks, 1))
        return [(mean, bounded_mean([_solved(random, shares, 3).mean(axis=1)]).interval())]

    return draw


def _paired(tasks: int, repeats: int) -> Draw:
    """Return draws of two agents that meet the same seeds: what is hard for one is hard for the other."""

    def draw(random: np.random.Generator) -> list[tuple[float, Interval]]:
        one, other = _shares(random, tasks), _shares(random, tasks)
        luck = random.random((tasks, repeats))
        differences = (luck < one).astype(float) - (luck < other)
        return [(float((one - other).mean()), bounded_mean([*differences], -1.0, 1.0).interval())]

    return draw


def _unpaired(repeats: int) -> Draw:
    """Return draws of the share that an agent solves in two tournaments, which differ."""

    def draw(random: np.random.Generator) -> list[tuple[float, Interval]]:
        shares = _shares(random, 2)
        one, other = (bounded_mean([played]).interval() for played in _solved(random, shares, repeats))
        return [(float(shares[0, 0] - shares[1, 0]), independent_difference(one, other))]

    return draw


_REWARDS: Final[dict[str, tuple[float, Callable[[np.random.Generator, int], Array]]]] = {
    "normal": (0.0, lambda random, count: random.normal(0, 1, count)),
    "exponential": (1.0, lambda random, count: random.exponential(1, count)),
    "gamma of shape 3": (3.0, lambda random, count: random.gamma(3, 1, count)),
    "Poisson of mean 5": (5.0, lambda random, count: random.poisson(5, count).astype(float)),
}


def rewards(scale: int) -> Iterator[Row]:
    """Yield rows of rewards, symmetric and skewed."""
    draws = reduced(DRAWS, scale)
    for kind, (mean, play) in _REWARDS.items():
        for repeats in (3, 4, 5, 10, 30):
            yield _row(f"rewards, {kind}, {repeats} repeats", _of_rewards(mean, play, repeats), draws)
            draw = _of_reward_differences(mean, play, repeats)
            yield _row(
                f"difference of two tournaments, {kind} rewards, {repeats} repeats", draw, draws, AT_LEAST
            )
    for repeats in (10, 30):
        mean, play = 0.7, lambda random, count: (random.random(count) < 0.7) * 1.0
        yield _row(
            f"rewards, 0 or 1, p = 0.7, {repeats} repeats", _of_rewards(mean, play, repeats), draws, AT_LEAST
        )


def _of_reward_differences(
    mean: float, play: Callable[[np.random.Generator, int], Array], repeats: int
) -> Draw:
    """Return draws of the difference of rewards in two tournaments; the second's are twice as large."""

    def draw(random: np.random.Generator) -> list[tuple[float, Interval]]:
        one, other = (unbounded_mean([by * play(random, repeats)]).interval() for by in (1.0, 2.0))
        return [(-mean, independent_difference(one, other))]

    return draw


def _of_rewards(mean: float, play: Callable[[np.random.Generator, int], Array], repeats: int) -> Draw:
    return lambda random: [(mean, unbounded_mean([play(random, repeats)]).interval())]


def _duels(random: np.random.Generator, strengths: Array, repeats: int, kind: str) -> Duels:
    """Return the duels of a round robin, or of agents that play alone with the same seeds.

    Args:
        kind: `two games`, `draws`, `equal games` (the same result from both sides) or `alone`.
    """
    size = len(strengths)
    first, second = np.triu_indices(size, 1)
    if kind == "alone":  # Gumbel's distribution: each pair follows the model, and depends on the others
        luck = strengths + random.gumbel(size=(repeats, size))
        meeting = np.repeat(np.arange(repeats), len(first))
        score = (luck[:, first] > luck[:, second]).ravel()
        return Duels(np.tile(first, repeats), np.tile(second, repeats), score * 1.0, meeting)
    first, second = np.tile(first, repeats), np.tile(second, repeats)
    chance = 1 / (1 + np.exp(strengths[second] - strengths[first]))
    luck = random.random((2, len(first)))
    if kind == "equal games":
        luck[1] = luck[0]
    drawn = 0.7 * np.minimum(chance, 1 - chance) if kind == "draws" else 0.0
    score = np.where(luck < chance - drawn, 1.0, np.where(luck < chance + drawn, 0.5, 0.0))
    meeting = np.tile(np.arange(len(first)), 2)
    order = np.argsort(meeting, kind="stable")
    return Duels(np.tile(first, 2)[order], np.tile(second, 2)[order], score.ravel()[order], meeting[order])


def _of_elo(agents: int, repeats: int, kind: str, spread: float) -> Draw:
    """Return draws of the Elo of each agent, relative to the mean of those whose Elo has two bounds."""
    names = [str(number) for number in range(agents)]

    def draw(random: np.random.Generator) -> list[tuple[float, Interval]]:
        strengths = random.normal(0, spread / ELO_SCALE, agents)
        ratings = rate_duels(names, _duels(random, strengths, repeats, kind))
        rated = [place for place, name in enumerate(names) if name not in ratings.unbounded]
        base = strengths[rated or slice(None)].mean()
        return [((strengths[int(name)] - base) * ELO_SCALE, one) for name, one in ratings.elo.items()]

    return draw


def _of_a_gap(gap: float, repeats: int) -> Draw:
    """Return draws of the Elo of an agent, with the other one as the anchor."""
    strengths = np.array([gap / ELO_SCALE, 0.0])

    def draw(random: np.random.Generator) -> list[tuple[float, Interval]]:
        ratings = rate_duels(["a", "b"], _duels(random, strengths, repeats, "two games"), anchor="b")
        return [(gap, ratings.elo["a"])]

    return draw


def _of_differences(repeats: int) -> Draw:
    """Return draws of the difference of the first two of eight agents."""
    names = [str(number) for number in range(8)]

    def draw(random: np.random.Generator) -> list[tuple[float, Interval]]:
        strengths = random.normal(0, 150 / ELO_SCALE, len(names))
        found = rate_duels(names, _duels(random, strengths, repeats, "draws")).difference("0", "1")
        assert found is not None
        return [((strengths[0] - strengths[1]) * ELO_SCALE, found.interval())]

    return draw


def _of_changes(repeats: int) -> Draw:
    """Return draws of the change of the Elo of each of eight agents between two tournaments."""
    names = [str(number) for number in range(8)]

    def draw(random: np.random.Generator) -> list[tuple[float, Interval]]:
        both = random.normal(0, 150 / ELO_SCALE, (2, len(names)))
        fits = [rate_duels(names, _duels(random, strengths, repeats, "draws")) for strengths in both]
        among = [name for name in names if not any(name in fit.unbounded for fit in fits)]
        places = [int(name) for name in among]
        true = (both - both[:, places].mean(axis=1, keepdims=True)) * ELO_SCALE
        found = [[fit.difference(name, *among) for fit in fits] for name in names]
        return [
            (true[0, place] - true[1, place], independent_difference(one.interval(), other.interval()))
            for place, (one, other) in enumerate(found)
            if one is not None and other is not None
        ]

    return draw


_FIELDS: Final = (
    ("8 agents, two games", 8, "two games", 150.0),
    ("8 agents, draws", 8, "draws", 150.0),
    ("8 agents, equal games", 8, "equal games", 150.0),
    ("8 agents alone", 8, "alone", 150.0),
    ("4 agents, two games", 4, "two games", 150.0),
    ("2 agents, two games", 2, "two games", 150.0),
    ("a wide field", 8, "two games", 600.0),
)


def elo(scale: int) -> Iterator[Row]:
    """Yield rows of Elo, also with draws, and with games of a meeting that depend on each other."""
    draws = reduced(DRAWS, scale)
    for name, agents, kind, spread in _FIELDS:
        for repeats in REPEATS:
            draw = _of_elo(agents, repeats, kind, spread)
            yield _row(f"Elo, {name}, {repeats} repeats", draw, draws, AT_LEAST if "wide" in name else GOOD)
    for gap in (400, 1600):
        yield _row(f"Elo, a gap of {gap}, 30 repeats", _of_a_gap(gap, 30), draws, AT_LEAST)
    for repeats in REPEATS:
        yield _row(f"difference of Elo, {repeats} repeats", _of_differences(repeats), draws)
        yield _row(f"difference of two tournaments, Elo, {repeats} repeats", _of_changes(repeats), draws)


def _thinking(random: np.random.Generator, matches: int, turns: int, spread: float) -> ThinkTimes:
    """Return think times with a median of 20 ms, of which those of some matches are longer."""
    factors = np.exp(spread * random.normal(size=(matches, 1)))
    times = 20e6 * factors * random.lognormal(0, 0.8, (matches, turns))
    return ThinkTimes.joined(enumerate(map(ThinkTimes.drawn, times.astype(np.int64))))


def _of_limits(matches: int, turns: int, spread: float, lost: float, many_matches: int) -> Draw:
    """Return draws of the smallest limit of a turn at which a share of the turns is lost.

    Args:
        many_matches: number of matches of 400 turns that give the true value.
    """
    many = _thinking(np.random.default_rng(0), many_matches, 400, spread)
    true = _advised(many, lost).value

    def draw(random: np.random.Generator) -> list[tuple[float, Interval]]:
        return [(true, _advised(_thinking(random, matches, turns, spread), lost))]

    return draw


def _advised(thinking: ThinkTimes, lost: float) -> Interval:
    curve = curve_of("", TimeControl(), thinking, (), lost=lost)
    assert curve is not None
    found = curve.advice
    low, high = (None if ns is None else ns / 1e6 for ns in (found.low_ns, found.high_ns))
    return Interval(found.act_ns / 1e6, low, high, lack="too few" if low is None else "")


def limits(scale: int) -> Iterator[Row]:
    """Yield rows of the limits in ms that `flagfall what-if --advise` prints."""
    draws, many_matches = reduced(DRAWS // 20, scale), reduced(8_000, scale, 800)
    for lost, matches, turns in ((0.01, 20, 100), (0.01, 40, 500), (0.001, 40, 500)):
        for spread, kind in ((0.0, "independent turns"), (0.3, "matches that differ")):
            name = f"limit that loses {lost:g}, {matches} matches of {turns} turns, {kind}"
            yield _row(name, _of_limits(matches, turns, spread, lost, many_matches), draws, AT_LEAST)


SUITE: Final = Suite("statistics: coverage of 95 % intervals", by_name(scores, rewards, elo, limits))
