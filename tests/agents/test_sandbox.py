"""The reach of an agent in a sandbox, where the host is root and where it is a plain user."""

from __future__ import annotations

import errno
import json
import os
import shutil
import struct
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import trio

from flagfall.agents.hosts.process import ProcessHost
from flagfall.agents.process import sandbox
from flagfall.agents.process.isolation import (
    Isolation,
    IsolationKind,
    code_of,
    code_of_command,
    code_of_spec,
    refuse_private,
    refuse_unreadable,
    show_hint,
)
from flagfall.agents.process.limits import Limits
from flagfall.agents.process.seccomp import compile_filter, is_supported
from flagfall.errors import UsageError
from tests.agents.test_isolation import ran
from tests.fakes import CountTask, play_here

CONTROL = "start=20s init=5s act=5s/20s result=5s"

ATTACK = """
import ctypes, json, os, platform, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
writable = []
for top in ("/proc", "/sys"):
    for folder, _, files in os.walk(top):
        for name in files:
            path = f"{folder}/{name}"
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
            except OSError:
                continue
            writable.append(path)
own = tuple(f"/proc/{name}/" for name in ("self", "thread-self", os.getpid()))
on_x86 = platform.machine() == "x86_64"
calls = {
    "ptrace": (101, 117, 0), "mount": (165, 40, 0), "umount2": (166, 39, 0), "move_mount": (429, 429, 0),
    "open_tree": (428, 428, 0), "fsopen": (430, 430, 0), "keyctl": (250, 219, 0), "add_key": (248, 217, 0),
    "bpf": (321, 280, 0), "userfaultfd": (323, 282, 1), "perf_event_open": (298, 241, 0),
    "unshare": (272, 97, 0x10000000), "io_uring_setup": (425, 425, 0), "process_vm_readv": (310, 270, 0),
    "pidfd_getfd": (438, 438, 0), "newer than the table": (500, 500, 0),
    "clone in a user namespace": (56, 220, 0x10000000 | 17),
}
errors = {}
for name, (number, other, first) in calls.items():
    ctypes.set_errno(0)
    made = libc.syscall(number if on_x86 else other, first, 0, 0, 0, 0)
    if made == 0 and "clone" in name:
        os._exit(0)
    errors[name] = ctypes.get_errno() if made == -1 else 0
for name, family, kind in (("vsock", 40, 1), ("packet", 17, 3), ("netlink", 16, 3), ("alg", 38, 5)):
    try:
        socket.socket(family, kind).close()
        errors[name] = 0
    except OSError as error:
        errors[name] = error.errno
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
sys.stderr.write(json.dumps({
    "user": os.getresuid(),
    "outside": open("/proc/self/uid_map").read().split(),
    "writable": [path for path in writable if not path.startswith(own)],
    "errors": errors,
    "capabilities": sorted({status[f"Cap{of}"].strip() for of in ("Prm", "Eff", "Inh", "Bnd", "Amb")}),
    "locked": [status["NoNewPrivs"].strip(), status["Seccomp"].strip()],
    "of the first process": os.listdir("/proc/1"),
}))
"""


KERNEL_MEMORY = """
import ctypes, mmap, os, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
kept = []
def fill(*sockets):
    kept.extend(sockets)
    for each in sockets:
        each.setblocking(False)
        each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**20)
        try:
            while True:
                each.send(bytes(65536))
        except BlockingIOError:
            pass
def page_tables():
    size = 100 << 30
    memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, mmap.PROT_READ)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    kept.append(memory)
    for place in range(0, size, 2 << 20):
        memory[place]
def empty_files():
    for number in range(120_000):
        os.close(os.open(f"/tmp/{number}", os.O_CREAT))
def sockets():
    for _ in range(400):
        fill(*socket.socketpair())
def connections():
    listener = socket.create_server(("127.0.0.1", 0))
    for _ in range(50):
        fill(socket.create_connection(listener.getsockname()), listener.accept()[0])
def semaphores():
    for _ in range(50):
        if libc.semget(0, 32000, 0o600) < 0:
            raise OSError(ctypes.get_errno(), "semget")
def messages():
    if libc.msgget(0, 0o600) < 0:
        raise OSError(ctypes.get_errno(), "msgget")
try:
    globals()[sys.argv[1]]()
except OSError as error:
    sys.exit(error.errno)
sys.stderr.write("took it")
time.sleep(60)
"""


