"""The live page in a real browser, while a real tournament runs and the real commands are used."""

from __future__ import annotations

import json
import signal
import subprocess
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest

from flagfall.tournament.records import MatchRecord, SeatRecord
from flagfall.tournament.store import Store
from tests.ports import free_port
from tests.tournament.runs import is_heard, program, small_plan, wait_until
from tests.viewer.browser import (
    Complaints,
    OpenPage,
    Screenshots,
    check_accessibility,
    check_width,
    in_schemes,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

BOTS = """
import time

class Steady:
    def reply(self, byte, reward):
        time.sleep(0.005)
        return 97

class Late:
    turns = 0

    def reply(self, byte, reward):
        self.turns += 1
        time.sleep(0.06 if self.turns % 20 == 0 else 0.005)
        return 98

class Broken:
    turns = 0

    def reply(self, byte, reward):
        self.turns += 1
        if self.turns == 30:
            raise RuntimeError("<script>alert(1)</script>")
        return 32
"""

PLAN = """
name = "<i>Friday</i> evening cup"
clock = "wall"
repeats = 500
jobs = 2
time_control = "act=40ms act_hard=5s bank=200ms"

[[agents]]
name = "steady"
spec = "bots.py:Steady"

[[agents]]
name = "<b>late</b>"
spec = "bots.py:Late"

[[agents]]
name = "broken"
spec = "bots.py:Broken"

[[tasks]]
each = ["micro1", "micro2"]
steps = 200
"""

SOON = 60_000
"""Milliseconds to wait for what takes a second on a machine without other work."""


@contextmanager
def started(*words: object, cwd: Path | None = None) -> Iterator[subprocess.Popen[str]]:
    """The real program, ended with the context."""
    process = program(*words, cwd=cwd)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@contextmanager
def shown(folder: Path, *options: object) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address that `flagfall serve` prints for a folder, and its process."""
    with started("serve", folder, "--no-open", *options) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert " is shown at http" in line
        yield line.split()[-1], process


@attrs.frozen
class Cup:
    """A running tournament and its live page.

    Attributes:
        folder: its folder.
        run: the process of the run.
        url: address of the page, with the token.
    """

    folder: Path
    run: subprocess.Popen[str]
    url: str


@pytest.fixture(scope="module")
def cup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cup]:
    place = tmp_path_factory.mktemp("cup")
    (place / "bots.py").write_text(textwrap.dedent(BOTS))
    (place / "plan.toml").write_text(PLAN)
    folder = place / "out"
    with started("tournament", "plan.toml", "-o", folder, "-q", cwd=place) as run:
        wait_until(lambda: is_heard(folder))
        with shown(folder, "--allow-control") as (url, _):
            yield Cup(folder, run, url)


def state_of(page: Page, state: str) -> None:
    page.locator(f"#state[data-state='{state}']").wait_for(timeout=SOON)


def matches_in_standings(page: Page) -> int:
    return int(page.locator("#standings").get_attribute("data-matches") or 0)


def ctl(folder: Path, *words: str) -> dict[str, object]:
    process = program("ctl", folder, *words, "--json")
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    state: dict[str, object] = json.loads(output)
    return state


def test_the_page_follows_the_tournament(cup: Cup, open_page: OpenPage):
    page = open_page(cup.url)
    state_of(page, "running")
    page.locator(".connection[data-connected='true']").wait_for(timeout=SOON)
    assert "token" not in page.url
    assert page.locator("h1").inner_text() == "<i>Friday</i> evening cup"
    page.locator(".match .facts-line:has-text('last turn')").first.wait_for(timeout=SOON)
    clock = page.locator(".match .clock").first
    before = clock.inner_text()
    page.locator(f".match .clock:not(:text-is('{before}'))").first.wait_for(timeout=SOON)
    # Results arrive without a reload, and so do the standings that count them.
    page.locator(".news > li:has-text('disqualified: crashed')").first.wait_for(timeout=SOON)
    newest = page.locator("#results").get_attribute("data-newest")
    page.locator(f"#results:not([data-newest='{newest}'])").wait_for(timeout=SOON)
    page.locator("#standings[data-matches]").wait_for(timeout=SOON)
    counted = matches_in_standings(page)
    page.locator(f"#standings:not([data-matches='{counted}'])").wait_for(timeout=SOON)
    assert matches_in_standings(page) > counted
    rows = page.locator("#standings tbody tr[data-agent]")
    assert sorted(row.get_attribute("data-agent") or "" for row in rows.all()) == [
        "<b>late</b>",
        "broken",
        "steady",
    ]
    assert page.locator("#standings b").count() == 0
    played = int((page.locator("#played").inner_text().split()[0]).replace(",", ""))
    assert 0 < played <= int(str(ctl(cup.folder)["played"]))
    assert "of 3,000 matches" in page.locator("#played").inner_text()


def test_results_can_be_filtered_and_keys_are_listed(cup: Cup, open_page: OpenPage):
    page = open_page(cup.url)
    page.locator(".news > li:has-text('disqualified')").first.wait_for(timeout=SOON)
    page.locator(".news > li:has-text('steady')").first.wait_for(timeout=SOON)
    page.keyboard.press("/")
    page.keyboard.type("steady")
    assert {"steady" in text for text in page.locator(".news > li:visible").all_inner_texts()} == {True}
    page.locator("input[type=search]").fill("no such word")
    page.get_by_text("No result fits the filter.").wait_for(timeout=SOON)
    page.locator("input[type=search]").fill("")
    page.get_by_role("button", name="Problems only").click()
    assert page.locator(".news > li[data-problem='false']:visible").count() == 0
    page.locator("h1").click()
    page.keyboard.press("?")
    sheet = page.locator("dialog[open]")
    assert "Pause or resume the run" in sheet.inner_text()
    page.keyboard.press("Escape")


def test_the_page_is_accessible_and_fits(cup: Cup, open_page: OpenPage, width: int, screenshot: Screenshots):
    page = open_page(cup.url, width=width)
    page.locator(".match .facts-line:has-text('last turn')").first.wait_for(timeout=SOON)
    page.locator("#standings svg.interval:has(.dot)").first.wait_for(timeout=SOON)
    page.locator(".news > li").first.wait_for(timeout=SOON)
    for scheme in in_schemes(page):
        check_accessibility(page)
        check_width(page)
        screenshot(page, f"live-{width}-{scheme}", full_page=True)


def cancel_a_match(page: Page) -> bool:
    """Cancel a match by its button, pressed twice; return false if the match ended in between."""
    from playwright.sync_api import TimeoutError as Late  # noqa: PLC0415 - not everywhere installed

    page.locator(".match .cancel").first.click()
    match = page.locator(".match:has(.cancel:text-is('Really cancel'))")
    try:
        name = match.get_attribute("data-match", timeout=3_000)
        with page.expect_response(lambda answer: "command" in answer.url, timeout=3_000) as answer:
            match.locator(".cancel").click(timeout=3_000)
    except Late:
        return False
    if answer.value.status == HTTPStatus.CONFLICT:
        return False
    page.locator(f".news > li.void:has-text('{name}'):has-text('cancelled on request')").wait_for(
        timeout=SOON
    )
    return True


def test_the_run_is_controlled_by_keys_and_buttons(cup: Cup, open_page: OpenPage, complaints: Complaints):
    page = open_page(cup.url)
    state_of(page, "running")
    page.locator(".match").first.wait_for(timeout=SOON)
    assert any(cancel_a_match(page) for _ in range(30)), "a match takes a second"
    page.keyboard.press("p")
    state_of(page, "paused")
    assert ctl(cup.folder)["paused"] is True
    page.get_by_role("button", name="Resume").click()
    state_of(page, "running")
    assert ctl(cup.folder)["paused"] is False
    complaints.found[:] = [text for text in complaints.found if "409" not in text]  # matches that had ended


def test_a_result_leads_to_its_replay_and_the_tournament_to_its_report(cup: Cup, open_page: OpenPage):
    page = open_page(cup.url)
    match = page.locator(".news > li:has-text('broken') strong").first.inner_text()
    page.locator(f".news > li:has-text('{match}') a").first.click()  # newer ones come above it meanwhile
    page.wait_for_url(f"**/replay/{match}/", timeout=SOON)
    page.get_by_text("crashed").first.wait_for(timeout=SOON)
    page.go_back()
    page.get_by_role("link", name="Report").click()
    page.wait_for_url("**/report", timeout=SOON)
    page.locator("body[data-ready='true']").wait_for(timeout=SOON)
    assert "<b>late</b>" in page.locator("main").inner_text()


def test_a_page_without_control_offers_none(cup: Cup, open_page: OpenPage, complaints: Complaints):
    with shown(cup.folder) as (url, _):
        page = open_page(url)
        state_of(page, "running")
        page.locator(".match").first.wait_for(timeout=SOON)
        assert page.get_by_role("button", name="Pause").count() == 0
        assert page.locator(".cancel").count() == 0
        page.keyboard.press("p")
        answer = page.evaluate(
            "fetch('command', {method: 'POST', body: '{\"do\":\"pause\"}'}).then((one) => one.text())"
        )
        assert "start it with --allow-control" in answer
        assert len(complaints.found) == 1
        assert "403" in complaints.found.pop()
        page.close()
        assert ctl(cup.folder)["paused"] is False


SLOW = """
name = "slow"
jobs = 1
time_control = "act=5s act_hard=20s"

[[agents]]
name = "slow"
spec = "slow.py:Slow"

[[tasks]]
task = "micro1"
steps = 150
"""

SLOW_BOT = """
import time

class Slow:
    def reply(self, byte, reward):
        time.sleep(0.05)
        return 97
"""


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """A folder with the plan of one match that takes some seconds."""
    (tmp_path / "slow.py").write_text(SLOW_BOT)
    (tmp_path / "plan.toml").write_text(SLOW)
    return tmp_path


def watch_a_match(page: Page) -> None:
    """Open the replay of the first match in progress, and go to its present end."""
    page.get_by_role("link", name="Watch").first.click(timeout=SOON)
    page.wait_for_url("**/replay/*/", timeout=SOON)
    page.get_by_text("growing", exact=True).wait_for(timeout=SOON)
    page.keyboard.press("End")


def test_a_match_in_progress_is_watched_to_its_end(slow: Path, open_page: OpenPage):
    folder = slow / "out"
    with started("tournament", "plan.toml", "-o", folder, "-q", cwd=slow) as run:
        wait_until(lambda: is_heard(folder))
        with shown(folder) as (url, _):
            page = open_page(url)
            watch_a_match(page)
            assert not list((folder / "journals").iterdir())
            page.locator("body[data-turn='149']").wait_for(timeout=SOON)
            page.get_by_text("growing", exact=True).wait_for(state="detached", timeout=SOON)
            assert run.wait(60) == 0
            assert [path.name for path in (folder / "journals").iterdir()] == ["r0-m0-g0.jsonl.zst"]
            page.keyboard.press("Home")  # its first turns are read from where the journal is now
            page.locator("body[data-turn='0']").wait_for(timeout=SOON)
            assert page.locator(".notice.bad:visible").count() == 0
            page.close()


def test_a_match_whose_run_was_killed_is_watched_when_it_is_played_again(
    slow: Path, open_page: OpenPage, complaints: Complaints
):
    folder = slow / "out"
    with started("tournament", "plan.toml", "-o", folder, "-q", cwd=slow) as run:
        wait_until(lambda: is_heard(folder))
        with shown(folder) as (url, _):
            page = open_page(url)
            watch_a_match(page)
            run.kill()
            run.wait()
            with started("tournament", "plan.toml", "-o", folder, "--resume", "-q", cwd=slow) as again:
                page.get_by_text("This match is played again from its beginning").wait_for(timeout=SOON)
                page.keyboard.press("End")
                page.locator("body[data-turn='149']").wait_for(timeout=SOON)
                assert again.wait(60) == 0
            page.close()
    complaints.found = [one for one in complaints.found if "400" not in one]  # between the attempts


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202ereversed\x07\x1b[31m"


def test_names_and_reasons_of_others_are_text(open_page: OpenPage, tmp_path: Path):
    folder = tmp_path / HOSTILE.replace("/", "-")
    folder.mkdir()
    store = Store(folder, "make")
    store.begin(small_plan(10))
    seat = SeatRecord(agent=HOSTILE, score=1.0, fell=HOSTILE)
    store.put(
        MatchRecord(
            id=HOSTILE, seats=(seat,), why="`act` took 9 s: " + HOSTILE + "x" * 10_000_000, status="void"
        )
    )
    store.close()
    with shown(folder) as (url, _):
        page = open_page(url, width=390)
        item = page.locator(".news > li").first
        item.wait_for(timeout=SOON)
        assert item.locator("script, img").count() == 0
        assert "<script>alert(1)</script>" in item.inner_text()
        assert "\\u202e" in item.inner_text()
        assert "\u202e" not in page.locator("main").inner_text()
        assert len(item.inner_text()) < 3000
        check_width(page)
        check_accessibility(page)
        page.close()


def test_the_page_connects_again(cup: Cup, open_page: OpenPage, complaints: Complaints, tmp_path: Path):
    port = free_port()
    token = tmp_path / "token"
    token.write_text("a token that stays\n")
    options = ("--port", port, "--token-file", token)
    page = open_page()
    with shown(cup.folder, *options) as (url, process):
        page.goto(f"{url}?token=a+token+that+stays")
        state_of(page, "running")
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 128 + signal.SIGTERM
        assert "a token that stays" not in output + errors
        assert "Traceback" not in errors
    page.locator(".connection[data-connected='false']").wait_for(timeout=SOON)
    with shown(cup.folder, *options):
        page.locator(".connection[data-connected='true']").wait_for(timeout=SOON)
        state_of(page, "running")
        page.close()
    complaints.found = [one for one in complaints.found if "net::ERR" not in one]


def test_the_end_of_the_run_is_shown(cup: Cup, open_page: OpenPage):  # the last test: it ends the run
    page = open_page(cup.url)
    state_of(page, "running")
    cup.run.send_signal(signal.SIGTERM)
    state_of(page, "interrupted")
    page.get_by_text("flagfall tournament with --resume continues it").wait_for(timeout=SOON)
    page.get_by_text("No match is being played.").wait_for(timeout=SOON)
    assert cup.run.wait(60) == 128 + signal.SIGTERM
