"""Events of a replay: filters over the whole match, rows that open, prints and reasons at their turns."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flagfall.events import (
    MatchEnded,
    Printed,
    SeatDisqualified,
    TaskStarted,
    TurnPlayed,
    TurnsPlayed,
    Verdict,
)
from flagfall.recording.journal.format import encode
from flagfall.viewer.replay.page import replay_page
from flagfall.viewer.replay.recorded_match import RecordedMatch
from tests.viewer.browser import NARROW, SCHEMES, WIDE, OpenPage, check_accessibility, check_width, in_schemes
from tests.viewer.journals import bytes_match, header, sealed, two_seats, write
from tests.viewer.test_replay_page import serving, wait_for_turn, wait_for_value

if TYPE_CHECKING:
    from playwright.sync_api import Page

MINUS = "\N{MINUS SIGN}"
TURNS = 100_000
PUNISHED = range(500, TURNS, 997)
"""Turns of a long match with the reward -1, the last one is 99,203; all others have none."""

TRACEBACK = "\n".join(f'  File "agent.py", line {line}, in act' for line in range(40))


def punished() -> Iterator[Any]:
    """Yield the events of a long match with few rewards."""
    yield header()
    yield TaskStarted(20, "micro1", 0, 5)
    for turn in range(0, TURNS, 200):
        reward = [-(at in PUNISHED) for at in range(turn, turn + 200)]
        plain = [32] * 200
        yield TurnsPlayed(turn, [1000 * turn + 1000, *[1000] * 199], plain, reward, plain, plain)
    yield MatchEnded(1000 * TURNS, "steps", TURNS)


@pytest.fixture(scope="module")
def long_match(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the replay of a long match."""
    with serving(write(tmp_path_factory.mktemp("long") / "a.jsonl", punished())) as url:
        yield url


def spoken() -> Iterator[Any]:
    """Yield the events of a match of two agents of which one prints and crashes."""
    yield header(2, "5ms/1s")
    yield TaskStarted(20, "pair", 0, 5)
    for turn in range(40):
        if turn == 30:
            yield SeatDisqualified(1000 * turn, 1, "crashed", f"{TRACEBACK}\nRuntimeError: lost")
        for seat in range(2):
            verdict: Verdict = "on time"
            if seat == 1 and turn >= 30:
                verdict = "disqualified" if turn == 30 else "absent"
            yield TurnPlayed(1000 * turn + 1000, turn, "x", int(turn % 10 == 5), "y", 5, seat, verdict)
    printed = (
        Printed(1, 12, "level 1\nlevel 2\n"),
        Printed(1, 29, "\x1b[2Jhelp\n", left_out=7),
        Printed(0, 41, "bye\n"),
    )
    yield MatchEnded(50_000, "steps", 40, printed=printed)


