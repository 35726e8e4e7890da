"""`flagfall verify --agents`: recorded matches are played again by their agents, and compared."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
import zstandard
from msgspec.structs import replace

import flagfall
from flagfall.events import MatchEnded, MatchStarted, SeatDisqualified, TurnPlayed
from flagfall.recording.journal.format import Sealer, encode
from flagfall.recording.journal.reader import read_journal
from flagfall.tournament.lock_file import write_lock_file
from tests.cli.conftest import FLAGFALL
from tests.cli.sealed_journals import HEADER, sealed

Call = Callable[..., Any]

BOT = """
import random
from pathlib import Path
import trio

PLAN = Path(__file__).with_name("plan.txt")

class Bot:
    '''Plays dice of its seed; a file says what else it does, and in which turn.'''
    turns = -1
    def start(self, briefing):
        self.dice = random.Random(briefing.seed)
        self.what, self.turn = PLAN.read_text().split() if PLAN.exists() else ("", -1)
        self.note = briefing.note
    async def act(self, observation):
        self.turns += 1
        action = self.dice.randrange(2)
        if self.turns == int(self.turn):
            if self.what == "action":
                return 1 - action
            if self.what == "raise":
                raise ValueError("today I break")
            if self.what == "note":
                self.note("another one")
            await trio.sleep({"time": 0.001, "late": 0.03}.get(self.what, 0))
        return action
"""

PLAY = "--clock virtual --steps 30 --seed 4 --time-control act=20ms/1s -q --overwrite --journal match.jsonl"
LAMPS = f"run --task duel:lamps --agent bot.py:Bot random {PLAY} --think"


@pytest.fixture(autouse=True)
def home(folder: Path) -> Path:
    (folder / "bot.py").write_text(BOT)
    return folder


@pytest.fixture
def recorded(call: Call) -> list[Any]:
    """The events of a match of the bot and a sample, in `match.jsonl`."""
    assert call(LAMPS, "uniform(1ms, 25ms)", "2ms").code == 0
    events = list(read_journal("match.jsonl"))
    assert {event.verdict for event in events if isinstance(event, TurnPlayed)} == {"on time", "late"}
    return events


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("host", ["", "--host thread", "--host process --isolation none"])
def test_agents_that_repeat_themselves_play_the_same_match(program: Call, host: str) -> None:
    Path("bot.py").write_text(BOT.replace("async def", "def").replace("await trio", "# await trio"))
    done = program("verify match.jsonl --agent bot.py:Bot", *host.split())
    assert (done.code, done.err) == (0, "")
    turns = sum(isinstance(event, TurnPlayed) for event in read_journal("match.jsonl")) // 2
    assert done.out.startswith(f"OK  match.jsonl: {turns} turns in ")
    assert done.out.endswith("; 2 agents played the same match again\n")


@pytest.mark.parametrize(
    ("what", "field"),
    [
        ("action", "action: {action} is recorded, and it is {other} now"),
        ("time", "spent_ns: {spent} is recorded, and it is {later} now"),
        ("late", 'verdict: "on time" is recorded, and it is "late" now'),
        ("raise", 'verdict: "on time" is recorded, and it is "disqualified" now'),
        ("note", 'note: null is recorded, and it is "another one" now'),
    ],
)
def test_the_first_difference_is_named(call: Call, recorded: list[Any], what: str, field: str) -> None:
    turn = next(
        event
        for event in recorded
        if isinstance(event, TurnPlayed) and event.seat == 0 and event.turn > 3 and event.verdict == "on time"
    )
    Path("plan.txt").write_text(f"{what} {turn.turn}")
    done = call("verify match.jsonl --agents --agent bot.py:Bot")
    values = {
        "action": turn.action,
        "other": 1 - turn.action,
        "spent": turn.spent_ns,
        "later": turn.spent_ns + 1_000_000,
    }
    wanted = f"DIFFERENT  match.jsonl: turn {turn.turn}, seat 0: {field.format(**values)}\n"
    assert (done.code, done.out, done.err) == (1, wanted, "")
    told = call("verify match.jsonl --agent bot.py:Bot --json").data()
    assert (told["ok"], told["difference"]["turn"], told["difference"]["seat"]) == (False, turn.turn, 0)
    Path("plan.txt").unlink()
    assert call("verify match.jsonl --agent bot.py:Bot -q").code == 0


WORKER = """
import random

class Worker:
    def start(self, briefing):
        self.dice = random.Random(briefing.seed)
    def act(self, observation):
        for _ in range(1000):
            pass
        return self.dice.randrange(2)