@pytest.fixture(autouse=True, scope="module")
def bubblewrap() -> None:
    try:
        sandbox.check_sandbox()
    except UsageError as error:
        pytest.skip(str(error))


def is_held(found: dict[str, Any]) -> None:
    """Assert that an agent could do nothing of the attack."""
    assert found["writable"] == []
    assert 0 not in found["user"]
    assert [name for name, error in found["errors"].items() if error == 0] == []
    assert found["errors"]["unshare"] == 1
    assert found["errors"]["vsock"] == 97
    assert found["capabilities"] == ["0000000000000000"]
    assert found["locked"] == ["1", "2"]
    assert found["of the first process"] == []


async def test_an_agent_in_a_sandbox_has_no_way_to_the_kernel():
    code, said = await ran(ATTACK, Isolation("sandbox"))
    assert code == 0, said
    found = json.loads(said)
    is_held(found)
    if os.geteuid() == 0:  # a user of its own outside, too: the whole range is mapped to itself
        assert found["user"][0] in sandbox.USERS
        assert found["outside"][:2] == ["0", "0"]


@pytest.mark.skipif(os.geteuid() != 0, reason="agents of a plain user have no users of their own")
def test_no_two_agents_of_this_machine_are_the_same_user():
    """Processes whose numbers differ by the number of users would begin with the same one."""
    host = """
import itertools, trio
from flagfall.agents.process import sandbox, supervised
from flagfall.agents.process.isolation import Isolation
sandbox._numbers = itertools.count(7)
async def main():
    agent = await supervised.open_supervised(["/usr/bin/id", "-u"], Isolation("sandbox"))
    print(int(await agent.process.stdout.receive_some()), flush=True)
    await trio.to_thread.run_sync(input)
    await agent.end()
trio.run(main)
"""
    users = []
    with ExitStack() as stack:
        for number in range(3):
            other = subprocess.Popen(
                [sys.executable, "-c", host], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            stack.callback(other.communicate, "\n")
            assert other.stdout is not None
            users.append(int(other.stdout.readline()))
            if number == 1:
                stack.close()  # then its user is free again
    assert users[0] == users[2] != users[1]


@pytest.mark.parametrize("what", ["page_tables", "empty_files", "sockets", "connections"])
async def test_memory_of_the_kernel_counts(what: str):
    code, said = await ran(KERNEL_MEMORY, Isolation("sandbox", Limits(memory=100_000_000)), arguments=[what])
    assert code == -9
    assert "bytes of memory, and 100000000 are allowed" in said


@pytest.mark.parametrize("what", ["semaphores", "messages"])
@pytest.mark.parametrize("kind", ["process", "sandbox"])
async def test_memory_of_the_kernel_that_nobody_could_count_is_denied(what: str, kind: IsolationKind):
    code, _ = await ran(KERNEL_MEMORY, Isolation(kind, Limits(memory=100_000_000)), arguments=[what])
    assert code == errno.ENOSYS


async def test_an_agent_makes_no_others_wait_by_a_lease():
    """As a plain user it would be the owner of its Python, from which other agents start."""
    lease = """
import fcntl, os, sys
file = os.open("/tmp/own", os.O_CREAT | os.O_RDONLY)
try:
    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
except OSError as error:
    sys.exit(error.errno)
"""
    code, said = await ran(lease, Isolation("sandbox"))
    assert code == errno.EPERM, said


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes a plain user")
def test_so_it_is_where_the_host_is_a_plain_user(monkeypatch: pytest.MonkeyPatch):
    python = "/usr/bin/python3"
    as_plain = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"]
    if (
        not Path(python).exists()
        or subprocess.run([*as_plain, "unshare", "-U", "true"], check=False).returncode
    ):
        pytest.skip("plain users have no Python or no user namespaces here")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sandbox, "_python_places", list)
    monkeypatch.chdir("/")
    wrapped = sandbox.sandboxed([python, "-c", ATTACK], (), Limits())
    try:
        tried = subprocess.run(
            [*as_plain, *wrapped.words],
            pass_fds=wrapped.descriptors,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        wrapped.close()
    assert tried.returncode == 0, tried.stderr
    found = json.loads(tried.stderr)
    is_held(found)
    assert found["user"] == [1000] * 3


LANGUAGES = {
    "c": ("gcc", '#include <stdio.h>\nint main(void) { puts("made"); return 0; }'),
    "node": ("node", "setTimeout(() => console.log('made'), 1)"),
    "java": ("java", 'class Bot { public static void main(String[] a) { System.out.println("made"); } }'),
    "threads": (
        sys.executable,
        "import threading, multiprocessing, tempfile\n"  # noqa: ISC004 - one program
        "def work(): return None\n"
        "t = threading.Thread(target=work); t.start(); t.join()\n"
        "p = multiprocessing.get_context('fork').Process(target=work); p.start(); p.join()\n"
        "import numpy; numpy.linalg.svd(numpy.random.rand(80, 80))\n"
        "tempfile.TemporaryFile().write(b'x')\n"
        "print('made' if p.exitcode == 0 else 'not made')",
    ),
}


@pytest.mark.parametrize("language", LANGUAGES)
async def test_programs_in_other_languages_run_under_the_filter(language: str, tmp_path: Path):
    program, source = LANGUAGES[language]
    if shutil.which(program) is None:
        pytest.skip(f"no {program} here")
    file = tmp_path / {"java": "Bot.java", "c": "bot.c", "node": "bot.js"}.get(language, "bot.py")
    file.write_text(source)
    command = [program, str(file)]
    if language == "c":
        await trio.run_process([program, "-o", str(tmp_path / "bot"), str(file)])
        command = [str(tmp_path / "bot")]
    code, said = await ran(
        f"import subprocess, sys; sys.exit(subprocess.run({command!r}, stdout=2).returncode)",
        Isolation("sandbox", readable=code_of_command(command)),
        seconds=60,
    )
    assert (code, said) == (0, "made")


def test_programs_of_another_architecture_are_ended_and_other_machines_refused():
    assert compile_filter(machine="x86_64") != compile_filter(machine="aarch64")
    assert len(compile_filter()) % 8 == 0
    above = {"sandbox": 466, "cores": 0x3FFFFFFF}  # x32 has the same calls with other numbers
    for limit, newest in above.items():
        no_more = struct.pack("=HBBI", 0x25, 0, 1, newest) + struct.pack(
            "=HBBI", 6, 0, 0, 0x50000 | errno.ENOSYS
        )
        assert no_more in compile_filter(sandbox=limit == "sandbox", cores=limit == "cores", machine="x86_64")
    assert not is_supported("pdp11")
    with pytest.raises(UsageError, match="no filter of system calls for machine 'pdp11'"):
        compile_filter(machine="pdp11")


# Files.


async def test_in_a_sandbox_an_agent_sees_its_own_file_and_little_else(tmp_path: Path):
    (tmp_path / "cup-results").mkdir()
    for name in ("cup-results/control.sock", "cup-results/match.jsonl", "opponent.py", "plan.toml"):
        (tmp_path / name).write_text("secret")
    tries = [
        *(
            f"pathlib.Path('{tmp_path}/{name}').read_text()"
            for name in ("cup-results/control.sock", "opponent.py")
        ),
        f"pathlib.Path('{tmp_path}/bot.py').write_text('')",
        "pathlib.Path('/usr/new').write_text('')",
        "pathlib.Path('/new').write_text('')",
        "pathlib.Path('/etc/passwd').read_text()",
        "socket.create_connection(('1.1.1.1', 53), timeout=1)",
        f"[].index(os.listdir('{tmp_path}') != ['bot.py'])",
        f"pathlib.Path('{tmp_path}/bot.py').read_text()",
        "(pathlib.Path(os.environ['TMPDIR']) / 'x').write_text('')",
    ]
    attempts = ", ".join(f"lambda: {what}" for what in tries)
    (tmp_path / "bot.py").write_text(
        "import os, pathlib, socket\n"
        "def tries(what):\n    try:\n        what()\n    except (OSError, ValueError):\n        return 0\n"
        "    return 1\n"
        f"def act(observation):\n    return tries([{attempts}][observation])\n"
    )
    (tmp_path / "bot.py").chmod(0o600)  # as many have theirs
    spec = f"{tmp_path}/bot.py:act"
    played = await play_here(
        CountTask(len(tries)), ProcessHost(spec, "bot", Isolation("sandbox")), control=CONTROL
    )
    assert played.disqualified == []
    assert played.actions() == [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]


async def test_a_package_shows_its_folder_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "bots").mkdir()
    (tmp_path / "bots" / "__init__.py").write_text(
        "import os\nfrom bots.inner import number\ndef act(observation):\n"
        "    assert os.listdir('.') == ['bots'], os.listdir('.')\n    return number\n"
    )
    (tmp_path / "bots" / "inner.py").write_text("number = 7\n")
    (tmp_path / "secret.txt").write_text("secret")
    monkeypatch.chdir(tmp_path)
    played = await play_here(
        CountTask(1), ProcessHost("bots:act", "bots", Isolation("sandbox")), control=CONTROL
    )
    assert played.actions() == [7]


