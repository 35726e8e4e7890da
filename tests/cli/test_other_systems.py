"""The command line in a Python without the functions that only Linux has, as on macOS."""

from __future__ import annotations

import pytest

from tests.children import run_python

WITHOUT = """
import msgspec, numpy, os, select, signal, socket, structlog, subprocess, sys, sysconfig, tempfile, time, trio

sysconfig.get_config_vars()  # of the system below
socket.TCP_KEEPALIVE = socket.TCP_KEEPIDLE
names = {
    os: "memfd_create pidfd_open pipe2 sched_getaffinity sched_setaffinity splice waitid P_PIDFD",
    select: "POLLRDHUP",
    signal: "SIGRTMIN SIGRTMAX pidfd_send_signal",
    socket: "SO_PEERCRED TCP_KEEPIDLE TCP_QUICKACK AF_NETLINK",
    time: "pthread_getcpuclockid",
}
for module, absent in names.items():
    for name in absent.split():
        delattr(module, name)
sys.platform = "darwin"
"""

PLAN = """
name = "cup"
host = "task"
[[agents]]
spec = "random"
[[agents]]
spec = "silent"
[[tasks]]
task = "micro1"
steps = 20
score = "reward"
"""

RUN = "run --task micro1 --agent random --steps 5"


@pytest.fixture
def elsewhere(tmp_path):
    """Return a function that runs a command on such a system."""
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)
    (tmp_path / "cup.toml").write_text(PLAN)

    return lambda line: run_python(tmp_path, tmp_path, "-m", "flagfall", *line.split(" "))


def test_agents_play_in_the_event_loop_in_threads_and_in_tournaments(elsewhere):
    for line in (
        f"{RUN} --clock virtual --journal match.jsonl --log-level info",
        "verify match.jsonl",
        f"{RUN} --host thread",
        "tournament cup.toml --output results",
    ):
        ended = elsewhere(line)
        assert ended.returncode == 0, ended.stderr
        assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--host process", "agents in processes need Linux"),
        ("--host process --isolation sandbox", "need"),
        ("--host thread --time-control clock=cpu,act=1s", "clock=cpu for an agent in a thread needs Linux"),
    ],
)
def test_what_needs_linux_says_so_in_one_line(elsewhere, options, message):
    ended = elsewhere(f"{RUN} {options}")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert len(ended.stderr.splitlines()) == 1
    assert message in ended.stderr


def test_doctor_looks_at_all_of_it(elsewhere):
    ended = elsewhere("doctor")
    assert ended.returncode == 0
    assert "missing  sandbox    isolation sandbox needs Linux" in ended.stdout
    assert "missing  video      videos need Linux" in ended.stdout
    assert "Traceback" not in ended.stderr
