"""The comparison of two tournaments: its figures are those of both, and the page shows them as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from flagfall.tournament.formats.adaptive import Adaptive
from flagfall.tournament.formats.fixed_rounds import Benchmark, RoundRobin
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.stats.intervals import Interval, independent_difference
from flagfall.viewer.report import two_folders
from flagfall.viewer.report.source import open_source
from flagfall.viewer.report.two_folders import comparison_data, comparison_page
from tests.tournament.fields import make_plan, names, play_all, task
from tests.viewer.browser import OpenPage, check_accessibility, check_width, in_schemes
from tests.viewer.test_report_reading import by_strength
from tests.viewer.tournaments import HOSTILE, renamed, store


def both(count: int, *, repeats: int = 12, steps: int | None = None) -> TournamentPlan:
    """A game for two, and a task that each agent plays alone."""
    alone = attrs.evolve(task("vgdl:alone#0", 1, names(count)), score="reward", steps=steps)
    return make_plan(count, Benchmark(), alone, task("game", 2, names(count)), repeats=repeats)


def compared(tmp_path: Path, *fields: tuple[TournamentPlan, tuple[float, ...]]) -> dict[str, Any]:
    """Return the comparison of two tournaments, by their plans and the strengths of the agents."""
    folders = []
    for number, (plan, strengths) in enumerate(fields):
        records, _ = play_all(plan, by_strength(*strengths, thinking_ns=tuple(range(10**6, 10**8, 10**6))))
        folders.append(store(tmp_path / f"folder-{number}", plan, records.values()))
    with open_source(folders[0]) as one, open_source(folders[1]) as other:
        return comparison_data(one, other)


def interval(data: dict[str, Any]) -> Interval:
    return Interval(**data)


def test_differences_are_those_of_both_figures(tmp_path: Path) -> None:
    data = compared(tmp_path, (both(5), (0, 0, 0, 0, 0)), (both(5), (300, 0, 0, 0, 0)))
    assert data["agents"][0]["agent"] == "a0", "in the order of the second tournament"
    for row in [*data["agents"], *data["tasks"]]:
        first, second, change = map(interval, row["elo"] if "elo" in row else row["score"])
        assert change == independent_difference(second, first)
        assert change.value == pytest.approx(second.value - first.value)
    changes = {row["agent"]: interval(row["elo"][2]) for row in data["agents"]}
    assert sum(change.value for change in changes.values()) == pytest.approx(0, abs=1e-3)
    assert changes["a0"].low is not None
    assert changes["a0"].low > 0, "an agent that became better"
    rewards = {row["agent"]: interval(row["score"][2]) for row in data["tasks"] if "alone" in row["task"]}
    assert rewards["a0"].value == pytest.approx(300, abs=3)
    assert rewards["a1"].value == pytest.approx(0, abs=3)
    assert [row["matches"] for row in data["agents"]] == [[12 + 12 * 8] * 2] * 5
    assert all(one == other > 0 for one, other in (row["think_p50_ns"] for row in data["agents"]))
    assert data["changes"] == []


def test_an_agent_that_loses_everything_is_no_measure_of_the_others(tmp_path: Path) -> None:
    plan = make_plan(5, RoundRobin(), repeats=12)
    data = compared(tmp_path, (plan, (0, 0, 0, 0, 0)), (plan, (0, 0, 0, 0, -9000)))
    changes = {row["agent"]: interval(row["elo"][2]) for row in data["agents"]}
    lost = changes.pop("a4")
    assert lost.low is None
    assert lost.high is not None
    assert lost.high < 0
    assert all(change.low is not None and change.high is not None for change in changes.values())
    assert sum(change.value for change in changes.values()) == pytest.approx(0, abs=1e-3)


def test_scores_of_games_are_compared_only_with_the_same_opponents(tmp_path: Path) -> None:
    data = compared(tmp_path, (both(3), (0, 0, 0)), (both(4, steps=9), (0, 0, 0, 0)))
    assert {row["task"] for row in data["tasks"]} == {"vgdl:alone#0"}
    assert data["other_opponents"] == ["game"]
    assert data["only"] == [[], ["a3"]]
    assert data["settings"] == ["vgdl:alone#0"]
    assert "tasks.vgdl:alone#0.steps: was null, is 9" in data["changes"]


def test_the_level_is_the_higher_one_of_both(tmp_path: Path) -> None:
    fixed, adaptive = make_plan(3, RoundRobin(), repeats=12), make_plan(3, Adaptive(goal="order"), repeats=12)
    data = compared(tmp_path, (fixed, (0, 0, 0)), (adaptive, (0, 0, 0)))
    assert data["elo_level"] == 0.99
    with open_source(tmp_path / "folder-0") as source:
        elo = source.standings.table.elo
        for row in data["agents"]:
            wanted = elo.difference(row["agent"], *(other["agent"] for other in data["agents"]))
            assert wanted is not None
            assert interval(row["elo"][0]).value == pytest.approx(wanted.value)
            assert interval(row["elo"][0]).high == pytest.approx(wanted.interval(0.99).high)


def test_a_comparison_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("MAX_AGENTS", 2), ("MAX_TASK_ROWS", 3), ("MAX_CHANGES", 1), ("MAX_CHANGE_CHARS", 20)):
        monkeypatch.setattr(two_folders, name, most)
    data = compared(tmp_path, (both(4), (0, 0, 0, 0)), (both(4, repeats=3, steps=9), (0, 0, 0, 0)))
    assert (len(data["agents"]), data["agents_of"]) == (2, 4)
    assert (len(data["tasks"]), data["tasks_of"]) == (3, 4)
    assert (len(data["changes"]), data["changes_of"]) == (1, 2)


def test_the_page_shows_the_comparison(tmp_path: Path, open_page: OpenPage, width: int) -> None:
    names_of = {"a1": HOSTILE, "a2": "plain"}
    plans = [renamed(both(count, steps=steps), names_of) for count, steps in ((4, None), (5, 9))]
    folders = []
    for number, (plan, first) in enumerate(zip(plans, (0.0, 400.0), strict=True)):
        made = both(len(plan.agents))
        played, _ = play_all(made, by_strength(first, 0, 0, 0, 0))
        records = [
            attrs.evolve(
                record,
                seats=tuple(
                    attrs.evolve(seat, agent=names_of.get(seat.agent, seat.agent)) for seat in record.seats
                ),
            )
            for record in played.values()
        ]
        folders.append(store(tmp_path / f"folder-{number}", plan, records))
    with open_source(folders[0]) as one, open_source(folders[1]) as other:
        (tmp_path / "both.html").write_bytes(comparison_page(comparison_data(one, other)))
    page = open_page(tmp_path / "both.html", width=width)
    page.wait_for_selector("body[data-ready]")
    parts = page.locator("section.part")
    found = [parts.nth(place).get_attribute("id") for place in range(parts.count())]
    assert found == ["agents", "tasks", "plans", "facts"]
    row = page.locator("#agents tbody tr", has_text="a0")
    assert row.locator("strong").inner_text().startswith("+"), "a change that is surely not 0"
    assert page.locator("#tasks tbody th").first.inner_text() == "alone#0 settings differ"
    assert "Only in the second: a4." in page.inner_text("#agents")
    assert "game" in page.inner_text("#tasks .note")
    assert "steps: was null, is 9" in page.inner_text("#plans")
    assert "\u202e" not in page.inner_text("body")
    assert "\\u202e" in page.inner_text("#agents")
    assert page.locator("img").count() == 0
    check_width(page)
    for _ in in_schemes(page):
        check_accessibility(page)
