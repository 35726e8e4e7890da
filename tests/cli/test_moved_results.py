"""A tournament's folder on another machine: without agents, plan, configurations and environments."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flagfall import run
from flagfall.events import SCHEMA, MatchStarted
from flagfall.recording.journal.format import Sealer, encode
from flagfall.recording.journal.reader import read_journal
from flagfall.tasks import make_task
from tests.cli.test_check_host_as_plain_user import AS_PLAIN_USER, USER, installed_for_all, plain_python
from tests.tournament.test_verification import HELPER, TASK

Call = Callable[..., Any]

PLAN = """
clock = "virtual"
jobs = 1
time_control = "act=1s"
show = "book.txt"

[[agents]]
name = "bot"
spec = "bot.py:act"

[[agents]]
name = "boxed"
spec = "random"

[[tasks]]
config = "course.toml"
steps = 10

[[tasks]]
name = "own words"
task = "micro1"
words = "words.txt"
steps = 5

[[tasks]]
task = "vgdl:mygame.txt#0"
"""

BOT = """
def act(observation):
    return 0 if isinstance(observation, dict) else 32
"""

COURSE = """
[scheduler]
policy = "sequential"
tasks = ["micro1"]
"""


@pytest.fixture
def home(folder: Path) -> Path:
    """The folder of a plan with everything that it names."""
    games = Path(__file__).parents[2] / "flagfall" / "tasks" / "vgdl" / "games"
    home = folder / "home"
    home.mkdir()
    (home / "plan.toml").write_text(PLAN)
    (home / "bot.py").write_text(BOT)
    (home / "book.txt").write_text("openings\n")
    words = (f"{a}{b}{c}" for a in "bdfghjklm" for b in "aeiou" for c in "bcdfghjklmnpt")
    (home / "words.txt").write_text("\n".join(words))
    (home / "course.toml").write_text(COURSE)
    shutil.copy(games / "causeway.txt", home / "mygame.txt")
    shutil.copy(games / "causeway_lvl0.txt", home / "mygame_lvl0.txt")
    return home


def test_results_are_shown_where_nothing_else_is(call: Call, folder: Path, home: Path) -> None:
    played = call("tournament home/plan.toml --output made --quiet")
    assert played.code == 0, played.err
    before = call("results made --json")
    matches = call("results made --matches --format csv")
    shutil.rmtree(home)
    shutil.move(folder / "made", folder / "sent")
    after = call("results sent --json")
    assert (after.code, after.out) == (0, before.out), after.err
    assert call("results sent --matches --format csv").out == matches.out
    assert {"bot", "boxed"} <= set(after.out.split('"'))


def test_a_sent_plan_is_data(call: Call, home: Path) -> None:
    assert call("tournament home/plan.toml --output made --quiet").code == 0
    (home / "bot.py").write_text("raise SystemExit('imported')\n")
    (home / "words.txt").unlink()
    (home / "course.toml").write_text("not toml at all [")
    shown = call("results made")
    assert shown.code == 0, shown.err
    assert "Standings" in shown.out


OWN = """
clock = "virtual"
[[agents]]
name = "bot"
spec = "bot.py:act"
[[tasks]]
task = "tasks/own.py:Sum?size=4"
[[tasks]]
task = "gym:games.corridor:Corridor-v0"
[[tasks]]
task = "vgdl:mygame.txt#0"
steps = 5
[[tasks]]
track = "mygame.txt"
games = 1
"""

CORRIDOR = """
import gymnasium
from games import steps

