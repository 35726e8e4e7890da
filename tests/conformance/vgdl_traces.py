"""Recorded traces of VGDL games against this engine: `python -m tests.conformance.vgdl_traces [GAME ...]`.

The recordings (spec 11) say for each tick what the original did. Every field of every tick is compared.
"""

from __future__ import annotations

__all__ = ["DATA", "FOLDERS", "Outcome", "compare", "recorded_games"]

import argparse
import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
from rich.console import Console
from rich.table import Table

from flagfall.tasks.vgdl.engine.compiler import compile_game
from flagfall.tasks.vgdl.engine.cycle import advance, start
from flagfall.tasks.vgdl.engine.serialization import changes, snapshot
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.language.game_parser import load_game
from flagfall.tasks.vgdl.language.level_parser import load_level

DATA = Path(__file__).parents[3] / "shared" / "data" / "gvgai"
FOLDERS = ("traces", "traces_played", "traces_learning")
WINNERS = {-1: "NO_WINNER", 0: "PLAYER_LOSES", 1: "PLAYER_WINS", -100: "PLAYER_DISQ"}

Line = dict[str, Any]


@attrs.frozen
class Outcome:
    """One recorded level.

    Attributes:
        game, level, folder: which.
        ticks: how many were equal.
        differs: what differs in the next one; empty where all are equal.
    """

    game: str
    level: int
    folder: str
    ticks: int
    differs: str


def recorded_games(folder: str, data: Path = DATA) -> list[str]:
    """The games that have a recording in a folder."""
    return sorted(path.name.removesuffix(".jsonl.gz") for path in (data / folder).glob("*.jsonl.gz"))


def recordings(path: Path) -> Iterator[list[Line]]:
    """The levels of a recording: header, ticks, final line."""
    with gzip.open(path, "rt") as file:
        level: list[Line] = []
        for text in file:
            line = json.loads(text)
            if "game" in line:
                level = []
            level.append(line)
            if "final" in line:
                yield level


def compare(name: str, folder: str, data: Path = DATA) -> list[Outcome]:
    """All levels of a game's recording."""
    definition = load_game(data / "games" / f"{name}.txt")
    game = compile_game(definition)
    outcomes = []
    for header, *ticks, final in recordings(data / folder / f"{name}.jsonl.gz"):
        number = header["level"]
        level = load_level(definition, data / "games" / f"{name}_lvl{number}.txt")
        play = start(game, level, header["seed"], header["block_size"])
        differs = header_difference(play, header)
        equal = 0
        if not differs:
            equal, differs = compare_play(play, header["actions"], ticks, final)
        outcomes.append(Outcome(name, number, folder, equal, differs))
    return outcomes


def header_difference(play: Play, header: Line) -> str:
    """What a header says otherwise."""
    definition = play.game.definition
    ours = {
        "width": play.width,
        "height": play.height,
        "block_size": play.block_size,
        "available": [f"ACTION_{action}" for action in play.available_actions],
        "itypes": {kind.name: kind.id for kind in play.game.kinds},
        "sprite_order": [definition.types[type_id].name for type_id in definition.order],
    }
    return first_difference(ours, {key: header[key] for key in ours})


def compare_play(play: Play, actions: Sequence[str], ticks: Sequence[Line], final: Line) -> tuple[int, str]:
    """How many ticks are equal, and what is not in the next one."""
    before: Line = {"sprites": {}}
    for equal, line in enumerate(ticks):
        if equal:
            advance(play, actions[equal - 1])
        now = snapshot(play)
        differs = first_difference(changes(before, now), line)
        if differs:
            return equal, differs
        before = now
    ours = {
        "cycles": play.tick + 1,
        "ended": play.over,
        "score_before_handleResult": play.score,
        "score": play.final_score,
        "winner": WINNERS[play.winner],
    }
    return len(ticks), first_difference(ours, {key: final[key] for key in ours})


def first_difference(ours: Line, theirs: Line) -> str:
    """The first key in which two lines differ, with both values."""
    for key in theirs.keys() | ours.keys():
        mine, other = ours.get(key), theirs.get(key)
        if isinstance(mine, dict) and isinstance(other, dict):
            inner = first_difference(mine, other)
            if inner:
                return f"{key}.{inner}"
        elif mine != other and not nearly(mine, other):
            return f"{key}: {mine}, recorded {other}"
    return ""


def nearly(mine: object, other: object) -> bool:
    """Whether two numbers are the same to the recorded decimals."""
    return isinstance(mine, float) and isinstance(other, int | float) and abs(mine - other) < 1e-4


def table(outcomes: Iterable[Outcome]) -> Table:
    """Game by level: how far each recording is equal."""
    shown = Table("recording", "level", "equal ticks", "then differs")
    for outcome in outcomes:
        shown.add_row(
            f"{outcome.game} ({outcome.folder})",
            str(outcome.level),
            str(outcome.ticks),
            outcome.differs or "-",
        )
    return shown


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("games", nargs="*", help="all that are recorded by default")
    parser.add_argument("--folder", choices=FOLDERS, action="append", help="all by default")
    parser.add_argument("--different", action="store_true", help="only what differs")
    arguments = parser.parse_args()
    outcomes: list[Outcome] = []
    for folder in arguments.folder or FOLDERS:
        for name in recorded_games(folder):
            if not arguments.games or name in arguments.games:
                outcomes += compare(name, folder)
    shown = [outcome for outcome in outcomes if outcome.differs or not arguments.different]
    console = Console(width=200)
    console.print(table(shown))
    equal = sum(not outcome.differs for outcome in outcomes)
    console.print(f"{equal} of {len(outcomes)} recorded levels are equal")


if __name__ == "__main__":
    main()
