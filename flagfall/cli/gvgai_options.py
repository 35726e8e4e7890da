"""Options that several commands of `flagfall gvgai` share, and how tracks are shown."""

from __future__ import annotations

__all__ = ["Rules", "TrackOptions", "print_figures", "write_json"]

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from flagfall.errors import UsageError
from flagfall.timing.units import format_duration, parse_duration

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from flagfall.gvgai.figures import GameFigures, TrackFigures
    from flagfall.gvgai.tracks import TrackTimes
    from flagfall.tasks.vgdl.track import TrackRules

Rules = Literal["gvgai-document", "gvgai-2017"]

_CURVE_PARTS = 10
"""Rows that a training curve is shown in."""


@Parameter(name="*")
@dataclass
class TrackOptions:
    """What a track may be told.

    Attributes:
        rules: `gvgai-document`: the competition's document. `gvgai-2017`: the program published for it.
        training: Time for training, such as `30s`; by default the rules': 10m, or 5m.
        games: Train on so many games at most.
        rounds: Validate so often; by default 1, or 10.
        time_control: Such as `"gvgai-document act=80ms/1s"`; its `total` is the time for training.
    """

    rules: Rules = "gvgai-document"
    training: str | None = None
    games: int | None = None
    rounds: int | None = None
    time_control: str | None = None

    def read(self, think: str | None = None) -> tuple[TrackTimes, TrackRules]:
        """The times and the rules that were meant.

        Args:
            think: what each act takes on the virtual clock.

        Raises:
            UsageError: something cannot be.
        """
        from flagfall.gvgai.tracks import TrackTimes
        from flagfall.tasks.vgdl.track import TrackRules

        rules = TrackRules.named(self.rules, games=self.games, rounds=self.rounds)
        return TrackTimes.of(
            rules, self.time_control, _duration("--training", self.training), _duration("--think", think) or 0
        )


def _duration(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_duration(text)
    except UsageError as error:
        raise UsageError(f"{option} {error}") from None


Seed = Annotated[int, Parameter(name=["--seed", "-s"])]
Agents = Annotated[list[str], Parameter(name=["--agent", "-a"], consume_multiple=True, negative="")]


def print_figures(figures: TrackFigures) -> None:
    """Print a track: by level, by phase, and the curve of the training."""
    from flagfall.cli.output import duration, harmless, number, print_table, table

    levels = table("phase", "level", numbers=("games", "wins", "losses", "mean score", "best", "mean ticks"))
    for row in figures.levels:
        levels.add_row(
            row.phase,
            str(row.level),
            *map(number, (row.games, row.wins, row.losses, row.score, row.best, row.ticks)),
        )
    print_table(levels)
    phases = table("phase", numbers=("games", "wins", "turns", "late", "illegal", "time", "thinking"))
    for phase in figures.phases:
        phases.add_row(
            phase.phase,
            *map(number, (phase.games, phase.wins, phase.turns, phase.late, phase.illegal)),
            duration(phase.elapsed_ns),
            duration(phase.think_ns),
        )
    print_table(phases)
    curve = table("training until", numbers=("games", "wins", "mean score", "mean ticks"))
    for part in _parts(figures.of("training")):
        wins, score, ticks = (_mean(values) for values in zip(*map(_point, part), strict=True))
        until = format_duration(part[-1].at_ns // 1_000_000 * 1_000_000)
        curve.add_row(until, *map(number, (len(part), wins * len(part), score, ticks)))
    print_table(curve)
    if figures.disqualified:
        print(f"disqualified: {figures.disqualified}: {harmless(figures.detail).strip()}")


def _point(game: GameFigures) -> tuple[float, float, float]:
    return (float(game.won), game.score, float(game.ticks))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _parts(games: Sequence[GameFigures]) -> list[Sequence[GameFigures]]:
    """The training in parts of nearly as many games each."""
    count = min(_CURVE_PARTS, len(games))
    bounds = [len(games) * part // count for part in range(count + 1)] if count else []
    return [games[start:end] for start, end in pairwise(bounds)]


def write_json(path: Path, value: Any) -> None:
    """Leave a value in a file, as JSON."""
    from flagfall.cli.files import replacing

    with replacing(path) as file:
        json.dump(value, file, indent=2)
        file.write("\n")