class Corridor(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = steps.COUNT
        return int(self.np_random.integers(2)), {}
    def step(self, action):
        self.left -= 1
        return int(self.np_random.integers(2)), float(action), not self.left, False, {}

gymnasium.register("Corridor-v0", Corridor)
"""


def write_own(home: Path) -> None:
    """Write a plan with tasks of its own: a file, a package, a game."""
    games = Path(__file__).parents[2] / "flagfall" / "tasks" / "vgdl" / "games"
    for name in ("tasks", "games"):
        (home / name).mkdir(parents=True)
    (home / "plan.toml").write_text(OWN)
    (home / "bot.py").write_text(BOT.replace("32", "1"))
    (home / "tasks" / "own.py").write_text(TASK)
    (home / "tasks" / "helper.py").write_text(HELPER)
    (home / "games" / "__init__.py").touch()
    (home / "games" / "steps.py").write_text("COUNT = 5\n")
    (home / "games" / "corridor.py").write_text(CORRIDOR)
    for level in ("", "_lvl0", "_lvl1", "_lvl2", "_lvl3", "_lvl4"):
        shutil.copy(games / f"causeway{level}.txt", home / f"mygame{level}.txt")


@pytest.mark.release
def test_results_are_verified_in_the_home_of_another_user(folder: Path, program: Callable[..., Any]) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    home = folder / "home of alice"
    write_own(home)
    os.chdir(home)
    played = program("tournament plan.toml --output made --quiet")
    assert played.code == 0, played.err
    with installed_for_all(plain_python()) as place:
        sent = Path(shutil.move(home / "made", place / "home" / "sent"))
        shutil.rmtree(home)
        for path in [sent, *sent.rglob("*")]:
            os.chown(path, USER, USER)

        def verify(*options: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [
                    *AS_PLAIN_USER,
                    str(place / "venv/bin/python"),
                    "-m",
                    "flagfall",
                    "verify",
                    "sent",
                    *options,
                ],
                cwd=place / "home",
                env={"HOME": str(place / "home"), "PATH": os.environ["PATH"]},
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )

        checked = verify()
        assert (checked.returncode, checked.stdout[:8]) == (0, "OK  sent"), checked
        refused = verify("--replay")
        assert refused.returncode == 2
        assert re.fullmatch(
            r"flagfall: .* would import .*; if you trust this file, add --trust\n", refused.stderr
        )
        executed = verify("--replay", "--trust")
        assert executed.returncode == 0, executed
        assert "4 matches executed again" in executed.stdout
        for path in (path for path in sent.rglob("*") if path.is_file()):
            assert str(home).encode() not in path.read_bytes(), path
        for journal in (sent / "journals").iterdir():
            assert str(folder) not in str([*read_journal(journal)])


@pytest.fixture
def made(home: Path, call: Call) -> Path:
    """Results with standings and a report, whose plan is gone."""
    plan = home / "plan.toml"
    plan.write_text(PLAN + '[output]\ntables = ["csv"]\nreport = true\n')
    assert call("tournament home/plan.toml --output made --quiet").code == 0
    shutil.rmtree(home)
    return Path("made")


@pytest.mark.usefixtures("made")
def test_a_folder_is_verified_in_one_line(call: Call) -> None:
    checked = call("verify made")
    assert checked.code == 0
    assert re.fullmatch(r"OK  made: 6 matches, 6 journals, \d+ files; tree [0-9a-f]{64}\n", checked.out)
    found = call("verify made --json").data()
    assert found["ok"]
    assert found["tree"] in checked.out
    assert call("verify made --quiet").out == ""
    assert "6 matches executed again; tree" in call("verify made --replay").out
    for command in ("results made", "report made", "report made --embed 1", "verify made"):
        assert call(command).code == 0
    assert call("verify made --json").data()["tree"] == found["tree"]


@pytest.mark.parametrize(
    "name", ["report.html", "standings.csv", "plan.toml", "tournament.db", "flagfall.lock"]
)
def test_a_changed_file_is_named_in_one_line(call: Call, made: Path, name: str) -> None:
    content = bytearray((made / name).read_bytes())
    content[len(content) // 2] ^= 1
    (made / name).write_bytes(content)
    checked = call("verify made")
    assert checked.code == 1
    assert checked.out.startswith(f"DIFFERENT  made: {name}: ")
    assert (checked.out.count("\n"), checked.err) == (1, "")
    assert name in {problem["path"] for problem in call("verify made --json").data()["problems"]}
    (made / name).unlink()
    assert call("verify made").out.startswith(f"MISSING  made: {name}: ")


def test_a_changed_match_is_found_by_executing_it_again(call: Call, made: Path) -> None:
    path = next(iter((made / "journals").glob("r0-m0-g0.*")))
    shutil.copy(next(iter((made / "journals").glob("r0-m0-g1.*"))), path)
    ended = call("verify made --replay --json")
    assert ended.code == 1
    assert f"journals/{path.name}" in {problem["path"] for problem in ended.data()["problems"]}


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize(
    "options", ["made --config x.py", "made --trust", "made/plan.toml --replay", "made/journals"]
)
def test_options_that_do_not_apply_are_refused(call: Call, options: str) -> None:
    ended = call(f"verify {options}")
    assert ended.code == 2
    assert ended.err.count("\n") == 1


def test_a_journal_is_verified_as_json(call: Call) -> None:
    assert (
        call("run --task micro1 --agent random --steps 9 --clock virtual --journal m.jsonl --quiet").code == 0
    )
    assert call("verify m.jsonl --json").data() == {
        "ok": True,
        "path": "m.jsonl",
        "turns": 9,
        "tasks": 1,
        "rounded": 0,
        "difference": None,
        "not_repeatable": None,
        "agents": 0,
    }
    Path("m.jsonl").write_bytes(Path("m.jsonl").read_bytes().replace(b'"reward":[', b'"reward":[1', 1))
    ended = call("verify m.jsonl --json")
    assert ended.code == 1
    assert ended.data()["difference"]["line"] == 4


def test_code_named_by_a_whole_path_is_found_beside_the_journal_or_here(call: Call, folder: Path) -> None:
    write_own(folder / "own")
    task = folder / "own" / "tasks" / "own.py"
    line = f"run --task {task}:Sum --agent random --clock virtual --quiet --journal"
    for journal in ("own/tasks/match.jsonl", "match.jsonl"):
        assert call(f"{line} {journal}").code == 0
        assert str(folder) not in Path(journal).read_text()
    assert call("verify own/tasks/match.jsonl --trust").code == 0
    ended = call("verify match.jsonl --trust")
    assert ended.code == 2
    assert ended.err.endswith("; go to the folder with helper.py\n")
    os.chdir(task.parent)
    assert call(f"verify {folder / 'match.jsonl'} --trust").code == 0


def test_a_journal_with_a_whole_path_is_read_as_before(call: Call, folder: Path) -> None:
    write_own(folder / "own")
    run([make_task(f"{folder}/own/tasks/own.py:Sum")], "random", clock="virtual", journal="match.jsonl")
    assert str(folder) in Path("match.jsonl").read_text()
    assert call("verify match.jsonl --trust").code == 0


def test_a_journal_unpacks_nothing_outside(call: Call, made: Path) -> None:
    for name in ("../mine", "/tmp/mine", "a/../../mine", "x\0y"):  # noqa: S108 - refused
        header = MatchStarted(
            at_ns=0,
            schema=SCHEMA,
            flagfall="",
            tasks=["vgdl:mine.txt#0"],
            scheduler="sequential",
            agents=["random"],
            seed=0,
            time_control="act=1s",
            clock="virtual",
            code={name: next(iter((made / "code").iterdir())).name},
        )
        line = encode(header) + b"\n"
        (made / "journals" / "odd.jsonl").write_bytes(line + Sealer().seal(line, 1, last=True))
        ended = call("verify made/journals/odd.jsonl")
        assert ended.code == 2
        assert "is no file that results can carry" in ended.err
        assert ended.err.count("\n") == 1
