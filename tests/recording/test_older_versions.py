"""Journals, results folders and plans of earlier versions are verified, shown and resumed.

`tests/fixtures/README.md` describes the files and how they were made.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import pytest
import zstandard

from flagfall import read_journal
from flagfall.events import SeatDisqualified, TurnPlayed, Verdict
from flagfall.recording.journal.reader import JournalTruncated
from flagfall.texts import counted
from tests.command_line import Ended, call_main

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"


def names(pattern: str) -> list[str]:
    """Return the names of fixtures that match a pattern, except journals that were being written."""
    found = FIXTURES.glob(pattern)
    return sorted(str(path.relative_to(FIXTURES)) for path in found if "running" not in path.parts)


JOURNALS = names("**/*.jsonl*")
CONFIGS = {
    "sampler.jsonl": "inputs/goals.py",
    "void.jsonl": "inputs/goals.py:create_failing_tasks",
}
"""Journals whose tasks were made by a Python function, and that function."""

TOURNAMENTS = sorted(path.name.partition(".")[0] for path in FIXTURES.glob("tournaments/*.standings.json"))
INTERRUPTED = ("interrupted", "track-2017")
PLANS = sorted(path.stem for path in FIXTURES.glob("plans/*.toml"))
MATCHES = {
    "benchmark": "22 matches\n",
    "disqualified": "4 matches are known so far; the others depend on results\n",
    "files": "4 matches\n",
    "gauntlet": "16 matches\n",
    "interrupted": "18 matches\n",
    "knockout": "16 matches are known so far; the others depend on results\n",
    "round_robin": "6 matches\n",
    "sprt": "24 matches\n",
    "swiss": "16 matches are known so far, 48 at most; the others depend on results\n",
    "track": "2 matches\n",
    "track-2017": "12 matches\n",
}
"""Matches of each plan, as its schedule states them."""

CLOSE = 2e-6
"""Most that a figure may differ from the recorded one. Another processor, or another version of numpy, gives
matrix products, exponentials and logarithms other last digits; and Elo is rounded to 1e-6."""


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    """Call the command line in this process."""
    monkeypatch.setattr(sys, "path", list(sys.path))

    return partial(call_main, capfd)


@pytest.fixture
def in_fixtures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Journals name files as they were written: from the folder of the fixtures."""
    monkeypatch.chdir(FIXTURES)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the fixtures without their journals, which can be written to."""
    for name in ("inputs", "plans", "tournaments"):
        shutil.copytree(FIXTURES / name, tmp_path / name)
    return tmp_path


def content(name: str) -> bytes:
    """Return the text of a journal, or whatever stands in another file."""
    data = (FIXTURES / name).read_bytes()
    return zstandard.ZstdDecompressor().decompressobj().decompress(data) if name.endswith(".zst") else data


def lines_of(name: str) -> list[dict[str, Any]]:
    """Return the lines of a journal as they stand in its file, read by nothing of this project."""
    return [json.loads(line) for line in content(name).splitlines()]


def turns_in(lines: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield a mapping for each turn, those in one line too."""
    for line in lines:
        if line["event"] == "turn":
            yield {"seat": 0, "verdict": "on time", **line}
        elif line["event"] == "turns":
            for number in range(len(line["at_ns"])):
                columns = {name: line[name][number] for name in ("observation", "reward", "action")}
                yield {"turn": line["turn"] + number, "seat": 0, "verdict": "on time", **columns}


def has_lost_strings(lines: list[dict[str, Any]]) -> bool:
    """Return whether a match had mini-tasks before their rules had a revision."""
    mini = any(line["event"] == "start" and line["task"].startswith("mini") for line in lines)
    return mini and "rules" not in lines[0]


