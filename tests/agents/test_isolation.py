"""What keeps a process of an agent apart: its limits, its environment, its supervisor, its sandbox."""

from __future__ import annotations

import json
import mmap
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from flagfall.agents.hosts.process import ProcessHost
from flagfall.agents.process import supervised, supervisor
from flagfall.agents.process.enforcement import advisory_line
from flagfall.agents.process.folders import ENTRY_BYTES, remove_folder, size_of
from flagfall.agents.process.isolation import NO_ISOLATION, Isolation
from flagfall.agents.process.limits import UNITS, UNLIMITED, Limits, format_size, parse_size
from flagfall.agents.process.memory_use import _in_files, bytes_used
from flagfall.agents.process.supervised import open_supervised
from flagfall.errors import UsageError
from flagfall.kernel.outcomes import STDERR_BYTES
from flagfall.timing.durations import MS, S
from tests.fakes import CountTask, play_here

CONTROL = "start=20s init=5s act=5s/20s result=5s"

TELLS = """
import json, os, resource, sys
fds = [int(name) for name in os.listdir("/proc/self/fd")]
told = {
    "env": dict(os.environ),
    "fds": [fd for fd in fds if os.path.exists(f"/proc/self/fd/{fd}")],
    "cores": sorted(os.sched_getaffinity(0)),
    "session": os.getsid(0) == os.getpid(),
    "data": resource.getrlimit(resource.RLIMIT_DATA)[0],
    "as": resource.getrlimit(resource.RLIMIT_AS)[0],
    "cpu": resource.getrlimit(resource.RLIMIT_CPU)[0],
    "files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    "fsize": resource.getrlimit(resource.RLIMIT_FSIZE)[0],
    "core": resource.getrlimit(resource.RLIMIT_CORE)[0],
    "oom": int(open("/proc/self/oom_score_adj").read()),
    "folder": os.listdir(os.environ["TMPDIR"]) if os.environ.get("TMPDIR") else None,
}
sys.stderr.write(json.dumps(told))
"""


async def ran(
    code: str, isolation: Isolation, seconds: float = 60, arguments: Sequence[str] = (), **options: Any
) -> tuple[int | None, str]:
    """Run some Python under a supervisor; gives its exit code, and what it said."""
    null = subprocess.DEVNULL
    command = [sys.executable, "-c", code, *arguments]
    running = await open_supervised(command, isolation, stdin=null, stdout=null, **options)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(running.read_stderr)
        await running.wait_for_exit(seconds)
        nursery.cancel_scope.cancel()
    code_ = running.process.returncode
    await running.end()
    return code_, running.stderr_tail


def is_there(pid: int) -> bool:
    """Whether a process lives; a zombie does not."""
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def is_file(path: str) -> bool:
    """Whether there is such a file or folder."""
    return Path(path).exists()


def wait_until(what: Callable[[], bool], seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.01)
    return what()


# Limits.

SIZES = st.none() | st.integers(1, 10**13)
LIMITS = st.builds(
    Limits,
    memory=SIZES,
    address_space=SIZES,
    cpu=st.none() | st.integers(1, 10**6).map(lambda seconds: seconds * S),
    processes=st.none() | st.integers(1, 10**6),
    files=st.none() | st.integers(1, 10**6),
    file_size=SIZES,
    disk=SIZES,
    cores=st.none() | st.sets(st.integers(0, 200), min_size=1).map(lambda cores: tuple(sorted(cores))),
)


@given(LIMITS)
def test_limits_have_a_text_form(limits: Limits):
    assert Limits.parse(str(limits)) == limits


@given(st.integers(0, 10**15 - 1))
def test_sizes_have_a_text_form(size: int):
    assert parse_size(format_size(size)) == size


def test_what_limits_say():
    assert Limits.parse("memory=512MB, cpu=1m cores=0-2+5") == Limits(
        memory=512_000_000, cpu=60 * S, cores=(0, 1, 2, 5)
    )
    assert Limits.parse("") == Limits.parse("default") == Limits()
    assert Limits.parse("none") == UNLIMITED
    assert Limits.parse("processes=none").processes is None
    assert [parse_size(f"2{unit}") for unit in ("B", "kb", "MiB")] == [2, 2000, 2 * 1024**2]
    assert max(UNITS.values()) == 1024**4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("memory=512", "not a size"),
        ("memory=-1MB", "not a size"),
        ("memroy=5MB", "nearest: memory"),
        ("memory", "memory=512MB"),
        ("memory=1MB memory=2MB", "second time"),
        ("processes=0", "not a count"),
        ("cpu=1", "no unit"),
        ("cpu=1500ms", "whole seconds"),
        pytest.param(f"processes={'9' * 5000}", "not a count", id="so many processes"),
        ("cores=a", "no cores"),
        ("cores=3-1", "no cores"),
        ("cores=0-99999999", "no cores"),
        ("memory=0MB", "above 0"),
    ],
)
def test_limits_that_cannot_be(text: str, said: str):
    with pytest.raises(UsageError, match=said):
        Limits.parse(text)


