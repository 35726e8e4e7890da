"""Numbers of the original's single-player games (`-gameId`), as names of their files. Pure.

The list is the public program's (`tracks.singleLearning.utils.JavaServer`). Numbers 64 and 65 stand here as
their files are named; the program writes them with a capital letter, and finds no file on most systems.
"""

from __future__ import annotations

__all__ = ["GAMES", "game_file", "game_number"]

from pathlib import Path
from typing import Final

from flagfall.errors import UsageError

_NAMES: Final = """
    aliens angelsdemons assemblyline avoidgeorge bait
    beltmanager blacksmoke boloadventures bomber bomberman
    boulderchase boulderdash brainman butterflies cakybaky
    camelRace catapults chainreaction chase chipschallenge
    clusters colourescape chopper cookmepasta cops
    crossfire defem defender digdug dungeon
    eighthpassenger eggomania enemycitadel escape factorymanager
    firecaster fireman firestorms freeway frogs
    garbagecollector gymkhana hungrybirds iceandfire ikaruga
    infection intersection islands jaws killBillVol1
    labyrinth labyrinthdual lasers lasers2 lemmings
    missilecommand modality overload pacman painter
    pokemon plants plaqueattack portals racebet
    racebet2 realportals realsokoban rivers roadfighter
    roguelike run seaquest sheriff shipwreck
    sokoban solarfox superman surround survivezombies
    tercio thecitadel thesnowman waitforbreakfast watergame
    waves whackamole wildgunman witnessprotection wrapsokoban
    zelda zenpuzzle
"""

GAMES: Final = tuple(_NAMES.split())
"""The names in the order of their numbers, from 0."""

_FOLDER: Final = Path("examples", "gridphysics")
"""Folder of the games within the one that `-gamesDir` and `-serverDir` name."""


def game_file(number: int, folder: Path) -> str:
    """Return the file of a game.

    Args:
        number: the game's, as after `-gameId`.
        folder: holds `examples/gridphysics`, as after `-gamesDir`; or holds the files themselves.

    Raises:
        UsageError: there is no game of that number.
    """
    if not 0 <= number < len(GAMES):
        raise UsageError(f"game number {number}: write a number from 0 to {len(GAMES) - 1}")
    name = f"{GAMES[number]}.txt"
    inside = folder / _FOLDER
    return str((inside if inside.is_dir() else folder) / name)


def game_number(game: str, otherwise: int = 0) -> int:
    """Return the number of a game.

    Args:
        game: its name or its file.
        otherwise: for a game that the original does not number.
    """
    name = Path(game).stem
    return GAMES.index(name) if name in GAMES else otherwise
