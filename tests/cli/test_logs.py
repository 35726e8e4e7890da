"""Logs and sinks of every command that plays."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from flagfall import read_turns
from flagfall.agents.process.sandbox import check_sandbox
from flagfall.errors import UsageError
from tests.cli.conftest import FLAGFALL

SINKS = """
import structlog

class Sink:
    def __init__(self, match):
        self.match = match

    def __call__(self, event):
        with open("events.txt", "a") as file:
            file.write(f"{self.match} {type(event).__name__}\\n")

class Refusing:
    def __init__(self):
        raise OSError("no connection")

def each(event):
    with open("events.txt", "a") as file:
        file.write(f"{type(event).__name__}\\n")

def failing(event):
    raise ValueError("no\\nroom")
"""

OWN_SETUP = """
import structlog

structlog.configure(processors=[structlog.processors.KeyValueRenderer(key_order=["event"])])

def ignore(event):
    pass
"""

PLAN = """
clock = "virtual"
time_control = "act=1s"
format = "benchmark"
repeats = 4
jobs = 2

[[agents]]
spec = "random"

[[agents]]
spec = "silent"

[[tasks]]
task = "micro1"
steps = 40
"""


@pytest.fixture(autouse=True)
def _with_sinks(folder: Path) -> Iterator[None]:
    assert Path.cwd() == folder
    Path("sinks.py").write_text(SINKS)
    Path("setup.py").write_text(OWN_SETUP)
    Path("plan.toml").write_text(PLAN)
    yield
    structlog.reset_defaults()


def entries(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_run_logs_to_a_file_and_appends(call: Any) -> None:
    for _ in range(2):
        ended = call("run -t micro1 -a random --steps 3 --log-level debug --log-file log.jsonl")
        assert (ended.code, ended.err) == (0, "")
    found = entries(Path("log.jsonl").read_text())
    turns = [entry for entry in found if entry["event"] == "turn"]
    assert len(turns) == 6
    assert {(entry["match"], entry["seat"], entry["task"]) for entry in turns} == {("0", 0, "micro1")}
    assert all(isinstance(entry["observation"], int) for entry in turns)
    assert all(isinstance(entry["action"], int) for entry in turns)
    assert turns[:3] != turns[3:]  # times differ


def test_any_option_of_the_log_makes_one(call: Any) -> None:
    ended = call("run -t micro1 -a random --steps 3 -q --log-format json")
    assert [entry["event"] for entry in entries(ended.err)][0::4] == ["match started", "match ended"]
    assert "match started" in call("run -t micro1 -a random --steps 3 -q --log-format console").err


def test_a_series_names_its_matches(call: Any) -> None:
    call("run -t micro1 -a random silent --steps 3 --log-file log.jsonl --sink sinks.py:Sink")
    assert {entry["match"] for entry in entries(Path("log.jsonl").read_text())} == {"0", "1"}
    events = Counter(Path("events.txt").read_text().splitlines())
    assert (events["0 TurnPlayed"], events["1 TurnPlayed"], events["1 MatchEnded"]) == (3, 3, 1)


@pytest.mark.parametrize(
    ("options", "code", "line"),
    [
        ("--log-file nowhere/log", 2, "flagfall: --log-file nowhere/log: cannot be written: No such file"),
        ("--log-file run.jsonl -o run.jsonl", 2, "another output of this command has this name"),
        ("--sink sinks.py", 2, "unknown sink 'sinks.py': write module:Sink or file.py:Sink"),
        ("--sink sinks.py:Sinc", 2, "sinks.py has no 'Sinc'; nearest: Sink"),
        ("--sink no_such_module:Sink", 2, "no module named 'no_such_module' for sink no_such_module"),
        ("--sink sinks.py:__doc__", 2, "it is neither a class nor a function that takes an event"),
        ("--sink sinks.py:Refusing", 2, "sink sinks.py:Refusing: OSError: no connection"),
        (
            "--sink sinks.py:failing",
            1,
            "sink sinks.py:failing failed (sinks.py, line 21): ValueError: no; room",
        ),
        ("--sink setup.py:ignore --log-format json", 2, "structlog is configured already"),
    ],
)
def test_what_cannot_be_is_one_line(call: Any, options: str, code: int, line: str) -> None:
    ended = call("run -t micro1 -a random --steps 3 -q", *options.split())
    assert (ended.code, ended.out) == (code, "")
    assert len(ended.err.splitlines()) == 1
    assert line in ended.err


def test_a_log_that_cannot_be_written_is_reported_and_the_match_goes_on(call: Any) -> None:
    ended = call("run -t micro1 -a random --steps 3 --json --log-file /dev/full")
    assert (ended.code, ended.data()["matches"][0]["turns"]) == (0, 3)
    assert ended.err == "flagfall: the log is incomplete: No space left on device\n"


def test_a_configuration_of_ones_own_is_respected(call: Any) -> None:
    ended = call("run -t micro1 -a random --steps 3 -q --sink setup.py:ignore --log-level info")
    assert ended.code == 0
    assert ended.out.startswith("event='match started' match='0'")  # to the standard output, as it says


def test_the_workers_of_a_tournament_share_a_file(call: Any) -> None:
    ended = call("tournament plan.toml -o out -q --log-level debug --log-file log --sink sinks.py:Sink")
    assert ended.code == 0
    found = entries(Path("log").read_text())
    counts = Counter((entry["match"], entry["event"]) for entry in found if "match" in entry)
    matches = {match for match, _ in counts}
    assert len(matches) == 8
    assert all(counts[match, "turn"] == 40 and counts[match, "match ended"] == 1 for match in matches)
    events = Counter(Path("events.txt").read_text().splitlines())
    assert all(events[f"{match} MatchStarted"] == 1 for match in matches)


BOT = """
import os

