"""Imports of commands; their number does not depend on the speed of the machine, as a start-up time would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import flagfall

HEAVY = {"trio", "numpy", "gymnasium", "structlog", "asyncio", "flagfall.kernel.match"}

OTHER_AGENTS = {
    "cattrs",
    "http.client",
    "flagfall.agents.hosts.network",
    "flagfall.agents.hosts.process",
    "flagfall.agents.learner.agent",
    "flagfall.agents.process.forking",
    "flagfall.agents.samples.language_model",
    "flagfall.agents.wasm.host",
    "flagfall.agents.wire.admission",
    "flagfall.agents.wire.session",
    "flagfall.agents.zmq.host",
    "flagfall.tasks.configs",
}
"""Modules that a match of a sample agent never uses."""

EXTRAS = (
    "componentize_py",
    "h11",
    "httpx",
    "tokenizers",
    "imageio_ffmpeg",
    "matplotlib",
    "opentelemetry",
    "pettingzoo",
    "pyarrow",
    "ray",
    "starlette",
    "urwid",
    "wasmtime",
    "wsproto",
    "zmq",
)
NEED_EXTRAS = {
    "flagfall.agents.human.full_screen",
    "flagfall.agents.human.key_screen",
    "flagfall.agents.wasm.engine",
    "flagfall.agents.wasm.wasi",
    "flagfall.agents.wire.websocket",
    "flagfall.environments.pettingzoo_env",
    "flagfall.recording.otlp",
    "flagfall.recording.telemetry",
    "flagfall.viewer.live.routes",
    "flagfall.viewer.play.routes",
    "flagfall.viewer.replay.routes",
}


def modules_after(code: str) -> set[str]:
    code += "\nimport sys; print('\\0' + ' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.partition("\0")[2].split())


def test_the_package_itself_imports_nothing_heavy():
    assert not modules_after("import flagfall, flagfall.cli") & HEAVY


@pytest.mark.parametrize("line", ["", "--help", "-h", "--version"])
def test_the_overview_and_the_version_need_no_parser_of_commands(line):
    modules = modules_after(f"from flagfall.cli import main; main({line.split()!r})")
    assert not modules & (HEAVY | {"cyclopts", "rich", "attr", "msgspec"})
    assert not {name for name in modules if name.startswith(("flagfall.tasks", "flagfall.cli.commands."))}


@pytest.mark.parametrize("line", ["run --help", "verify --help", "tusks"])
def test_help_and_mistakes_import_nothing_heavy(line):
    code = f"from flagfall.cli import main; main({line.split()!r})"
    assert not modules_after(code) & HEAVY


def test_a_match_of_a_byte_task_imports_no_numerical_library():
    line = ["run", "--task", "micro1", "--agent", "random", "--steps", "2", "--quiet"]
    modules = modules_after(f"from flagfall.cli import main; main({line!r})")
    assert "flagfall.kernel.match" in modules
    assert not modules & {"numpy", "gymnasium"}
    assert not modules & OTHER_AGENTS, "imported for agents that do not play"


def test_the_list_of_tasks_imports_no_event_loop():
    assert not modules_after("from flagfall.cli import main; main(['tasks'])") & (HEAVY | OTHER_AGENTS)


def test_a_plan_without_games_needs_neither_their_engine_nor_what_that_needs():
    modules = modules_after("import flagfall.cli.gvgai.options, flagfall.tournament.plan.parser")
    assert not {name for name in modules if name.startswith(("flagfall.tasks.vgdl.engine", "gymnasium"))}
    assert not modules & {"asyncio", "flagfall.gvgai.play_track"}


@pytest.mark.parametrize("program", ["flagfall.tournament.run.worker", "flagfall.agents.wire.worker"])
def test_processes_that_play_import_nothing_that_few_matches_need(program):
    modules = modules_after(f"import {program}")
    assert not modules & {"asyncio", "numpy", "gymnasium", "importlib.metadata", "flagfall.tasks.vgdl.task"}


def test_the_package_has_its_public_names_and_no_other():
    assert [name for name in dir(flagfall) if not name.startswith("__")] == sorted(flagfall.__all__)
    code = "import flagfall; print([name for name in vars(flagfall) if name[:2] != '__'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_an_unknown_name_is_an_ordinary_error():
    with pytest.raises(AttributeError, match="module 'flagfall' has no attribute 'plya'"):
        _ = flagfall.plya
    with pytest.raises(ImportError, match="plya"):
        exec("from flagfall import plya")  # noqa: S102 - a static one would not pass the type check


def test_without_extras_only_the_modules_that_need_them_are_missing():
    """The command of the README installs none; what a module needs more must be found out when it is used."""
    package = Path(flagfall.__file__).parent
    names = [
        ".".join(("flagfall", *path.relative_to(package).with_suffix("").parts)).removesuffix(".__init__")
        for path in sorted(package.rglob("*.py"))
        if path.name != "__main__.py"
    ]
    code = (
        "import importlib, sys\n"
        f"for extra in {EXTRAS}: sys.modules[extra] = None\n"
        f"for name in {names}:\n"
        "    try: importlib.import_module(name)\n"
        "    except Exception: print(name)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    missing = {name for name in done.stdout.split() if not name.startswith("flagfall.viewer.server.")}
    assert missing == NEED_EXTRAS
