"""Resealed journals of every family of tasks, with odd values in odd places."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.fuzz.odd_journals import COMMANDS, FAMILIES, complaint, odd_journal, recorded

JOURNALS = 5
"""Of each family; `python -m tests.fuzz.odd_journals` goes on for as long as it is asked to."""


@pytest.mark.parametrize("family", FAMILIES)
def test_odd_journals_end_in_one_line(tmp_path: Path, family: str):
    good = recorded(family, tmp_path)
    path = tmp_path / "odd.jsonl"
    for number in range(JOURNALS):
        path.write_bytes(odd_journal(Random(f"{family}/{number}"), good))
        for line in COMMANDS:
            assert complaint(line, path) is None, f"{family}, journal {number}"
