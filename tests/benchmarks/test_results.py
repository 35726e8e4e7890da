"""Kept results, their tables and pictures, and the comparison with another checkout."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.compare import OtherCheckout, measure_against
from benchmarks.machine import describe_machine
from benchmarks.measure import Row, cpu_beside, leading_number, reduced, skipped
from benchmarks.report import main as report
from benchmarks.results import Result, ResultFile, read_run
from benchmarks.suites import load_suite

ROOT = Path(__file__).parents[2]

OWN_SUITE = """
import attrs

@attrs.frozen
class Row:
    name: str
    value: str

def challenge(_scale):
    yield Row("byte steps/s, plain loop", "1.5 of the old version")
    raise ValueError("no more rows")
"""

SCALE = 1_000
"""Of measurements whose figures do not matter."""


MACHINE = str(describe_machine())


def keep(
    path: Path, *rows: Row, suite: str = "kernel", group: str = "matches", machine: str = MACHINE
) -> Path:
    with ResultFile(path, machine) as file:
        for row in rows:
            file.add(Result(suite, group, row))
    return path


def failure(capsys: pytest.CaptureFixture[str], program, *words: object) -> str:
    with pytest.raises(SystemExit) as ended:
        program([str(word) for word in words])
    assert ended.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.removesuffix("\n").rpartition("\n")[2]


@pytest.mark.parametrize(
    ("text", "number"),
    [("12,345/s", 12_345), ("0.31 / 0.92 ms", 0.31), ("-3 ms", -3), ("0 late, 2 out", 0), (".5 µs", 0.5)],
)
def test_the_number_of_a_row_is_the_one_that_its_figure_begins_with(text, number):
    assert Row("x", text).number == number


def test_a_figure_without_a_number_is_noticed():
    assert leading_number("none") != leading_number("none")
    assert Row("x", "fast", number=3.0).number == 3


def test_work_is_divided_by_the_scale_and_never_vanishes():
    assert [reduced(1000, scale, 4) for scale in (1, 10, 100, 1000)] == [1000, 100, 10, 4]


def test_cpu_time_is_that_of_the_work_and_of_its_children():
    burn = [sys.executable, "-c", "sum(range(3_000_000))"]

    def work() -> int:
        subprocess.run(burn, check=True)
        return 2

    ours, baseline, ratio = cpu_beside(work, lambda: 1_000_000, rounds=1)
    assert ours > baseline > 0
    assert ratio == ours / baseline


def test_results_are_read_as_they_were_written(tmp_path):
    rows = [
        Row("a", "12 µs", "trio 3 µs", "4.00", "≤ 5", curve="a, µs", size=64),
        skipped("b", "no bwrap"),
    ]
    run = read_run(keep(tmp_path / "run.jsonl", *rows))
    (first, second) = (result.row for result in run.results.values())
    assert first == rows[0]
    assert (second.name, second.skipped) == ("b", "no bwrap")
    assert run.machines == [MACHINE]


def test_a_row_that_is_measured_again_replaces_the_older_one(tmp_path):
    path = tmp_path / "run.jsonl"
    keep(path, Row("a", "1 µs"), Row("b", "5 µs"))
    run = read_run(keep(path, Row("a", "2 µs")))
    assert [result.row.value for result in run.results.values()] == ["2 µs", "5 µs"]


def test_a_table_names_the_machines_that_measured_its_rows(tmp_path, capsys):
    path = keep(tmp_path / "run.jsonl", Row("a", "1 µs"), Row("b", "5 µs"), machine="old machine")
    keep(path, Row("a", "2 µs"), machine="new machine; work divided by 10")
    keep(path, Row("c", "3 µs"), suite="hosts", machine="another machine")
    report([str(path), "--markdown"])
    _, kernel, hosts = capsys.readouterr().out.split("### ")
    assert "old machine" in kernel
    assert "new machine; work divided by 10" in kernel
    assert "another" not in kernel
    assert "another" in hosts
    assert "new" not in hosts


@pytest.mark.parametrize(
    "line", ["nonsense", "[]", '{"suite": "x"}', '{"suite": 1, "row": {"colour": 2}}', "7"]
)
def test_a_damaged_file_of_results_gets_one_line_that_names_the_place(tmp_path, capsys, line):
    path = keep(tmp_path / "run.jsonl", Row("a", "1 µs"))
    with path.open("a") as file:
        file.write(line + "\n")
    assert failure(capsys, report, path) == f"benchmarks: {path}: line 3: is no line that --json writes"


def test_a_missing_file_of_results_gets_one_line(tmp_path, capsys):
    assert str(tmp_path / "none") in failure(capsys, report, tmp_path / "none")


def test_a_kept_run_is_compared_with_an_older_one(tmp_path, capsys):
    old = keep(tmp_path / "old.jsonl", Row("a", "8 µs"), Row("z", "0 late"))
    new = keep(tmp_path / "new.jsonl", Row("a", "2 µs", target="≤ 3"), Row("b", "5 µs"), Row("z", "0 late"))
    report([str(new), "--before", str(old), "--markdown"])
    printed = capsys.readouterr().out
    assert "| a | 2 µs | 8 µs | 0.25 |  |  | ≤ 3 |" in printed
    assert "| b | 5 µs | no such row |  |  |  |  |" in printed
    assert "| z | 0 late | 0 late | = |  |  |  |" in printed
    assert f"before: {MACHINE}" in printed
    report([str(new), "--before", str(old), "--markdown", "--targets"])
    printed = capsys.readouterr().out
    assert "| a |" in printed
    assert "| b |" not in printed


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["round1", "--only", "nothing"], "--only nothing: no such group in round1; known: challenge"),
        (["round1", "--plot", "x.svg"], "--plot x.svg: only the suite growth has curves"),
        (["growth", "--plot", "x.pdf"], "--plot x.pdf: must end in .svg or .png"),
        (["round1", "--against", "/nonexistent"], "--against: /nonexistent holds no package flagfall"),
        (["round1", "--json", "/nonexistent/x"], "/nonexistent/x: No such file or directory"),
        (["round1", "--scale", "0"], "argument --scale: '0' is no whole number from 1 on"),
        (["no-such-suite"], "invalid choice: 'no-such-suite'"),
    ],
)
def test_wrong_arguments_get_one_line_before_anything_is_measured(capsys, words, problem):
    assert problem in failure(capsys, main, *words)


def test_without_matplotlib_one_line_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # as if it were not installed
    assert "pip install 'flagfall[plots]'" in failure(capsys, main, "growth", "--plot", "x.svg")


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="the extra plots is not installed")
def test_points_of_growth_curves_are_drawn(tmp_path, capsys):
    points = [
        Row(f"busy turn, {size}", f"{size} µs", curve="busy turn, µs", size=size) for size in (1, 64, 4096)
    ]
    path = keep(tmp_path / "run.jsonl", *points, suite="growth")
    with contextlib.chdir(tmp_path):
        report([str(path), "--plot", "growth.svg"])
        drawn = Path("growth.svg").read_text()
        report([str(path), "--plot", "growth.svg"])
    assert "busy turn" in drawn
    assert "µs over matches" in drawn
    assert (tmp_path / "growth.svg").read_text() == drawn, "equal results, equal pictures"
    other = keep(tmp_path / "other.jsonl", Row("a", "1 µs"))
    capsys.readouterr()
    with pytest.raises(SystemExit):
        report([str(other), "--plot", str(tmp_path / "x.svg")])
    assert "no growth curve was measured" in capsys.readouterr().err


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Another version, in which the benchmarks of this one cannot run."""
    (tmp_path / "flagfall").mkdir()
    (tmp_path / "flagfall" / "__init__.py").write_text("")
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "__init__.py").write_text("")
    return tmp_path


