"""Ratings of games for more than two seats, by openskill (`pip install 'flagfall[ratings]'`).

The model is that of Plackett and Luce, as in R. C. Weng and C.-J. Lin ("A Bayesian approximation
method for online ranking", 2011). Games are taken in the order of the schedule, so the order in which they
ended does not matter.
"""

from __future__ import annotations

__all__ = ["Skill", "rate_skills"]

from collections.abc import Iterable, Mapping
from typing import Any

import attrs


@attrs.frozen
class Skill:
    """Skill of an agent; it starts at 25 with a sigma of 25 / 3.

    Attributes:
        mu: the estimate.
        sigma: its standard deviation.
    """

    mu: float = attrs.field(converter=float)
    sigma: float = attrs.field(converter=float)


def rate_skills(tables: Iterable[Mapping[str, float]]) -> dict[str, Skill]:
    """Rate every agent of some games.

    Args:
        tables: the score of each agent, game by game; equal scores share a rank.

    Returns:
        By agent.

    Raises:
        ImportError: openskill is not installed.
    """
    from openskill.models import PlackettLuce  # noqa: PLC0415 - an extra

    model = PlackettLuce()
    ratings: dict[str, Any] = {}
    for table in tables:
        for name in table:
            ratings.setdefault(name, model.rating(name=name))
        best = sorted(set(table.values()), reverse=True)
        teams = [[ratings[name]] for name in table]
        rated = model.rate(teams, ranks=[float(best.index(score)) for score in table.values()])
        for name, (rating,) in zip(table, rated, strict=True):
            ratings[name] = rating
    return {name: Skill(rating.mu, rating.sigma) for name, rating in ratings.items()}
