"""Messages about mistakes that new users make: each names the mistake and the way out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from gymnasium.spaces import Discrete

import flagfall
from flagfall.errors import UsageError
from flagfall.tasks import StepResult, Task

Call = Callable[..., Any]

ASYNCIO = """
import asyncio

async def act(observation):
    await asyncio.sleep(0)
    return 32

class Declared:
    loop = "asyncio"

    async def act(self, observation):
        await asyncio.sleep(0)
        return 32
"""

HINT = 'set its attribute loop = "asyncio"'


class PlusOne(Task):
    """Shows ones for three steps."""

    id = "plus-one"
    observation_space = Discrete(10)
    action_space = Discrete(10)

    def _reset(self, seed: int) -> int:  # noqa: ARG002
        return 1

    def _step(self, action: int) -> StepResult:
        return StepResult(1, float(action == 2), False, False, {})

    def reached_terminal_state(self) -> bool:
        return self.num_steps_taken() >= 3


class Needy(PlusOne):
    """Needs an argument."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size


@pytest.mark.parametrize("host", ["task", "process"])
def test_an_undeclared_asyncio_agent_gets_a_hint(call: Call, folder: Path, host: str) -> None:
    (folder / "aio.py").write_text(ASYNCIO)
    ended = call(f"run --task micro1 --steps 3 --agent aio.py:act --host {host}")
    assert "disqualified: crashed" in ended.out
    assert HINT in ended.out


def test_an_asyncio_agent_is_refused_in_the_event_loop_before_the_start(call: Call, folder: Path) -> None:
    (folder / "aio.py").write_text(ASYNCIO)
    ended = call("run --task micro1 --steps 3 --agent aio.py:Declared --host task --journal there.jsonl")
    assert (ended.code, ended.out) == (2, "")
    assert "use host process or thread" in ended.err
    assert not (folder / "there.jsonl").exists()
    assert call("run --task micro1 --steps 3 --agent aio.py:Declared").code == 0


def test_illegal_actions_are_shown_beside_legal_ones(call: Call, folder: Path) -> None:
    (folder / "wild.py").write_text("def act(observation):\n    return 999\n")
    ended = call("run --task micro1 --steps 3 --agent wild.py:act")
    shown = "act played 3 illegal actions; the first in turn 0: 999; legal: a whole number from 0 to 255"
    assert shown in ended.out
    note = call("run --task micro1 --steps 3 --agent wild.py:act --json").data()["matches"][0]["seats"][0]
    assert note["illegal_note"] in shown


def test_illegal_actions_are_logged_beside_legal_ones(call: Call, folder: Path) -> None:
    (folder / "wild.py").write_text("def act(observation):\n    return 'left'\n")
    ended = call("run --task vgdl:causeway#0 --steps 2 --agent wild.py:act --log-level warning")
    first = json.loads(ended.err.splitlines()[0])
    assert (first["refused"], first["legal"]) == ("'left'", "a whole number from 0 to 5")


def test_a_file_without_a_name_lists_its_agents(call: Call, folder: Path) -> None:
    (folder / "mine.py").write_text(
        "class One:\n    def act(self, o): ...\nclass _No(One): ...\nclass Note: ...\n"
    )
    ended = call("run --task micro1 --agent mine.py")
    assert (ended.code, ended.err.strip()) == (
        2,
        "flagfall: agent 'mine.py' names a file, not an agent in it: write mine.py:One",
    )
    ended = call("run --task micro1 --agent bots.py")
    assert "bots.py:Echo or bots.py:Crash or" in ended.err
    (folder / "broken.py").write_text("def (")
    assert "write broken.py:Name" in call("run --task micro1 --agent broken.py").err


@pytest.mark.parametrize("line", ["run --agent random --task mine.py", "check-task mine.py?size=3"])
def test_a_file_without_a_name_lists_its_tasks(call: Call, folder: Path, line: str) -> None:
    assert call("new task mine").code == 0
    with (folder / "mine.py").open("a") as file:
        file.write("\nclass Tool: ...\n\ndef helper(): ...\n")
    ended = call(line)
    assert ended.code == 2
    assert ended.err.endswith("names a file, not a task in it: write mine.py:Mine\n")
    (folder / "mine.py").write_text("def make(): ...\n")
    assert "write mine.py:make\n" in call(line).err


