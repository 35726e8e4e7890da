from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from gymnasium.spaces import Discrete

from flagfall import run
from flagfall.events import MatchStarted
from flagfall.kernel.outcomes import StepResult, derive_seed
from flagfall.recording.journal.reader import read_journal
from flagfall.tasks import catalog
from flagfall.tasks.task import Task

SAMPLES = ["random", "silent", "repeating", "memorizing"]


class Duel(Task):
    """Two players, three steps, a reward for who says one."""

    id = "duel"
    players: Sequence[str] = ("left", "right")
    max_steps = 3
    nil_action = 0
    action_space = observation_space = Discrete(2)

    def _reset(self, seed: int) -> Any:  # noqa: ARG002 - nothing is random
        return dict.fromkeys(self.players, 0)

    def _step(self, action: Any) -> StepResult:
        return StepResult(dict.fromkeys(self.players, 0), dict(action))

    def reached_terminal_state(self) -> bool:
        return False


class Broken(Duel):
    """Fails at its second step."""

    id = "broken"
    players = ("left",)

    def _reset(self, seed: int) -> Any:  # noqa: ARG002 - nothing is random
        return 0

    def _step(self, action: Any) -> StepResult:  # noqa: ARG002 - it does not care
        if self._num_steps_taken:
            raise RuntimeError("out of paper")
        return StepResult(0)


@pytest.fixture
def more_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    family = catalog.Family(name="test", tasks={"duel": Duel, "broken": Broken})
    monkeypatch.setitem(catalog.FAMILIES, "test", family)


def rows(text: str, first: str) -> list[list[str]]:
    """The rows of the table whose header begins with a word."""
    lines = [line.split() for line in text.splitlines()]
    start = next(number for number, line in enumerate(lines) if line[:1] == [first])
    taken = []
    for line in lines[start + 2 :]:
        if not line:
            break
        taken.append(line)
    return taken


# --- what a match prints -----------------------------------------------------------------------------------


def test_a_match_prints_how_the_agent_and_the_tasks_went(call):
    ended = call("run --task micro1 micro2 --agent random --seed 1 --clock virtual")
    assert (ended.code, ended.err) == (0, "")
    result = run(["micro1", "micro2"], "random", seed=1, clock="virtual")
    tally = result.seats[0].stats
    counts = ["2", "0", "2", "0", "0", "0", "0", "0"]
    assert rows(ended.out, "agent") == [
        [
            "random",
            "finished",
            f"{tally.turns}",
            f"{tally.reward:.0f}",
            f"{tally.return_mean:.0f}",
            f"{tally.return_sd:.3f}",
            f"{tally.reward / tally.turns:.4f}",
            *counts,
        ]
    ]
    tasks = rows(ended.out, "task")
    assert [row[:5] for row in tasks] == [
        [task.task, "1", "0", "1", f"{task.steps}"] for task in result.tasks
    ]


def test_tasks_can_be_given_in_every_way(call):
    ways = [
        "--task micro1 --task micro2",
        "--task micro1 micro2",
        "--task micro1,micro2",
        "-t micro1, micro2",
    ]
    said = [call(f"run {way} --agent random --clock virtual").out for way in ways]
    assert len(set(said)) == 1


def test_data_has_everything_in_plain_numbers(call):
    ended = call("run --task micro1 --agent repeating --steps 30 --json --journal run.jsonl")
    data = ended.data()
    assert data["ended"] == "done"
    (match,) = data["matches"]
    assert (match["match"], match["seed"], match["journal"]) == (0, 0, "run.jsonl")
    assert (match["reason"], match["turns"]) == ("steps", 30)
    (seat,) = match["seats"]
    assert (seat["agent"], seat["disqualified"], seat["turns"]) == ("repeating", None, 30)
    assert 0 < seat["think_mean_ns"] <= seat["think_max_ns"]
    assert match["tasks"][0]["task"] == "micro1"