async def test_an_agent_learns_nothing_of_the_seed_of_its_match(tmp_path: Path):
    seed = 7243986501234567
    (tmp_path / "match.jsonl").write_text(str(seed))
    (tmp_path / "bot.py").write_text(
        "import glob, os, sys\n"
        "class Bot:\n"
        "    def start(self, briefing):\n"
        "        self.known = [briefing.seat, briefing.seed, briefing.time_control, dict(os.environ)]\n"
        "    def act(self, observation):\n"
        "        for path in glob.glob('/proc/[0-9]*/[ce][mn][dv]*') + glob.glob(f'{os.getcwd()}/*'):\n"
        "            try:\n                self.known.append((path, open(path, errors='replace').read()))\n"
        "            except OSError:\n                pass\n"
        "        sys.stderr.write(repr(self.known))\n        sys.stderr.flush()\n        return observation\n"
    )
    played = await play_here(
        CountTask(1),
        ProcessHost(f"{tmp_path}/bot.py:Bot", "bot", Isolation("sandbox")),
        control=CONTROL,
        seed=seed,
    )
    assert played.disqualified == []
    assert played.result is not None
    said = played.result.seats[0].stderr_tail
    assert "cmdline" in said
    assert str(seed) not in said


async def test_what_is_missing_in_a_sandbox_is_named_with_its_option(tmp_path: Path):
    (tmp_path / "helpers.py").write_text("")
    (tmp_path / "bot.py").write_text("import helpers\ndef act(observation):\n    return observation\n")
    spec = f"{tmp_path}/bot.py:act"
    played = await play_here(CountTask(1), ProcessHost(spec, "bot", Isolation("sandbox")), control=CONTROL)
    assert (
        f"the sandbox shows only {tmp_path}/bot.py: add --show {tmp_path}/helpers.py"
        in played.disqualified[0].detail
    )
    helped = Isolation("sandbox", readable=(f"{tmp_path}/helpers.py",))
    played = await play_here(CountTask(1), ProcessHost(spec, "bot", helped), control=CONTROL)
    assert played.disqualified == []


