"""A replay under another clock: the page's judgement beside Python's, and limits moved in a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np
import pytest
import trio

from flagfall import TimeControl, run
from flagfall.errors import UsageError
from flagfall.events import MatchEnded, SeatReady, TaskEnded, TaskStarted, TurnPlayed, Verdict
from flagfall.recording.seat_times import VERDICTS, MatchTimes, read_times
from flagfall.recording.what_if import judge_match
from flagfall.timing import Budget
from flagfall.timing.budget import Limits, Reading, verdict_of
from flagfall.timing.durations import MS, NEVER_NS, US
from flagfall.viewer.pages import bundle
from flagfall.viewer.replay.page import replay_page
from flagfall.viewer.replay.recorded_match import whole_match
from tests.viewer.browser import (
    NARROW,
    WIDE,
    OpenPage,
    Screenshots,
    check_accessibility,
    check_width,
    in_schemes,
)
from tests.viewer.journals import OLD_JOURNALS, bytes_match, header, write
from tests.viewer.recorded import picture_of
from tests.viewer.test_replay_page import serving, wait_for_turn

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

LIMITS: Final = ("act", "act_hard", "act_abort", "bank", "increment", "total", "grace")


def drawn_control(random: Random, **fixed: Any) -> TimeControl:
    """Return a random time control, of limits about as long as the turns here."""
    while True:
        fields: dict[str, Any] = {
            name: random.choice([0, US, random.randrange(30 * MS), random.randrange(400 * MS)])
            for name in LIMITS
            if random.random() < (0.75 if name == "act" else 0.35)
        }
        if random.random() < 0.2:
            fields["late"] = random.choice(["nil", "out"])
        try:
            return TimeControl(**fields | fixed)
        except UsageError:
            continue


def in_script(page: Page, entry: str, function: str, argument: Any) -> Any:
    """Call a function beside a module of the page's scripts."""
    return page.evaluate(f"(argument) => {{ {bundle(entry)}\nreturn ({function})(argument); }}", argument)


BUDGETS = """(cases) => cases.map(({ control, start, turns }) => {
  const budget = new Budget(control);
  budget.chargeStart(start);
  return turns.map((spent) => {
    const { soft, hard, abort } = budget.limits();
    const limits = { soft, hard, abort };
    const verdicts = [true, false].map((isAbortable) => verdictOf(spent, limits, isAbortable));
    budget.charge(spent);
    return [...verdicts, [soft, hard, abort].map((one) => (one === Infinity ? null : one)), budget.bank];
  });
})"""


def test_budgets_and_verdicts_are_those_of_matches(page: Page) -> None:
    random = Random(1)
    cases = []
    expected = []
    for _ in range(1_000):
        control = drawn_control(random)
        limits = [limit for limit in attrs.astuple(control)[:-2] if limit is not None] or [0]
        turns = [
            random.choice(
                [random.choice(limits), random.randrange(40 * MS), max(0, random.choice(limits) - 1)]
            )
            for _ in range(12)
        ]
        start = random.randrange(100 * MS)
        cases.append({"control": attrs.asdict(control), "start": start, "turns": turns})
        expected.append(list(judged(control, start, turns)))
    assert in_script(page, "replay/budget.js", BUDGETS, cases) == expected
    found = {row[0] for rows in expected for row in rows}
    assert found == {"on time", "late", "overrun", "disqualified"}


def judged(control: TimeControl, start: int, turns: list[int]) -> Iterator[list[Any]]:
    """Yield verdicts with and without an action that aborts, limits, and the bank after each turn."""
    budget = Budget(control)
    budget.charge("start", start)
    for spent in turns:
        soft, hard, abort = budget.limits("act")
        limits = Limits(soft, hard, hard, abort)
        verdicts = [verdict_of(Reading(spent, 0, spent), limits, abortable=can) for can in (True, False)]
        budget.charge("act", spent)
        finite = [None if limit == NEVER_NS else limit for limit in (soft, hard, abort)]
        yield [*verdicts, finite, budget.bank_ns]


class Sleeper:
    """Plays at random, after a random time."""

    def __init__(self, seed: int, mean_ms: float = 12) -> None:
        self._random = Random(seed)
        self._mean_ms = mean_ms

    async def act(self, _observation: Any) -> Any:
        await trio.sleep(self._random.expovariate(1000 / self._mean_ms))
        return "no action" if self._random.random() < 0.02 else self._random.randrange(3)


def moved(random: Random, control: TimeControl) -> TimeControl:
    """Return a time control with other limits, of those that the page can change."""
    fixed = attrs.asdict(control)
    for name in ("act", "act_hard", *([] if control.act_abort is None else ["act_abort"])):
        del fixed[name]
    if control.bank is not None:
        del fixed["bank"], fixed["increment"]
    return drawn_control(random, **fixed)


