"""Observations of VGDL games beside the ticks that they follow, and the track's JSON beside the original's.

Plays with and without observations alternate, with the same seeds and actions; the cost of an observation is
the difference. As in a match, each play has a view of its own whose first observation counts, the layout of
planes belongs to the level, and one writer of JSON serves all plays of a session.
"""

from __future__ import annotations

__all__ = ["planes_view", "viewing"]

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any, Final, TypeAlias

from benchmarks.measure import Row, beside, reduced
from benchmarks.original import Original
from flagfall.tasks.vgdl.definition import NIL
from flagfall.tasks.vgdl.engine.cycle import advance
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.rendering.painter import Painter
from flagfall.tasks.vgdl.views import planes
from flagfall.tasks.vgdl.views.observer import Observer
from flagfall.tasks.vgdl.views.planes import PlanesView
from flagfall.tasks.vgdl.views.state_json import StateWriter

See: TypeAlias = Callable[[], Any]
View: TypeAlias = Callable[[Play], See]
"""Function that returns the observation function of a play."""

TICKS: Final = 2000
ROUNDS: Final = 7
TIMES_TICK: Final = 1.5
"""Target of the cost of an observation, in times of a tick."""

JSON_TICKS: Final = 500
JSON_ROUNDS: Final = 3
TIMES_ORIGINAL: Final = 30
"""Target of the rate of ticks with JSON, in times of the original's."""


def _nothing(_play: Play) -> See:
    return lambda: None


def _state(play: Play) -> See:
    return Observer(play).observe


def _picture(play: Play) -> See:
    return Painter(play).paint


def planes_view(play: Play) -> View:
    """Return the view that makes planes of the plays of a level.

    Args:
        play: of the level.
    """
    view = PlanesView(play.game.definition, play.width, play.height)
    if not hasattr(planes, "PlanesObserver"):  # a version before: see `benchmarks.compare`
        return lambda play: partial(_planes_anew, Observer(play), view)
    return lambda play: planes.PlanesObserver(play, view).observe


def _planes_anew(observer: Observer, view: PlanesView) -> Any:
    return view.view(observer.observe())


def _json() -> View:
    writer = StateWriter()

    def see(play: Play) -> See:
        observer = Observer(play)
        return lambda: writer.write(observer.observe(), "ACT").encode()

    return see


def _cost(start: Callable[[int], Play], view: View, ticks: int) -> float:
    """Return the CPU seconds of a tick with an observation; the beginning of a play counts for the view."""
    dice = Random(0)
    done, spent = 0, 0.0
    while done < ticks:
        play = start(dice.getrandbits(40))
        actions = dice.choices((NIL, *play.available_actions), k=ticks - done)
        began = time.thread_time()
        see = view(play)
        for action in actions:
            see()
            advance(play, action)
            if play.over:
                break
        spent += time.thread_time() - began
        done += play.tick + 1
    return spent / done


def viewing(name: str, start: Callable[[int], Play], original: Original | None, scale: int) -> Iterator[Row]:
    """Measure a row for each kind of observation.

    Args:
        name: of the game.
        start: starts a play from a seed.
        original: which plays the same level; `None` for rows without a baseline.
        scale: divides the amount of work.
    """
    ticks, rounds = reduced(TICKS, scale), reduced(ROUNDS, scale, 3)
    views: dict[str, View] = {"a state": _state, "planes": planes_view(start(0)), "a picture": _picture}
    for what, view in views.items():
        pairs = [(_cost(start, _nothing, ticks), _cost(start, view, ticks)) for _ in range(rounds)]
        ratio = statistics.median(seen / bare - 1 for bare, seen in pairs)
        tick = min(bare for bare, _ in pairs)
        yield Row(
            f"{name}, cost of {what}",
            f"{ratio * tick * 1e6:.1f} µs",
            f"{tick * 1e6:.1f} µs",
            f"{ratio:.2f}",
            f"<= {TIMES_TICK} ticks",
        )
    writer, ticks = _json(), reduced(JSON_TICKS, scale)

    def rate() -> float:
        return 1 / _cost(start, writer, ticks)

    if original:
        mine, theirs, ratio = beside(rate, lambda: original.rate("json", ticks), JSON_ROUNDS)
        yield Row(
            f"{name}, JSON", f"{mine:,.0f}/s", f"{theirs:,.0f}/s", f"{ratio:.1f}", f">= {TIMES_ORIGINAL}"
        )
    else:
        yield Row(f"{name}, JSON", f"{max(rate() for _ in range(JSON_ROUNDS)):,.0f}/s")
