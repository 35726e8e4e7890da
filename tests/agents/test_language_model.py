"""A language model that plays, against a real HTTP server that is fine, slow, broken, or tired of us."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from flagfall.agents.hosts.in_loop import LoopHost
from flagfall.agents.hosts.registry import host_agent
from flagfall.agents.process.isolation import Isolation
from flagfall.agents.samples.language_model import LanguageModel
from flagfall.agents.samples.llm.options import KEY, MODEL, URL, Endpoint
from flagfall.errors import UsageError
from flagfall.playing import play
from tests.fakes import CountTask, Played, play_here

SECRET = "sk-0123456789abcdef"  # noqa: S105 - for this test
CONTROL = "start=20s act=1s/10s"
PATIENT = "start=20s act=20s/30s"


class Choice(CountTask):
    """Shows a text and which of five actions may be taken; takes 1 and 3."""

    nil_action = 1
    action_space = spaces.Discrete(5)
    observation_space = spaces.Discrete(2)

    def is_legal(self, action: Any) -> bool:
        return action in {1, 3}

    def reset(self, seed: int) -> Any:
        super().reset(seed)
        return self._view()

    def step(self, action: Any) -> Any:
        return super().step(action)._replace(observation=self._view())

    def _view(self) -> Any:
        return {"text": f"room {len(self.taken)}", "action_mask": np.array([0, 1, 0, 1, 0], np.int8)}


Answer = Callable[["Server", Any], None]


class Server(BaseHTTPRequestHandler):
    """Answers as `answers` says, the last one again and again; keeps what it was asked."""

    protocol_version = "HTTP/1.1"
    answers: list[Answer]
    asked: list[dict[str, Any]]
    keys: list[str]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append({"path": self.path, **body})
        self.keys.append(self.headers.get("Authorization", ""))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        try:
            answer(self, body)
        except OSError:  # the client has gone
            self.close_connection = True

    def give(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        pass


def completes(content: Any) -> Answer:
    text = content if isinstance(content, str) else json.dumps(content)
    body = json.dumps(
        {"id": "x", "choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}
    )
    return lambda server, _asked: server.give(200, body.encode())


def slow(server: Server, _asked: Any) -> None:
    time.sleep(3)
    server.give(200, b"{}")


def drips(server: Server, _asked: Any) -> None:
    server.send_response(200)
    server.send_header("Content-Length", "1000000")
    server.end_headers()
    for _ in range(30):
        server.wfile.write(b" ")
        time.sleep(0.1)


def endless(server: Server, _asked: Any) -> None:
    server.send_response(200)
    server.end_headers()
    for _ in range(2_000):
        server.wfile.write(b" " * 10_000)


def hangs_up(server: Server, _asked: Any) -> None:
    server.close_connection = True
    server.connection.close()


def no_http(server: Server, _asked: Any) -> None:
    server.wfile.write(b"\x00\x01garbage\r\n\r\n")
    server.close_connection = True


def tired(server: Server, _asked: Any) -> None:
    server.give(429, f"slow down, {SECRET}".encode(), Retry_After="0")


def status(code: int, body: bytes = b"no") -> Answer:
    return lambda server, _asked: server.give(code, body)


def refuses(server: Server, _asked: Any) -> None:
    server.give(401, f"the key {SECRET} is wrong".encode())


@pytest.fixture
def server() -> Iterator[Callable[..., type[Server]]]:
    running: list[ThreadingHTTPServer] = []

    def serve(*answers: Answer) -> type[Server]:
        kind = type("Kind", (Server,), {"answers": list(answers), "asked": [], "keys": []})
        running.append(ThreadingHTTPServer(("127.0.0.1", 0), kind))
        threading.Thread(
            target=running[-1].serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()
        kind.url = f"http://127.0.0.1:{running[-1].server_port}/v1"  # type: ignore[attr-defined]
        return kind

    yield serve
    for one in running:
        one.shutdown()
        one.server_close()


def agent(server: Any, key: str = SECRET) -> LoopHost:
    return LoopHost(LanguageModel(server.url, "small", key), "model")


async def choose(server: Any, steps: int = 2, control: str = PATIENT) -> Played:
    return await play_here(Choice(steps), agent(server), control=control)


# It plays.


async def test_a_game_with_numbered_actions(server: Any):
    running = server(completes({"action": 3}))
    played = await choose(running)
    assert (played.actions(), played.disqualified) == ([3, 3], [])
    assert running.keys == [f"Bearer {SECRET}"] * 2
    (first, second) = running.asked
    assert first["path"] == "/v1/chat/completions"
    assert first["model"] == "small"
    assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "user"]
    assert second["messages"][1:2] == first["messages"][1:]
    assert second["messages"][2]["content"] == '{"action": 3}'
    prompt = second["messages"][3]["content"]
    assert '{"text":"room 1"}' in prompt
    assert "[1, 3]" in prompt
    assert "Reward for your last action: 3" in prompt


async def test_a_byte_task(server: Any):
    running = server(completes({"say": "hello."}), completes({"say": ""}))
    result = await play("micro4", agent(running), steps=120, time_control=PATIENT)
    assert result.seats[0].disqualified is None
    assert (result.seats[0].stats.illegal, result.seats[0].stats.late) == (0, 0)
    assert len(running.asked) > 1
    assert running.asked[1]["messages"][2]["content"] == '{"say": "hello."}'


async def test_the_environment_tells_it(server: Any, monkeypatch: pytest.MonkeyPatch):
    running = server(completes({"say": "a"}))
    for name, value in ((URL, running.url + "/"), (MODEL, "large"), (KEY, f" {SECRET}\n")):
        monkeypatch.setenv(name, value)
    result = await play("micro4", "llm", steps=150, time_control=PATIENT)
    assert result.seats[0].disqualified is None
    assert running.asked[0]["model"] == "large"
    assert running.asked[0]["path"] == "/v1/chat/completions"
    assert running.keys[0] == f"Bearer {SECRET}"


async def test_in_a_process_it_gets_what_is_passed_on(server: Any, monkeypatch: pytest.MonkeyPatch):
    running = server(completes({"action": 3}))
    for name, value in ((URL, running.url), (MODEL, "small"), (KEY, SECRET)):
        monkeypatch.setenv(name, value)
    spec = "flagfall.agents.samples.language_model:LanguageModel"
    passed = host_agent(spec, isolation=Isolation(env=(URL, MODEL, KEY)))
    played = await play_here(Choice(2), passed, control=PATIENT)
    assert (played.actions(), played.disqualified) == ([3, 3], [])
    played = await play_here(Choice(2), host_agent(spec), control=PATIENT)
    assert f"set {URL}" in played.disqualified[0].detail


async def test_without_a_key_none_is_shown(server: Any):
    running = server(completes({"action": 1}))
    await play_here(Choice(1), agent(running, ""), control=PATIENT)
    assert running.keys == [""]


# It is asked again.


@pytest.mark.parametrize(
    "trouble",
    [
        tired,
        status(500),
        status(503),
        status(200, b"no json"),
        status(200, b"{}"),
        status(200, b'{"choices":[]}'),
        completes("\ud800"),
        status(200, b'{"choices":[{"message":{"content":null}}]}'),
        hangs_up,
        no_http,
        endless,
    ],
)
async def test_trouble_that_passes(server: Any, trouble: Answer):
    running = server(trouble, completes({"action": 3}))
    played = await choose(running, 1)
    assert (played.actions(), played.disqualified) == ([3], [])
    assert len(running.asked) == 2


@pytest.mark.parametrize(
    "answer",
    [
        "3",
        '"3"',
        '{"action": "3"}',
        '{"action": 3.5}',
        '{"action": 3, "because": "why not"}',
        '```json\n{"action": 3}\n```',
        '{"action": 3} I hope',
        '{"action": 2}',
        '{"action": -1}',
        "",
        "[" * 100_000,
    ],
)
async def test_an_answer_that_is_none_is_told_why_and_asked_again(server: Any, answer: str):
    running = server(completes(answer), completes({"action": 3}))
    played = await choose(running, 1)
    assert (played.actions(), played.disqualified) == ([3], [])
    assert "could not be played" in running.asked[1]["messages"][1]["content"]


@pytest.mark.parametrize("answer", [{"say": "x" * 201}, {"say": "日本"}, {"says": "x"}])
async def test_a_text_that_cannot_be_said(server: Any, answer: Any):
    running = server(completes(answer), completes({"say": "ok."}))
    result = await play("micro4", agent(running), steps=150, time_control=PATIENT)
    assert (result.seats[0].disqualified, result.seats[0].stats.illegal) == (None, 0)
    assert "could not be played" in running.asked[1]["messages"][1]["content"]


# It does nothing in time.


# httpx leaves the body of a request open when it is cancelled while it sends.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <async_generator object ByteStream")
@pytest.mark.parametrize("trouble", [slow, drips, tired, status(500), completes("no"), hangs_up])
async def test_nothing_is_played_in_time_where_no_answer_comes(server: Any, trouble: Answer):
    played = await choose(server(trouble), 1, CONTROL)
    assert (played.actions(), played.verdicts(), played.disqualified) == ([1], ["on time"], [])


async def test_nobody_is_there(server: Any):
    running = server(tired)
    unused = Endpoint.from_env(running.url, "", "")
    played = await play_here(
        Choice(1), LoopHost(LanguageModel("http://127.0.0.1:9/v1"), "model"), control=CONTROL
    )
    assert unused.model == ""
    assert (played.actions(), played.verdicts(), played.disqualified) == ([1], ["on time"], [])


# It keeps its key.


async def test_an_endpoint_that_refuses_ends_it_and_nothing_shows_the_key(
    server: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    running = server(refuses)
    journal = tmp_path / "run.jsonl"
    host = agent(running)
    result = await play("micro4", host, steps=200, time_control=PATIENT, journal=journal)
    assert result.seats[0].disqualified == "crashed"
    assert "HTTP status 401" in result.seats[0].detail
    texts = [journal.read_text(), repr(result), repr(host._agent), repr(host._agent._endpoint), caplog.text]
    assert not any(SECRET in text for text in texts)


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel", f"{SECRET}\x00"])
def test_a_key_that_cannot_be_is_not_shown(key: str):
    with pytest.raises(UsageError, match=KEY) as caught:
        LanguageModel("http://127.0.0.1:9/v1", "small", key)
    assert key not in str(caught.value)


@pytest.mark.parametrize("url", ["", "127.0.0.1:8000", "ftp://x"])
def test_an_address_that_cannot_be(url: str):
    with pytest.raises(UsageError, match=URL):
        LanguageModel(url)


async def test_a_game_that_it_cannot_play(server: Any):
    played = await play_here(
        type("Pictures", (CountTask,), {"reset": lambda _self, _seed: "a picture"})(1),
        agent(server(tired)),
        control=CONTROL,
    )
    assert played.disqualified[0].reason == "crashed"
    assert "actions have numbers" in played.disqualified[0].detail