@pytest.mark.release
def test_the_own_benchmarks_of_another_version_are_measured_where_ours_cannot_run(checkout):
    (checkout / "benchmarks" / "round1.py").write_text(OWN_SUITE)
    with OtherCheckout(checkout) as other:
        groups = load_suite("round1").groups
        results = {
            result.row.name: result for result in measure_against("round1", groups, SCALE, other, rounds=1)
        }
    plain = results["byte steps/s, plain loop"]
    assert plain.before == "1.5 of the old version"
    assert float(plain.change) > 1000
    assert results["byte steps/s, actors, 1 matches"].before == "cannot run: ValueError: no more rows"


@pytest.mark.release
def test_another_version_that_cannot_be_measured_is_named_with_its_reason(checkout):
    with OtherCheckout(checkout) as other:
        groups = load_suite("round1").groups
        results = list(measure_against("round1", groups, SCALE, other, rounds=1))
    assert {result.before[:31] for result in results} == {"cannot run: ModuleNotFoundError"}
    assert all(result.row.number > 0 for result in results)


def test_code_of_a_wrong_version_is_not_measured(checkout):
    with OtherCheckout(checkout) as other:
        (other.before[0].root / "flagfall").unlink()
        _, reason = other.place_for("round1", "challenge")
    assert reason == f"flagfall was imported from {ROOT / 'flagfall'}, not from {checkout / 'flagfall'}"


def test_lines_of_a_file_are_json(tmp_path):
    path = keep(tmp_path / "run.jsonl", Row("a", "1 µs"))
    machine, row = map(json.loads, path.read_text().splitlines())
    assert machine == {"machine": MACHINE}
    assert row == {
        "suite": "kernel",
        "group": "matches",
        "row": {"name": "a", "value": "1 µs", "number": 1.0},
    }
