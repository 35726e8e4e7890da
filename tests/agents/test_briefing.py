"""What an agent is told of its task in words, in each host, and how it follows the task that is played."""

from __future__ import annotations

from typing import Any

import pytest
from gymnasium import spaces

from flagfall.agents.hosts.registry import host_agent
from flagfall.agents.hosts.this_process import LoopHost
from flagfall.kernel.descriptions import MAX_INSTRUCTIONS_CHARS, MAX_NAMED_ACTIONS
from flagfall.kernel.hosting import Briefing
from flagfall.kernel.roles import complete_task
from flagfall.kernel.spaces import TaskDescription, describe_task, whole_numbers
from tests.fakes import CountTask, InTurnTask, Played, play_here

PATIENT = "start=20s act=20s/30s init=20s"


class Reader:
    """Notes what it is told in each turn."""

    texts = True

    def start(self, briefing: Briefing) -> None:
        self.briefing = briefing
        self.first = told(briefing.task)

    def act(self, observation: Any) -> int:  # noqa: ARG002 - it reads the text
        task = told(self.briefing.task)
        self.briefing.note({"first": self.first, "task": task, "text": self.briefing.text})
        return 1


class Unread(Reader):
    """Does not ask for texts."""

    texts = False


def told(task: TaskDescription | None) -> Any:
    return None if task is None else [task.name, task.instructions, task.player, list(task.actions)]


class Steps(CountTask):
    id = "steps"
    nil_action = 1
    instructions = "Go up."
    action_space = spaces.Discrete(2, start=1)

    def describe_action(self, action: Any, player: Any = None) -> str:  # noqa: ARG002
        return {1: "UP", 2: "DOWN"}[action]

    def describe_observation(self, observation: Any, player: Any = None) -> str:
        return f"at {observation} of {player}"


class Broken(Steps):
    id = "broken"

    def describe_action(self, action: Any, player: Any = None) -> str:  # noqa: ARG002
        raise ValueError(action)

    def describe_observation(self, observation: Any, player: Any = None) -> str:  # noqa: ARG002
        raise ValueError(observation)

    @property
    def instructions(self) -> str:  # type: ignore[override]
        raise ValueError


class Quits(Broken):
    id = "quits"

    def describe_action(self, action: Any, player: Any = None) -> str:  # noqa: ARG002
        raise SystemExit

    def describe_observation(self, observation: Any, player: Any = None) -> str:  # noqa: ARG002
        raise SystemExit


class Unwritable(Steps):
    """Says what UTF-8 cannot hold."""

    id = "unwritable"
    instructions = "a\ud800b"

    def describe_action(self, action: Any, player: Any = None) -> str:  # noqa: ARG002
        return "\udfff" * int(action)

    def describe_observation(self, observation: Any, player: Any = None) -> str:  # noqa: ARG002
        return f"{observation}\ud800"


class Colours(InTurnTask):
    id = "colours"

    def describe_player(self, player: str) -> str:
        return {"player_0": "white", "player_1": "black"}[player]


def notes(played: Played, seat: int = 0) -> list[Any]:
    return [turn.note for turn in played.turns if turn.seat == seat]


@pytest.mark.parametrize("host", ["task", "thread", "process"])
async def test_it_follows_the_task_that_is_played(host: Any):
    tasks = [Steps(1), CountTask(1, continuous=True), Broken(1)]
    agent = LoopHost(Reader, "reader") if host == "task" else host_agent(READER, host)
    played = await play_here(tasks, agent, control=PATIENT)
    steps = ["steps", "Go up.", "", ["UP", "DOWN"]]
    first, second, third = notes(played)
    assert played.disqualified == []
    assert first == {"first": steps, "task": steps, "text": "at 0 of player_0"}
    assert second["task"] is None
    assert third["task"] == ["broken", "", "", []]
    assert third["text"] == "0"


READER = f"{__name__}:Reader"


@pytest.mark.parametrize("host", ["task", "thread", "process"])
async def test_no_text_of_a_task_ends_a_match(host: Any):
    agent = LoopHost(Reader, "reader") if host == "task" else host_agent(READER, host)
    played = await play_here([Quits(1), Unwritable(1)], agent, control=PATIENT)
    quits, unwritable = notes(played)
    assert played.disqualified == []
    assert (quits["task"], quits["text"]) == (["quits", "", "", []], "0")
    assert (unwritable["task"], unwritable["text"]) == (["unwritable", "a?b", "", ["?", "??"]], "0?")


async def test_texts_are_made_for_those_who_read_them():
    played = await play_here(Steps(2), host_agent(f"{__name__}:Unread", "process"), control=PATIENT)
    assert [note["text"] for note in notes(played)] == ["", ""]


@pytest.mark.parametrize("host", ["task", "process"])
async def test_each_seat_has_its_player(host: Any):
    agents = [LoopHost(Reader, "x") if host == "task" else host_agent(READER, host) for _ in range(2)]
    played = await play_here(Colours([0, 1, 0]), *agents, control=PATIENT)
    players = [[note["task"][2] for note in notes(played, seat)] for seat in (0, 1)]
    assert players == [["white", "white"], ["black"]]


async def test_a_byte_task_tells_nothing_that_names_it():
    played = await play_here(
        [CountTask(2, continuous=True), CountTask(2, continuous=True)],
        host_agent(READER, "process"),
        control=PATIENT,
    )
    assert [note["task"] for note in notes(played)] == [None] * 4
    assert [note["text"] for note in notes(played)] == [""] * 4


def test_what_a_task_says_is_bounded():
    class Long(Steps):
        instructions = "x" * 2 * MAX_INSTRUCTIONS_CHARS

    described = describe_task(complete_task(Long()), 0, whole_numbers(MAX_NAMED_ACTIONS + 1))
    assert described is not None
    assert len(described.instructions) == MAX_INSTRUCTIONS_CHARS
    assert described.actions == ()
    named = describe_task(complete_task(Long()), 0, whole_numbers(MAX_NAMED_ACTIONS))
    assert named is not None
    assert len(named.actions) == MAX_NAMED_ACTIONS
