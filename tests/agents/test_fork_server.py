"""Agents that a fork server starts: what they share, what they do not, and what happens to the server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from flagfall.agents.hosts.process import ProcessHost
from flagfall.agents.process.forking import FORK_SERVERS, WORKER, _Server
from flagfall.agents.process.isolation import Isolation
from flagfall.agents.process.limits import Limits
from flagfall.agents.process.supervised import prepare_fork_server
from flagfall.agents.process.supervisor import descendants, status_of
from flagfall.events import SeatReady
from flagfall.timing import MS
from tests.agents.test_isolation import KILLED_HOST, is_there, wait_until
from tests.fakes import CountTask, Played, TogetherTask, play_here

CONTROL = "start=60s act=60s"

REPORTER = """
import json, os, random, resource, signal, sys, threading
import numpy

SIGNALS = ("SIGINT", "SIGTERM", "SIGCHLD", "SIGPIPE")

def above(pid):
    return int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])

def act(observation):
    mine = os.environ.get("TMPDIR", "")
    if mine and observation == 0:
        fds = [int(name) for name in os.listdir("/proc/self/fd")]
        told = {
            "fds": sorted(os.readlink(f"/proc/self/fd/{fd}").partition(":")[0] for fd in fds[:-1]),
            "server": above(os.getppid()),
            "folder": mine,
            "listed": os.listdir(mine),
            "secret": os.environ.get("SECRET_OF_AGENT"),
            "draws": [random.random(), float(numpy.random.random())],
            "argv": [os.path.basename(sys.argv[0]), *sys.argv[1:]],
            "signals": [str(signal.getsignal(getattr(signal, name))) for name in SIGNALS],
            "threads": threading.active_count(),
            "session": os.getsid(0) == os.getpid(),
            "files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
            "cwd": os.getcwd(),
        }
        with open(OUT + str(os.getpid()), "w") as file:
            json.dump(told, file)
    return observation
"""

WAITER = """
import os, time
def act(observation):
    if observation == 1:
        open(OUT + "waits", "w").close()
        while not os.path.exists(OUT + "go"):
            time.sleep(0.01)
    return observation
