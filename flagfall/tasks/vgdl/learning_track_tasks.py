"""Tasks of the learning track: the levels of a game with the actions of its agents, and their schedule."""

from __future__ import annotations

__all__ = ["ACTIONS", "TrackSetup", "TrackTask"]

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final

import attrs
import msgspec

from flagfall.errors import UsageError
from flagfall.tasks.vgdl.actions import ESCAPE, NIL
from flagfall.tasks.vgdl.engine.compiler import compile_game
from flagfall.tasks.vgdl.engine.lifecycle import start
from flagfall.tasks.vgdl.game_files import game_path, level_path
from flagfall.tasks.vgdl.language.game_parser import load_game
from flagfall.tasks.vgdl.language.level_parser import load_level
from flagfall.tasks.vgdl.learning_track import Track, TrackRules
from flagfall.tasks.vgdl.rendering.sprite_files import SpriteFolder, SpriteTiles
from flagfall.tasks.vgdl.task import ACTION_NAMES, VgdlTask
from flagfall.tasks.vgdl.task_id import TaskId

if TYPE_CHECKING:
    from pathlib import Path

    from flagfall.kernel.outcomes import StepResult
    from flagfall.tasks.vgdl.definition import GameDefinition, LevelDefinition
    from flagfall.tasks.vgdl.engine.state.play import Play
    from flagfall.tasks.vgdl.rendering.tile_set import TileSet

ACTIONS: Final = (*ACTION_NAMES, ESCAPE)
"""Actions of agents; `ESCAPE` ends the game without a winner."""

_PREFIX: Final = "ACTION_"
_KEY: Final = "gvgai"
_DEFAULTS: Final = TrackRules()


class SharedGame:
    """A game that keeps its state from level to level, as in the public program: timers, pulls, numbers.

    Args:
        definition: the definition of the game.
    """

    def __init__(self, definition: GameDefinition) -> None:
        self.game = compile_game(definition)
        self.memory = self.game.new_memory()


class TrackTask(VgdlTask):
    """A level as agents of the learning track play it: actions are names, including `ESCAPE`.

    `LEFT` and `ACTION_LEFT` are the same; the number of an action, as in `VgdlTask`, is valid, too.

    Args:
        definition: the definition of the game.
        level: the level of this game.
        task_id: id of the task.
        shared: the game whose state is kept from level to level; `None` to start each level anew.
        tiles: see `VgdlTask`.
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
        """Return whether an action is legal.

        Args:
            action: a name or a number.
        """
        return action in self._names if isinstance(action, str) else super().is_legal(action)

    def _step(self, action: Any) -> StepResult:
        return self._advance(self._names[action] if isinstance(action, str) else ACTION_NAMES[action])

    def metrics(self) -> dict[str, Any]:
        """Return the metrics of the level, with `winner`: 1 won, 0 lost, -1 neither."""
        return {**super().metrics(), "winner": self.play.winner}


@attrs.frozen
class TrackSetup:
    """Description of the track of one game, as written in journals.

    Attributes:
        game: its file or its name; see `flagfall.tasks.vgdl.game_files`.
        rules: the rules of the track.
        sprites: folder of images for pictures; `None` for flagfall's own drawings. Journals have no pictures,
            so they do not record it.
    """

    game: str
    rules: TrackRules = _DEFAULTS
    sprites: Path | None = None

    def build(self) -> Track:
        """Return a new track with new tasks.

        Raises:
            UsageError: the game or one of its levels does not exist or is invalid, or the folder does not
                exist or has an invalid image.
        """
        needed = (*self.rules.training, *self.rules.validation, *self.rules.choices)
        path = game_path(self.game)
        definition = load_game(path)
        shared = SharedGame(definition) if self.rules.remembers else None
        tiles = None if self.sprites is None else SpriteTiles(definition, SpriteFolder(self.sprites))
        levels = []
        for number in range(max(needed) + 1):
            level = load_level(definition, level_path(path, number))
            levels.append(TrackTask(definition, level, str(TaskId(self.game, str(number))), shared, tiles))
        return Track(levels, self.rules)

    def header(self) -> dict[str, Any]:
        """Return the fields of `flagfall.events.MatchStarted` from which the track can be rebuilt."""
        rules = {
            field.name: value
            for field in attrs.fields(TrackRules)
            if (value := getattr(self.rules, field.name)) != field.default
        }
        config = json.dumps({_KEY: {"game": self.game, "rules": rules}}, separators=(",", ":"))
        tasks = [
            str(TaskId(self.game, str(number))) for number in self.rules.training + self.rules.validation
        ]
        return {"scheduler": self.rules.name, "tasks": tasks, "config": config}

    @classmethod
    def from_config(cls, config: str) -> TrackSetup | None:
        """Return the setup that `header` wrote; `None` if the text is of another kind.

        Args:
            config: field of `flagfall.events.MatchStarted`.

        Raises:
            UsageError: the text is damaged.
        """
        written: Any = None
        with suppress(ValueError, RecursionError):
            written = json.loads(config)
        if not isinstance(written, dict) or _KEY not in written:
            return None
        try:
            track = written[_KEY]
            return cls(str(track["game"]), msgspec.convert(track["rules"], TrackRules))
        except (TypeError, KeyError, msgspec.ValidationError) as error:
            raise UsageError(f"the track in the journal is damaged: {error!r}") from error