def test_every_kind_is_there() -> None:
    """A file that is lost makes the tests below weaker, and none of them fail."""
    events = {name: lines_of(name) for name in JOURNALS}
    folders = [name.partition("/")[0] for name in JOURNALS]
    assert (folders.count("schema1"), folders.count("schema2")) == (33, 51)
    for folder, number in (("schema1", 1), ("schema2", 2), ("tournaments", 2)):
        own = {name: lines for name, lines in events.items() if name.startswith(folder)}
        assert {lines[0]["schema"] for lines in own.values()} == {number}
    for schema in ("schema1", "schema2"):
        own = {name: lines for name, lines in events.items() if name.startswith(schema)}
        every = list(chain.from_iterable(own.values()))
        assert {line["clock"] for line in every if "clock" in line} == {"wall", "virtual"}
        assert any("clock=cpu" in line.get("time_control", "") for line in every)
        assert {line["host"] for line in every if "host" in line} == {"task", "thread", "process"}
        assert {line["reason"] for line in every if line["event"] == "fell"} == {"late", "crashed", "gone"}
        assert {line["reason"] for line in every if line["event"] == "over"} >= {
            "finished",
            "steps",
            "seats",
            "void",
        }
        assert {turn["verdict"] for turn in turns_in(every)} == {
            "on time",
            "late",
            "illegal",
            "fallen",
            "absent",
        }
        assert {turn["seat"] for turn in turns_in(every)} == {0, 1}
        assert any(line.get("tick_ns") for line in every)
        assert any(line["event"] == "dropped" for line in every)
    assert set(PLANS) == MATCHES.keys()
    assert set(TOURNAMENTS) == MATCHES.keys() - {"files"}
    assert [len(names(f"schema{n}/*.{kind}")) for n in (1, 2) for kind in ("transcript", "results")] == [
        4
    ] * 4


@pytest.mark.usefixtures("in_fixtures")
@pytest.mark.parametrize("name", JOURNALS)
def test_journals_are_verified(call: Callable[..., Ended], name: str) -> None:
    lines = lines_of(name)
    turns = len({turn["turn"] for turn in turns_in(lines)})
    tasks = sum(line["event"] == "start" for line in lines)
    config = CONFIGS.get(Path(name).name)
    ended = call("verify", name, *(["--config", config] if config else []))
    if Path(name).name == "cut.jsonl":
        assert ended.code == 1
        assert ended.out.startswith(f"DIFFERENT  {name}: line ")
        assert "its last seal" in ended.out
    elif has_lost_strings(lines):
        task = lines[0]["tasks"][0]
        assert ended.code == 1
        assert ended.out.startswith(f"NOT VERIFIED  {name}: the seals hold; ")
        assert f"task {task}: it was played by revision 1 of the rules of round1" in ended.out
    else:
        assert (ended.code, ended.err) == (0, "")
        assert (
            ended.out
            == f"OK  {name}: {counted(turns, 'turn')} in {counted(tasks, 'task')} are as they were recorded\n"
        )


@pytest.mark.usefixtures("in_fixtures")
@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_no_python_function_is_called_unasked(call: Callable[..., Ended], name: str) -> None:
    ended = call("verify", f"schema2/{name}")
    assert (ended.code, ended.out) == (2, "")
    assert "--config" in ended.err


@pytest.mark.parametrize("name", JOURNALS)
def test_journals_are_read_as_they_were_written(name: str) -> None:
    lines = lines_of(name)
    events: list[Any] = []
    try:
        events.extend(read_journal(FIXTURES / name))
    except JournalTruncated:
        assert name.endswith("cut.jsonl")
    turns = [event for event in events if type(event) is TurnPlayed]
    written = list(turns_in(lines))
    assert len(events) - len(turns) == sum(line["event"] not in {"turn", "turns", "seal"} for line in lines)
    assert [(turn.turn, turn.seat) for turn in turns] == [(turn["turn"], turn["seat"]) for turn in written]
    assert [turn.reward for turn in turns] == [turn["reward"] for turn in written]
    # Every verdict is read as one of today's words, and no two as the same one.
    words = {(before["verdict"], turn.verdict) for before, turn in zip(written, turns, strict=True)}
    assert len(words) == len({before for before, _ in words}) == len({now for _, now in words})
    assert {now for _, now in words} <= set(get_args(Verdict))


