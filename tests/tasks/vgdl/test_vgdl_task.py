"""A level as a task: its contract, its actions and rewards, its observations, and what its id means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flagfall.cli import main
from flagfall.errors import UsageError
from flagfall.playing import run
from flagfall.tasks.catalog import make_task, task_ids
from flagfall.tasks.vgdl.language.game_parser import read_game
from flagfall.tasks.vgdl.language.level_parser import read_level
from flagfall.tasks.vgdl.task import ACTION_NAMES, VgdlTask
from flagfall.tasks.vgdl.task_id import OBSERVATIONS, TaskId, game_ids
from flagfall.tasks.vgdl.views.observer import StateObservation
from flagfall.testing import check_task
from tests.tasks.vgdl.zoo import PUBLIC_GAMES, ZOO, ZOO_LEVEL

NIL, LEFT, RIGHT, UP, DOWN, USE = range(6)

WALK = """\
BasicGame
    SpriteSet
        coin > Resource color=YELLOW
        goal > Door
        pit > Immovable
        avatar > MovingAvatar
    LevelMapping
        c > coin
        g > goal
        p > pit
    InteractionSet
        avatar wall > stepBack
        coin avatar > killSprite scoreChange=2
        goal avatar > killSprite scoreChange=10
        avatar pit > killSprite scoreChange=-3
    TerminationSet
        SpriteCounter stype=goal win=True
        SpriteCounter stype=avatar win=False
        Timeout limit=20 win=False
