"""The page of a replay in a headless browser while its slider moves, beside an empty page."""

from __future__ import annotations

__all__ = ["moving_slider"]

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from benchmarks.browser import find_browser
from benchmarks.measure import ROUNDS, Row, beside, reduced, skipped
from flagfall import run
from flagfall.viewer.replay.page import replay_page

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession, Page

TURNS: Final = 2000
MOVES: Final = 180
"""Moves of the slider in a round: three seconds at 60 frames a second."""

RATE: Final = "the page while its slider moves"
COST: Final = f"{RATE}, work a frame"

EMPTY: Final = "<!doctype html><title>Empty</title>"

SCRUB: Final = """async (moves) => {
  const slider = document.querySelector("input.scrub");
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const begun = await frame();
  let [now, drawn] = [begun, 0];
  for (let move = 1; move <= moves; move++) {
    const turn = slider && String(Math.round((1 - Math.cos((6.28 * move) / moves)) / 2 * Number(slider.max)));
    if (slider) {
      slider.value = turn;
      slider.dispatchEvent(new Event("input"));
    }
    now = await frame();
    drawn += !slider || document.body.dataset.turn === turn;
  }
  return (1000 * drawn) / (now - begun);
}"""
"""Frames a second in which the turn of the slider was drawn; in an empty page, all frames."""


def moving_slider(scale: int) -> Iterator[Row]:
    """Yield the speed of the page of a VGDL match.

    Args:
        scale: divides the turns and the rounds.
    """
    with TemporaryDirectory() as folder:
        journal, file = Path(folder) / "match.jsonl", Path(folder) / "match.html"
        run("vgdl:windfall#0", "random", steps=reduced(TURNS, scale), journal=journal, clock="virtual")
        file.write_bytes(replay_page(journal))
        yield from _in_browser(file, scale)


def _in_browser(file: Path, scale: int) -> Iterator[Row]:
    browser_path, missing = find_browser()
    if missing:
        yield from (skipped(name, missing) for name in (RATE, COST))
        return
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - not everywhere installed

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"]
        )
        page, empty = (browser.new_page(viewport={"width": 1280, "height": 900}) for _ in range(2))
        page.goto(file.as_uri())
        page.locator("body[data-turn]").wait_for(state="attached")
        empty.set_content(EMPTY)
        yield from _measured(page, empty, scale)
        browser.close()


def _measured(page: Page, empty: Page, scale: int) -> Iterator[Row]:
    moves = reduced(MOVES, scale, 10)

    def frames(one: Page) -> float:
        one.bring_to_front()
        return float(one.evaluate(SCRUB, moves))

    frames(page)  # decodes what a first pass decodes
    rounds = reduced(ROUNDS, scale)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    before = _main_thread(session)
    ours, theirs, ratio = beside(lambda: frames(page), lambda: frames(empty), rounds)
    cost = 1000 * (_main_thread(session) - before) / (moves * rounds)
    yield Row(RATE, f"{ours:.1f}/s", f"{theirs:.1f}/s", f"{ratio:.2f}", ">= 0.95 times")
    yield Row(COST, f"{cost:.1f} ms", target="<= 16.7 ms")


def _main_thread(session: CDPSession) -> float:
    """Return the seconds for which the main thread of a page has worked."""
    metrics: Mapping[str, Any] = session.send("Performance.getMetrics")
    return float(next(one["value"] for one in metrics["metrics"] if one["name"] == "TaskDuration"))
