"""A game and its levels, ready for the learning track: tasks with its agents' actions, and the plan."""

from __future__ import annotations

__all__ = ["ACTIONS", "TrackSetup", "TrackTask"]

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final

import attrs
import msgspec

from flagfall.errors import UsageError
from flagfall.tasks.vgdl.actions import ESCAPE, NIL
from flagfall.tasks.vgdl.engine.game import Game
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
"""What an agent may say; `ESCAPE` ends the game without a winner."""

_PREFIX: Final = "ACTION_"
_KEY: Final = "gvgai"
_DEFAULTS: Final = TrackRules()


class Memory:
    """What the public program's one parsed game remembers from level to level: timers, pulls, sprite numbers.

    Args:
        definition: the game.
    """

    def __init__(self, definition: GameDefinition) -> None:
        self.game = Game(definition)
        self.session = self.game.session()


class TrackTask(VgdlTask):
    """A level as agents of the learning track play it: actions are names, and one of them is `ESCAPE`.

    `LEFT` and `ACTION_LEFT` are the same; the number of an action, as `VgdlTask` has it, will do, too.

    Args:
        definition: the game.
        level: a level of it.
        task_id: the task's id.
        memory: what goes on from one level to the next, shared by the levels; `None` for nothing.
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
        memory: Memory | None = None,
        tiles: TileSet | None = None,
    ) -> None:
        self._memory: Memory | None = None
        # This begins a play, which counts for nothing.
        super().__init__(definition, level, task_id=task_id, tiles=tiles)
        self._memory = memory

    def _start(self, seed: int) -> Play:
        if self._memory is None:
            return super()._start(seed)
        return self._memory.game.start(self._level, seed, self._block, self._memory.session)

    def is_legal(self, action: Any) -> bool:
        """Whether it is the name or the number of an action."""
        return action in self._names if isinstance(action, str) else super().is_legal(action)

    def _step(self, action: Any) -> StepResult:
        return self._advance(self._names[action] if isinstance(action, str) else ACTION_NAMES[action])

    def metrics(self) -> dict[str, Any]:
        """Those of the level, and `winner`: 1 won, 0 lost, -1 where nobody did."""
        return {**super().metrics(), "winner": self.play.winner}


@attrs.frozen
class TrackSetup:
    """What makes the track of one game.

    Attributes:
        game: its file or its name, see `flagfall.tasks.vgdl.game_files`.
        rules: the numbers of the plan.
        sprites: a folder of images for pictures; `None` for our own drawings. No record has it, because no
            record has pictures.
    """

    game: str
    rules: TrackRules = _DEFAULTS
    sprites: Path | None = None

    def build(self) -> Track:
        """New levels, and their plan.

        Raises:
            UsageError: there is no such game, it lacks a level, or it cannot be played; or there is no such
                folder, or an image in it cannot be used.
        """
        needed = (*self.rules.training, *self.rules.validation, *self.rules.choices)
        path = game_path(self.game)
        definition = load_game(path)
        memory = Memory(definition) if self.rules.remembers else None
        tiles = None if self.sprites is None else SpriteTiles(definition, SpriteFolder(self.sprites))
        levels = []
        for number in range(max(needed) + 1):
            level = load_level(definition, level_path(path, number))
            levels.append(TrackTask(definition, level, str(TaskId(self.game, str(number))), memory, tiles))
        return Track(levels, self.rules)

    def header(self) -> dict[str, Any]:
        """The fields of `flagfall.events.MatchStarted` from which it can be built again."""
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
        """What `header` said; `None` where the text is of another kind.

        Raises:
            UsageError: it is damaged.
        """
        said: Any = None
        with suppress(ValueError, RecursionError):
            said = json.loads(config)
        if not isinstance(said, dict) or _KEY not in said:
            return None
        try:
            track = said[_KEY]
            return cls(str(track["game"]), msgspec.convert(track["rules"], TrackRules))
        except (TypeError, KeyError, msgspec.ValidationError) as error:
            raise UsageError(f"the track in the journal is damaged: {error!r}") from error
