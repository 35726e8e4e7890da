"""What tests of all folders share."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from flagfall.agents.process.limits import usable_cores
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
    return 2 * len(usable_cores())


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect no garbage among what stays: the modules and the thousands of tests, now and in all tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


RELEASE = (
    "agents/test_adding_a_host.py",
    "agents/test_language_model.py::test_a_model_that_has_not_answered_yet_may_still_do_so",
    "agents/test_model_time.py::test_no_turn_of_2000_is_lost_to_a_server_that_answers_in_the_end",
    "agents/test_virtual_time.py::test_a_process_that_never_comes_back",
    "agents/test_virtual_time.py::test_a_tournament_and_the_verification_of_its_journals",
    "agents/test_virtual_time.py::test_agents_that_send_garbage",
    "agents/test_wasm.py::test_a_component_that_takes_endless_memory",
    "agents/test_wasm.py::test_journals_are_equal_by_bytes",
    "agents/test_wasm.py::test_the_sample_in_c",
    "agents/test_wasm.py::test_time_for_which_the_program_is_stopped",
    "agents/test_wasm.py::test_two_processes_may_compile_at_once",
    "benchmarks/",
    "cli/test_check_host_as_plain_user.py",
    "cli/test_damaged_results.py",
    "cli/test_language_models.py::test_standings_say_why_a_model_lost",
    "cli/test_logs.py::test_a_server_and_a_client_log",
    "cli/test_logs.py::test_the_tracks_of_gvgai_log",
    "cli/test_new.py::test_a_new_plan_takes_a_new_agent_and_a_new_task",
    "cli/test_recorded_answers.py::test_a_tournament_is_played_again",
    "cli/test_resume.py::test_killed_at_any_moment",
    "cli/test_resume.py::test_what_was_answered_is_not_asked_again",
    "cli/test_round1_clients.py",
    "cli/test_tables_and_schemas.py::test_tables_fit_the_terminal",
    "conformance/",
    "documents/",
    "gvgai/test_public_clients.py",
    "gvgai/test_tracks.py::test_learner_is_better_than_random_in_validation",
    "recording/test_older_versions.py::test_a_tournament_goes_on_under_the_rules_that_its_preset_had",
    "tasks/vgdl/test_mutants.py",
    "test_adding",
    "tournament/test_ray_engine.py",
    "viewer/test_documentation_site.py",
    "viewer/test_live_page.py",
    "viewer/test_odd_replays.py",
    "viewer/test_old_replays.py",
    "viewer/test_play_page.py",
    "viewer/test_replay_page.py",
    "viewer/test_replay_views.py",
)
"""Tests with the mark `release`, by the beginning of their names: comparisons with recordings and programs
of the originals, matrices of damage, executed documents, most pages in a browser. Rows of others have it."""


BROWSER_PASS = (
    "tests/viewer/test_pages.py::test_the_policy_of_a_page_blocks_other_scripts_and_requests",
    "tests/viewer/test_replay_command.py::test_a_file_holds_the_match_with_its_pictures",
    "tests/viewer/test_report_page.py::test_standings_are_those_of_the_command_results",
)
"""The tests in a browser that do not have the mark `release`: one for each kind of page."""


LINUX = {
    "agents/test_fork_server.py": "agents in processes",
    "agents/test_isolation.py": "agents in processes",
    "agents/test_sandbox.py": "sandboxes",
    "environments/test_vector_env.py": "environments in worker processes",
    "tournament/test_control.py": "`flagfall ctl`",
}
"""Test files that need Linux as a whole, with the reason; other tests skip one by one (`NEEDS_LINUX`)."""


@pytest.hookimpl(tryfirst=True)  # before `-m` selects by marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of a release; where workers share them, begin with these, which are long."""
    places = tuple(f"tests/{place}" for place in RELEASE)
    for item in items:
        in_browser = "browser" in getattr(item, "fixturenames", ())
        if item.nodeid.startswith(places) or (in_browser and item.nodeid not in BROWSER_PASS):
            item.add_marker("release")
        for file, what in LINUX.items():
            if sys.platform != "linux" and item.nodeid.startswith(f"tests/{file}"):
                item.add_marker(pytest.mark.skip(reason=f"{what} need Linux"))
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.get_closest_marker("release") is None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Leave no program that a failed test has started to the next ones; fixtures end theirs themselves."""
    STARTED.clear()
    try:
        return (yield)
    finally:
        end_started()


NEEDS_LINUX = re.compile(
    r".*(?:needs? Linux|only Linux|No such file or directory: '/(?:proc|dev|sys)/|"
    r"has no attribute '(?:SIGRT|pidfd_|memfd_|sched_|pipe2|splice|waitid|P_PIDFD|SO_PEER|pthread_getcpu)).*"
)
"""Failures elsewhere that mean that a test needs Linux: messages of flagfall, or a missing function."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """On other systems, skip the tests that need Linux, with the reason that they met."""
    report = yield
    if sys.platform != "linux" and report.failed and (found := NEEDS_LINUX.search(report.longreprtext)):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1] or 0, f"Skipped: {found[0].strip('E ')}")
    return report


@pytest.fixture
def virtual_clock() -> VirtualClock:
    """The clock of the test: waiting takes no time, and every time is exact."""
    return VirtualClock()


@pytest.fixture
def port() -> int:
    """A port for a program of the test to listen at."""
    return free_port()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import what `-m 'not release'` leaves out as a whole."""
    if config.getoption("-m") != "not release":
        return None
    return f"{collection_path.relative_to(Path(__file__).parent).as_posix()}/".startswith(RELEASE) or None
