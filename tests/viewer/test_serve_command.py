"""`flagfall serve` as a program: its options, many connections, TLS, plain users."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import pytest
import trustme

import flagfall
from flagfall.tournament.records import MatchRecord, SeatRecord
from flagfall.tournament.store import Store
from tests.cli.test_check_host_as_plain_user import AS_PLAIN_USER, plain_python
from tests.tournament.runs import program, small_plan
from tests.viewer.http_talk import more_files

MANY = 1_000
CLOSING = "flagfall: closing the pages; Ctrl-C again to cancel at once\n"


@contextmanager
def serve(folder: Path, *options: object) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    process = program("serve", folder, "--no-open", *options)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        yield line.split()[-1], process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@contextmanager
def get(url: str, **headers: str) -> Iterator[HTTPResponse]:
    """The answer to a request for a page."""
    parts = urlsplit(url)
    with closing(HTTPConnection("127.0.0.1", parts.port or 0, timeout=60)) as talk:
        talk.request("GET", parts.path, headers=headers)
        with closing(talk.getresponse()) as answer:
            yield answer


def stopped(process: subprocess.Popen[str], number: int) -> tuple[int, str, str]:
    """The exit code of a server that gets a signal, and what else it printed."""
    process.send_signal(number)
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


def refusal(*words: object) -> str:
    """The one line of a request that is refused."""
    process = program("serve", *words)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert output == ""
    assert errors.count("\n") == 1
    return errors


def test_wrong_requests_get_one_line(tmp_path: Path):
    token = tmp_path / "token"
    assert "no such folder" in refusal(tmp_path / "nothing")
    assert "others can reach it, so it needs a token" in refusal(tmp_path, "--address", "*")
    assert "write an IP address of this machine" in refusal(tmp_path, "--address", "a.example")
    assert "write a number from 1 to 65535" in refusal(tmp_path, "--port", 70_000)
    assert "token file" in refusal(tmp_path, "--token-file", token)
    assert "a key goes with a certificate" in refusal(tmp_path, "--key", token)
    assert "certificate" in refusal(tmp_path, "--cert", token)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port} at 127.0.0.1 cannot be bound" in refusal(tmp_path, "--port", port)


def test_the_page_is_opened_on_a_desktop_unless_that_is_not_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    os.mkfifo(opened := tmp_path / "opened")
    (browser := tmp_path / "browser").write_text(f"#!/bin/sh\necho $1 > {opened}\n")
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(browser))
    monkeypatch.setenv("DISPLAY", ":0")
    process = program("serve", tmp_path)
    assert process.stdout is not None
    assert opened.read_text() == f"{process.stdout.readline().split()[-1]}\n"
    assert stopped(process, signal.SIGINT)[0] == 130
    with serve(tmp_path) as (_, process):
        reader = os.open(opened, os.O_RDONLY | os.O_NONBLOCK)
        assert stopped(process, signal.SIGINT)[0] == 130
        assert os.read(reader, 1) == b""
        os.close(reader)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_server_cleanly(tmp_path: Path, number: int):
    with serve(tmp_path) as (url, process):
        port = urlsplit(url).port
        with socket.create_connection(("127.0.0.1", port)) as half, get(f"{url}events") as events:
            half.sendall(b"GET / HTTP/1.1\r\nHo")
            assert events.readline().startswith(b"retry")
            code, output, errors = stopped(process, number)
    assert code == 128 + number
    assert output == ""
    assert "Traceback" not in errors
    assert len(errors.splitlines()) <= 1


def test_a_token_file_is_not_printed_and_a_made_token_is(tmp_path: Path):
    token = tmp_path / "token"
    token.write_text("from the file\n")
    with serve(tmp_path, "--token-file", token, "--allow-control") as (url, process):
        assert "token" not in url
        with get(url, Authorization="Bearer from the file") as answer:
            page = answer.read().decode()
        assert "from the file" not in page
        _, output, errors = stopped(process, signal.SIGTERM)
        assert "from the file" not in output + errors
    with serve(tmp_path, "--allow-control") as (url, process):
        made = urlsplit(url).query.removeprefix("token=")
        assert len(made) >= 32
        _, output, errors = stopped(process, signal.SIGTERM)
        assert made not in output + errors


def test_every_address_with_token_and_tls(tmp_path: Path):
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    (tmp_path / "token").write_text("secret-token")
    options = ["--token-file", tmp_path / "token", "--address", "*"]
    with serve(tmp_path, *options, "--cert", tmp_path / "cert.pem", "--key", tmp_path / "key.pem") as (
        url,
        one,
    ):
        trusting = ssl.create_default_context()
        authority.configure_trust(trusting)
        talk = HTTPSConnection("127.0.0.1", urlsplit(url).port or 0, context=trusting)
        talk.request("GET", "/", headers={"Authorization": "Bearer secret-token"})
        assert talk.getresponse().status == 200
        talk.close()
        assert "not secured" not in stopped(one, signal.SIGTERM)[2]
    with serve(tmp_path, *options) as (_, other):
        assert "* is not secured: anyone who reads the network" in stopped(other, signal.SIGTERM)[2]


def test_a_thousand_connections_are_bounded_and_pages_are_still_served(tmp_path: Path):
    with serve(tmp_path) as (url, process), ExitStack() as sockets, more_files(MANY + 500) as enough:
        if not enough:
            pytest.skip("this process may not open so many files")
        first = sockets.enter_context(get(f"{url}events"))
        port = urlsplit(url).port
        opened = []
        for number in range(MANY):
            one = sockets.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            if number % 2:
                one.sendall(b"GET /events HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
            opened.append(one)
        assert b"no tournament has begun" in first.read(200) + first.readline() + first.readline()
        with get(url) as page:
            assert page.status == 200
        refused = [one.recv(200) for one in opened[1::2]]
        assert sum(b" 200 " in answer for answer in refused) == 255
        assert sum(b" 503 " in answer for answer in refused) == MANY // 2 - 255
        files = len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
        assert files <= 1024
        assert stopped(process, signal.SIGTERM)[0] == 128 + signal.SIGTERM


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_plain_user_shows_a_tournament_that_only_others_may_write():
    python = plain_python()
    paths = [sysconfig.get_path("purelib"), str(Path(flagfall.__file__).parent.parent)]
    if subprocess.run([*AS_PLAIN_USER, "test", "-r", *" -a -r ".join(paths).split()], check=False).returncode:
        pytest.skip("plain users cannot read the packages here")
    with TemporaryDirectory(prefix="flagfall-plain-") as name:
        folder = Path(name) / "results"
        folder.parent.chmod(0o755)
        folder.mkdir(mode=0o755)
        store = Store(folder, "make")
        store.begin(small_plan(1000))
        store.put(MatchRecord(id="r0-m0-g0", seats=(SeatRecord(agent="random", score=0.0),)))
        store.close()
        process = subprocess.Popen(
            [*AS_PLAIN_USER, python, "-m", "flagfall", "serve", folder],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(paths)},
        )
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[-1]
            with get(f"{url}events") as events:
                lines = [events.readline() for _ in range(10)]
            assert any(b'"match":"r0-m0-g0"' in line for line in lines)
            assert any(b'"state":"interrupted"' in line for line in lines)
            assert stopped(process, signal.SIGTERM) == (128 + signal.SIGTERM, "", CLOSING)
        finally:
            process.kill()
            process.communicate()
