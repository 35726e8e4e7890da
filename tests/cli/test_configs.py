"""`flagfall run --config`: all 46 tasks of round 1 from its own file, verified, checked and added up."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flagfall.tasks.commai.words import default_vocabulary
from tests.round1_config import TYPES, challenge

sys.path.insert(0, str(Path(__file__).parent.parent / "conformance"))
from tests.conformance.round1_checker import check  # it looks for the files beside it

PYTHON = """
from flagfall.tasks.catalog import make_task
from flagfall.tasks.schedulers import ConsecutiveTaskScheduler

def create_tasks():
    return ConsecutiveTaskScheduler([make_task("micro1"), make_task("micro4")], success_threshold=1)

def nothing():
    return None

def broken():
    raise ValueError("enough")

SETTINGS = 3
"""


def written(folder: Path, name: str, data: object) -> Path:
    path = folder / name
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def records(call, journal: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in call("transcript", journal).out.splitlines()]


# --- round 1's own file ------------------------------------------------------------------------------------


@pytest.mark.release
def test_every_task_of_the_public_file_is_played_verified_and_checked(call, folder):
    written(folder, "all.json", challenge("Sequential"))
    line = (
        "run --config all.json -a random --clock virtual --steps 250000 -o run.jsonl --results r.json --json"
    )
    ended = call(line)
    assert ended.code == 0
    match = ended.data()["matches"][0]
    assert {task["task"] for task in match["tasks"] if task["played"]} == set(TYPES)
    assert call("verify run.jsonl").out.startswith("OK  run.jsonl: 250,000 turns in ")
    told = records(call, "run.jsonl")
    assert check(told) == []
    figures = json.loads((folder / "r.json").read_text())
    assert figures["total_time"] == 250_000
    assert figures["total_reward"] == match["seats"][0]["reward"]
    for name, task in figures["tasks"].items():
        assert task["trials"] == sum(r.get("event") == "start" and r["task"] == name for r in told)
    assert {task["task"]: task["reward"] for task in match["tasks"]} == {
        name: task["total_reward"] for name, task in figures["tasks"].items()
    }


@pytest.mark.parametrize("config", ["low.json", "challenge"])
def test_a_learner_moves_on_through_the_public_file(call, folder, config):
    written(folder, "low.json", challenge(success_threshold=1))
    line = f"run --config {config} -a learner --clock virtual --steps 4000 -o run.jsonl --results r.out -q"
    assert call(line).code == 0
    assert call("verify run.jsonl").code == 0
    told = records(call, "run.jsonl")
    assert check(told) == []
    tasks = list(dict.fromkeys(r["task"] for r in told if r.get("event") == "start"))
    assert tasks == list(TYPES)[: len(tasks)]
    assert len(tasks) > (10 if config == "low.json" else 3)
    assert call("results run.jsonl").out.endswith((folder / "r.out").read_text())
    call("results run.jsonl -o again.out")
    assert (folder / "again.out").read_text() == (folder / "r.out").read_text()


def test_worlds_are_in_the_journal_too(call, folder):
    written(folder, "bots.py", "def act(o):\n    act.n += 1\n    return b'I look. '[act.n % 8]\nact.n = 0\n")
    data = challenge("Sequential")
    data["scheduler"]["args"]["tasks"] = ["mini0", "mini1"]
    written(folder, "w.json", data)
    assert call("run --config w.json -a bots.py:act --host task --steps 4000 -o run.jsonl -q").code == 0
    assert call("verify run.jsonl").code == 0


# --- ours, and Python's ------------------------------------------------------------------------------------


def test_a_file_of_ours(call, folder):
    written(
        folder,
        "mine.toml",
        """
        max_reward_per_task = 3
        [scheduler]
        policy = "sequential:2"
        tasks = ["short", "micro4"]
        [tasks.short]
        type = "micro4"
        required = 2
        """,
    )
    match = call("run -c mine.toml -a repeating -o run.jsonl --json").data()["matches"][0]
    assert [(t["task"], t["played"], t["steps"], t["reward"]) for t in match["tasks"]] == [
        ("short", 2, 4, 3),
        ("micro4", 2, 20, 3),
    ]
    assert call("verify run.jsonl").code == 0


def test_a_series_has_numbered_results(call, folder):
    line = "run -c challenge -a random silent --matches 2 --steps 100 --clock virtual -q --results r.json"
    assert call(line).code == 0
    names = [f"r-{n}.json" for n in range(4)]
    assert sorted(p.name for p in folder.glob("r*")) == names
    assert {json.loads((folder / name).read_text())["total_time"] for name in names} == {100}


def test_options_of_tasks_by_name(call, folder):
    words = default_vocabulary().all
    written(folder, "w.txt", "\n".join([*words[200:], *words[:200]]))
    line = "run -t micro6 -a random --steps 500 --clock virtual -q --words w.txt -o words.jsonl"
    assert call(line).code == 0
    (folder / "w.txt").unlink()  # the journal has the words
    assert call("verify words.jsonl").code == 0
    line = "run -t commai.repetition.verb commai.navigation.turning -a bots.py:always_one --host task"
    assert (
        call(f"{line} --steps 900 --bit-mode --scramble --max-reward-per-task 2 -q -o bits.jsonl").code == 0
    )
    assert call("verify bits.jsonl").code == 0


def test_original_tasks_by_name(call):
    line = "run -t commai.navigation.turning micro4 -a random --steps 900 --clock virtual -q -o run.jsonl"
    assert call(line).code == 0
    assert call("verify run.jsonl").code == 0
    ended = call("run -t commai.navigation.turning commai.navigation.turnin -a random")
    assert ended.code == 2
    assert "--task: scheduler.tasks[1]: unknown task 'commai.navigation.turnin'; nearest: " in ended.err


REMOTE = """
import sys, zmq
socket = zmq.Context().socket(zmq.PAIR)
socket.connect(f"tcp://127.0.0.1:{sys.argv[1]}")
socket.send(b"hello")
while socket.poll(5000):
    socket.recv()
    socket.send(socket.recv())
