"""The VGDL engine beside the original: ticks a second with nobody looking; loading a game; copying a play.

Actions are random, a cell has 10 pixels, as in the learning track. The original's figures are for its program
on such a machine (2 cores, one thread, after warm-up): stock, and bare, that is with its picture and log of
each tick cut out. What it costs to look is measured in the suite `vgdl`.
"""

from __future__ import annotations

__all__ = ["main"]

import statistics
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.measure import Row, show
from flagfall.tasks.vgdl.game import Game
from flagfall.tasks.vgdl.language import load_game
from flagfall.tasks.vgdl.levels import load_level

BLOCK: Final = 10
TICKS: Final = 3000
ROUNDS: Final = 5
FORKS: Final = 2000

ORIGINAL: Final[Mapping[str, tuple[int, int]]] = {
    "aliens": (3_400, 26_000),
    "zelda": (4_100, 7_100),
    "sokoban": (6_100, 108_000),
    "boulderdash": (1_600, 6_900),
    "frogs": (2_500, 35_000),
    "survivezombies": (6_600, 34_000),
}
"""Games of the original: its ticks a second, stock and bare."""

ROOT: Final = Path(__file__).parents[1]
FOLDERS: Final = (
    ROOT.parent / "shared" / "data" / "gvgai" / "games",
    ROOT / "flagfall" / "tasks" / "vgdl" / "games",
)


def games() -> Iterator[tuple[str, Path]]:
    """The original's games where they are at hand, and those that are shipped."""
    public, shipped = FOLDERS
    yield from ((name, public) for name in ORIGINAL if (public / f"{name}.txt").exists())
    names = (path.stem for path in sorted(shipped.glob("*.txt")) if "_lvl" not in path.stem)
    yield from ((name, shipped) for name in names)


def load(name: str, folder: Path) -> Game:
    """A game, read and compiled."""
    return Game(load_game(folder / f"{name}.txt"))


def rate(name: str, folder: Path, ticks: int) -> float:
    """Ticks a second of this thread's time; the middle one of several rounds, of plays one after another."""
    game = load(name, folder)
    level = load_level(game.definition, folder / f"{name}_lvl0.txt")
    chance = Random(1)
    rates = []
    for round_number in range(ROUNDS):
        done, spent, seed = 0, 0.0, 1000 * round_number
        while done < ticks:
            seed += 1
            play = game.start(level, seed, BLOCK)
            actions = chance.choices(("NIL", *play.available_actions), k=ticks - done)
            begun = time.thread_time()
            for action in actions:
                play.advance(action)
                if play.over:
                    break
            spent += time.thread_time() - begun
            done += play.tick + 1
        rates.append(done / spent)
    return statistics.median(rates)


def raw(scale: int) -> Iterator[Row]:
    """Ticks with nobody looking."""
    for name, folder in games():
        mine = rate(name, folder, TICKS // scale)
        if name in ORIGINAL:
            stock, bare = ORIGINAL[name]
            yield Row(name, f"{mine:,.0f}/s", f"{bare:,}/s", f"{mine / bare:.2f}", f">= {stock:,}/s")
        else:
            yield Row(name, f"{mine:,.0f}/s")


def loading(scale: int) -> Iterator[Row]:
    """Reading and compiling a game and its first level, and beginning a play of it."""
    del scale
    for name, folder in games():
        times = []
        for _ in range(ROUNDS):
            begun = time.thread_time()
            game = load(name, folder)
            game.start(load_level(game.definition, folder / f"{name}_lvl0.txt"), 1, BLOCK)
            times.append(time.thread_time() - begun)
        yield Row(f"{name}, loading", f"{statistics.median(times) * 1e3:.1f} ms", target="20 ms")


def forking(scale: int) -> Iterator[Row]:
    """A copy to search with."""
    for name, folder in games():
        game = load(name, folder)
        play = game.start(load_level(game.definition, folder / f"{name}_lvl0.txt"), 1, BLOCK)
        count = FORKS // scale
        begun = time.thread_time()
        for _ in range(count):
            play.fork()
        spent = (time.thread_time() - begun) / count
        yield Row(f"{name}, fork", f"{spent * 1e6:.0f} µs", target="100 µs" if name == "zelda" else "")


def main(*, quick: bool = False, only: str = "") -> None:
    """Print the table of this suite.

    Args:
        quick: do a tenth of the work.
        only: leave out the groups whose name does not contain this text.
    """
    groups = (raw, loading, forking)
    rows = (line for group in groups if only in group.__name__ for line in group(10 if quick else 1))
    show("The VGDL engine beside the original, bare", rows)
