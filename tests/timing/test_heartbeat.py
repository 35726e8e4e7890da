"""The wake-ups that distinguish a stopped process from one that sleeps."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from flagfall.timing.heartbeat import Heartbeat, HostMeter

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux counts wake-ups")


def left_over() -> tuple[int, set[threading.Thread]]:
    return len(list(Path("/proc/self/fd").iterdir())), set(threading.enumerate())


def test_it_beats_until_it_is_closed_and_leaves_nothing():
    before = left_over()
    for _ in range(3):
        heartbeat = Heartbeat()
        first, _ = heartbeat.beats()
        end = time.monotonic() + 20
        while heartbeat.beats()[0] < first + 4:
            assert time.monotonic() < end
            time.sleep(0.005)
        heartbeat.close()
    assert left_over() == before


def test_a_signal_that_the_program_uses_is_left_alone():
    heard: list[int] = []
    used = signal.SIGRTMAX - 6  # the first that it tries
    before = signal.signal(used, lambda number, _frame: heard.append(number))
    try:
        heartbeat = Heartbeat()
        time.sleep(0.02)
        os.kill(os.getpid(), used)
        heartbeat.close()
    finally:
        signal.signal(used, before)
    assert heard == [used]


STOPPED = """
import time
from flagfall.timing.heartbeat import HostMeter
meter = HostMeter(time.perf_counter_ns())
time.sleep(0.05)
for _ in range(2):
    meter.sample(time.perf_counter_ns())
    print("go", flush=True)
    input()
    now = time.perf_counter_ns()
    print(now - meter.sampled_ns, *meter.taken(now), flush=True)
meter.close()
"""


def test_a_stop_is_measured_and_a_signal_without_one_is_not():
    """The program waits in a read for both; only the second time it is stopped."""
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        taken: list[list[int]] = []
        for sent in (signal.SIGCONT, signal.SIGSTOP):
            program.stdout.readline()
            for _ in range(5):
                program.send_signal(sent)
                time.sleep(0.03)
            program.send_signal(signal.SIGCONT)
            program.stdin.write("\n")
            program.stdin.flush()
            taken.append([int(number) for number in program.stdout.readline().split()])
    (_, _, no_stop_ns), (span_ns, _, stop_ns) = taken
    assert no_stop_ns == 0
    assert 100_000_000 <= stop_ns <= span_ns


def test_what_cannot_be_measured_is_not_taken_for_the_host(monkeypatch: pytest.MonkeyPatch):
    """Without the kernel's counters a long step is its agent's own doing, as it was before there were any."""

    def no_timer(_self: Heartbeat) -> None:
        raise OSError("no timer")

    before = left_over()
    monkeypatch.setattr(Heartbeat, "_start_timer", no_timer)
    meter = HostMeter(time.perf_counter_ns())
    time.sleep(0.02)
    assert meter.taken(time.perf_counter_ns())[1] == 0
    meter.close()
    assert left_over() == before


def test_a_thread_that_sleeps_is_not_stopped():
    meter = HostMeter(time.perf_counter_ns())
    for _ in range(5):
        began_ns = time.perf_counter_ns()
        meter.sample(began_ns)
        time.sleep(0.03)
        load_ns, stopped_ns = meter.taken(time.perf_counter_ns())
        assert stopped_ns == 0
        assert load_ns <= time.perf_counter_ns() - began_ns
    meter.close()
