"""Numbers of the original's single-player games (`-gameId`), and the names of their files.

The list is the public program's (`tracks.singleLearning.utils.JavaServer`). Numbers 64 and 65 are spelled
here like their files; the program spells them with a capital letter, and finds no file on most systems.
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
"""Names in the order of their numbers, from 0."""

_FOLDER: Final = Path("examples", "gridphysics")
"""Folder of the games within the one given by `-gamesDir` and `-serverDir`."""


def game_file(number: int, folder: Path) -> str:
    """Return the file of a game.

    Args:
        number: number of the game, as for `-gameId`.
        folder: has `examples/gridphysics`, as for `-gamesDir`, or the files themselves.

    Raises:
        UsageError: there is no game with that number.
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
