"""Worlds of different kinds in a real browser, with the words of their tasks, and who has won."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from flagfall import run
from flagfall.events import MatchEnded, SeatDisqualified, TaskEnded, TaskStarted, TurnPlayed
from flagfall.viewer.replay.page import replay_page
from tests.viewer.browser import (
    NARROW,
    SCHEMES,
    OpenPage,
    Screenshots,
    check_accessibility,
    check_width,
    in_schemes,
)
from tests.viewer.journals import header, write
from tests.viewer.recorded import picture_of, record
from tests.viewer.test_replay_page import MINUS, shown, wait_for_turn

if TYPE_CHECKING:
    from playwright.sync_api import Page

HANDS = """
from gymnasium.spaces import Discrete
from flagfall.tasks import StepResult, Task

class Hands(Task):
    players = ("left", "right")
    observation_space = Discrete(4)
    action_space = Discrete(3)
    nil_action = 0
    max_steps = 5

    def _reset(self, seed):
        return {"left": 3, "right": 3}

    def _step(self, hands):
        left, right = hands["left"], hands["right"]
        won = {0: 0.0, 1: 1.0, 2: -1.0}[(left - right) % 3]
        return StepResult({"left": right, "right": left}, {"left": won, "right": -won}, False, False, {})

    def reached_terminal_state(self):
        return False

    def describe_action(self, action, player=None):
        return ("rock", "paper", "scissors")[action]

    def describe_observation(self, observation, player=None):
        return f"{player} saw " + ("rock", "paper", "scissors", "nothing")[observation]

class Murmur(Hands):
    players = ("player",)
    observation_space = action_space = Discrete(256)
    nil_action = 32
    continuous = True
    max_steps = 6
    describe_action = Task.describe_action
    describe_observation = Task.describe_observation

    def _reset(self, seed):
        return 65

    def _step(self, action):
        return StepResult(66, 0, False, False, {})
"""


@pytest.fixture
def hands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A match of a task of the user's own, whose file lies in the working directory."""
    (tmp_path / "hands.py").write_text(HANDS)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "hands.jsonl"
    agents = [lambda _: 1, Repeating(0, 2, 1, 0, 0)]
    run("hands.py:Hands", agents, scheduler="sequential:2", clock="virtual", journal=path)
    return path


class Repeating:
    """Plays the same actions again and again."""

    def __init__(self, *actions: int) -> None:
        self._actions = actions
        self._turns = 0

    async def act(self, _observation: Any) -> int:
        self._turns += 1
        return self._actions[(self._turns - 1) % len(self._actions)]


def page_of(
    journal: Path, open_page: OpenPage, fragment: str = "", *, trust: bool = False, **options: Any
) -> Page:
    """Open the page of a journal, at `#turn=...` if that is given."""
    path = journal.with_suffix(".html")
    path.write_bytes(replay_page(journal, trust=trust))
    page = open_page(f"{path.as_uri()}{fragment}", **options)
    page.locator("body[data-turn]").wait_for(state="attached")
    return page


def row_of(page: Page, name: str) -> list[str]:
    """Return the cells of the row of a turn in the table."""
    row = page.locator(".turn-table tbody tr", has=page.get_by_role("button", name=name, exact=True))
    return [cell.strip() for cell in row.locator("td").all_inner_texts()]


def result_of(page: Page) -> str:
    return page.locator(".result").inner_text()


def test_a_task_of_the_user_is_a_table_of_all_seats(hands: Path, open_page: OpenPage) -> None:
    page = page_of(hands, open_page)
    assert page.locator("canvas.tape, canvas.picture").count() == 0
    assert row_of(page, "0") == ["3", "1", "1", "3", "0", f"{MINUS}1"]
    assert row_of(page, "1") == ["0", "1", f"{MINUS}1", "1", "2", "1"]
    assert (shown(page, "action", 1), shown(page, "observation", 1)) == ("0", "3")
    assert "need --trust" in page.locator(".world .notice").inner_text()
    page.locator(".turn-table tbody tr").nth(3).click()
    wait_for_turn(page, 3)
    assert page.locator("tr[aria-current=true]").inner_text().split()[0] == "3"