def test_quiet_says_nothing(call):
    ended = call("run --task micro1 --agent bots.py:Crash --host task --quiet")
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_logs_go_to_the_standard_error(call):
    ended = call("run --task micro1 --agent bots.py:Wrong --host task --steps 2 --json --log-level info")
    told = [json.loads(line)["event"] for line in ended.err.splitlines()]
    assert told[0] == "match started"
    assert told[-1] == "match ended"
    assert told.count("reply illegal") == 2
    assert ended.data()["ended"] == "done"


# --- series ------------------------------------------------------------------------------------------------


def test_several_agents_make_a_series_on_the_same_seeds(call, folder):
    line = f"run --task micro1 micro2 --agent {' '.join(SAMPLES)} --matches 2 -s 5 --clock virtual"
    ended = call(line + " --json -o run.jsonl")
    matches = ended.data()["matches"]
    assert [match["seats"][0]["agent"] for match in matches] == SAMPLES * 2
    assert [match["seed"] for match in matches] == [5] * 4 + [derive_seed(5, "repeat", 1)] * 4
    assert [match["journal"] for match in matches] == [f"run-{number}.jsonl" for number in range(8)]
    assert not (folder / "run.jsonl").exists()
    for match in matches:
        header = next(iter(read_journal(match["journal"])))
        assert isinstance(header, MatchStarted)
        assert (header.seed, header.agents) == (match["seed"], [match["seats"][0]["agent"]])


def test_a_match_of_a_series_can_be_played_alone(call, folder):
    assert call("run --task micro1 --agent silent random --matches 2 --clock virtual -o all.jsonl").code == 0
    seed = derive_seed(0, "repeat", 1)
    assert call("run --task micro1 --agent random --clock virtual -o one.jsonl -s", seed).code == 0
    assert (folder / "all-3.jsonl").read_bytes() == (folder / "one.jsonl").read_bytes()


def test_a_series_is_reported_by_match_and_by_task_and_agent(call):
    ended = call("run -t micro1 -a random silent --matches 2 --steps 300 --clock virtual -o run.jsonl.zst")
    assert [row[:4] for row in rows(ended.out, "match")] == [
        [str(number), agent, "steps", "300"] for number, agent in enumerate(["random", "silent"] * 2)
    ]
    assert [row[:2] + row[5:6] for row in rows(ended.out, "task")] == [
        ["micro1", "random", "598"],
        ["micro1", "silent", "598"],
    ]
    assert [line for line in ended.out.splitlines() if line.startswith("journal")] == [
        f"journal: run-{number}.jsonl.zst" for number in range(4)
    ]


def test_numbers_of_journals_sort(call, folder):
    assert call("run -t micro1 -a silent --matches 11 --steps 3 --clock virtual -q -o a.b.jsonl").code == 0
    names = sorted(path.name for path in folder.glob("*.jsonl"))
    assert names == [f"a.b-{number:02}.jsonl" for number in range(11)]


def test_agents_of_one_name_are_distinguished_by_their_files(call, folder):
    (folder / "other.py").write_text((folder / "bots.py").read_text())
    ended = call("run -t micro1 -a bots.py:Echo other.py:Echo bots.py:Wrong --host task --steps 3 --json")
    names = [match["seats"][0]["agent"] for match in ended.data()["matches"]]
    assert names == ["bots.py:Echo", "other.py:Echo", "Wrong"]


# --- seats -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("more_tasks")
def test_a_task_for_several_players_takes_the_agents_as_seats(call):
    ended = call("run -t duel -a bots.py:always_one random --host task --matches 2 --json")
    matches = ended.data()["matches"]
    assert len(matches) == 2
    for match in matches:
        assert [seat["agent"] for seat in match["seats"]] == ["always_one", "random"]
        assert match["turns"] == 3
        assert match["seats"][0]["reward"] == 3
        assert (match["winners"], [seat["score"] for seat in match["seats"]]) == ([0], [1, 0])
    ended = call("run -t duel -a bots.py:always_one random --host task -o duel.jsonl")
    assert ended.out.startswith("winner: always_one (seat 0); rewards 3 to 2\n")
    assert [row[:3] for row in rows(ended.out, "agent")] == [
        ["always_one", "0", "finished"],
        ["random", "1", "finished"],
    ]
    assert call("results duel.jsonl").out.endswith(ended.out.removesuffix("journal: duel.jsonl\n"))