"""


@pytest.fixture
def bot(tmp_path: Path) -> Callable[..., ProcessHost]:
    def host(code: str, isolation: Isolation | None = None) -> ProcessHost:
        file = tmp_path / f"bot{hash(code) % 1000}.py"
        file.write_text(f"OUT = {str(tmp_path) + '/out-'!r}\n{code}")
        return ProcessHost(f"{file}:act", "bot", isolation or Isolation())

    return host


def reports(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("out-[0-9]*"))]


async def played(host: ProcessHost, into: list[Played] | None = None) -> Played:
    match = await play_here(CountTask(3), host, control=CONTROL)
    assert match.disqualified == []
    if into is not None:
        into.append(match)
    return match


async def test_agents_that_play_at_once_share_a_server_and_nothing_else(tmp_path: Path, bot: Any):
    limited = Isolation(limits=Limits.parse("files=50"))
    async with trio.open_nursery() as nursery:
        for isolation in (Isolation(), Isolation(), limited):
            nursery.start_soon(played, bot(REPORTER, isolation))
    told = reports(tmp_path)
    assert len(told) == 3
    assert len({each["server"] for each in told}) == 1
    for each in told:
        # 0, 1, 2 and the agent's two, of which one has had a name
        names = [name.rpartition("/")[2] for name in each["fds"]]
        assert names == ["null", "pipe (deleted)", "pipe", "pipe", "pipe"]
        assert each["argv"] == ["__main__.py"]
        assert each["session"]
        assert each["threads"] == 1
        assert each["listed"] == []
        assert each["cwd"] == str(Path.cwd())
        assert "default_int_handler" in each["signals"][0]
        assert each["signals"][1:3] == ["0", "0"]  # the default
        assert each["signals"][3] == "1"  # ignored
    assert len({each["folder"] for each in told}) == 3
    assert len({str(each["draws"][0]) for each in told}) == 3
    assert len({str(each["draws"][1]) for each in told}) == 3
    assert sorted(each["files"] for each in told) == [50, 1024, 1024]
    assert not FORK_SERVERS.pids()


async def test_one_host_that_plays_several_seats_and_matches_at_once_leaves_no_server(bot: Any):
    host = bot(REPORTER)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(played, host)
        nursery.start_soon(played, host)
        nursery.start_soon(partial(play_here, TogetherTask(2, 3), host, host, control=CONTROL))
    assert not FORK_SERVERS.pids()


async def test_agents_with_other_variables_have_another_server(
    tmp_path: Path, bot: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SECRET_OF_AGENT", "key")
    async with trio.open_nursery() as nursery:
        for env in ((), ("SECRET_OF_AGENT",)):
            nursery.start_soon(played, bot(REPORTER, Isolation(env=env)))
    told = reports(tmp_path)
    assert {each["secret"] for each in told} == {None, "key"}
    assert len({each["server"] for each in told}) == 2


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_matches_go_on_and_agents_start_when_the_server_is_killed_or_stopped(
    tmp_path: Path, bot: Any, number: signal.Signals
):
    matches: list[Played] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(played, bot(WAITER), matches)
        with trio.fail_after(60):
            while not (tmp_path / "out-waits").exists():  # noqa: ASYNC110 - no event tells
                await trio.sleep(0.01)
        (server,) = FORK_SERVERS.pids()
        assert status_of(server)[0] in "SR"
        os.kill(server, number)
        matches += [await played(bot(REPORTER)) for _ in range(2)]
        (tmp_path / "out-go").touch()
    assert [match.reason for match in matches] == ["finished"] * 3
    assert wait_until(lambda: not is_there(server))
    assert not FORK_SERVERS.pids()


async def test_a_kept_server_serves_one_match_after_another(tmp_path: Path, bot: Any):
    with FORK_SERVERS.keep():
        for _ in range(3):
            await played(bot(REPORTER))
            (kept,) = FORK_SERVERS.pids()
            assert not descendants(kept)
        os.kill(kept, signal.SIGKILL)
        for _ in range(2):
            await played(bot(REPORTER))
    told = reports(tmp_path)
    assert len(told) == 5
    assert [each["server"] for each in told].count(kept) == 3
    assert not is_there(kept)
    assert not FORK_SERVERS.pids()


@pytest.mark.parametrize(
    ("ends", "code"), [("os._exit(5)", "exit code 5"), ("os.kill(os.getpid(), 11)", "exit code -11")]
)
async def test_the_exit_code_of_a_forked_agent_is_reported(bot: Any, ends: str, code: str):
    match = await play_here(CountTask(3), bot(f"import os\ndef act(o):\n    {ends}\n"), control=CONTROL)
    (fall,) = match.disqualified
    assert fall.reason == "gone"
    assert match.result is not None
    assert code in match.result.seats[0].detail


async def test_an_agent_that_is_killed_with_its_supervisor_leaves_the_server_to_others(
    tmp_path: Path, bot: Any
):
    kills = "import os, signal\ndef act(o):\n    os.kill(os.getppid(), signal.SIGKILL)\n    signal.pause()\n"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(played, bot(WAITER))
        match = await play_here(CountTask(3), bot(kills), control=CONTROL)
        assert [fall.reason for fall in match.disqualified] == ["gone"]
        await played(bot(REPORTER))
        (told,) = reports(tmp_path)
        assert FORK_SERVERS.pids() == {told["server"]}
        (tmp_path / "out-go").touch()


KILLS_AT_ONCE = """
import ctypes, os, signal
ctypes.CDLL(None).prctl(1, 0)  # no signal when the parent ends
with open(OUT + str(os.getpid()), "w") as file:
    file.write("{}")
