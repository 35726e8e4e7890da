"""`flagfall run` with agents that are programs or that connect; `flagfall agent serve` can be both."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import agent_serve


def test_a_python_agent_as_a_program(call: Any, folder: Path):
    (folder / "bot.py").write_text("class Bot:\n    def reply(self, byte, reward):\n        return byte\n")
    spec = f"cmd:{sys.executable} -m flagfall agent serve bot.py:Bot"
    ended = call("run -t micro4 --steps 30 --json -q --agent", spec)
    assert ended.code == 0
    (match,) = json.loads(ended.out)["matches"]
    ended = call("run -t micro4 -a repeating --steps 30 --json -q")
    (same,) = json.loads(ended.out)["matches"]
    assert match["seats"][0]["disqualified"] is None
    assert match["seats"][0]["reward"] == same["seats"][0]["reward"]


@pytest.mark.parametrize("scheme", ["tcp", "ws"])
def test_an_agent_that_connects(call: Any, folder: Path, port: int, token: str, scheme: str):
    url = f"{scheme}://127.0.0.1:{port}"
    serve = agent_serve("repeating", url, "--token-file", "token", "--matches", "2")
    serve += ["--reconnect", "--wait", "30s"]
    with subprocess.Popen(serve, cwd=folder, stderr=subprocess.PIPE, text=True) as agent:
        assert agent.stderr is not None
        assert agent.stderr.readline() == f"flagfall: no match at {url} yet; trying for 30 s\n"
        ended = call(
            f"run -t micro4 -a {url} --agent-token-file token --agent-reconnect --steps 20 --matches 2"
            " -o run.jsonl --time-control start=30s --json"
        )
        assert agent.stderr.read() == f"flagfall: connected to {url}; waiting for the match\n"
        assert agent.wait(timeout=90) == 0
    assert ended.code == 0
    assert ended.err == f"flagfall: waiting for agents to connect: {url}\n"
    assert [match["seats"][0]["disqualified"] for match in json.loads(ended.out)["matches"]] == [None, None]
    assert not any(token in file.read_text() for file in folder.glob("run-*.jsonl"))


@pytest.mark.parametrize("spec", ["tcp://127.0.0.1:{}", "zmq:{}"])
def test_a_seat_that_no_agent_connected_for(call: Any, folder: Path, port: int, spec: str):
    ended = call("run -t micro1 --steps 5 --time-control start=100ms -o run.jsonl -a", spec.format(port))
    assert ended.code == 0
    assert "disqualified: not connected" in ended.out
    assert f"no client connected to {'tcp://' if 'tcp' in spec else ''}127.0.0.1:{port}" in ended.out
    assert '"reason":"not connected"' in (folder / "run.jsonl").read_text()
    assert call("verify run.jsonl").code == 0


def test_a_crash_is_reported_at_both_ends(call: Any, folder: Path, port: int):
    (folder / "bot.py").write_text("def act(observation):\n    raise ValueError('enough')\n")
    url = f"tcp://127.0.0.1:{port}"
    serve = agent_serve("bot.py:act", url)
    with subprocess.Popen(serve, cwd=folder, stderr=subprocess.PIPE, text=True) as agent:
        ended = call(f"run -t micro4 --steps 20 --json -q -a {url} --time-control start=30s")
        _, errors = agent.communicate(timeout=90)
    (match,) = json.loads(ended.out)["matches"]
    assert match["seats"][0]["disqualified"] == "crashed"
    assert "ValueError: enough" in match["seats"][0]["detail"]
    assert agent.returncode == 1
    assert "the agent was disqualified: crashed" in errors
    assert "ValueError: enough" in errors


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("run -t micro1 -a random --agent-reconnect", "a token"),
        ("run -t micro1 -a random --agent-token-file token", "for agents that connect"),
        ("run -t micro1 -a random --agent-token-file missing", "missing"),
        ("run -t micro1 -a zmq --agent-token-file token --agent-reconnect", "do not apply to ZeroMQ"),
        ("run -t micro1 -a tcp://0.0.0.0:7777", "needs a token"),
        ("run -t micro1 -a cmd:no-such-bot", "no program"),
        ("run -t micro1 -a tcp://127.0.0.1:7777 --host task", "a program of its own"),
        ("agent serve random --token-file token", "need --connect"),
        ("agent serve random --connect http://127.0.0.1:1", "no address of a host"),
        ("agent serve random --connect tcp://127.0.0.1:1 --matches 0", "at least 1"),
        ("agent serve random --connect tcp://127.0.0.1:1 --wait 200ms", "no connection"),
    ],
)
def test_wrong_options_are_refused(call: Any, token: str, words: str, message: str):
    ended = call(words)
    assert ended.code == 2
    assert message in ended.err
    assert token not in ended.err
