"""Q-learning with a table: it learns a small game from each kind of observation, and only from rewards."""

from __future__ import annotations

from pathlib import Path

import pytest

from flagfall.agents.samples.basic import GAME_ACTIONS, QLearningAgent, RandomAgent
from flagfall.events import TaskEnded
from flagfall.kernel.hosting import Briefing
from flagfall.playing import run

WAY = """\
BasicGame
    SpriteSet
        goal > Door
        pit > Immovable
        avatar > MovingAvatar
    LevelMapping
        g > goal
        p > pit
    InteractionSet
        avatar wall > stepBack
        goal avatar > killSprite scoreChange=10
        avatar pit > killSprite scoreChange=-3
    TerminationSet
        SpriteCounter stype=goal win=True
        SpriteCounter stype=avatar win=False
        Timeout limit=40 win=False
"""
LEVEL = "wwwwww\nwA  pw\nwp  gw\nwwwwww"


@pytest.fixture
def game(tmp_path: Path) -> str:
    (tmp_path / "way.txt").write_text(WAY)
    (tmp_path / "way_lvl0.txt").write_text(LEVEL)
    return f"vgdl:{tmp_path}/way.txt#0"


def wins(task: str, agent: object, games: int = 120) -> list[bool]:
    """Which games it won."""
    ended: list[TaskEnded] = []
    run(
        task,
        agent,
        scheduler=f"sequential:{games}",
        clock="virtual",
        seed=3,
        sinks=[lambda event: ended.append(event) if isinstance(event, TaskEnded) else None],
    )
    return [event.result is True for event in ended]


@pytest.mark.parametrize("observation", ["planes", "state", "text", "image"])
def test_it_learns_to_win(game, observation) -> None:
    won = wins(f"{game}:observation={observation}", QLearningAgent())
    assert sum(won[-30:]) >= 22
    assert sum(won[-30:]) >= sum(wins(game, RandomAgent())[-30:]) + 10


def test_it_learns_only_from_rewards(game) -> None:
    agent = QLearningAgent(rate=0.0)
    wins(game, agent, games=5)
    assert {value for values in agent._values.values() for value in values} == {0.0}


def test_a_reward_is_for_the_action_before_it() -> None:
    agent = QLearningAgent(2, rate=1.0, curiosity=0.0)
    agent.start(Briefing(seat=0, seats=1, seed=0, time_control=""))
    agent.init("0\nhere")
    first = agent.reply("0\nhere", 0)
    agent.reply("1\nthere", 5)
    assert agent._values[agent._situation("7\nhere")][first] == 5
    agent.result("2\nover", -2)
    assert -2 in agent._values[agent._situation("there is no first line\nthere")]


def test_the_random_one_plays_games_too(game) -> None:
    assert len(wins(game, RandomAgent(), games=3)) == 3
    agent = RandomAgent()
    agent.start(Briefing(seat=0, seats=1, seed=0, time_control=""))
    assert {agent.reply("a text", 0) for _ in range(200)} == set(range(GAME_ACTIONS))
