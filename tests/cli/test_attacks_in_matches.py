"""Attacks by agents in matches of the command line, and by other programs on its sockets."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest

from .conftest import FLAGFALL, PATIENCE_SECONDS, agent_serve, until

MAY_LIVE_ON_S: Final = 3.0
"""The time that an agent may live on after its hard limit; on an idle machine 0.1 s is enough."""

BOTS: Final = '''
import json, mmap, os, signal, time
from pathlib import Path

HERE = Path(__file__).parent

def report(found):
    """Agents in sandboxes cannot write files; the traceback of a crash is shown."""
    raise RuntimeError("found " + json.dumps(found))

def opens_kernel_files(observation):
    opened = []
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger"):
        try:
            os.close(os.open(path, os.O_WRONLY))
        except OSError:
            continue
        opened.append(path)
    report({"opened": opened, "root": os.getuid() == 0})

def looks_around(observation):
    report(sorted(str(path.relative_to(HERE)) for path in HERE.rglob("*")))

def stops_its_parent(observation):
    os.kill(os.getppid(), signal.SIGSTOP)
    while True:
        with (HERE / "beats").open("a") as beats:
            print(time.monotonic(), file=beats)
        time.sleep(0.02)

def leaves_its_cores(observation):
    try:
        os.sched_setaffinity(0, range(os.cpu_count()))
    except OSError:
        pass
    report(sorted(os.sched_getaffinity(0)))

def shares_much_memory(observation):
    shared = mmap.mmap(-1, 600_000_000)
    for place in range(0, 600_000_000, mmap.PAGESIZE):
        shared[place] = 1
    time.sleep(1)
    report("kept")

def slow(observation):
    time.sleep(0.02)
    return 32
'''


@pytest.fixture
def seat_of(call: Callable[..., Any], folder: Path) -> Callable[..., dict[str, Any]]:
    """Function that plays a bot and returns the report on its seat."""
    (folder / "attackers").mkdir()
    (folder / "attackers" / "bot.py").write_text(BOTS)

    def seat_of(name: str, *words: str) -> dict[str, Any]:
        ended = call(f"run -t micro1 --steps 20 --json -a attackers/bot.py:{name}", *words)
        assert ended.code == 0, ended.err
        seat: dict[str, Any] = ended.data()["matches"][0]["seats"][0]
        return seat

    return seat_of


def found(seat: dict[str, Any]) -> Any:
    assert seat["disqualified"] == "crashed", seat
    what, _ = json.JSONDecoder().raw_decode(seat["detail"].partition("RuntimeError: found ")[2])
    return what


@pytest.mark.usefixtures("bubblewrap")
def test_a_sandboxed_agent_is_not_root_and_opens_no_files_of_the_kernel(seat_of):
    seat = seat_of("opens_kernel_files", "--isolation", "sandbox")
    assert found(seat) == {"opened": [], "root": False}


@pytest.mark.usefixtures("bubblewrap")
def test_a_sandboxed_agent_sees_nothing_that_lies_beside_its_file(seat_of, folder):
    (folder / "attackers" / "cup-results").mkdir()
    (folder / "attackers" / "cup-results" / "control.sock").touch()
    (folder / "attackers" / "opponent.py").touch()
    assert found(seat_of("looks_around", "--isolation", "sandbox")) == ["bot.py"]


def test_an_agent_that_stops_its_supervisor_does_not_live_on(seat_of, folder):
    seat = seat_of("stops_its_parent", "--isolation", "process", "--time-control", "start=20s act=50ms/400ms")
    assert seat["disqualified"] == "late"
    beats = [float(line) for line in (folder / "attackers" / "beats").read_text().split()]
    assert beats[-1] - beats[0] < 0.4 + MAY_LIVE_ON_S


def test_an_agent_stays_on_its_cores(seat_of):
    core = min(os.sched_getaffinity(0))
    assert found(seat_of("leaves_its_cores", "--isolation", "process", "--limits", f"cores={core}")) == [core]


def test_shared_memory_counts(seat_of):
    words = ["--isolation", "process", "--limits", "memory=300MB"]
    seat = seat_of("shares_much_memory", *words, "--time-control", "start=20s act=10s/20s")
    assert seat["disqualified"] == "gone", seat


@contextmanager
def tournament(folder: Path) -> Iterator[subprocess.Popen[str]]:
    (folder / "bot.py").write_text(BOTS)
    (folder / "plan.toml").write_text(
        'time_control = "start=20s act=5s"\n[[agents]]\nspec = "bot.py:slow"\n'
        '[[tasks]]\ntask = "micro1"\nsteps = 60\n'
    )
    words = [*FLAGFALL, "tournament", "plan.toml", "--output", "out"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_wrong_lines_at_the_control_socket_do_not_end_a_tournament(folder):
    with tournament(folder) as process:
        place = folder / "out" / "control"
        until(lambda: place.exists() or process.poll() is not None)
        answers = []
        for line in (b'{"do":"cancel","match":[1]}', b"[" * 4000):
            with suppress(OSError), socket.socket(socket.AF_UNIX) as talk:
                talk.settimeout(PATIENCE_SECONDS)
                talk.connect(place.read_text())
                talk.sendall(line + b"\n")
                answers.append(talk.recv(4096))
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, errors) == (0, "")
    assert [list(json.loads(answer)) for answer in answers] == [["error"]] * 2


@pytest.mark.usefixtures("token")
def test_silent_connections_do_not_keep_an_agent_out(port):
    url = f"tcp://127.0.0.1:{port}"
    line = f"run -t micro4 -a {url} --agent-token-file token --steps 20 --json"
    play = [*FLAGFALL, *line.split()]
    serve = agent_serve("repeating", url, "--token-file", "token", "--wait", "20s")
    with (
        ExitStack() as stack,
        subprocess.Popen([*play, "--time-control", "start=25s"], stdout=subprocess.PIPE) as host,
    ):
        stack.callback(host.kill)
        deadline = time.monotonic() + PATIENCE_SECONDS
        silent: list[socket.socket] = []
        while len(silent) < 20:
            try:
                silent.append(stack.enter_context(socket.create_connection(("127.0.0.1", port))))
            except ConnectionRefusedError:
                assert time.monotonic() < deadline
                time.sleep(0.01)
        agent = subprocess.run(serve, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
        assert agent.returncode == 0, agent.stderr
        (match,) = json.loads(host.communicate(timeout=PATIENCE_SECONDS)[0])["matches"]
    assert match["seats"][0]["disqualified"] is None
