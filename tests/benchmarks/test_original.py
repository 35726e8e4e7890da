"""GVGAI's engine as a baseline: its process, and what a user reads who has no JDK or another folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from benchmarks import original
from benchmarks.original import Original, original_folder
from flagfall.errors import UsageError

GAME = Path("zelda.txt")


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "GVGAI"
    (folder / "src/core/game").mkdir(parents=True)
    (folder / "src/core/game/Game.java").write_text("package core.game; abstract class Game {}\n")
    return folder


@pytest.fixture
def jdk(tmp_path, monkeypatch):
    """A function that installs a JDK whose compiler and virtual machine are given as shell scripts."""

    def install(java: str, javac: str = "exit 0") -> None:
        tools = tmp_path / "jdk" / "bin"
        tools.mkdir(parents=True)
        for name, script in {"java": java, "javac": javac}.items():
            (tools / name).write_text(f"#!/bin/sh\n{script}\n")
            (tools / name).chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(tools.parent))

    return install


def test_folder_is_the_one_that_the_environment_names(checkout, monkeypatch):
    monkeypatch.delenv("GVGAI_ORIGINAL", raising=False)
    assert original_folder() is None
    monkeypatch.setenv("GVGAI_ORIGINAL", str(checkout))
    assert original_folder() == checkout


def test_folder_without_the_engine_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("GVGAI_ORIGINAL", str(tmp_path))
    with pytest.raises(
        UsageError, match=r"^GVGAI_ORIGINAL: .* has no src/core/game/Game.java; name a checkout"
    ):
        original_folder()


def test_missing_jdk_is_named(checkout, tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UsageError, match=r"there is no java\w* in .*; install a JDK or set JAVA_HOME"):
        Original(checkout, GAME, 1)


def test_failure_to_compile_has_the_first_line_of_the_compiler(checkout):
    if shutil.which("javac") is None:
        pytest.skip("needs javac")
    with pytest.raises(
        UsageError, match=r"cannot be compiled with its own jars: \S+TimedPlays.java:\d+: error: .*$"
    ) as refused:
        Original(checkout, GAME, 1)
    assert "\n" not in str(refused.value)


def test_rates_are_of_the_ticks_after_the_warm_up(checkout, jdk, tmp_path):
    heard = tmp_path / "heard"
    jdk(f"while read line; do echo $line >> {heard}; echo 2000000000; done")
    with Original(checkout, GAME, 1) as engine:
        assert [engine.rate("cycle", 500), engine.rate("cycle", 500), engine.rate("json", 100)] == [
            250,
            250,
            50,
        ]
    kinds = [line.rpartition(" ")[0] for line in heard.read_text().splitlines()]
    assert kinds == ["cycle 500"] * 4 + ["json 100"] * 3


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 3", "exit code 3"),
        (
            "printf 'Exception in thread main\\n at X\\nCaused by: no such method\\n at Y\\n' >&2",
            "Caused by: no such method",
        ),
        ("read line; echo 'Unsupported class version' >&2", "Unsupported class version"),
    ],
)
def test_engine_that_ends_is_reported_in_one_line(checkout, jdk, script, reason):
    jdk(script)
    with (
        Original(checkout, GAME, 1) as engine,
        pytest.raises(UsageError, match=f"^GVGAI_ORIGINAL: the engine ended: {reason}$"),
    ):
        engine.rate("cycle", 500)


def test_engine_that_hangs_is_given_up_and_ended(checkout, jdk, tmp_path, monkeypatch):
    jdk(f"echo $$ > {tmp_path / 'pid'}; exec sleep 600")
    monkeypatch.setattr(original, "LIMIT_SECONDS", 1)
    with (
        Original(checkout, GAME, 1) as engine,
        pytest.raises(UsageError, match=r"the engine did not play 500 ticks in 1 s"),
    ):
        engine.rate("cycle", 500)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_compiler_that_hangs_is_given_up(checkout, jdk, monkeypatch):
    jdk("exit 0", javac="exec sleep 600")
    monkeypatch.setattr(original, "LIMIT_SECONDS", 1)
    with pytest.raises(UsageError, match="javac takes more than 1 s"):
        Original(checkout, GAME, 1)
