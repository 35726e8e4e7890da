"""The command line, called in the process of the tests."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

from flagfall.cli import main


@attrs.frozen
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    def data(self) -> Any:
        return json.loads(self.out)


def call_main(capfd: pytest.CaptureFixture[str], line: str, *words: object) -> Ended:
    """Call the command line with the words of a line, and others that stand as they are."""
    capfd.readouterr()
    code = main([*line.split(), *map(str, words)])
    out, err = capfd.readouterr()
    return Ended(code, out, err)
