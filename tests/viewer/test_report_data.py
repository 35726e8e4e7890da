"""The data of a report: equal to what the store and the journals hold, for every format, bounded in size."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import attrs
import msgspec
import numpy as np
import pytest

from flagfall.errors import UsageError
from flagfall.events import TaskEnded
from flagfall.recording.journal.reader import read_journal
from flagfall.tournament import excerpts
from flagfall.tournament.columns import columns_of
from flagfall.tournament.folder import Lock, is_held, journal_path
from flagfall.tournament.formats.fixed_rounds import Benchmark, RoundRobin
from flagfall.tournament.formats.schedule import schedule
from flagfall.tournament.model import SprtRule, Stop, TournamentPlan
from flagfall.tournament.plan.fingerprint import plan_facts, plan_of_facts
from flagfall.tournament.plan.parser import parse_plan
from flagfall.tournament.records import MatchRecord
from flagfall.tournament.standings import compute_standings
from flagfall.tournament.stats.differences import Comparisons
from flagfall.tournament.tables import AgentTable
from flagfall.tournament.what_if import study_folder
from flagfall.viewer.report import comparisons
from flagfall.viewer.report import data as matches
from flagfall.viewer.report import source as journals
from flagfall.viewer.report.data import report_data
from flagfall.viewer.report.source import JournalReader, open_source
from tests.tournament.fields import make_plan, names, task
from tests.tournament.random_results import PLANS, random_record, results_of
from tests.viewer.tournaments import HOSTILE, LEARNING, SLEEPING, play, play_crashing, play_sleeping, store

SPRT = make_plan(2, RoundRobin(), repeats=20, stop=Stop(sprt=SprtRule(agents=("a0", "a1"))))
ALL = {**PLANS, "sprt": SPRT}


def data_of(folder: Path, **options: Any) -> dict[str, Any]:
    with open_source(folder) as source:
        data = report_data(source, **options)
    return msgspec.json.decode(msgspec.json.encode(data), type=dict[str, Any])


def comparisons_of(plan: TournamentPlan, records: dict[str, MatchRecord]) -> Comparisons:
    table = AgentTable(plan, columns_of(plan, schedule(plan).played(records)))
    return Comparisons(plan, table.results, table.duels, table.elo)


@pytest.fixture(scope="module")
def learning(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return play(LEARNING, tmp_path_factory.mktemp("learning"))


@pytest.fixture(scope="module")
def crashing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return play_crashing(tmp_path_factory.mktemp("crashing"))


@pytest.mark.parametrize("share", [1.0, 0.4])
@pytest.mark.parametrize("name", ALL)
def test_standings_of_every_format_are_those_of_the_results(tmp_path: Path, name: str, share: float) -> None:
    plan = ALL[name]
    records = results_of(plan, 3, share)
    if share < 1:
        records = dict(list(records.items())[: len(records) // 3])
    folder = store(tmp_path, plan, records.values())
    data = data_of(folder)
    stands = compute_standings(plan, records)
    wanted = json.loads(msgspec.json.encode(stands.as_data()))
    assert data["standings"] == wanted["rows"]
    assert data["sprt"] == wanted["sprt"]
    assert data["agents"] == [row["agent"] for row in wanted["rows"]]
    assert [(row["matches"], row["score"]) for row in data["task_rows"]] == [
        (row["matches"], row["score"]) for row in wanted["tasks"]
    ]
    assert data["state"] == ("over" if stands.over else "interrupted")
    assert bool(data["state_line"]) is not stands.over
    duels = sum(row.wins + row.draws + row.losses for row in stands.rows) // 2
    assert sum(games for *_, games in data["cross"]["pairs"]) == duels
    for one, other, points, games in data["cross"]["pairs"]:
        assert one < other
        assert 0 <= points <= games
    assert sum(sum(times["counts"]) for times in data["times"]["agents"]) == sum(
        count for record in records.values() for seat in record.seats for _, count in seat.thinking
    )
    fallen = sum(seat.fell is not None for record in records.values() for seat in record.seats)
    assert sum(row["count"] for row in data["falls"]["rows"]) == fallen


def test_differences_of_the_best_agents_are_those_of_the_results(tmp_path: Path) -> None:
    plan = PLANS["benchmark"]
    records = results_of(plan, 3, 1.0)
    data = data_of(store(tmp_path, plan, records.values()))
    assert [(row["one"], row["other"]) for row in data["differences"]] == list(combinations(range(4), 2))
    pairs = comparisons_of(plan, records)
    for row in data["differences"]:
        found = pairs.compare(data["agents"][row["one"]], data["agents"][row["other"]])
        assert found.duels is not None
        assert (row["score"], row["better"]) == (None, None)  # one of the tasks counts by reward
        assert row["elo"] == attrs.asdict(found.duels.elo)
        assert row["los"] == found.duels.los
    plan = PLANS["round-robin"]
    records = results_of(plan, 3, 1.0)
    data = data_of(store(tmp_path / "scores", plan, records.values()))
    pairs = comparisons_of(plan, records)
    for row in data["differences"]:
        whole = pairs.compare(data["agents"][row["one"]], data["agents"][row["other"]]).whole
        assert whole.score is not None
        assert (row["score"], row["better"]) == (attrs.asdict(whole.score), whole.better)


@pytest.mark.parametrize("name", ALL)
def test_a_rating_course_ends_at_the_final_rating(tmp_path: Path, name: str) -> None:
    plan = ALL[name]
    records = results_of(plan, 4, 1.0)
    data = data_of(store(tmp_path, plan, records.values()))
    course = data["ratings"]
    assert course["kind"] == "elo"
    assert course["matches"] == sorted(set(course["matches"]))
    assert course["matches"][-1] == len(records)
    for series in course["series"]:
        final = data["standings"][series["agent"]]["elo"]
        assert series["value"][-1] == round(final["value"], 1)
        assert series["low"][-1] == (None if final["low"] is None else round(final["low"], 1))


def test_without_duels_the_course_is_the_mean_score(tmp_path: Path) -> None:
    plan = make_plan(1, Benchmark(), task("alone", 1, names(1)), repeats=30)
    records = results_of(plan, 1, 1.0)
    data = data_of(store(tmp_path, plan, records.values()))
    assert data["cross"]["pairs"] == []
    assert data["ratings"]["kind"] == "score"
    scores = [records[spec.id].seats[0].score for spec in schedule(plan).walk({})]
    assert data["ratings"]["series"][0]["value"][-1] == round(float(np.mean(scores)), 4)


@pytest.mark.parametrize("name", ALL)
def test_a_plan_is_read_from_its_facts_alone(name: str) -> None:
    plan = ALL[name]
    made = plan_of_facts(plan.name, plan.seed, plan_facts(plan))
    records = results_of(plan, 5, 1.0)
    assert list(schedule(made).walk(records)) == list(schedule(plan).walk(records))
    assert compute_standings(made, records) == compute_standings(plan, records)
    assert {**plan_facts(plan), "seed": "0"}.items() >= {
        key: value for key, value in plan_facts(made).items() if "isolation" not in key and key != "seed"
    }.items()


def test_a_moved_folder_needs_no_file_that_its_plan_names(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "broken.py").write_text("raise SystemExit('imported')")
    text = LEARNING.replace('spec = "random"', 'spec = "broken.py:Broken"')
    plan = parse_plan(text, folder=home, title="moved")
    records = [random_record(Random(1), plan, spec) for spec in schedule(plan).walk({})]
    folder = store(tmp_path / "results", plan, records)
    shutil.rmtree(home)
    moved = tmp_path / "moved"
    folder.rename(moved)
    facts = dict(data_of(moved)["facts"])
    assert facts["Folder"] == "moved"
    assert "processors" in facts["Machine"]
    assert facts["Begun"].endswith(" UTC")


def test_a_plan_that_a_program_made_has_a_report(tmp_path: Path) -> None:
    plan = PLANS["gauntlet"]
    assert plan.text == ""
    data = data_of(store(tmp_path, plan, results_of(plan, 1, 1.0).values()))
    assert dict(data["facts"])["Format"] == "Gauntlet (champions a0, a2)"


DAMAGES = {
    "agents.a0.name": "3",
    "agents.a0.spec": "null",
    "tasks.game.agents": '["a0", "nobody"]',
    "tasks.game.seats": "1000000000",
    "tasks.game.control": "act=never",
    "tasks.game.score": '"best"',
    "tasks.game.seatings": '"any"',
    "format": "Tennis",
    "repeats": "1e9",
    "clock": '"sundial"',
    "stop.matches": "-1",
    "tasks.game.steps": "{",
}


@pytest.mark.parametrize("place", DAMAGES)
def test_damaged_facts_are_one_line(place: str) -> None:
    plan = PLANS["round-robin"]
    facts = {**plan_facts(plan), place: DAMAGES[place]}
    with pytest.raises(UsageError, match="the stored plan cannot be read") as caught:
        plan_of_facts("x", 0, facts)
    assert "\n" not in str(caught.value)
    del facts[place]
    if place not in {
        *("stop.matches", "clock", "agents.a0.name"),
        *("tasks.game.steps", "tasks.game.score", "tasks.game.seatings"),
    }:
        with pytest.raises(UsageError):
            plan_of_facts("x", 0, facts)


@pytest.mark.parametrize("name", ALL)
def test_matches_are_found_by_id_without_walking_the_schedule(name: str) -> None:
    plan = ALL[name]
    records = results_of(plan, 6, 1.0)
    walked = {spec.id: spec for spec in schedule(plan).walk(records)}
    ids = [*Random(1).sample(sorted(walked), min(9, len(walked))), "r99-m0-g0", "r0-m99-g0", "x", "r-m-g"]
    assert excerpts.spec_of(plan, records, ids) == {name: walked[name] for name in ids if name in walked}


def test_learning_curves_are_the_means_of_the_journals(learning: Path) -> None:
    data = data_of(learning)
    assert [data["tasks"][curve["task"]]["name"] for curve in data["curves"]["tasks"]] == ["micro1", "micro2"]
    assert data["curves"]["read"] == data["curves"]["of"] == 12
    assert max(len(one["mean"]) for curve in data["curves"]["tasks"] for one in curve["series"]) > 3
    with open_source(learning) as source:
        records = [
            (spec, record) for record in source.store.records() for spec in [spec_named(source.plan, record)]
        ]
    for curve in data["curves"]["tasks"]:
        assert curve["measure"] == "reward"
        for series in curve["series"]:
            rewards = [
                journal_rewards(learning, record)
                for spec, record in records
                if spec.task == data["tasks"][curve["task"]]["name"]
                and spec.entrants == (data["agents"][series["agent"]],)
            ]
            assert series["repeats"] == len(rewards) == 3
            width = curve["episodes"]
            for place, mean in enumerate(series["mean"]):
                bins = [one[place * width : (place + 1) * width] for one in rewards]
                means = [float(np.mean(one)) for one in bins if one]
                assert 2 * len(means) >= len(rewards)
                assert mean == pytest.approx(np.mean(means), rel=1e-4)
                assert series["low"][place] == pytest.approx(min(means), rel=1e-4)
                assert series["high"][place] == pytest.approx(max(means), rel=1e-4)


def spec_named(plan: TournamentPlan, record: MatchRecord) -> Any:
    return excerpts.spec_of(plan, None, [record.id])[record.id]


def journal_rewards(folder: Path, record: MatchRecord) -> list[float]:
    assert record.journal is not None
    return [
        event.reward
        for event in read_journal(folder / record.journal)
        if isinstance(event, TaskEnded) and event.ended != "cut"
    ]


def test_many_episodes_are_binned_and_many_repeats_have_a_middle_band() -> None:
    random = Random(2)
    several: list[Sequence[journals.Episode]] = [
        [journals.Episode(None, float(random.random()), 1) for _ in range(601)]
        for _ in range(comparisons.FEW + 1)
    ]
    curve = comparisons._curve(task("alone", 1, names(1)), {0: several})
    assert curve is not None
    assert curve["episodes"] == 11
    assert curve["band"] == "middle"
    (series,) = curve["series"]
    assert len(series["mean"]) == 55 <= comparisons.MAX_EPISODE_POINTS
    table = np.array([[one.reward for one in episodes_[:11]] for episodes_ in several]).mean(axis=1)
    assert series["mean"][0] == pytest.approx(table.mean(), rel=1e-4)
    assert series["low"][0] == pytest.approx(np.quantile(table, 0.1), rel=1e-4)


def test_curves_of_limits_are_those_of_what_if(tmp_path: Path) -> None:
    folder = play_sleeping(tmp_path)
    found = data_of(folder)["limits"]
    with open_source(folder) as source:
        ranked = source.ranked
        expected = {curve.agent: curve for curve in study_folder(folder, source.store, source.plan).curves}
    assert [curve["agent"] for curve in found["curves"]] == [None, 0, 1]
    for curve in found["curves"]:
        one = expected["" if curve["agent"] is None else ranked[curve["agent"]]]
        assert curve["limits_ns"] == list(one.limits_ns)
        assert curve["share"] == pytest.approx(one.share, rel=1e-4)
        assert curve["high"] == pytest.approx(one.high, rel=1e-4)
        assert curve["advice"] == attrs.asdict(one.advice)
    assert (found["left_out"], found["unread"], found["remarks"]) == (0, 0, [])
    for journal in sorted((folder / "journals").iterdir())[:3]:
        journal.unlink()
    assert data_of(folder)["limits"]["unread"] == 3


def test_of_many_curves_those_of_the_best_agents_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparisons, "MAX_LIMIT_CURVES", 2)
    found = data_of(play_sleeping(tmp_path, SLEEPING.replace("repeats = 20", "repeats = 2")))["limits"]
    assert [curve["agent"] for curve in found["curves"]] == [None, 0]
    assert found["left_out"] == 1


def test_without_think_times_no_journal_is_read_for_limits(
    learning: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparisons, "study_folder", pytest.fail)
    assert data_of(learning)["limits"] == {"curves": [], "left_out": 0, "unread": 0, "remarks": []}


def test_a_disqualification_has_the_end_of_the_standard_error(crashing: Path) -> None:
    data = data_of(crashing)
    (row,) = data["falls"]["rows"]
    assert data["agents"][row["agent"]] == "broken"
    assert row["reason"] == "crashed"
    assert row["count"] == 2
    assert row["tasks"] == [[0, 2]]
    assert row["match"] == "r0-m0-g1"
    assert "it broke on purpose" in row["detail"]
    assert "<script>" in row["detail"]
    assert "\u202e" in row["detail"] or "\\u202e" in row["detail"]


def test_a_long_detail_loses_its_middle() -> None:
    from flagfall.viewer.report import comparisons as times  # noqa: PLC0415

    text = "head" + "x" * 10_000_000 + "tail"
    shown = times._bounded(text)
    assert len(shown) < times.MAX_DETAIL_CHARS + 60
    assert shown.startswith("head")
    assert shown.endswith("tail")


def test_journals_outside_of_the_folder_are_not_read(learning: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(learning, folder)
    with open_source(folder) as source:
        record = next(source.store.records())
    assert record.journal is not None
    real = folder / record.journal
    assert journal_path(folder, record.journal) == real
    outside = tmp_path / real.name
    shutil.copy(real, outside)
    for path in (
        f"../{outside.name}",
        str(outside),
        "journals/../plan.toml",
        "journals/",
        "plan.toml",
        "journals/a\0b",
    ):
        assert journal_path(folder, path) is None
    real.unlink()
    real.symlink_to(outside)
    assert journal_path(folder, record.journal) is None
    (folder / "journals").rename(tmp_path / "elsewhere")
    (folder / "journals").symlink_to(tmp_path / "elsewhere")
    outside.replace(tmp_path / "elsewhere" / real.name)
    assert real.is_file()
    assert journal_path(folder, record.journal) is None
    reader = JournalReader(folder)
    assert reader.read(record) is None
    assert reader.unread == 1


def test_damaged_and_large_journals_count_up_to_their_damage(
    learning: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(learning, folder)
    with open_source(folder) as source:
        first, second, third = list(source.store.records())[:3]
    whole = JournalReader(learning).read(second)
    assert whole is not None
    assert whole.whole
    assert first.journal is not None
    (folder / first.journal).write_bytes(b"nonsense")
    monkeypatch.setattr(journals, "MAX_ALL_BYTES", 1)
    reader = JournalReader(folder)
    damaged = reader.read(first)
    assert damaged is not None
    assert not damaged.whole
    assert reader.read(second) is not None
    assert reader.read(third) is None, "the bound is reached"
    assert data_of(folder)["curves"]["unread"] > 0


def test_a_running_tournament_is_seen_without_touching_its_lock(learning: Path, tmp_path: Path) -> None:
    plan = PLANS["round-robin"]
    records = list(results_of(plan, 1, 1.0).values())
    folder = store(tmp_path, plan, records[: len(records) // 2])
    assert not is_held(folder)
    assert not (folder / "lock").exists()
    lock = Lock(folder)
    assert is_held(folder)
    data = data_of(folder)
    assert data["state"] == "running"
    assert f"{len(records) // 2} of {len(records)} matches" in data["state_line"]
    lock.close()
    assert not is_held(folder)
    assert data_of(folder)["state"] == "interrupted"
    Lock(folder).close()
    assert data_of(learning)["state"] == "over"


def test_a_tournament_without_a_match_has_a_report(tmp_path: Path) -> None:
    data = data_of(store(tmp_path, PLANS["benchmark"], []))
    assert data["state"] == "interrupted"
    assert data["matches"]["rows"] == data["cross"]["pairs"] == data["times"]["agents"] == []
    assert data["ratings"] is None


def test_many_agents_and_matches_give_data_of_bounded_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparisons, "MAX_POINTS", 4)  # for speed: each point is a rating of 200 agents
    plan = make_plan(200, RoundRobin(), stop=Stop(matches=3000))
    random = Random(1)
    records = [random_record(random, plan, spec) for spec in schedule(plan).walk({})]
    data = data_of(store(tmp_path, plan, records))
    assert len(data["agents"]) == 200
    assert len(data["matches"]["rows"]) == matches.MAX_MATCHES
    assert data["matches"]["of"] == 3000
    assert len(data["falls"]["rows"]) == 100
    assert data["falls"]["left_out"] > 0
    assert len(msgspec.json.encode(data)) < 2_000_000


def test_matches_to_see_are_chosen_by_one_reason_after_the_other(crashing: Path, learning: Path) -> None:
    with open_source(crashing) as source:
        chosen = matches.choose(source, 3)
        assert (chosen[0].record.id, chosen[0].why) == ("r0-m0-g1", "an agent was disqualified")
        assert len({one.record.id for one in chosen}) == len(chosen) == 3
        assert all(one.path.is_file() for one in chosen)
        assert matches.choose(source, 0) == []
        assert len(matches.choose(source, 50)) == 4, "as many as there are"
    with open_source(learning) as source:
        tasks = [spec_named(source.plan, one.record).task for one in matches.choose(source, 2)]
    assert sorted(tasks) == ["micro1", "micro2"], "of several tasks, each is seen"


def test_excerpts_are_those_of_all_records(tmp_path: Path) -> None:
    plan = PLANS["benchmark"]
    records = list(results_of(plan, 8, 1.0).values())
    folder = store(
        tmp_path, plan, [*records, MatchRecord(id=records[0].id, attempt=2, status="void", why="lost")]
    )
    with open_source(folder) as source:
        opened = source.store
        assert source.counts.played == len(records)
        assert source.counts.void == 1
        late = [sum(seat.late for seat in record.seats) for record in excerpts.most_late(opened, 5)]
        assert (
            late == sorted((sum(seat.late for seat in record.seats) for record in records), reverse=True)[:5]
        )
        close = excerpts.closest(opened, 3)
        assert all(len(record.seats) > 1 for record in close)
        assert all(len({seat.reward for seat in record.seats}) == 1 for record in close)
        assert [record.id for record in excerpts.voids(opened, 5)] == [records[0].id]
        assert [record.id for record in excerpts.recent(opened, 3)] == [record.id for record in records[-3:]]
    assert data_of(folder)["voids"] == {
        "count": 1,
        "rows": [{"match": records[0].id, "attempt": 2, "why": "lost"}],
    }


def test_of_many_journals_a_random_part_is_read(learning: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparisons, "MAX_JOURNALS", 4)
    curves = data_of(learning)["curves"]
    assert curves["read"] == 4
    assert curves["of"] == 12
    assert curves["sampled"]
    assert curves == data_of(learning)["curves"], "the same part each time"


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    title = HOSTILE.replace("\0", "")
    plan = attrs.evolve(PLANS["round-robin"], name=title)
    records = results_of(plan, 1, 1.0)
    assert data_of(store(tmp_path, plan, records.values()))["title"] == title