async def test_more_can_be_shown_in_a_sandbox(tmp_path: Path):
    book = tmp_path / "book.txt"
    book.write_text("e4")
    code = f"import sys; sys.stderr.write(open('{book}').read())"
    assert "e4" not in (await ran(code, Isolation("sandbox")))[1].split()
    assert (await ran(code, Isolation("sandbox", readable=(str(book),))))[1] == "e4"


def test_what_holds_an_agents_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for name in ("bot", "book.txt"):
        (tmp_path / name).touch(mode=0o755)
    assert code_of_spec("random") == code_of_spec("unknown") == code_of_spec("no_such_module:Bot") == ()
    assert code_of_spec(f"{tmp_path}/bot.py:Bot") == (f"{tmp_path}/bot.py",)
    assert code_of_spec("json.tool:Bot") == (str(Path(json.__file__).parent),)
    assert code_of("cmd:./bot --book book.txt --deep") == (f"{tmp_path}/bot", f"{tmp_path}/book.txt")


def test_records_of_matches_are_not_shown(tmp_path: Path):
    (tmp_path / "cup-results").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    for shown in (tmp_path, tmp_path / "cup-results" / "x", tmp_path / "cup-results", tmp_path / "link"):
        with pytest.raises(UsageError, match="no agent may see"):
            refuse_private([str(shown)], tmp_path / "cup-results")
    refuse_private([str(tmp_path / "bot.py")], tmp_path / "cup-results")


