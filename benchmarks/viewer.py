"""Replays: the first view of a long journal, the size of the page of a game, and pictures per second.

Journals of 1,000,000 turns are written here. Each is opened in a process of its own, whose memory is read
from the operating system. Games are played by the random agent on the virtual clock. The baseline of a page
are the same pictures as PNG files, in base64; that of scrubbing is 60 pictures a second.
"""

from __future__ import annotations

__all__ = ["SUITE"]

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

from PIL import Image

from benchmarks.browser import find_browser
from benchmarks.measure import Row, reduced, skipped
from benchmarks.moving_slider import moving_slider
from benchmarks.suites import Suite, by_name
from benchmarks.vgdl import OWN, PUBLIC
from flagfall import read_journal, verify
from flagfall.events import ON_TIME, MatchEnded, MatchStarted, TaskStarted, TurnPlayed, TurnsPlayed
from flagfall.kernel.roles import TaskRole
from flagfall.playing import run
from flagfall.recording.journal.format import Sealer, encode
from flagfall.tasks.building import rebuild
from flagfall.tasks.catalog import make_task
from flagfall.viewer.pages import bundle
from flagfall.viewer.replay.execution import Execution
from flagfall.viewer.replay.page import replay_page, replay_parts

TURNS: Final = 1_000_000
GAME_TURNS: Final = 2_000
LONG_TURNS: Final = 100_000
LINE_TURNS: Final = 256
PUBLIC_GAMES: Final = ("survivezombies", "plants", "chopper")
"""Games whose pictures take most, of those that were tried."""

_DIGEST: Final = {"$digest": "9f3c" * 8, "bytes": 34_211}

_OPEN: Final = """
import sys, time
from flagfall.viewer.replay.recorded_match import RecordedMatch
began = time.perf_counter()
match = RecordedMatch(sys.argv[1])
match.summary_bytes()
match.chunk(0)
first = time.perf_counter() - began
match.read_all()
whole = time.perf_counter() - began
match.summary_bytes()
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(first, whole, int(peak.split()[1]) / 1024)
match.close()
"""
"""Shows the first view of a journal: seconds to it, seconds to its whole index, and the memory in MB."""


def _events(turns: int, control: str, *, plain: bool) -> Iterator[Any]:
    """Yield the events of a long match.

    Args:
        turns: the number of its turns.
        control: its time control.
        plain: the turns are plain ones of bytes; otherwise each has a digest, and a line of its own.
    """
    yield MatchStarted(
        0,
        schema=3,
        flagfall="0.1.0",
        tasks=["micro1"],
        scheduler="sequential",
        agents=["random"],
        seed=0,
        time_control=control,
        clock="wall",
    )
    yield TaskStarted(1, "micro1", 0, 5)
    random = Random(0)
    if plain:
        for first in range(0, turns, LINE_TURNS):
            count = min(LINE_TURNS, turns - first)
            seen, played = ([random.randrange(256) for _ in range(count)] for _ in range(2))
            spent = [random.randrange(800, 3000) for _ in range(count)]
            yield TurnsPlayed(first, [3000 * first, *[3000] * (count - 1)], seen, [0] * count, played, spent)
    else:
        for turn in range(turns):
            verdict: Any = "late" if turn % 1000 == 7 else ON_TIME
            yield TurnPlayed(3000 * turn, turn, _DIGEST, 0, 3, random.randrange(800, 3000), verdict=verdict)
    yield MatchEnded(3000 * turns, "steps", turns)


def _write(path: Path, events: Iterator[Any]) -> None:
    """Write a journal, with a seal after each 256 lines."""
    sealer = Sealer()
    held: list[bytes] = []
    with path.open("wb") as file:
        for event in events:
            held.append(encode(event) + b"\n")
            is_last = isinstance(event, MatchEnded)
            if len(held) == LINE_TURNS or is_last:
                text = b"".join(held)
                file.write(text + sealer.seal(text, len(held), last=is_last))
                held.clear()


def long_journal(scale: int) -> Iterator[Row]:
    """Measure the first view of journals of 1,000,000 turns.

    Args:
        scale: divides the amount of work.
    """
    kinds = {
        "plain": ("act=40ms/1s", True),
        "bank": ("bank=60s+0.6s", True),
        "a line each": ("act=40ms/1s", False),
    }
    turns = reduced(TURNS, scale)
    with tempfile.TemporaryDirectory() as folder:
        for kind, (control, plain) in kinds.items():
            path = Path(folder) / "long.jsonl"
            _write(path, _events(turns, control, plain=plain))
            words = [sys.executable, "-c", _OPEN, str(path)]
            shown = subprocess.run(words, capture_output=True, text=True, check=True)
            first, whole, memory = map(float, shown.stdout.split())
            name = f"1,000,000 turns, {kind}"
            yield Row(f"{name}: first view", f"{first:.2f} s", target="<= 1 s")
            yield Row(f"{name}: whole index", f"{whole:.2f} s")
            yield Row(f"{name}: memory", f"{memory:.0f} MB", target="<= 300 MB")