@pytest.mark.usefixtures("more_tasks")
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("run -t duel -a random", "the tasks seat 2 agents, but 1 are given"),
        ("run -t duel -a random silent silent", "the tasks seat 2 agents, but 3 are given"),
        ("run -t micro1 duel -a random silent", "micro1 seats 1, duel seats 2"),
    ],
)
def test_seats_and_agents_must_fit(call, line, told):
    ended = call(line)
    assert ended.code == 2
    assert told in ended.err


# --- faults ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["task", "thread", "process"])
def test_an_agent_that_crashes_is_a_result(call, host):
    ended = call("run -t micro1 -a bots.py:Crash random --steps 20 --host", host)
    assert (ended.code, ended.err) == (0, "")
    first, second = rows(ended.out, "match")
    assert first[:5] == ["0", "Crash", "disqualified:", "crashed", "4"]
    assert second[:3] == ["1", "random", "steps"]
    assert "Crash was disqualified in match 0: crashed" in ended.out
    assert "ValueError: enough \\x1b[31m of this" in ended.out


def test_an_agent_that_is_wrong_is_counted(call):
    seat = call("run -t micro1 -a bots.py:Wrong --host task --steps 7 --json").data()["matches"][0]["seats"][
        0
    ]
    assert (seat["illegal"], seat["disqualified"]) == (7, None)


def test_an_agent_that_is_late_is_counted_unless_there_is_no_timeout(call):
    line = "run -t micro1 -a bots.py:Slow --steps 3 --host thread --json --time-control act=5ms"
    assert call(line).data()["matches"][0]["seats"][0]["late"] == 3
    assert call(line + " --no-timeout").data()["matches"][0]["seats"][0]["late"] == 0


def test_characters_that_a_terminal_cannot_show_are_escaped(program, folder, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    (folder / "greek.py").write_text(
        "class Bot:\n    def reply(self, *_):\n        raise ValueError('\\u03c0')\n"
    )
    ended = program("run -t micro1 -a greek.py:Bot --host task")
    assert (ended.code, ended.err) == (0, "")
    assert "ValueError: \\u03c0" in ended.out


def test_a_long_detail_is_cut_to_its_end(call, folder: Path):
    (folder / "deep.py").write_text(
        "class Bot:\n    def reply(self, byte, reward):\n"
        "        raise ValueError('\\n'.join(f'line {n}' for n in range(100)))\n"
    )
    out = call("run -t micro1 -a deep.py:Bot --host task").out
    assert "line 99" in out
    assert "line 79" not in out
    assert "earlier lines)" in out


@pytest.mark.usefixtures("more_tasks")
def test_a_task_that_fails_is_the_host_s_fault(call):
    ended = call("run -t broken -a bots.py:always_one --host task --matches 3 --journal run.jsonl")
    assert ended.code == 1
    assert ended.err == "flagfall: task broken: RuntimeError: out of paper\n"


def test_a_full_disk_is_the_host_s_fault(call):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no full device")
    ended = call("run -t micro1 -a random --steps 100 --journal /dev/full")
    assert ended.code == 1
    assert ended.err.startswith("flagfall: journal /dev/full: cannot be written: No space left on device")
    assert ended.err.count("\n") == 1


@pytest.mark.usefixtures("more_tasks")
def test_what_was_played_before_a_fault_is_printed(call, monkeypatch):
    left = [1, 2]

    def make() -> Task:
        return Broken()

    monkeypatch.setattr(Broken, "_step", lambda _self, _action: StepResult(left.pop(), terminated=True))
    monkeypatch.setitem(catalog.FAMILIES["test"].tasks, "broken", make)
    ended = call("run -t broken -a bots.py:always_one --host task --matches 4 --json")
    assert ended.code == 1
    assert "IndexError" in ended.err
    assert (ended.data()["ended"], len(ended.data()["matches"])) == ("fault", 2)


# --- pace --------------------------------------------------------------------------------------------------


def test_real_time_pace(call):
    match = call("run -t micro1 -a random --tick 1ms --steps 20 --json").data()["matches"][0]
    assert match["turns"] == 20
    assert match["elapsed_ns"] >= 19_000_000
