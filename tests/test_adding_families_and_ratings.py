"""A family of tasks, a rating and a column of the standings, each added by one row at run time."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from flagfall import show
from flagfall.errors import UsageError
from flagfall.tasks import catalog
from flagfall.tasks.catalog import Family, add_family, make_task
from flagfall.tasks.task import Task
from flagfall.testing import check_task
from flagfall.tournament import tables as agents
from flagfall.tournament.tables import Column, add_column
from flagfall.viewer.live.folder_reader import FolderReader
from flagfall.viewer.replay.recorded_match import RecordedMatch
from tests.command_line import Ended, call_main
from tests.viewer.reference_frames import decoded

Call = Callable[..., Ended]

COINS = '''
from random import Random
from gymnasium.spaces import Discrete
from flagfall.tasks import StepResult, Task
from flagfall.tasks.catalog import Family, add_family

class Toss(Task):
    """Guess the sides of a coin."""
    render_modes = ("ansi",)
    observation_space = Discrete(3)
    action_space = Discrete(2)
    nil_action = 0

    def __init__(self, id="coins:toss", tosses=3):
        super().__init__(max_steps=tosses)
        self.id = id

    def _reset(self, seed):
        self._random, self._side = Random(seed), 2
        return 2

    def _step(self, action):
        self._side = self._random.randrange(2)
        return StepResult(self._side, float(action == self._side), False, False, {})

    def reached_terminal_state(self):
        return False

    def render(self, mode="ansi", *args, **kwargs):
        return f"side {self._side}"

def make(task_id):
    return Toss(task_id, int(task_id.rpartition(":")[2]))

add_family(Family(
    name="coins", tasks={"coins:toss": Toss}, prefix="coins", make=make, pictures=True,
    help="Coins tossed N times: coins:toss:N",
))
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], ModuleType]]:
    """Write a module into a folder of its own, and import it; the rows that it adds go with the test."""
    away = tmp_path / "packages"
    away.mkdir()
    folder = tmp_path / "working"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [str(away), *sys.path])
    tables: list[dict[str, Any]] = [catalog.FAMILIES, agents.COLUMNS]
    before = [{**table} for table in tables]
    written: list[str] = []

    def write(name: str, text: str) -> ModuleType:
        (away / f"{name}.py").write_text(text)
        written.append(name)
        return importlib.import_module(name)

    yield write
    for table, rows in zip(tables, before, strict=True):
        table.clear()
        table.update(rows)
    for name in written:
        sys.modules.pop(name, None)


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Call:
    return partial(call_main, capfd)


PLAN = """
clock = "virtual"
repeats = 2
[output]
folder = "played"
[[agents]]
spec = "random"
[[agents]]
spec = "silent"
[[tasks]]
task = "coins:toss"
score = "reward"
[[tasks]]
task = "coins:toss:5"
score = "reward"
"""


def test_a_family_is_played_verified_drawn_and_reported(package, call) -> None:
    package("coins", COINS)
    listed = call("tasks").out
    assert "coins:toss" in listed
    assert "Coins tossed N times: coins:toss:N" in listed
    assert call("tasks --json").data()["coins"] == ["coins:toss"]
    check_task(partial(make_task, "coins:toss"))

    played = call("run --task coins:toss:4 --agent random --journal there.jsonl --json")
    assert (played.code, played.data()["matches"][0]["turns"]) == (0, 4), played.err
    verified = call("verify there.jsonl")  # without --trust: it names no module, though one is called coins
    assert (verified.code, "4 turns" in verified.out) == (0, True), verified.err
    assert call("replay there.jsonl -o page.html").code == 0
    match = RecordedMatch(Path("there.jsonl"))
    match.read_all()
    assert (match.summary()["view"], match.summary()["pictures"]["available"]) == ("pictures", True)
    head, frames = decoded(match.frames(0))
    match.close()
    assert (head["kind"], head["why"], frames[0, "b"]) == ("text", "", "side 2")

    Path("plan.toml").write_text(PLAN)
    assert (ended := call("tournament plan.toml --quiet --jobs 2")).code == 0, ended.err
    rows = json.loads(call("results played --json").out)["tasks"]
    assert {row["task"]: row["matches"] for row in rows} == {"coins:toss": 2, "coins:toss:5": 2}
    assert call("report played -o report.html").code == 0
    assert "coins:toss:5" in Path("report.html").read_text()


def test_a_journal_of_an_unknown_family_imports_nothing(package, call) -> None:
    package("coins", COINS)
    call("run --task coins:toss --agent random --journal there.jsonl")
    del catalog.FAMILIES["coins"], sys.modules["coins"]
    refused = call("verify there.jsonl")
    assert (refused.code, "would import module 'coins'" in refused.err) == (2, True)
    assert "coins" not in sys.modules


def test_a_family_that_workers_cannot_import_is_named(package, call) -> None:
    coins = package("coins", COINS)

    def make(task_id: str) -> Task:
        made: Task = coins.make(task_id)
        return made

    catalog.FAMILIES["coins"] = Family(name="coins", prefix="coins", make=make)
    Path("plan.toml").write_text(PLAN.replace('coins:toss"', 'coins:toss:3"'))
    ended = call("tournament plan.toml --quiet --jobs 1")
    assert "family coins cannot be used in another process" in ended.err
    assert "define its functions at the top of a module" in ended.err
    assert ended.code != 0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"name": "vgdl"}, "the name 'vgdl' is taken"),
        ({"prefix": "gym"}, "the prefix 'gym' is taken"),
        ({"tasks": {"micro1": dict}}, "the id 'micro1' is taken"),
    ],
)
def test_what_is_taken_is_refused(changed, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        add_family(Family(**{"name": "coins", **changed}))


MARKS = '''
import numpy as np
from flagfall.tournament.stats.intervals import Interval
from flagfall.tournament.tables import Column, add_column

def strokes(table):
    """Place in the order of rewards, the lowest reward first: as in golf, less is better."""
    reward = np.bincount(table.results.agent, table.results.reward, len(table.agents))
    return [Interval(float(one), one - 0.5, one + 0.5) for one in reward]

add_column(Column(
    key="strokes", heading="strokes", values=strokes, form="interval", decimals=1, best="low",
    note="Reward, where less is better", remarks=lambda table: ["strokes are counted"],
))
add_column(Column(key="seats", heading="seats", values=lambda table: table.seats.counts * 10))
add_column(Column(key="far", heading="far", values=lambda table: missing(), needs="flagfall[far]"))

def missing():
    import a_package_that_is_not_installed
'''

RATED = """
clock = "virtual"
repeats = 3
scoring = "strokes"
output = { folder = "rated", tables = ["csv"] }
[[agents]]
spec = "random"
[[agents]]
spec = "silent"
[[tasks]]
task = "micro1"
steps = 200
score = "reward"
"""


def test_a_rating_and_a_column_are_in_every_table(package, call) -> None:
    Path("plan.toml").write_text(RATED)
    refused = call("tournament plan.toml --quiet")
    assert (refused.code, "unknown value 'strokes'" in refused.err) == (2, True)
    package("marks", MARKS)
    assert "strokes" in call("schema plan").data()["properties"]["scoring"]["enum"]
    played = call("tournament plan.toml --quiet --jobs 1")
    assert played.code == 0, played.err

    data = call("results rated --json").data()
    rows = data["rows"]
    values = [row["strokes"]["value"] for row in rows]
    assert values == sorted(values)  # the lowest ranks first, against the order of Elo
    assert rows[0]["elo"]["value"] < rows[1]["elo"]["value"]
    assert [row["seats"] for row in rows] == [10 * row["matches"] for row in rows]
    assert [row["far"] for row in rows] == [None, None]
    assert data["notes"][-2:] == ["strokes are counted", "far is not computed: pip install 'flagfall[far]'"]

    table = call("results rated --wide").out
    assert f"{values[0]:.1f} [{values[0] - 0.5:.1f}, {values[0] + 0.5:.1f}]" in table
    heads = next(line.split() for line in table.splitlines() if "place" in line)
    assert {"strokes", "seats"} <= {*heads}
    assert "far" not in heads
    lines = (Path("rated") / "standings.csv").read_text().splitlines()
    assert {"strokes", "strokes_low", "strokes_high", "seats", "far"} <= {*lines[0].split(",")}

    call("report rated -o report.html")
    report = Path("report.html").read_text()
    assert all(text in report for text in ("Reward, where less is better", "ranked by strokes"))
    live = FolderReader(Path("rated")).read_standings()
    assert (live["drawn"], live["columns"][0]["key"]) == ("strokes", "strokes")
    assert "Strokes" in show("rated").html


def test_results_ranked_by_a_rating_of_another_program_say_so(package, call) -> None:
    package("marks", MARKS)
    Path("plan.toml").write_text(RATED)
    call("tournament plan.toml --quiet --jobs 1")
    del agents.COLUMNS["strokes"]
    for command in ("results rated", "report rated -o report.html"):
        ended = call(command)
        assert ended.code != 0
        assert len(ended.err.splitlines()) == 1
        assert "strokes" in ended.err


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"key": "elo"}, "there is one with this key"),
        ({"key": "formula-one"}, "there is one with this key"),
        ({"key": "place"}, "there is one with this key"),
    ],
)
def test_a_column_whose_key_is_taken_is_refused(column, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        add_column(Column(heading="x", values=lambda table: table.seats.counts, **column))
