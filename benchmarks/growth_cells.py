"""Growth with the cells of a VGDL level, in which the same few sprites move."""

from __future__ import annotations

__all__ = ["cells"]

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from benchmarks.curves import curve, sizes_up_to
from benchmarks.measure import Row
from benchmarks.vgdl import begin
from benchmarks.vgdl_views import planes_view
from flagfall.tasks.vgdl.definition import NIL
from flagfall.tasks.vgdl.engine.cycle import advance
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.views.observer import Observer

See: TypeAlias = Callable[[], Any]

CELLS: Final = (10, 50, 250, 1_000, 5_000, 25_000, 250_000)
SECONDS: Final = 0.5
"""CPU time of the ticks that are measured at each size."""

LEAST_TICKS: Final = 5
MOST_TICKS: Final = 1_900
"""A play of the learning track has 2,000 ticks."""

ROUNDS: Final = 3

WALKERS: Final = "Arrrr"
HUNTER: Final = "A...h"
"""First cells of a level."""

GAME: Final = """
BasicGame
    SpriteSet
        walker > RandomNPC speed=1
        hunter > PathChaser stype=hero
        hero > MovingAvatar
    LevelMapping
        . >
        r > walker
        h > hunter
        A > hero
    InteractionSet
        walker EOS wall > stepBack
        hero EOS wall > stepBack
    TerminationSet
        Timeout limit=100000000 win=False
"""


def _nothing(_play: Play) -> See:
    return lambda: None


def _state(play: Play) -> See:
    return Observer(play).observe


def _planes(play: Play) -> See:
    return planes_view(play)(play)


def _level(count: int, first: str) -> str:
    """Return a level of some cells: the first ones, and empty ground."""
    height = max(size for size in range(1, int(count**0.5) + 1) if count % size == 0)
    ground = first.ljust(count, ".")
    width = count // height
    return "\n".join(ground[row * width : (row + 1) * width] for row in range(height))


def _start(count: int, first: str = WALKERS) -> Play:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "field.txt"
        path.write_text(GAME)
        path.with_name("field_lvl0.txt").write_text(_level(count, first))
        return begin(path)(1)


WAYS: Final = {"tick": _nothing, "tick with state": _state, "tick with planes": _planes}


def _tick_us(way: Callable[[Play], See], seconds: float, count: int) -> float:
    """Return the CPU time of a tick with an observation, in microseconds."""
    spent = []
    for _ in range(ROUNDS):
        play = _start(count)
        see = way(play)
        see()
        advance(play, NIL)
        ticks = 0
        began = time.thread_time()
        while ticks < LEAST_TICKS or (ticks < MOST_TICKS and time.thread_time() - began < seconds):
            see()
            advance(play, NIL)
            ticks += 1
        spent.append((time.thread_time() - began) / ticks * 1e6)
        assert not play.over
    return min(spent)


def _chase_us(count: int) -> float:
    """Return the CPU time of a first tick in which a sprite finds the way to a near goal, in microseconds."""
    spent = []
    for _ in range(ROUNDS):
        play = _start(count, HUNTER)
        began = time.thread_time()
        advance(play, NIL)
        spent.append((time.thread_time() - began) * 1e6)
    return min(spent)


def _load_us(count: int) -> float:
    """Return the CPU time to read a level and start a play of it, in microseconds for each of its cells."""
    spent = []
    for _ in range(ROUNDS):
        began = time.thread_time()
        _start(count)
        spent.append((time.thread_time() - began) / count * 1e6)
    return min(spent)


def cells(scale: int) -> Iterator[Row]:
    """Measure ticks of a level, without observation and with each kind that agents get; and its start.

    Args:
        scale: divides the amount of work.
    """
    sizes = sizes_up_to(CELLS, scale)
    for name, way in WAYS.items():
        yield from curve(name, "µs", sizes, partial(_tick_us, way, SECONDS / scale))
    yield from curve("first tick of a path chaser", "µs", sizes, _chase_us)
    yield from curve("loading a cell", "µs", sizes, _load_us)
