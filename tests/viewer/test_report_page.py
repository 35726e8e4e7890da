"""The page of a report in a real browser: its values are those of `flagfall results`, whatever they hold."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from flagfall.cli.tournaments.results import write_report
from flagfall.tournament.formats.fixed_rounds import RoundRobin
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import Stop
from flagfall.viewer.report.data import report_data, report_page
from flagfall.viewer.report.source import open_source
from tests.command_line import call_main
from tests.tournament.fields import make_plan, names, task
from tests.tournament.random_results import PLANS, random_record, results_of
from tests.viewer.browser import (
    NARROW,
    WIDE,
    OpenPage,
    Screenshots,
    check_accessibility,
    check_width,
    in_schemes,
)
from tests.viewer.tournaments import (
    HOSTILE,
    LEARNING,
    SLEEPING,
    play,
    play_crashing,
    play_sleeping,
    renamed,
    store,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

SHOWN = "<b>\\u202egnp\\e[31m\\x00</b> <script>document.title = 'owned'"
"""`HOSTILE` as a page shows it."""


def write_page(folder: Path) -> Path:
    path = folder / "report.html"
    with open_source(folder) as source:
        path.write_bytes(report_page(report_data(source, target=folder)))
    return path


@pytest.fixture(scope="module")
def learning(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page(play(LEARNING, tmp_path_factory.mktemp("learning")))


@pytest.fixture(scope="module")
def crashing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page(play_crashing(tmp_path_factory.mktemp("crashing")))


@pytest.fixture(scope="module")
def sleeping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page(play_sleeping(tmp_path_factory.mktemp("sleeping")))


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with every kind of part, of agents with hostile names."""
    plan = renamed(PLANS["benchmark"], {"a1": HOSTILE, "a2": "اختبار"})
    plan = attrs.evolve(plan, name=f"Cup of {HOSTILE}".replace("\0", ""))
    records = results_of(plan, 9, 1.0)
    folder = store(tmp_path_factory.mktemp("full"), plan, list(records.values())[:-3])
    path = folder / "report.html"
    with open_source(folder) as source:
        data = report_data(source, target=folder)
        path.write_bytes(
            report_page(
                {**data, "notes": [f"`flagfall results` says more of {HOSTILE}: an agent is undefeated"]}
            )
        )
    return path


def values(page: Page, part: str, column: str) -> list[str]:
    """Return the values of a column of the first table of a part, as the page keeps them."""
    found: list[str] = page.evaluate(
        """([part, column]) => {
          const table = document.querySelector(`#${part} table`);
          const heads = [...table.tHead.rows[0].cells].map((cell) => cell.innerText.trim());
          return [...table.tBodies[0].rows].map((row) => row.cells[heads.indexOf(column)].dataset.value);
        }""",
        [part, column],
    )
    return found


COLUMNS: Mapping[str, Callable[[Any], Any]] = {
    "#": lambda row: row["place"],
    "Agent": lambda row: row["agent"],
    "Elo": lambda row: row["elo"]["value"],
    "Score": lambda row: row["score"]["value"],
    "Matches": lambda row: row["matches"],
    "Won": lambda row: row["wins"],
}


def test_standings_are_those_of_the_command_results(
    learning: Path, page: Page, capsys: pytest.CaptureFixture[str]
) -> None:
    results = json.loads(call_main(capsys, "results", str(learning.parent), "--format", "json").out)
    page.goto(learning.as_uri())
    for column, value in COLUMNS.items():
        found = values(page, "standings", column)
        assert [type(value(row))(one) for row, one in zip(results["rows"], found, strict=True)] == [
            value(row) for row in results["rows"]
        ], column
    page.click("#tasks details.more-tables > summary")
    for row in results["tasks"]:
        assert page.locator("#tasks details tbody tr", has_text=row["task"]).filter(
            has_text=row["agent"]
        ).locator("td").nth(1).get_attribute("data-value") == str(row["matches"])
    first = results["rows"][0]
    assert page.locator("#standings > .table tbody tr").first.inner_text().split()[:2] == [
        "1",
        first["agent"],
    ]


