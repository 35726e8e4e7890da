"""The commands of the page on language models work, beside a server that answers as a model does."""

from __future__ import annotations

import json
import re
import shlex
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from flagfall.agents.samples.llm.settings import URL

PAGE = Path(__file__).parents[2] / "docs" / "language-models.md"
BLOCK = re.compile(r"<!-- tested by tests/cli/test_model_page.py -->\n```(\w+)\n(.*?)```", re.DOTALL)


class Model(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"choices": [{"message": {"content": '{"say": "ok"}'}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def test_the_commands_of_the_page_work(
    call: Any, capfd: Any, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = BLOCK.findall(PAGE.read_text())
    assert [kind for kind, _ in blocks] == ["sh", "python", "sh"]
    for kind, text in blocks:
        if kind == "python":
            exec(compile(text, str(PAGE), "exec"), {"__name__": "block"})  # noqa: S102 - the page's own program
            assert '{"say": "ok"}' in capfd.readouterr().out
            monkeypatch.delenv(URL)  # what follows needs no model
            continue
        for command, *words in map(shlex.split, text.splitlines()):
            if command == "export":
                for name_and_value in words:
                    monkeypatch.setenv(*name_and_value.split("=", 1))
                monkeypatch.setenv(URL, endpoint)
                continue
            assert command == "flagfall"
            ended = call("", *words)
            assert ended.code == 0, ended.err
