"""VGDL: ticks a second, random actions, block size 10; the engine alone, and each way to see every tick.

The baseline of a way to see is the same way without memory: each state, text or picture is made anew. The
games are three of those that come with flagfall; or, with `VGDL_GAMES=FOLDER`, public ones in that folder, to
which the targets belong.
"""

from __future__ import annotations

__all__ = ["main"]

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final, TypeAlias

from benchmarks.measure import Row, beside, show
from flagfall.tasks.vgdl.actions import NIL
from flagfall.tasks.vgdl.observation import Observer
from flagfall.tasks.vgdl.picture import Painter
from flagfall.tasks.vgdl.planes import PlanesView
from flagfall.tasks.vgdl.play import Play
from flagfall.tasks.vgdl.state_json import StateWriter
from flagfall.tasks.vgdl.task_id import TaskId
from flagfall.tasks.vgdl.vgdl_task import VgdlTask

See: TypeAlias = Callable[[], Any]

OWN: Final = ("windfall", "underdig", "causeway")
STATE_TARGETS: Final = {
    "aliens": 6_900,
    "zelda": 10_200,
    "sokoban": 5_900,
    "boulderdash": 2_700,
    "frogs": 2_500,
    "survivezombies": 3_300,
}
JSON_TARGET: Final = 1_350
_PLAY_TICKS: Final = 500


def _nothing(_play: Play) -> See:
    return lambda: None


def _state(play: Play) -> See:
    return Observer(play).observe


def _json(play: Play) -> See:
    observer, writer = Observer(play), StateWriter()
    return lambda: writer.write(observer.observe(), "ACT").encode()


def _planes(play: Play) -> See:
    observer, view = Observer(play), PlanesView(play.game.definition, play.width, play.height)
    return lambda: view.view(observer.observe())


def _image(play: Play) -> See:
    return Painter(play).paint


WAYS: Final = {"raw": _nothing, "state": _state, "JSON": _json, "planes": _planes, "image": _image}


def rate(task: VgdlTask, way: Callable[[Play], See], ticks: int, *, anew: bool = False) -> float:
    """Ticks a second; what is done once for each play is counted, too."""
    dice = Random(0)
    played, spent = 0, 0.0
    while played < ticks:
        task.reset(dice.getrandbits(40))
        play = task.play
        actions = dice.choices((NIL, *play.available_actions), k=_PLAY_TICKS)
        began = time.perf_counter()
        see = way(play)
        for action in actions:
            (way(play) if anew else see)()
            play.advance(action)
            if play.over:
                break
        spent += time.perf_counter() - began
        played += play.tick + 1
    return played / spent


def rows(scale: int, only: str) -> Iterator[Row]:
    """A row for each game and way to see."""
    folder = os.environ.get("VGDL_GAMES")
    files = {name: str(Path(folder or "") / f"{name}.txt") for name in STATE_TARGETS}
    games = files if folder else {name: name for name in OWN}
    for name, game in games.items():
        task = VgdlTask.of(TaskId(game))
        for what, way in WAYS.items():
            if only in f"{name} {what}":
                yield _row(task, name, what, way, scale)


def _row(task: VgdlTask, name: str, what: str, way: Callable[[Play], See], scale: int) -> Row:
    targets = {"state": STATE_TARGETS.get(name), "JSON": JSON_TARGET if name in STATE_TARGETS else None}
    target = targets.get(what)
    ticks = 4_000 // scale
    if way is _nothing:
        return Row(f"{name}, {what}", f"{max(rate(task, way, ticks) for _ in range(5)):,.0f}/s")
    mine, theirs, ratio = beside(
        lambda: rate(task, way, ticks), lambda: rate(task, way, max(200, ticks // 10), anew=True)
    )
    return Row(
        f"{name}, {what}",
        f"{mine:,.0f}/s",
        f"{theirs:,.0f}/s",
        f"{ratio:.1f}",
        "" if target is None else f">= {target:,}/s",
    )


def main(*, quick: bool = False, only: str = "") -> None:
    """Print the table of this suite.

    Args:
        quick: do a tenth of the work.
        only: leave out the rows whose name does not contain this text.
    """
    show("VGDL, ticks a second of one process", rows(10 if quick else 1, only))
