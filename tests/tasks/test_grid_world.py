"""The commands of the grid world and its picture."""

from __future__ import annotations

import pytest

from flagfall.kernel.channels.codecs import SILENCE
from flagfall.tasks.commai.catalog import make_catalog
from flagfall.tasks.commai.world import Entity, GridWorld, World


@pytest.fixture
def world() -> GridWorld:
    return GridWorld()


def test_it_is_a_world() -> None:
    assert isinstance(GridWorld(), World)


@pytest.mark.parametrize(
    ("side", "ways"),
    [("left", ["west", "south", "east", "north"]), ("right", ["east", "south", "west", "north"])],
)
def test_turning(world: GridWorld, side: str, ways: list[str]) -> None:
    for way in ways:
        assert world.hear(f"I turn {side}.") == f"You turned {side}, you are now facing {way}."
        assert world.direction == way
    assert world.changes == 4


@pytest.mark.parametrize(
    ("direction", "position"), [("north", (0, -1)), ("east", (1, 0)), ("south", (0, 1)), ("west", (-1, 0))]
)
def test_moving(world: GridWorld, direction: str, position: tuple[int, int]) -> None:
    world.direction = direction
    assert world.hear("I move forward.") == "You moved."
    assert world.position == position


def test_some_things_stand_in_the_way(world: GridWorld) -> None:
    world.place("block", (0, -2), traversable=False)
    world.place("rug", (0, -1))
    assert world.hear("I move forward.") == "You moved."
    assert world.hear("I move forward.") == "You can't move."
    assert world.position == (0, -1)
    assert world.changes == 1


def test_looking(world: GridWorld) -> None:
    assert world.hear("I look.") == "There is nothing here."
    world.place("apple", (0, -1))
    assert world.hear("I look.") == "There is a apple."
    assert world.changes == 0


def test_picking_up(world: GridWorld) -> None:
    assert world.hear("I pick up the apple.") == "There is no apple here."
    world.place("pear", (0, -1))
    assert world.hear("I pick up the apple.") == "There is no apple here."
    world.place("apple", (0, -1))
    assert world.hear("I pick up the apple.") == "You picked up the apple."
    assert world.learner_has["apple"] == 1
    assert world.entities == {}
    world.place("block", (0, -1), pickable=False)
    assert world.hear("I pick up the block.") == "You can't pick up the block."
    assert world.entities == {(0, -1): Entity("block", pickable=False)}
    assert world.changes == 1


@pytest.mark.parametrize("article", ["a", "an"])
def test_giving(world: GridWorld, article: str) -> None:
    assert world.hear(f"I give you {article} apple.") == "I haven't asked you for an apple."
    assert world.hear(f"I give you {article} pear.") == "I haven't asked you for a pear."
    world.accepted.add("apple")
    assert world.hear(f"I give you {article} apple.") == "You gave me an apple."
    assert (world.learner_has["apple"], world.teacher_has["apple"]) == (-1, 1)
    assert world.changes == 1


@pytest.mark.parametrize("before", ["", "x", "what? ", "I turn left.", "I pick up the "])
def test_anything_may_precede_a_command(world: GridWorld, before: str) -> None:
    assert world.hear(f"{before}I turn right.") == "You turned right, you are now facing east."


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "I look",
        "I look. ",
        "I look.\n",
        "i look.",
        "I  look.",
        "I look .",
        "I turn back.",
        "I pick up apple.",
        "I pick up the red apple.",
        "I give you apple.",
    ],
)
def test_what_is_no_command_is_ignored(world: GridWorld, text: str) -> None:
    assert world.hear(text) is None
    assert world.changes == 0


def test_a_mini_task_may_be_played_in_it(world: GridWorld) -> None:
    """Specification 8.1: a command ends the instance like any sentence; the world replies first."""
    task = make_catalog(world=world)["mini1"]()
    told = chr(task.reset(0))
    while not told.endswith("."):
        told += chr(task.step(SILENCE).observation)
    for char in "I turn left.".ljust(200):
        result = task.step(ord(char))
        if result.terminated:
            break
        told += chr(result.observation)
    assert "You turned left, you are now facing west.Wrong. The right answer is: " in told
    assert task.result() is False
    assert world.direction == "west"


def test_starting_forgets_everything(world: GridWorld) -> None:
    world.place("apple", (0, -1))
    world.accepted.add("apple")
    for command in ("pick up the apple", "give you an apple", "move forward", "turn left"):
        world.hear(f"I {command}.")
    world.place("pear", (5, 5))
    world.start()
    assert vars(world).keys() == vars(GridWorld()).keys()
    assert (world.position, world.direction, world.changes) == ((0, 0), "north", 0)
    assert not any([world.entities, world.learner_has, world.teacher_has, world.accepted])


def test_removing_from_an_empty_cell_does_nothing(world: GridWorld) -> None:
    world.remove((3, 3))
    assert world.entities == {}


def test_the_picture(world: GridWorld) -> None:
    world.direction = "east"
    world.position = (10, -1)
    world.place("pineapple", (11, -2))
    world.place("cat", (8, 1))
    world.place("rug", (10, -1))
    world.place("far", (13, 0))
    assert world.render().splitlines() == [
        "        8   9  10  11  12",
        "     +---+---+---+---+---+",
        "  -3 |   |   |   |   |   |",
        "     |   |   |   |   |   |",
        "     +---+---+---+---+---+",
        "  -2 |   |   |   |pin|   |",
        "     |   |   |   |eap|   |",
        "     +---+---+---+---+---+",
        "  -1 |   |   |eee|   |   |",
        "     |   |   |eee|   |   |",
        "     +---+---+---+---+---+",
        "   0 |   |   |   |   |   |",
        "     |   |   |   |   |   |",
        "     +---+---+---+---+---+",
        "   1 |cat|   |   |   |   |",
        "     |   |   |   |   |   |",
        "     +---+---+---+---+---+",
    ]
