"""Tasks of the learning track: the levels of a game with the actions of its agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Final

from flagfall.kernel.outcomes import StepResult
from flagfall.tasks.code_files import portable_path
from flagfall.tasks.vgdl.definition import ESCAPE, NIL, GameDefinition, LevelDefinition
from flagfall.tasks.vgdl.engine.compiler import compile_game
from flagfall.tasks.vgdl.engine.cycle import start
from flagfall.tasks.vgdl.engine.state.game import Game, PlayMemory
from flagfall.tasks.vgdl.engine.state.play import Play
from flagfall.tasks.vgdl.language.game_parser import load_game
from flagfall.tasks.vgdl.language.level_parser import load_level
from flagfall.tasks.vgdl.learning_track import Track, TrackRules
from flagfall.tasks.vgdl.rendering.tile_set import SpriteFolder, SpriteTiles, TileSet
from flagfall.tasks.vgdl.task import ACTION_NAMES, VgdlTask
from flagfall.tasks.vgdl.task_id import TaskId, game_path, level_path

ACTIONS: Final = (*ACTION_NAMES, ESCAPE)
"""Actions of agents; `ESCAPE` ends the game without a winner."""

_PREFIX: Final = "ACTION_"


class SharedGame:
    """A game that keeps its state from level to level, as in the public program: timers, pulls, numbers."""

    def __init__(self, definition: GameDefinition) -> None:
        self.game: Game = compile_game(definition)
        self.memory: PlayMemory = self.game.new_memory()


class TrackTask(VgdlTask):
    """A level as agents of the learning track play it: actions are names, including `ESCAPE`.

    `LEFT` and `ACTION_LEFT` are the same; the number of an action, as in `VgdlTask`, is valid, too.

    Args:
        shared: the game whose state is kept from level to level; `None` to start each level anew.
    """

    nil_action: Any = NIL
    abort_action: Any = ESCAPE
    _names: ClassVar = {form: name for name in ACTIONS for form in (name, f"{_PREFIX}{name}")}

    def __init__(
        self,
        definition: GameDefinition,
        level: LevelDefinition,
        task_id: str,
        shared: SharedGame | None = None,
        tiles: TileSet | None = None,
    ) -> None:
        self._shared: SharedGame | None = None
        # This starts a play, which must not change the shared state.
        super().__init__(definition, level, task_id=task_id, tiles=tiles)
        self._shared = shared

    def _start(self, seed: int) -> Play:
        if self._shared is None:
            return super()._start(seed)
        return start(self._shared.game, self._level, seed, self._block, self._shared.memory)

    def is_legal(self, action: Any) -> bool:
        """Return whether an action is legal."""
        return action in self._names if isinstance(action, str) else super().is_legal(action)

    def _step(self, action: Any) -> StepResult:
        return self._advance(self._names[action] if isinstance(action, str) else ACTION_NAMES[action])

    def describe_action(self, action: Any, player: str | None = None) -> str:
        """Return the name of an action, without `ACTION_`."""
        return self._names[action] if isinstance(action, str) else super().describe_action(action, player)

    def metrics(self) -> dict[str, Any]:
        """Return the metrics of the level, with `winner`: 1 won, 0 lost, -1 neither."""
        return {**super().metrics(), "winner": self.play.winner}


def build_track(game: str, rules: TrackRules, sprites: Path | None) -> Track:
    """Return a new track with new tasks.

    Raises:
        UsageError: the game or one of its levels does not exist or is invalid, or the folder does not exist
            or has an invalid image.
    """
    needed = (*rules.training, *rules.validation, *rules.choices)
    path = game_path(game)
    definition = load_game(path)
    shared = SharedGame(definition) if rules.remembers else None
    tiles = None if sprites is None else SpriteTiles(definition, SpriteFolder(sprites))
    levels = []
    for number in range(max(needed) + 1):
        level = load_level(definition, level_path(path, number))
        task_id = str(TaskId(portable_path(game), str(number)))
        levels.append(TrackTask(definition, level, task_id, shared, tiles))
    return Track(levels, rules)