"""


@pytest.mark.release
def test_an_agent_in_webassembly_that_works_more_is_found_by_its_time(program: Call, home: Path) -> None:
    pytest.importorskip("componentize_py")
    (home / "worker.py").write_text(WORKER)
    agents = "--agent worker.py:Worker worker.py:Worker"
    line = f"run --task duel:lamps {agents} --host wasm {PLAY} --think fuel(1G/s)"
    subprocess.run([*FLAGFALL, *line.split()], check=True)  # builds a Python for it: a minute, the first time
    (home / "elsewhere").mkdir()
    (home / "elsewhere" / "worker.py").write_text(WORKER)
    assert program(f"verify match.jsonl {agents.replace('worker.py', 'elsewhere/worker.py')}").code == 0
    (home / "worker.py").write_text(WORKER.replace("1000", "1001"))
    done = program(f"verify match.jsonl {agents}")
    assert (done.code, done.err) == (1, "")
    assert done.out.startswith("DIFFERENT  match.jsonl: before turn 0, seat 0: spent_ns: ")


@pytest.mark.usefixtures("recorded")
def test_code_that_a_journal_names_is_not_run(call: Call) -> None:
    Path("bot.py").write_text("open('imported', 'w')")
    done = call("verify match.jsonl --agents")
    assert done.code == 2
    assert "seat 0 was played by 'Bot'" in done.err
    assert "add --agent for it" in done.err
    for options in ("--agent bot.py:Bot random random", "--agents --agent random silent random"):
        assert "3 agents are given; match.jsonl has 2 seats" in call(f"verify match.jsonl {options}").err
    assert not Path("imported").exists()


def test_a_file_that_a_journal_names_is_not_read(call: Call) -> None:
    over = {"event": "over", "at_ns": 0, "reason": "stopped", "turns": 0}
    sealed(
        Path("match.jsonl"), {**HEADER, "rules": {"round1": 3}, "agents": ["llm?template=/dev/zero"]}, over
    )
    done = call("verify match.jsonl --agents")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "only samples of flagfall that read no file" in done.err


@pytest.mark.parametrize("name", ["human", "tcp://127.0.0.1:7777", "zmq:5556"])
def test_people_and_agents_that_connect_are_not_run_again(call: Call, name: str) -> None:
    over = {"event": "over", "at_ns": 0, "reason": "stopped", "turns": 0}
    sealed(Path("match.jsonl"), {**HEADER, "rules": {"round1": 3}, "agents": [name]}, over)
    for options in ("--agents", f"--agent {name}"):
        done = call(f"verify match.jsonl {options}")
        assert (done.code, done.out) == (2, "")
        assert done.err.count("\n") == 1
        assert "cannot be run again" in done.err


def test_the_wall_clock_does_not_come_again(call: Call) -> None:
    assert call("run --task micro1 --agent random --steps 9 -q --journal match.jsonl").code == 0
    done = call("verify match.jsonl --agents")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "wall clock" in done.err


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("verify match.jsonl --host thread", "add --agents"),
        ("verify . --agent random", "are for a journal"),
        ("verify match.jsonl --agents --isolation sandbox --agent random random", "write --host process"),
    ],
)
@pytest.mark.usefixtures("recorded")
def test_options_that_do_not_fit_are_refused(call: Call, line: str, problem: str) -> None:
    done = call(line)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert problem in done.err


def test_of_a_match_that_was_stopped_the_turns_are_compared(call: Call) -> None:
    async def play() -> None:
        stop = trio.Event()

        def watch(event: Any) -> None:
            if isinstance(event, TurnPlayed) and event.turn == 7:
                stop.set()

        await flagfall.play("micro1", "random", seed=3, journal="match.jsonl", sinks=[watch], stop=stop)

    trio.run(play, clock=flagfall.VirtualClock())
    *_, end = read_journal("match.jsonl")
    assert isinstance(end, MatchEnded)
    assert end.reason == "stopped"
    assert call("verify match.jsonl --agents -q").code == 0
    assert call("verify match.jsonl --agent silent -q").code == 1


@pytest.mark.usefixtures("recorded")
def test_matches_that_go_on_from_others_are_played_from_there(call: Call) -> None:
    branch = "branch match.jsonl --agent random memorizing -q --at 11 --journal"
    assert call(f"{branch} new.jsonl --seed 9").code == 0
    assert call("verify new.jsonl --agents").code == 0
    assert call(f"{branch} same.jsonl").code == 0
    assert call("verify same.jsonl --agents").code == 0
    Path("cut.jsonl").write_bytes(b"".join(Path("match.jsonl").read_bytes().splitlines(keepends=True)[:20]))
    resumed = LAMPS.replace("match.jsonl", "cut.jsonl").replace("--overwrite", "--resume")
    assert call(resumed, "uniform(1ms, 25ms)", "2ms").code == 0
    begun = next(read_journal("cut.jsonl"))
    assert isinstance(begun, MatchStarted)
    assert begun.parents
    assert call("verify cut.jsonl --agent bot.py:Bot").code == 0
    Path("plan.txt").write_text("action 0")
    done = call("verify cut.jsonl --agent bot.py:Bot")
    assert (done.code, done.err) == (1, "")
    assert "turn 0, seat 0: the agent answers" in done.out


def test_a_disqualified_agent_is_disqualified_again_wherever_its_code_is(call: Call, home: Path) -> None:
    (home / "plan.txt").write_text("raise 6")
    assert call(LAMPS, "2ms").code == 0
    assert any(isinstance(event, SeatDisqualified) for event in read_journal("match.jsonl"))
    (home / "other").mkdir()
    for file in ("bot.py", "plan.txt"):
        shutil.copy(home / file, home / "other" / file)
    assert call("verify match.jsonl --agent other/bot.py:Bot").code == 0
    (home / "other" / "plan.txt").write_text("raise 7")
    assert call("verify match.jsonl --agent other/bot.py:Bot").code == 1


PLAN = """
name = "cup"
clock = "virtual"
repeats = 2
seed = 3
time_control = "act=20ms/1s"
[[tasks]]
task = "duel:lamps"
[[agents]]
name = "old"
spec = "old/bot.py:Bot"
think = "uniform(1ms, 25ms)"
[[agents]]
name = "new"
spec = "new/bot.py:Bot"
host = "process"
[[agents]]
name = "dice"
spec = "random"
"""

HELPER = "import random\ndef action(dice, bound={bound}):\n    return dice.randrange(bound)\n"

OWN = """
import random
import helper

