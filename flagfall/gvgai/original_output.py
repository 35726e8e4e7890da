"""Lines that the original's server prints to its standard output, for scripts that parse them.

[GAME] Game idx:0 game name aliens
    [PHASE] Starting First Phase of Training in 3 levels.
    [TRAINING] Result (1->win; 0->lose): level:0, Player0:0, Player0-Score:62.0, timesteps:883
    [PHASE] Starting Second Phase of Training in 3 levels.
    [PHASE] Starting Validation in 2 levels.
    [VALIDATION] Result (1->win; 0->lose): level:3, Player0:1, Player0-Score:40.0, timesteps:640
    [PHASE] End Validation in 2 levels.

     --> Real execution time: 6 minutes, 8 seconds of wall time.

The last line begins with an empty one, a space and a tab. The line of a phase is printed with its first
result. As in the original, a win with a score of 0 or less is printed with the score 1, an aborted game with
the winner -1, and the game in which the agent was disqualified with the winner -100 and the score -1000.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from flagfall.errors import UsageError
from flagfall.events import Event, MatchEnded, MatchStarted, SeatDisqualified, SeatReady, TaskEnded
from flagfall.gvgai.track_statistics import WON
from flagfall.tasks.vgdl.learning_track import TRAINING, VALIDATION, TrackRules
from flagfall.tasks.vgdl.views.state_json import java_double
from flagfall.timing.durations import S

# Numbers of the original's single-player games (`-gameId`), and the names of their files.
#
# The list is the public program's (`tracks.singleLearning.utils.JavaServer`). Numbers 64 and 65 are spelled
# here like their files; the program spells them with a capital letter, and finds no file on most systems.

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


DISQUALIFIED: Final = -100
DISQUALIFIED_SCORE: Final = -1000.0
WIN_SCORE: Final = 1.0
"""Least score of a win in the printed result."""

_SECONDS_A_MINUTE: Final = 60


class OriginalOutput:
    """Sink that writes the lines of one match.

    Args:
        place: number printed for a game that has none in the original.
        write: called with each line, without its line feed; a call may have several lines.
        at_once: write each line when it is known; otherwise all of them when the match is over, so that lines
            of several matches do not mix.
    """

    def __init__(
        self,
        game: str,
        rules: TrackRules,
        write: Callable[[str], None],
        place: int = 0,
        *,
        at_once: bool = True,
    ) -> None:
        name = Path(game).stem
        number = GAMES.index(name) if name in GAMES else place
        self._game = f"[GAME] Game idx:{number} game name {name}"
        self._rules = rules
        self._write = write
        self._at_once = at_once
        self._lines: list[str] = []
        self._games = 0
        self._phase = ""
        self._disqualified = False

    def __call__(self, event: Event) -> None:
        """Take an event; see `flagfall.kernel.dispatcher.Sink`."""
        if isinstance(event, MatchStarted):
            self._add(self._game)
        elif isinstance(event, SeatReady):
            self._enter("First Phase of Training", len(self._rules.training))
        elif isinstance(event, SeatDisqualified):
            self._disqualified = True
        elif isinstance(event, TaskEnded):
            self._end(event)
        elif isinstance(event, MatchEnded):
            self._close(event)

    def _end(self, event: TaskEnded) -> None:
        metrics = event.metrics
        if "phase" not in metrics or (event.ended == "cut" and not self._disqualified):
            return
        trains = metrics["phase"] == TRAINING
        self._games += 1
        if not trains:
            self._enter("Validation", len(self._rules.validation))
        elif self._games > len(self._rules.training):
            self._enter("Second Phase of Training", len(self._rules.training))
        winner, score = metrics.get("winner", -1), float(metrics.get("score", 0.0))
        if self._disqualified:
            winner, score = DISQUALIFIED, DISQUALIFIED_SCORE
        elif winner == WON and score <= 0:
            score = WIN_SCORE
        kind = TRAINING if trains else VALIDATION
        self._add(
            f"[{kind.upper()}] Result (1->win; 0->lose): level:{metrics['level']}, Player0:{winner},"
            f" Player0-Score:{java_double(score)}, timesteps:{metrics.get('ticks', event.steps)}"
        )

    def _enter(self, phase: str, levels: int) -> None:
        if self._phase != phase:
            self._phase = phase
            self._add(f"[PHASE] Starting {phase} in {levels} levels.")

    def _close(self, event: MatchEnded) -> None:
        if self._phase == "Validation" and event.reason in {"finished", "seats"}:
            self._add(f"[PHASE] End Validation in {len(self._rules.validation)} levels.")
        minutes, seconds = divmod(event.at_ns // S, _SECONDS_A_MINUTE)
        self._add(f"\n \t --> Real execution time: {minutes} minutes, {seconds} seconds of wall time.")
        for line in self._lines:
            self._write(line)
        self._lines.clear()

    def _add(self, line: str) -> None:
        if self._at_once:
            self._write(line)
        else:
            self._lines.append(line)
