"""The public learners of round 1 over ZeroMQ, unchanged: in byte mode and in bit mode, and over a series.

They lie in `../shared/data/clients/round1`, and are not part of flagfall; where they, a compiler or a library
is missing, these tests skip. Some have the address 172.18.0.1 and the port 5556 as constants: they play in a
network of their own, which has both.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CLIENTS = Path(__file__).parents[3] / "shared" / "data" / "clients" / "round1"
EVALUATION = CLIENTS / "evaluation" / "examples"
PYTHON_BYTES = EVALUATION / "linux-python" / "agent" / "example_learner.py"
CPP_BYTES = EVALUATION / "linux-cpp" / "agent" / "example_learner.cpp"
PYTHON_BITS = CLIENTS / "src" / "core" / "tests" / "test_remote_learner.py"
CPP_BITS = CLIENTS / "src" / "core" / "tests" / "test_cpp_learner.cc"

OWN_NETWORK = ("unshare", "--net", "--map-root-user")
NETWORK_UP = 'ip link set lo up && ip address add 172.18.0.1/32 dev lo && exec "$@"'
BESIDE = '"$0" > /dev/null & "$@"; code=$?; kill $!; exit $code'
TURNS = 400


def need(*paths: Path) -> None:
    for path in paths:
        if not path.exists():
            pytest.skip(f"no {path}")


@pytest.fixture(scope="module")
def own_network() -> list[str]:
    """The words before a command that give it a network of its own."""
    words = [*OWN_NETWORK, "sh", "-c", NETWORK_UP, "sh"]
    for program in ("unshare", "ip"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program}")
    if subprocess.run([*words, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no networks of one's own here")
    return words


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Path]:
    """The C++ learners, by their sources."""
    need(CPP_BYTES, CPP_BITS)
    if shutil.which("g++") is None:
        pytest.skip("no g++")
    folder = tmp_path_factory.mktemp("round1")
    made = {source: folder / source.stem for source in (CPP_BYTES, CPP_BITS)}
    for source, program in made.items():
        ended = subprocess.run(
            ["g++", "-w", str(source), "-o", str(program), "-lzmq"],
            check=False,
            capture_output=True,
            text=True,
        )
        if "No such file" in ended.stderr or "cannot find -lzmq" in ended.stderr:
            pytest.skip(f"no headers of ZeroMQ: {ended.stderr}")
        assert ended.returncode == 0, ended.stderr
    return made


@pytest.fixture(scope="module")
def python2() -> str:
    """A Python 2 with pyzmq; `PYTHON2` names one."""
    candidates = [os.environ.get("PYTHON2", ""), shutil.which("python2.7") or ""]
    candidates += map(str, Path.home().glob(".pyenv/versions/2.7*/bin/python2.7"))
    for candidate in filter(None, candidates):
        if not subprocess.run([candidate, "-c", "import zmq"], check=False, capture_output=True).returncode:
            return candidate
    pytest.skip("no Python 2 with pyzmq")


def play(network: list[str], folder: Path, *words: str) -> list[Any]:
    """The matches that `flagfall run` plays with these learners."""
    command = [*network, sys.executable, "-m", "flagfall", "run", "--json", "-q", *words]
    command += ["--time-control", "start=30s act=10s/10s"]
    ended = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    matches: list[Any] = json.loads(ended.stdout)["matches"]
    return matches


def check(matches: list[Any], number: int = 1) -> None:
    assert [match["turns"] for match in matches] == [TURNS] * number
    for match in matches:
        (seat,) = match["seats"]
        assert (seat["disqualified"], seat["illegal"], seat["dropped"], seat["late"]) == (None, 0, 0, 0), seat


def test_the_python_learner_in_byte_mode(own_network: list[str], folder: Path):
    need(PYTHON_BYTES)
    words = shlex.join([sys.executable, str(PYTHON_BYTES), "-a", "127.0.0.1", "-p", "5556"])
    check(play(own_network, folder, "-t", "micro1", "--steps", str(TURNS), "--learner-cmd", words))


def test_the_c_plus_plus_learner_in_byte_mode(
    own_network: list[str], compiled: dict[Path, Path], folder: Path
):
    program = str(compiled[CPP_BYTES])
    words = [
        "-t",
        "micro1",
        "--steps",
        str(TURNS),
        "--learner-cmd",
        program,
        "--learner-address",
        "172.18.0.1",
    ]
    check(play(own_network, folder, *words))


def test_the_c_plus_plus_learner_in_bit_mode(
    own_network: list[str], compiled: dict[Path, Path], folder: Path
):
    words = ["-t", "micro1", "--steps", str(TURNS), "--bit-mode", "--learner-cmd", str(compiled[CPP_BITS])]
    check(play(own_network, folder, *words))


def test_the_python_learner_in_bit_mode(own_network: list[str], python2: str, folder: Path):
    need(PYTHON_BITS)
    words = shlex.join([python2, str(PYTHON_BITS)])
    check(
        play(own_network, folder, "-t", "micro1", "--steps", str(TURNS), "--bit-mode", "--learner-cmd", words)
    )


def test_a_learner_started_elsewhere_plays_a_series(
    own_network: list[str], compiled: dict[Path, Path], folder: Path
):
    """It says `hello` once, and stays connected; it began before the series did."""
    started = [*own_network, "sh", "-c", BESIDE, str(compiled[CPP_BYTES])]
    words = ["-t", "micro1", "--steps", str(TURNS), "--matches", "3", "-a", "zmq://172.18.0.1:5556"]
    check(play(started, folder, *words), 3)
