"""The commands of the page on language models work, beside a server that answers as a model does."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from flagfall.agents.samples.llm.settings import URL
from tests.model_server import completes, servers

PAGE = Path(__file__).parents[2] / "docs" / "language-models.md"
BLOCK = re.compile(r"<!-- tested by tests/cli/test_model_page.py -->\n```(\w+)\n(.*?)```", re.DOTALL)

WITHOUT_MODEL = 3
"""The first block that needs no model."""


def test_the_commands_of_the_page_work(call: Any, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = BLOCK.findall(PAGE.read_text())
    assert [kind for kind, _ in blocks] == ["sh", "python", "sh", "sh", "sh"]
    with servers() as serve:
        url = serve(completes({"say": "ok"}, prompt_tokens=90, completion_tokens=9)).url
        for place, (kind, text) in enumerate(blocks):
            if place == WITHOUT_MODEL:
                monkeypatch.delenv(URL)
            if kind == "python":
                exec(compile(text, str(PAGE), "exec"), {"__name__": "block"})  # noqa: S102 - the page's own program
                assert '{"say": "ok"}' in capfd.readouterr().out
                continue
            for command, *words in map(shlex.split, text.replace("\\\n", "").splitlines()):
                if command == "export":
                    for name_and_value in words:
                        monkeypatch.setenv(*name_and_value.split("=", 1))
                    monkeypatch.setenv(URL, url)
                    continue
                assert command == "flagfall"
                ended = call("", *words)
                assert ended.code == 0, ended.err
