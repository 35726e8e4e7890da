"""The commands and programs of the pages on logs, analysis and language models run as they stand there.

A comment before a block says what it needs (`needs: pandas`, `needs: endpoint`), or the file that it is.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import structlog

from flagfall.agents.samples.llm.options import URL

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"(?:<!-- (needs|file): (\S+) -->\n)?```(\w+)\n(.*?)```", re.DOTALL)
OUTPUT = {
    "logging.md": ["'on time': 50", '"experiment": "a1"', '"match":"second"'],
    "analysis.md": ["3000 ['random'] 1", "0 late turns of 3000", "True 3000 None"],
    "language-models.md": ['{"say": "ok"}'],
}


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


@pytest.mark.parametrize("page", sorted(OUTPUT))
def test_a_page_does_what_it_says(
    page: str, call: Any, capfd: Any, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = BLOCK.findall((DOCS / page).read_text())
    assert len(blocks) > 1
    printed = ""
    for kind, name, language, text in blocks:
        if kind == "file":
            Path(name).write_text(text)
            continue
        if kind == "needs" and name != "endpoint" and importlib.util.find_spec(name) is None:
            continue
        if language == "sh":
            for line in text.splitlines():
                command, *words = shlex.split(line)
                if command == "export":
                    for name_and_value in words:
                        monkeypatch.setenv(*name_and_value.split("=", 1))
                    monkeypatch.setenv(URL, endpoint)
                    continue
                assert command == "flagfall"
                ended = call("", *words)
                assert ended.code == 0, ended.err
                printed += ended.out
        else:
            assert language == "python"
            structlog.reset_defaults()
            exec(compile(text, page, "exec"), {"__name__": "block"})  # noqa: S102 - the page's own program
            printed += "".join(capfd.readouterr())
    structlog.reset_defaults()
    for expected in OUTPUT[page]:
        assert expected in printed
