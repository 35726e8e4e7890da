"""Bad input: exit code 2, one clear message, nothing left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

JOURNAL = b'{"event":"match","at_ns":0}\n'
RUN = "run --task micro1 --agent random "

# What is wrong, and what the message says of it.
BAD = {
    "run --task mikro1 --agent random": "unknown task 'mikro1'; nearest: micro1",
    "run --task micro1,micro5.19 --agent random": "unknown task 'micro5.19'; nearest: micro5.9",
    "run --task , --agent random": "--task: name at least one task",
    "run --task micro1 --agent": "--agent: name at least one agent",
    "run --task micro1 --agent randm": "unknown agent 'randm'; nearest: random",
    "run --task micro1 --agent random randm": "unknown agent 'randm'; nearest: random",
    "run --task micro1 --agent bot.py:Echo": "no such agent file: bot.py; nearest: bots.py",
    "run --task micro1 --agent bots.py:Ecko": "bots.py has no 'Ecko'; nearest: Echo",
    "run --task micro1 --agent bots.py:SETTINGS": "bots.py:SETTINGS: {'not': 'an agent'} is not an agent",
    "run --task micro1 --agent bots.py:SETTINGS --host task": "agent bots.py:SETTINGS: {'not': 'an agent'}",
    "run --task micro1 --agent no.such:Bot": "no module named 'no' for agent no.such",
    "run --task micro1 --agent no.such:Bot --host thread": "no module named 'no' for agent no.such",
    RUN + "--time-control act=40ms,foo=3": "time control, column 10: unknown key 'foo'",
    RUN + "--time-control act=40parsec": "time control, column 5: ",
    RUN + "--scheduler consecutiv": "unknown policy 'consecutiv'; nearest: consecutive",
    RUN + "--scheduler consecutive:x": "at column 13: 'x' is not a whole number",
    RUN + "--scheduler dependencies:micro1>micro2": "unknown task 'micro2'",
    RUN + "--scheduler random --matches 2": "never ends",
    RUN + "--steps -3": "--steps -3: write a whole number, at least 1",
    RUN + "--steps 0": "--steps 0: write a whole number, at least 1",
    RUN + "--matches 0": "--matches 0: write a whole number, at least 1",
    RUN + "--seed -1": "--seed -1: a seed is a whole number from 0",
    RUN + "--seed 9223372036854775808": "a seed is a whole number from 0 to 9223372036854775807",
    RUN + "--tick 5": "--tick '5' has no unit: write 5ms or 5s",
    RUN + "--tick 0s": "--tick 0: a tick must be longer than 0",
    RUN + "--clock virtual --isolation sandbox": "on the virtual clock agents run in the event loop",
    RUN + "--clock virtual --host process --time-control clock=cpu": "clock=cpu counts real time",
    RUN + "--journal nowhere/x.jsonl": "there is no folder nowhere",
    RUN + "--journal .": "is a folder",
    RUN + "--journal bots.py": "journal bots.py: the file exists and is not a journal",
    "verify nothing.jsonl": "no such file: nothing.jsonl",
    "verify old.json": "no such file: old.json; nearest: old.jsonl",
    "verify .": "holds no tournament: there is no tournament.db in it",
    "transcript nothing.jsonl": "no such file: nothing.jsonl",
    "transcript bots.py": "bots.py: line 1",
    "transcript bots.py -o out.jsonl": "bots.py: line 1",
}


@pytest.fixture(autouse=True)
def old(folder: Path) -> Path:
    (folder / "old.jsonl").write_bytes(JOURNAL)
    return folder / "old.jsonl"


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("line", BAD)
def test_bad_input_is_refused_before_anything_happens(call, folder, line):
    before = files(folder)
    if line.startswith("run") and "--journal" not in line:
        line, message = f"{line} --journal old.jsonl --overwrite", BAD[line]
    else:
        message = BAD[line]
    ended = call(line)
    assert ended.code == 2, ended
    assert ended.out == ""
    assert ended.err.startswith("flagfall: ")
    assert message in ended.err
    assert "Traceback" not in ended.err
    assert files(folder) == before


def test_a_time_control_is_shown_with_the_place_of_the_fault(call):
    ended = call(RUN, "--time-control", "act=40ms bank=3")
    assert ended.code == 2
    assert ended.err.splitlines()[1:] == ["  act=40ms bank=3", "  " + " " * 14 + "^"]


@pytest.mark.parametrize("host", ["task", "thread", "process", None])
def test_an_agent_that_fails_to_import_is_shown_with_its_own_traceback(call, folder, host):
    (folder / "bad.py").write_text("def make():\n    return wheel\n\nBot = make()\n")
    where = [] if host is None else ["--host", host]
    ended = call("run --task micro1 --agent random bad.py:Bot --journal new.jsonl", *where)
    assert ended.code == 2
    assert ended.err.startswith("flagfall: agent bad.py failed to import:\nTraceback")
    assert ended.err.count("Traceback") == 1
    assert "NameError: name 'wheel' is not defined" in ended.err
    assert "flagfall/" not in ended.err
    assert not list(folder.glob("*.jsonl*")) or [p.name for p in folder.glob("*.jsonl*")] == ["old.jsonl"]


def test_every_agent_that_fails_is_reported(call, folder):
    (folder / "bad.py").write_text("1 / 0\n")
    ended = call("run --task micro1 --agent bad.py:A bots.py:Nobody")
    assert ended.code == 2
    assert "ZeroDivisionError" in ended.err
    assert "bots.py has no 'Nobody'" in ended.err


def test_an_agent_that_ends_its_process_is_reported(call, folder):
    (folder / "gone.py").write_text(
        "import os, sys\nprint('bye', file=sys.stderr, flush=True)\nos._exit(3)\n"
    )
    ended = call("run --task micro1 --agent gone.py:A")
    assert ended.code == 2
    assert ended.err == "flagfall: agent gone.py:A ended its process (3) while it was checked:\nbye\n"


def test_a_journal_that_may_not_be_written_is_refused(call, old, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)  # the tests may run as root, who may write anything
    ended = call("run --task micro1 --agent random --journal old.jsonl")
    assert ended.code == 2
    assert "no permission to write the file" in ended.err
    assert old.read_bytes() == JOURNAL


def test_of_a_series_every_journal_is_checked_first(call, folder):
    (folder / "run-1.jsonl").write_text("a letter\n")
    ended = call("run --task micro1 --agent random silent --journal run.jsonl")
    assert ended.code == 2
    assert "run-1.jsonl: the file exists and is not a journal" in ended.err
    assert not (folder / "run-0.jsonl").exists()


def test_a_transcript_goes_nowhere_where_it_cannot(call):
    assert call("run --task micro1 --agent random --journal run.jsonl").code == 0
    ended = call("transcript run.jsonl -o nowhere/x.jsonl")
    assert ended.code == 2
    assert "nowhere/x.jsonl cannot be written: No such file or directory" in ended.err
    assert "is a folder" in call("transcript run.jsonl -o .").err
