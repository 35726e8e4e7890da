"""Every agent on every game: ranked on each, with points across them.

On a game, agents are ranked by what they did in validation: more wins, then the higher score, then fewer
ticks. Equals share a place and its points. An agent that was disqualified comes last, and gets none. Across
games the points count, as in Formula One; of equal sums the one with more first places is ahead, then the
one with more second places, and so on.
"""

from __future__ import annotations

__all__ = ["POINTS", "Contest", "GameRanking", "Placing", "Standing"]

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs

from flagfall.tasks.vgdl.learning_track import VALIDATION

if TYPE_CHECKING:
    from flagfall.gvgai.track_statistics import TrackFigures

POINTS: Final = (25, 18, 15, 12, 10, 8, 6, 4, 2, 1)
"""What the places are worth, the first one first."""

_T = TypeVar("_T")


@attrs.frozen
class Placing:
    """One agent on one game.

    Attributes:
        agent: its name.
        place: from 1; equals share one.
        points: for it.
        wins, score, ticks: the sums of its validation.
        games: so many games of it were played.
        disqualified: why it fell, if it did.
    """

    agent: str
    place: int
    points: int
    wins: int
    score: float
    ticks: int
    games: int
    disqualified: str = ""


@attrs.frozen
class GameRanking:
    """All agents on one game, the best first."""

    game: str
    placings: tuple[Placing, ...]


@attrs.frozen
class Standing:
    """One agent across all games.

    Attributes:
        agent: its name.
        place: from 1; equals share one.
        points: the sum.
        places: on each game, in the order of the games.
        wins: on all games together.
        disqualified: on so many games.
    """

    agent: str
    place: int
    points: int
    places: tuple[int, ...]
    wins: int
    disqualified: int


class Contest:
    """What was played of a contest so far.

    Args:
        agents: their names, in the order in which they were given.
    """

    def __init__(self, agents: Sequence[str]) -> None:
        self._agents = tuple(agents)
        self._figures: dict[str, dict[str, TrackFigures]] = {}

    def add(self, game: str, agent: str, figures: TrackFigures) -> None:
        """An agent has played a game."""
        self._figures.setdefault(game, {})[agent] = figures

    @property
    def rankings(self) -> tuple[GameRanking, ...]:
        """Game by game."""
        return tuple(GameRanking(game, _placed(played)) for game, played in self._figures.items())

    @property
    def standings(self) -> tuple[Standing, ...]:
        """Across all games, the best first."""
        mine: dict[str, list[Placing]] = {agent: [] for agent in self._agents}
        for ranking in self.rankings:
            for placing in ranking.placings:
                mine[placing.agent].append(placing)
        return tuple(
            Standing(
                agent=agent,
                place=place,
                points=sum(placing.points for placing in mine[agent]),
                places=tuple(placing.place for placing in mine[agent]),
                wins=sum(placing.wins for placing in mine[agent]),
                disqualified=sum(bool(placing.disqualified) for placing in mine[agent]),
            )
            for place, agent in _ranked(self._agents, lambda agent: _standing_key(mine[agent]))
        )

    def as_data(self) -> dict[str, Any]:
        """All of it in plain numbers and words."""
        return {
            "standings": [attrs.asdict(standing) for standing in self.standings],
            "rankings": [attrs.asdict(ranking) for ranking in self.rankings],
        }


def _placed(played: Mapping[str, TrackFigures]) -> tuple[Placing, ...]:
    placings = []
    for place, agent in _ranked(played, lambda agent: _game_key(played[agent])):
        figures = played[agent]
        games = figures.of(VALIDATION)
        worth = POINTS[place - 1] if place <= len(POINTS) and not figures.disqualified else 0
        placings.append(
            Placing(
                agent=agent,
                place=place,
                points=worth,
                wins=sum(game.won for game in games),
                score=sum(game.score for game in games),
                ticks=sum(game.ticks for game in games),
                games=len(games),
                disqualified=figures.disqualified,
            )
        )
    return tuple(placings)


def _game_key(figures: TrackFigures) -> tuple[float, ...]:
    """Smaller is better."""
    games = figures.of(VALIDATION)
    if figures.disqualified:
        return (1,)
    return (
        0,
        -sum(game.won for game in games),
        -sum(game.score for game in games),
        sum(game.ticks for game in games),
    )


def _standing_key(placings: Sequence[Placing]) -> tuple[int, ...]:
    """Smaller is better."""
    counted = [placing.place for placing in placings if placing.points]
    return (-sum(p.points for p in placings), *[-counted.count(n) for n in range(1, len(POINTS) + 1)])


def _ranked(who: Iterable[_T], key: Callable[[_T], Any]) -> list[tuple[int, _T]]:
    """Everybody with a place, the best first; equals share one, and the next comes after all of them."""
    ranked: list[tuple[int, _T]] = []
    for _, equals in groupby(sorted(who, key=key), key):
        place = len(ranked) + 1
        ranked += [(place, one) for one in equals]
    return ranked
