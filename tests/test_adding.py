"""A new row of each kind, added when the processes of flagfall start, works in every command it concerns."""

from __future__ import annotations

import json
import re
import shutil
import zlib
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

import flagfall
from flagfall.recording.journal.file import open_lines
from flagfall.recording.journal.format import MAX_LINE_BYTES
from flagfall.tasks.commai.micro import characters
from tests.children import run_python

PACKAGE = Path(flagfall.__file__).parent

Call: TypeAlias = Callable[..., str]

EVENT = '''
from flagfall.events import Event, TaskStarted, Whole


class AgentYawned(Event, frozen=True, tag="yawned"):
    """A yawn of an agent."""

    seat: Whole
    detail: str = ""
    mouths: list[int] = []


from flagfall.kernel.dispatcher import EventDispatcher

dispatch = EventDispatcher.dispatch


def dispatch_more(self, event):
    dispatch(self, event)
    if type(event) is TaskStarted:
        dispatch(self, AgentYawned(event.at_ns, 0, "wide \\ud83d open", [1]))


EventDispatcher.dispatch = dispatch_more
'''

PLAN = """
format = "benchmark"
clock = "virtual"


[[agents]]
spec = "random"

[[agents]]
spec = "silent"

[[tasks]]
task = "TASK"
steps = 40
"""


@pytest.fixture
def call(tmp_path: Path) -> Call:
    """Runs a command line; every process of it adds a row when it starts. Returns what it printed."""

    def run(row: str, line: str, *, code: int = 0) -> str:
        (tmp_path / "rows").mkdir(exist_ok=True)
        (tmp_path / "rows" / "sitecustomize.py").write_text(row)
        ended = run_python(tmp_path / "rows", tmp_path, "-m", "flagfall", *line.split())
        assert ended.returncode == code, ended.stderr
        return ended.stdout + ended.stderr

    return run


def play(call: Call, row: str, task: str, folder: Path) -> Path:
    """Play a match and a tournament, with all that is read from their records; return the match's journal."""
    call(row, f"run --task {task} --agent random --steps 40 --seed 1 --clock virtual --journal m.jsonl")
    assert "as they were recorded" in call(row, "verify m.jsonl")
    call(row, "replay m.jsonl -o m.html")
    call(row, "results m.jsonl")
    call(row, "transcript m.jsonl")
    call(row, "export m.jsonl --to trace")
    (folder / "plan.toml").write_text(PLAN.replace("TASK", task))
    call(row, "tournament plan.toml --output results --quiet")
    for journal in (folder / "results" / "journals").iterdir():
        assert "as they were recorded" in call(row, f"verify results/journals/{journal.name}")
    call(row, "report results -o report")
    return folder / "m.jsonl"


# Event.


def test_an_event_is_recorded_verified_logged_and_shown(call: Call, tmp_path: Path) -> None:
    journal = play(call, EVENT, "micro1", tmp_path)
    line = b'{"event":"yawned","at_ns":0,"seat":0,"detail":"wide \\\\ud83d open","mouths":[1]}\n'
    for path in (journal, *(tmp_path / "results" / "journals").iterdir()):
        with open_lines(path, MAX_LINE_BYTES) as lines:
            assert line in lines
    packed = re.search(r'id="chunk-0"[^>]*>([^<]+)<', (tmp_path / "m.html").read_text())
    assert packed is not None
    chunk = json.loads(zlib.decompress(b64decode(packed[1])))
    (row,) = [event for event in chunk["events"] if event["kind"] == "yawned"]
    assert (row["seat"], row["text"][:22]) == (0, "Agent yawned: seat: 0;")
    trace = json.loads((tmp_path / "m.trace.json").read_text())["traceEvents"]
    (mark,) = [one for one in trace if one.get("cat") == "yawned"]
    assert (mark["ph"], mark["name"]) == ("i", "agent yawned")
    assert mark["args"] == {"seat": 0, "detail": "wide \\ud83d open", "mouths": "[1]"}
    logged = call(EVENT, "run --task micro1 --agent random --steps 9 --log-level info --log-format json")
    (entry,) = [json.loads(line) for line in logged.splitlines() if '"agent yawned"' in line]
    assert (entry["seat"], entry["detail"], entry["level"]) == (0, "wide \\ud83d open", "info")


def test_a_new_event_of_a_seat_that_there_is_not_is_a_difference(call: Call) -> None:
    forged = EVENT.replace("event.at_ns, 0", "event.at_ns, 7")
    call(forged, "run --task micro1 --agent random --steps 40 --clock virtual --journal m.jsonl")
    assert "seat: expected 0 to 0, found 7" in call(EVENT, "verify m.jsonl", code=1)


# Command.

COMMAND = """
from pathlib import Path

import flagfall.cli.commands

flagfall.cli.commands.__path__.append(str(Path(__file__).parent))
flagfall.cli.COMMANDS["greet-all"] = "Greet some people."
"""

