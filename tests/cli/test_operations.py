"""Entries of runner, workers and admissions, in the log of the matches."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import socket
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import flagfall
from flagfall.recording.log_sink import MAX_WARNINGS
from flagfall.recording.operations import OPERATIONS
from tests.cli.conftest import PATIENCE_SECONDS, Start, agent_serve, ended, until

PACKAGE = Path(flagfall.__file__).parent

PLAN = """
format = "benchmark"
jobs = 1

[[agents]]
spec = "wait.py:Bot"
name = "patient"
host = "task"

[[tasks]]
task = "micro1"
steps = 3
"""

BOT = """
import trio
from pathlib import Path

class Bot:
    async def reply(self, byte, reward):
        while not Path("go").exists():
            await trio.sleep(0.01)
        return 32
"""


def entries(log: Path) -> list[dict[str, Any]]:
    """Return the entries; the last line may be under way."""
    text = log.read_text() if log.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def wait_for(log: Path, wanted: Callable[[dict[str, Any]], bool], number: int = 1) -> dict[str, Any]:
    """Wait for the entry of this number, from 1, of a kind."""
    until(lambda: sum(map(wanted, entries(log))) >= number)
    return list(filter(wanted, entries(log)))[number - 1]


def _can_connect(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True


def named(event: str) -> Callable[[dict[str, Any]], bool]:
    return lambda entry: entry["event"] == event


def test_every_operation_that_is_reported_is_in_the_table_and_documented() -> None:
    trees = [ast.parse(path.read_text()) for path in PACKAGE.rglob("*.py") if path.name != "operations.py"]
    texts = {node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    reported = {text for text in texts if text in OPERATIONS}
    assert reported == set(OPERATIONS)
    text = (PACKAGE.parent / "docs" / "logging.md").read_text()
    for operation, level in OPERATIONS.items():
        assert re.search(rf"^\| `{level}` \|[^|]*`{operation}`", text, re.MULTILINE), operation


def test_a_killed_worker_and_the_match_played_again_are_in_the_log(start: Start) -> None:
    Path("plan.toml").write_text(PLAN)
    Path("wait.py").write_text(BOT)
    log = Path("run.log")
    runner = start("tournament plan.toml -o out -q --log-level debug --log-format json --log-file run.log")
    worker = wait_for(log, named("worker started"))["worker"]
    wait_for(log, named("task started"))
    os.kill(worker, signal.SIGKILL)
    wait_for(log, named("task started"), 2)
    Path("go").touch()
    assert ended(runner).code == 0
    found = entries(log)
    lost = next(filter(named("worker lost"), found))
    assert (lost["worker"], lost["exit_code"], lost["level"]) == (worker, -signal.SIGKILL, "error")
    again = next(filter(named("match repeated"), found))
    assert (again["attempt"], again["agents"], again["level"]) == (1, ["patient"], "warning")
    assert again["reason"].startswith("lost: a worker was lost (-9)")
    assert [entry["attempt"] for entry in found if entry["event"] == "match started"] == [1, 2]
    assert [entry["attempt"] for entry in found if entry["event"] == "match queued"] == [1, 2]
    assert [entry["status"] for entry in found if entry["event"] == "match stored"] == ["void", "played"]
    assert {entry["match"] for entry in found if "match" in entry} == {again["match"]}
    turns = [entry for entry in found if entry["event"] == "turn"]
    assert {(entry["attempt"], entry["seat"], entry["agent"]) for entry in turns} == {(2, 0, "patient")}
    assert Counter(entry["event"] for entry in found)["worker started"] == 2
    (end,) = filter(named("run ended"), found)
    assert (end["played"], end["matches"], end["void"]) == (1, 1, 1)


def test_an_interrupted_and_resumed_run_is_in_the_log(start: Start) -> None:
    Path("plan.toml").write_text(PLAN)
    Path("wait.py").write_text(BOT)
    log = Path("run.log")
    line = "tournament plan.toml -o out -q --resume --log-format json --log-file run.log"
    runner = start(line)
    wait_for(log, named("task started"))
    runner.send_signal(signal.SIGINT)
    wait_for(log, named("run stopping"))
    runner.send_signal(signal.SIGINT)
    ended(runner)
    told = [entry["event"] for entry in entries(log) if entry["event"] in OPERATIONS]
    assert told == ["run started", "worker started", "run stopping", "worker killed", "run interrupted"]
    Path("go").touch()
    assert ended(start(line)).code == 0
    assert ended(start(line)).code == 0
    begun = [entry for entry in entries(log) if entry["event"] in {"run started", "run resumed"}]
    assert [(entry["event"], entry["played"]) for entry in begun] == [
        ("run started", 0),
        ("run started", 0),
        ("run resumed", 1),
    ]


@pytest.mark.usefixtures("token")
def test_agents_that_join_and_those_that_are_refused_are_in_the_log(start: Start, port: int) -> None:
    log, url = Path("run.log"), f"tcp://127.0.0.1:{port}"
    host = start(
        f"run -t micro1 --steps 5 -q --time-control start=60s --agent-token-file token"
        f" --log-format json --log-file run.log -a {url}"
    )
    until(lambda: _can_connect(port))
    silent = wait_for(log, named("agent refused"))
    assert silent["reason"].startswith("silent")
    for _ in range(MAX_WARNINGS + 5):
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"\x1b[31m garbage\n" * 3)
            client.settimeout(PATIENCE_SECONDS)
            while client.recv(100):
                pass
    last = wait_for(log, lambda entry: "note" in entry)
    assert (last["event"], last["level"], last["address"]) == ("agent refused", "warning", url)
    assert last["peer"].startswith("127.0.0.1:")
    assert last["reason"].isprintable()
    subprocess.run(agent_serve("bots.py:Echo", url, "--token-file", "token"), check=True, capture_output=True)
    assert ended(host).code == 0
    found = entries(log)
    assert sum(map(named("agent refused"), found)) == MAX_WARNINGS
    (whole,) = filter(named("agent refused: in all"), found)
    assert whole["count"] >= MAX_WARNINGS + 6
    order = [entry["event"] for entry in found]
    assert order.index("agent joined") < order.index("seat ready")


def test_a_wrong_token_is_the_reason_of_a_refusal(start: Start, port: int, token: str) -> None:
    log, url = Path("run.log"), f"tcp://127.0.0.1:{port}"
    Path("wrong").write_text("open barley\n")
    host = start(
        f"run -t micro1 --steps 5 -q --time-control start=60s --agent-token-file token"
        f" --log-format json --log-file run.log -a {url}"
    )
    wrong = start("agent serve bots.py:Echo --token-file wrong --connect", url)
    refused = wait_for(log, named("agent refused"))
    assert refused["reason"] == "token: it is not the right one"
    assert token not in log.read_text()
    wrong.kill()
    host.kill()
