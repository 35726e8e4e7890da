"""A real HTTP server that answers as a language model does, by a script."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from flagfall.agents.hosts.this_process import LoopHost
from flagfall.agents.samples.language_model import LanguageModel
from flagfall.agents.samples.llm.settings import ModelOptions

SECRET = "sk-0123456789abcdef"  # noqa: S105 - for this test

Answer = Callable[["Server", Any], None]


class Server(BaseHTTPRequestHandler):
    """Answers as `answers` says, the last one again and again; keeps what it was asked."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a response is two writes, of which the second would wait for 40 ms
    answers: list[Answer]
    asked: list[dict[str, Any]]
    keys: list[str]
    url: str

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


def completes(content: Any, **usage: int) -> Answer:
    text = content if isinstance(content, str) else json.dumps(content)
    message = {"role": "assistant", "content": text}
    return status(
        200, json.dumps({"id": "x", "choices": [{"index": 0, "message": message}], "usage": usage}).encode()
    )


def status(code: int, body: bytes = b"no", **headers: str) -> Answer:
    return lambda server, _asked: server.give(code, body, **headers)


def calls(arguments: str) -> Answer:
    message = {"content": None, "tool_calls": [{"function": {"name": "answer", "arguments": arguments}}]}
    return status(200, json.dumps({"choices": [{"message": message}]}).encode())


@contextmanager
def servers() -> Iterator[Callable[..., type[Server]]]:
    """Return a function that starts a server with answers."""
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


def model(server: Any, **options: Any) -> LoopHost:
    chosen = ModelOptions.parse(options)
    return LoopHost(LanguageModel(server.url, "small", SECRET, chosen), "model")
