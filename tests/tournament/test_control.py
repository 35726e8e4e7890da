"""The control socket of a run: any bytes get one line back, and only the user reaches it."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import trio

from flagfall.errors import UsageError
from flagfall.tournament.run import control
from flagfall.tournament.run.api import run_tournament
from flagfall.tournament.run.control import MAX_CONNECTIONS, MAX_LINE_BYTES, send_command, token_name
from flagfall.tournament.run.runner import Run
from flagfall.tournament.run.runtime_folder import PeerRefused, check_peer
from tests.tournament.runs import is_gone, is_heard, program, small_plan, until, wait_until

WRONG = {
    "a match that is no text": b'{"do":"cancel","match":[1]}',
    "a match that is a table": b'{"do":"cancel","match":{"a":{}}}',
    "no match": b'{"do":"cancel"}',
    "deep lists": b"[" * (MAX_LINE_BYTES - 96),
    "deep tables": b'{"do":' * 600,
    "deep lists in an unknown field": b'{"do":"status","more":' + b"[" * 3900,
    "a number of 4000 digits": b'{"do":"jobs","jobs":' + b"9" * 4000 + b"}",
    "a number that is no whole one": b'{"do":"jobs","jobs":1e999}',
    "no number": b'{"do":"jobs","jobs":NaN}',
    "true as a number": b'{"do":"jobs","jobs":true}',
    "too many jobs": b'{"do":"jobs","jobs":4097}',
    "an unknown request": b'{"do":"dance"}',
    "a request that is a list": b'{"do":["status"]}',
    "no table": b'"status"',
    "an empty line": b"",
    "half a value": b'{"do":',
    "bytes that are no text": b'{"do":"\xff\xfe"}',
    "half a surrogate": b'{"do":"cancel","match":"\\ud800"}',
    "zeros": b"\0" * 100,
    "an unknown field": b'{"do":"status","more":1}',
    "a token that is no text": b'{"do":"status","token":1}',
    "no token": b'{"do":"pause"}',
    "a wrong token": b'{"do":"pause","token":"' + b"0" * 64 + b'"}',
    "a token with other letters": '{"do":"pause","token":"äöü"}'.encode(),
}


def place_of(folder: Path) -> Path:
    """The path of the socket."""
    return Path((folder / "control").read_text())


def connect(folder: Path) -> socket.socket:
    talk = socket.socket(socket.AF_UNIX)
    talk.settimeout(20)
    talk.connect(str(place_of(folder)))
    return talk


def exchange(folder: Path, data: bytes, *, eof: bool = False) -> bytes:
    """Send bytes, and read until the other end closes."""
    with connect(folder) as talk:
        talk.sendall(data)
        if eof:
            talk.shutdown(socket.SHUT_WR)
        answer = b""
        while chunk := talk.recv(65536):
            answer += chunk
            if not eof and answer.endswith(b"\n"):
                break
        return answer


@asynccontextmanager
async def paused_run(folder: Path) -> AsyncIterator[Run]:
    """A run that is paused; it is played to its end, and has to come to it, when the context ends."""
    runs: list[Run] = []

    def begun(run: Run) -> None:
        run.pause()
        runs.append(run)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(run_tournament, small_plan(1, steps=2), folder, jobs=1, on_begin=begun))
        await until(lambda: is_heard(folder))
        yield runs[0]
        runs[0].resume()
    assert len(runs[0].records) == 4


async def test_any_line_gets_one_line_back_and_the_run_goes_on(tmp_path: Path) -> None:
    async with paused_run(tmp_path) as run:
        run.resume = lambda: pytest.fail("a wrong request was carried out")  # type: ignore[method-assign]
        for what, line in WRONG.items():
            answer = await trio.to_thread.run_sync(exchange, tmp_path, line + b"\n")
            assert answer.count(b"\n") == 1, what
            assert list(json.loads(answer)) == ["error"], what
        del run.resume
        state = await trio.to_thread.run_sync(send_command, tmp_path, {"do": "status"})
        assert (state["paused"], state["jobs"]) == (True, 1)


async def test_lines_that_are_too_long_or_never_end_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "REPLY_TIMEOUT_SECONDS", 0.05)
    async with paused_run(tmp_path):
        for data, eof, why in (
            (b"x" * 1_000_000, True, "4096 bytes"),
            (b'{"do":"status"', True, "the request is incomplete"),
            (b"", True, "the request is incomplete"),
            (b'{"do":"sta', False, "within"),
        ):
            answer = await trio.to_thread.run_sync(partial(exchange, tmp_path, data, eof=eof))
            assert answer.count(b"\n") == 1
            assert why in json.loads(answer)["error"]


async def test_connections_that_say_nothing_lock_nobody_out(tmp_path: Path) -> None:
    async with paused_run(tmp_path):
        silent = [await trio.to_thread.run_sync(connect, tmp_path) for _ in range(200)]
        state = await trio.to_thread.run_sync(send_command, tmp_path, {"do": "status"})
        assert state["played"] == 0
        # The oldest is ended for it: the number of connections is bounded.
        told = [talk.recv(1000) for talk in silent[: 200 - MAX_CONNECTIONS]]
        assert all("try again" in json.loads(line)["error"] for line in told)
        for talk in silent:
            talk.close()


async def test_a_client_that_never_reads_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "REPLY_TIMEOUT_SECONDS", 0.05)
    async with paused_run(tmp_path):
        request = {"do": "status", "token": token_of(tmp_path)}
        with connect(tmp_path) as talk:
            talk.sendall(json.dumps(request).encode() + b"\n")
            await trio.sleep(0.2)
            await trio.to_thread.run_sync(send_command, tmp_path, {"do": "status"})


def token_of(folder: Path) -> str:
    place = place_of(folder)
    return (place.parent / token_name(place.name)).read_text()


# --- the place ---------------------------------------------------------------------------------------------


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for what programs share, of this test alone."""
    folder = tmp_path / ("runtime" * 20)  # longer than the path of a socket may be
    folder.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder


