"""The file of figures that `flagfall run --results` leaves, whatever becomes of the match."""

from __future__ import annotations

__all__ = ["check_results", "figures_text", "write_results"]

import json
from typing import TYPE_CHECKING, Final

from flagfall.cli.console.files import replacing
from flagfall.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from flagfall.recording.round1_results import Figures

_BEGINNINGS: Final = (b"* General results", b'{\n  "average_reward"')


def figures_text(figures: Figures, *, as_json: bool) -> str:
    """Figures as they are written: JSON, or the text of round 1."""
    return json.dumps(figures.as_data(), indent=2) + "\n" if as_json else figures.as_text()


def check_results(path: Path, beginnings: tuple[bytes, ...] = _BEGINNINGS) -> None:
    """Whether results can be written here, and whether what they replace are results.

    Args:
        path: their file.
        beginnings: what results of this kind begin with.

    Raises:
        UsageError: they cannot, or it is something else.
    """
    if path.is_dir():
        raise UsageError(f"results {path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise UsageError(f"results {path}: there is no folder {path.parent}")
    if path.is_file():
        with path.open("rb") as file:
            start = file.read(max(map(len, beginnings)))
        if start and not start.startswith(beginnings):
            raise UsageError(f"results {path}: the file exists and has no results; it is not overwritten")


def write_results(path: Path, figures: Figures) -> None:
    """Write a file of figures: JSON where its name ends in `.json`, else the text of round 1."""
    with replacing(path) as file:
        file.write(figures_text(figures, as_json=path.suffix == ".json"))
