"""The public Java and Python clients, played unchanged: where they lie, what runs them, and a session."""

from __future__ import annotations

import functools
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs

CLIENTS = Path(__file__).parents[2].parent / "shared" / "data" / "clients" / "gvgai"
JAVA_SOURCES = CLIENTS / "GVGAI-JavaClient" / "src"
PYTHON_SOURCES = CLIENTS / "GVGAI-PythonClient" / "src"

SESSION_SECONDS = 60
"""A session takes two; on a loaded machine more."""

# Both clients have the port 8080 as a constant, so server and client get a network of their own.
OWN_NETWORK = ("bwrap", "--dev-bind", "/", "/", "--unshare-net", "--die-with-parent")

DRIVER = """
import json, subprocess, sys
serve, client, folder, limit = json.loads(sys.argv[1])
with subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
    for line in server.stderr:
        if "waiting for clients" in line:
            break
    code, said = None, ""
    try:
        done = subprocess.run(client, cwd=folder, timeout=limit, capture_output=True, text=True)
        code, said = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        server.terminate()
    told, errors = server.communicate()
print(json.dumps([code, said, server.returncode, told, errors]))
"""

NO_PILLOW = 'def open(*_):\n    raise IOError("no Pillow here")\n'


@attrs.frozen
class Session:
    """A session that was played.

    Attributes:
        code: the client's exit code; `None` where it did not end by itself.
        said: what the client printed.
        served: the server's statistics.
        log: what the server told the user.
    """

    code: int | None
    said: str
    served: dict[str, Any]
    log: str


def play(
    client: Sequence[str], folder: Path, game: str, *options: str, limit: float = SESSION_SECONDS
) -> Session:
    """Serve a game on the usual port and play it with a client."""
    serve = [sys.executable, "-m", "flagfall", "gvgai", "serve", "--game", game, "--json", *options]
    words = json.dumps([serve, list(client), str(folder), limit])
    done = subprocess.run(
        [*OWN_NETWORK, sys.executable, "-c", DRIVER, words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    code, said, _, told, log = json.loads(done.stdout)
    return Session(code, said, json.loads(told)["sessions"][0] if told else {}, log)


@functools.cache
def why_no_network() -> str:
    """Return why no network of its own can be had, or nothing."""
    try:
        done = subprocess.run([*OWN_NETWORK, "true"], capture_output=True, text=True, check=False)
    except OSError as error:
        return f"no bubblewrap: {error.strerror}"
    return done.stderr.strip()


@functools.cache
def python2() -> str | None:
    """Return a Python 2.7 that runs: `FLAGFALL_PYTHON2`, one on the path, or one of pyenv's."""
    candidates = [os.environ.get("FLAGFALL_PYTHON2", ""), "python2.7", "python2"]
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    with suppress(OSError):  # the folder may be another user's
        candidates += map(str, sorted(root.glob("versions/2.7*/bin/python2.7")))
    for candidate in candidates:
        check = [candidate, "-c", "import sys; sys.exit(sys.version_info[:2] != (2, 7))"]
        try:
            if candidate and subprocess.run(check, capture_output=True, check=False).returncode == 0:
                return candidate
        except OSError:
            continue
    return None


def python_client(folder: Path) -> list[str]:
    """Copy the Python client to a folder, as a user would have it, and return its command."""
    python = python2()
    assert python is not None
    shutil.copytree(PYTHON_SOURCES, folder, dirs_exist_ok=True)
    _without_server(folder)
    if subprocess.run([python, "-c", "import PIL"], capture_output=True, check=False).returncode:
        # The client imports Pillow in any case, and uses it for pictures only.
        (folder / "PIL").mkdir()
        (folder / "PIL" / "__init__.py").touch()
        (folder / "PIL" / "Image.py").write_text(NO_PILLOW)
    return [python, "TestLearningClient.py", "-shDir", "no_server"]


def compile_java_client(classes: Path) -> None:
    """Compile the Java client and its random agent to a folder; takes some seconds."""
    quick = ["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"]  # half the time of the compiler
    words = [
        "javac",
        *quick,
        "-nowarn",
        "-proc:none",
        "-encoding",
        "UTF-8",
        "-d",
        str(classes),
        "-sourcepath",
        ".",
    ]
    subprocess.run(
        [*words, "TestLearningClient.java", "utils/JavaClient.java", "sampleRandom/Agent.java"],
        cwd=JAVA_SOURCES,
        check=True,
        capture_output=True,
    )


def java_client(folder: Path, classes: Path) -> list[str]:
    """Return the command of the Java client, to be run in that folder."""
    _without_server(folder)
    return [
        "java",
        "-XX:TieredStopAtLevel=1",
        "-cp",
        str(classes),
        "TestLearningClient",
        "-shDir",
        "no_server",
    ]


def python_agent(folder: Path) -> str | None:
    """Return the agent text of the random Python client, set up in a folder; `None` where it cannot run."""
    python = python2()
    if python is None or not PYTHON_SOURCES.is_dir():
        return None
    home = folder / "python client"
    python_client(home)
    words = [f"PYTHONPATH={home}", python, "utils/PythonClient.py", "sampleRandom"]
    return "gvgai:" + shlex.join(["env", "-C", str(home), *words])


def java_agent(folder: Path) -> str | None:
    """Return the agent text of the random Java client, compiled to a folder; `None` where it cannot run."""
    compiler, java = shutil.which("javac"), shutil.which("java")
    if compiler is None or java is None or not JAVA_SOURCES.is_dir():
        return None
    home = folder / "java client"
    _without_server(home)
    compile_java_client(home)
    words = [java, "-cp", ".", "utils.JavaClient", "sampleRandom.Agent"]
    return "gvgai:" + shlex.join(["env", "-C", str(home), *words])


def _without_server(folder: Path) -> None:
    """Give both clients scripts that start no server, and the folder that they write their log to."""
    (folder / "logs").mkdir(parents=True)
    (folder / "no_server").mkdir()
    for name in ("runServer_nocompile.sh", "runServer_nocompile_python.sh"):
        script = folder / "no_server" / name
        script.write_text("#!/bin/sh\n")
        script.chmod(0o755)
