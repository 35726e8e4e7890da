"""The sample that plays LangRoom, and the random one in there."""

from __future__ import annotations

import numpy as np
import pytest
import trio

from flagfall.agents.samples.basic import RandomAgent
from flagfall.agents.samples.langroom_solver import LANGROOM_WORDS, LangRoomSolver, _found_view
from flagfall.cli import main
from flagfall.events import TurnPlayed
from flagfall.playing import run
from flagfall.tasks.catalog import make_task
from flagfall.tasks.langroom.rules import WORDS, LangRoomRules
from flagfall.tasks.langroom.task import LangRoom
from flagfall.testing import check_agent


def test_it_knows_the_words_of_the_room():
    assert LANGROOM_WORDS == WORDS


@pytest.mark.parametrize("task", ["langroom", "langroom:answer-and-echo", "langroom:echo:vocab_size=100"])
@pytest.mark.parametrize("seed", [0, 1])
def test_it_answers_every_question(task, seed):
    tasks = [make_task(task) for _ in range(5)]
    result = run(tasks, LangRoomSolver, seed=seed, clock="virtual", scheduler="sequential:1")
    assert result.turns == 1000
    assert [task.result() for task in tasks] == [True] * 5


@pytest.mark.parametrize(("view", "resolution"), [(1, 15), (1, 64 - 1), (3, 70), (4, 27), (4, 9), (8, 85)])
def test_it_plays_with_other_views(view, resolution):
    for agent in (LangRoomSolver(view), LangRoomSolver()):
        task = make_task(f"langroom:view={view}:resolution={resolution}:length=400")
        run(task, agent, clock="virtual")
        assert task.result() is True


@pytest.mark.parametrize("view", range(1, 9))
def test_it_finds_out_how_far_it_sees(view):
    cells = 2 * view + 1
    resolutions = [size for size in range(cells, 90) if size % cells % 2 == 0]
    for resolution in resolutions:
        first = LangRoom(LangRoomRules(view=view, resolution=resolution)).reset(resolution)
        assert _found_view(first["image"]) == view, f"view={view}:resolution={resolution}"


def test_what_is_no_beginning_has_the_usual_view():
    assert _found_view(np.zeros((15, 15, 3), np.uint8)) == 2


class OftenLate(LangRoomSolver):
    """Sleeps over its time every fifth turn, so that it stays where it was."""

    turns = 0

    async def act(self, observation, timer):  # type: ignore[override]  # an agent may be either
        self.turns += 1
        action = super().act(observation, timer)
        if self.turns % 5 == 0:
            await trio.sleep(1.5)
        return action


def test_it_knows_where_it_is_when_it_was_late():
    task = make_task("langroom:length=2000")
    result = run(task, OftenLate, clock="virtual", time_control="act=1s/5s")
    assert result.seats[0].stats.late == 400
    told = task.metrics()
    assert told["questions"] > 50
    assert told["answered"] > 0.6 * told["questions"]  # the others came too late
    assert told["reward"] == told["answered"]  # none was wrong


def test_it_lasts():
    check_agent(LangRoomSolver, tasks=["langroom", "langroom:echo"])


@pytest.mark.release
def test_it_lasts_in_a_thread_and_in_a_process():
    check_agent("langroom-solver", host="thread", tasks=["langroom"], steps=100)
    check_agent("langroom-solver", host="process", tasks=["langroom"], steps=100)


def note(event, actions):
    if isinstance(event, TurnPlayed):
        actions.append(event.action)


def test_the_random_one_moves_and_talks_in_a_room():
    task = make_task("langroom")
    actions: list[dict[str, int]] = []
    result = run(task, RandomAgent, clock="virtual", sinks=[lambda event: note(event, actions)])
    assert result.seats[0].stats.illegal == 0
    assert {action["move"] for action in actions} == set(range(5))
    assert {action["talk"] for action in actions} == set(range(15))


def test_a_journal_of_a_room_verifies(tmp_path, capsys):
    journal = str(tmp_path / "room.jsonl.zst")
    line = f"run --task langroom langroom:echo --agent langroom-solver --clock virtual --journal {journal}"
    assert main(line.split()) == 0
    assert main(["verify", journal]) == 0
    assert "400 turns in 2 tasks" in capsys.readouterr().out