def test_isolation_that_cannot_be():
    with pytest.raises(UsageError, match="nearest: sandbox"):
        Isolation("sandbx")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="has no limits"):
        Isolation("none", Limits(memory=10**9))
    with pytest.raises(UsageError, match="9999 is not a core of this machine"):
        Isolation(limits=Limits(cores=(9999,)))
    with pytest.raises(UsageError, match="NOT_SET"):
        Isolation(env=("NOT_SET",))


# What the agent has.


async def test_a_process_has_few_variables_no_open_files_and_its_limits(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOME_KEY", "s")
    monkeypatch.setenv("WANTED_KEY", "w")
    limits = Limits.parse("memory=500MB address_space=2GB cpu=7s files=77 file_size=5MB")
    leaked = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(leaked, True)
    try:
        code, said = await ran(TELLS, Isolation("process", limits, env=("WANTED_KEY",)))
    finally:
        os.close(leaked)
    told = json.loads(said)
    assert code == 0
    assert told["fds"] == [0, 1, 2]
    assert "SOME_KEY" not in told["env"]
    assert told["env"]["WANTED_KEY"] == "w"
    assert told["env"]["PATH"] == os.environ["PATH"]
    assert told["folder"] == []
    assert not is_file(told["env"]["TMPDIR"])
    wanted = {"data": 5 * 10**8, "as": 2 * 10**9, "cpu": 7, "files": 77, "fsize": 5 * 10**6, "core": 0}
    assert {name: told[name] for name in wanted} == wanted
    assert told["oom"] == 1000
    assert told["session"]


async def test_without_isolation_it_has_your_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOME_KEY", "s")
    told = json.loads((await ran(TELLS, NO_ISOLATION))[1])
    assert told["env"]["SOME_KEY"] == "s"
    assert told["data"] == -1


async def test_it_can_be_pinned_to_cores():
    core = max(os.sched_getaffinity(0))
    told = json.loads((await ran(TELLS, Isolation(limits=Limits(cores=(core,)))))[1])
    assert told["cores"] == [core]


async def test_an_agent_over_its_cpu_time_is_ended_by_the_system():
    code, _ = await ran("while True: pass", Isolation(limits=Limits.parse("cpu=1s")))
    assert code in {-signal.SIGXCPU, -signal.SIGKILL}


SHARED = """
import mmap, time
kept = [mmap.mmap(-1, 50_000_000) for _ in range(8)]
for piece in kept:
    for place in range(0, len(piece), mmap.PAGESIZE):
        piece[place] = 1
    {then}
time.sleep(20)
"""
FORKED = """
import os, sys, time
kept = b"x" * {size}_000_000
children = [os.fork() for _ in range(2)] if {early} else []
if not {early}:
    for _ in range(3):
        if os.fork() == 0:
            kept = b"y" * {size}_000_000
            time.sleep({seconds})
            os._exit(0)
time.sleep({seconds})
"""


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(SHARED.format(then="pass"), id="shared"),
        pytest.param(SHARED.format(then="piece.madvise(mmap.MADV_DONTNEED)"), id="shared and hidden"),
        pytest.param(FORKED.format(size=100, early=False, seconds=20), id="of several processes"),
    ],
)
async def test_memory_counts_that_no_single_process_answers_for(code: str):
    status, _ = await ran(code, Isolation(limits=Limits.parse("memory=300MB")))
    assert status == -signal.SIGKILL


async def test_memory_that_processes_share_since_a_fork_counts_once():
    code = FORKED.format(size=150, early=True, seconds=3 * supervisor.LOOK_SECONDS)
    assert await ran(code, Isolation(limits=Limits.parse("memory=300MB"))) == (0, "")


MAKES_MEMORY = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
segment = libc.shmget(0, 1000, 0o1600)
if segment != -1:
    libc.shmctl(segment, 0, None)  # or it would outlive the test
try:
    file = os.memfd_create("x")
except OSError:
    file = -1
