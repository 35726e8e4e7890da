"""Openings: matches of a tournament that go on from turns of recorded ones."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import tracemalloc
from collections import Counter, defaultdict
from contextlib import closing
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import attrs
import pytest
import trio

import flagfall
from flagfall.cli.tournaments.results import print_schedule
from flagfall.errors import UsageError
from flagfall.events import TaskEnded, TurnPlayed
from flagfall.recording.branching import recorded_events
from flagfall.recording.verify import verify
from flagfall.tasks.building import rebuild
from flagfall.tournament.code_folder import carry_code
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.lock_file import write_lock_file
from flagfall.tournament.merging import merge_tournaments
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.openings import MAX_OPENING_BYTES, read_opening
from flagfall.tournament.plan.fingerprint import plan_facts, plan_of_facts
from flagfall.tournament.plan.parser import load_plan, parse_plan
from flagfall.tournament.records import MatchRecord, MatchSpec
from flagfall.tournament.run.api import run_tournament
from flagfall.tournament.verification import verify_folder
from flagfall.viewer.replay.index import Index
from flagfall.viewer.replay.summary import summary_of
from flagfall.viewer.report.data import report_data
from flagfall.viewer.report.source import open_source
from tests.cli.sealed_journals import sealed
from tests.tournament import made_up
from tests.tournament.made_up import DEPEND, FORMATS, assert_same
from tests.tournament.random_results import random_record
from tests.tournament.runs import has_come_to, journal_bytes, program, stored, wait_until
from tests.tournament.test_ray_engine import ALONE, run_script, same_as_local

PLAN = """
clock = "virtual"
repeats = {repeats}
time_control = "act=1s"
{top}
[[agents]]
name = "one"
spec = "random"
[[agents]]
name = "two"
spec = "random"
{more}
[[tasks]]
task = "duel:heaps"
{openings}
"""
SOLO = """
[[tasks]]
task = "micro1"
steps = 60
openings = "solo.jsonl@23"
"""


def record(path: Path, task: str = "duel:heaps", seed: int = 0, **options: Any) -> Path:
    agents = "random" if task.startswith("micro") else ["random", "random"]
    flagfall.run(task, agents, **{"clock": "virtual", "journal": path, "seed": seed, **options})
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with three recorded games, each of four turns or more, and a match of one agent."""
    for number, name in enumerate(["c.jsonl", "a.jsonl.zst", "b.jsonl"]):
        record(tmp_path / name, seed=number)
    record(tmp_path / "solo.jsonl", "micro1", steps=40)
    return tmp_path


def plan_of(
    home: Path, repeats: int = 4, openings: str = '"[abc].jsonl*@2"', *, top: str = "", more: str = ""
) -> TournamentPlan:
    line = f"openings = {openings}" if openings else ""
    text = PLAN.format(repeats=repeats, openings=line, top=top, more=more)
    return parse_plan(text, folder=home, title="openings")


def play(plan: TournamentPlan, out: Path, **options: Any) -> dict[str, MatchRecord]:
    return trio.run(partial(run_tournament, plan, out, jobs=1, **options))


def problems_of(home: Path, openings: str, **options: Any) -> list[str]:
    with pytest.raises(UsageError) as caught:
        plan_of(home, openings=openings, **options)
    return [line.partition("openings: ")[2] for line in str(caught.value).splitlines()]


def all_specs(plan: TournamentPlan) -> list[MatchSpec]:
    """The matches of a whole tournament, with made-up results."""
    records: dict[str, MatchRecord] = {}
    specs: list[MatchSpec] = []
    while due := list(schedule(plan).due(records)):
        specs += due
        records |= {spec.id: random_record(Random(spec.id), plan, spec) for spec in due}
    return specs


def name_of(spec: MatchSpec) -> str:
    assert spec.opening is not None
    return spec.opening.name