CONTROLS: Final = (
    "act=10s",
    "act=20ms/10s",
    "act=20ms/60ms",
    "act=15ms/10s act_abort=30ms",
    "act=25ms late=out",
    "bank=1s+5ms",
    "act=10ms bank=200ms+2ms",
    "act=10ms/50ms bank=200ms",
    "act=30ms/2s total=900ms+100ms",
    "untimed",
)


def play(path: Path, control: str, seed: int) -> Path:
    task, seats = ("duel:lamps", 2) if seed % 2 else ("vgdl:windfall#0", 1)
    agents: list[Any] = [Sleeper(10 * seed + seat) for seat in range(seats)]
    run(task, agents, steps=80, clock="virtual", journal=path, time_control=control, seed=seed)
    return path


JUDGEMENTS = """async ({ summary, chunks, controls }) => {
  const survey = async (isWanted, take) => chunks.forEach((raw, k) => isWanted(k) && take({ raw }, k));
  const store = { summary, span: summary.turn_span, survey };
  const times = new RecordedTimes(store, () => {});
  await times.read();
  return controls.map((control) => {
    const { first, seats } = new Judgement(times, control);
    const facts = ({ late, out, perhapsOut, wasOut }) => ({ late, out, perhapsOut, wasOut });
    return { first, seats: seats.map(facts) };
  });
}"""


def page_judgements(page: Page, path: Path, controls: list[TimeControl]) -> list[dict[str, Any]]:
    """Return what the page's script finds under some time controls."""
    with whole_match(path) as match:
        summary = match.summary()
        chunks = [match.chunk(number) for number in range(len(summary["chunks"]))]
    argument = {"summary": summary, "chunks": chunks, "controls": [attrs.asdict(one) for one in controls]}
    found: list[dict[str, Any]] = in_script(page, "replay/judging.js", JUDGEMENTS, argument)
    return found


@pytest.mark.parametrize("control", CONTROLS)
def test_the_first_change_is_that_of_what_if(control: str, page: Page, tmp_path: Path) -> None:
    known = 0
    for seed in range(4):
        random = Random(seed)
        times = read_times(play(tmp_path / f"{seed}.jsonl", control, seed))
        others = [times.control, *(moved(random, times.control) for _ in range(60))]
        own, *found = page_judgements(page, tmp_path / f"{seed}.jsonl", others)
        assert own["first"] is None, "under its own limits a match is as it was"
        for seat, recorded in zip(own["seats"], times.seats, strict=True):
            late = sum(VERDICTS[code] in {"late", "overrun"} for code in recorded.verdict)
            assert seat["late"]["recorded"] == late
            assert seat["late"]["least"] == seat["late"]["most"] == late
            assert seat["out"] == seat["wasOut"]
            assert seat["perhapsOut"] is None
        for other, one in zip(others[1:], found, strict=True):
            known += is_same_change(times, other, one)
    assert known > 100, "most changes are known, not only bounded"


@pytest.mark.parametrize("path", OLD_JOURNALS, ids=attrgetter("name"))
def test_recorded_journals_are_as_they_were_under_their_own_limits(path: Path, page: Page) -> None:
    times = read_times(path)
    if times.header.tick_ns is not None:
        pytest.skip("at real-time pace the page judges nothing")
    random = Random(1)
    others = [times.control, *(moved(random, times.control) for _ in range(10))]
    own, *found = page_judgements(page, path, others)
    assert own["first"] is None
    for other, one in zip(others[1:], found, strict=True):
        is_same_change(times, other, one)


def is_same_change(times: MatchTimes, control: TimeControl, found: dict[str, Any]) -> bool:
    """Compare the first change with that of `what-if`; the page may know less, and never anything else."""
    expected = judge_match(times, control)
    first = found["first"]
    if first is None:
        assert expected.changed is None, (str(control), expected)
        return True
    at = first["turn"]
    assert expected.changed is None or at <= expected.changed, (str(control), first, expected)
    if first["verdict"] == "unknown":
        return False
    seat = next(number for number, one in enumerate(expected.seats) if one.changed == expected.changed)
    one = expected.seats[seat]
    assert (at, first["seat"], first["recorded"]) == (expected.changed, seat, one.before), (
        str(control),
        expected,
    )
    assert one.after in {first["verdict"], "unknown"}
    return bool(one.after == first["verdict"])


def spent_in_order(*spent: int) -> Iterator[Any]:
    """Yield a match of one seat under 40 ms and 1 s, with turns of these times; those over 40 ms are late."""
    yield header()
    yield SeatReady(10, 0, 10, "task")
    yield TaskStarted(20, "micro1", 0, 5)
    for turn, ns in enumerate(spent):
        verdict: Verdict = "late" if ns >= 40 * MS else "on time"
        yield TurnPlayed(50 * MS * (turn + 1), turn, 65, 0, 32, spent_ns=ns, verdict=verdict)
    yield TaskEnded(50 * MS * len(spent), "micro1", 0, None, 0, len(spent), "cut")
    yield MatchEnded(50 * MS * len(spent), "steps", len(spent))