def test_the_cross_table_and_think_times_are_those_of_the_command_results(
    tmp_path: Path, page: Page, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = PLANS["round-robin"]
    folder = store(tmp_path, plan, results_of(plan, 3, 1.0).values())
    results = json.loads(call_main(capsys, "results", str(folder), "--format", "json").out)
    page.goto(write_page(folder).as_uri())
    for label, key in (("Median", "think_p50_ns"), ("99 %", "think_p99_ns")):
        assert values(page, "standings", label) == [str(row[key]) for row in results["rows"]]
    for place, row in enumerate(results["rows"]):
        cells = page.locator("#cross tbody tr").nth(place).locator("td[data-games]").all()
        games = sum(int(cell.get_attribute("data-games") or 0) for cell in cells)
        points = sum(float(cell.get_attribute("data-points") or 0) for cell in cells)
        assert games == row["wins"] + row["draws"] + row["losses"]
        assert points == row["wins"] + row["draws"] / 2


def test_the_opponents_of_an_agent_have_differences_from_both_sides(tmp_path: Path, page: Page) -> None:
    plan = PLANS["round-robin"]
    folder = store(tmp_path, plan, results_of(plan, 3, 1.0).values())
    page.goto(write_page(folder).as_uri())
    with open_source(folder) as source:
        (row,) = [row for row in report_data(source)["differences"] if (row["one"], row["other"]) == (0, 2)]
    for agent, opponent, sign in (("0", "3", 1), ("2", "1", -1)):
        page.select_option("#opponents-of", agent)
        cells = page.locator(
            "#cross .opponents tbody tr", has=page.locator(f"td[data-value='{opponent}']").first
        )
        found = [
            float(cell.get_attribute("data-value") or "nan") for cell in cells.first.locator("td").all()[4:]
        ]
        assert found[0] == sign * row["elo"]["value"]
        assert found[1] == pytest.approx(row["los"] if sign > 0 else 1 - row["los"])
        assert found[2] == sign * row["score"]["value"]
        assert found[3] == pytest.approx(row["better"] if sign > 0 else 1 - row["better"])


def test_headings_sort_tables_by_mouse_and_keyboard(full: Path, page: Page) -> None:
    page.goto(full.as_uri())
    before = values(page, "standings", "#")
    heading = page.locator("#standings > .table th", has_text="Matches")
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    matches = [int(one) for one in values(page, "standings", "Matches")]
    assert matches == sorted(matches, reverse=True)
    assert "Matches" in page.inner_text("#announcements")
    page.locator("#standings > .table th button").first.focus()
    page.keyboard.press("Enter")
    assert values(page, "standings", "#") == before


def test_curves_show_and_hide_agents_together(learning: Path, page: Page) -> None:
    page.goto(learning.as_uri())
    lines = "#curves .card:first-of-type path.line"
    page.wait_for_selector(lines, state="attached")
    assert page.locator(lines).count() == 2
    page.click("#curves .chip >> nth=0")
    assert page.locator(lines).count() == 1
    assert page.locator("#rating path.line").count() == 1
    assert page.get_attribute("#rating .chip >> nth=0", "aria-pressed") == "false"
    assert page.evaluate("document.activeElement.closest('#curves .chip') !== null")
    page.locator("#curves details.values > summary").first.click()
    rows = page.locator("#curves .card").first.locator("table tbody tr")
    rows.nth(1).wait_for()
    assert rows.count() == 2


def test_the_distribution_of_think_times_stands_beside_its_limits(tmp_path: Path, page: Page) -> None:
    plan = LEARNING.replace('"virtual"', '"wall"').replace("1s/5s", "20ms/50ms")  # near the real times
    page.goto(write_page(play(plan, tmp_path)).as_uri())
    page.wait_for_selector("#times .hill", state="attached")
    assert page.locator("#times .hill").count() == 2
    assert page.inner_text("#times .limit-keys").split("\n") == ["soft limit 20 ms", "hard limit 50 ms"]
    soft, hard = (
        float(page.get_attribute(f"#times line.limit.{kind}", "x1") or 0) for kind in ("soft", "hard")
    )
    assert soft < hard


def test_limits_have_curves_and_advice_in_words(sleeping: Path, page: Page) -> None:
    with open_source(sleeping.parent) as source:
        curves = report_data(source)["limits"]["curves"]
    page.goto(sleeping.as_uri())
    page.wait_for_selector("#limits .limit-curve", state="attached")
    assert page.locator("#limits .limit-curve").count() == 3
    assert [int(one) for one in values(page, "limits", "Smallest limit")] == [
        curve["advice"]["act_ns"] for curve in curves
    ]
    assert [float(one) for one in values(page, "limits", "Lost today")] == [
        curve["share"][curve["limits_ns"].index(curve["soft_ns"])] for curve in curves
    ]
    advice = curves[0]["advice"]
    said = page.inner_text("#limits .advice")
    assert said.startswith(f"All agents: act={advice['act_ns'] / 1e6:g} ms (")
    assert said.endswith(") would lose at most one turn in 1,000")
    assert page.inner_text("#limits .limit-keys").startswith(
        "limit of today 40 ms\nhard limit of today 1 s\n"
    )
    soft = float(page.get_attribute("#limits line.limit.soft", "x1") or 0)
    path = page.locator("#limits .limit-curve").first.locator("path.line").first.get_attribute("d") or ""
    points = [float(place) for place in re.findall(r"[ML]([\d.]+) ", path)]
    assert round(soft, 2) in points, "the limit of today is a point of each curve"
    page.click("#limits .chip >> nth=1")
    assert page.locator("#limits .limit-curve").count() == 2
    page.locator("#limits details.values > summary").click()
    rows = page.locator("#limits details.values tbody tr")
    rows.first.wait_for()
    assert rows.count() == sum(len(curve["limits_ns"]) for curve in curves)


def test_limits_are_drawn_for_each_time_control(tmp_path: Path, page: Page) -> None:
    task = '[[tasks]]\ntask = "vgdl:windfall#0"\nsteps = 100\n'
    other = task.replace("#0", "#1") + 'time_control = "bank=10s+10ms"\n'
    text = SLEEPING.replace("repeats = 20", "repeats = 3").partition("[[tasks]]")[0] + task + other
    page.goto(write_page(play_sleeping(tmp_path, text)).as_uri())
    page.wait_for_selector("#limits .limit-curve", state="attached")
    assert page.locator("#limits h3").all_inner_texts() == ["act=40ms/1s", "bank=10s+10ms"]
    cards = page.locator("#limits article")
    assert cards.nth(0).locator("line.limit").count() == 1
    assert cards.nth(1).locator("line.limit").count() == 0, "no limit of a turn"
    assert "Bank" in cards.nth(1).locator("thead").inner_text()
    assert "too few turns for an upper end" in cards.nth(0).locator(".advice").inner_text()


def test_without_think_times_there_are_no_limits(full: Path, learning: Path, page: Page) -> None:
    for path in (full, learning):
        page.goto(path.as_uri())
        assert page.locator("#limits, .contents a[href='#limits']").count() == 0


def test_a_running_or_interrupted_tournament_says_so(full: Path, learning: Path, page: Page) -> None:
    page.goto(full.as_uri())
    assert page.inner_text(".notice").startswith("This tournament was interrupted:")
    assert page.inner_text("#standings-title") == "Standings so far"
    page.goto(learning.as_uri())
    assert page.locator(".notice").count() == 0


def test_hostile_names_are_text(full: Path, page: Page) -> None:
    page.goto(full.as_uri())
    assert "owned" not in page.title() or page.title().startswith("Cup of <b>")
    assert SHOWN[:24] in page.inner_text("#standings table")
    assert "اختبار" in page.inner_text("#standings table")
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2, "the data and the page's own"
    assert "\u202e" not in page.evaluate("document.body.innerText")
    assert "\\u202egnp" in page.inner_text("#standings .note")
    assert page.inner_text("#standings .note code") == "flagfall results"
    for part in ("#standings", "#matches", "#faults"):
        assert page.locator(f"{part} bdi .escape").count() > 0


def test_a_crash_shows_the_end_of_the_standard_error_as_text(crashing: Path, page: Page) -> None:
    page.goto(crashing.as_uri())
    entry = page.locator("#faults .fall")
    assert entry.count() == 1
    assert entry.locator("summary").inner_text().split() == ["broken", "crashed", "2", "matches"]
    entry.locator("summary").click()
    shown = entry.locator(".detail-text").inner_text()
    assert entry.get_by_role("button", name="Copy").is_visible()
    assert "it broke on purpose" in shown
    assert SHOWN[:24] in shown
    assert "\\u202e" in shown
    assert page.title() == "falls - tournament report"


def test_links_lead_to_the_journals(learning: Path, page: Page) -> None:
    page.goto(learning.as_uri())
    links = page.locator("#matches a", has_text="journal")
    assert links.count() == 12
    targets = [learning.parent / (links.nth(place).get_attribute("href") or "") for place in range(12)]
    assert all(target.is_file() for target in targets)


def test_one_agent_alone_has_a_report(tmp_path: Path, page: Page) -> None:
    plan = PLANS["benchmark"]
    plan = make_plan(1, plan.format, task("alone", 1, names(1)), repeats=5)
    page.goto(write_page(store(tmp_path, plan, results_of(plan, 1, 1.0).values())).as_uri())
    assert page.locator("#cross").count() == 0
    assert page.locator("#standings > .table tbody tr").count() == 1
    assert page.inner_text("#rating-title") == "Score over time"


def test_a_tournament_without_matches_has_a_page(tmp_path: Path, page: Page) -> None:
    page.goto(write_page(store(tmp_path, PLANS["swiss"], [])).as_uri())
    assert "0 of" in page.inner_text(".notice")
    assert page.locator("#standings > .table tbody tr").count() == 6


def test_200_agents_begin_with_few_rows_and_lines(tmp_path: Path, open_page: OpenPage) -> None:
    plan = make_plan(200, RoundRobin(), stop=Stop(matches=800))
    random = Random(1)
    records = [random_record(random, plan, spec) for spec in schedule(plan).walk({})]
    path = write_page(store(tmp_path, plan, records))
    assert path.stat().st_size < 2_000_000
    page = open_page(path, width=NARROW)
    check_width(page)
    assert page.locator("#standings > .table tbody tr").count() == 50
    page.click("#standings button.show-all")
    assert page.locator("#standings > .table tbody tr").count() == 200
    assert page.locator("#cross table.cross tbody tr").count() == 24
    page.select_option("#opponents-of", "30")
    assert page.locator("#cross .opponents tbody tr").count() > 0
    page.wait_for_selector("#rating path.line", state="attached")
    assert page.locator("#rating path.line").count() == 8
    assert page.evaluate("document.querySelectorAll('*').length") < 20_000


def test_the_page_looks_right_and_is_accessible(
    full: Path,
    crashing: Path,
    learning: Path,
    sleeping: Path,
    open_page: OpenPage,
    width: int,
    screenshot: Screenshots,
) -> None:
    shown = {"full": full} if width == WIDE else {"crash": crashing, "learning": learning}
    shown["limits"] = sleeping
    for name, path in shown.items():
        page = open_page(path, width=width)
        page.wait_for_selector("body[data-ready]")
        check_width(page)
        for summary in page.locator("details > summary").all():
            summary.click()
        check_width(page)
        page.evaluate("scrollTo(0, 0)")
        for scheme in in_schemes(page):
            check_accessibility(page)
            screenshot(page, f"report-{name}-{width}-{scheme}", full_page=True)


def test_schedule_is_not_walked_for_a_page(full: Path) -> None:
    """The page of an interrupted tournament names matches that were played, and no others."""
    shown = full.read_text()
    with open_source(full.parent) as source:
        played = {record.id for record in source.store.records()}
        left = {spec.id for spec in schedule(source.plan).walk({})} - played
    assert played
    assert left
    assert all(f'"{name}"' not in shown for name in left)


@pytest.fixture(scope="module")
def embedded(crashing: Path) -> Path:
    """The page of the tournament with a crash, with the replays of two matches."""
    path = crashing.with_name("embedded.html")
    write_report(crashing.parent, path, embed=2)
    return path


def test_a_replay_opens_within_the_report(embedded: Path, page: Page) -> None:
    page.goto(embedded.as_uri())
    rows = page.locator("#replays tbody tr")
    assert rows.count() == 2
    assert rows.first.locator("td").first.inner_text() == "an agent was disqualified"
    name = rows.first.locator("th a").inner_text()
    rows.first.locator("th a").click()
    page.locator("body[data-turn='0']").wait_for(state="attached")
    assert page.url.partition("#")[2].startswith(f"match={name}")
    assert page.title().startswith(name)
    assert not page.locator("#standings").is_visible()
    assert "broken" in page.locator(".replay-place h1").inner_text()
    check_accessibility(page)
    page.click(".back a")
    assert page.locator("#standings").is_visible()
    assert page.title() == "falls - tournament report"
    assert page.evaluate("document.activeElement.innerText") == name, "the focus is where it was"
    page.go_back()
    page.locator(".replay-place h1").wait_for()
    assert not page.locator("#standings").is_visible()


def test_styles_of_replays_leave_the_notes_of_reports_as_they_are(crashing: Path, page: Page) -> None:
    page.goto(crashing.as_uri())
    notes = page.locator(".part .note")
    notes.first.wait_for()
    heights: list[float] = notes.evaluate_all("(all) => all.map((note) => note.offsetHeight)")
    assert max(heights) < 60, "a note of a line or two"


def test_a_link_leads_straight_to_a_turn_of_a_replay(embedded: Path, page: Page) -> None:
    page.goto(f"{embedded.as_uri()}#match=r0-m0-g0&turn=5")
    page.locator("body[data-turn='5']").wait_for(state="attached")
    assert "silent" in page.locator(".replay-place h1").inner_text()


def test_replays_without_room_in_the_page_are_named(
    crashing: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("flagfall.viewer.report.data.MAX_PAGE_BYTES", 300)
    write_report(crashing.parent, tmp_path / "report.html", embed=1)
    told = capsys.readouterr().err
    assert "is not embedded, for lack of room in the page; `flagfall replay" in told
    assert "--turns" not in told


def test_a_match_that_cannot_be_embedded_is_named(
    crashing: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(crashing.parent, folder)
    for journal in sorted((folder / "journals").iterdir())[:1]:
        journal.write_bytes(b"nonsense")
    write_report(folder, folder / "report.html", embed=4)
    assert "match r0-m0-g0 is not embedded: " in capsys.readouterr().err
    page = (folder / "report.html").read_text()
    assert page.count('id="match-') > 0
    assert 'id="match-3-summary"' not in page
