"""Ticks per second of the learning track end to end: a client in its own process, over TCP, under the clock.

The client parses every state as JSON; the match is recorded. The games are three of those that come with
flagfall, or with `VGDL_GAMES=FOLDER` the public games in that folder.
"""

from __future__ import annotations

__all__ = ["SUITE"]

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import trio

from benchmarks.measure import Row, reduced, skipped
from benchmarks.suites import Suite, by_name
from benchmarks.vgdl import PUBLIC_GAMES, absent_game
from flagfall.gvgai.play_track import TrackTimes
from flagfall.gvgai.server import TrackServer
from flagfall.tasks.vgdl.learning_track import TrackRules
from flagfall.tasks.vgdl.learning_track_setup import TrackSetup

OWN: Final = ("windfall", "cinders", "glacier")
SECONDS: Final = 5
ROUNDS: Final = 3
CLIENT: Final = Path(__file__).with_name("gvgai_client.py")


async def _session(game: str, seconds: float, journal: Path | None) -> dict[str, Any]:
    times, rules = TrackTimes.of(TrackRules(), training_ns=round(seconds * 1e9))
    server = TrackServer(TrackSetup(game, rules), times.control, port=0, journal=journal)
    async with trio.open_nursery() as nursery:
        port = await nursery.start(server.run)
        client = await trio.run_process([sys.executable, str(CLIENT), str(port)], capture_stdout=True)
    result = server.sessions[0].result
    assert result is not None
    assert result.reason == "finished", result.seats[0].detail
    figures: dict[str, Any] = json.loads(client.stdout)
    return figures | {"late": result.seats[0].stats.late}


def track(scale: int) -> Iterator[Row]:
    """Measure sessions with and without a journal.

    Args:
        scale: divides the amount of work.
    """
    folder = os.environ.get("VGDL_GAMES")
    public = [str(Path(folder) / f"{name}.txt") for name in PUBLIC_GAMES] if folder else []
    for game in public or OWN:
        if public and not Path(game).exists():
            yield skipped(f"{Path(game).stem}, all rows", absent_game(Path(game)))
            continue
        for recorded in (True, False):
            best: dict[str, Any] = {}
            for _ in range(reduced(ROUNDS, scale)):
                with tempfile.TemporaryDirectory() as folder:
                    journal = Path(folder) / "track.jsonl" if recorded else None
                    figures = trio.run(_session, game, SECONDS / scale, journal)
                best = max(best, figures, key=lambda one: one["ticks"] / one["seconds"] if one else 0.0)
            rate = best["ticks"] / best["seconds"]
            size = best["bytes"] / best["ticks"] / 1000
            yield Row(
                f"{Path(game).stem}, ticks over TCP, {'with' if recorded else 'without'} a journal",
                f"{rate:,.0f}/s of {size:.0f} kB",
            )


SUITE = Suite("the learning track over TCP", by_name(track))