sys.stderr.write(f"{segment != -1} {file != -1}")
"""


async def test_memory_that_would_count_nowhere_is_refused():
    limited = Isolation(limits=Limits.parse("memory=300MB"))
    assert (await ran(MAKES_MEMORY, limited))[1] == "False False"
    assert (await ran(MAKES_MEMORY, Isolation()))[1] == "True True"


def test_memory_is_counted_as_the_system_shows_it():
    used = bytes_used([os.getpid()], 0)
    kept = mmap.mmap(-1, 50_000_000)
    try:
        kept[:] = bytes(50_000_000)
        more = bytes_used([os.getpid(), 2**22 + 1], 0)
        assert 49_000_000 <= more - used <= 60_000_000
        assert bytes_used([os.getpid()], 10**12) >= more - 5_000_000
    finally:
        kept.close()


def test_a_file_system_that_is_still_the_hosts_counts_nothing():
    """The first process of a sandbox has the files of the host for a moment."""
    assert _in_files([os.getpid()], "/tmp") == 0  # noqa: S108 - nothing is put there


async def test_it_cannot_leave_its_cores():
    core = min(os.sched_getaffinity(0))
    code = "import os\nos.sched_setaffinity(0, range(64))"
    status, said = await ran(code, Isolation(limits=Limits(cores=(core,))))
    assert status == 1
    assert "PermissionError" in said


def test_a_line_says_which_limits_the_kernel_does_not_enforce(monkeypatch: pytest.MonkeyPatch):
    limited = Isolation(limits=Limits.parse("memory=1GB cpu=1m cores=0 processes=9"))
    monkeypatch.setattr("flagfall.agents.process.enforcement.controllers", lambda _: {"pids"})
    line = advisory_line(limited)
    assert line.startswith("limits that the kernel does not enforce here: memory (supervisor, every 100 ms")
    assert not {"cpu", "cores", "processes"} & set(line.replace("(", " ").split())
    monkeypatch.setattr("flagfall.agents.process.enforcement.controllers", lambda _: {"memory", "pids"})
    assert advisory_line(limited) == advisory_line(Isolation()) == advisory_line(NO_ISOLATION) == ""


async def test_what_it_wrote_is_kept_with_the_match_though_it_did_not_fall(tmp_path: Path):
    (tmp_path / "bot.py").write_text(
        "import sys\ndef act(observation):\n    print('thought', observation, file=sys.stderr)\n"
        "    sys.stderr.flush()\n    return observation\n"
    )
    played = await play_here(CountTask(3), ProcessHost(f"{tmp_path}/bot.py:act", "bot"), control=CONTROL)
    assert played.disqualified == []
    assert played.result is not None
    assert played.result.seats[0].stderr_tail.splitlines() == ["thought 0", "thought 1", "thought 2"]


async def test_of_a_flood_the_newest_is_kept():
    code, said = await ran("import sys\nsys.stderr.write('x' * 3_000_000 + 'end')", Isolation())
    assert code == 0
    assert said.endswith("xend")
    assert len(said) == STDERR_BYTES


# The supervisor.

LEAVES_A_CHILD = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    child = os.fork()
    if child == 0:
        time.sleep(60)
    sys.stderr.write(str(child))
    sys.stderr.flush()
    os._exit(0)
os.wait()
time.sleep({seconds})
"""


async def test_what_went_into_a_session_of_its_own_goes_with_its_agent():
    code, said = await ran(LEAVES_A_CHILD.format(seconds=0), Isolation())
    assert code == 0
    assert not is_there(int(said))


async def test_exit_codes_and_signals_are_the_commands_own():
    assert (await ran("import sys; sys.exit(5)", Isolation()))[0] == 5
    assert (await ran("import os; os.kill(os.getpid(), 11)", Isolation()))[0] == -signal.SIGSEGV
    running = await open_supervised(["/no/such/program"], Isolation())
    assert await running.wait_for_exit(20)
    await running.end()
    assert running.process.returncode == 127
    assert "/no/such/program cannot be started" in running.stderr_tail


async def test_a_folder_that_was_made_unreadable_is_removed():
    code, said = await ran(
        "import os, sys\nfolder = os.environ['TMPDIR']\nos.makedirs(f'{folder}/a/b')\n"
        "open(f'{folder}/a/b/c', 'w').close()\nos.chmod(f'{folder}/a/b', 0)\nos.chmod(f'{folder}/a', 0)\n"
        "sys.stderr.write(folder)",
        Isolation(),
    )
    assert code == 0
    assert not is_file(said)


