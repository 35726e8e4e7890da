"""Setup of a track: the game and the rules, as in plans and journals.

The engine of the games, and the libraries that it needs, are imported when a track is built: the parser of
plans needs this class, whatever a plan names.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import attrs
import msgspec

from flagfall.errors import UsageError
from flagfall.tasks.code_files import digests_of, named, portable_path
from flagfall.tasks.vgdl.catalog import track_files
from flagfall.tasks.vgdl.learning_track import Track, TrackRules
from flagfall.tasks.vgdl.task_id import TaskId

_KEY: Final = "gvgai"
_DEFAULTS: Final = TrackRules()


@attrs.frozen
class TrackSetup:
    """Description of the track of one game, as written in journals.

    Attributes:
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
        from flagfall.tasks.vgdl.learning_track_tasks import build_track  # noqa: PLC0415 - see above

        return build_track(self.game, self.rules, self.sprites)

    def header(self) -> dict[str, Any]:
        """Return the fields of `flagfall.events.MatchStarted` from which the track can be rebuilt."""
        rules = {
            field.name: value
            for field in attrs.fields(TrackRules)
            if (value := getattr(self.rules, field.name)) != field.default
        }
        game = portable_path(self.game)
        config = json.dumps({_KEY: {"game": game, "rules": rules}}, separators=(",", ":"))
        levels = [*map(str, self.rules.training + self.rules.validation)]
        tasks = [str(TaskId(game, level)) for level in levels]
        header = {"scheduler": self.rules.name, "tasks": tasks, "config": config}
        files = self.files()
        return {**header, "code": digests_of(files)} if files else header

    def files(self) -> dict[str, Path]:
        """Return the user's own files that it is built from, by their names in journals."""
        needed = {*self.rules.training, *self.rules.validation, *self.rules.choices}
        return named(track_files(self.game, map(str, range(max(needed) + 1))))

    @classmethod
    def from_config(cls, config: str, folder: Path | None = None) -> TrackSetup | None:
        """Return the setup that `header` wrote; `None` if the text is of another kind.

        Args:
            folder: where its game is, if that is a file.

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
            game = str(track["game"])
            if folder is not None and game.endswith(".txt"):
                game = str(folder / game)
            return cls(game, msgspec.convert(track["rules"], TrackRules))
        except (TypeError, KeyError, msgspec.ValidationError) as error:
            raise UsageError(f"the track in the journal is damaged: {error!r}") from error
