"""A host and a form of agent texts, added by the table of `CONTRIBUTING.md`: every command knows them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import flagfall
from flagfall.agents.hosts.registry import HOSTS, HostEntry
from flagfall.agents.hosts.this_process import LoopHost
from flagfall.agents.spec import SCHEMES, AgentScheme

BOT = Path(__file__).parents[2] / "examples/wire/bot.py"

HOST_FILE = """
import sys

from flagfall.agents.hosts.process import CommandHost
from flagfall.agents.hosts.this_process import LoopHost


class ConstantHost(LoopHost):
    def __init__(self, spec, player):
        super().__init__(lambda observation: int(spec.target), player.label)


class ScriptHost(CommandHost):
    def __init__(self, spec, player):
        super().__init__(f"{sys.executable} {spec.target}", player.label, player.isolation)
"""

HOST_ROWS = """\
    HostEntry("task", ConstantHost, default_for={"constant"}),
    HostEntry("process", ScriptHost, default_for={"script"}, isolates=True),
"""
FORM_ROWS = """\
        AgentScheme("constant", "constant:65", "the same action at every turn"),
        AgentScheme("script", "script:bot.py", "a script that speaks the protocol"),
"""
ROWS = {
    "agents/hosts/registry.py": ("HOSTS: Final[list[HostEntry]] = [\n", HOST_ROWS),
    "agents/spec.py": ("    for row in (\n", FORM_ROWS),
}
"""The rows of the two files that the table names: where they go, and what they are."""


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with two hosts more: one in the event loop, and one in a process."""
    folder = tmp_path_factory.mktemp("scratch")
    package = Path(flagfall.__file__).parent
    shutil.copytree(package, folder / "flagfall", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "flagfall/agents/hosts/extra.py").write_text(HOST_FILE)
    for name, (place, rows) in ROWS.items():
        path = folder / "flagfall" / name
        text = path.read_text()
        assert text.count(place) == 1
        path.write_text(text.replace(place, place + rows))
    registry = folder / "flagfall/agents/hosts/registry.py"
    imports = "from flagfall.agents.hosts.extra import ConstantHost, ScriptHost\n"
    text = registry.read_text()
    registry.write_text(
        text.replace(
            "from flagfall.agents.hosts.this_process", f"{imports}from flagfall.agents.hosts.this_process"
        )
    )
    return folder


@pytest.fixture
def call(scratch: Path, tmp_path: Path) -> Callable[..., str]:
    """Run a command of the copy, and return what it prints."""
    shutil.copy(BOT, tmp_path / "bot.py")

    def run(*words: str, code: int = 0) -> str:
        command = [sys.executable, "-m", "flagfall", *words]
        ended = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(scratch), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert ended.returncode == code, ended.stderr + ended.stdout
        return ended.stdout + ended.stderr

    return run


PLAN = """
{top}time_control = "start=20s init=20s act=20s result=20s"
[[agents]]
spec = "constant:65"
[[agents]]
spec = "script:bot.py"
[[tasks]]
task = "micro1"
steps = 20
"""


@pytest.mark.parametrize("agent", ["constant:65", "script:bot.py"])
def test_a_new_host_is_examined(call: Callable[..., str], agent: str) -> None:
    patient = "start=20s init=20s act=20s result=20s"
    found = json.loads(call("check-agent", agent, "-t", "micro1", "--time-control", patient, "--json"))
    assert (found["agent"], found["passed"]) == (agent, True)


def test_a_new_host_plays_and_its_journals_are_read(call: Callable[..., str]) -> None:
    options = ["--steps", "20", "--time-control", "start=20s act=20s", "-o", "run.jsonl", "--json"]
    played = json.loads(call("run", "-t", "micro1", "-a", "constant:65", "script:bot.py", *options))
    assert [match["seats"][0]["agent"] for match in played["matches"]] == ["constant:65", "script:bot.py"]
    assert [match["seats"][0]["disqualified"] for match in played["matches"]] == [None, None]
    for number in (0, 1):
        assert "OK" in call("verify", f"run-{number}.jsonl")
        call("replay", f"run-{number}.jsonl", "-o", f"run-{number}.html")
    refused = call("run", "-t", "micro1", "-a", "script:bot.py", "--host", "task", code=2)
    assert "it is a program of its own: leave --host out" in refused


@pytest.mark.parametrize("top", ["", 'clock = "virtual"\n'], ids=["wall", "virtual"])
def test_a_new_host_plays_a_tournament(call: Callable[..., str], tmp_path: Path, top: str) -> None:
    (tmp_path / "plan.toml").write_text(PLAN.format(top=top))
    call("tournament", "plan.toml", "-o", "out", "--quiet", "--fail-on-disqualified")
    assert "constant:65" in call("results", "out")
    call("report", "out")
    journals = sorted((tmp_path / "out/journals").iterdir())
    assert len(journals) == 2
    for journal in journals:
        assert "OK" in call("verify", str(journal))
    assert "constant:65" in (tmp_path / "out/report.html").read_text()


def test_the_lists_have_the_new_forms(call: Callable[..., str]) -> None:
    listed = call("agents")
    assert "constant:65" in listed
    assert "a script that speaks the protocol" in listed


def test_a_program_adds_a_host_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    form = AgentScheme("always", "always:65", "the same action at every turn")
    monkeypatch.setitem(SCHEMES, form.name, form)
    with pytest.raises(flagfall.UsageError, match="always:65: no host runs the same action at every turn"):
        flagfall.run("micro1", "always:65", steps=5, clock="virtual")
    row = HostEntry(
        "task", lambda spec, player: LoopHost(lambda _seen: int(spec.target), player.label), ["always"]
    )
    monkeypatch.setattr("flagfall.agents.hosts.registry.HOSTS", [*HOSTS, row])
    result = flagfall.run("micro1", "always:65", steps=5, clock="virtual")
    assert (result.turns, result.seats[0].agent) == (5, "always:65")
