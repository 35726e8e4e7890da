"""Every task of round 1 hears, says and pays in each step what the step loop of the specification does.

Task and loop are given the same learner, seed for seed; time limits are short in most instances, so that they
run out in the middle of everything.
"""

from __future__ import annotations

from random import Random

import attrs
import pytest

from flagfall.tasks.commai.byte_task import ByteTask
from flagfall.tasks.commai.catalog import CATALOG, make_catalog
from flagfall.tasks.commai.micro.engine import MicroTask
from flagfall.tasks.commai.mini.task import CONGRATULATIONS, MiniTask
from tests.conformance.round1_agents import Pupil
from tests.conformance.round1_step_loop import MicroScript, MiniScript, Teacher

LIMITS = [1, 2, 7, 40, 45, 60, 80, 100, 150, 400, *(4 * [100_000])]
LENIENT = {"micro6", "micro15", "micro19", "micro20"}


class Unruly(Pupil):
    """Often right, and otherwise talks into everything, dots and answers first of all."""

    def reply(self, said: int) -> int:
        byte = super().reply(said)
        talks = not self.answer and self.rng.random() < self.talkative
        return self.rng.choice(b"....truefals !IN") if talks else byte

    def begin(self, task: ByteTask) -> None:
        super().begin(task)
        self.RIGHT = self.rng.choice([1.0, 1.0, 0.95, 0.5])
        self.talkative = self.rng.choice([0, 0, 0.01, 0.2])
        self.answer = None


def polite(heard: str) -> str | None:
    """A world: answers what ends with `!` or a command."""
    return "Why? " if heard.endswith("!") else "Nothing here." if heard.endswith("I.") else None


class World:
    """The same as an object, for the task."""

    def start(self) -> None: ...

    def hear(self, heard: str) -> str | None:
        return polite(heard)

    def render(self) -> str:
        return ""


def limited(task: ByteTask, max_time: int) -> ByteTask:
    if isinstance(task, MiniTask):
        task.max_time = max_time
    else:
        assert isinstance(task, MicroTask)
        task.rules = attrs.evolve(task.rules, max_time=max_time)
    return task


def teacher(task: ByteTask, seed: int, max_time: int) -> Teacher:
    """The loop for the next instance of a task that draws as another one of its kind does."""
    rng = Random(seed)
    if isinstance(task, MiniTask):
        example = task._make_example(rng)
        answer = "true" if example.fits else "false"
        world = None if task.world is None else polite
        praise = lambda: rng.choice(CONGRATULATIONS).decode()  # noqa: E731 - drawn when it is said
        script = MiniScript(example.description, example.string, answer, praise, world)
        return Teacher(script, max_time)
    assert isinstance(task, MicroTask)
    times = 3 if task.id in LENIENT else 2
    return Teacher(MicroScript(task._make_source(rng), times), max_time, skip_separator=True)


def played_alike(task: ByteTask, other: ByteTask, steps: int) -> tuple[int, set[object]]:
    """Play both for `steps` steps; return the number of instances, and their results."""
    instances, chance = 0, Random(task.id)
    results: set[object] = set()
    learner = Unruly(chance)
    while steps > 0:
        max_time = chance.choice(LIMITS)
        loop = teacher(other, instances, max_time)
        byte: int | None = limited(task, max_time).reset(instances)
        assert chr(byte or 0) == loop.begin()
        learner.begin(task)
        told = ""
        while byte is not None:
            reply = learner.reply(byte)
            result = task.step(reply)
            token, reward = loop.next(chr(reply))
            byte = result.observation
            told += chr(reply) + (token or "|")
            assert (None if byte is None else chr(byte), result.reward) == (token, reward), told
            assert result.terminated == (token is None)
            steps -= 1
        assert task.result() is loop.result, told
        results.add(loop.result)
        instances += 1
    return instances, results


@pytest.mark.parametrize("task", CATALOG)
def test_a_task_is_what_the_step_loop_makes_of_it(task: str) -> None:
    instances, results = played_alike(CATALOG[task](), CATALOG[task](), 20_000)
    assert instances > 8
    assert results == {True, False}


@pytest.mark.parametrize("task", [task for task in CATALOG if task.startswith("mini")])
def test_a_task_in_a_world_is_what_the_step_loop_makes_of_it(task: str) -> None:
    catalog = make_catalog(world=World())
    instances, results = played_alike(catalog[task](), catalog[task](), 20_000)
    assert instances > 8
    assert results == {True, False}