@pytest.mark.parametrize("form", FORMATS)
def test_each_opening_is_played_equally_often_from_each_seat(home: Path, form: str) -> None:
    top = f"format = {FORMATS[form]}"
    more = "".join(f'[[agents]]\nname = "{name}"\nspec = "random"\n' for name in ("three", "four"))
    specs = all_specs(plan_of(home, repeats=3, top=top, more=more))
    meetings: defaultdict[str, list[MatchSpec]] = defaultdict(list)
    for spec in specs:
        meetings[spec.meeting].append(spec)
    for played in meetings.values():
        assert len({name_of(spec) for spec in played}) == 1
        assert [spec.entrants for spec in played] == [played[0].entrants, played[0].entrants[::-1]]
    of_pairs: defaultdict[frozenset[str], Counter[str]] = defaultdict(Counter)
    for spec in specs:
        of_pairs[frozenset(spec.entrants)][name_of(spec)] += 1
    for uses in of_pairs.values():
        assert max(uses.values()) - min(uses[name] for name in OF_PLAN) <= 2


OF_PLAN = ("a.jsonl.zst@2", "b.jsonl@2", "c.jsonl@2")


def test_openings_are_used_in_the_order_of_files_and_turns_and_around_again(home: Path) -> None:
    plan = plan_of(home, 4, '["c.jsonl@3", "./a.jsonl.zst@1", "c.jsonl@2", "a*@1"]')
    names = ["a.jsonl.zst@1", "c.jsonl@2", "c.jsonl@3"]
    assert [opening.name for opening in plan.tasks[0].openings] == names
    used = [name_of(spec) for spec in all_specs(plan)]
    assert used == [name for name in [*names, names[0]] for _ in range(2)]


@pytest.mark.parametrize("form", ["swiss", "knockout"])
def test_later_rounds_go_on_with_the_next_openings(home: Path, form: str) -> None:
    more = "".join(f'[[agents]]\nname = "{name}"\nspec = "random"\n' for name in ("three", "four"))
    specs = all_specs(plan_of(home, 1, top=f'format = "{form}"', more=more))
    rounds = {spec.round: name_of(spec) for spec in reversed(specs)}
    assert [rounds[0], rounds[1]] == list(OF_PLAN[:2])


READER = """
class Reader:
    def start(self, briefing):
        self.turns = [turn.turn for turn in briefing.transcript]

    def act(self, observation):
        return len(self.turns) if self.turns == list(range(len(self.turns))) else 0
"""


def test_a_match_goes_on_from_its_opening(home: Path) -> None:
    (home / "reader.py").write_text(READER)
    reader = '[[agents]]\nname = "reader"\nspec = "reader.py:Reader"\n'
    plan = plan_of(home, 2, more=reader + SOLO)
    out = home / "out"
    records = play(plan, out)
    for spec in schedule(plan).walk(records):
        opening = spec.opening
        assert opening is not None
        before = list(recorded_events(home / opening.file))
        after = list(recorded_events(out / str(records[spec.id].journal)))
        kept = [getattr(event, "turn", -1) for event in before].index(opening.turn)
        assert after[0].parents[-1].turn == opening.turn  # type: ignore[attr-defined]
        assert after[0].parents[-1].sha256 == opening.sha256  # type: ignore[attr-defined]
        assert [repr(event) for event in after[1:kept]] == [repr(event) for event in before[1:kept]]
        if spec.entrants == ("reader",):
            assert {event.action for event in after[kept:] if isinstance(event, TurnPlayed)} == {opening.turn}
        assert records[spec.id].turns > opening.turn
        assert sum(seat.turns for seat in records[spec.id].seats) == records[spec.id].turns - opening.turn
    found = verify_folder(out, partial(verify, rebuild=rebuild))
    assert found.problems == ()
    assert found.executed == len(records)
    index = Index(out / str(records["r0-m0-g0"].journal))
    while index.advance():
        pass
    assert summary_of(index, {})["match"]["parents"] == [{"turn": 23, "agents": ["random"]}]


class Slow:
    async def act(self, _observation: Any) -> int:
        await trio.sleep(0.03)
        return 32