def test_what_another_user_cannot_read_is_refused(tmp_path: Path):
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "file").touch(mode=0o600)
    with pytest.raises(UsageError, match=f"user 60578 here, who cannot read {tmp_path}/data: allow it"):
        refuse_unreadable([str(tmp_path / "file"), str(tmp_path / "data")], 60578)
    (tmp_path / "data").chmod(0o755)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with pytest.raises(UsageError, match="who cannot read"):  # a copy would show what its maker may not read
        refuse_unreadable([str(tmp_path / "link")], 60578)
    refuse_unreadable([str(tmp_path / "data"), str(tmp_path / "no such file")], 60578)


def test_hints_name_what_is_there_and_nothing_else(tmp_path: Path):
    (tmp_path / "data").mkdir()
    bot = (str(tmp_path / "bot.py"),)
    missing = "FileNotFoundError: [Errno 2] No such file or directory: "
    assert show_hint(f"{missing}'data/book.txt'", bot) == ""
    (tmp_path / "data" / "book.txt").touch()
    assert show_hint(f"{missing}'data/book.txt'", bot).endswith(f"add --show {tmp_path}/data/book.txt")
    assert show_hint("No module named 'absent'", bot) == ""


# Where there can be none.


def test_hints_name_nothing_that_an_agent_only_wants_to_be_shown(tmp_path: Path):
    code = tmp_path / "bots" / "bot.py"
    code.parent.mkdir()
    (tmp_path / "secret").touch()
    for name in ("/etc/passwd", str(tmp_path / "secret"), "../secret", "../..", str(code.parent), "."):
        assert show_hint(f"No such file or directory: '{name}'", [str(code)]) == ""
    (code.parent / "book").touch()
    assert show_hint(f"No such file or directory: '{code.parent}/book'", [str(code)]).endswith("bots/book")


def test_where_there_is_no_bubblewrap_a_sandbox_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    sandbox.check_sandbox.cache_clear()
    try:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(UsageError, match="needs bubblewrap: install it"):
            ProcessHost("random", "random", Isolation("sandbox"))
        for name in ("bwrap", "setpriv"):
            (tmp_path / name).write_text("#!/bin/sh\necho no namespaces >&2\nexit 1\n")
            (tmp_path / name).chmod(0o755)
        with pytest.raises(UsageError, match="does not work here: no namespaces"):
            ProcessHost("random", "random", Isolation("sandbox"))
    finally:
        sandbox.check_sandbox.cache_clear()