SPENT: Final = [MS * ms for ms in (2, 3, 12, 5, 40, 30, 8, 25, 3, 40, 18, 6)]


@pytest.fixture
def replay(tmp_path: Path) -> Path:
    """The page of a match with `SPENT`."""
    path = tmp_path / "match.html"
    path.write_bytes(replay_page(write(tmp_path / "match.jsonl", spent_in_order(*SPENT))))
    return path


def opened(open_page: OpenPage, path: Path, **options: Any) -> Page:
    page = open_page(path, **options)
    wait_for_turn(page, 0)
    page.get_by_role("button", name="Under another clock").click()
    page.locator(".limit-field").first.wait_for()
    return page


def words(page: Page) -> Locator:
    return page.locator(".other-clock").last


def wait_for_counts(page: Page, text: str) -> None:
    words(page).get_by_text(text, exact=True).wait_for()


def set_limit(page: Page, name: str, text: str) -> None:
    field = page.get_by_label(f"{name} as text")
    field.fill(text)
    field.press("Enter")


def test_limits_are_set_by_text_and_put_back(replay: Path, open_page: OpenPage) -> None:
    page = open_page(replay)
    wait_for_turn(page, 0)
    lane = page.locator("canvas.lane")
    before = picture_of(lane)
    page.keyboard.press("u")
    wait_for_counts(page, "late: 2 recorded, 2 under act=40ms/1s")
    assert np.array_equal(picture_of(lane), before), "under its own limits the lane is as it was"
    set_limit(page, "Limit (act)", "12 ms")
    wait_for_counts(page, "late: 2 recorded, 6 under act=12ms/1s")
    changed = words(page).inner_text()
    assert "The first change is turn 2: on time in the match, late under these limits." in changed
    assert "Everything after it is unknown" in changed
    page.get_by_role("button", name="turn 2", exact=True).click()
    wait_for_turn(page, 2)
    set_limit(page, "Hard limit (act_hard)", "20ms")
    wait_for_counts(page, "late: 2 recorded, 1 under act=12ms/20ms; disqualified for turn 4")
    page.get_by_role("button", name="Limits of the match").click()
    wait_for_counts(page, "late: 2 recorded, 2 under act=40ms/1s")
    page.keyboard.press("Home")
    wait_for_turn(page, 0)
    assert np.array_equal(picture_of(lane), before)


def test_the_time_of_a_late_turn_is_a_bound(replay: Path, open_page: OpenPage) -> None:
    page = opened(open_page, replay)
    set_limit(page, "Limit (act)", "60ms")
    wait_for_counts(page, "late: 2 recorded, 0 to 2 under act=60ms/1s")
    assert "turn 4: late in the match, not known under these limits" in words(page).inner_text()
    assert page.locator(".legend").get_by_text("unknown").is_visible()
    set_limit(page, "Limit (act)", "none")
    wait_for_counts(page, "late: 2 recorded, 0 under act_hard=1s")


def test_a_limit_that_is_no_duration_is_refused_in_a_line(replay: Path, open_page: OpenPage) -> None:
    page = opened(open_page, replay)
    for text in ("soon", "-1ms", "1e3ms", "20", "<b>1ms</b>"):
        set_limit(page, "Limit (act)", text)
        page.get_by_role("alert").get_by_text("write a duration such as 20ms, or none").wait_for()
        wait_for_counts(page, "late: 2 recorded, 2 under act=40ms/1s")
    set_limit(page, "Limit (act)", "0.02s")
    wait_for_counts(page, "late: 2 recorded, 4 under act=20ms/1s")
    page.get_by_role("alert").wait_for(state="hidden")


