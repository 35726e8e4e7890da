"""`flagfall transcript`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from flagfall.cli.console.files import Output, reading, replacing

if TYPE_CHECKING:
    from collections.abc import Iterator


def transcript(file: Path, /, *, output: Output = None) -> None:
    """Print the dialogue of a byte match, one JSON object per line.

    Args:
        file: A journal.
        output: Write to this file instead; it is created when it is complete.
    """
    with reading(file):
        if output is None:
            for line in _lines(file):
                sys.stdout.write(line)
            return
        with replacing(output) as writing:
            writing.writelines(_lines(file))


def _lines(file: Path) -> Iterator[str]:
    import json

    from flagfall.recording.journal.reader import read_journal
    from flagfall.recording.round1_results import transcript as entries

    for entry in entries(read_journal(file)):
        yield json.dumps(entry) + "\n"
