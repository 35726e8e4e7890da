"""`flagfall tournament`, `results DIR` and `ctl`."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flagfall.tournament.plan.parser import PLANS
from tests.tournament.random_results import PLANS as PLANS_OF_RESULTS
from tests.tournament.random_results import results_of
from tests.viewer.tournaments import HOSTILE, renamed, store

Call = Callable[..., Any]

PLAN = """
clock = "virtual"
jobs = 1
repeats = 3
time_control = "act=1s"
format = "round-robin"

[output]
tables = ["csv", "json"]

[[agents]]
spec = "random"

[[agents]]
spec = "learner"

[[tasks]]
task = "micro1"
steps = 10
"""


@pytest.fixture
def plan(folder: Path) -> Path:
    path = folder / "small.toml"
    path.write_text(PLAN)
    return path


@pytest.mark.usefixtures("plan")
def test_a_tournament_ends_with_standings_and_where_the_results_lie(call: Call) -> None:
    ended = call("tournament small.toml")
    assert ended.code == 0
    assert "Standings" in ended.out
    assert "learner" in ended.out
    assert "results: small-results" in ended.out
    assert "go on:" not in ended.out
    rows = list(csv.DictReader(io.StringIO(Path("small-results/standings.csv").read_text())))
    assert [row["matches"] for row in rows] == ["3", "3"]
    assert json.loads(Path("small-results/standings.json").read_text())[0]["place"] == 1


NOTING = """
class Bot:
    def start(self, briefing):
        self.note = briefing.note

    def reply(self, byte, reward):
        self.note({"answer_tokens": 2, "plan": "wait"})
        return 32
