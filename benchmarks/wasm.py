"""Agents in WebAssembly beside the same ones natively: a turn, a start, work, verdicts on a busy machine."""

from __future__ import annotations

__all__ = ["SUITE"]

import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final

import trio

from benchmarks.echo_task import EchoTask, OneTask
from benchmarks.fuel_cup import CLOCKS, Cup, build_c_agent, burning, differences, played_turns
from benchmarks.measure import Row, percentile, reduced, skipped
from benchmarks.suites import Suite, by_name
from flagfall.agents.hosts.registry import host_agent
from flagfall.agents.wasm.building import check_installed
from flagfall.errors import UsageError
from flagfall.events import Event, SeatReady, TurnPlayed
from flagfall.kernel.hosting import LocalHostKind
from flagfall.kernel.match import play_match
from flagfall.kernel.outcomes import StepResult
from flagfall.timing import TimeControl, VirtualClock
from flagfall.timing.latency import SeatLatency

TURNS: Final = 2_000
STARTS: Final = 50
ROUNDS: Final = 3
MATCHES: Final = 1_000
BURNERS: Final = 4
WORK: Final = ("arithmetic", "sorting", "texts")
AMOUNT: Final = 20
"""Work in a turn of the rows on overhead: some milliseconds, so that the round trip does not count."""

_FUEL: Final = SeatLatency.parse("fuel(1G/s)")
_CONTROL: Final = TimeControl.parse("start=1m act=1h")
_PYTHON: Final = str(Path(__file__).parent / "work_agent.py")


class _Amount(EchoTask):
    """Shows the same amount of work in every turn."""

    def __init__(self, amount: int) -> None:
        self._amount = amount

    def reset(self, seed: int) -> int:  # noqa: ARG002 - nothing is random in it
        """Begin an episode."""
        return self._amount

    def step(self, action: int) -> StepResult:  # noqa: ARG002 - any will do
        """Show the amount again."""
        return StepResult(self._amount)


class _OneAmount(OneTask):
    def __init__(self, amount: int) -> None:
        self._amount = amount

    def next_task(self) -> EchoTask:
        """Return the task."""
        return _Amount(self._amount)


def _measure(
    agent: str, host: LocalHostKind | None, *, turns: int, amount: int = 0
) -> tuple[float, list[float]]:
    """Play a match; return the CPU ms until the agent was ready, and the microseconds of each turn."""
    ready: list[int] = []
    ends: list[int] = []

    def sink(event: Event) -> None:
        if isinstance(event, SeatReady):
            ready.append(time.process_time_ns())
        elif isinstance(event, TurnPlayed):
            ends.append(time.perf_counter_ns())

    in_wasm = host == "wasm"
    play = partial(
        play_match,
        _OneAmount(amount),
        [host_agent(agent, host)],
        control=_CONTROL,
        steps=turns,
        sinks=[sink],
        think=[_FUEL] if in_wasm else (),
    )
    began = time.process_time_ns()
    trio.run(play, clock=VirtualClock() if in_wasm else None)
    return (ready[0] - began) / 1e6, [(later - sooner) / 1000 for sooner, later in pairwise(ends)]


def _why_not() -> str:
    """Return why no agent can be built here, or an empty text."""
    try:
        check_installed(python=True)
    except UsageError as error:
        return str(error)
    return "" if importlib.util.find_spec("ziglang") else "ziglang is not installed"


def _built(folder: Path, work: str) -> dict[str, tuple[str, str]]:
    """Return the texts of the native and the other agent with some work, by language."""
    for name in (work, f"{work}.wasm"):
        build_c_agent(work, folder / name)
    return {
        "C": (f"cmd:{folder / work}", str(folder / f"{work}.wasm")),
        "Python": (f"{_PYTHON}:{work}", f"{_PYTHON}:{work}"),
    }


def _natively(language: str) -> LocalHostKind | None:
    return "process" if language == "Python" else None


