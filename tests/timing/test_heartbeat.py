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

import flagfall
from flagfall.timing.heartbeat import Heartbeat, HostMeter, shared

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux counts wake-ups")


def left_over() -> tuple[int, set[threading.Thread]]:
    shared.close_if_idle()
    return len(list(Path("/proc/self/fd").iterdir())), set(threading.enumerate())


def wait_for_beats(heartbeat: Heartbeat) -> None:
    first, _ = heartbeat.beats()
    end = time.monotonic() + 20
    while heartbeat.beats()[0] < first + 4:
        assert time.monotonic() < end
        time.sleep(0.005)


def test_it_beats_until_it_rests_and_leaves_nothing_when_it_is_closed():
    before = left_over()
    for _ in range(3):
        heartbeat = Heartbeat()
        for _ in range(2):
            heartbeat.start()
            wait_for_beats(heartbeat)
            heartbeat.rest()
            time.sleep(0.02)  # a last beat may be on its way on a busy machine
            at_rest = heartbeat.beats()
            time.sleep(0.05)
            assert heartbeat.beats() == at_rest
        heartbeat.close()
    assert left_over() == before


def play() -> None:
    flagfall.run("micro1", "silent", steps=1)


def test_matches_of_all_loops_share_one_that_rests_between_them():
    play()
    one = shared.take()
    shared.give_back(one)
    loops = [threading.Thread(target=play) for _ in range(3)]
    for loop in loops:
        loop.start()
    for loop in loops:
        loop.join()
    assert shared.take() is one
    wait_for_beats(one)
    assert shared.take() is one
    shared.give_back(one)
    wait_for_beats(one)
    shared.give_back(one)
    time.sleep(0.02)
    at_rest = one.beats()
    time.sleep(0.05)
    assert one.beats() == at_rest


FORKS = """
import os, sys, threading, warnings
import flagfall
from flagfall.timing.heartbeat import shared

warnings.simplefilter("error")  # of a fork beside threads, from Python 3.12 on

def play():
    flagfall.run("micro1", "silent", steps=3)

def in_child(work):
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1]

play()
print([thread.name for thread in threading.enumerate()])
print(in_child(play))
print([thread.name for thread in threading.enumerate()])
play()

warnings.simplefilter("ignore")
used = shared.take()

def forked_in_a_match():
    shared.give_back(used)  # the end of a match that its parent plays
    play()
    mine = shared.take()
    assert mine is not used
    assert mine.beats()[0] > 0

print(in_child(forked_in_a_match))
print(shared.take() is used)
"""


def test_a_fork_has_a_heartbeat_of_its_own_and_no_thread_holds_up_the_exit():
    done = subprocess.run(
        [sys.executable, "-c", FORKS], capture_output=True, text=True, check=True, timeout=60
    )
    both = "['MainThread', 'flagfall heartbeat']"
    assert done.stdout.splitlines() == [both, "0", "['MainThread']", "0", "True"], done.stderr
    assert done.stderr == ""


def test_a_handler_that_the_program_sets_between_matches_is_left_alone():
    heard: list[int] = []
    play()
    one = shared.take()
    shared.give_back(one)
    before = signal.signal(one._signal, lambda number, _frame: heard.append(number))
    try:
        other = shared.take()
        wait_for_beats(other)
        shared.give_back(other)
        assert other is not one
        assert heard == []
        os.kill(os.getpid(), one._signal)
        assert heard == [one._signal]
    finally:
        signal.signal(one._signal, before)


def test_a_signal_that_the_program_uses_is_left_alone():
    heard: list[int] = []
    used = signal.SIGRTMAX - 6  # the first that it tries
    before = signal.signal(used, lambda number, _frame: heard.append(number))
    try:
        heartbeat = Heartbeat()
        heartbeat.start()
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
    monkeypatch.setattr(Heartbeat, "_make_timer", no_timer)
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