def test_only_rewards_and_tasks_of_an_opening_count(tmp_path: Path) -> None:
    """Its late turns and think times are those of others."""
    control, path = "act=10ms/1s", tmp_path / "late.jsonl"
    result = flagfall.run(["micro1"], Slow(), clock="virtual", steps=400, journal=path, time_control=control)
    assert result.seats[0].stats.late == 400
    ended = [
        event for event in recorded_events(path) if isinstance(event, TaskEnded) and event.ended != "cut"
    ]
    text = SOLO.replace("steps = 60", "steps = 410").replace("solo.jsonl@23", "late.jsonl@399")
    plan = parse_plan(
        f'{text}\n[[agents]]\nspec = "random"'.replace("task =", 'time_control="act=10ms"\ntask ='),
        folder=tmp_path,
    )
    (played,) = play(attrs.evolve(plan, clock="virtual"), tmp_path / "out").values()
    (seat,) = played.seats
    assert (played.turns, seat.turns, seat.late, seat.over_ns, seat.think_ns) == (410, 11, 0, 0, 0)
    assert (played.elapsed_ns, played.tasks) == (0, len(ended))
    assert seat.reward <= -398
    assert verify_folder(tmp_path / "out").ok


@pytest.mark.release
def test_a_run_that_is_killed_goes_on_with_the_same_openings(home: Path) -> None:
    path = home / "plan.toml"
    path.write_text(PLAN.format(repeats=40, openings='openings = "[abc].jsonl*@2"', top="", more=""))
    out = home / "out"
    runner = program("tournament", path, "--output", out, "--quiet", "--jobs", 1)
    wait_until(partial(has_come_to, out, 5, runner))
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    assert len(stored(out)) < 80
    play(load_plan(path), out, resume=True)
    play(load_plan(path), home / "whole")
    assert stored(out) == stored(home / "whole")
    assert journal_bytes(out) == journal_bytes(home / "whole")


