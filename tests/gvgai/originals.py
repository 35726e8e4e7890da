"""Public Java and Python clients of the learning track, unchanged, as agents of tests."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path

CLIENTS = Path(__file__).parents[3] / "shared/data/clients/gvgai"
_PYTHON = CLIENTS / "GVGAI-PythonClient/src"
_JAVA = CLIENTS / "GVGAI-JavaClient/src"


def python_client(folder: Path) -> str | None:
    """Return the agent text of the random Python client, set up in a folder; `None` where it cannot run.

    It imports Pillow, and uses it for pictures alone: where its Python has none, an empty module stands in.
    """
    python = python2()
    if python is None or not _PYTHON.is_dir():
        return None
    home = folder / "python client"
    shutil.copytree(_PYTHON, home)
    (home / "logs").mkdir()
    path = [str(home)]
    if subprocess.run([python, "-c", "import PIL"], capture_output=True, check=False).returncode:
        for name in ("__init__.py", "Image.py"):
            empty = folder / "no pillow/PIL" / name
            empty.parent.mkdir(parents=True, exist_ok=True)
            empty.touch()
        path.append(str(folder / "no pillow"))
    words = [f"PYTHONPATH={os.pathsep.join(path)}", python, "utils/PythonClient.py", "sampleRandom"]
    return "gvgai:" + shlex.join(["env", "-C", str(home), *words])


def java_client(folder: Path) -> str | None:
    """Return the agent text of the random Java client, compiled to a folder; `None` where it cannot run."""
    compiler, java = shutil.which("javac"), shutil.which("java")
    if compiler is None or java is None or not _JAVA.is_dir():
        return None
    home = folder / "java client"
    (home / "logs").mkdir(parents=True)
    sources = [str(_JAVA / name) for name in ("utils/JavaClient.java", "sampleRandom/Agent.java")]
    quick = ["-proc:none", "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"]  # half the time of the compiler
    options = [*quick, "-nowarn", "-encoding", "UTF-8", "-d", str(home), "-sourcepath", str(_JAVA)]
    subprocess.run([compiler, *options, *sources], check=True, capture_output=True)
    words = [java, "-cp", ".", "utils.JavaClient", "sampleRandom.Agent"]
    return "gvgai:" + shlex.join(["env", "-C", str(home), *words])


@cache
def python2() -> str | None:
    """Return a Python 2.7 that runs here: `FLAGFALL_PYTHON2`, one on the path, or one of pyenv's."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    named = [os.environ.get("FLAGFALL_PYTHON2"), shutil.which("python2.7"), shutil.which("python2")]
    with suppress(OSError):  # the folder may be another user's
        named += map(str, sorted(root.glob("versions/2.7*/bin/python2.7")))
    return next(filter(_runs, filter(None, named)), None)


def _runs(python: str) -> bool:
    with suppress(OSError):
        return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0
    return False
