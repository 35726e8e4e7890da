"""File names for a series of matches."""

from __future__ import annotations

__all__ = ["series_path"]

from pathlib import Path


def series_path(path: Path, number: int, count: int) -> Path:
    """`run.jsonl.zst` becomes `run-3.jsonl.zst`, where there is more than one.

    Args:
        path: the name of one alone.
        number: of the match, from 0.
        count: how many there are.
    """
    if count == 1:
        return path
    ending = path.suffix
    if ending == ".zst":
        ending = path.with_suffix("").suffix + ending
    stem = path.name.removesuffix(ending) if ending else path.name
    return path.with_name(f"{stem}-{number:0{len(str(count - 1))}}{ending}")
