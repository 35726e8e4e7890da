"""`flagfall report`, and the report at the end of `flagfall tournament`."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flagfall.tournament.formats.fixed_rounds import RoundRobin
from flagfall.tournament.plan.parser import PLANS, load_plan
from tests.command_line import Ended, call_main
from tests.tournament.fields import make_plan
from tests.tournament.random_results import PLANS as MADE
from tests.tournament.random_results import results_of
from tests.viewer.journals import bytes_match, write
from tests.viewer.tournaments import LEARNING, SLEEPING, play, play_sleeping, renamed, store

Call = Callable[..., Ended]


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Call:
    return lambda line, *words: call_main(capfd, line, *words)


@pytest.fixture
def cup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder `cup`, with a tournament, in the working directory."""
    monkeypatch.chdir(tmp_path)
    plan = MADE["round-robin"]
    return store(Path("cup"), plan, results_of(plan, 1, 1.0).values())


@pytest.mark.usefixtures("cup")
def test_the_report_is_written_into_the_folder_or_to_a_file(call: Call) -> None:
    ended = call("report cup")
    assert (ended.code, ended.out, ended.err) == (0, "report: cup/report.html\n", "")
    page = Path("cup/report.html").read_text()
    assert page.startswith("<!doctype html>")
    assert call("report cup -o other.html").out == "report: other.html\n"
    assert Path("other.html").read_text().count("<script") == page.count("<script") == 2


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("report nowhere", "nowhere does not exist"),
        ("report cup/tournament.db", "is a file; name the folder of a tournament"),
        ("report .", ". holds no tournament: there is no tournament.db in it"),
        ("report cup --embed 1000", "--embed 1000: write a whole number from 0 to 50"),
        ("report cup -o nowhere/report.html", "nowhere/report.html cannot be written: No such file"),
        ("report cup -o cup", "cup is a folder; name a file in it"),
        ("report cup nowhere -o a.html", "nowhere does not exist"),
        ("report cup cup/../cup -o a.html", "are the same folder: name two"),
        ("report cup .", "a comparison belongs to no folder: name its file with --output"),
        ("report cup . -o a.html --embed 1", "--embed and --png are for the report of one folder"),
        ("report cup . -o a.html", ". holds no tournament: there is no tournament.db in it"),
    ],
)
@pytest.mark.usefixtures("cup")
def test_an_invalid_request_is_one_line(call: Call, words: str, line: str) -> None:
    ended = call(words)
    assert ended.code == 2
    assert line in ended.err
    assert ended.err.count("\n") == 1
    assert not Path("cup/report.html").exists()


@pytest.mark.parametrize("words", ["report cup -o cup/tournament.db", "replay {} -o cup/tournament.db"])
def test_results_are_never_replaced_by_a_page(call: Call, cup: Path, words: str) -> None:
    database, journal = cup / "tournament.db", cup.parent / "a.jsonl"
    write(journal, bytes_match(3))
    before = database.read_bytes()
    ended = call(words.format(journal))
    assert (ended.code, database.read_bytes()) == (2, before)
    assert "is a journal or a database, which would be lost" in ended.err


def test_a_comparison_of_two_folders_is_a_page_or_its_data(call: Call, cup: Path) -> None:
    plan = make_plan(3, RoundRobin(), repeats=4, seed=2)
    store(Path("later"), plan, results_of(plan, 2, 1.0).values())
    before = {path: path.read_bytes() for folder in (cup, Path("later")) for path in folder.iterdir()}
    ended = call("report cup later -o both.html")
    assert (ended.code, ended.out, ended.err) == (0, "comparison: both.html\n", "")
    assert Path("both.html").read_text().count("<script") == 2
    assert call("report cup later -o both.json").code == 0
    data = json.loads(Path("both.json").read_text())
    assert {row["agent"] for row in data["agents"]} == {"a0", "a1", "a2"}
    assert (set(data["only"][0]), data["only"][1]) == ({"a3", "a4"}, [])
    assert {path: path.read_bytes() for path in before} == before
    strangers = renamed(plan, {f"a{number}": f"b{number}" for number in range(3)})
    store(Path("strangers"), strangers, [])
    ended = call("report cup strangers -o c.html")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "cup and strangers have no agent in common" in ended.err


