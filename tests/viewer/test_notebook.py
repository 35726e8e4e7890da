"""Displays in notebooks: tables without script, and pages in frames that cannot reach the notebook."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flagfall.errors import UsageError
from flagfall.kernel.outcomes import MatchResult, SeatReport, SeatStats
from flagfall.playing import run
from flagfall.tournament.standings import Standings, compute_standings
from flagfall.viewer.notebook import show
from tests.tournament.random_results import PLANS, results_of
from tests.viewer.browser import check_accessibility
from tests.viewer.tournaments import HOSTILE, renamed, store

if TYPE_CHECKING:
    from playwright.sync_api import Page


def in_notebook(folder: Path, page: Page, *values: Any) -> Page:
    """Open a page like that of a notebook, with the HTML of some values as it asks them for it."""
    path = folder / "notebook.html"
    cells = "".join(f"<div class=cell>{value._repr_html_()}</div>" for value in values)
    path.write_text(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Notebook</title><main><h1>Notebook</h1>"
        f"{cells}</main><script>var secret = 'of the notebook'</script></html>"
    )
    page.goto(path.as_uri())
    return page


def some_standings(name: str) -> Standings:
    plan = renamed(PLANS["round-robin"], {"a1": name})
    return compute_standings(plan, results_of(plan, 2, 1.0))


def test_a_result_shows_its_seats_and_tasks(tmp_path: Path, page: Page) -> None:
    result = run("micro1", ["learner"], seed=1, steps=200, clock="virtual")
    shown = show(result)
    assert repr(shown) == f"match: {result.reason}, {result.turns} turns"
    in_notebook(tmp_path, page, shown)
    cells = page.locator("tbody").first.locator("td").all_inner_texts()
    assert cells[:2] == ["learner", "no"]
    assert cells[3] == f"{result.seats[0].stats.turns:,}"
    task = page.locator("tbody").nth(1).locator("td").all_inner_texts()
    assert task[:3] == ["micro1", str(result.tasks[0].played), str(result.tasks[0].solved)]


def test_standings_show_the_values_of_their_rows(tmp_path: Path, page: Page) -> None:
    made = some_standings("a1")
    in_notebook(tmp_path, page, show(made))
    heads = page.locator("thead th").all_inner_texts()
    for place, row in enumerate(made.rows):
        cells = page.locator("tbody tr").nth(place).locator("td").all_inner_texts()
        assert cells[:2] == [str(row.place), row.agent]
        assert cells[3].startswith(f"{row.elo.value:,.0f} [")
        found = dict(zip(heads, cells, strict=True))
        for head, value in {"Matches": row.matches, "Won": row.wins, "Lost": row.losses}.items():
            assert found[head] == str(value)
    assert page.locator("tbody svg circle").count() == len(made.rows)
    check_accessibility(page)


def test_hostile_text_is_text_in_tables(tmp_path: Path, page: Page) -> None:
    seat = SeatReport(HOSTILE, HOSTILE, HOSTILE * 1000, SeatStats())
    result = MatchResult(reason=HOSTILE, turns=1, seats=(seat,), tasks=(), elapsed_ns=1)
    in_notebook(tmp_path, page, show(result), show(some_standings(HOSTILE)))
    assert page.title() == "Notebook"
    assert page.locator("img").count() == 0
    text = page.inner_text("main")
    assert "<b>\\u202egnp" in text
    assert "\u202e" not in text
    page.locator("summary").click()
    detail = page.inner_text("pre")
    assert "\\u202egnp" in detail
    assert "\u202e" not in detail
    assert len(show(result).html) < 20_000


def test_a_journal_is_a_replay_in_a_frame(tmp_path: Path, page: Page) -> None:
    journal = tmp_path / "match.jsonl"
    run("micro1", ["random"], seed=1, steps=50, clock="virtual", journal=journal)
    in_notebook(tmp_path, page, show(journal, height=500))
    frame = page.frame_locator("iframe")
    frame.locator("body[data-turn='0']").wait_for(state="attached")
    assert "random" in frame.locator("h1").inner_text()
    inside = page.frames[1]
    with pytest.raises(Exception, match=r"cross-origin|Blocked"):
        inside.evaluate("parent.secret")
    assert page.locator("iframe").bounding_box()["height"] == 500  # type: ignore[index]


def test_a_folder_is_a_report_in_a_frame(tmp_path: Path, page: Page) -> None:
    plan = PLANS["round-robin"]
    folder = store(tmp_path / "cup", plan, results_of(plan, 1, 1.0).values())
    shown = show(folder)
    assert repr(shown) == f"report of {folder}"
    in_notebook(tmp_path, page, shown)
    rows = page.frame_locator("iframe").locator("#standings > .table tbody tr")
    rows.first.wait_for()
    assert rows.count() == 5
    page.frame_locator("iframe").locator(".contents a", has_text="Matches").click()
    assert page.frame_locator("iframe").locator("#matches").is_visible()


@pytest.mark.parametrize(
    ("what", "line"),
    [
        (3, "takes the result of a match, standings, a journal or the folder of a tournament, not 3"),
        ("nowhere.jsonl", "no such file: nowhere.jsonl"),
        ("/", "holds no tournament"),
    ],
)
def test_what_cannot_be_shown_is_one_line(what: Any, line: str) -> None:
    with pytest.raises(UsageError) as caught:
        show(what)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)