os.kill(os.getppid(), signal.SIGKILL)
signal.pause()
"""


async def test_an_agent_that_kills_its_supervisor_at_once_is_known_to_the_host(tmp_path: Path, bot: Any):
    async def play() -> None:
        match = await play_here(CountTask(3), bot(KILLS_AT_ONCE), control=CONTROL)
        assert [fall.reason for fall in match.disqualified] == ["gone"]

    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(play)
    agents = [int(name.removeprefix("out-")) for name in os.listdir(tmp_path) if name[4:].isdigit()]  # noqa: PTH208 - names are wanted
    assert len(agents) == 10
    assert wait_until(lambda: not any(map(is_there, agents)))


def test_a_server_ends_with_a_kill_9_of_its_host(tmp_path: Path):
    (tmp_path / "bot.py").write_text(
        "import os, pathlib, time\ndef act(observation):\n"
        "    stat = open(f'/proc/{os.getppid()}/stat').read().rpartition(')')[2].split()\n"
        f"    pathlib.Path('{tmp_path}/pids').write_text(f'{{os.getpid()}} {{stat[1]}}')\n"
        "    time.sleep(600)\n"
    )
    (tmp_path / "tmp").mkdir()
    command = [sys.executable, "-c", KILLED_HOST, f"{tmp_path}/bot.py:act", str(tmp_path / "tmp")]
    pids = tmp_path / "pids"
    with subprocess.Popen(command) as host:
        try:
            assert wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 2, 60)
        finally:
            host.kill()
    for pid in map(int, pids.read_text().split()):
        assert wait_until(lambda pid=pid: not is_there(pid)), pid  # type: ignore[misc]


OPENS_FILES = """
FILES = [open(f"{OUT}{number}.txt", "w") for number in range(40)]
for file in FILES:
    file.write("kept")

def act(observation):
    return observation
"""


def contents(folder: Path) -> list[str]:
    return [path.read_text() for path in folder.glob("out-*.txt")]


async def test_files_that_an_agent_leaves_open_are_written_when_it_ends(tmp_path: Path, bot: Any):
    with FORK_SERVERS.keep():
        for _ in range(2):  # the second agent comes from a server that is up already
            await played(bot(OPENS_FILES))
            assert contents(tmp_path) == ["kept"] * 40


NAMES_ITS_PARENT = """
import os

def act(observation):
    status = open(f"/proc/{os.getppid()}/cmdline").read()
    open(OUT + "supervisor", "w").write(status)
    return observation
"""


@pytest.mark.parametrize(("limits", "forked"), [("", True), ("memory=512MB", False), ("cores=0", False)])
async def test_limits_that_count_what_the_server_has_imported_are_met_without_it(
    tmp_path: Path, bot: Any, limits: str, forked: bool
):
    isolation = Isolation(limits=Limits.parse(limits))
    await played(bot(NAMES_ITS_PARENT, isolation))
    assert ("fork_server" in (tmp_path / "out-supervisor").read_text()) is forked


async def test_the_start_of_the_server_is_no_agents_time(bot: Any, monkeypatch: pytest.MonkeyPatch):
    started = []

    class Slow(_Server):
        def start(self) -> None:
            time.sleep(0.5)
            super().start()
            started.append(self.pid)

    monkeypatch.setattr("flagfall.agents.process.forking._Server", Slow)
    match = await played(bot(REPORTER))
    (ready,) = [event for event in match.events if isinstance(event, SeatReady)]
    assert len(started) == 1
    assert ready.at_ns - ready.spent_ns > 450 * MS


async def test_a_match_that_is_cancelled_leaves_the_server_that_comes_up_to_others():
    prepare = partial(prepare_fork_server, WORKER, Isolation())
    cancelled = trio.CancelScope()

    async def first() -> None:
        with cancelled:
            await prepare()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(first)
        nursery.start_soon(cancel_soon, cancelled)
        use = await prepare()
    assert cancelled.cancelled_caught
    assert use is not None
    await use.end()


async def cancel_soon(scope: trio.CancelScope) -> None:
    await trio.sleep(0.02)
    scope.cancel()