def test_a_task_that_is_trusted_gives_names(hands: Path, open_page: OpenPage) -> None:
    page = page_of(hands, open_page, trust=True)
    assert row_of(page, "1") == ["left saw rock", "paper", f"{MINUS}1", "right saw paper", "scissors", "1"]
    assert shown(page, "action", 1).split() == ["rock", "0"]
    assert shown(page, "observation") == "left saw nothing"
    assert page.locator(".seat-card h3").nth(1).inner_text().startswith("Seat 1 · right · ")
    assert "(seat 0, left) wins: 2 of 2 episodes" in result_of(page)
    assert page.locator(".task-table tbody tr").all_inner_texts() == [
        f"Hands\t{first}\t5\tseat 0 wins\t2 : {MINUS}2\ttruncated" for first in (0, 5)
    ]
    assert page.locator(".world .notice").is_hidden()


def test_the_end_of_each_task_is_a_row_and_the_end_key_leads_to_the_last(
    hands: Path, open_page: OpenPage
) -> None:
    page = page_of(hands, open_page, "#turn=4")
    wait_for_turn(page, 4)
    page.keyboard.press("ArrowRight")
    wait_for_turn(page, 4, end=True)
    ended = page.locator("tr[aria-current=true]").inner_text()
    assert ended.split() == f"End seat 0 wins truncated · reward 2 : {MINUS}2 · 5 steps".split()
    page.keyboard.press("ArrowRight")
    wait_for_turn(page, 5)
    page.keyboard.press("End")
    wait_for_turn(page, 9, end=True)
    assert page.locator(".turn h2").inner_text() == "After turn 9"
    page.locator("input.scrub").fill("9")
    wait_for_turn(page, 9)
    page.locator("input.scrub").fill("10")
    wait_for_turn(page, 9, end=True)
    page.keyboard.press("Home")
    page.get_by_role("button", name="Last turn").click()
    wait_for_turn(page, 9, end=True)


def test_real_pace_stops_after_the_last_turn(hands: Path, open_page: OpenPage) -> None:
    page = page_of(hands, open_page, "#turn=3")
    wait_for_turn(page, 3)
    page.keyboard.press("p")
    page.keyboard.press(" ")
    wait_for_turn(page, 9, end=True)
    page.get_by_role("button", name="Play", exact=True).wait_for()


def test_a_continuous_task_of_the_user_is_a_tape_once_it_is_executed(
    hands: Path, open_page: OpenPage
) -> None:
    path = hands.with_name("murmur.jsonl")
    run("hands.py:Murmur", Repeating(67), scheduler="sequential:1", clock="virtual", journal=path)
    page = page_of(path, open_page, trust=True)
    page.locator("canvas.tape").wait_for()
    assert shown(page, "observation") == "65  “A”"
    untrusted = page_of(path, open_page)
    assert untrusted.locator("canvas.tape").count() == 0
    assert row_of(untrusted, "1") == ["66", "67", "0"]


def test_the_final_position_and_the_winner_of_a_game(open_page: OpenPage, tmp_path: Path) -> None:
    if importlib.util.find_spec("pettingzoo") is None:
        pytest.skip("PettingZoo is not installed")
    agents = [Repeating(3), Repeating(0, 1, 2)]
    game = record(
        tmp_path / "game.jsonl",
        "pettingzoo:classic/connect_four_v3",
        agents,
        steps=99,
        scheduler="sequential:1",
    )
    last = max(game.end)
    page = page_of(game.path, open_page)
    page.keyboard.press("End")
    wait_for_turn(page, last, end=True)
    assert np.array_equal(picture_of(page.locator("canvas.picture")), game.end[last])
    assert re.search(r"\(seat 0.*\) wins$", result_of(page))
    scores = page.locator(".scores li").all_inner_texts()
    assert [score.split()[-1] for score in scores] == ["1", f"{MINUS}1"]
    assert shown(page, "reward", 0) == "1"
    page.keyboard.press("ArrowLeft")
    wait_for_turn(page, last)
    assert np.array_equal(picture_of(page.locator("canvas.picture")), game.before[last])
    page.keyboard.press("Home")
    page.keyboard.press("r")
    wait_for_turn(page, last - 1)
    assert shown(page, "reward", 1) == f"{MINUS}1"
    page.keyboard.press("r")
    wait_for_turn(page, last)


def test_a_world_of_text_has_its_end(open_page: OpenPage, tmp_path: Path) -> None:
    agents = ["random", "random"]
    path, task = tmp_path / "heaps.jsonl", "duel:heaps"
    heaps = record(path, task, agents, steps=50, mode="ansi", scheduler="sequential:1", seed=3)
    page = page_of(heaps.path, open_page)
    page.keyboard.press("End")
    wait_for_turn(page, max(heaps.end), end=True)
    assert page.locator(".world-text").inner_text().strip() == str(heaps.end[max(heaps.end)]).strip()