"""


@pytest.mark.parametrize("options", ["-a zmq ", ""])
def test_a_remote_learner_plays(call, folder, options, port):
    pytest.importorskip("zmq")
    written(folder, "remote.py", REMOTE)
    line = f"run -t micro4 {options}--steps 100 -o run.jsonl --json --learner-port {port} --learner-cmd"
    ended = call(line, f"{sys.executable} remote.py")
    assert ended.code == 0, ended.err
    seat = ended.data()["matches"][0]["seats"][0]
    assert (seat["agent"], seat["turns"], seat["disqualified"]) == (f"zmq://127.0.0.1:{port}", 100, None)
    assert seat["reward"] > 50
    assert call("verify run.jsonl").code == 0


def test_a_human_plays_and_quits(folder):
    line = "-m flagfall run -t micro1 -a human-immediate --results r.out"
    done = subprocess.run(
        [sys.executable, *line.split()],
        input="a\nb\nQUIT\n",
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0
    assert "stopped" in done.stdout
    assert "Total time: 2\n" in (folder / "r.out").read_text()


def test_a_function_of_ones_own(call, folder):
    written(folder, "mine.py", PYTHON)
    for number, source in enumerate(["mine.py", "mine.py:create_tasks"]):
        line = f"run --config {source} -a learner --clock virtual -o {number}.jsonl -q --results {number}.out"
        assert call(line).code == 0
        refused = call(f"verify {number}.jsonl")
        assert refused.code == 2
        assert "its tasks were made by mine.py:create_tasks" in refused.err
        assert refused.err.endswith(": add --config\n")
        assert call(f"verify {number}.jsonl --config mine.py").code == 0
    assert (folder / "0.out").read_text() == (folder / "1.out").read_text()


# --- what cannot be ----------------------------------------------------------------------------------------

RUN = "run -a random "
BAD = {
    RUN: "--task: name at least one task, or a --config",
    RUN + "-c chalenge": "unknown configuration 'chalenge'; nearest: challenge",
    RUN + "-c challenge -t micro1": "--config defines the tasks and their order: leave --task out",
    RUN + "-c challenge --scheduler random": "leave --scheduler out",
    RUN + "-c no.json": "configuration no.json: No such file",
    RUN + "-c no.py": "no such configuration file: no.py",
    RUN + "-c no.such:thing": "no module named 'no' for configuration no.such",
    RUN + "-c mine.py:creat_tasks": "mine.py has no function 'creat_tasks'; nearest: create_tasks",
    RUN + "-c mine.py:SETTINGS": "mine.py has no function 'SETTINGS'",
    RUN + "-c mine.py:nothing": "mine.py:nothing returned None, not a task scheduler: it lacks set_seed,",
    RUN + "-c mine.py:broken": "ValueError: enough",
    RUN + "-c mine.py --bit-mode": "the function creates its tasks itself: leave --bit-mode out",
    RUN + "-c bad.toml": "bad.toml: line 1, column 5: invalid TOML",
    RUN + "-c challenge --scramble": "challenge with --scramble: 2 problems:",
    RUN + "-t micro1 --words no.txt": "--words: words: words no.txt: No such file",
    RUN + "-t micro1 --results nowhere/r.out": "results nowhere/r.out: there is no folder nowhere",
    RUN + "-t micro1 --results .": "results . is a folder",
    RUN + "-t micro1 --results bots.py": "the file exists and is not a results file",
    RUN + "-t micro1 --results r -o r": "--results r: the journal has this name already",
    RUN + "-t micro1 --learner-port 5577": "need exactly one --agent zmq",
    "run -t micro1 -a zmq zmq --learner-port 5577": "need exactly one --agent zmq",
    "run -t micro1 -a zmq:5577 --host task": "it is a program of its own: leave --host out",
    "run -t micro1 -a human-lin": "unknown human player 'human-lin'; nearest: human-line",
    "run -t micro1 -a human-line --host process": "a human plays in the event loop",
    "results no.jsonl": "no such file: no.jsonl",
    "results mine.py": "mine.py: line 1",
}


@pytest.mark.parametrize("line", BAD)
def test_wrong_options_are_refused_before_anything_happens(call, folder, line):
    written(folder, "mine.py", PYTHON)
    written(folder, "bad.toml", "a = ")
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    ended = call(line)
    assert (ended.code, ended.out) == (2, "")
    assert BAD[line] in ended.err
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_statistics_of_a_journal_that_is_cut_off_are_printed_with_its_fault(call, folder):
    assert call("run -t micro1 -a random --steps 3000 --clock virtual -o run.jsonl -q").code == 0
    text = (folder / "run.jsonl").read_bytes()
    (folder / "run.jsonl").write_bytes(text[: len(text) // 2])
    ended = call("results run.jsonl")
    assert ended.code == 2
    assert "episodes; ended: cut off\n" in ended.out
    assert "\n* General results\n" in ended.out
    assert "run.jsonl: line " in ended.err
    assert call("results run.jsonl -o r.out").code == 2
    assert not (folder / "r.out").exists()


@pytest.mark.release
@pytest.mark.parametrize("signals", [1, 2])
def test_results_are_left_when_it_is_interrupted(folder, signals):
    line = "-m flagfall run -c challenge -a random --no-timeout -q -o run.jsonl --results r.out"
    program = subprocess.Popen([sys.executable, *line.split()])
    try:
        journal = folder / "run.jsonl"
        until = time.monotonic() + 20
        while not journal.exists() or journal.stat().st_size == 0:
            assert time.monotonic() < until
            time.sleep(0.01)
        for _ in range(signals):
            program.send_signal(signal.SIGINT)
        assert program.wait(20) == 130
    finally:
        program.kill()
        program.wait()
    assert (folder / "r.out").read_text().startswith("* General results\nAverage reward: -0.9")
