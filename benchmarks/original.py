"""GVGAI's own engine, in a Java process, as the baseline of the games that flagfall reads from its files.

It is compiled, with `TimedPlays.java`, from the checkout that `GVGAI_ORIGINAL` names, by the JDK in
`JAVA_HOME` or on the path. Its own cycle runs without its window and without the lists of events for its
videos; the snapshot of the state that it makes for its agent in every tick belongs to the cycle. What is
counted is the CPU time of the thread that plays, after a warm-up; the virtual machine's compiler and its
collector of garbage have threads of their own, which are not counted.
"""

from __future__ import annotations

__all__ = ["ABSENT", "Original", "original_folder"]

import atexit
import contextlib
import os
import select
import shutil
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Final, Literal, Self

from flagfall.errors import UsageError

VARIABLE: Final = "GVGAI_ORIGINAL"
ABSENT: Final = (
    f"name a checkout of github.com/GAIGResearch/GVGAI as {VARIABLE}, beside a JDK in JAVA_HOME or PATH"
)
"""Why rows have no baseline."""

WARM_UP_SECONDS: Final = 4
"""CPU time in play before the first measurement: the virtual machine compiles meanwhile."""

WARM_UP_LIMIT_SECONDS: Final = 30
"""Longest real time for that: short plays, such as a random frog's, spend most of it on building levels."""

LIMIT_SECONDS: Final = 600
"""Longest wait for an answer, and for the compiler: a hundred times what the slowest game needs."""

_SOURCE: Final = Path(__file__).with_name("TimedPlays.java")
_CLASS: Final = "core.game.TimedPlays"


def original_folder() -> Path | None:
    """Return the checkout of GVGAI that the environment names; `None` if it names none.

    Raises:
        UsageError: it names another folder.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    folder = Path(named).resolve()
    if not (folder / "src" / "core" / "game" / "Game.java").is_file():
        raise UsageError(f"{VARIABLE}: {folder} has no src/core/game/Game.java; {ABSENT}")
    return folder


def _tool(name: str) -> str:
    home = os.environ.get("JAVA_HOME")
    tool = shutil.which(name, path=str(Path(home) / "bin") if home else None)
    if tool is None:
        raise UsageError(
            f"{VARIABLE}: there is no {name} in {home or 'PATH'}; install a JDK or set JAVA_HOME"
        )
    return tool


@cache
def _compiled(folder: Path) -> str:
    """Return a folder with the classes, which lasts as long as this process."""
    classes = tempfile.mkdtemp(prefix="gvgai-")
    atexit.register(shutil.rmtree, classes, ignore_errors=True)
    words = [_tool("javac"), "-nowarn", "-proc:none", "-encoding", "ISO-8859-1", "-d", classes]
    # Some jars of a checkout have older classes of it.
    words += ["-Xprefer:source", "-sourcepath", str(folder / "src"), "-classpath", _libraries(folder)]
    words.append(str(_SOURCE))
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        raise UsageError(f"{VARIABLE}: javac takes more than {LIMIT_SECONDS} s for {folder}") from None
    if done.returncode:
        lines = [*done.stderr.splitlines(), f"exit code {done.returncode}"]
        error = next((line for line in lines if "error:" in line), lines[0])
        raise UsageError(f"{VARIABLE}: {folder} cannot be compiled with its own jars: {error}")
    return classes


def _libraries(folder: Path) -> str:
    return os.pathsep.join(map(str, sorted(folder.rglob("*.jar"))))


class Original:
    """GVGAI's engine, ready to play a level; a context manager that starts and ends its process.

    Args:
        folder: the checkout of GVGAI.
        game: file of the game; its first level is played.
        scale: divides the time of the warm-up.

    Raises:
        UsageError: the checkout cannot be compiled, or there is no JDK.
    """

    def __init__(self, folder: Path, game: Path, scale: int) -> None:
        level = game.with_name(f"{game.stem}_lvl0.txt")
        classes = os.pathsep.join((_compiled(folder), _libraries(folder)))
        words = [_tool("java"), "-Djava.awt.headless=true", "-classpath", classes, _CLASS]
        self._errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            [*words, str(game.resolve()), str(level.resolve())],
            cwd=folder,  # where it finds its pictures, which it reads with a level
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._seed = 0
        self._warm_up_seconds = WARM_UP_SECONDS / scale
        self._warm: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def rate(self, kind: Literal["cycle", "json"], ticks: int) -> float:
        """Return ticks a second of CPU time.

        Args:
            kind: `cycle`: its own cycle; `json`: with its serialised observation in every tick.
            ticks: number of ticks, in as many plays as they take.

        Raises:
            UsageError: its process ended, or did not answer in time.
        """
        if kind not in self._warm:
            spent, began = 0.0, time.monotonic()
            while spent < self._warm_up_seconds and time.monotonic() - began < WARM_UP_LIMIT_SECONDS:
                spent += self._seconds(kind, ticks)
            self._warm.add(kind)
        return ticks / self._seconds(kind, ticks)

    def _seconds(self, kind: str, ticks: int) -> float:
        self._seed += 1
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended: there is no answer
            print(kind, ticks, self._seed, file=self._process.stdin, flush=True)
        if not select.select([self._process.stdout], [], [], LIMIT_SECONDS)[0]:
            raise UsageError(f"{VARIABLE}: the engine did not play {ticks} ticks in {LIMIT_SECONDS} s")
        answer = self._process.stdout.readline()
        if not answer:
            raise UsageError(f"{VARIABLE}: the engine ended: {self._last_words()}")
        return int(answer) / 1e9

    def _last_words(self) -> str:
        """Return the cause of an exception, or whatever else its process wrote last."""
        code = self._process.wait()
        self._errors.seek(0)
        lines = [line for line in self._errors.read().splitlines() if line.strip()]
        causes = [line for line in lines if line.startswith(("Exception in", "Caused by"))] or lines
        return causes[-1] if causes else f"exit code {code}"
