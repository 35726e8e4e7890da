"""Merging the folders of several machines: as if one machine had played it all, or nothing is written."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from flagfall.errors import UsageError
from flagfall.tournament.folder import Lock
from flagfall.tournament.formats.schedule import Part, schedule
from flagfall.tournament.merging import Merged, merge_tournaments
from flagfall.tournament.records import MatchRecord
from flagfall.tournament.store import Store
from tests.tournament.made_up import FOUR, assert_same, plan, play, tree
from tests.tournament.runs import stored

FIXED = ["benchmark", "round-robin", "gauntlet"]


@pytest.mark.parametrize("form", FIXED)
@pytest.mark.parametrize("parts", [1, 2, 3, 5])
def test_parts_have_each_match_once_in_whole_meetings(form: str, parts: int) -> None:
    whole = plan(form, FOUR, repeats=7)
    of_parts = [list(schedule(whole, Part(number, parts)).walk({})) for number in range(1, parts + 1)]
    specs = list(schedule(whole).walk({}))
    assert sorted(spec.id for part in of_parts for spec in part) == sorted(spec.id for spec in specs)
    meetings = [{spec.meeting for spec in part} for part in of_parts]
    assert sum(map(len, meetings)) == len({spec.meeting for spec in specs})
    assert max(map(len, meetings)) - min(map(len, meetings)) <= 1
    if parts == 2:  # as many as tasks, and the benchmark has them in turn
        assert all(len(Counter(spec.task for spec in part)) == 2 for part in of_parts)


@pytest.mark.parametrize("form", FIXED)
def test_merged_parts_are_the_whole_tournament(tmp_path: Path, form: str) -> None:
    whole = plan(form, FOUR)
    folders = [tmp_path / f"part{number}" for number in (1, 2, 3)]
    for number, folder in enumerate(folders, 1):
        play(whole, folder, part=f"{number}/3")
    before = [tree(folder) for folder in folders]
    merged = merge_tournaments(folders, tmp_path / "merged")
    play(whole, tmp_path / "whole")
    assert_same(tmp_path / "merged", tmp_path / "whole", whole)
    assert merged == Merged(played=len(stored(tmp_path / "whole")), shared=0, void=0, missing=0)
    assert [tree(folder) for folder in folders] == before
    assert play(whole, tmp_path / "merged") == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["merged", "part1", "part2", "part3", "whole"]


def test_a_merged_tournament_goes_on_and_grows(tmp_path: Path) -> None:
    for number in (1, 3):
        play(plan(), tmp_path / str(number), part=f"{number}/3")
    merge_tournaments([tmp_path / "1", tmp_path / "3"], tmp_path / "merged")
    after = plan(agents=FOUR)
    play(after, tmp_path / "merged")
    play(after, tmp_path / "whole")
    assert_same(tmp_path / "merged", tmp_path / "whole", after)


def test_other_formats_have_no_parts() -> None:
    for depending in (plan("swiss"), plan("knockout"), plan(more="[stop]\nfalls = 1\n")):
        with pytest.raises(UsageError, match="part 1/2: the matches of this plan depend on results"):
            Part.parse("1/2", depending)
    for text in ("0/2", "3/2", "1", "1/", "a/b", "-1/2", "1/2/3", "\u0661/\u0662", "1/0", ""):
        with pytest.raises(UsageError, match="write its number and how many there are, such as 1/3"):
            Part.parse(text, plan())


@pytest.mark.parametrize("form", ["round-robin", "swiss", "knockout"])
def test_a_match_in_several_folders_counts_once(tmp_path: Path, form: str) -> None:
    play(plan(form, FOUR), tmp_path / "a", 30)
    play(plan(form, FOUR), tmp_path / "b", 20)
    merged = merge_tournaments([tmp_path / "b", tmp_path / "a"], tmp_path / "merged")
    assert (merged.played, merged.shared) == (len(stored(tmp_path / "a")), 20)
    assert_same(tmp_path / "merged", tmp_path / "a", plan(form, FOUR))


def test_different_results_are_refused_or_those_of_the_first_folder_count(tmp_path: Path) -> None:
    play(plan(), tmp_path / "a", 12)
    play(plan(), tmp_path / "b", salt="another machine")
    with pytest.raises(
        UsageError, match=r"match r0-m0-g0 has different results in .*a and .*b: with --prefer-"
    ):
        merge_tournaments([tmp_path / "a", tmp_path / "b"], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()
    merged = merge_tournaments([tmp_path / "a", tmp_path / "b"], tmp_path / "merged", prefer_first=True)
    first, other, found = (stored(tmp_path / name) for name in ("a", "b", "merged"))
    assert found == other | first
    assert (merged.played, merged.shared) == (18, 12)
    with closing(Store(tmp_path / "merged")) as store:
        void = {record.id: record for record in store.records() if record.status == "void"}
    assert 0 < merged.void == len(void)
    for record in void.values():
        assert (record.attempt, record.why) == (1, "merged: the result of a counts")
        assert record.seats == other[record.id].seats
        assert (tmp_path / "merged" / str(record.journal)).is_file()
    for name, record in found.items():
        with closing(Store(tmp_path / "merged")) as store:
            assert store.played()[name].attempt == 1 + (name in void)
        assert (tmp_path / "merged" / str(record.journal)).is_file()


def test_results_that_lead_to_other_pairings_do_not_fit_together(tmp_path: Path) -> None:
    folders = [tmp_path / salt for salt in "abcdef"]
    for folder in folders:
        play(plan("swiss", FOUR), folder, salt=folder.name)
    with pytest.raises(UsageError, match="do not fit together: other agents meet in match r1-p0-"):
        merge_tournaments(folders, tmp_path / "merged", prefer_first=True)
    play(plan("swiss", FOUR), tmp_path / "begun", 16, salt="g")
    with pytest.raises(UsageError, match="the folders do not fit together: match r1-"):
        merge_tournaments([tmp_path / "begun", *folders[:1]], tmp_path / "merged", prefer_first=True)
    assert not (tmp_path / "merged").exists()


def test_void_attempts_of_all_folders_are_kept(tmp_path: Path) -> None:
    """The last two folders have one in common, as copies have."""
    wanted = []
    for most, (name, reasons) in enumerate({"a": "xx", "b": "yz", "c": "yw"}.items()):
        play(plan(), tmp_path / name, 6 * most)
        with closing(Store(tmp_path / name, "make")) as store:
            for attempt, why in enumerate(reasons, 11):
                journal = f"journals/r1-m0-g0.void{attempt}.jsonl"
                (tmp_path / name / journal).write_text(f"{name} {attempt}")
                store.put(
                    MatchRecord(id="r1-m0-g0", attempt=attempt, status="void", why=why, journal=journal)
                )
                wanted.append((why, f"{name} {attempt}"))
    wanted.remove(("y", "c 11"))
    merge_tournaments([tmp_path / name for name in "abc"], tmp_path / "merged")
    with closing(Store(tmp_path / "merged")) as store:
        *void, last = [record for record in store.records() if record.id == "r1-m0-g0"]
    found = [(one.why, (tmp_path / "merged" / str(one.journal)).read_text()) for one in void]
    assert found == wanted
    assert [(one.attempt, one.status) for one in void] == [(number, "void") for number in range(1, 6)]
    assert (last.attempt, last.status) == (6, "played")


def damage(folder: Path, statement: str, number: int | None = None) -> None:
    """Change a database, or one match in it."""
    with closing(sqlite3.connect(folder / "tournament.db")) as database:
        database.execute(f"{statement} WHERE number = {number}" if number else statement)
        database.commit()


REPEATS = '"repeats": "'
BAD = {
    "no tournament": (lambda folder: (folder / "tournament.db").unlink(), "holds no tournament"),
    "not a database": (lambda folder: (folder / "tournament.db").write_bytes(b"x" * 5000), "is damaged"),
    "another match": (
        lambda folder: damage(folder, "UPDATE matches SET id = 'r9-m9-g9' WHERE number = 1"),
        "r9-m9-g9",
    ),
    "another score": (lambda folder: damage(folder, "UPDATE seats SET score = 0.3"), "scores do not follow"),
    "no plan": (lambda folder: damage(folder, "DELETE FROM about"), "has not begun"),
    "another plan": (
        lambda folder: damage(
            folder, 'UPDATE about SET value = replace(value, \'"repeats": "2"\', \'"repeats": "3"\')'
        ),
        "have different plans: repeats: was 2, is 3. First go on with the same plan in both",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_folders_are_refused_in_one_line_before_anything_is_written(tmp_path: Path, what: str) -> None:
    play(plan(), tmp_path / "a", part="1/2")
    play(plan(), tmp_path / "b", part="2/2")
    harm, told = BAD[what]
    harm(tmp_path / "b")
    with pytest.raises(UsageError, match=told) as refused:
        merge_tournaments([tmp_path / "a", tmp_path / "b"], tmp_path / "merged")
    assert "\n" not in str(refused.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_a_running_tournament_and_a_folder_in_use_are_refused(tmp_path: Path) -> None:
    play(plan(), tmp_path / "a", part="1/2")
    play(plan(), tmp_path / "b", part="2/2")
    with closing(Lock(tmp_path / "b")), pytest.raises(UsageError, match="is in use by a run"):
        merge_tournaments([tmp_path / "a", tmp_path / "b"], tmp_path / "merged")
    (tmp_path / "merged").mkdir()
    (tmp_path / "merged" / "mine").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for taken in ("merged", "a", "a/plan.toml", "link"):
        with pytest.raises(UsageError, match="exists already: name a new folder with --output"):
            merge_tournaments([tmp_path / "a", tmp_path / "b"], tmp_path / taken)
    (tmp_path / "merged" / "mine").unlink()
    merge_tournaments([tmp_path / "a", tmp_path / "b"], tmp_path / "merged")


def test_no_file_outside_of_the_folders_gets_into_the_merged_one(tmp_path: Path) -> None:
    play(plan(), tmp_path / "a", part="1/2")
    play(plan(), tmp_path / "b", part="2/2")
    (tmp_path / "secret").write_text("secret")
    records = list(stored(tmp_path / "b").values())
    link = tmp_path / "b" / str(records[0].journal)
    link.unlink()
    link.symlink_to(tmp_path / "secret")
    damage(tmp_path / "b", "UPDATE matches SET journal = '../secret'", 2)
    with closing(Store(tmp_path / "b", "make")) as store:
        journal = records[2].journal
        store.put(MatchRecord(id="../../escaped", status="void", why="x", journal=journal))
    merged = merge_tournaments([tmp_path / "a", tmp_path / "b"], tmp_path / "merged")
    assert merged.missing == 3
    assert all(b"secret" not in content for content in tree(tmp_path / "merged").values())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "merged", "secret"]


KILLED = """
import os, signal, sys
from pathlib import Path
from flagfall.tournament.merging import merge_tournaments

def count(event, _arguments):
    global left
    if event == "shutil.copyfile":
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

left = 5
sys.addaudithook(count)
merge_tournaments([Path("a"), Path("b")], Path("merged"))
"""


def test_a_killed_merge_leaves_no_folder(tmp_path: Path) -> None:
    play(plan(), tmp_path / "a", part="1/2")
    play(plan(), tmp_path / "b", part="2/2")
    assert subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, check=False).returncode == -9
    assert not (tmp_path / "merged").exists()
    merge_tournaments([tmp_path / "a", tmp_path / "b"], tmp_path / "merged")
    assert len(stored(tmp_path / "merged")) == 18
