"""Thresholds of the garbage collector follow the number of open matches, and are restored."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import partial

import pytest
import trio

from flagfall.agents.hosts.this_process import LoopHost
from flagfall.kernel.match import play_match
from flagfall.timing import TimeControl, VirtualClock
from flagfall.timing.timekeeper import OBJECTS_PER_MATCH, CollectorThresholds
from tests.fakes import CountTask, ListScheduler

MATCHES = 200


@pytest.fixture(autouse=True)
def _default_thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_the_youngest_threshold_follows_the_open_matches():
    thresholds = CollectorThresholds()
    seen = []
    for _ in range(MATCHES):
        thresholds.match_opened()
        seen.append(gc.get_threshold()[0])
    assert seen == [max(700, OBJECTS_PER_MATCH * (n + 1)) for n in range(MATCHES)]
    for _ in range(MATCHES):
        assert gc.get_threshold()[0] == seen.pop()
        thresholds.match_closed()
    assert gc.get_threshold() == (700, 10, 10)


def test_a_collector_that_is_off_stays_off():
    gc.set_threshold(0)
    thresholds = CollectorThresholds()
    for _ in range(MATCHES):
        thresholds.match_opened()
    assert gc.get_threshold()[0] == 0


def test_higher_thresholds_are_not_lowered():
    gc.set_threshold(100_000, 50, 100)
    thresholds = CollectorThresholds()
    for _ in range(MATCHES):
        thresholds.match_opened()
    assert gc.get_threshold() == (100_000, 50, 100)


def test_thresholds_that_the_program_sets_meanwhile_stay():
    thresholds = CollectorThresholds()
    for _ in range(MATCHES):
        thresholds.match_opened()
    gc.set_threshold(5_000, 3, 3)
    for _ in range(MATCHES):
        thresholds.match_closed()
    assert gc.get_threshold() == (5_000, 3, 3)
    thresholds.match_opened()
    thresholds.match_closed()
    assert gc.get_threshold() == (5_000, 3, 3)


@pytest.mark.parametrize("limit", ["20ms", "60ms"], ids=["late", "timely"])
def test_turns_that_wait_cause_no_collection(limit: str):
    """Each round of turns makes some thirty objects a match and frees them, which is no garbage."""
    collections = 0

    def count(phase: str, _info: dict[str, int]) -> None:
        nonlocal collections
        collections += phase == "stop"

    async def act(_observation: int) -> int:
        await trio.sleep(0.04)
        return 1

    async def main() -> None:
        over = trio.Event()
        control = TimeControl.parse(f"act={limit}/1h")
        async with trio.open_nursery() as nursery:
            for seed in range(MATCHES):
                match = partial(
                    play_match,
                    ListScheduler([CountTask(10**9)]),
                    [LoopHost(act, "a")],
                    control=control,
                    seed=seed,
                )
                nursery.start_soon(partial(match, sinks=[], stop=over))
            await trio.sleep(0.1)
            gc.callbacks.append(count)
            await trio.sleep(1)
            gc.callbacks.remove(count)
            over.set()

    gc.collect()
    trio.run(main, clock=VirtualClock())
    assert collections <= 1
    assert gc.get_threshold() == (700, 10, 10)