@pytest.fixture(scope="module")
def spoken_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The replay of a match in which agents printed and one crashed, as a file."""
    folder = tmp_path_factory.mktemp("spoken")
    page = folder / "a.html"
    page.write_bytes(replay_page(write(folder / "a.jsonl", spoken())))
    return page


def wait_for_total(page: Page, total: str) -> None:
    """Wait until the panel of events says how many there are."""
    page.locator(".events > header").get_by_text(total, exact=True).wait_for()


def bottom_of(page: Page) -> float:
    bottom: float = page.locator(".event-list").evaluate("(list) => list.getBoundingClientRect().bottom")
    return bottom + 1


@pytest.mark.parametrize(
    "typed",
    ["-1", f"{MINUS}1", "\N{EN DASH}1", " \N{FULLWIDTH HYPHEN-MINUS}1 ", "Reward\N{NO-BREAK SPACE}-1"],
)
def test_a_filter_is_counted_over_the_whole_match_however_it_is_typed(
    typed: str, long_match: str, open_page: OpenPage
) -> None:
    page = open_page(long_match)
    wait_for_turn(page, 0)
    wait_for_total(page, str(len(PUNISHED) + 3))
    page.keyboard.press("f")
    page.keyboard.insert_text(typed)
    wait_for_total(page, f"{len(PUNISHED)} of {len(PUNISHED) + 3}")
    page.locator(".event-list").evaluate("list => list.scrollTo(0, list.scrollHeight)")
    page.locator(".event-row .event-turn", has_text="99,20").click()
    page.locator("body[data-turn^='9920']").wait_for(state="attached")


def test_a_filter_says_how_much_it_has_looked_at_and_when_nothing_matches(
    long_match: str, open_page: OpenPage
) -> None:
    page = open_page()
    held: list[Any] = []

    def hold_first(route: Any) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route("**/chunk/60", hold_first)
    page.goto(long_match)
    wait_for_turn(page, 0)
    search = page.get_by_role("searchbox", name="Filter events by text")
    search.fill("no such text")
    wait_for_total(page, f"0 of {len(PUNISHED) + 3} so far; 72,000 of 100,000 turns looked at")
    assert page.get_by_text("Nothing matches.").count() == 0
    held[0].continue_()
    page.get_by_text("Nothing matches.").wait_for()
    wait_for_total(page, f"0 of {len(PUNISHED) + 3}")
    search.fill("begins")
    wait_for_total(page, f"2 of {len(PUNISHED) + 3}")
    assert page.get_by_text("Nothing matches.").count() == 0


@pytest.mark.parametrize("events", [bytes_match(3000), two_seats(1500)], ids=["columns", "two seats"])
def test_the_number_of_events_is_that_of_the_rows(
    events: Iterator[Any], open_page: OpenPage, tmp_path: Path
) -> None:
    """Without a filter it comes from the summary, before any row is read."""
    journal = write(tmp_path / "a.jsonl", events)
    match = RecordedMatch(journal)
    match.read_all()
    chunks = [match.chunk(number) for number in range(len(match.summary()["chunks"]))]
    rewards = [one for chunk in chunks for one in chunk["reward"]]
    late = sum(chunk["verdict"].count("late") for chunk in chunks)
    rewarded = sum(any(one.values()) if isinstance(one, dict) else bool(one) for one in rewards)
    total = sum(len(chunk["events"]) for chunk in chunks) + late + rewarded
    assert len(chunks) > 2
    path = tmp_path / "a.html"
    path.write_bytes(replay_page(journal))
    page = open_page(path)
    wait_for_turn(page, 0)
    wait_for_total(page, f"{total:,}")
    page.get_by_role("searchbox", name="Filter events by text").fill(
        "e"
    )  # counted row by row; all rows have one
    wait_for_total(page, f"{total:,}")


def test_events_are_filtered_by_seat(spoken_page: Path, open_page: OpenPage) -> None:
    page = open_page(spoken_page)
    wait_for_turn(page, 0)
    page.get_by_role("combobox", name="Events of").select_option("1")
    page.get_by_role("button", name="Rewards", exact=True).click()
    wait_for_total(page, "3 of 15")  # two prints, and the end of its part
    page.get_by_role("searchbox", name="Filter events by text").fill("LEVEL 2")
    wait_for_total(page, "1 of 15")


def test_what_an_agent_printed_stands_at_its_turn(spoken_page: Path, open_page: OpenPage) -> None:
    page = open_page(f"{spoken_page.as_uri()}#turn=12")
    wait_for_turn(page, 12)
    cards = page.locator(".seat-card")
    assert cards.nth(1).locator(".said").inner_text() == "by turn 12\nlevel 1\nlevel 2\n"
    assert not cards.nth(0).locator(".said").is_visible()
    page.keyboard.press("ArrowRight")
    wait_for_turn(page, 13)
    assert not cards.nth(1).locator(".said").is_visible()
    page.get_by_role("button", name="Prints", exact=True).wait_for()
    page.get_by_role("searchbox", name="Filter events by text").fill("help")
    page.locator(".event-row").get_by_text(r"Seat 1: printed by this turn: \e[2Jhelp").click()
    wait_for_turn(page, 29)
    assert cards.nth(1).locator(".said").inner_text() == "7 bytes left out\nby turn 29\n\\e[2Jhelp\n"
    page.keyboard.press("End")
    cards.nth(0).get_by_text("by turn 41").wait_for()  # after the last turn


def test_a_traceback_stands_at_its_turn_and_opens_in_its_row(spoken_page: Path, open_page: OpenPage) -> None:
    page = open_page(spoken_page)
    wait_for_turn(page, 0)
    row = page.get_by_role("button", name="disqualified", expanded=False).last
    row.focus()
    page.keyboard.press("Enter")
    wait_for_turn(page, 30)
    detail = page.get_by_role("region", name="Text in full")
    assert TRACEBACK in detail.inner_text()
    assert detail.evaluate("(detail) => detail.getBoundingClientRect().bottom") <= bottom_of(page)
    assert detail.inner_text().endswith("RuntimeError: lost")
    assert page.evaluate("document.activeElement.ariaExpanded") == "true"
    said = page.locator(".seat-card").nth(1).locator(".said")
    assert "crashed" in said.inner_text()
    assert TRACEBACK in said.inner_text()
    assert said.get_by_role("button", name="Copy").is_visible()
    tops = page.locator(".event-row").evaluate_all(
        "rows => rows.map((row) => row.getBoundingClientRect()).map(({ top, bottom }) => [top, bottom])"
    )
    assert all(above[1] <= below[0] + 1 for above, below in pairwise(tops)), "rows overlap"
    page.keyboard.press("Home")
    wait_for_turn(page, 0)
    page.keyboard.press("Enter")  # it closes, and leads to its turn again
    wait_for_turn(page, 30)
    detail.wait_for(state="detached")


def test_escape_leaves_a_field(spoken_page: Path, open_page: OpenPage) -> None:
    page = open_page(f"{spoken_page.as_uri()}#turn=7")
    wait_for_turn(page, 7)
    page.keyboard.press("g")
    page.keyboard.type("33")
    page.keyboard.press("Escape")
    wait_for_value(page.get_by_role("textbox", name="Go to turn"), "7")
    page.keyboard.press("ArrowRight")
    wait_for_turn(page, 8)
    search = page.get_by_role("searchbox", name="Filter events by text")
    page.keyboard.press("f")
    page.keyboard.type("no such text")
    page.get_by_text("Nothing matches.").wait_for()
    page.keyboard.press("Escape")
    wait_for_value(search, "")
    page.locator(".event-row").first.wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    wait_for_turn(page, 9)
    page.get_by_role("combobox", name="Speed").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    wait_for_turn(page, 10)


def test_a_filter_takes_what_is_added_to_a_growing_match(open_page: OpenPage, tmp_path: Path) -> None:
    path = tmp_path / "growing.jsonl"
    lines = sealed(map(encode, spoken())).splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:14]))  # turns 0 to 5
    os.utime(path, (time.time() + 60,) * 2)  # still growing when a busy machine has opened the page
    with serving(path) as url:
        page = open_page(url)
        wait_for_turn(page, 0)
        search = page.get_by_role("searchbox", name="Filter events by text")
        search.fill("Seat 1:")
        wait_for_total(page, "1 of 4")
        with path.open("ab") as journal:
            journal.write(b"".join(lines[14:]))
        wait_for_total(page, "6 of 15")  # four rewards and two prints
        search.fill("match ends")
        wait_for_total(page, "1 of 15")


def test_a_filter_counts_a_part_that_grows_out_of_view(open_page: OpenPage, tmp_path: Path) -> None:
    """The part was read, and nothing but the number of events needs it again."""
    path = tmp_path / "growing.jsonl"
    lines = sealed(map(encode, bytes_match(12_000))).splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:222]))  # turns 0 to 10,899
    os.utime(path, (time.time() + 60,) * 2)  # still growing when a busy machine has opened the page
    with serving(path) as url:
        page = open_page(url)
        wait_for_turn(page, 0)
        page.keyboard.press("End")
        wait_for_turn(page, 10_899)
        page.keyboard.press("Home")
        wait_for_turn(page, 0)
        total = page.locator(".events > header")
        page.get_by_role("searchbox", name="Filter events by text").fill("late")
        total.get_by_text(re.compile("^109 of [^;]*$")).wait_for()
        with path.open("ab") as journal:
            journal.write(b"".join(lines[222:]))
        total.get_by_text(re.compile("^120 of [^;]*$")).wait_for()


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_an_opened_row_is_accessible_and_fits(spoken_page: Path, open_page: OpenPage, width: int) -> None:
    page = open_page(f"{spoken_page.as_uri()}#turn=30", width=width)
    wait_for_turn(page, 30)
    page.get_by_role("button", name="disqualified", expanded=False).last.click()
    page.get_by_role("region", name="Text in full").wait_for()
    for _ in in_schemes(page, SCHEMES):
        check_accessibility(page)
        check_width(page)
