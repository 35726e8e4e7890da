"""Results file of `flagfall run --results`: the statistics of a match, in the layout of round 1."""

from __future__ import annotations

__all__ = ["check_results", "figures_text", "write_results"]

import json
from typing import TYPE_CHECKING, Final

from flagfall.cli.console.files import check_record, replacing
from flagfall.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from flagfall.recording.round1_results import Figures

_BEGINNINGS: Final = (b"* General results", b'{\n  "average_reward"')


def figures_text(figures: Figures, *, as_json: bool) -> str:
    """Return the text of a results file.

    Args:
        figures: the statistics of a match.
        as_json: as JSON instead of in the layout of round 1.
    """
    return json.dumps(figures.as_data(), indent=2) + "\n" if as_json else figures.as_text()


def check_results(
    path: Path, beginnings: tuple[bytes, ...] = _BEGINNINGS, *, overwrite: bool = False
) -> None:
    """Check that a results file can be written.

    Args:
        path: the path of the file.
        beginnings: the first bytes of results files of this kind.
        overwrite: a results file that is there may be replaced.

    Raises:
        UsageError: it cannot be written there, or would replace a file.
    """
    if path.is_dir():
        raise UsageError(f"results {path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise UsageError(f"results {path}: there is no folder {path.parent}")
    check_record("results file", path, beginnings, overwrite=overwrite)


def write_results(path: Path, figures: Figures) -> None:
    """Write a results file.

    Args:
        path: the path of the file; JSON if its name ends in `.json`, otherwise in the layout of round 1.
        figures: the statistics of a match.
    """
    with replacing(path) as file:
        file.write(figures_text(figures, as_json=path.suffix == ".json"))
