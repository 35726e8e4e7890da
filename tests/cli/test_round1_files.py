"""Files written for round 1 (configurations and learners) are played unchanged."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.round1_config import challenge

PUBLIC_LEARNERS = Path(__file__).parents[3] / "shared/data/clients/round1/src/learners/sample_learners.py"

CONFIG = """
from core.scheduler import ConsecutiveTaskScheduler, DependenciesTaskScheduler
from worlds.grid_world import GridWorld
import tasks.competition.navigation as nav
from tasks.competition.repetition import *
from tasks.challenge.round1.challenge_micro import Micro1Task

def create_tasks():
    from tasks.challenge.round1.challenge_mini import TaskSet0  # late, on purpose
    world = GridWorld()
    first, last = nav.TurningTask(world), RepeatCharacterTask()
    return DependenciesTaskScheduler(
        [first, last, Micro1Task(), TaskSet0(world)], [[first, last]], unlock_threshold=2
    )

def micro():
    return ConsecutiveTaskScheduler([Micro1Task()], success_threshold=3)

def wrong_world():
    return ConsecutiveTaskScheduler([Micro1Task(GridWorld())])
"""

LEARNER = """
from core.serializer import StandardSerializer
from learners.base import BaseLearner

class Fixed(BaseLearner):
    def __init__(self):
        self.rewards = []
        self.bits = StandardSerializer().to_binary("a")

    def reward(self, reward):
        self.rewards.append(reward)

    def next(self, input):
        assert isinstance(input, str) and len(input) == 1
        if input in "01":
            return self.bits[(len(self.rewards) - 1) % 8]
        return "a"

class Two(BaseLearner):
    def next(self, input):
        return "two"
