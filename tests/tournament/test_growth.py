"""A tournament whose plan has changed: what it has played counts for the plan that it has now."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flagfall.errors import UsageError
from flagfall.tournament import blocks
from flagfall.tournament.folder import journal_path
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import TournamentPlan
from flagfall.tournament.records import MatchRecord, SeatRecord
from flagfall.tournament.standings import compute_standings, stored_standings
from flagfall.tournament.store import Store
from flagfall.viewer.live.folder_reader import FolderReader
from tests.tournament.made_up import FORMATS, FOUR, assert_same, plan, play, tree
from tests.tournament.runs import journal_bytes, stored

GROWN = {
    "an agent": plan(agents=FOUR),
    "an agent in front": plan(agents=("four", "one", "two", "three")),
    "a task": plan(tasks=("micro1", "micro2", "duel:heaps")),
    "repeats": plan(repeats=3),
    "all": plan(agents=FOUR, tasks=("micro2", "duel:heaps", "micro1"), repeats=3),
    "another format": plan("benchmark", agents=FOUR),
    "a bound": plan(more="[stop]\nmatches = 50\n"),
}


@pytest.mark.parametrize("what", GROWN)
@pytest.mark.parametrize("matches", [9, 100])
def test_a_tournament_that_has_grown_is_as_if_from_the_start(tmp_path: Path, what: str, matches: int) -> None:
    before, after = plan(more=f"[stop]\nmatches = {matches}\n"), GROWN[what]
    first = play(before, tmp_path / "grown")
    told: list[str] = []
    new = play(after, tmp_path / "grown", warn=told.append)
    whole = play(after, tmp_path / "whole")
    assert len(new) == len(whole) - len(first)
    assert f"the plan has changed: recorded matches found in the new schedule: {len(first)}" in told
    assert_same(tmp_path / "grown", tmp_path / "whole", after)


CHANGED = {
    "no agent three": (plan(agents=("one", "two")), r"10 matches not in the new schedule: r\d"),
    "no micro1": (plan(tasks=("duel:heaps",)), "6 matches not in the new schedule: "),
    "one repeat": (plan(repeats=1), "9 matches not in the new schedule: "),
    "another seed": (plan(more="seed = 1"), "18 matches not in the new schedule: "),
    "another agent two": (
        plan(agents={"one": "random", "two": "learner", "three": "random"}, tasks=("micro1", "duel:heaps")),
        r"10 matches with other settings of agent two: ",
    ),
    "another clock": (plan(clock="wall"), "12 matches with other settings of task duel:heaps: "),
    "fewer matches": (
        plan(more="[stop]\nmatches = 15"),
        r"3 matches not in the new schedule: (r\d-m\d-g\d, ){2}r",
    ),
}


@pytest.mark.parametrize("what", CHANGED)
def test_matches_without_a_place_are_named_and_nothing_is_changed(tmp_path: Path, what: str) -> None:
    play(plan(), tmp_path / "out")
    before = tree(tmp_path / "out")
    changed, told = CHANGED[what]
    with pytest.raises(UsageError, match=told):
        play(changed, tmp_path / "out")
    assert tree(tmp_path / "out") == before


@pytest.mark.parametrize("what", CHANGED)
def test_matches_without_a_place_are_set_aside_and_kept(tmp_path: Path, what: str) -> None:
    play(plan(), tmp_path / "out")
    before, journals = stored(tmp_path / "out"), journal_bytes(tmp_path / "out")
    changed, _ = CHANGED[what]
    play(changed, tmp_path / "out", set_aside=True)
    former = tmp_path / "out" / "former-1"
    assert stored(former) == before
    assert journal_bytes(former) == journals
    if changed.clock == "virtual":
        play(changed, tmp_path / "whole")
        assert_same(tmp_path / "out", tmp_path / "whole", changed)
    with closing(Store(former)) as store:
        assert stored_standings(store, plan()) == compute_standings(plan(), before)
    play(plan(), tmp_path / "out", set_aside=True)
    with closing(Store(tmp_path / "out")) as store:
        kept = [one.get("kept") for one in store.former()]
    assert kept == ["former-1", "former-2" if changed.clock == "wall" or "another" in what else None]


@pytest.mark.parametrize("form", ["swiss", "knockout"])
def test_pairings_that_depend_on_new_matches_are_not_taken_for_granted(tmp_path: Path, form: str) -> None:
    """With one repeat more, the encounters of the first round are open again, and so are later pairings."""
    before, after = plan(form, FOUR), plan(form, FOUR, repeats=3)
    whole = play(before, tmp_path / "out")
    later = sum(not (record.id.startswith("r0-") and "-m0." in record.id) for record in whole)
    with pytest.raises(UsageError, match=f"{later} matches not in the new schedule as far as it is known"):
        play(after, tmp_path / "out")
    new = play(after, tmp_path / "out", set_aside=True)
    found = play(after, tmp_path / "whole")
    assert len(new) == len(found) - (len(whole) - later)
    assert_same(tmp_path / "out", tmp_path / "whole", after)


@pytest.mark.parametrize("form", ["swiss", "knockout"])
def test_an_agent_comes_into_pairings_before_they_are_decided(tmp_path: Path, form: str) -> None:
    """In the first round of a knockout of three the first agent has a bye, and meets the fourth one now."""
    before, after = plan(form), plan(form, FOUR)
    whole = play(before, tmp_path / "out")
    with pytest.raises(UsageError, match="matches not in the new schedule as far as it is known"):
        play(after, tmp_path / "out")
    new = play(after, tmp_path / "out", set_aside=True)
    found = play(after, tmp_path / "whole")
    assert len(found) - len(whole) < len(new) <= len(found)
    assert_same(tmp_path / "out", tmp_path / "whole", after)


def test_games_of_a_meeting_are_found_among_more_seatings(tmp_path: Path) -> None:
    def seated(seatings: Literal["cyclic", "all"]) -> TournamentPlan:
        shared = plan("benchmark")
        task = attrs.evolve(shared.tasks[0], seats=3, seatings=seatings)
        return attrs.evolve(shared, tasks=(task,))

    assert len(play(seated("cyclic"), tmp_path / "out")) == 6
    assert len(play(seated("all"), tmp_path / "out")) == 6
    play(seated("all"), tmp_path / "whole")
    assert_same(tmp_path / "out", tmp_path / "whole", seated("all"))


KILLED = {
    "an agent in front": (
        plan("benchmark", FOUR[:3], ("micro1",), 1),
        plan("benchmark", FOUR[::-1], ("micro1",), 1),
    ),
    "no agent one": (
        plan("benchmark", FOUR[:3], ("micro1",), 1),
        plan("benchmark", FOUR[1:], ("micro1",), 1),
    ),
}

KILLS_ITSELF = """
import os, signal, sys
from pathlib import Path
from tests.tournament.made_up import play
from tests.tournament.test_growth import KILLED