def test_a_damaged_database_is_one_line(call: Call, cup: Path) -> None:
    database = cup / "tournament.db"
    data = bytearray(database.read_bytes())
    data[4096:8192] = b"x" * 4096
    database.write_bytes(data)
    ended = call("report cup")
    assert ended.code == 2
    assert "is damaged" in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.usefixtures("cup")
def test_plots_are_written_in_the_chosen_format(call: Call) -> None:
    pytest.importorskip("matplotlib")
    ended = call("report cup --png plots --plots-format svg")
    assert ended.code == 0
    assert "plots/standings.svg" in ended.out
    first = {path.name: path.read_bytes() for path in Path("plots").iterdir()}
    assert first.keys() == {"standings.svg", "cross-table.svg", "rating.svg", "think-time.svg"}
    assert b"<!-- a0 -->" in first["standings.svg"]
    call("report cup --png again --plots-format svg")
    assert first == {path.name: path.read_bytes() for path in Path("again").iterdir()}, "equal each time"


@pytest.mark.usefixtures("cup")
def test_plots_without_matplotlib_are_one_line(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    ended = call("report cup --png plots")
    assert ended.code == 2
    assert ended.err == "flagfall: plots need the extra plots: pip install 'flagfall[plots]'\n"
    assert not Path("cup/report.html").exists()


def test_curves_of_limits_are_plotted(tmp_path: Path, call: Call) -> None:
    pytest.importorskip("matplotlib")
    folder = play_sleeping(tmp_path, SLEEPING.replace("repeats = 20", "repeats = 3"))
    call("report", folder, "--png", tmp_path / "plots", "--plots-format", "svg")
    text = (tmp_path / "plots" / "limits.svg").read_text()
    for words in ("act=40ms/1s", "all agents", "quick", "slow"):
        assert f"<!-- {words} -->" in text


def test_learning_curves_are_plotted(tmp_path: Path, call: Call) -> None:
    pytest.importorskip("matplotlib")
    folder = play(LEARNING, tmp_path)
    call("report", folder, "--png", tmp_path / "plots")
    files = list((tmp_path / "plots").iterdir())
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in files)
    names = {path.name for path in files}
    assert {"learning-1-micro1.png", "learning-2-micro2.png"} <= names


PLAN = """
clock = "virtual"
jobs = 1
time_control = "act=1s"

[[agents]]
spec = "random"

[[agents]]
spec = "silent"

[[tasks]]
task = "micro1"
steps = 10

[output]
report = {report}
"""


@pytest.mark.parametrize(
    ("key", "option", "written"),
    [("false", "--report", True), ("true", "--no-report", False)],
)
def test_an_option_decides_whether_a_tournament_ends_with_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call, key: str, option: str, *, written: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(PLAN.format(report=key))
    ended = call(f"tournament small.toml -q {option}")
    assert ended.code == 0
    assert Path("small-results/report.html").exists() is written
    line = "report:  small-results/report.html   (open it in a browser)"
    assert (line in ended.out.splitlines()) is written


def test_a_tournament_succeeds_although_its_report_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(PLAN.format(report="true"))
    Path("small-results/report.html").mkdir(parents=True)
    ended = call("tournament small.toml -q --resume")
    assert ended.code == 0
    assert "Standings" in ended.out
    assert "no report was written (small-results/report.html is a folder; name a file in it)" in ended.err
    assert "try flagfall report small-results" in ended.err


def test_the_first_plan_of_a_user_ends_with_a_report() -> None:
    assert load_plan("demo").output.report
    assert set(PLANS) == {"demo"}
