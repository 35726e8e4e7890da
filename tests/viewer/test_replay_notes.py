"""Notes in a replay: beside their turn, and as a conversation of the whole match."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flagfall import run
from flagfall.events import MatchEnded, TaskStarted, TurnPlayed
from flagfall.kernel.notes import MAX_NOTE_BYTES
from flagfall.viewer.replay.page import replay_page
from flagfall.viewer.replay.recorded_match import RecordedMatch
from tests.viewer.browser import NARROW, SCHEMES, WIDE, OpenPage, check_accessibility, check_width, in_schemes
from tests.viewer.journals import bytes_match, header, write
from tests.viewer.test_replay_page import HOSTILE, LONG, SHOWN, serving, wait_for_turn

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

NOTES = 10_000
PROMPT = "\n".join(f"line {number} of the prompt" for number in range(30))


class Talker:
    """Notes in every second turn what a language model would."""

    def __init__(self) -> None:
        self._turn = 0

    def start(self, briefing: Any) -> None:
        self._note = briefing.note

    async def act(self, _observation: Any) -> int:
        turn, self._turn = self._turn, self._turn + 1
        if turn % 2 == 0:
            self._note(
                {
                    "answer": f'{{"action": {turn % 3}}}',
                    "prompt": PROMPT,
                    "seconds": 0.25,
                    "prompt_tokens": 1200,
                    "problem": "no JSON" if turn == 4 else "",
                    "tool_calls": [{"name": "look", "arguments": {"far": True}}],
                    "reasoning": f"thought {turn}",
                    "served by": "here",
                    "seeds": [1, 2],
                }
            )
        return turn % 3


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The replay of a match of two agents that note what they think, as a file."""
    folder = tmp_path_factory.mktemp("talk")
    run("duel:lamps", [Talker(), Talker()], steps=40, clock="virtual", journal=folder / "a.jsonl")
    page = folder / "a.html"
    page.write_bytes(replay_page(folder / "a.jsonl"))
    return page


def headings(place: Locator) -> list[str]:
    return place.locator(".text-head strong").all_inner_texts()


def long_talk() -> Iterator[Any]:
    """Yield the events of a match with a note on each turn of one seat of two."""
    yield header(2, "5ms/1s")
    yield TaskStarted(20, "pair", 0, 5)
    for turn in range(NOTES):
        note = {"prompt": f"question {turn}", "answer": f"Answer\N{NO-BREAK SPACE}{turn * 7}"}
        yield TurnPlayed(1000 * turn, turn, "x", 0, "y", 5, 0)
        yield TurnPlayed(1000 * turn, turn, "x", 0, "y", 5, 1, note=note)
    yield MatchEnded(1000 * NOTES, "steps", NOTES)