async def test_the_socket_lies_in_a_private_folder_and_not_with_the_results(
    tmp_path: Path, runtime: Path
) -> None:
    async with paused_run(tmp_path / "out"):
        place = place_of(tmp_path / "out")
        assert place.parent == runtime / "flagfall"
        token = place.parent / token_name(place.name)
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (place.parent, token)]
        assert modes == [0o700, 0o600]
        found = [path for path in (tmp_path / "out").rglob("*") if path.is_socket()]
        assert not found
        await trio.to_thread.run_sync(send_command, tmp_path / "out", {"do": "status"})
    assert list((runtime / "flagfall").iterdir()) == []
    assert not (tmp_path / "out" / "control").exists()
    with pytest.raises(UsageError, match="no tournament is being played"):
        send_command(tmp_path / "out", {"do": "status"})


@pytest.mark.parametrize("variable", ["", "relative", "/nowhere"])
async def test_without_a_usable_variable_it_lies_with_the_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", variable)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    async with paused_run(tmp_path / "out"):
        assert place_of(tmp_path / "out").parent == tmp_path / f"flagfall-{os.geteuid()}"
        await trio.to_thread.run_sync(send_command, tmp_path / "out", {"do": "status"})


def link(path: Path) -> None:
    (path.parent / "elsewhere").mkdir(mode=0o700)
    path.symlink_to(path.parent / "elsewhere")


def opened(path: Path) -> None:
    path.mkdir(mode=0o700)
    path.chmod(0o755)


@pytest.mark.parametrize("prepare", [link, opened, Path.touch])
async def test_a_folder_that_others_may_have_made_is_not_used(
    tmp_path: Path, runtime: Path, prepare: Callable[[Path], None]
) -> None:
    prepare(runtime / "flagfall")
    warnings: list[str] = []
    out = tmp_path / "out"
    records = await run_tournament(small_plan(1, steps=2), out, warn=warnings.append)
    assert len(records) == 4
    assert "flagfall ctl will not reach this run" in warnings[0]
    with pytest.raises(UsageError, match="no tournament is being played"):
        send_command(out, {"do": "status"})


async def test_what_a_killed_run_has_left_is_replaced(tmp_path: Path, runtime: Path) -> None:
    async with paused_run(tmp_path / "out"):
        place = place_of(tmp_path / "out")
    (place.parent / place.name).touch()
    (place.parent / token_name(place.name)).write_text("old")
    (tmp_path / "out" / "control").write_text(str(place))
    assert place.is_relative_to(runtime)
    with pytest.raises(UsageError, match="no tournament is being played"):
        send_command(tmp_path / "out", {"do": "status"})
    await run_tournament(small_plan(1, steps=2), tmp_path / "out", resume=True)
    assert list(place.parent.iterdir()) == []


@pytest.mark.parametrize("data", [b"", b"\0", b"/", b"/nowhere/x.sock", b"\xff\xfe" * 3000])
def test_a_damaged_pointer_is_told(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "control").write_bytes(data)
    with pytest.raises(UsageError, match="no tournament is being played"):
        send_command(tmp_path, {"do": "status"})


# --- who speaks --------------------------------------------------------------------------------------------

CONNECT = """
import socket, sys
with socket.socket(socket.AF_UNIX) as talk:
    talk.settimeout(20)
    talk.connect(sys.argv[1])
    print(talk.recv(1000).decode())
"""


async def test_a_process_below_the_run_is_refused(tmp_path: Path) -> None:
    async with paused_run(tmp_path):
        words = [sys.executable, "-c", CONNECT, str(place_of(tmp_path))]
        done = await trio.run_process(words, capture_stdout=True)
        assert "processes of agents may not control" in done.stdout.decode()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
async def test_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "/usr/bin/env", "python3"]
    with TemporaryDirectory() as top:  # where others can come, unlike to the folder of the test
        monkeypatch.setenv("XDG_RUNTIME_DIR", top)
        async with paused_run(tmp_path):
            place = place_of(tmp_path)
            for path in (place.parent.parent, place.parent, place):
                path.chmod(0o777)
            done = await trio.run_process([*words, "-c", CONNECT, place], capture_stdout=True)
            assert "only the user who started the run" in done.stdout.decode()