def test_a_file_that_is_no_journal_is_not_a_difference(call: Call, folder: Path) -> None:
    (folder / "README.md").write_text("# A title\n\nand a text\n")
    ended = call("verify README.md")
    assert (ended.code, ended.out) == (2, "")
    assert "README.md: line 1: this is not a journal" in ended.err


def test_control_after_the_end_names_the_state(call: Call, folder: Path) -> None:
    (folder / "plan.toml").write_text(
        'clock = "virtual"\nrepeats = 2\n[[agents]]\nspec = "random"\n[[tasks]]\ntask = "micro1"\nsteps = 5\n'
    )
    assert call("tournament plan.toml --output done --quiet").code == 0
    ended = call("ctl done")
    assert (ended.code, ended.out) == (2, "")
    assert "the tournament in done is over; for its standings: flagfall results done" in ended.err


def test_a_task_may_be_given_as_its_class() -> None:
    result = flagfall.run(PlusOne, "random", clock="virtual")
    assert result.tasks[0].task == "plus-one"
    with pytest.raises(UsageError, match="Needy is a class; give an instance of it"):
        flagfall.run([Needy], "random", clock="virtual")
    with pytest.raises(UsageError, match="neither a task, an id"):
        flagfall.run(5, "random", clock="virtual")  # type: ignore[arg-type]  # a mistake


async def test_run_in_an_event_loop_names_play() -> None:
    with pytest.raises(UsageError, match=r"await flagfall\.play"):
        flagfall.run("micro1", "random", steps=3)
    assert trio.lowlevel.in_trio_run()


@pytest.mark.parametrize("task", ["gym:CartPole-v1", "micro1", "vgdl:causeway#0"])
def test_a_person_is_refused_where_nothing_could_be_seen(call: Call, task: str) -> None:
    ended = call(f"run --agent human-keys --task {task}")
    assert ended.code == 2
    assert f"--agent human-keys: {task} shows neither a picture nor a text" in ended.err


def test_every_mistake_of_a_task_is_reported_at_once(call: Call, folder: Path) -> None:
    (folder / "plan.toml").write_text(
        '[[agents]]\nspec = "random"\n[[tasks]]\ntask = "nosuch"\nscore = "points"\n'
    )
    ended = call("tournament plan.toml")
    assert ended.code == 2
    assert "score" in ended.err
    assert "unknown task 'nosuch'" in ended.err


def test_an_agent_that_blocks_is_reported_while_it_blocks(start: Callable[..., Any], folder: Path) -> None:
    (folder / "stuck.py").write_text(
        "import time\ndef act(observation):\n    open('stuck', 'w').close()\n    time.sleep(600)\n"
    )
    process = start("run --task micro1 --steps 3 --host task --agent stuck.py:act")
    line = process.stderr.readline()  # comes while the agent still sleeps
    assert "the event loop has been blocked for" in line
    assert "in act (stuck.py, line 4)" in line
    assert process.poll() is None


def test_an_unknown_id_gets_the_nearest_ten(call: Call) -> None:
    ended = call("run --task qqqq --agent random")
    assert ended.code == 2
    assert "nearest of" in ended.err
    assert ended.err.count(", ") == 9


def test_the_advice_of_agents_works(call: Call, folder: Path) -> None:
    (folder / "my").mkdir()
    (folder / "my" / "bot.py").write_text(
        "class Bot:\n    def reply(self, byte, reward):\n        return byte\n"
    )
    advice = call("agents").out
    lines = [line.strip() for line in advice.splitlines() if line.strip().startswith("flagfall run")]
    assert lines
    (folder / "package").mkdir()
    (folder / "package" / "module.py").write_text((folder / "my" / "bot.py").read_text())
    for line in lines:
        assert call(f"{line.removeprefix('flagfall ')} --steps 20").code == 0


@pytest.mark.parametrize("host", ["process", "thread", "task"])
@pytest.mark.parametrize("agent", ["odd.py:Odd", "odd.py:odd"])
def test_arguments_that_no_agent_gets_are_refused_before_the_match(
    call: Call, folder: Path, host: str, agent: str
) -> None:
    text = "class Odd:\n    def act(self, observation, info):\n        return 32\nodd = Odd().act\n"
    (folder / "odd.py").write_text(text)
    ended = call(f"run --task micro1 --agent {agent} --host {host} --journal j")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "act(observation, info): no agent gets 'info'" in ended.err
    assert not (folder / "j").exists()
