"""The examination finds what is wrong with an agent, and nothing where nothing is."""

from __future__ import annotations

import random
from typing import Any

from flagfall.agents.hosts.in_loop import LoopHost
from flagfall.agents.samples.basic import RandomAgent
from flagfall.testing.agent_report import LONG_TURNS, Examinee, Mark, examine
from flagfall.timing import TimeControl

TASKS = ("micro1", "micro4")


def marks(agent: Any, control: str = "start=10s act=1s/5s") -> dict[str, Mark]:
    examinee = Examinee(lambda name: LoopHost(agent, name), TASKS, TimeControl.parse(control))
    return {mark.question: mark for mark in examine(examinee)}


def failed(found: dict[str, Mark]) -> set[str]:
    return {question for question, mark in found.items() if mark.passed is False}


def test_a_good_agent_passes():
    found = marks(RandomAgent)
    assert failed(found) == set()
    assert found["lasts in a long game"].found == f"{LONG_TURNS} turns"
    assert found["protocol errors"].found == "0 illegal actions, 0 replies that answer nothing"
    assert set(found) == {
        "comes up in",
        "answers in",
        "is late",
        "protocol errors",
        "lasts in a long game",
        "lasts over resets",
        "plays alike with one seed",
        "goes when it is told to",
    }


def test_one_that_does_not_come_up_is_asked_nothing_else():
    def broken(_observation: int) -> int:
        raise ValueError("boom")

    found = marks(broken)
    assert list(found) == ["comes up"]
    assert "ValueError: boom" in found["comes up"].found


def test_one_that_breaks_down_later_does_not_last():
    class Tires:
        def __init__(self) -> None:
            self.answers = 0

        def reply(self, _byte: int, _reward: float) -> int:
            self.answers += 1
            if self.answers > 1000:
                raise ValueError("enough")
            return 32

    assert failed(marks(Tires)) == {"lasts in a long game", "lasts over resets"}


def test_one_that_breaks_the_rules_is_found():
    class Says:
        async def run(self, seat: Any) -> None:
            async for turn in seat:
                seat.reply(None if turn.number == 5 else 32)
                if turn.number == 7:
                    seat.reply(33)

    found = marks(Says)
    assert failed(found) == {"protocol errors"}
    assert found["protocol errors"].found == "1 illegal actions, 1 replies that answer nothing"


def test_one_that_draws_by_lot_of_its_own_does_not_repeat_itself():
    dice = random.SystemRandom()
    found = marks(lambda _observation: dice.randrange(32, 127))
    assert failed(found) == {"plays alike with one seed"}
    assert found["plays alike with one seed"].found.startswith("differs from turn ")