class Bot:
    def start(self, briefing):
        open({mark!r}, "a").close()
        self.dice = random.Random(briefing.seed)
    def act(self, observation):
        return helper.action(self.dice)
"""


@pytest.fixture
def sent(program: Call, home: Path) -> Path:
    """A results folder where neither plan nor agents are; `ran-old` and `ran-new` show that these ran."""
    for number, name in enumerate(("old", "new")):
        (home / name).mkdir()
        (home / name / "bot.py").write_text(OWN.format(mark=str(home / f"ran-{name}")))
        (home / name / "helper.py").write_text(HELPER.format(bound=2 - number))
    (home / "cup.toml").write_text(PLAN)
    played = program("tournament cup.toml --quiet")
    assert played.code == 0, played.err
    for name in ("old", "new"):
        shutil.rmtree(home / name)
        (home / f"ran-{name}").unlink()
    (home / "cup.toml").unlink()
    return (home / "cup-results").rename(home / "sent")


def test_agents_of_a_sent_folder_run_only_where_they_are_trusted(program: Call, sent: Path) -> None:
    done = program("verify sent --agents")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "add --trust" in done.err
    assert not list(Path().glob("ran-*"))
    done = program("verify sent --agents --trust")
    assert (done.code, done.err) == (0, "")
    assert "12 matches played again by their agents" in done.out
    assert {path.name for path in Path().glob("ran-*")} == {"ran-old", "ran-new"}
    carried = next(path for path in (sent / "code").iterdir() if "bound=2" in path.read_text())
    carried.write_text(carried.read_text() + "#")
    assert program("verify sent --agents --trust").code == 1


def test_what_agents_did_not_do_is_found_where_everything_else_fits(program: Call, sent: Path) -> None:
    path = min((sent / "journals").iterdir())
    events = list(read_journal(path))
    place, turn = next(
        (n, event) for n, event in enumerate(events) if isinstance(event, TurnPlayed) and event.turn == 5
    )
    events[place] = replace(turn, note="a plan")
    text = b"".join(encode(event) + b"\n" for event in events)
    text += Sealer().seal(text, len(events), last=True)
    path.write_bytes(zstandard.ZstdCompressor().compress(text))
    write_lock_file(sent)
    assert program("verify sent --replay --trust").code == 0
    done = program("verify sent --agents --trust")
    assert (done.code, done.err) == (1, "")
    wanted = f'turn 5, seat {turn.seat}: note: "a plan" is recorded, and it is null now'
    assert done.out == f"DIFFERENT  sent: journals/{path.name}: {wanted}\n"


def test_matches_from_openings_are_played_from_there(call: Call, home: Path) -> None:
    played = "run --task duel:heaps --agent random random --clock virtual -q --journal begun-{0}.jsonl --seed"
    for seed in (1, 2):
        assert call(played.format(seed), seed).code == 0
    plan = PLAN.replace('"duel:lamps"', '"duel:heaps"\nopenings = "begun-*.jsonl@2"')
    for name in ("old", "new"):
        plan = plan.replace(f"{name}/bot.py:Bot", "random")
    (home / "cup.toml").write_text(plan)
    assert call("tournament cup.toml --quiet").code == 0
    done = call("verify cup-results --agents")
    assert (done.code, done.err) == (0, "")
    assert "12 matches played again by their agents" in done.out