async def test_when_the_supervisor_is_killed_its_agent_is_gone_and_nothing_is_left():
    running = await open_supervised([sys.executable, "-c", "while True: pass"], Isolation())
    while not (below := supervisor.descendants(running.process.pid)):  # noqa: ASYNC110 - no event tells
        await trio.sleep(0.01)
    mine = running._folder
    os.kill(running.process.pid, signal.SIGKILL)
    await running.end()
    assert wait_until(lambda: not any(map(is_there, below)))
    assert not is_file(mine)


async def test_a_supervisor_that_ends_while_its_agent_is_killed_is_waited_for_by_the_loop():
    null = subprocess.DEVNULL
    running = await open_supervised([sys.executable, "-c", "pass"], Isolation(), stdin=null, stdout=null)
    assert wait_until(lambda: supervisor.status_of(running.process.pid)[0] == "Z")
    await running._kill_below()
    await running.end()
    assert running.process.returncode == 0


ON_ITS_SUPERVISOR = """
import ctypes, os, signal, sys, time
libc = ctypes.CDLL(None, use_errno=True)
sup = os.getppid()
{attack}
if os.fork() == 0:
    os.setsid()
else:
    sys.stderr.write("done\\n")
    sys.stderr.flush()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(60)
"""
STOPS = "os.kill(sup, signal.SIGSTOP)"
SEIZES = "libc.ptrace(0x4206, sup, 0, 0); libc.ptrace(0x4207, sup, 0, 0)"
KILLS = "libc.prctl(1, 0); os.kill(sup, signal.SIGKILL)"  # no signal when the parent dies
KILLS_OTHERWISE = KILLS.replace("SIGKILL", "SIGUSR1")


@pytest.mark.parametrize("attack", [STOPS, SEIZES, KILLS, KILLS_OTHERWISE])
async def test_an_agent_cannot_outlive_its_limit_by_what_it_does_to_its_supervisor(attack: str):
    null = subprocess.DEVNULL
    code = ON_ITS_SUPERVISOR.format(attack=attack)
    running = await open_supervised([sys.executable, "-c", code], Isolation(), stdin=null, stdout=null)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(running.read_stderr)
        with trio.fail_after(60):
            while "done" not in running.stderr_tail:  # noqa: ASYNC110 - no event tells
                await trio.sleep(0.01)
        below = [running._report.pid()]
        below += supervisor.descendants(below[0])
        assert len(below) == 2
        nursery.cancel_scope.cancel()
    with trio.fail_after(supervised._PATIENCE_SECONDS - 1):  # less than waiting for the supervisor would take
        await running.end()
    assert wait_until(lambda: not any(map(is_there, below)))
    assert not is_file(running._folder)


async def test_an_agent_whose_supervisor_is_killed_does_not_play_on(tmp_path: Path):
    (tmp_path / "bot.py").write_text(
        "import ctypes, os, signal\ndef act(observation):\n    if observation == 1:\n        "
        + KILLS.replace("libc", "ctypes.CDLL(None)").replace("sup", "os.getppid()")
        + "\n        signal.pause()\n    return observation\n"
    )
    played = await play_here(CountTask(3), ProcessHost(f"{tmp_path}/bot.py:act", "bot"), control=CONTROL)
    assert [fall.reason for fall in played.disqualified] == ["gone"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may trace every process")
async def test_a_supervisor_cannot_be_traced_by_its_agent():
    code = "import ctypes, os, sys\nsys.exit(ctypes.CDLL(None).ptrace(0x4206, os.getppid(), 0, 0) == 0)"
    assert (await ran(code, Isolation()))[0] == 0


KILLED_HOST = """
import sys, tempfile, trio
from flagfall.agents.process.isolation import Isolation
from flagfall.agents.hosts.process import ProcessHost
from tests.fakes import CountTask, play_here
tempfile.tempdir = sys.argv[2]
trio.run(lambda: play_here(CountTask(5), ProcessHost(sys.argv[1], "bot"), control="start=20s act=60s"))
"""


def test_an_agent_that_spins_dies_with_a_kill_9_of_its_host(tmp_path: Path):
    (tmp_path / "bot.py").write_text(
        "import os, pathlib, time\ndef act(observation):\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n        os.setsid()\n        time.sleep(60)\n"
        f"    pathlib.Path('{tmp_path}/pids').write_text(f'{{os.getpid()}} {{pid}}')\n"
        "    while True:\n        pass\n"
    )
    (tmp_path / "tmp").mkdir()
    command = [sys.executable, "-c", KILLED_HOST, f"{tmp_path}/bot.py:act", str(tmp_path / "tmp")]
    host = subprocess.Popen(command)
    pids = tmp_path / "pids"
    try:
        assert wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 2, 30)
    finally:
        host.kill()
        host.wait()
    for pid in map(int, pids.read_text().split()):
        assert wait_until(lambda pid=pid: not is_there(pid)), pid  # type: ignore[misc]
    assert wait_until(lambda: not list((tmp_path / "tmp").iterdir()))