def count(event, _arguments):
    global left
    if event in {"os.link", "os.remove", "os.rename"}:
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

for out in map(str.strip, sys.stdin):
    left = int(Path(out).name)
    pid = os.fork()
    if not pid:
        sys.addaudithook(count)
        play(KILLED[sys.argv[1]][1], Path(out), 0, set_aside=True)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""
"""For each folder a fork of the program, which is killed before so many operations as its name says."""


@pytest.mark.release
@pytest.mark.parametrize("what", KILLED)
def test_wherever_it_is_killed_the_tournament_is_the_old_or_the_new_one(tmp_path: Path, what: str) -> None:
    before, after = KILLED[what]
    play(before, tmp_path / "begun")
    play(after, tmp_path / "whole")
    seen = set()
    words = [sys.executable, "-c", KILLS_ITSELF, what]
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        words, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        for kills in count():
            out = tmp_path / str(kills)
            shutil.copytree(tmp_path / "begun", out)
            print(out, file=program.stdin, flush=True)
            code = int(program.stdout.readline())
            assert code in {0, -signal.SIGKILL}
            seen.add(check_whole(out))
            play(after, out, set_aside=True)
            assert_same(out, tmp_path / "whole", after)
            if code == 0:
                break
    assert kills > 15
    assert seen == {" ".join(agent.name for agent in one.agents) for one in (before, after)}


def check_whole(folder: Path) -> str:
    """Check that the rows of a folder fit its plan and name the right journals; return its agents."""
    with closing(Store(folder)) as store:
        found = store.plan()
        assert found is not None
        shown = found.for_display()
        for spec, record in schedule(shown).played(store.played(shown)):
            journal = journal_path(folder, record.journal)
            assert journal is not None
            assert journal.read_text() == f"{spec.task} {spec.entrants} {spec.seed}"
    return found.facts["agents"]


def test_names_of_journals_that_lead_elsewhere_are_left_alone(tmp_path: Path) -> None:
    before, after = KILLED["an agent in front"]
    play(before, tmp_path / "out")
    (tmp_path / "mine").write_text("mine")
    names = ["../mine", f"{tmp_path}/mine", "journals/../../mine"]
    with closing(sqlite3.connect(tmp_path / "out" / "tournament.db")) as database:
        for number, name in enumerate(names, 1):
            database.execute("UPDATE matches SET journal = ? WHERE number = ?", (name, number))
        database.commit()
    play(after, tmp_path / "out")
    assert {record.journal for record in stored(tmp_path / "out").values()} >= set(names)
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_match_whose_journal_is_gone_gets_none_of_another_one(tmp_path: Path) -> None:
    before, after = KILLED["an agent in front"]
    play(before, tmp_path / "out")
    for journal in (tmp_path / "out" / "journals").iterdir():
        journal.unlink()
    played = set(stored(tmp_path / "out"))
    assert len(play(after, tmp_path / "out")) == 1
    there = {
        record.id
        for record in stored(tmp_path / "out").values()
        if (tmp_path / "out" / str(record.journal)).exists()
    }
    assert len(there) == 1
    assert len(played) == 3