def round_trips(scale: int) -> Iterator[Row]:
    """Measure a turn of an agent that answers at once; the baseline is a Python agent in a process.

    Args:
        scale: divides the amount of work.
    """
    names = {language: f"round trip, in {language}, µs p50 / p99" for language in ("C", "Python")}
    starts = {language: f"CPU of the start of an agent in {language}, ms" for language in names}
    if why := _why_not():
        yield from (skipped(name, why) for name in (*names.values(), *starts.values()))
        return
    turns, count = reduced(TURNS, scale, 20), reduced(STARTS, scale, 3)
    with tempfile.TemporaryDirectory() as folder:
        agents = _built(Path(folder), "arithmetic")
        native = agents["Python"][0]
        for language, (_, agent) in agents.items():
            _measure(agent, "wasm", turns=2)  # compiles it
            ours: list[float] = []
            theirs: list[float] = []
            for _ in range(reduced(ROUNDS, scale)):
                theirs += _measure(native, "process", turns=turns)[1]
                ours += _measure(agent, "wasm", turns=turns)[1]
            yield Row(
                names[language],
                f"{statistics.median(ours):.0f} / {percentile(ours, 0.99):.0f}",
                f"process {statistics.median(theirs):.0f} / {percentile(theirs, 0.99):.0f}",
                f"{statistics.median(ours) / statistics.median(theirs):.2f}",
                "≤ 3 times",
            )
        for language, (_, agent) in agents.items():
            took = [_measure(agent, "wasm", turns=1)[0] for _ in range(count)]
            yield Row(starts[language], f"{statistics.median(took):.1f}", target="≤ 20")


def overhead(scale: int) -> Iterator[Row]:
    """Measure three kinds of work of the same agent, natively and in WebAssembly.

    Args:
        scale: divides the amount of work.
    """
    turns = reduced(TURNS // 10, scale, 5)
    for work in WORK:
        name = f"{work} in <language>, ms"
        if why := _why_not():
            yield from (skipped(name.replace("<language>", language), why) for language in ("C", "Python"))
            continue
        with tempfile.TemporaryDirectory() as folder:
            for language, (native, agent) in _built(Path(folder), work).items():
                run: Callable[[str, LocalHostKind | None], float] = lambda text, host: statistics.median(  # noqa: E731
                    _measure(text, host, turns=turns, amount=AMOUNT)[1]
                )
                run(agent, "wasm")
                pairs = [(run(native, _natively(language)), run(agent, "wasm")) for _ in range(ROUNDS)]
                theirs, ours = (statistics.median(side) for side in zip(*pairs, strict=True))
                ratio = statistics.median(mine / their for their, mine in pairs)
                yield Row(
                    name.replace("<language>", language),
                    f"{ours / 1000:.2f}",
                    f"native {theirs / 1000:.2f}",
                    f"{ratio:.2f}",
                )


def verdicts(scale: int) -> Iterator[Row]:
    """Count turns that differ between two runs of a tournament, of which one is beside programs that compute.

    Args:
        scale: divides the amount of work.
    """
    matches = reduced(MATCHES, scale, 10)
    for clock in CLOCKS:
        name = f"turns that differ on a busy machine, {clock}"
        if why := _why_not():
            yield skipped(name, why)
            continue
        with tempfile.TemporaryDirectory() as folder:
            cup = Cup(Path(folder), clock, matches)
            cup.write()
            idle = cup.play("idle", jobs=1)
            with burning(reduced(BURNERS, scale)):
                busy = cup.play("busy", jobs=2, hash_seed=1)
            turns, files = differences(idle, busy)
            yield Row(
                name,
                f"{turns:,} turns, {files:,} journals",
                f"{len(played_turns(idle)):,} turns, {matches:,} journals",
                target="0" if clock == "fuel" else "",
            )


SUITE = Suite("agents in WebAssembly", by_name(round_trips, overhead, verdicts))
