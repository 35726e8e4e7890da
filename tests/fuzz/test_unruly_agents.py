"""Whatever an agent replies, to whatever turn: the match counts, and its journal verifies."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from flagfall import read_journal
from flagfall.events import ReplyDropped
from flagfall.playing import run
from flagfall.recording.verify import verify
from flagfall.tasks.building import rebuild
from tests.fuzz.unruly_agents import play_and_verify

MATCHES = 60

AGENTS = """
NUMBERS = {numbers}

class Numbered:
    "Replies to turns of odd numbers as well."

    async def run(self, seat):
        async for turn in seat:
            for number in NUMBERS:
                seat.reply(1, number)
            seat.reply(1, turn.number + 1)
            seat.reply(1)
            seat.reply(1, turn.number + 2)
"""

PROGRAM = """
import json, sys

def say(**message):
    sys.stdout.write(json.dumps(message) + "\\n")
    sys.stdout.flush()

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        say(type="ready")
    elif message["type"] == "ask":
        number = message["number"]
        for other in {numbers}:
            say(type="answer", number=other, action=1)
        say(type="answer", number=number + 1, action=1)
        say(type="answer", number=number, action=1)
    else:
        break
"""
NUMBERS = [9, 10**6, -1, -5, -(10**9), 2**53 + 1, 2**63 - 1]
HUGE = [2**63, 2**70, -(2**70)]


def test_journals_of_random_matches_verify(tmp_path: Path):
    for seed in range(MATCHES):
        result, found = play_and_verify(seed, tmp_path)
        assert result.reason != "void", seed
        assert found.ok, f"seed {seed}: {found}"


@pytest.mark.parametrize(
    ("host", "clock"),
    [("task", "virtual"), ("task", "wall"), ("thread", "wall"), ("process", "wall"), ("program", "wall")],
)
@pytest.mark.parametrize("task", ["micro1", "pettingzoo:classic/tictactoe_v3"])
def test_replies_to_turns_not_asked_yet_spoil_no_journal(tmp_path, host, clock, task):
    (tmp_path / "numbered.py").write_text(AGENTS.replace("{numbers}", repr(NUMBERS)))
    (tmp_path / "program.py").write_text(PROGRAM.replace("{numbers}", repr(NUMBERS + HUGE)))
    agent = f"{tmp_path}/numbered.py:Numbered"
    if host == "program":
        host, agent = None, f"cmd:{sys.executable} {tmp_path}/program.py"
    journal = tmp_path / "journal.jsonl"
    result = run(
        task,
        [agent] if task == "micro1" else [agent, "random"],
        steps=8,
        host=host,
        clock=clock,
        journal=journal,
        time_control="start=20s act=20s",
    )
    assert result.seats[0].disqualified is None
    found = verify(journal, rebuild)
    assert found.ok, found
    dropped = [event for event in read_journal(journal) if type(event) is ReplyDropped]
    assert {event.why for event in dropped} >= {"unasked"}


def test_a_number_that_no_journal_can_hold_does_not_void_the_match(tmp_path):
    async def act(seat):
        async for _turn in seat:
            seat.reply(32, 10**5000)
            seat.reply(32)

    result = run("micro1", act, steps=5, clock="virtual", journal=tmp_path / "j")
    assert result.reason == "steps"
    lines = [json.loads(line) for line in (tmp_path / "j").read_bytes().splitlines()]
    assert {line["turn"] for line in lines if line["event"] == "dropped"} == {-1}
    assert verify(tmp_path / "j", rebuild).ok