def test_journals_of_matches_that_were_not_recorded_are_none_of_the_grown_tournament(tmp_path: Path) -> None:
    """A run that is killed may leave such a journal, and its id may become that of another match."""
    play(plan(), tmp_path / "out", 9)
    names = ["r5-m0-g0.jsonl", "r0-m9-g0.void2.jsonl.zst", "r1-p0-m0.1-g1.jsonl", "notes.txt", "r-mine.jsonl"]
    for name in names:
        (tmp_path / "out" / "journals" / name).write_text("left")
    play(plan(agents=FOUR[::-1]), tmp_path / "out", 0)
    left = {path.name for path in (tmp_path / "out" / "journals").iterdir() if path.read_text() == "left"}
    assert left == {"notes.txt", "r-mine.jsonl"}


def test_void_attempts_keep_to_their_match(tmp_path: Path) -> None:
    before, after = plan(), plan(agents=FOUR[::-1])
    play(before, tmp_path / "out", 5)
    spec = list(schedule(before).due(stored(tmp_path / "out")))[3]
    seats = tuple(SeatRecord(agent=agent, score=0.0) for agent in spec.entrants)
    file = tmp_path / "out" / "journals" / f"{spec.id}.void1.jsonl"
    file.write_text("void")
    with closing(Store(tmp_path / "out", "make")) as store:
        journal = f"journals/{file.name}"
        store.put(MatchRecord(id=spec.id, status="void", why="stall: x", seats=seats, journal=journal))
    play(after, tmp_path / "out", 0)
    with closing(Store(tmp_path / "out")) as store:
        (void,) = [record for record in store.records() if record.status == "void"]
    (found,) = [one for one in schedule(after).walk({}) if one.id == void.id]
    assert (found.task, found.entrants, found.seed) == (spec.task, spec.entrants, spec.seed)
    assert void.journal == f"journals/{void.id}.void1.jsonl"
    assert (tmp_path / "out" / void.journal).read_text() == "void"


def test_blocks_are_those_of_the_grown_tournament(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_MATCHES", 8)
    play(plan(), tmp_path / "out")
    with closing(Store(tmp_path / "out")) as store:
        assert store.columns(plan()) is not None
    after = plan(agents=FOUR[::-1])
    play(after, tmp_path / "out")
    with closing(Store(tmp_path / "out")) as store:
        assert store.columns(after) is not None
        assert stored_standings(store, after) == compute_standings(after, store.played())


def test_former_plans_can_be_read(tmp_path: Path) -> None:
    play(plan(), tmp_path)
    play(plan(repeats=3), tmp_path)
    play(plan(repeats=4), tmp_path)
    with closing(Store(tmp_path)) as store:
        assert [one["facts"]["repeats"] for one in store.former()] == ["2", "3"]
        assert [one["text"] for one in store.former()] == [plan().text, plan(repeats=3).text]
    with closing(sqlite3.connect(tmp_path / "tournament.db")) as database:
        database.execute("UPDATE about SET value = '[7]' WHERE name = 'former'")
        database.commit()
    with pytest.raises(UsageError, match="its former plans cannot be read"):
        play(plan(repeats=5), tmp_path)


def test_a_running_page_shows_the_grown_tournament(tmp_path: Path) -> None:
    play(plan(), tmp_path)
    reader = FolderReader(tmp_path)
    assert reader.read()[0].total == 18
    play(plan(agents=FOUR[::-1]), tmp_path, 0)
    view, _ = reader.read()
    assert (view.total, view.played) == (32, 18)
    reader.close()


@given(
    form=st.sampled_from(sorted(FORMATS)),
    sizes=st.lists(
        st.tuples(st.permutations(FOUR), st.integers(2, 4), st.integers(1, 3)), min_size=2, max_size=4
    ),
    shares=st.lists(st.integers(0, 40), min_size=4, max_size=4),
    falls=st.sampled_from(["", "[stop]\nfalls = 2\n"]),
)
@settings(deadline=None, max_examples=20)
def test_any_changes_lead_to_the_tournament_from_the_start(
    form: str, sizes: list[tuple[list[str], int, int]], shares: list[int], falls: str
) -> None:
    more = "" if form == "knockout" else falls
    plans = [
        plan(form, tuple(dict.fromkeys([*names[:number], "one"])), repeats=repeats, more=more)
        for names, number, repeats in sizes
    ]
    with TemporaryDirectory() as name:
        for changed, most in zip(plans[:-1], shares, strict=False):
            play(changed, Path(name) / "grown", most, set_aside=True)
        play(plans[-1], Path(name) / "grown", set_aside=True)
        play(plans[-1], Path(name) / "whole")
        assert_same(Path(name) / "grown", Path(name) / "whole", plans[-1])