def test_what_is_no_opening_of_the_task_is_named_with_the_reason(home: Path) -> None:
    flagfall.run(
        "duel:heaps",
        ["silent", Slow()],
        clock="virtual",
        journal=home / "out.jsonl",
        time_control="act=1ms late=out",
    )
    cut = (home / "c.jsonl").read_text().replace('"action":', '"action":1', 1)
    (home / "changed.jsonl").write_text(cut)
    (home / "text.txt").write_text("act")
    (home / "long.jsonl").write_bytes((b"x" * 99_999 + b"\n") * (MAX_OPENING_BYTES // 100_000 + 1))
    header, *lines = (home / "c.jsonl").read_bytes().splitlines(keepends=True)[:-1]
    sealed(home / "seats.jsonl", header, lines[0].replace(b'"seat":0', b'"seat":7'), *lines[1:])
    os.mkfifo(home / "pipe.jsonl")
    wanted = {
        "c.jsonl": "'c.jsonl': write files and the first turn to be played",
        "c.jsonl@0": "'c.jsonl@0': write files and the first turn to be played",
        "none*@2": "'none*@2': there is no such file",
        "c.jsonl@4": "c.jsonl@4: the match is over after turn 3",
        "c.jsonl@90": "c.jsonl@90: there is no turn 90: 4 turns are recorded",
        "changed.jsonl@2": "changed.jsonl@2: line 1: the seal",
        "long.jsonl@2": f"long.jsonl@2: an opening has at most {MAX_OPENING_BYTES} bytes",
        "out.jsonl@2": "out.jsonl@2: seat 1 is disqualified before turn 2",
        "pipe.jsonl@2": "pipe.jsonl@2: cannot be read: it is not a regular file",
        "seats.jsonl@2": "seats.jsonl@2: ",
        "solo.jsonl@2": "solo.jsonl@2: its match has 1 seat, and duel:heaps has 2",
        "text.txt@2": "text.txt@2: line 1: this is not a journal",
    }
    found = problems_of(home, json.dumps([*wanted, "b.jsonl@2"]))
    counts = {text: sum(line.startswith(text) for line in found) for text in wanted.values()}
    assert counts == dict.fromkeys(wanted.values(), 1)
    assert len(list(filter(None, found))) == len(wanted)


def test_files_in_the_folder_of_the_plan_are_named_from_there(home: Path) -> None:
    plan = plan_of(home, openings=f'"{home.resolve()}/b.jsonl@2"')
    assert [str(opening) for opening in plan.tasks[0].openings] == ["b.jsonl@2"]


def test_a_match_of_another_task_or_without_a_turn_left_is_refused(home: Path) -> None:
    record(home / "lamps.jsonl", "duel:lamps", steps=20)
    (other,) = filter(None, problems_of(home, '"lamps.jsonl@2"'))
    assert 'task: expected "duel:heaps", found "duel:lamps"' in other
    (late,) = filter(None, problems_of(home, '"c.jsonl@2"\nsteps = 2'))
    assert "no turn is left from turn 2 on, with steps = 2" in late
    path = home / "slow.jsonl"
    flagfall.run("micro1", Slow(), clock="virtual", steps=9, journal=path)
    more = SOLO.replace("solo.jsonl@23", "slow.jsonl@8") + 'time_control = "act=1s total=200ms"'
    (used,) = filter(None, problems_of(home, '"c.jsonl@2"', more=more))
    assert "before turn 8, seat 0 uses up its time of" in used


def test_a_file_that_names_modules_imports_none(tmp_path: Path) -> None:
    path = record(tmp_path / "own.jsonl", "micro1", steps=9)
    header, *lines = path.read_bytes().splitlines(keepends=True)[:-1]
    sealed(path, header.replace(b'"micro1"', b'"evil.py:Task"'), *lines)
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    plan = parse_plan(
        SOLO.replace("solo.jsonl@23", "own.jsonl@4") + '[[agents]]\nspec = "random"', folder=tmp_path
    )
    assert plan.tasks[0].openings[0].turn == 4


def test_no_sandbox_shows_an_opening(home: Path) -> None:
    (home / "shown").mkdir()
    record(home / "shown/d.jsonl")
    show = f'isolation = "sandbox"\nhost = "process"\nshow = "{home}/shown"'
    text = PLAN.format(repeats=1, openings='openings = "shown/d.jsonl@2"', top="", more=show)
    plan = parse_plan(text.replace('clock = "virtual"', ""), folder=home)
    with pytest.raises(UsageError, match="a sandbox must not show"):
        play(plan, home / "out")


def test_a_changed_file_is_refused_by_name(home: Path) -> None:
    out = home / "out"
    made_up.play(plan_of(home), out)
    record(home / "b.jsonl", seed=9)
    with pytest.raises(UsageError) as caught:
        made_up.play(plan_of(home), out)
    told = str(caught.value)
    assert "tasks.duel:heaps.openings.b.jsonl@2: was" in told
    assert "recorded matches found in the new schedule: 6" in told
    assert "2 matches not in the new schedule: r1-m0-g0, r1-m0-g1" in told
    before = stored(out)
    made_up.play(plan_of(home), out, set_aside=True)
    assert stored(out / "former-1") == before
    made_up.play(plan_of(home), home / "whole")
    assert_same(out, home / "whole", plan_of(home))


def test_a_renamed_file_is_the_same_opening(home: Path) -> None:
    made_up.play(plan_of(home), home / "out")
    (home / "b.jsonl").rename(home / "bb.jsonl")
    plan = plan_of(home, openings='["[ac].jsonl*@2", "bb.jsonl@2"]')
    assert made_up.play(plan, home / "out") == []


def test_a_file_that_changes_while_the_plan_is_read_is_not_played(home: Path) -> None:
    plan = plan_of(home)
    record(home / "b.jsonl", seed=9)
    with pytest.raises(UsageError, match=r"b\.jsonl has changed since the plan was read"):
        carry_code(plan, home)


def test_the_folder_carries_the_journals(home: Path) -> None:
    plan = plan_of(home)
    made_up.play(plan, home / "out")
    for opening in plan.tasks[0].openings:
        carried = home / "out/code" / opening.sha256
        assert sha256(carried.read_bytes()).hexdigest() == opening.sha256
        assert [*map(repr, recorded_events(carried))] == [*map(repr, recorded_events(home / opening.file))]


@pytest.mark.parametrize("form", sorted(set(FORMATS) - DEPEND))
def test_a_tournament_that_has_grown_is_as_if_from_the_start(home: Path, form: str) -> None:
    top = f"format = {FORMATS[form]}"
    three = '[[agents]]\nname = "three"\nspec = "random"'
    before, after = plan_of(home, 2, top=top), plan_of(home, 5, top=top, more=three)
    made_up.play(before, home / "out")
    made_up.play(after, home / "out")
    made_up.play(after, home / "whole")
    assert_same(home / "out", home / "whole", after)


def test_a_stored_plan_has_the_openings(home: Path) -> None:
    plan = plan_of(home, openings='["[abc].jsonl*@2", "c.jsonl@3"]')
    facts = plan_facts(plan)
    read = plan_of_facts("openings", plan.seed, json.loads(json.dumps(facts)))
    assert read.tasks[0].openings == plan.tasks[0].openings
    assert all_specs(read) == all_specs(plan)
    place = "tasks.duel:heaps.openings"
    for key, damage in {
        f"{place}.b.jsonl@2": "../../etc/passwd",
        place: '["b.jsonl"]',
        f"{place} ": "",
    }.items():
        damaged = facts | {key: damage}
        if key.endswith(" "):
            del damaged[f"{place}.b.jsonl@2"]
        with pytest.raises(UsageError, match="stored plan cannot be read"):
            plan_of_facts("openings", 0, damaged)


def test_verification_names_a_match_that_begins_elsewhere(home: Path) -> None:
    plan, out = plan_of(home), home / "out"
    play(plan, out)
    first, second, _ = (opening.sha256 for opening in plan.tasks[0].openings)
    with closing(sqlite3.connect(out / "tournament.db")) as database, database:
        database.execute("UPDATE about SET value = replace(value, ?, ?)", (second, "0" * 64))
    write_lock_file(out)
    found = {problem.path: problem.what for problem in verify_folder(out).problems}
    wanted = "it does not begin at opening b.jsonl@2, as match r1-m0-g{} does in the schedule"
    suffix = next((out / "journals").iterdir()).name.partition(".")[2]
    assert found == {f"journals/r1-m0-g{game}.{suffix}": wanted.format(game) for game in (0, 1)}
    record(out / "other.jsonl", seed=7).rename(out / "code" / first)
    write_lock_file(out)
    more = {problem.path: problem.what for problem in verify_folder(out).problems}
    named = {path for path, what in more.items() if what == "its first 2 turns are not those of its opening"}
    assert named == {f"journals/{name}.{suffix}" for name in ("r0-m0-g0", "r0-m0-g1", "r3-m0-g0", "r3-m0-g1")}
    assert f"code/{first}" in more
    bare = json.dumps(plan_facts(plan_of(home, openings="")))
    with closing(sqlite3.connect(out / "tournament.db")) as database, database:
        database.execute("UPDATE about SET value = ? WHERE name = 'facts'", (bare,))
    write_lock_file(out)
    what = {problem.what.partition(",")[0] for problem in verify_folder(out).problems}
    assert "it does not begin at the beginning of its task" in what


def test_report_and_schedule_show_the_openings(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, out = plan_of(home), home / "out"
    made_up.play(plan, out)
    with open_source(out) as source:
        data = report_data(source)
    assert {row["match"]: row["opening"] for row in data["matches"]["rows"]}["r1-m0-g1"] == "b.jsonl@2"
    assert ["Openings", "3 of duel:heaps"] in data["facts"]
    print_schedule(plan, out, None)
    shown = capsys.readouterr().out
    assert "openings of duel:heaps: 3, each for 2 to 4 matches" in shown
    assert shown.count("a.jsonl.zst@2") == 4


@pytest.mark.release
@pytest.mark.skipif(find_spec("ray") is None, reason="the extra ray is not installed")
def test_ray_plays_the_same_and_openings_reach_its_workers(home: Path) -> None:
    plan = home / "plan.toml"
    plan.write_text(PLAN.format(repeats=6, openings='openings = "[abc].jsonl*@2"', top="", more=""))
    run_script(ALONE, plan, home / "out")
    same_as_local(plan, home / "out", home / "local")


def test_parts_are_merged_with_the_openings(home: Path) -> None:
    plan = plan_of(home)
    parts = [home / "part1", home / "part2"]
    for number, folder in enumerate(parts, 1):
        made_up.play(plan, folder, part=f"{number}/2")
    merge_tournaments(parts, home / "merged")
    made_up.play(plan, home / "whole")
    assert stored(home / "merged") == stored(home / "whole")
    carried = [path.name for path in (home / "merged/code").iterdir()]
    assert sorted(carried) == sorted(opening.sha256 for opening in plan.tasks[0].openings)


def test_an_opening_of_many_short_lines_takes_little_memory(tmp_path: Path):
    file = tmp_path / "lines.jsonl"
    file.write_bytes(b"\n" * 200_000)
    tracemalloc.start()
    try:
        assert read_opening(file) == file.read_bytes()
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
