"""`flagfall merge`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from flagfall.cli.console.files import Flag
from flagfall.errors import UsageError


def merge(
    *folders: Path,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    prefer_first: Flag = False,
) -> None:
    """Make one folder of tournaments that several machines played by one plan, each a part of the matches.

    A match that several folders have with equal results counts once. The folders are only read; the new one
    appears when it is complete.

    Args:
        folders: Folders of tournaments with equal plans (see `--part` of `flagfall tournament`).
        output: The folder to make.
        prefer_first: If folders have different results of a match, count that of the folder named first,
            and keep the others as void attempts. Otherwise the folders are refused.
    """
    if len(folders) < 2:  # noqa: PLR2004 - a plural
        raise UsageError("name at least two folders to merge")
    from flagfall.texts import counted
    from flagfall.tournament.merging import merge_tournaments

    merged = merge_tournaments(folders, output, prefer_first=prefer_first)
    print(
        f"merged:  {counted(merged.played, 'match', 'matches')}, {merged.shared} of them in several folders,"
        f" and {counted(merged.void, 'void attempt')}"
    )
    if merged.missing:
        print(f"missing: {counted(merged.missing, 'journal')} that the folders name and do not have")
    if merged.other_code:
        others = ", ".join(map(str, merged.other_code))
        print(f"code:    other files of agents or tasks than in {folders[0]} were played in {others}")
    print(f"results: {output}   (flagfall results {shlex.quote(str(output))})")