def _games() -> Iterator[tuple[str, str, Path | None]]:
    """Yield the name, the task and the folder of every game; `None` where the game is absent."""
    yield from ((name, f"vgdl:{name}#0", Path()) for name in OWN)
    folder = Path(os.environ.get("VGDL_GAMES", PUBLIC))
    for name in PUBLIC_GAMES:
        yield name, f"vgdl:{name}.txt#0", folder if (folder / f"{name}.txt").exists() else None


def _as_png(path: Path) -> int:
    """Return the length of the pictures of a match as PNG files in base64."""
    length = 0
    task: TaskRole | None = None
    for event in read_journal(path):
        if isinstance(event, TaskStarted):
            task = make_task(event.task)
            task.reset(event.seed)
        elif isinstance(event, TurnPlayed) and task is not None:
            file = io.BytesIO()
            Image.fromarray(task.render()).save(file, "PNG")  # type: ignore[attr-defined]  # this task draws
            length += 4 * len(file.getvalue()) // 3
            task.step(event.action)
    return length


def pages(scale: int) -> Iterator[Row]:
    """Measure the pages of games.

    Args:
        scale: divides the amount of work.
    """
    turns = reduced(GAME_TURNS, scale)
    with tempfile.TemporaryDirectory() as folder:
        for name, task, home in _games():
            if home is None:
                yield skipped(f"{name}, all rows", "its file is not in VGDL_GAMES")
                continue
            with contextlib.chdir(home):  # where the replay looks for a game that a journal names
                rows = _page_of(name, task, Path(folder) / f"{name}.jsonl", turns)
            yield from rows


def _page_of(name: str, task: str, path: Path, turns: int) -> tuple[Row, Row]:
    run(task, "random", clock="virtual", steps=turns, seed=1, journal=path)
    size, png = len(replay_page(path)), _as_png(path)
    execution = Execution(path, partial(rebuild, trust=False))
    began = time.perf_counter()
    execution.draw(0, turns)
    spent = time.perf_counter() - began
    execution.close()
    figures = f"{size / 1e6:.2f} MB", f"{png / 1e6:.2f} MB", f"{size / png:.2f}x"
    return (
        Row(f"{name}, page of 2,000 turns", *figures, "<= 5 MB"),
        Row(f"{name}, pictures made by execution", f"{turns / spent:,.0f}/s"),
    )


def long_page(scale: int) -> Iterator[Row]:
    """Measure how long the page of a match of 100,000 turns takes.

    Args:
        scale: divides the amount of work.
    """
    with tempfile.TemporaryDirectory() as folder:
        path, turns = Path(folder) / "long.jsonl", reduced(LONG_TURNS, scale)
        run(f"vgdl:{OWN[0]}#0", "random", clock="virtual", steps=turns, seed=1, journal=path)

        began = time.perf_counter()
        with path.with_suffix(".html").open("wb") as file:
            file.writelines(replay_parts(path))
        written = time.perf_counter()
        verify(path, partial(rebuild, trust=False))
        ours, theirs = written - began, time.perf_counter() - written
        figures = f"{ours:.1f} s", f"{theirs:.1f} s", f"{ours / theirs:.2f}x"
        yield Row("page of 100,000 turns, written with their pictures", *figures, "<= 30 s")


_SCRUB: Final = """async ([data, order]) => {
  const began = performance.now();
  const frames = await decodeFrames(Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0)));
  const decoded = performance.now();
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: frames.width, height: frames.height });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  for (const turn of order) frames.draw(context, turn);
  context.getImageData(0, 0, 1, 1);
  return [decoded - began, performance.now() - decoded];
}"""


def scrubbing(scale: int) -> Iterator[Row]:
    """Measure pictures drawn in any order by the browser.

    Args:
        scale: divides the amount of work.
    """
    drawn, decoding = "pictures drawn in any order by the browser", "decoding 1,000 pictures in the browser"
    path, missing = find_browser()
    if missing:
        yield skipped(drawn, missing)
        yield skipped(decoding, missing)
        return
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - few machines have it

    turns = reduced(1000, scale, 10)
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "game.jsonl"
        run(f"vgdl:{OWN[0]}#0", "random", clock="virtual", steps=turns, seed=1, journal=journal)
        execution = Execution(journal, partial(rebuild, trust=False))
        data = b64encode(execution.draw(0, turns - 1)).decode()
        execution.close()
    order = Random(0).choices(range(turns), k=turns * 4)
    flags = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        page = browser.new_page()
        page.add_script_tag(content=bundle("replay/frames.js"))
        decode_ms, draw_ms = page.evaluate(_SCRUB, [data, order])
        browser.close()
    rate = 1000 * len(order) / max(draw_ms, 0.1)
    yield Row(drawn, f"{rate:,.0f}/s", "60/s", f"{rate / 60:.0f}x", ">= 60/s")
    yield Row(decoding, f"{decode_ms * 1000 / turns:.0f} ms")


SUITE = Suite("replays of matches", by_name(long_journal, pages, long_page, scrubbing, moving_slider))
