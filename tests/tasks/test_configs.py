"""Configurations: round 1's are taken as they are, ours say the same, and every mistake is named."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from flagfall.errors import UsageError
from flagfall.kernel.outcomes import Outcome
from flagfall.kernel.script import run_plain
from flagfall.tasks.catalog import task_ids
from flagfall.tasks.commai.catalog import COMMAI_CATALOG, ORIGINAL_NAMES
from flagfall.tasks.commai.words import default_vocabulary
from flagfall.tasks.commai.world import GridWorld
from flagfall.tasks.configs import Config, change_config, config_of, load_config, parse_config
from flagfall.tasks.configs.config import TASK_TYPES
from flagfall.tasks.configs.parser import ORIGINAL_SCHEDULERS, ORIGINAL_TASKS
from tests.round1_config import TYPES, challenge

GW = '{"gw": {"type": "worlds.grid_world.GridWorld"}}'
IN_THE_WORLD = [name for name in TYPES if name.startswith("mini")]


def from_json(data: object) -> Config:
    return parse_config(json.dumps(data), ".json", name="round1.json")


def from_toml(text: str) -> Config:
    return parse_config(text, ".toml", name="mine.toml")


def complaint(text: str, form: str) -> str:
    with pytest.raises(UsageError) as caught:
        parse_config(text, form, name="file")
    return str(caught.value)


# --- round 1 -----------------------------------------------------------------------------------------------


def test_the_challenge_has_46_tasks_in_their_order():
    config = load_config("challenge")
    assert len(config.schedule) == 46
    assert config.schedule == tuple(TYPES)
    assert config.schedule == tuple(name for _, name in task_ids() if name in config.schedule)
    assert [name for name in config.schedule if config.tasks[name].world == "gw"] == IN_THE_WORLD
    assert config.worlds == {"gw": "grid"}


def test_the_public_file_and_the_one_that_comes_with_flagfall_are_the_same():
    ours, theirs = load_config("challenge"), from_json(challenge())
    assert (ours.schedule, ours.tasks, ours.worlds) == (theirs.schedule, theirs.tasks, theirs.worlds)
    for config in (ours, theirs):
        scheduler = config.build()
        assert type(scheduler.policy).__name__ == "ConsecutiveTaskScheduler"
        assert scheduler.policy.success_threshold == 5  # type: ignore[attr-defined]


def test_tasks_share_the_world_that_they_name_and_tasks_listed_twice_are_one():
    data = challenge("Sequential")
    data["scheduler"]["args"]["tasks"] = ["mini0", "mini1", "micro1", "mini0"]
    tasks = from_json(data).build().policy.tasks
    assert tasks[0] is tasks[3]
    assert isinstance(tasks[0].world, GridWorld)
    assert tasks[0].world is tasks[1].world


def test_each_build_has_tasks_of_its_own():
    config = load_config("challenge")
    assert config.build().next_task() is not config.build().next_task()


@pytest.mark.parametrize("path", ORIGINAL_TASKS)
def test_every_original_type_is_one_of_ours(path):
    data = {
        "worlds": {},
        "tasks": {"it": {"type": path}},
        "scheduler": {"type": "core.scheduler.RandomTaskScheduler", "args": {"tasks": ["it"]}},
    }
    config = from_json(data)
    assert config.tasks["it"].type in TASK_TYPES
    task = config.build().next_task()
    assert task is not None
    assert task.id == "it"
    task.reset(0)


def test_every_task_of_the_originals_has_its_type():
    assert {*TYPES, *COMMAI_CATALOG} <= set(ORIGINAL_TASKS.values()) <= TASK_TYPES.keys()
    assert set(ORIGINAL_NAMES) < set(ORIGINAL_TASKS)


@pytest.mark.parametrize("path", ORIGINAL_SCHEDULERS)
def test_every_original_scheduler_is_one_of_ours(path):
    name = path.removeprefix("core.scheduler.").removesuffix("TaskScheduler")
    scheduler = from_json(challenge(name)).build()
    assert type(scheduler.policy).__name__ == f"{name}TaskScheduler"


def test_every_argument_that_begins_with_tasks_is_a_list_of_tasks():
    pairs = [["micro1", "micro2"], ["micro2", "mini0"]]
    config = from_json(challenge("Dependencies", tasks_dependencies=pairs, unlock_threshold=1))
    assert config.arguments == {"tasks_dependencies": pairs, "unlock_threshold": 1}
    scheduler = config.build()
    scheduler.set_seed(1)
    assert "micro2" not in {scheduler.next_task().id for _ in range(2000)}  # type: ignore[union-attr]
    scheduler.report(Outcome("micro1", 0, True, 1, 1))
    assert "micro2" in {scheduler.next_task().id for _ in range(2000)}  # type: ignore[union-attr]
    assert config.header()["scheduler"] == (
        "dependencies:tasks_dependencies=micro1>micro2,micro2>mini0;unlock_threshold=1"
    )


def test_names_in_a_file_are_the_names_of_its_tasks():
    data = challenge("Sequential")
    data["tasks"] = {"1": data["tasks"]["micro1"], "again": data["tasks"]["micro1"]}
    data["scheduler"]["args"]["tasks"] = ["1", "again", "1"]
    assert [task.id for task in from_json(data).build().policy.tasks] == ["1", "again", "1"]


# --- ours --------------------------------------------------------------------------------------------------


def test_constants_are_changed_by_name_and_by_pattern():
    config = from_toml(
        """
        [scheduler]
        policy = "sequential:1"
        tasks = ["micro1", "easy", "micro5.*", "mini1"]
        [tasks."micro5.*"]
        required = 5
        mapping_size = 3
        [tasks."micro5.1"]
        required = 2
        [tasks.easy]
        type = "micro3"
        alphabet_size = 2
        success_tolerance = 0.5
        [tasks.mini1]
        max_time = 77
        """
    )
    tasks = {task.id: task for task in config.build().policy.tasks}
    assert list(tasks) == ["micro1", "easy", *(f"micro5.{n}" for n in range(1, 19)), "mini1"]
    rules = {name: task.rules for name, task in tasks.items() if hasattr(task, "rules")}
    assert rules["micro1"].required == 10
    assert (rules["micro5.1"].required, rules["micro5.2"].required) == (2, 5)
    assert rules["easy"].success_tolerance == 0.5
    assert tasks["mini1"].max_time == 77  # type: ignore[attr-defined]
    for name, answers in (("micro5.2", 3), ("easy", 2 + 8)):
        tasks[name].reset(0)
        assert len(tasks[name].source.answers) == answers  # type: ignore[attr-defined]


def test_arguments_of_a_policy_stand_in_its_text_or_beside_it():
    texts = ('policy = "consecutive:3"', 'policy = "consecutive"\nsuccess_threshold = 3')
    for text in texts:
        policy = from_toml(f'[scheduler]\ntasks = ["micro1"]\n{text}').build().policy
        assert policy.success_threshold == 3  # type: ignore[attr-defined]


def test_words_come_from_a_file_beside_the_configuration(tmp_path):
    words = [*default_vocabulary().all[:-1], "zyzzyva"]
    (tmp_path / "own.txt").write_text("\n".join(words))
    (tmp_path / "mine.toml").write_text('words = "own.txt"\n[scheduler]\npolicy="random"\ntasks=["micro6"]')
    config = load_config(tmp_path / "mine.toml")
    assert config.words is not None
    assert config.words.all[-1] == "zyzzyva"
    again = parse_config(config.header()["config"])  # the words themselves are in there, not the path
    assert again.words is not None
    assert again.words.all == config.words.all


CONFIGS = [
    load_config("challenge"),
    from_json(challenge("Dependencies", tasks_dependencies=[["micro1", "micro2"]])),
    config_of(["commai.*"], "random", {"bit_mode": True, "scramble": True}),
    config_of(["micro*", "mini*"], "incremental:2", {"max_reward_per_task": 7, "fixes": True}),
    from_toml('[scheduler]\npolicy="random"\ntasks=["x"]\n[tasks.x]\ntype="micro3"\nrequired=3\noptions=2'),
]


@pytest.mark.parametrize("config", CONFIGS)
def test_what_a_journal_says_of_a_configuration_makes_it_again(config):
    assert parse_config(config.header()["config"]) == config


def said(config: Config, steps: int, seed: int = 5) -> list[tuple[object, object]]:
    heard: list[tuple[object, object]] = []
    rng = Random(1)

    def reply(observation: int, reward: float) -> int:
        heard.append((observation, reward))
        return rng.randrange(2) if config.bit_mode else 32 + rng.randrange(95)

    run_plain(config.build(), reply, seed=seed, steps=steps)
    return heard


def test_fixes_are_off_by_default_and_reach_every_task_of_round_1():
    assert not load_config("challenge").fixes
    fixed = change_config(load_config("challenge"), {"fixes": True})
    assert fixed.fixes
    assert all(task.fixes for task in fixed.build().policy.tasks)  # type: ignore[attr-defined]
    assert not any(task.fixes for task in load_config("challenge").build().policy.tasks)  # type: ignore[attr-defined]
    ours = """
        fixes = true
        [scheduler]
        policy = "random"
        tasks = ["mini2", "micro1"]
        [tasks.micro1]
        patience = 3
    """
    mini, micro = from_toml(ours).build().policy.tasks
    assert mini.fixes  # type: ignore[attr-defined]
    assert micro.fixes  # type: ignore[attr-defined]
    for seed in range(400):
        mini.reset(seed)
        assert mini.example.string  # type: ignore[attr-defined]


@pytest.mark.parametrize("config", CONFIGS)
def test_the_same_seed_says_the_same(config):
    assert said(config, 3000) == said(parse_config(config.header()["config"]), 3000)


def test_pseudo_words_follow_from_the_seed():
    config = config_of(["commai.repetition.repeat_what_i_say"], "random", {"bit_mode": True})
    scrambled = change_config(config, {"scramble": True})
    assert said(config, 400, 1) != said(scrambled, 400, 1)
    assert said(scrambled, 400, 1) == said(scrambled, 400, 1)
    assert said(scrambled, 400, 1) != said(scrambled, 400, 2)


def test_a_reset_scheduler_pays_again():
    scheduler = config_of(["micro4"], "random", {"max_reward_per_task": 1}).build()
    task = scheduler.next_task()
    assert task is not None
    task.cap.allow("micro4", 1)  # type: ignore[attr-defined]
    assert task.cap.allow("micro4", 1) == 0  # type: ignore[attr-defined]
    scheduler.reset()
    assert task.cap.allow("micro4", 1) == 1  # type: ignore[attr-defined]


# --- mistakes ----------------------------------------------------------------------------------------------

HEAD = '[scheduler]\npolicy = "random"\ntasks = ["micro1"]\n'

WRONG = {
    "{": "file: line 1, column 2: invalid JSON: ",
    '{\n "a": }': "file: line 2, column 7: invalid JSON: Expecting value",
    "[1]": "file: expected an object at the top, got list",
    "[" * 100_000: "file: invalid JSON: ",
    "{}": (
        "file: 3 problems:\n  worlds: required, but missing\n  tasks: required, but missing\n"
        "  scheduler: required, but missing"
    ),
    '{"worlds": [], "tasks": {}, "scheduler": {}}': "worlds: expected a table of names and values, got []",
    '{"worlds": {"w": {"type": "worlds.grid_world.GridWrld"}}, "tasks": {}, "scheduler": {}}': (
        "worlds.w.type: unknown world 'worlds.grid_world.GridWrld'; nearest: worlds.grid_world.GridWorld"
    ),
    '{"worlds": {"w": {}}, "tasks": {"t": {}, "u": 3}, "scheduler": {"a": 1}}': (
        "file: 7 problems:\n  worlds.w.type: required, but missing\n  tasks.t.type: required, but missing\n"
        "  tasks.u: expected a table of names and values, got 3\n"
    ),
    "a = ": "file: line 1, column 5: invalid TOML: ",
    "a = 1\nb = [": "file: line 2, column 6: invalid TOML: ",
    "a = 1\na = 2": "file: line 2, column 6: invalid TOML: ",
    "": "file: scheduler: required, but missing",
    "[scheduler]\ntasks = []": "line 2: scheduler.tasks: required: write a list of at least one task",
    '[scheduler]\ntasks = ["micro1"]': "line 1: scheduler.policy: required: write a text such as",
    HEAD.replace("random", "randm"): "scheduler: policy 'randm': unknown policy 'randm'; nearest: random",
    HEAD.replace("random", "consecutive:0"): "'0' is not a whole number, at least 1",
    HEAD.replace("micro1", "mikro1"): "scheduler.tasks[0]: unknown task 'mikro1'; nearest: micro1",
    HEAD.replace("micro1", "mikro*"): "scheduler.tasks[0]: no task matches the pattern 'mikro*'",
    HEAD + "x = 1": "scheduler.x: unknown argument of random 'x'",
    HEAD.replace("random", "consecutive") + "success_treshold = 1": (
        "scheduler.success_treshold: unknown argument of consecutive 'success_treshold';"
        " nearest: success_threshold"
    ),
    HEAD.replace("random", "consecutive") + 'success_threshold = "x"': "success_threshold must be a whole",
    HEAD.replace("random", "consecutive:1") + "success_threshold = 2": "takes no further arguments",
    HEAD.replace("random", "dependencies") + "tasks_dependencies = 3": "the scheduler refuses its arguments",
    HEAD
    + "[tasks.micro1]\nrequred = 5": "tasks.micro1.requred: unknown setting of micro1 'requred'; nearest",
    HEAD + "[tasks.micro1]\nrequired = 0": "line 5: tasks.micro1.required: expected a whole number from 1 to",
    HEAD + "[tasks.micro1]\nrequired = true": "expected a whole number from 1 to 1000000000, got True",
    HEAD + "[tasks.micro1]\nalphabet_size = 70": "expected a whole number from 1 to 69, got 70",
    HEAD + "[tasks.micro1]\nsuccess_tolerance = nan": "expected a number from 0 to 1000000000, got nan",
    HEAD
    + '[tasks.micro1]\nworld = "gw"': "tasks.micro1.world: micro1 is not played in a world: leave it out",
    HEAD + '[tasks.mini1]\nworld = "gw"': "tasks.mini1.world: unknown world 'gw'",
    HEAD + "[tasks.mine]\nrequired = 1": "tasks.mine: unknown task 'mine'",
    HEAD + '[tasks.mine]\ntype = "micro99"': "tasks.mine.type: unknown type 'micro99'; nearest: ",
    HEAD + "[tasks.mine]\ntype = []": "tasks.mine.type: unknown type []; it should be a text",
    HEAD + '[tasks."mini*"]\nmax_time = 1': 'tasks."mini*": no task matches this pattern',
    HEAD + '[tasks."micro*"]\ntype = "micro1"': 'tasks."micro*".type: a pattern cannot set the type',
    HEAD + "[tasks]\nmicro1 = 3": "tasks.micro1: expected a table such as { type = 'micro1' }, got 3",
    HEAD + '[worlds]\ngw = "gird"': "worlds.gw: unknown world 'gird'; nearest: grid",
    "bitmode = true\n" + HEAD: "bitmode: unknown name 'bitmode'; nearest: bit_mode",
    "bit_mode = 1\n" + HEAD: "line 1: bit_mode: expected true or false, got 1",
    "scramble = true\n" + HEAD: "scramble: words are scrambled in bit mode only",
    "scramble = true\nbit_mode = true\n" + HEAD: "only conversations can be scrambled, unlike micro1",
    'max_reward_per_task = "x"\n'
    + HEAD: "max_reward_per_task: expected a number from -1000000000 to 1000000000, got 'x'",
    'words = "no.txt"\n' + HEAD: "words: words no.txt: No such file",
    "words = 3\n" + HEAD: "words: expected the path of a file or a list of words, got 3",
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:60])
def test_a_mistake_is_told_with_its_place(text):
    form = ".json" if text[:1] in {"{", "["} and not text.startswith("[s") else ".toml"
    assert WRONG[text] in complaint(text, form)


def test_every_mistake_is_told_at_once():
    data = challenge(success_treshold=1)
    data["tasks"]["micro3"]["type"] = "tasks.challenge.round1.challenge_micro.Micro3Tsk"
    data["tasks"]["micro5.1"]["world"] = "gw"
    data["tasks"]["mini0"]["wrold"] = "gw"
    data["scheduler"]["args"]["tasks"][1] = "micro2b"
    told = complaint(json.dumps(data), ".json").splitlines()
    assert told[0] == "file: 5 problems:"
    assert [line.split(": ")[0].strip() for line in told[1:]] == [
        "tasks.micro3.type",
        'tasks."micro5.1".world',
        "tasks.mini0.wrold",
        "scheduler.args.tasks[1]",
        "scheduler.args.success_treshold",
    ]
    assert "nearest: tasks.challenge.round1.challenge_micro.Micro3Task" in told[1]
    assert told[4].endswith("unknown task 'micro2b'; nearest: micro2, micro20, micro12")


def test_only_the_first_mistakes_have_a_hint():
    """A hint compares a word with all that are known, which takes 10 ms."""
    told = complaint(json.dumps({"scheduler": {"policy": "random", "tasks": ["micro99"] * 90}}), ".json")
    assert told.startswith("file: 90 problems:")
    assert told.count("nearest") == 20


def test_patterns_and_what_they_stand_for_are_bounded():
    listed: dict[str, object] = {"policy": "random", "tasks": ["mini*"] * 100}
    assert len(from_json({"scheduler": listed}).schedule) == 600
    listed["tasks"] = ["mini*"] * 101
    told = complaint(json.dumps({"scheduler": listed}), ".json")
    assert "scheduler.tasks: 101 patterns; the limit is 100" in told
    listed["tasks"] = ["*"] * 100
    told = complaint(json.dumps({"scheduler": listed}), ".json")
    assert f"scheduler.tasks: {100 * len(TASK_TYPES)} entries; the limit is 10000" in told
    listed["tasks"] = ["mini1"]
    tables = {f"mini{'*' * number}": {"max_time": 1} for number in range(1, 102)}
    told = complaint(json.dumps({"scheduler": listed, "tasks": tables}), ".json")
    assert "tasks: 101 patterns; the limit is 100" in told


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    (tmp_path / "latin.toml").write_bytes(b"a = 1\nb = '\xe9'")
    for source, told in (
        (tmp_path / "latin.toml", "line 2: not UTF-8 text"),
        (tmp_path / "none.json", "No such file"),
        (tmp_path / "x.yaml", "or name a file that ends in .json or .toml"),
        (Path("challange"), "unknown configuration 'challange'; nearest: challenge"),
    ):
        with pytest.raises(UsageError, match=r"configuration|latin") as caught:
            load_config(source)
        assert told in str(caught.value)
