"""The matrix of bad agents: each gets its verdict, the others lose nothing, and nothing is left."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest

from flagfall.agents.process.sandbox import check_sandbox
from flagfall.errors import UsageError
from flagfall.testing.adversarial import agents, plain_agents
from flagfall.testing.adversarial.matrix import PLACES, ROWS, Finding, Place, Row, matrix_rows, run_row
from flagfall.testing.adversarial.wasm_agents import MODULES

QUICK: Mapping[Place, Collection[str]] = {
    "process": (
        "floods_the_wire",
        "fork_bomb",
        "garbage",
        "huge_message",
        "ignores_sigterm",
        "kills_its_parent",
        "leaves_children",
        "leaves_its_cores",
        "never_answers",
        "reads_its_opponents_files",
        "segfaults",
        "stops_itself",
        "RaisesInAct",
    ),
    "sandbox": ("fills_the_disk", "opens_a_socket", "reads_its_opponents_files", "uses_kernel_interfaces"),
    "wasm": tuple(MODULES),
}
"""Agents that a program of its own, a sandbox or WebAssembly meets in ordinary tests: one for each way that
they end."""


def cases() -> list[Any]:
    """Every row at every place; where each takes a program, most belong to the tests of a release."""
    return [
        pytest.param(
            row,
            place,
            id=f"{row.agent}-{place}",
            marks=[] if row.agent in QUICK.get(place, [row.agent]) else [pytest.mark.release],
        )
        for row, place in matrix_rows()
    ]


@pytest.mark.parametrize(("row", "place"), cases())
def test_every_bad_agent_gets_its_verdict_and_leaves_nothing(row: Row, place: Place):
    if place == "sandbox":
        try:
            check_sandbox()
        except UsageError as error:
            pytest.skip(str(error))
    finding = run_row(row, place)
    assert finding.verdict in row.verdicts[place], finding
    assert finding.lost == "", finding
    assert finding.as_expected, finding.left


def test_every_row_names_an_agent_and_places_that_are_there():
    for row in ROWS:
        assert hasattr(agents, row.agent) or hasattr(plain_agents, row.agent) or set(row.verdicts) == {"wasm"}
        assert "wasm" not in row.verdicts or row.agent in MODULES or hasattr(plain_agents, row.agent)
        assert set(row.verdicts) <= set(PLACES)
    assert set(MODULES) <= {row.agent for row in ROWS if "wasm" in row.verdicts}
    assert len({row.agent for row in ROWS}) == len({row.does for row in ROWS}) == len(ROWS)


def test_the_page_about_hosts_has_the_matrix():
    page = (Path(__file__).parents[2] / "docs/hosts.md").read_text()
    for row in ROWS:
        cells = [" or ".join(row.verdicts.get(place, ("",))) for place in PLACES]
        assert f"| {row.does} | {' | '.join(cells)} |" in page


def test_what_is_lost_left_or_unexpected_is_not_as_expected():
    row = Row("is late", "late", {"process": ("late",), "thread": ("late",)})
    good = Finding(row, "process", "late", "", 1, "", "")
    assert good.as_expected
    assert not Finding(row, "process", "played on", "", 1, "", "").as_expected
    assert not Finding(row, "process", "late", "", 1, "a reward", "").as_expected
    assert not Finding(row, "process", "late", "", 1, "", "process 7").as_expected
    assert not Finding(row, "thread", "late", "", 1, "", "3 descriptors").as_expected