GREET_ALL = '''
from typing import Annotated

from cyclopts import Parameter

from flagfall.errors import HostFault, UsageError


def greet_all(name: str, /, *, times: Annotated[int, Parameter(name=["--times", "-t"])] = 1) -> int:
    """Greet some people, one after another.

    Args:
        name: Their name.
        times: How often.
    """
    if times < 1:
        raise UsageError(f"--times {times}: write at least 1")
    if name == "nobody":
        raise HostFault("nobody is here")
    print(f"Hello {name}!" * times)
    return times
'''


def test_a_command_is_called_explained_and_completed(call: Call, tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "greet_all.py").write_text(GREET_ALL)
    assert call(COMMAND, "greet-all Ann -t 2", code=2) == "Hello Ann!Hello Ann!\n"
    assert re.search("greet-all +Greet some people", call(COMMAND, "--help"))
    text = call(COMMAND, "greet-all --help")
    assert text.startswith("Usage: flagfall greet-all [OPTIONS] NAME\n\nGreet some people, one")
    assert "--times -t INT  How often." in text
    for shell in ("bash", "zsh", "fish"):
        assert "greet-all" in call(COMMAND, f"completion {shell}")
    assert call(COMMAND, "greet-all Ann -t 0", code=2) == "flagfall: --times 0: write at least 1\n"
    assert call(COMMAND, "greet-all nobody", code=1) == "flagfall: nobody is here\n"
    assert 'Did you mean "greet-all"?' in call(COMMAND, "greet-al Ann", code=2)


# Format of exports.

EXPORT = """
import counts
from flagfall.cli.commands.export import EXPORTS, Export

EXPORTS["counts"] = Export(".txt", "counts:write_counts", "a line for each match; needs the extra `counts`.")
"""

COUNTS = """
from flagfall.errors import UsageError
from flagfall.viewer.parquet import take_events


def write_counts(sources, file, report):
    if len(sources) > 1:
        raise UsageError("counts need the extra counts: pip install 'flagfall[counts]'")
    for source in sources:
        events = []
        if problem := take_events(source, events.append):
            report(problem)
        file.write(f"{source.match} {len(events)}".encode())
"""


def test_a_format_of_exports_is_offered_explained_and_written(call: Call, tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "counts.py").write_text(COUNTS)
    call(EXPORT, "run --task micro1 --agent random --steps 300 --clock virtual --journal m.jsonl")
    assert call(EXPORT, "export m.jsonl --to counts") == "m.txt\n"
    assert (tmp_path / "m.txt").read_text() == "m 307"
    text = " ".join(call(EXPORT, "export --help").replace("\u2502", "").split())
    assert "counts: a line for each match; needs the extra counts." in text
    assert ", counts]" in text
    said = call(EXPORT, "export m.jsonl --to count", code=2)
    assert '"counts". Did you mean "counts"?' in said
    assert "counts" in call(EXPORT, "completion fish")
    journal = (tmp_path / "m.jsonl").read_bytes()
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "a.jsonl").write_bytes(journal[:-10])
    assert "what it holds is exported" in call(EXPORT, "export two/a.jsonl --to counts", code=1)
    (tmp_path / "two" / "b.jsonl").write_bytes(journal)
    assert "pip install 'flagfall[counts]'" in call(EXPORT, "export two --to counts", code=2)
    assert not (tmp_path / "two.txt").exists()


# Micro-task.

MICRO_TASK = """

def vowels(rng: Random, *, alphabet_size: int = 3) -> TableQuestions:
    keys = rng.sample(one_by_one(b"aeiou"), alphabet_size)
    return TableQuestions(_echoed(keys), in_blocks(rng, keys), OptionsLeft({}))


CHARACTER_TASKS["micro99"] = MicroRow(vowels, settings={"alphabet_size": (1, 5)})
"""

CONFIG = """
[scheduler]
policy = "sequential"
tasks = ["easy"]

[tasks.easy]
type = "micro99"
alphabet_size = 1
required = 3
"""


def test_a_micro_task_is_listed_configured_played_and_verified(call: Call, tmp_path: Path) -> None:
    package = tmp_path / "rows" / "flagfall"
    shutil.copytree(PACKAGE, package)
    with (package / Path(characters.__file__).relative_to(PACKAGE)).open("a") as file:
        file.write(MICRO_TASK)
    assert " micro99 " in call("", "tasks")
    play(call, "", "micro99", tmp_path)
    assert "micro99" in call("", "schema config")
    (tmp_path / "easy.toml").write_text(CONFIG)
    played = "--agent repeating --clock virtual --steps 9"
    call("", f"run --config easy.toml {played} --seed 2 --journal easy.jsonl")
    assert "easy" in call("", "transcript easy.jsonl")
    assert "as they were recorded" in call("", "verify easy.jsonl")
    (tmp_path / "easy.toml").write_text(CONFIG.replace("size = 1", "size = 6"))
    refused = "line 8: tasks.easy.alphabet_size: expected a whole number from 1 to 5, got 6"
    assert refused in call("", f"run --config easy.toml {played}", code=2)
