"""The parser of agent texts, and the table that finds a host for each."""

import socket
from pathlib import Path

import pytest

from flagfall.agents.hosts.registry import HOSTS, OBJECT, host_agent
from flagfall.agents.spec import LEARNER_PORT, SCHEMES, AgentSpec, agent_name
from flagfall.errors import UsageError


@pytest.mark.parametrize(
    ("text", "scheme", "target", "member", "port"),
    [
        ("random", "sample", "random", "", 0),
        ("human-keys", "human", "human-keys", "", 0),
        ("humanoid", "sample", "humanoid", "", 0),
        ("zmq.bots:Bot", "python", "zmq.bots", "Bot", 0),
        ("zmqbot.py:Bot", "python", "zmqbot.py", "Bot", 0),
        ("a:b/bot.py:Outer.Bot", "python", "a:b/bot.py", "Outer.Bot", 0),
        ("tcp:1", "python", "tcp", "1", 0),
        ("cmd:./bot --at tcp://x:1", "cmd", "./bot --at tcp://x:1", "", 0),
        ("cmd:", "cmd", "", "", 0),
        ("gvgai:java Client", "gvgai", "java Client", "", 0),
        ("program:./client", "program", "./client", "", 0),
        ("wss://[::1]:7777", "wss", "[::1]", "", 7777),
        ("tcp://*:1", "tcp", "*", "", 1),
        ("zmq", "zmq", "127.0.0.1", "", LEARNER_PORT),
        ("zmq:5557", "zmq", "127.0.0.1", "", 5557),
        ("zmq://*:5557", "zmq", "*", "", 5557),
    ],
)
def test_texts(text: str, scheme: str, target: str, member: str, port: int):
    assert AgentSpec.parse(text) == AgentSpec(text, scheme, target, member, port)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (":Bot", "write module:Name or file.py:Name"),
        ("bot.py:", "write module:Name or file.py:Name"),
        ("http://127.0.0.1:80", "unknown scheme 'http'"),
        ("tcp://127.0.0.1", "write for example tcp://127.0.0.1:7777"),
        ("tls://:7", "write for example"),
        ("ws://127.0.0.1:\u0661", "write for example"),
        ("zmq:", "write zmq:PORT"),
        ("zmq://5556", "write zmq:PORT"),
    ],
)
def test_invalid_texts_are_reported_with_their_form(text: str, message: str):
    with pytest.raises(UsageError, match=message):
        AgentSpec.parse(text)
    assert agent_name(text) == text


def test_relative_files_are_resolved_and_other_texts_stay(tmp_path: Path):
    assert AgentSpec.parse("bot.py:Bot").in_folder(tmp_path).text == f"{tmp_path}/bot.py:Bot"
    for text in ("package.bot:Bot", "random", "cmd:bot.py:Bot", "/bot.py:Bot"):
        assert AgentSpec.parse(text).in_folder(tmp_path).text == text


def test_every_form_of_agent_has_one_default_host_and_at_most_one_of_each_kind():
    for form in (*SCHEMES, OBJECT):
        assert sum(form in entry.default_for for entry in HOSTS) == 1, form
        kinds = [entry.kind for entry in HOSTS if form in entry.default_for | entry.on_request]
        assert len(kinds) == len(set(kinds)), form


def test_an_agent_that_connects_is_remote_also_where_processes_are_asked_for():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free_port = probe.getsockname()[1]
    for text in (f"tcp://127.0.0.1:{free_port}", f"zmq:{free_port}"):
        assert host_agent(text).kind == host_agent(text, "process").kind == "remote"
        with pytest.raises(UsageError, match="a program of its own"):
            host_agent(text, "thread")
    with pytest.raises(UsageError, match="runs with host task or thread or process: leave host out"):
        host_agent("random", "remote")  # type: ignore[arg-type]  # a mistake