@pytest.mark.parametrize("grouped", [True, False])
async def test_the_cpu_time_of_what_it_started_counts(grouped: bool):
    code = "import os, time\nif os.fork() == 0:\n    while True: pass\ntime.sleep(60)"
    running = await open_supervised([sys.executable, "-c", code], Isolation())
    try:
        with trio.fail_after(60):
            while len(supervisor.descendants(running.process.pid)) < 2:  # noqa: ASYNC110 - no event tells
                await trio.sleep(0.01)
            clock = running.cpu_clock() if grouped else supervised._family_clock(running.process.pid)
            while clock() < 100 * MS:  # noqa: ASYNC110 - a clock tells by no event
                await trio.sleep(0.01)
    finally:
        await running.end()
    assert clock() >= 100 * MS  # it stands still when everybody is gone


# Folders and processes.


def test_sizes_of_folders_and_descendants_are_found(tmp_path: Path):
    assert supervisor.descendants(2**22 + 1) == []
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(bytes(100_000))
    assert 100_000 <= size_of(str(tmp_path)) < 200_000
    child = subprocess.Popen(["sleep", "60"])
    try:
        assert child.pid in supervisor.descendants(os.getpid())
    finally:
        with suppress(OSError):
            child.kill()
        child.wait()


def dig(folder: Path, levels: int) -> None:
    """Make a folder in a folder in a folder; no path could name the last."""
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "file").touch()
    (folder / "a" / "outside").symlink_to(folder.parent)
    at = os.open(folder, os.O_DIRECTORY)
    for _ in range(levels):
        os.mkdir("deeper", dir_fd=at)
        below = os.open("deeper", os.O_DIRECTORY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)


def test_a_folder_is_removed_however_deep_it_is(tmp_path: Path):
    folder = tmp_path / "private"
    dig(folder, 3000)
    (folder / "a").chmod(0)
    remove_folder(str(folder))
    assert list(tmp_path.iterdir()) == []


def test_looks_that_an_agent_makes_slow_leave_its_memory_uncounted_no_longer():
    assert supervisor.pause_after_look(0.001, counts_memory=True) == supervisor.LOOK_SECONDS
    assert supervisor.pause_after_look(1.5, counts_memory=True) == supervisor.MEMORY_SECONDS
    assert supervisor.pause_after_look(1.5, counts_memory=False) > supervisor.MEMORY_SECONDS


def test_what_stands_in_the_place_of_a_folder_is_removed_and_what_it_leads_to_is_not(tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").touch()
    (tmp_path / "private").symlink_to(tmp_path / "elsewhere")
    remove_folder(str(tmp_path / "private"))
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["elsewhere", "file"]


def test_empty_files_count_and_what_is_too_deep_is_told(tmp_path: Path):
    for number in range(100):
        (tmp_path / str(number)).touch()
    assert size_of(str(tmp_path)) >= 100 * ENTRY_BYTES
    dig(tmp_path, 3000)
    with pytest.raises(OSError, match="name too long"):
        size_of(str(tmp_path))
    remove_folder(str(tmp_path))


def test_an_agent_whose_folder_is_too_deep_is_ended():
    code = "import os, time\nos.chdir(os.environ['TMPDIR'])\n"
    code += "for _ in range(3000): os.mkdir('deeper'); os.chdir('deeper')\ntime.sleep(20)"
    status, said = trio.run(ran, code, Isolation())
    assert status == -signal.SIGKILL
    assert "deeper than can be looked into" in said


def test_a_supervisor_whose_host_is_gone_before_it_begins_leaves_nothing(tmp_path: Path):
    folder, ran_file, group = (tmp_path / name for name in ("folder", "ran", "group"))
    folder.mkdir()
    group.mkdir()
    settings = ["host=1", f"folder={folder}", f"cgroup={group}"]
    words = [sys.executable, supervisor.__file__, *settings, "--", "touch", str(ran_file)]
    assert subprocess.run(words, check=False).returncode == 1
    assert list(tmp_path.iterdir()) == []
