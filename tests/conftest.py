"""What tests of all folders share."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from flagfall.timing import VirtualClock
from tests.children import STARTED, end_started
from tests.ports import free_port

# Programs that tests start hear Ctrl-C and a closed terminal, also where these tests run under nohup or in
# the background of a script: a signal that is ignored stays ignored in every program started below.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Workers, and the hundreds of programs that tests start, compile the sources once, not each of them anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The width of the terminal in which the tests run, which workers are given, is not that of what tests print.
os.environ.pop("COLUMNS", None)

# In each program that imports numpy its linear algebra would start threads that wait busily for 60 ms.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A busy machine is no reason to fail.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """With `-n auto`, run two tests at a time on each CPU: half of the tests' time is waiting."""
    return 2 * len(os.sched_getaffinity(0))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect no garbage among what stays: the modules and the thousands of tests, now and in all tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the slow tests where workers share them, so that none is left with one at the end."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Leave no program that a failed test has started to the next ones; fixtures end theirs themselves."""
    STARTED.clear()
    try:
        return (yield)
    finally:
        end_started()


@pytest.fixture
def virtual_clock() -> VirtualClock:
    """The clock of the test: waiting takes no time, and every time is exact."""
    return VirtualClock()


@pytest.fixture
def port() -> int:
    """A port for a program of the test to listen at."""
    return free_port()