"""


def test_the_numbers_that_agents_note_are_added_up_in_the_standings(call: Call, folder: Path) -> None:
    (folder / "noting.py").write_text(NOTING)
    (folder / "cup.toml").write_text(
        'clock = "virtual"\nrepeats = 3\n[[agents]]\nspec = "noting.py:Bot"\n[[agents]]\nspec = "silent"\n'
        '[[tasks]]\ntask = "micro1"\nsteps = 10\n'
    )
    ended = call("tournament cup.toml --quiet")
    assert ended.code == 0, ended.err
    (line,) = [line.split() for line in ended.out.splitlines() if "answer tokens" in line]
    assert line[1:] == ["answer", "tokens", "60", "20"]
    (noted,) = call("results cup-results --format json").data()["noted"]
    assert (noted["name"], noted["total"], noted["matches"]) == ("answer_tokens", 60.0, 3)


BOTH_KINDS = PLAN.replace("= 3", "= 6") + '[[tasks]]\ntask = "pettingzoo:classic/tictactoe_v3"\n'


def test_two_agents_are_compared(program: Call, folder: Path, call: Call) -> None:
    pytest.importorskip("pettingzoo")
    (folder / "both.toml").write_text(BOTH_KINDS)
    assert call("tournament both.toml --quiet").code == 0
    data = call("results both-results --compare learner random --json").data()
    standings = call("results both-results --json").data()
    rows = {row["agent"]: row for row in standings["rows"]}
    duels = data["duels"]
    assert data["agents"] == ["learner", "random"]
    assert [duels[name] for name in ("won", "drawn", "lost")] == [
        rows["learner"][name] for name in ("wins", "draws", "losses")
    ]
    assert duels["elo"]["value"] == pytest.approx(
        rows["learner"]["elo"]["value"] - rows["random"]["elo"]["value"]
    )
    means = {(row["task"], row["agent"]): row["score"]["value"] for row in standings["tasks"]}
    for name, task in data["tasks"].items():
        assert task["meetings"] == 6
        assert task["score"]["value"] == pytest.approx(means[name, "learner"] - means[name, "random"])
    assert sum(duels["pairs"]) == 6  # of the game for two
    assert data["whole"]["score"]["value"] == pytest.approx(
        sum(task["score"]["value"] for task in data["tasks"].values()) / 2
    )
    shown = program("results both-results --compare learner random")
    assert (shown.code, shown.err) == (0, "")
    for text in (
        "learner less random",
        "all tasks",
        f"Duels: {duels['won']} won, {duels['drawn']} drawn, {duels['lost']} lost",
        f"3/2: {duels['pairs'][3]}, 2: {duels['pairs'][4]}",
        f"Elo difference: {duels['elo']['value']:.0f} [",
        "] (95 % interval)\nNormalized Elo: ",
        "Likelihood of superiority: ",
    ):
        assert text in shown.out


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "results small-results --compare lerner random",
            "--compare: unknown agent 'lerner'; nearest: learner",
        ),
        ("results small-results --compare random nobody", "unknown agent 'nobody'; known: random, learner"),
        ("results small-results --compare random random", "--compare: 'random' is named twice"),
        (
            "results small-results --compare random learner --matches",
            "leave --output, --format and --matches out",
        ),
        ("results small.toml --compare random learner", "are for the folder of a tournament"),
    ],
)
def test_what_cannot_be_compared_is_said_in_a_line(call: Call, played: Call, line: str, told: str) -> None:
    played("small", PLAN)
    ended = call(line)
    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err
    assert ended.err.count("\n") == 1


def test_names_of_a_sent_folder_cannot_reach_the_terminal(call: Call, folder: Path) -> None:
    plan = renamed(PLANS_OF_RESULTS["round-robin"], {"a0": HOSTILE})
    store(folder / "sent", plan, results_of(plan, 1, 1.0).values())
    for agents in (("a1", "nobody"), ("a1", HOSTILE)):
        ended = call("results sent --compare", *agents)
        assert (ended.code == 0) is (HOSTILE in agents), ended.err
        assert (ended.out + ended.err).replace("\n", "").isprintable()


@pytest.mark.usefixtures("plan")
def test_a_dry_run_prints_the_schedule_and_plays_nothing(call: Call, folder: Path) -> None:
    ended = call("tournament small.toml --dry-run")
    assert ended.code == 0
    assert ended.out.count("micro1") == 6
    assert "6 matches" in ended.out
    assert not (folder / "small-results").exists()
    call("tournament small.toml")
    ended = call("tournament small.toml --dry-run")
    assert ended.out.count("played") == 6
    assert "no match is left to play" in ended.out


def test_a_long_schedule_is_printed_in_part_and_counted_in_whole(plan: Path, call: Call) -> None:
    plan.write_text(PLAN.replace("repeats = 3", "repeats = 600"))
    ended = call("tournament small.toml --dry-run")
    assert ended.out.count("micro1") == 1000
    assert "and 200 more" in ended.out
    assert "1,200 matches" in ended.out


@pytest.mark.usefixtures("plan")
def test_a_new_agent_is_reported_as_a_change_by_its_name_alone(plan: Path, call: Call) -> None:
    call("tournament small.toml")
    plan.write_text(PLAN.replace('"random"', '"silent"').replace("steps = 10", "steps = 11"))
    ended = call("tournament small.toml --resume")
    assert ended.code == 2
    assert "agents.random: was random, is (nothing)" in ended.err
    assert "agents.silent: was (nothing), is silent" in ended.err
    assert "tasks.micro1.steps: was 10, is 11" in ended.err
    assert "agents.random." not in ended.err
    assert "agents.silent." not in ended.err


def test_a_tournament_grows_by_an_agent_and_a_repeat(plan: Path, call: Call, folder: Path) -> None:
    call("tournament small.toml")
    plan.write_text(PLAN.replace("repeats = 3", "repeats = 4") + '[[agents]]\nspec = "silent"\n')
    dry = call("tournament small.toml --dry-run")
    assert "flagfall: the plan has changed: repeats: was 3, is 4\n" in dry.err
    assert dry.out.count("played") == 6
    assert "12 matches" in dry.out
    grown = call("tournament small.toml --resume")
    assert grown.code == 0, grown.err
    assert "the plan has changed: recorded matches found in the new schedule: 6" in grown.err
    call("tournament small.toml --output whole")
    assert call("results small-results --json").out == call("results whole --json").out
    assert call("verify small-results/journals/r3-m0-g2.jsonl.zst").code == 0
    call("report small-results")
    assert "Plan changed" in (folder / "small-results" / "report.html").read_text()


def test_what_has_no_place_in_a_changed_plan_is_set_aside_on_request(plan: Path, call: Call) -> None:
    call("tournament small.toml")
    before = call("results small-results --json").out
    plan.write_text(PLAN.replace("steps = 10", "steps = 11"))
    refused = call("tournament small.toml --resume")
    assert refused.code == 2
    assert "6 matches with other settings of task micro1: r0-m0-g0, r0-m0-g1, r1-m0-g0, " in refused.err
    went_on = call("tournament small.toml --resume --set-aside")
    assert went_on.code == 0, went_on.err
    assert "the tournament as it was is kept in small-results/former-1" in went_on.err
    assert call("results small-results/former-1 --json").out == before


def test_parts_that_machines_played_are_merged(plan: Path, call: Call) -> None:
    call("tournament small.toml")
    for part in (1, 2):
        played = call(f"tournament small.toml --part {part}/2 --output part{part}")
        assert played.code == 0, played.err
        assert f"go on:   flagfall merge part{part} ...   (part {part}/2 is played)" in played.out
    dry = "".join(
        call(f"tournament small.toml --part {part}/2 --dry-run --output new").out for part in (1, 2)
    )
    assert dry.count("micro1") == 6
    merged = call("merge part1 part2 --output all")
    assert merged.code == 0, merged.err
    assert merged.out.startswith("merged:  6 matches, 0 of them in several folders, and 0 void attempts\n")
    assert call("results all --json").out == call("results small-results --json").out
    assert "no match is left" in call("tournament small.toml --output all --dry-run").out
    plan.write_text(PLAN + "[stop]\nfalls = 1\n")
    for line in ("--part 1/2 --output new", "--part 1/2 --output new --dry-run", "--part 3/2 --output new"):
        refused = call(f"tournament small.toml {line}")
        assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert not Path("new").exists()
    for line in ("merge part1 --output new", "merge part1 nothing --output new", "merge part1 part2 -o all"):
        refused = call(line)
        assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err


@pytest.mark.usefixtures("plan")
def test_a_table_goes_into_no_file(call: Call, folder: Path) -> None:
    call("tournament small.toml --output here")
    ended = call("results here --format table -o rows.txt")
    assert ended.code == 2
    assert "use csv or json or parquet" in ended.err
    assert not (folder / "rows.txt").exists()


@pytest.mark.usefixtures("plan")
def test_a_table_that_cannot_be_written_is_a_fault_of_the_host_and_hides_no_results(call: Call) -> None:
    Path("here/standings.csv").mkdir(parents=True)
    ended = call("tournament small.toml --output here --resume")
    assert ended.code == 1
    assert "results: here" in ended.out
    assert "standings.csv cannot be written: Is a directory" in ended.err


def test_what_a_table_needs_is_looked_for_before_anything_is_played(
    plan: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
    plan.write_text(PLAN.replace('"csv", "json"', '"parquet"'))
    ended = call("tournament small.toml")
    assert (ended.code, "pip install 'flagfall[parquet]'" in ended.err) == (2, True)
    assert not Path("small-results").exists()


@pytest.mark.usefixtures("plan")
@pytest.mark.parametrize("seed", ["-5", "9223372036854775808"])
def test_a_seed_is_what_a_plan_may_say(call: Call, seed: str) -> None:
    ended = call(f"tournament small.toml --dry-run --seed {seed}")
    assert (ended.code, f"--seed {seed}: write a whole number" in ended.err) == (2, True)


def test_a_missing_folder_is_reported(call: Call) -> None:
    assert "no such file: nowhere" in call("results nowhere --format csv").err


def test_an_estimate_has_bounds_on_the_wall_clock(plan: Path, call: Call) -> None:
    plan.write_text(PLAN.replace('clock = "virtual"', "").replace("act=1s", "act=1s/2s"))
    ended = call("tournament small.toml --dry-run --jobs 2")
    # 6 matches of 10 turns of 2 s, two at a time; 0.4 s for each process
    assert "2 at the same time; from 1.20s to 60.0s, if every agent takes all of its time" in ended.out
    plan.write_text(PLAN.replace('clock = "virtual"', "").replace("steps = 10", ""))
    assert "the plan does not limit" in call("tournament small.toml --dry-run").out


@pytest.mark.usefixtures("plan")
def test_results_of_a_folder_come_in_every_format(call: Call, folder: Path) -> None:
    call("tournament small.toml --output here")
    assert "Standings" in call("results here").out
    assert len(call("results here --json").data()["rows"]) == 2
    rows = list(csv.DictReader(io.StringIO(call("results here --matches --format csv").out)))
    assert len(rows) == 6
    assert {row["agent"] for row in rows} == {"random", "learner"}
    assert all((folder / "here" / row["journal"]).is_file() for row in rows)
    assert call("results here -o rows.json --matches").code == 0
    assert len(json.loads((folder / "rows.json").read_text())) == 6


@pytest.mark.usefixtures("plan")
def test_results_as_parquet(call: Call, folder: Path) -> None:
    call("tournament small.toml --output here")
    call("results here -o rows.parquet")
    parquet = pytest.importorskip("pyarrow.parquet")
    assert parquet.read_table(folder / "rows.parquet").num_rows == 2


@pytest.mark.usefixtures("plan")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tournament missing.toml", "missing.toml"),
        ("tournament demoo", "nearest: demo"),
        ("tournament small.toml --jobs 0", "--jobs 0"),
        ("tournament broken.toml", "agents"),
        ("results .", "holds no tournament"),
        ("results small.toml --matches", "--matches and --compare are for the folder"),
        ("ctl .", "no tournament is being played"),
        ("ctl nowhere pause", "no such folder"),
        ("ctl . jobs", "write a number after it"),
        ("ctl . jobs many", "write a whole number"),
        ("ctl . pause 3", "takes no value"),
    ],
)
def test_wrong_words_are_reported(call: Call, folder: Path, line: str, message: str) -> None:
    (folder / "broken.toml").write_text("agents = 3")
    ended = call(line)
    assert ended.code == 2
    assert message in ended.err


def test_a_failed_import_is_reported_before_anything_is_played(plan: Path, call: Call, folder: Path) -> None:
    plan.write_text(PLAN + '\n[[agents]]\nspec = "bots.py:Nobody"\n')
    ended = call("tournament small.toml")
    assert ended.code == 2
    assert "has no 'Nobody'" in ended.err
    assert not (folder / "small-results").exists()


def test_the_shipped_plan_can_be_read(call: Call) -> None:
    assert "demo" in PLANS
    ended = call("tournament demo --dry-run")
    assert ended.code == 0
    assert "langroom" in ended.out