def match_of(path: Path, seats: int, reason: Any, *ends: TaskEnded, out: int | None = None) -> Path:
    """Write a match in which each task has a turn."""
    events: list[Any] = [header(seats)]
    for index, end in enumerate(ends):
        events.append(TaskStarted(index, end.task, index, 5))
        events += [TurnPlayed(index, index, "x", 0, "y", seat=seat) for seat in range(seats)]
        events.append(end)
    if out is not None:
        events.append(SeatDisqualified(9, out, "late"))
    return write(path, [*events, MatchEnded(9, reason, len(ends))])


def ended(result: bool | None = None, *rewards: float, reason: str = "finished") -> TaskEnded:
    several = rewards if len(rewards) > 1 else ()
    return TaskEnded(9, "goal", 0, result, sum(rewards), 1, reason, rewards=several)


@pytest.mark.parametrize(
    ("seats", "reason", "ends", "out", "text"),
    [
        (1, "finished", [ended(True, 2), ended(False), ended(True, 1)], None,
         "solved 2 of 3 tasks · reward 3"),
        (1, "finished", [ended(None, 7)], None, "reward 7"),
        (1, "steps", [ended(None, 7), ended(None, 1, reason="cut")], None, "reward 8 in 2 episodes"),
        (2, "finished", [ended(None, 1, 1)], None, "draw"),
        (3, "finished", [ended(None, 1, 0, 1)], None, "draw of seat 0, seat 2"),
        (2, "finished", [ended(None, 0, 3), ended(None, 1, 0)], None,
         "agent 1 (seat 1) wins: 1 of 2 episodes"),
        (2, "finished", [ended(None, 0, 3), ended(None, 2, 2)], None,
         "agent 1 (seat 1) wins: 1 of 2 episodes, 1 drawn"),
        (2, "void", [ended(None, 1, 0)], None, "no winner: the match is void"),
        (2, "finished", [ended(None, 3, 0)], 0, "agent 1 (seat 1) wins: all others were disqualified"),
    ],
)  # fmt: skip
def test_the_head_says_how_a_match_ended(
    tmp_path: Path,
    open_page: OpenPage,
    seats: int,
    reason: str,
    ends: list[TaskEnded],
    out: int | None,
    text: str,
) -> None:
    path = match_of(tmp_path / "a.jsonl", seats, reason, *ends, out=out)
    page = page_of(path, open_page)
    assert result_of(page) == text
    assert ("disqualified: late" in page.locator(".heading").inner_text()) == (out is not None)


def test_sums_of_rewards_that_no_number_holds_are_drawn(open_page: OpenPage, tmp_path: Path) -> None:
    rewards = [0, 1e308, 1e308, 1e308, -1e308, -1e308, -1e308, -1e308]
    lines = [TurnPlayed(turn, turn, "x", reward, 0) for turn, reward in enumerate(rewards)]
    path = write(tmp_path / "a.jsonl", [header(), TaskStarted(0, "much", 0, 5), *lines, ended(None, -1e308)])
    labels = page_of(path, open_page).locator("svg.rewards text")
    assert labels.count() == 2
    assert not re.search("Infinity|NaN", " ".join(labels.all_text_contents()))
    assert all(float(label.get_attribute("y") or "nan") >= 0 for label in labels.all())


def test_tables_of_many_seats_scroll_by_themselves(
    tmp_path: Path, open_page: OpenPage, screenshot: Screenshots
) -> None:
    lines = [
        TurnPlayed(turn, turn, "a long text " * 20, 0.125, [turn, seat], seat=seat)
        for turn in range(30)
        for seat in range(12)
    ]
    end = TaskEnded(99, "crowd", 0, None, 12.0, 30, rewards=(1.0,) * 12)
    path = write(tmp_path / "a.jsonl", [header(12), TaskStarted(0, "crowd", 0, 5), *lines, end])
    page = page_of(path, open_page, "#turn=20", width=NARROW)
    wait_for_turn(page, 20)
    assert (
        page.locator("h1").inner_text().startswith("agent 0 vs agent 1 vs agent 2 vs agent 3 and 8 more on")
    )
    for scheme in in_schemes(page, SCHEMES):
        check_accessibility(page)
        check_width(page)
        screenshot(page, f"replay-crowd-{NARROW}-{scheme}", full_page=True)
