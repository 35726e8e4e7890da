"""The pages for people who come from the originals name options that there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"

RUN_PY = (
    *("--output", "--scramble", "--bit-mode", "--max-reward-per-task", "--learner", "--learner-cmd"),
    *("--learner-port", "--learner-address", "--curses", "--show-world", "--time-delay"),
)
"""The options of round 1's `run.py`."""

CLIENTS_AND_SERVER = (
    *("-gameId", "-gamesDir", "-gameFile", "-levelFile", "-imgDir", "-visuals", "-clientType", "-clientDir"),
    *("-shDir", "-agentName", "-serverDir", "-serverJar"),
)
"""The options of GVGAI's server and clients."""


def page(name: str) -> str:
    path = DOCS / name
    assert path.exists()
    return path.read_text()


def rows(text: str) -> list[list[str]]:
    """Return the cells of all rows of tables."""
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]


@pytest.mark.parametrize(
    ("name", "old", "commands"),
    [
        ("from-round1.md", RUN_PY, ["run"]),
        ("from-gvgai.md", CLIENTS_AND_SERVER, ["gvgai serve", "gvgai train", "gvgai contest"]),
    ],
)
def test_every_old_option_has_its_row_and_every_new_one_exists(
    call: Any, name: str, old: tuple[str, ...], commands: list[str]
):
    told = rows(page(name))
    first = " ".join(row[0] for row in told)
    assert [option for option in old if not re.search(rf"{option}\b", first)] == []
    known = " ".join(call(f"{command} --help").out for command in commands)
    named = {option for row in told for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", " ".join(row[1:]))}
    assert [option for option in sorted(named) if not re.search(rf"{option}\b", known)] == []
