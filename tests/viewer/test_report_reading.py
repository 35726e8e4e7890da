"""What a reader of a report sees first, on which scales, and what is left out because it says nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import attrs
import pytest

from flagfall.tournament.formats.adaptive import Adaptive
from flagfall.tournament.formats.fixed_rounds import Benchmark, RoundRobin
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.records import MatchRecord, MatchSpec, TimeHistogram
from flagfall.viewer.report.data import report_data, report_page
from flagfall.viewer.report.source import open_source
from tests.tournament.fields import Play, by_chance, make_plan, names, play_all, record, task
from tests.tournament.random_results import PLANS, results_of
from tests.viewer.browser import NARROW, WIDE, OpenPage, check_accessibility, check_width, in_schemes
from tests.viewer.tournaments import LEARNING, play, store

if TYPE_CHECKING:
    from playwright.sync_api import Page

DASH, MINUS = "\u2013", "\u2212"

Show = Callable[..., "Page"]
"""`show(plan, records, *, width=WIDE)`: the page of a report of stored results."""


@pytest.fixture
def show(tmp_path: Path, open_page: OpenPage) -> Show:
    def show(plan: TournamentPlan, records: Iterable[MatchRecord], *, width: int = WIDE) -> Page:
        folder = tmp_path / f"results-{len(list(tmp_path.iterdir()))}"
        with open_source(store(folder, plan, records)) as source:
            (folder / "report.html").write_bytes(report_page(report_data(source)))
        page = open_page(folder / "report.html", width=width)
        page.wait_for_selector("body[data-ready]", timeout=5000)
        return page

    return show


def by_strength(*strengths: float, thinking_ns: tuple[int, ...] = ()) -> Play:
    """Wins with the chances of these strengths, in Elo; alone, rewards around them; and times of turns."""

    def play(spec: MatchSpec) -> MatchRecord:
        random = Random(spec.id)
        mine = [strengths[int(name[1:])] for name in spec.entrants]
        if len(mine) == 1:
            played = record(spec, [mine[0] + random.gauss(0, 1)])
        else:
            won = float(random.random() < 1 / (1 + 10 ** ((mine[1] - mine[0]) / 400)))
            played = record(spec, [won, 1 - won])
        seats = [*played.seats]
        for place, name in enumerate(spec.entrants if thinking_ns else ()):
            longest = thinking_ns[int(name[1:])]
            times = TimeHistogram()
            for spent_ns in (longest // 2, longest, longest):
                times.add(spent_ns)
            seats[place] = attrs.evolve(seats[place], think_max_ns=longest, thinking=tuple(times.pairs()))
        return attrs.evolve(played, seats=tuple(seats))

    return rewarded(play)


def rewarded(play: Play) -> Play:
    """The same with the scores as rewards, from which a store expects them to follow."""

    def rewarding(spec: MatchSpec) -> MatchRecord:
        played = play(spec)
        seats = tuple(attrs.evolve(seat, reward=seat.score) for seat in played.seats)
        return attrs.evolve(played, seats=seats)

    return rewarding


def played(plan: TournamentPlan, play: Play) -> list[MatchRecord]:
    return [play(spec) for spec in schedule(plan).walk({})]


HOUR_NS = 3_600_000_000_000

FIELD = make_plan(7, RoundRobin(), repeats=20)
LOST = (90, 60, 30, 0, -30, -60, -9000)
"""Strengths of seven agents, of which the last one loses everything."""


def test_standings_come_first_on_a_narrow_page(show: Show) -> None:
    page = show(FIELD, played(FIELD, by_strength(*LOST)), width=NARROW)
    head = [line for line in page.inner_text(".report-head").split("\n") if line]
    assert head[:2] == ["test", "Round robin · 7 agents · 1 task · 840 of 840 matches"]
    row = page.locator("#standings tbody tr").last.bounding_box()
    assert row is not None
    assert row["y"] + row["height"] < 844, "all standings stand on the first screen of a telephone"
    facts = page.locator("#facts").bounding_box()
    assert facts is not None
    assert facts["y"] > row["y"]
    assert "Seed" in page.inner_text("#facts")
    cells = page.locator("#standings tbody tr").first.locator("th, td")
    assert [cells.nth(place).inner_text() for place in (0, 1)] == ["1", "a0"]
    elo = cells.nth(2).bounding_box()
    assert elo is not None
    assert elo["x"] + elo["width"] <= NARROW
    check_width(page)


def test_a_table_that_scrolls_shows_it_and_keeps_its_names(show: Show) -> None:
    page = show(FIELD, played(FIELD, by_strength(*LOST)), width=NARROW)
    for part in ("#standings", "#cross"):
        box = page.locator(f"{part} .scrolls").first
        assert box.evaluate("(box) => box.scrollWidth > box.clientWidth")
        left = box.evaluate("(box) => box.getBoundingClientRect().left")
        box.evaluate("(box) => { box.scrollLeft = 1000; }")
        name = box.locator("tbody th").first
        assert name.evaluate("(cell) => cell.getBoundingClientRect().left") == pytest.approx(left, abs=1)
        assert name.evaluate("(cell) => getComputedStyle(cell).backgroundColor") != "rgba(0, 0, 0, 0)"
        drawn = box.evaluate("(box) => getComputedStyle(box).backgroundAttachment")
        assert drawn == "local, local, scroll, scroll", "shadows at the edges behind which there is more"


def test_the_head_names_the_winner_with_its_lead(show: Show) -> None:
    page = show(FIELD, played(FIELD, by_strength(900, 0, 0, 0, 0, 0, 0)))
    with open_source(Path(page.url.removeprefix("file://")).parent) as source:
        data = report_data(source)
    first, second = data["agents"][:2]
    lead = data["differences"][0]["elo"]
    value, low, high = (f"{lead[key]:,.0f}" for key in ("value", "low", "high"))
    assert first == "a0"
    assert page.inner_text(".lead-line") == f"a0 leads {second} by {value} [{low}, {high}] Elo."


def alone(count: int, repeats: int = 12) -> TournamentPlan:
    by_reward = attrs.evolve(task("alone", 1, names(count)), score="reward")
    return make_plan(count, Benchmark(), by_reward, repeats=repeats)


@pytest.mark.parametrize(
    ("plan", "play", "line"),
    [
        (make_plan(2, RoundRobin(), repeats=30), by_strength(9000, 0), r"a0 leads a1 by ≥ \d+ Elo\."),
        (
            make_plan(2, RoundRobin(), repeats=30),
            rewarded(by_chance(1)),
            rf"a\d and a\d cannot be told apart: \d+ \[{MINUS}\d+, \d+\] Elo\.",
        ),
        (
            make_plan(2, RoundRobin(), repeats=2),
            rewarded(by_chance(1)),
            r"a\d and a\d cannot be told apart: \d+ \(too few\) Elo\.",
        ),
        (
            make_plan(4, Adaptive(goal="order"), repeats=40),
            by_strength(400, 0, 0, 0),
            r"a0 leads a\d by \d+ \[\d+, [\d,]+\] Elo \(99 % interval\)\.",
        ),
        (
            make_plan(3, RoundRobin(), repeats=20, scoring="score"),
            by_strength(200, 0, 0),
            r"a0 leads a\d by 0\.\d\d \[0\.\d\d, \d\.\d\d\] in score\.",
        ),
        (
            PLANS["swiss"],
            by_strength(90, 60, 30, 0, -30, -60),
            r"a\d is first with [\d.]+ points, a\d has [\d.]+; between them: .* Elo\.",
        ),
        (
            make_plan(3, RoundRobin(), repeats=3),
            rewarded(lambda spec: record(spec, [0.5, 0.5])),
            r"All 3 agents share the first place\.",
        ),
    ],
)
def test_the_head_says_how_sure_the_lead_is(show: Show, plan: TournamentPlan, play: Play, line: str) -> None:
    records, _ = play_all(plan, play)
    assert re.match(line, shown := show(plan, records.values()).inner_text(".lead-line")), shown


def test_standings_say_who_is_better_than_whom_and_who_is_tied(show: Show) -> None:
    page = show(FIELD, played(FIELD, by_strength(900, 890, 0, 0, 0, -900, -9000)))
    heads = [head.strip() for head in page.locator("#standings thead th").all_inner_texts()]
    column = heads.index("Better than")
    cells = page.locator("#standings tbody tr")
    found = [cells.nth(row).locator("th, td").nth(column).inner_text() for row in range(7)]
    assert [text.replace(DASH, "-") for text in found] == ["3-7", "3-7", "6-7", "6-7", "6-7", "7", "-"]
    ties = page.inner_text("#standings .ties").replace(DASH, "-")
    assert ties == "Neighbours that cannot be told apart: places 1-2; 3-5."
    assert page.locator("#cross .opponents tbody tr").count() == 6, "differences of the first agent are open"


def test_one_agent_far_from_all_others_does_not_stretch_the_scale(show: Show) -> None:
    plan = attrs.evolve(alone(7), tasks=(*alone(7).tasks, task("game", 2, names(7))))
    records = played(
        plan, by_strength(*LOST, thinking_ns=(*range(10_000_000, 40_000_000, 5_000_000), HOUR_NS))
    )
    page = show(plan, records)

    def numbers(texts: list[str]) -> list[float]:
        plain = [text.replace(MINUS, "-").replace(",", "") for text in texts]
        return [float(text) for text in plain if text.lstrip("-").isdigit()]

    card = page.locator("#tasks .card").first
    marks = card.locator("tbody tr")
    arrow, value = marks.last.locator(".beyond").inner_text().split()
    assert arrow == "◂"
    assert numbers([value])[0] < -8000
    dots = [float(dot.get_attribute("x1") or 0) for dot in card.locator(".dot").all()]
    assert len(dots) == 6
    assert max(dots) - min(dots) > 80, "the others use the width of the drawing, which is 160"
    standings = page.locator("#standings .interval-mark")
    assert standings.last.locator(".beyond.low").count() == 1, "an Elo without a lower end"
    assert standings.last.locator(".dot").count() == 0
    times = page.locator("#times")
    times.locator(".hill").first.wait_for(state="attached")
    assert [text.split(":")[0] for text in times.locator(".beyond").all_text_contents()] == ["1"], "an hour"
    axis = " ".join(times.locator(".axis text").all_text_contents())
    assert "ms" in axis
    assert "16:40" not in axis
    ratings = page.locator("#rating")
    assert ratings.locator("svg text.beyond").count() >= 1
    labels = numbers(ratings.locator(".axis text").all_text_contents())
    assert labels
    assert all(abs(label) < 2000 for label in labels)


def test_two_groups_of_agents_are_no_outliers(show: Show) -> None:
    plan = alone(7)
    page = show(plan, played(plan, by_strength(0, 1, 2, 3, 1000, 1001, 1002)))
    assert page.locator("#tasks .beyond").count() == 0
    assert page.locator("#tasks .dot").count() == 7


def test_what_says_nothing_is_not_drawn(tmp_path: Path, show: Show, open_page: OpenPage) -> None:
    folder = play(LEARNING, tmp_path)
    with open_source(folder) as source:
        (folder / "report.html").write_bytes(report_page(report_data(source)))
    page = open_page(folder / "report.html")
    parts = page.locator("section.part")
    found = [parts.nth(place).get_attribute("id") for place in range(parts.count())]
    assert found == ["standings", "tasks", "curves", "rating", "faults", "matches", "facts"]
    assert "No agent was late" in page.inner_text("#faults")
    assert page.locator("#faults table").count() == 0
    heads = page.locator("#standings thead th").all_inner_texts()
    assert "Median" not in heads, "on the virtual clock these turns took no time"
    plan = alone(3, repeats=6)
    equal = show(plan, played(plan, rewarded(lambda spec: record(spec, [0.5]))))
    assert equal.locator("#standings svg.interval, #tasks svg.interval, #rating").count() == 0
    assert equal.inner_text("#tasks .equal") == "All 3 agents: 0.5 (all equal)"


def test_a_single_point_is_no_course(show: Show) -> None:
    plan = make_plan(3, RoundRobin(), repeats=1)
    records = played(plan, by_strength(100, 0, -100))
    assert show(plan, records[:1]).locator("#rating, #curves").count() == 0


def test_tasks_have_short_names_that_tell_the_whole_one(show: Show) -> None:
    tasks = [task(f"vgdl:windfall#{level}:observation=planes", 2, names(3)) for level in (0, 1)]
    plan = make_plan(3, RoundRobin(), *tasks, repeats=4)
    page = show(plan, results_of(plan, 1, 1.0).values())
    assert page.locator("#tasks h3").all_inner_texts() == ["windfall#0", "windfall#1"]
    assert page.locator("#tasks h3 bdi").first.get_attribute("title") == "vgdl:windfall#0:observation=planes"
    assert "vgdl:" not in page.inner_text("#matches")
    page.click("#tasks details.more-tables > summary")
    assert "vgdl:windfall#0:observation=planes" in page.inner_text("#tasks details")


@pytest.mark.parametrize("count", [2, 24])
def test_reports_are_accessible_and_as_wide_as_their_window(show: Show, count: int, width: int) -> None:
    plan = make_plan(count, RoundRobin(), repeats=2)
    page = show(plan, results_of(plan, 1, 1.0).values(), width=width)
    check_width(page)
    for _ in in_schemes(page):
        check_accessibility(page)