@pytest.mark.parametrize("kind", ["out-late", "out-crashed", "out-gone", "out-one-of-two"])
@pytest.mark.parametrize("schema", ["schema1", "schema2"])
def test_disqualified_seats_are_read(schema: str, kind: str) -> None:
    name = f"{schema}/{kind}.jsonl"
    (wanted,) = [line for line in lines_of(name) if line["event"] == "fell"]
    (found,) = (event for event in read_journal(FIXTURES / name) if isinstance(event, SeatDisqualified))
    assert found == SeatDisqualified(
        wanted["at_ns"], wanted["seat"], wanted["reason"], wanted.get("detail", "")
    )


@pytest.mark.usefixtures("in_fixtures")
@pytest.mark.parametrize("name", names("schema?/*.transcript") + names("schema?/*.results"))
def test_transcripts_and_results_are_as_they_were(call: Callable[..., Ended], name: str) -> None:
    command = Path(name).suffix.removeprefix(".")
    ended = call(command, Path(name).with_suffix(".jsonl"))
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == content(name).decode()


@pytest.mark.usefixtures("in_fixtures")
@pytest.mark.parametrize("schema", ["schema1", "schema2"])
def test_figures_of_tracks_are_as_they_were(call: Callable[..., Ended], schema: str) -> None:
    ended = call("gvgai results --json", f"{schema}/track.jsonl.zst")
    assert (ended.code, ended.err) == (0, "")
    found, wanted = (json.loads(text) for text in (ended.out, content(f"{schema}/track.figures.json")))
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.parametrize("name", PLANS)
def test_plans_give_the_same_schedule(
    call: Callable[..., Ended], copied: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    # A plan names the program `python`, which some systems lack.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    ended = call("tournament --dry-run", copied / "plans" / f"{name}.toml")
    assert (ended.code, ended.err) == (0, "")
    assert MATCHES[name] in ended.out


def without_prose(standings: dict[str, Any]) -> dict[str, Any]:
    """Return standings with the number of their notes, whose wording may change.

    Older versions printed no sums of what agents noted, and no reasons of disqualifications; theirs noted
    nothing. Later ones have more columns. They computed other intervals, and with them the Elo of agents that
    no result bounds on one side.
    """
    columns = json.loads(content("tournaments/benchmark.standings.json"))["rows"][0].keys()
    unbounded = any("prior" in note or "bounded on one side" in note for note in standings["notes"])
    columns -= {"elo"} if unbounded else set()
    rows = {
        part: [{name: estimate(row[name]) for name in columns} for row in standings[part]]
        for part in ("rows", "timeless")
    }
    tasks = [{name: estimate(value) for name, value in row.items()} for row in standings["tasks"]]
    found = {"noted": [], **standings, **rows, "tasks": tasks, "notes": len(standings["notes"])}
    return {name: of for name, of in found.items() if name != "disqualified"}


def estimate(value: Any) -> Any:
    """Return the value of an interval, and any other value as it is."""
    return value["value"] if isinstance(value, dict) and "value" in value else value


def recorded(standings: Any) -> Any:
    """Return recorded standings to compare with: floats within `CLOSE`, all other values exactly."""
    if isinstance(standings, dict):
        return {name: recorded(value) for name, value in standings.items()}
    if isinstance(standings, list):
        return [recorded(value) for value in standings]
    return pytest.approx(standings, rel=0, abs=CLOSE) if isinstance(standings, float) else standings


def wanted_standings(name: str) -> Any:
    """Return the recorded standings of a tournament, to compare with."""
    return recorded(without_prose(json.loads(content(f"tournaments/{name}.standings.json"))))


@pytest.mark.parametrize("name", [name for name in TOURNAMENTS if name not in INTERRUPTED])
def test_tournaments_are_shown_and_resumed(
    call: Callable[..., Ended], copied: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(copied / "inputs")  # where a plan finds the module of its agents
    folder = copied / "tournaments" / name
    wanted = wanted_standings(name)
    shown = call("results --json", folder)
    assert (shown.code, shown.err) == (0, "")
    assert without_prose(shown.data()) == wanted
    ended = call("tournament --resume --quiet --output", folder, copied / "plans" / f"{name}.toml")
    assert ended.code == 0, ended.err
    assert without_prose(call("results --json", folder).data()) == wanted


def test_matches_of_a_tournament_are_as_they_were(call: Callable[..., Ended], copied: Path) -> None:
    ended = call("results --matches --json", copied / "tournaments" / "disqualified")
    assert (ended.code, ended.err) == (0, "")
    older = json.loads(content("tournaments/disqualified.matches.json"))
    rows = ended.data()
    columns = older[0].keys()  # later versions have more
    assert [{name: row[name] for name in columns} for row in rows] == older


def test_an_interrupted_tournament_is_resumed(
    call: Callable[..., Ended], copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copied / "tournaments" / "interrupted"
    plan = copied / "plans" / "interrupted.toml"
    # A killed runner leaves its socket behind as well, which no repository can keep.
    with socket.socket(socket.AF_UNIX) as left, monkeypatch.context() as here:
        here.chdir(folder)  # the path of a socket has 107 bytes at most
        left.bind("control.sock")
    before = {path.name: path.read_bytes() for path in (folder / "journals").iterdir()}
    shown = call("results --json", folder)
    assert shown.code == 0
    wanted = wanted_standings("interrupted")
    assert without_prose(shown.data()) != wanted
    refused = call("tournament --quiet --output", folder, plan)
    assert refused.code == 2
    assert "--resume" in refused.err
    ended = call("tournament --resume --quiet --output", folder, plan)
    assert ended.code == 0
    assert without_prose(call("results --json", folder).data()) == wanted
    after = {path.name: path.read_bytes() for path in (folder / "journals").iterdir()}
    assert 0 < len(before) < len(after) == 18
    assert after.items() >= before.items()
    assert not (folder / "running").exists()


def test_a_tournament_goes_on_under_the_rules_that_its_preset_had(
    call: Callable[..., Ended], copied: Path
) -> None:
    folder, plan = copied / "tournaments" / "track-2017", copied / "plans" / "track-2017.toml"
    before = call("results --matches --json", folder).data()
    scheduled = call("tournament --dry-run --output", folder, plan)
    assert scheduled.out.count(" played") == len(before)
    ended = call("tournament --resume --quiet --output", folder, plan)
    assert (ended.code, ended.err) == (0, "")
    wanted = wanted_standings("track-2017")
    assert without_prose(call("results --json", folder).data()) == wanted
    after = call("results --matches --json", folder).data()
    assert 0 < len(before) < len(after)
    assert after[: len(before)] == before
    for journal in (folder / "journals").iterdir():
        assert call("verify", journal).code == 0, journal
    plan.write_text(plan.read_text().replace('"2s"', '"3s"'))
    refused = call("tournament --resume --quiet --output", folder, plan)
    assert refused.code == 2
    assert "training_ns" in refused.err


def test_a_changed_plan_is_refused(call: Callable[..., Ended], copied: Path) -> None:
    plan = copied / "plans" / "swiss.toml"
    plan.write_text(plan.read_text().replace("steps = 20", "steps = 21"))
    ended = call("tournament --resume --quiet --output", copied / "tournaments" / "swiss", plan)
    assert ended.code == 2
    assert "tasks.micro2.steps: was 20, is 21" in ended.err


def test_nothing_names_the_machine_that_it_was_made_on() -> None:
    for path in FIXTURES.rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            data = content(str(path.relative_to(FIXTURES)))
            for name in (b"/work", b"/root", b"/home", b"/Users", b"site-packages"):
                assert name not in data, (path, name)