def test_limits_are_dragged_by_key_and_pointer(replay: Path, open_page: OpenPage) -> None:
    page = opened(open_page, replay)
    slider = page.get_by_role("slider", name="Limit (act)")
    slider.focus()
    for key in ("PageDown", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    words(page).get_by_text(re.compile("The first change is")).wait_for()
    assert page.locator("body").get_attribute("data-turn") == "0", "the keys are those of the slider"
    check_counts(page)
    slider.press("End")
    wait_for_counts(page, "late: 2 recorded, 0 under act_hard=1s")
    page.get_by_role("button", name="Limits of the match").click()
    handle = page.locator(".limit-handle[data-limit=act]")
    box = handle.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    limits = []
    for step in range(1, 6):
        page.mouse.move(x, y + 3 * step)
        limits.append(check_counts(page))
    page.mouse.up()
    assert all(one > other for one, other in pairwise(limits)), "the lower the line, the shorter the limit"
    page.mouse.move(x, y)
    assert check_counts(page) == limits[-1], "the line stays where it was let go"
    assert page.locator("body").get_attribute("data-turn") == "0", "dragging a limit leads to no turn"


def check_counts(page: Page) -> int:
    """Compare the counts with the recorded times, and return the limit in nanoseconds."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    text = words(page).locator("li").inner_text()
    limit = TimeControl.parse(text.partition(" under ")[2]).act
    assert limit is not None
    assert text.startswith(f"late: 2 recorded, {sum(ns >= limit for ns in SPENT)} under ")
    return limit


def test_limits_are_dragged_by_touch(replay: Path, open_page: OpenPage) -> None:
    page = opened(open_page, replay, width=NARROW)
    handle = page.locator(".limit-handle[data-limit=act_hard]")
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    assert box is not None
    touch = page.context.new_cdp_session(page)
    points = [{"x": box["x"] + 100, "y": box["y"] + 7 + dy} for dy in (0, 5, 12)]
    for kind, at in (
        ("touchStart", points[:1]),
        ("touchMove", points[1:2]),
        ("touchMove", points[2:]),
        ("touchEnd", []),
    ):
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})
    words(page).get_by_text(re.compile(r"act=40ms/\d{3}ms")).wait_for()


def test_a_bank_can_be_changed(open_page: OpenPage, tmp_path: Path) -> None:
    events = list(spent_in_order(*[ms for ms in SPENT if ms < 40 * MS]))
    events[0] = header(time_control="bank=1s+5ms")
    path = tmp_path / "bank.html"
    path.write_bytes(replay_page(write(tmp_path / "bank.jsonl", events)))
    page = opened(open_page, path)
    wait_for_counts(page, "late: 0 recorded, 0 under bank=1s+5ms")
    set_limit(page, "Bank", "40ms")
    set_limit(page, "Increment", "1ms")
    # 2 + 3 + 12 + 5 of 40 ms, and four increments: 22 ms are left for a turn of 30 ms.
    wait_for_counts(page, "late: 0 recorded, 0 under bank=40ms+1ms; disqualified for turn 4")
    assert page.locator(".limit-handle:visible").count() == 0, "the limit of each turn is another one"


def test_a_long_match_is_judged_turn_by_turn(open_page: OpenPage, tmp_path: Path) -> None:
    turns = 30_000  # on time for as many nanoseconds as their number, but for every hundredth
    with serving(write(tmp_path / "long.jsonl", bytes_match(turns))) as url:
        page = open_page(url)
        wait_for_turn(page, 0)
        page.keyboard.press("u")
        set_limit(page, "Limit (act)", "20us")
        late = sum(turn % 100 == 0 or turn >= 20_000 for turn in range(turns))
        # The clock of turn 1 began while the agent was late with turn 0, and would have begun earlier.
        wait_for_counts(page, f"late: 300 recorded, {late:,} to {late + 1:,} under act=20us/1s")
        words(page).get_by_text("looked at").wait_for(state="hidden")


def test_real_time_pace_is_not_judged_again(open_page: OpenPage, tmp_path: Path) -> None:
    events = list(spent_in_order(*SPENT))
    events[0] = header(tick_ns=40 * MS)
    path = tmp_path / "paced.html"
    path.write_bytes(replay_page(write(tmp_path / "paced.jsonl", events)))
    page = open_page(path)
    wait_for_turn(page, 0)
    page.keyboard.press("u")
    page.get_by_text("At real-time pace the tick decides").wait_for()
    assert page.locator(".limit-field").count() == 0


def test_no_other_clock_is_offered_where_turns_took_no_time(open_page: OpenPage, tmp_path: Path) -> None:
    path = tmp_path / "timeless.html"
    path.write_bytes(replay_page(write(tmp_path / "timeless.jsonl", spent_in_order(0, 0, 0))))
    page = open_page(path)
    wait_for_turn(page, 0)
    page.keyboard.press("u")
    assert page.locator(".lanes button", has_text="Under another clock").is_hidden()
    assert words(page).is_hidden()


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_another_clock_looks_right(
    width: int, replay: Path, open_page: OpenPage, screenshot: Screenshots
) -> None:
    page = opened(open_page, replay, width=width)
    set_limit(page, "Limit (act)", "7ms")
    set_limit(page, "Hard limit (act_hard)", "30ms")
    wait_for_counts(page, "late: 2 recorded, 1 under act=7ms/30ms; disqualified for turn 4")
    for scheme in in_schemes(page):
        check_accessibility(page)
        check_width(page)
        screenshot(page, f"replay-other-clock-{width}-{scheme}", full_page=True)