"""


def walk(level: str = "wwwwww\npA.cgw\nwwwwww", **options: Any) -> VgdlTask:
    game = read_game(WALK, "walk.txt")
    return VgdlTask(game, read_level(game, level, "walk_lvl0.txt"), **options)


def zoo_task(**options: Any) -> VgdlTask:
    game = read_game(ZOO, "zoo.txt")
    return VgdlTask(game, read_level(game, ZOO_LEVEL, "zoo_lvl0.txt"), **options)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "walk.txt").write_text(WALK)
    (tmp_path / "walk_lvl0.txt").write_text("wwwwww\npA.cgw\nwwwwww")
    (tmp_path / "walk_lvl1.txt").write_text("wwww\nwAgw\nwwww")
    return tmp_path


@pytest.mark.parametrize("observation", OBSERVATIONS)
def test_it_keeps_the_contract_of_tasks(observation) -> None:
    check_task(lambda: zoo_task(observation=observation), steps=60)


def test_a_game_that_is_won() -> None:
    task = walk()
    task.reset(0)
    steps = [task.step(RIGHT) for _ in range(3)]
    assert [step.reward for step in steps] == [0, 2, 10]
    assert [step.terminated for step in steps] == [False, False, True]
    assert task.result() is True
    assert task.metrics() == {"ep_length": 3, "reward": 12, "win": True, "score": 12.0, "ticks": 2}


def test_a_game_that_is_lost() -> None:
    task = walk()
    task.reset(0)
    step = task.step(LEFT)
    assert (step.reward, step.terminated, task.result()) == (-3, True, False)


def test_a_game_that_is_not_over_has_no_result() -> None:
    task = walk()
    task.reset(0)
    task.step(RIGHT)
    assert (task.result(), task.is_done()) == (None, False)


def test_time_runs_out() -> None:
    task = walk()
    task.reset(0)
    for _ in range(30):
        if task.step(NIL).terminated:
            break
    assert (task.num_steps_taken(), task.metrics()["ticks"], task.result()) == (21, 20, False)


def test_what_the_avatar_cannot_do_is_nothing() -> None:
    task = walk()
    before = task.reset(0)
    after = task.step(USE).observation
    assert after.avatar_last_action == "NIL"
    assert after.avatar_position == before.avatar_position


def test_actions_are_numbers_of_any_kind() -> None:
    task = walk()
    task.reset(0)
    assert VgdlTask.class_action_names() == ACTION_NAMES == ("NIL", "LEFT", "RIGHT", "UP", "DOWN", "USE")
    assert task.step(np.int64(RIGHT)).observation.avatar_last_action == "RIGHT"
    assert [task.is_legal(action) for action in (0, 5, 6, -1, np.int64(6), 1.0, "LEFT")] == [
        *(True, True, False, False, False, False, False),
    ]


def test_every_observation_can_be_read_as_text() -> None:
    board = zoo_task(observation="text").reset(0).splitlines()[1:]
    for observation in ("state", "planes"):
        task = zoo_task(observation=observation)
        assert task.describe_observation(task.reset(0)).splitlines()[1:] == board, observation
    task = zoo_task(observation="image", pixels=16)
    assert task.describe_observation(task.reset(0)) == "picture of 176 x 112 pixels"
    assert task.describe_action(UP) == "UP"


def test_what_it_shows() -> None:
    assert isinstance(zoo_task().reset(0), StateObservation)
    planes = zoo_task(observation="planes").reset(0)
    assert {name: value.dtype.name for name, value in planes.items()} == {
        "planes": "uint8",
        "avatar": "float32",
    }
    assert zoo_task(observation="image", pixels=16).reset(0).shape == (7 * 16, 11 * 16, 3)
    assert "wwwwwwwwwww" in zoo_task(observation="text").reset(0)


def test_it_renders_whatever_it_shows() -> None:
    for observation in OBSERVATIONS:
        task = zoo_task(observation=observation)
        task.reset(3)
        task.step(RIGHT)
        picture = task.render("rgb")
        assert np.array_equal(picture, zoo_task_after_a_step().render("rgb"))
        assert "score 0" in task.render("ansi")
    with pytest.raises(NotImplementedError, match="'braille'"):
        task.render("braille")


def zoo_task_after_a_step() -> VgdlTask:
    task = zoo_task()
    task.reset(3)
    task.step(RIGHT)
    return task


def test_a_picture_is_of_the_newest_episode() -> None:
    task = zoo_task(observation="image")
    first = task.reset(0)
    for _ in range(20):
        task.step(RIGHT)
    assert (task.reset(0) == first).all()
    assert (task.render("rgb") == first).all()


def test_the_snapshot_has_the_traces_form() -> None:
    task = walk()
    task.reset(0)
    assert task.snapshot()["avatar"]["type"] == "avatar"
    assert task.snapshot()["sprites"]["coin"] == [[3, 1]]


@pytest.mark.parametrize(
    "text",
    [
        "vgdl:zelda#0",
        "vgdl:games/zelda.txt#3",
        "vgdl:zelda.txt#my/level.txt:observation=image",
        "vgdl:zelda#1:observation=planes:block=20",
        "vgdl:zelda#1:block=own:pixels=24",
    ],
)
def test_an_id_says_all(text) -> None:
    assert str(TaskId.parse(text)) == text


def test_an_id_without_a_level_means_the_first() -> None:
    assert str(TaskId.parse("vgdl:zelda")) == "vgdl:zelda#0"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("vgdl:", "name a game"),
        ("vgdl:#3", "name a game"),
        ("vgdl:zelda#0:observation=plains", "nearest: planes"),
        ("vgdl:zelda#0:observed=image", "no option 'observed=image'; nearest"),
        ("vgdl:zelda#0:image", "no option 'image'"),
        ("vgdl:zelda#0:block=1", "a whole number from 2 to 200"),
        ("vgdl:zelda#0:block=10.5", "a whole number"),
        ("vgdl:zelda#0:pixels=own", "a whole number"),
        ("vgdl:zelda#0:block=5:block=6", "block is given twice"),
    ],
)
def test_an_id_that_means_nothing_is_told(text, told) -> None:
    with pytest.raises(UsageError, match=told):
        TaskId.parse(text)


def test_tasks_by_id(folder) -> None:
    task = make_task(f"vgdl:{folder}/walk.txt#1")
    task.reset(0)
    assert task.step(RIGHT).terminated
    assert task.id == f"vgdl:{folder}/walk.txt#1"
    with pytest.raises(UsageError, match=r"no file .*wolk.txt.; nearest: walk.txt"):
        make_task(f"vgdl:{folder}/wolk.txt#1")
    with pytest.raises(UsageError, match=r"walk has no level 2; it has 0, 1"):
        make_task(f"vgdl:{folder}/walk.txt#2")
    (folder / "walk.txt").write_text(WALK.replace("MovingAvatar", "MovngAvatar"))
    with pytest.raises(UsageError, match=r"walk.txt:6:18: .*'MovngAvatar'; nearest: MovingAvatar"):
        make_task(f"vgdl:{folder}/walk.txt#1")


def test_the_games_that_come_with_flagfall_have_names() -> None:
    tasks = [task_id for family, task_id in task_ids() if family == "vgdl"]
    assert tasks == [f"vgdl:{game}#0" for game in game_ids()]
    assert make_task(f"vgdl:{game_ids()[0]}#4").id == f"vgdl:{game_ids()[0]}#4"
    with pytest.raises(UsageError, match="no game 'causway'; nearest: causeway"):
        make_task("vgdl:causway#0")


class RightGoer:
    """Goes right."""

    def act(self, _observation: Any) -> int:
        return RIGHT


@pytest.mark.parametrize("observation", OBSERVATIONS)
def test_a_match_is_recorded_and_verified(folder, observation) -> None:
    journal = folder / "walk.jsonl"
    result = run(
        f"vgdl:{folder}/walk.txt#0:observation={observation}", RightGoer, clock="virtual", journal=journal
    )
    assert (result.tasks[0].reward, result.tasks[0].solved) == (12, 1)
    assert main(["verify", str(journal)]) == 0
    journal.write_text(journal.read_text().replace("walk.txt#0", "walk.txt#1"))  # as if on another level
    assert main(["verify", str(journal)]) == 1


@pytest.mark.skipif(not PUBLIC_GAMES.is_dir(), reason="the public games are not here")
def test_a_public_game_by_id() -> None:
    task = make_task(f"vgdl:{PUBLIC_GAMES}/aliens.txt#0:block=own")
    state = task.reset(0)
    assert (len(state.observation_grid), state.block_size) == (30, 32)
