"""The public clients of the original, unchanged and on their port, at `flagfall gvgai serve`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.gvgai.games import write_game
from tests.gvgai.public_clients import (
    JAVA_SOURCES,
    PYTHON_SOURCES,
    compile_java_client,
    java_client,
    play,
    python2,
    python_client,
    why_no_network,
)

PATIENT = "start=50s init=50s act=20s/50s result=50s"
SHORT = ("--games", "3", "--rounds", "1", "--time-control", PATIENT)

SLOW_AGENT = """
import time
from sampleRandom.Agent import Agent as Random

class Agent(Random):
    def init(self, sso, elapsedTimer):
        time.sleep(1.1)
"""
"""The client measures a second for this, and answers `INIT_FAILED`."""


@pytest.fixture(scope="module")
def java_classes(tmp_path_factory) -> Path:
    if shutil.which("javac") is None or not JAVA_SOURCES.exists():
        pytest.skip("needs a JDK and the public Java client")
    classes = Path(tmp_path_factory.mktemp("classes"))
    compile_java_client(classes)
    return classes


@pytest.fixture
def python(tmp_path: Path) -> tuple[list[str], Path]:
    if python2() is None or not PYTHON_SOURCES.exists():
        pytest.skip("needs Python 2.7 and the public Python client")
    if why_no_network():
        pytest.skip(why_no_network())
    folder = tmp_path / "client"
    return python_client(folder), folder


@pytest.fixture
def java(tmp_path: Path, java_classes: Path) -> tuple[list[str], Path]:
    if why_no_network():
        pytest.skip(why_no_network())
    folder = tmp_path / "client"
    return java_client(folder, java_classes), folder


@pytest.mark.parametrize("client", ["python", "java"])
def test_public_client_plays_a_session(client, tmp_path, request):
    words, folder = request.getfixturevalue(client)
    session = play(words, folder, write_game(tmp_path), *SHORT)
    assert session.code == 0, session.said
    assert session.served["disqualified"] == "", session.log
    assert [(game["phase"], game["level"]) for game in session.served["games"]] == [
        *[("training", 0), ("training", 1), ("training", 2)],
        *[("validation", 3), ("validation", 4)],
    ]


def test_python_client_that_is_out_ends(python, tmp_path):
    # Without FINISH it reads the closed connection for ever, at full speed.
    words, folder = python
    (folder / "slow").mkdir()
    (folder / "slow" / "__init__.py").touch()
    (folder / "slow" / "Agent.py").write_text(SLOW_AGENT)
    session = play([*words, "-agentName", "slow.Agent"], folder, write_game(tmp_path), *SHORT, limit=15)
    assert session.served["disqualified"] == "not started", session.log
    assert session.code == 0, "it goes on"