def test_a_process_that_is_gone_is_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        script = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
        subprocess.run([sys.executable, "-c", script, tmp_path / "s"], check=True)
        connection, _ = listener.accept()
        with connection, pytest.raises(PeerRefused):
            check_peer(connection)


AGENT = """
import json, os, signal, socket, time
from pathlib import Path

HERE = Path(__file__).parent

def parent_of(pid):
    return int(Path(f"/proc/{{pid}}/stat").read_text().rpartition(")")[2].split()[1])

def attack(above):
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    try:
        for pid in above if {kill} else ():
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)
        heard = "nothing"
        pointer = HERE / "out" / "control"
        place = pointer.read_text() if pointer.exists() else str(HERE / "out" / "control.sock")
        with socket.socket(socket.AF_UNIX) as talk:
            talk.settimeout(10)
            talk.connect(place)
            token = Path(place).with_suffix(".token")
            token = token.read_text() if token.exists() else ""
            request = dict(do="pause", token=token) if token else dict(do="pause")
            try:
                talk.sendall(json.dumps(request).encode() + b"\\n")
            except BrokenPipeError:
                pass
            heard = talk.recv(100000).decode()
    except BaseException as error:
        heard = repr(error)
    finally:
        (HERE / "heard.tmp").write_text(heard)
        (HERE / "heard.tmp").rename(HERE / "heard")
        os._exit(0)

class Bot:
    begun = False
    def act(self, observation):
        if not self.begun and not (HERE / "begun").exists():
            (HERE / "begun").touch()
            supervisor = os.getppid()
            attack([supervisor, parent_of(supervisor)])
        self.begun = True
        if not (HERE / "heard").exists():
            time.sleep(0.05)
        return 32
"""

AGENT_PLAN = """
time_control = "start=20s act={act}"
isolation = "{isolation}"
jobs = 1
[[agents]]
spec = "bot.py:Bot"
[[tasks]]
task = "micro1"
steps = {steps}
"""


@pytest.mark.parametrize(
    ("isolation", "kill"),
    [
        ("process", False),
        pytest.param("process", True, marks=pytest.mark.release),
        pytest.param("none", False, marks=pytest.mark.release),
        ("none", True),
    ],
    ids=lambda value: {False: "detached", True: "supervisor and worker killed"}.get(value, value),
)
def test_no_process_of_an_agent_controls_the_run(tmp_path: Path, isolation: str, kill: bool) -> None:
    (tmp_path / "bot.py").write_text(textwrap.dedent(AGENT).format(kill=kill))
    (tmp_path / "plan.toml").write_text(AGENT_PLAN.format(isolation=isolation, steps=200, act="20s"))
    runner = program("tournament", tmp_path / "plan.toml", "--output", tmp_path / "out")
    try:
        _, complaints = runner.communicate(timeout=60)
        assert runner.returncode == 0, complaints
        if not kill:
            wait_until((tmp_path / "heard").exists)
    finally:
        runner.kill()
        runner.communicate()
    # A run that was paused would not have ended. A lost worker's processes are ended, maybe before they ask.
    if not kill or (tmp_path / "heard").exists():
        heard = json.loads((tmp_path / "heard").read_text())
        assert heard == {"error": "processes of agents may not control the run"}


def test_what_outlives_its_supervisor_ends_with_the_match(tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text(
        "import os, signal, time\n"
        "from pathlib import Path\n"
        "class Bot:\n"
        "    def act(self, observation):\n"
        "        if os.fork() == 0:\n"
        "            os.setsid()\n"
        "            Path(__file__).with_name('left').write_text(str(os.getpid()))\n"
        "            time.sleep(600)\n"
        "        while not Path(__file__).with_name('left').exists():\n"
        "            time.sleep(0.01)\n"
        "        os.kill(os.getppid(), signal.SIGKILL)\n"
        "        time.sleep(600)\n"
    )
    (tmp_path / "plan.toml").write_text(AGENT_PLAN.format(isolation="process", steps=5, act="1s/2s"))
    runner = program("tournament", tmp_path / "plan.toml", "--output", tmp_path / "out")
    _, complaints = runner.communicate(timeout=60)
    assert runner.returncode == 0, complaints
    assert is_gone(int((tmp_path / "left").read_text()))


def test_the_command_still_reaches_a_run(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        '[[agents]]\nspec = "random"\n[[tasks]]\ntask = "micro1"\nsteps = 100000000\n'
    )
    runner = program("tournament", tmp_path / "plan.toml", "--output", tmp_path / "out", "--quiet")
    try:
        wait_until(lambda: is_heard(tmp_path / "out"))
        told: dict[str, Any] = {}

        def is_playing() -> bool:
            words = program("ctl", tmp_path / "out", "--json")
            out, complaints = words.communicate(timeout=90)
            assert words.returncode == 0, complaints
            told.update(json.loads(out))
            return bool(told["running"])

        wait_until(is_playing)
        asked = program("ctl", tmp_path / "out", "cancel", told["running"][0]["match"])
        assert "running" in asked.communicate(timeout=90)[0]
    finally:
        runner.kill()
        runner.communicate()
