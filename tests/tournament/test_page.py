"""What `docs/tournaments.md` says can be read."""

import re
from pathlib import Path

import pytest

from flagfall.tournament.formats.schedule import FORMATS
from flagfall.tournament.plan.entries import AgentTable, PlanTable, TaskTable
from flagfall.tournament.plan.parser import parse_plan
from flagfall.tournament.tables import scorings, shown_columns

PAGE = (Path(__file__).parents[2] / "docs/tournaments.md").read_text()


def test_the_plan_on_the_page_is_a_plan(tmp_path, monkeypatch):
    pytest.importorskip("pettingzoo")
    (plan,) = re.findall(r"```toml\n(name = .*?)```", PAGE, re.DOTALL)
    (tmp_path / "old").mkdir()
    (tmp_path / "old/bot.py").write_text("class Bot: ...\n")
    (tmp_path / "new").mkdir()
    (tmp_path / "new/bot").touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    read = parse_plan(plan, folder=tmp_path)
    assert [agent.name for agent in read.agents] == ["old", "new"]
    assert [task.seats for task in read.tasks] == [2, 1, 1]


def test_the_page_tells_every_name_of_a_plan():
    told = set(re.findall(r"`([a-z_-]+)", PAGE))
    names = {field for kind in (AgentTable, PlanTable, TaskTable) for field in kind.__annotations__}
    assert names <= told
    assert set(FORMATS) <= told


def test_the_page_explains_every_column_and_every_scoring():
    heads = {head for row in re.findall(r"^\| ([^|`]+) \|", PAGE, re.MULTILINE) for head in row.split(", ")}
    assert {column.heading for column in shown_columns("terminal")} <= heads
    assert set(scorings()) <= set(re.findall(r'`"([a-z-]+)"`', PAGE))
