"""The report on an agent finds faults, and none in a sound agent."""

from __future__ import annotations

import random
from typing import Any

from flagfall.agents.hosts.this_process import LoopHost
from flagfall.agents.samples.basic import RandomAgent
from flagfall.testing.agent_report import LONG_TURNS, AgentUnderTest, Grade, report_agent
from flagfall.timing import TimeControl

TASKS = ("micro1", "micro4")


def grades(agent: Any, control: str = "start=10s act=1s/5s") -> dict[str, Grade]:
    tested = AgentUnderTest(lambda name: LoopHost(agent, name), TASKS, TimeControl.parse(control))
    return {grade.check: grade for grade in report_agent(tested)}


def failed(found: dict[str, Grade]) -> set[str]:
    return {check for check, grade in found.items() if grade.passed is False}


def test_a_good_agent_passes():
    found = grades(RandomAgent)
    assert failed(found) == set()
    assert found["lasts in a long game"].found == f"{LONG_TURNS:,} turns"
    assert found["protocol errors"].found == "0 illegal actions, 0 replies that answer no turn"
    assert set(found) == {
        "starts in",
        "answers in",
        "is late",
        "protocol errors",
        "lasts in a long game",
        "lasts over resets",
        "repeats a match with the same seed",
        "ends when cancelled",
    }


def test_one_that_does_not_come_up_is_asked_nothing_else():
    def broken(_observation: int) -> int:
        raise ValueError("boom")

    found = grades(broken)
    assert list(found) == ["starts"]
    assert "ValueError: boom" in found["starts"].found


def test_one_that_breaks_down_later_does_not_last():
    class Tires:
        def __init__(self) -> None:
            self.answers = 0

        def reply(self, _byte: int, _reward: float) -> int:
            self.answers += 1
            if self.answers > 1000:
                raise ValueError("enough")
            return 32

    assert failed(grades(Tires)) == {"lasts in a long game", "lasts over resets"}


def test_one_that_breaks_the_rules_is_found():
    class Says:
        async def run(self, seat: Any) -> None:
            async for turn in seat:
                seat.reply(None if turn.number == 5 else 32)
                if turn.number == 7:
                    seat.reply(33)

    found = grades(Says)
    assert failed(found) == {"protocol errors"}
    assert (
        found["protocol errors"].found
        == "1 illegal action (first: turn 5, seat 0), 1 reply that answers no turn"
    )


def test_one_that_draws_by_lot_of_its_own_does_not_repeat_itself():
    dice = random.SystemRandom()
    found = grades(lambda _observation: dice.randrange(32, 127))
    assert failed(found) == {"repeats a match with the same seed"}
    assert found["repeats a match with the same seed"].found.startswith("differs from turn ")
