"""VGDL beside the original: ticks per second without observations; `vgdl_views` adds those with them.

Actions are random and a cell has 10 pixels, as in the learning track; time is the CPU time of the thread
that plays, so other programs have little influence. Public games are read from the folder `VGDL_GAMES`, or
from the one beside the repository; they are played in turn by the original, if `GVGAI_ORIGINAL` names a
checkout of it, and by flagfall. Three of our games are always measured.
"""

from __future__ import annotations

__all__ = ["SUITE"]

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.measure import Row, beside, reduced, skipped
from benchmarks.original import ABSENT, Original, original_folder
from benchmarks.suites import Group, Suite
from benchmarks.vgdl_views import viewing
from flagfall.tasks.vgdl.definition import NIL
from flagfall.tasks.vgdl.engine.compiler import compile_game
from flagfall.tasks.vgdl.engine.cycle import advance, fork, start
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.language.game_parser import load_game
from flagfall.tasks.vgdl.language.level_parser import load_level
from flagfall.tasks.vgdl.task_id import game_path

BLOCK: Final = 10
TICKS: Final = 3000
ROUNDS: Final = 5
FORKS: Final = 2000
TIMES_ORIGINAL: Final = 1.5
"""Target of the ticks, in times of those of the original's own cycle."""

PUBLIC_GAMES: Final = ("aliens", "zelda", "sokoban", "boulderdash", "frogs", "survivezombies")
OWN: Final = ("windfall", "underdig", "causeway")
PUBLIC: Final = Path(__file__).parents[2] / "shared" / "data" / "gvgai" / "games"


def games() -> Iterator[tuple[str, Path]]:
    """Yield the name and the file of every game; files of public games may be absent."""
    folder = Path(os.environ.get("VGDL_GAMES", PUBLIC))
    yield from ((name, folder / f"{name}.txt") for name in PUBLIC_GAMES)
    yield from ((name, game_path(name)) for name in OWN)


def begin(path: Path) -> Callable[[int], Play]:
    """Read and compile a game, and return a function that starts a play of its first level from a seed.

    Args:
        path: of the game.
    """
    game = compile_game(load_game(path))
    level = load_level(game.definition, path.with_name(f"{path.stem}_lvl0.txt"))
    return lambda seed: start(game, level, seed, BLOCK)


def rate(start: Callable[[int], Play], ticks: int) -> float:
    """Return ticks per second.

    Args:
        start: starts a play from a seed.
        ticks: number of ticks, in as many plays as they take.
    """
    dice, done, spent = Random(0), 0, 0.0
    while done < ticks:
        play = start(dice.getrandbits(40))
        actions = dice.choices((NIL, *play.available_actions), k=ticks - done)
        began = time.thread_time()
        for action in actions:
            advance(play, action)
            if play.over:
                break
        spent += time.thread_time() - began
        done += play.tick + 1
    return done / spent


def ticking(name: str, path: Path, scale: int) -> Iterator[Row]:
    """Measure ticks without observations, then each kind of observation.

    Args:
        name: of the game.
        path: of the game.
        scale: divides the amount of work.
    """
    folder = original_folder() if name in PUBLIC_GAMES else None
    start, ticks = begin(path), reduced(TICKS, scale)
    with ExitStack() as stack:
        theirs = stack.enter_context(Original(folder, path, scale)) if folder else None
        if theirs:
            mine, their_rate, ratio = beside(
                lambda: rate(start, ticks), lambda: theirs.rate("cycle", ticks), ROUNDS
            )
            figures = f"{their_rate:,.0f}/s", f"{ratio:.2f}", f">= {TIMES_ORIGINAL}"
            yield Row(f"{name}, raw", f"{mine:,.0f}/s", *figures)
        else:
            yield Row(f"{name}, raw", f"{max(rate(start, ticks) for _ in range(ROUNDS)):,.0f}/s")
        yield from viewing(name, start, theirs, scale)
    if name in PUBLIC_GAMES and not folder:
        yield skipped(f"{name}, the original", ABSENT)


def loading(name: str, path: Path, scale: int) -> Iterator[Row]:
    """Measure reading and compiling a game and its first level, and starting a play of it.

    Args:
        name: of the game.
        path: of the game.
        scale: divides the amount of work.
    """
    times = []
    for _ in range(reduced(ROUNDS, scale)):
        began = time.thread_time()
        begin(path)(1)
        times.append(time.thread_time() - began)
    yield Row(f"{name}, loading", f"{statistics.median(times) * 1e3:.1f} ms", target="< 20 ms")


def forking(name: str, path: Path, scale: int) -> Iterator[Row]:
    """Measure copying a play for search.

    Args:
        name: of the game.
        path: of the game.
        scale: divides the amount of work.
    """
    play = begin(path)(1)
    count = reduced(FORKS, scale)
    began = time.thread_time()
    for _ in range(count):
        fork(play)
    spent = (time.thread_time() - began) / count
    yield Row(f"{name}, fork", f"{spent * 1e6:.0f} µs", target="< 100 µs" if name == "zelda" else "")


def _groups() -> Iterator[tuple[str, Group]]:
    for name, path in games():
        if path.exists():
            for part in (ticking, loading, forking):
                yield f"{part.__name__} {name}", partial(part, name, path)
        else:
            yield name, partial(_absent, path)


def absent_game(path: Path) -> str:
    """Return why the rows of a public game are skipped.

    Args:
        path: of the game.
    """
    return f"there is no {path}: name a folder of the public games as VGDL_GAMES"


def _absent(path: Path, _scale: int) -> Iterator[Row]:
    yield skipped(f"{path.stem}, all rows", absent_game(path))


SUITE = Suite("VGDL and the original, one thread", dict(_groups()))