@pytest.fixture(scope="module")
def long_talk_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the replay of a match with many notes."""
    with serving(write(tmp_path_factory.mktemp("long") / "a.jsonl", long_talk())) as url:
        yield url


def test_a_note_stands_beside_its_turn_as_a_conversation(talk: Path, open_page: OpenPage) -> None:
    page = open_page(f"{talk.as_uri()}#turn=4")
    wait_for_turn(page, 4)
    note = page.locator(".seat-card .turn-note").first
    assert headings(note) == ["Prompt", "Reasoning", "Tool calls", "Answer", "Problem", "seeds"]
    texts = note.locator(".text-body").all_inner_texts()
    assert texts[0] == "\n".join(PROMPT.split("\n")[:8]) + "…"
    assert texts[1:5] == ["thought 4", 'look({\n  "far": true\n})', '{"action": 1}', "no JSON"]
    assert json.loads(texts[5]) == [1, 2]
    facts = note.locator(".note-facts li").all_inner_texts()
    assert facts == ["seconds 0.25", "prompt tokens 1,200", "served by here"]
    note.get_by_role("button", name="Show all").click()
    assert note.locator(".text-body").first.inner_text() == PROMPT
    note.get_by_role("button", name="Show less").click()
    assert note.locator(".text-body").first.inner_text().endswith("…")
    height = note.bounding_box()
    page.keyboard.press("ArrowRight")
    wait_for_turn(page, 5)
    assert note.inner_text() == "No note on this turn"
    assert note.bounding_box() == height, "the page below stays where it is"


def test_a_text_of_a_note_is_copied(talk: Path, open_page: OpenPage) -> None:
    page = open_page(f"{talk.as_uri()}#turn=4")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    wait_for_turn(page, 4)
    page.locator(".seat-card .turn-note").first.get_by_role("button", name="Copy").first.click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == PROMPT


def test_the_conversation_has_all_notes_and_marks_the_turn_shown(talk: Path, open_page: OpenPage) -> None:
    page = open_page(talk)
    wait_for_turn(page, 0)
    panel = page.get_by_role("region", name="Conversation")
    assert panel.locator("header").first.inner_text() == "Conversation\n40"
    entries = panel.locator(".conversation-list > li")
    assert entries.count() == 20
    assert panel.locator("li.current").count() == 2  # one of each seat
    panel.get_by_role("button", name="Later notes").click()
    panel.get_by_text("21 to 40").wait_for()
    panel.get_by_role("button", name="Turn 24").first.click()
    wait_for_turn(page, 24)
    assert set(
        panel.locator("li[aria-current]").evaluate_all("all => all.map((one) => one.dataset.turn)")
    ) == {"24"}
    panel.get_by_role("combobox", name="Notes of").select_option("1")
    panel.get_by_text("20 of 40", exact=True).wait_for()
    panel.get_by_role("searchbox").fill("THOUGHT 3")
    panel.get_by_text("5 of 40", exact=True).wait_for()  # 30, 32, 34, 36, 38
    panel.get_by_role("searchbox").fill("Line 25 of")
    panel.get_by_text("20 of 40", exact=True).wait_for()
    panel.get_by_text("line 25 of the prompt").first.wait_for()  # it is unfolded
    panel.get_by_role("searchbox").fill("no such text")
    panel.get_by_text("Nothing matches.").wait_for()


def test_a_search_goes_through_all_notes_of_a_long_match(long_talk_url: str, open_page: OpenPage) -> None:
    page = open_page(long_talk_url)
    wait_for_turn(page, 0)
    panel = page.get_by_role("region", name="Conversation")
    panel.get_by_text("10,000", exact=True).wait_for()
    assert panel.locator("li").count() <= 20
    panel.get_by_role("searchbox").fill(f"answer {9990 * 7}")
    panel.get_by_text("1 of 10,000", exact=True).wait_for()
    panel.get_by_role("button", name="Turn 9,990").click()
    wait_for_turn(page, 9990)
    page.locator(".seat-card .turn-note").get_by_text("question 9990").wait_for()
    panel.get_by_role("searchbox").fill("")
    panel.get_by_text("10,000", exact=True).wait_for()
    panel.get_by_role("button", name="Show this turn").click()
    panel.get_by_text("9,981 to 10,000").wait_for()
    panel.locator("li.current").get_by_text("question 9990").wait_for()
    place = "(one) => one.getBoundingClientRect().top"
    top = panel.locator(".conversation-list").evaluate(place)
    last = panel.locator("li").last.evaluate("(one) => one.getBoundingClientRect().bottom")
    shown = panel.locator("li.current").evaluate(place)
    assert top <= shown < last
    assert shown < top + panel.locator(".conversation-list").evaluate("(list) => list.clientHeight")


def test_a_match_without_notes_has_no_conversation(open_page: OpenPage, tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_bytes(replay_page(write(tmp_path / "a.jsonl", bytes_match(300))))
    page = open_page(path)
    wait_for_turn(page, 0)
    assert not page.get_by_role("region", name="Conversation").is_visible()
    assert not page.locator(".turn-note").first.is_visible()


def hostile_notes() -> list[Any]:
    """Return notes as no agent of a match can make them, or as a hostile one does."""
    deep: Any = HOSTILE
    for _ in range(200):
        deep = [deep]
    return [
        {"prompt": HOSTILE, HOSTILE: HOSTILE, "tool_calls": [{"name": HOSTILE, "arguments": None}, 5]},
        {"answer": LONG, "__proto__": {"prompt": "x"}, "constructor": "x", "tool_calls": {"function": None}},
        deep,
        HOSTILE,
        [1, None, {"a": HOSTILE}],
        2**70,
        {str(number): number for number in range(1000)},
        {"prompt": "\x1b\u202e" * 3000, "answer": "", "problem": None, "reasoning": []},
        {"prompt": ["\x00", {"role": "user"}], "seconds": True, "cost": 1e300},
        False,
    ]


@pytest.fixture(scope="module")
def hostile_talk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The replay of a journal with hostile notes, as a file."""
    folder = tmp_path_factory.mktemp("hostile")
    turns = [
        TurnPlayed(turn, turn, "x", 0, "y", note=note) for turn, note in enumerate(hostile_notes(), start=1)
    ]
    page = folder / "a.html"
    page.write_bytes(replay_page(write(folder / "a.jsonl", [header(), *turns])))
    return page


