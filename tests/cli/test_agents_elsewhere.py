"""`flagfall run` with agents that are programs, or connect; `flagfall agent serve` is one of either."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FLAGFALL = [sys.executable, "-m", "flagfall"]


def test_a_python_agent_as_a_program(call: Any, folder: Path):
    (folder / "bot.py").write_text("class Bot:\n    def reply(self, byte, reward):\n        return byte\n")
    spec = f"cmd:{sys.executable} -m flagfall agent serve bot.py:Bot"
    ended = call("run -t micro4 --steps 30 --json -q --agent", spec)
    assert ended.code == 0
    (match,) = json.loads(ended.out)["matches"]
    ended = call("run -t micro4 -a repeating --steps 30 --json -q")
    (same,) = json.loads(ended.out)["matches"]
    assert match["seats"][0]["fell"] is None
    assert match["seats"][0]["reward"] == same["seats"][0]["reward"]


@pytest.mark.parametrize("scheme", ["tcp", "ws"])
def test_an_agent_that_connects(call: Any, folder: Path, port: int, scheme: str):
    (folder / "token").write_text("open sesame\n")
    url = f"{scheme}://127.0.0.1:{port}"
    serve = [
        *FLAGFALL,
        "agent",
        "serve",
        "repeating",
        "--connect",
        url,
        "--token-file",
        "token",
        "--matches",
        "2",
    ]
    with subprocess.Popen([*serve, "--reconnect", "--wait", "30s"], cwd=folder) as agent:
        ended = call(
            f"run -t micro4 -a {url} --agent-token-file token --agent-reconnect --steps 20 --matches 2"
            " -o run.jsonl --time-control start=30s --json -q"
        )
        assert agent.wait(timeout=90) == 0
    assert ended.code == 0
    assert [match["seats"][0]["fell"] for match in json.loads(ended.out)["matches"]] == [None, None]
    assert not any("sesame" in file.read_text() for file in folder.glob("run-*.jsonl"))


@pytest.mark.parametrize("spec", ["tcp://127.0.0.1:{}", "zmq:{}"])
def test_a_seat_that_nobody_came_for(call: Any, folder: Path, port: int, spec: str):
    ended = call("run -t micro1 --steps 5 --time-control start=100ms -o run.jsonl -a", spec.format(port))
    assert ended.code == 0
    assert "fell: not connected" in ended.out
    assert f"no client connected to {'tcp://' if 'tcp' in spec else ''}127.0.0.1:{port}" in ended.out
    assert '"reason":"not connected"' in (folder / "run.jsonl").read_text()
    assert call("verify run.jsonl").code == 0


def test_an_agent_that_breaks_down_is_told_at_both_ends(call: Any, folder: Path, port: int):
    (folder / "bot.py").write_text("def act(observation):\n    raise ValueError('enough')\n")
    url = f"tcp://127.0.0.1:{port}"
    serve = [*FLAGFALL, "agent", "serve", "bot.py:act", "--connect", url]
    with subprocess.Popen(serve, cwd=folder, stderr=subprocess.PIPE, text=True) as agent:
        ended = call(f"run -t micro4 --steps 20 --json -q -a {url} --time-control start=30s")
        _, said = agent.communicate(timeout=90)
    (match,) = json.loads(ended.out)["matches"]
    assert match["seats"][0]["fell"] == "crashed"
    assert "ValueError: enough" in match["seats"][0]["detail"]
    assert agent.returncode == 1
    assert "the agent is out: crashed" in said
    assert "ValueError: enough" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("run -t micro1 -a random --agent-reconnect", "a token"),
        ("run -t micro1 -a random --agent-token-file token", "for agents who connect"),
        ("run -t micro1 -a random --agent-token-file missing", "missing"),
        ("run -t micro1 -a zmq --agent-token-file token --agent-reconnect", "not for learners over ZeroMQ"),
        ("run -t micro1 -a tcp://0.0.0.0:7777", "needs a token"),
        ("run -t micro1 -a cmd:no-such-bot", "no program"),
        ("run -t micro1 -a tcp://127.0.0.1:7777 --clock virtual", "real time"),
        ("agent serve random --token-file token", "go with --connect"),
        ("agent serve random --connect http://127.0.0.1:1", "no address of a host"),
        ("agent serve random --connect tcp://127.0.0.1:1 --matches 0", "at least 1"),
        ("agent serve random --connect tcp://127.0.0.1:1 --wait 200ms", "no connection"),
    ],
)
def test_what_cannot_be(call: Any, folder: Path, words: str, message: str):
    (folder / "token").write_text("open sesame\n")
    ended = call(words)
    assert ended.code == 2
    assert message in ended.err
    assert "sesame" not in ended.err