class Bot:
    def start(self, briefing):
        self.note = briefing.note

    def reply(self, byte, reward):
        places = []
        for fd in os.listdir("/proc/self/fd"):
            try:
                places.append(os.readlink(f"/proc/self/fd/{fd}"))
            except OSError:
                pass
        self.note(places)
        return 32
"""


def test_agents_do_not_get_the_log_of_a_worker(call: Any) -> None:
    Path("bot.py").write_text(BOT)
    Path("plan.toml").write_text(
        'format = "benchmark"\n[[agents]]\nspec = "bot.py:Bot"\n[[tasks]]\ntask = "micro1"\nsteps = 2\n'
    )
    assert call("tournament plan.toml -o out -q --jobs 1 --log-file run.log").code == 0
    (journal,) = Path("out/journals").iterdir()
    places = read_turns(journal)["note"][0]
    assert len(places) > 2
    assert not [place for place in places if "run.log" in place or "memfd" in place]


def test_the_workers_of_a_tournament_share_the_standard_error() -> None:
    ended = subprocess.run(
        [
            *FLAGFALL,
            *["tournament", "plan.toml", "-o", "out", "--log-level", "debug", "--log-format", "json"],
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    found = entries(ended.stderr)
    assert Counter(entry["event"] for entry in found)["turn"] == 8 * 40
    assert "results: out" in ended.stdout


def test_a_sink_that_fails_in_a_worker_is_one_line(call: Any) -> None:
    ended = call("tournament plan.toml -o out -q --jobs 1 --sink sinks.py:failing")
    assert ended.code == 1
    *voids, line = ended.err.splitlines()
    assert all("is void: fault: sink" in line for line in voids)
    assert line.startswith("flagfall: match r0-m0-g0 failed")
    assert "sink sinks.py:failing failed (sinks.py, line 21): ValueError: no; room" in line


def test_logs_with_the_engine_ray_are_refused(call: Any) -> None:
    ended = call("tournament plan.toml -o out --engine ray --log-level info")
    assert ended.code == 2
    assert "logs, sinks and telemetry need the engine local" in ended.err


def test_a_lesson_logs_as_a_match(call: Any) -> None:
    line = "curriculum -a random -t micro1 --limit 400 --log-level debug --log-file log --sink sinks.py:Sink"
    (lesson,) = call(line, "--json").data()["lessons"]
    found = entries(Path("log").read_text())
    counts = Counter(entry["event"] for entry in found)
    assert counts["turn"] == lesson["steps"] == 400
    assert counts["task ended"] == lesson["instances"] > 0
    assert counts["task started"] == lesson["instances"] + 1
    assert {entry["match"] for entry in found} == {"micro1"}
    assert Counter(Path("events.txt").read_text().split())["TurnPlayed"] == 400


def test_an_examination_logs_each_of_its_matches(call: Any) -> None:
    assert call("check-agent silent -t micro1 --host task --log-file log --sink sinks.py:Sink").code == 0
    found = entries(Path("log").read_text())
    matches = list(dict.fromkeys(entry["match"] for entry in found))
    assert matches == [f"check-{number}" for number in range(1, len(matches) + 1)]
    assert len(matches) > 3
    assert Counter(Path("events.txt").read_text().split())["MatchStarted"] == len(matches)


def test_the_tracks_of_gvgai_log(call: Any) -> None:
    track = "--clock virtual --think 1ms --games 1 --rounds 1 --seed 3 --log-file log --log-level debug"
    assert call(f"gvgai train causeway -a random {track} --json").code == 0
    assert call(f"gvgai contest causeway -a random {track} --json -q").code == 0
    found = entries(Path("log").read_text())
    played = {entry["match"] for entry in found if entry["event"] == "match started"}
    assert played == {"causeway", "causeway, random"}
    turn = next(entry for entry in found if entry["event"] == "turn")
    assert set(turn["observation"]) == {"$digest", "bytes"}


def test_a_server_and_a_client_log(port: int) -> None:
    track = "--training 2s --games 1 --rounds 1 --json"
    server = subprocess.Popen(
        [*FLAGFALL, *f"gvgai serve --game causeway --port {port} {track} --log-file served".split()],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    assert "waiting for clients" in server.stderr.readline()
    client = (
        f"gvgai play-on 127.0.0.1:{port} -a random --time-control untimed --log-level debug --log-file played"
    )
    subprocess.run([*FLAGFALL, *client.split()], check=True, capture_output=True)
    server.stderr.read()
    server.stderr.close()
    assert server.wait() == 0
    served, played = (entries(Path(name).read_text()) for name in ("served", "played"))
    ended = [
        [entry["steps"] for entry in found if entry["event"] == "task ended"] for found in (served, played)
    ]
    assert len(ended[0]) == len(ended[1]) >= 3
    assert {entry["match"] for entry in played} == {f"127.0.0.1:{port}"}
    assert Counter(entry["event"] for entry in played)["turn"] == sum(ended[1])


def test_a_run_without_a_log_does_not_import_structlog() -> None:
    program = (
        "import sys\nfrom flagfall.cli import main\n"
        "main('run -t micro1 -a random --steps 3 -q'.split())\n"
        "assert 'structlog' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_no_agent_in_a_sandbox_may_see_the_log(call: Any) -> None:
    try:
        check_sandbox()
    except UsageError as error:
        pytest.skip(str(error))
    Path("own.py").write_text("def act(observation):\n    return 1\n")
    Path.cwd().chmod(0o755)  # or a sandbox, which runs as another user, could not show it anyway
    options = "--isolation sandbox --show . --log-file run.log"
    ended = call(f"run -t vgdl:causeway#0 -a own.py:act --steps 2 {options}")
    assert ended.code == 2
    assert "run.log, which no agent may see" in ended.err
    Path("plan.toml").write_text(
        'format = "benchmark"\n[[agents]]\nspec = "own.py:act"\nisolation = "sandbox"\nshow = ["shown"]\n'
        '[[tasks]]\ntask = "vgdl:causeway#0"\nsteps = 2\n'
    )
    Path("shown").mkdir()
    ended = call("tournament plan.toml -o out -q --log-file shown/run.log")
    assert ended.code == 2
    assert "run.log, which no agent may see" in ended.err


def test_every_command_that_plays_has_the_options(call: Any) -> None:
    tracks = ("gvgai train", "gvgai contest", "gvgai serve", "gvgai play-on")
    for command in ("run", "play", "curriculum", "tournament", "check-agent", *tracks):
        text = call(f"{command} --help").out
        options = ("--log-level", "--log-format", "--log-file", "--sink", "--telemetry")
        assert all(option in text for option in options)