def test_hostile_notes_are_shown_as_text(hostile_talk: Path, open_page: OpenPage) -> None:
    assert hostile_talk.stat().st_size < 1_000_000
    page = open_page(hostile_talk)
    wait_for_turn(page, 1)
    notes = hostile_notes()
    panel = page.get_by_role("region", name="Conversation")
    entries = panel.locator(".conversation-list > li")
    entries.nth(len(notes) - 1).wait_for()
    assert entries.count() == len(notes)
    assert entries.first.inner_text().count(SHOWN) >= 3
    for turn in range(1, len(notes) + 1):
        wait_for_turn(page, turn)
        note = page.locator(".seat-card .turn-note")
        assert note.locator(".text-body, .note-facts").count()
        unfold_all(note)
        assert "\u202e" not in note.inner_text()
        page.keyboard.press("ArrowRight")
    unfold_all(panel)
    assert page.locator("img, iframe, object, embed").count() == 0
    assert page.locator("main script").count() == 0
    assert "\x1b" not in page.evaluate("document.body.innerText")
    assert page.evaluate("document.body.innerText.length") < 10 * MAX_NOTE_BYTES
    check_width(page)


def unfold_all(place: Locator) -> None:
    while place.get_by_role("button", name="Show all").count():
        place.get_by_role("button", name="Show all").first.click()


def test_a_note_of_a_match_is_whole_and_a_larger_one_is_cut(tmp_path: Path) -> None:
    whole = {"prompt": "x" * (MAX_NOTE_BYTES - 20), "n": 1}
    notes = [None, whole, {"prompt": "x" * MAX_NOTE_BYTES}, {"a": [[1.5, None, "\u20ac"]]}]
    turns = [TurnPlayed(turn, turn, "x", 0, "y", note=note) for turn, note in enumerate(notes)]
    match = RecordedMatch(write(tmp_path / "a.jsonl", [header(), *turns]))
    match.read_all()
    shown = match.chunk(0)["note"]
    assert [shown[0], shown[1], shown[3]] == [notes[0], notes[1], notes[3]]
    assert isinstance(shown[2], str)
    assert len(shown[2]) < 3000
    assert match.summary()["chunks"][0]["notes"] == [3]
    match.close()


def test_a_part_of_a_match_has_the_notes_of_its_turns(tmp_path: Path) -> None:
    journal = write(tmp_path / "a.jsonl", list(long_talk())[:2002])
    match = RecordedMatch(journal)
    match.read_all()
    assert [sum(chunk["notes"]) for chunk in match.summary()["chunks"]] == [512, 488]
    match.close()
    text = replay_page(journal, turns=(100, 109)).decode()
    summary = json.loads(text.partition('id="summary">')[2].partition("</script>")[0])
    assert [chunk["notes"] for chunk in summary["chunks"]] == [[0, 10]]
    assert [chunk["others"] for chunk in summary["chunks"]] == [0]


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_notes_are_accessible_and_fit(
    talk: Path, hostile_talk: Path, open_page: OpenPage, width: int
) -> None:
    for path in (talk, hostile_talk):
        page: Page = open_page(f"{path.as_uri()}#turn=4", width=width)
        wait_for_turn(page, 4)
        for _ in in_schemes(page, SCHEMES):
            check_accessibility(page)
            check_width(page)
