"""Gymnasium's and PettingZoo's environments from the command line: played, recorded, verified."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flagfall.events import MatchStarted, TurnPlayed
from flagfall.recording.journal.reader import read_journal

FOUR = "--task pettingzoo:classic/connect_four_v3"

PLAYERS = """
import sys
import trio

def balance(observation):
    return int(observation[2] + observation[3] > 0)

def lowest(observation):
    return int(observation["action_mask"].argmax())

async def slow(observation):
    await trio.sleep(0.05)
    return 6 - int(observation["action_mask"][::-1].argmax())

class Ready:
    def start(self, _briefing):
        assert "numpy" in sys.modules  # before the first turn, although this test does not import it

    def act(self, _observation):
        return [1.0]
"""

UNSEEDED = """
import random
import gymnasium

class Unseeded(gymnasium.Env):
    observation_space = gymnasium.spaces.Discrete(1_000_000)
    action_space = gymnasium.spaces.Discrete(2)
    steps = 0
    def reset(self, *, seed=None, options=None):
        return random.SystemRandom().randrange(1_000_000), {}
    def step(self, action):
        self.steps += 1
        return 0, 0.0, self.steps % 3 == 0, False, {}

gymnasium.register("Unseeded-v0", "unseeded:Unseeded")
"""


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    (folder / "players.py").write_text(PLAYERS)
    (folder / "unseeded.py").write_text(UNSEEDED)


def test_a_gymnasium_game_is_played_recorded_and_verified(call):
    ended = call("run --task gym:CartPole-v1 --agent players.py:balance --clock virtual --journal j --json")
    assert ended.code == 0
    (match,) = ended.data()["matches"]
    assert match["reason"] == "finished"
    assert match["seats"][0]["illegal"] == 0
    assert match["seats"][0]["reward"] == match["turns"] > 100
    verified = call("verify j")
    assert (verified.code, verified.err) == (0, "")
    assert verified.out == f"OK  j: {match['turns']} turns in 1 task are as they were recorded\n"


def test_a_journal_is_verified_on_another_processor(call):
    assert (
        call(
            "run --task gym:Pendulum-v1 --agent random --seed 5 --clock virtual --journal j --steps 400"
        ).code
        == 0
    )
    other = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA", "OPENBLAS_CORETYPE": "Prescott"}
    command = [sys.executable, "-m", "flagfall", "verify", "j"]
    verified = subprocess.run(
        command, env={**os.environ, **other}, capture_output=True, text=True, check=False
    )
    assert verified.stdout.startswith("OK  j: 400 turns in 2 tasks are as they were recorded")


def test_options_are_part_of_the_name(call):
    text = 'gym:FrozenLake-v1?is_slippery=false&desc=["SF","FG"]'
    ended = call("run --agent silent --clock virtual --journal j --steps 3 --task", f"{text},gym:Taxi-v4")
    assert ended.code == 0
    header = next(iter(read_journal("j")))
    assert type(header) is MatchStarted
    assert header.tasks == [text, "gym:Taxi-v4"]
    assert call("verify j").code == 0


def test_a_recorded_difference_is_found(call):
    call("run --task gym:CartPole-v1 --agent players.py:balance --clock virtual --journal j")
    lines = Path("j").read_text().splitlines()
    place = next(number for number, line in enumerate(lines) if '"turn":7' in line)
    lines[place] = lines[place].replace('"action":0', '"action":2').replace('"action":1', '"action":0')
    Path("j").write_text("\n".join(lines) + "\n")
    verified = call("verify j")
    assert verified.code == 1
    assert verified.out.startswith("DIFFERENT  j: line ")


@pytest.mark.release
def test_agents_in_processes_and_threads_play_too(program):
    for host in ("process", "thread"):
        ended = program(
            "run --task gym:Pendulum-v1 --agent players.py:Ready --steps 40 --json --overwrite --journal j",
            "--host",
            host,
        )
        assert ended.code == 0, ended.err
        (match,) = ended.data()["matches"]
        assert match["seats"][0]["illegal"] == 0
        assert program("verify j").code == 0


@pytest.mark.release
def test_connect_four_between_processes(program):
    ended = program(f"run {FOUR} --agent players.py:lowest --agent players.py:slow --journal j.zst --json")
    assert ended.code == 0, ended.err
    (match,) = ended.data()["matches"]
    assert sorted(seat["reward"] for seat in match["seats"]) == [-1, 1]
    assert {seat["illegal"] for seat in match["seats"]} == {0}
    assert program("verify j.zst").code == 0


def test_connect_four_is_played_recorded_and_verified(call):
    ended = call(f"run {FOUR} --agent random --agent random --clock virtual --journal j --json --seed 5")
    assert ended.code == 0
    (match,) = ended.data()["matches"]
    assert match["reason"] == "finished"
    assert sorted(seat["reward"] for seat in match["seats"]) in ([-1, 1], [0, 0])
    assert {seat["illegal"] for seat in match["seats"]} == {0}
    assert call("verify j").code == 0
    turns = [event for event in read_journal("j") if type(event) is TurnPlayed]
    assert [turn.seat for turn in turns] == [number % 2 for number in range(len(turns))]


@pytest.mark.parametrize(
    ("control", "disqualified", "last"),
    [("act=40ms/1s", None, "late"), ("act=40ms/45ms", "late", "absent"), ("act=100ms", None, "on time")],
)
def test_a_slow_seat_costs_what_the_time_control_says(call, control, disqualified, last):
    ended = call(
        f"run {FOUR} --agent players.py:lowest --agent players.py:slow --clock virtual --journal j --json",
        "--time-control",
        control,
    )
    assert ended.code == 0
    (match,) = ended.data()["matches"]
    assert [seat["disqualified"] for seat in match["seats"]] == [None, disqualified]
    slow = [event for event in read_journal("j") if type(event) is TurnPlayed and event.seat == 1]
    assert slow[-1].verdict == last
    assert {turn.action for turn in slow if turn.verdict != "on time"} <= {None}, "the lowest legal action"
    assert call("verify j").code == 0


def test_seats_must_be_filled(call):
    ended = call(f"run {FOUR} --agent random")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "flagfall: the tasks seat 2 agents, but 1 are given: name one --agent per seat\n"


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (
            "gym:CartPol-v1",
            "gym:CartPol-v1: unknown Gymnasium environment 'CartPol-v1'; nearest: CartPole-v1",
        ),
        ("gym:CartPole-v1?gravity=3", "gym:CartPole-v1?gravity=3 cannot be made: TypeError: "),
        ("gym:CartPole-v1?nil=5", "gym:CartPole-v1?nil=5: nil=5 is not an action of Discrete(2)"),
        ("gym:Pendulum-v1?action_mask=true", "action_mask needs a Discrete action space, got Box"),
        ("pettingzoo:classic/chesss_v6", "unknown PettingZoo environment 'classic/chesss_v6'; nearest: cla"),
        ("pettingzoo:classic/conect_four_v3", "nearest: classic/connect_four"),
        ("pettingzo:classic/connect_four_v3", "unknown task 'pettingzo:classic/connect_four_v3'"),
    ],
)
def test_invalid_tasks_are_reported_in_one_line(call, task, words):
    ended = call("run --agent random --journal j --task", task)
    assert (ended.code, ended.out) == (2, "")
    assert words in ended.err
    assert ended.err.count("\n") == 1
    assert not Path("j").exists()


def test_an_ignored_seed_is_reported_and_not_verified(program):
    ended = program("run --task gym:unseeded:Unseeded-v0 --agent silent --journal j --clock virtual")
    assert ended.code == 0
    told = "flagfall: warning: gym:unseeded:Unseeded-v0: the environment ignores its seed: two resets"
    assert ended.err.startswith(told)
    assert ended.err.count("\n") == 1
    ends = [json.loads(line) for line in Path("j").read_text().splitlines() if '"event":"end"' in line]
    assert [end["metrics"]["ignores_seed"] for end in ends] == [True]
    verified = program("verify j --trust")
    assert verified.code == 1
    assert verified.out.startswith("NOT VERIFIED  j: the seals hold;")
    assert "the environment ignores its seed" in verified.out


def test_tasks_tells_how_environments_are_named(call):
    out = call("tasks").out
    assert "gym:CartPole-v1" in out
    assert "pettingzoo:classic/connect_four_v3" in out
