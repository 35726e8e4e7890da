"""File names for a series of matches."""

from __future__ import annotations

__all__ = ["series_path"]

from pathlib import Path


def series_path(path: Path, number: int, count: int) -> Path:
    """Return the file name of one match of a series: `run-3.jsonl.zst` for `run.jsonl.zst`.

    Args:
        path: the name that the user chose; it is unchanged if the series has one match.
        number: the match's number, from 0.
        count: the number of matches in the series.
    """
    if count == 1:
        return path
    ending = path.suffix
    if ending == ".zst":
        ending = path.with_suffix("").suffix + ending
    stem = path.name.removesuffix(ending) if ending else path.name
    return path.with_name(f"{stem}-{number:0{len(str(count - 1))}}{ending}")