"""


def heard(call, journal: str) -> str:
    records = map(json.loads, call("transcript", journal).out.splitlines())
    return "".join(record["agent"] for record in records if "agent" in record)


def test_a_python_configuration_of_round1_is_played_unchanged(call, folder):
    (folder / "setup.py").write_text(CONFIG)
    ended = call("run --config setup.py -a repeating --host task --steps 20000 --clock virtual --json")
    assert ended.code == 0, ended.err
    played = {task["task"] for task in ended.data()["matches"][0]["tasks"]}
    assert {"commai.navigation.turning", "micro1", "mini0"} <= played


@pytest.mark.parametrize(
    ("module", "environment"),
    [
        pytest.param("tasks.sample.sample_tasks", "", id="last"),
        pytest.param("tasks.sample_tasks", "env", id="first"),
    ],
)
def test_a_python_configuration_of_every_revision_of_the_original_is_played(
    call, folder, module, environment
):
    """Those of the first revisions give the environment to everything they make."""
    first = f"{environment}, " if environment else ""
    (folder / "setup.py").write_text(
        "from __future__ import unicode_literals\n"
        "from worlds.grid_world import GridWorld\n"
        f"from {module} import MovingTask, PickAnApple, YesNoTask\n"
        "from tasks.micro.micro import Repeat3V1L\n"
        "from core.scheduler import RandomTaskScheduler\n"
        f"def create_tasks({environment}):\n"
        f"    world = GridWorld({environment})\n"
        f"    both = [PickAnApple({first}world), MovingTask({first}world=world)]\n"
        f"    return RandomTaskScheduler([YesNoTask({environment}), Repeat3V1L({environment}), *both])\n"
    )
    ended = call("run --config setup.py -a silent --host task --steps 60000 --clock virtual --json")
    assert ended.code == 0, ended.err
    played = {task["task"] for task in ended.data()["matches"][0]["tasks"]}
    assert played == {
        *("commai.sample.yes_no", "commai.sample.pick_an_apple", "commai.sample.moving"),
        "commai.micro.repeat_3v1l",
    }


def test_a_function_that_needs_other_arguments_is_refused(call, folder):
    (folder / "setup.py").write_text("def create_tasks(env, size):\n    return None\n")
    ended = call("run --config setup.py -a silent --steps 50")
    assert ended.code == 2
    assert ended.err == (
        "flagfall: setup.py:create_tasks needs the arguments 'env', 'size'; it is called without any\n"
    )


def test_another_function_of_it_may_be_named_and_its_mistakes_are_reported(call, folder):
    (folder / "setup.py").write_text(CONFIG)
    assert call("run --config setup.py:micro -a silent --host task --steps 50 --clock virtual").code == 0
    ended = call("run --config setup.py:wrong_world -a silent --steps 50")
    assert ended.code == 2
    assert ended.err == "flagfall: Micro1Task: this task is not played in a world; leave the argument out\n"


def test_modules_of_round1_are_gone_after_loading_and_own_packages_stay_importable(call, folder):
    (folder / "tasks").mkdir()
    (folder / "tasks" / "__init__.py").write_text("MINE = 1\n")
    (folder / "tasks" / "helpers.py").write_text("from core.scheduler import SequentialTaskScheduler\n")
    (folder / "setup.py").write_text(
        "from tasks import MINE\n"
        "from tasks.helpers import SequentialTaskScheduler\n"
        "from tasks.challenge.round1.challenge_micro import Micro4Task\n"
        "def create_tasks():\n    assert MINE\n    return SequentialTaskScheduler([Micro4Task()])\n"
    )
    ended = call("run --config setup.py -a repeating --host task --steps 50 --clock virtual")
    assert ended.code == 0, ended.err
    assert not {"core", "core.scheduler", "worlds", "tasks.challenge"} & sys.modules.keys()
    for name in [name for name in sys.modules if name.partition(".")[0] == "tasks"]:
        del sys.modules[name]  # the folder's own, which would stay for the next test


def test_a_module_that_round1_does_not_have_is_named(call, folder):
    (folder / "setup.py").write_text("from tasks.competition.navigaton import TurningTask\n")
    ended = call("run --config setup.py -a silent --steps 50")
    assert ended.code == 2
    assert "No module named 'tasks.competition.navigaton'" in ended.err


def test_duplicate_keys_of_a_json_configuration_load_with_a_notice(program, folder):
    text = json.dumps(challenge("Sequential"), indent=1)
    first = '"micro1": {"type": "tasks.challenge.round1.challenge_micro.Micro2Task"},'
    (folder / "twice.json").write_text(text.replace('"tasks": {', f'"tasks": {{\n {first}', 1))
    ended = program("run --config twice.json -a silent --host task --steps 50 --clock virtual -o run.jsonl")
    assert ended.code == 0, ended.err
    notice = "twice.json: the key 'micro1' stands 2 times in one object (lines 8, 9); the last one counts"
    assert notice in ended.err
    assert '\\"micro1\\":{\\"type\\"' not in (folder / "run.jsonl").read_text(), (
        "the last one, a plain micro1"
    )


@pytest.mark.parametrize("host", ["task", "process"])
def test_a_learner_of_round1_plays_from_its_file(call, folder, host):
    (folder / "learner.py").write_text(LEARNER)
    line = f"run --task micro1 -a learner.py:Fixed --host {host} --steps 64 -o run.jsonl --json"
    ended = call(line)
    assert ended.code == 0, ended.err
    tally = ended.data()["matches"][0]["seats"][0]
    assert tally["illegal"] == 0
    assert heard(call, "run.jsonl") == "a" * 64


def test_a_learner_of_round1_hears_and_says_the_characters_of_bits_in_bit_mode(call, folder):
    (folder / "learner.py").write_text(LEARNER)
    line = "run --task micro1 --bit-mode -a learner.py:Fixed --host task --steps 64 --clock virtual --json"
    assert call(line).data()["matches"][0]["seats"][0]["illegal"] == 0


def test_a_learner_that_says_more_than_one_token_is_illegal(call, folder):
    (folder / "learner.py").write_text(LEARNER)
    line = "run --task micro1 -a learner.py:Two --host task --steps 64 --clock virtual --json"
    assert call(line).data()["matches"][0]["seats"][0]["illegal"] == 64


@pytest.mark.skipif(not PUBLIC_LEARNERS.is_file(), reason="the public clients are not here")
@pytest.mark.parametrize("bits", ["", "--bit-mode"])
@pytest.mark.parametrize("name", ["SampleRepeatingLearner", "SampleSilentLearner", "SampleMemorizingLearner"])
def test_the_public_sample_learners_play_unchanged(call, name, bits):
    ended = call(
        f"run --task micro1 {bits} --host task --steps 200 --clock virtual --json -a",
        f"{PUBLIC_LEARNERS}:{name}",
    )
    assert ended.code == 0, ended.err
    seat = ended.data()["matches"][0]["seats"][0]
    assert seat["disqualified"] is None
    assert seat["illegal"] == 0


CHANNELS = """
from core.byte_channels import ByteInputChannel, ByteOutputChannel
from core.channels import InputChannel, OutputChannel
from core.serializer import StandardSerializer
from learners.base import BaseLearner

class Hearing(BaseLearner):
    kinds = ByteInputChannel, ByteOutputChannel

    def __init__(self):
        ears, mouth = self.kinds
        self.ears, self.mouth = ears(StandardSerializer()), mouth(StandardSerializer())
        self.ears.message_updated.register(self.answer)

    def answer(self, text):
        if self.mouth.is_empty():
            self.mouth.set_message(text[-1])

    def next(self, input):
        self.ears.consume(input)
        if self.mouth.is_empty():
            self.mouth.set_message(" ")
        return self.mouth.consume()

class HearingBits(Hearing):
    kinds = InputChannel, OutputChannel
"""


@pytest.mark.parametrize(("name", "bits"), [("Hearing", ""), ("HearingBits", "--bit-mode")])
def test_a_learner_may_use_the_channels_of_round1(call, folder, name, bits):
    (folder / "learner.py").write_text(CHANNELS)
    line = f"run --task micro4 {bits} --host task --steps 400 --clock virtual --json -a"
    ended = call(line, f"learner.py:{name}")
    seat = ended.data()["matches"][0]["seats"][0]
    assert (ended.code, seat["disqualified"], seat["illegal"]) == (0, None, 0)
    assert (seat["reward"] > 0) == (not bits), "in bytes it repeats at once, which is what micro4 asks for"
