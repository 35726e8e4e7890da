"""The learning agent: what it learns and how soon, and that nothing makes it stumble."""

import json
import random
import string
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flagfall.agents.learner.agent import Ear, LearningAgent, TurnRule, fit
from flagfall.agents.learner.answers import Relations, relate
from flagfall.agents.learner.programs import ProgramLibrary, Sentence
from flagfall.agents.samples.basic import RandomAgent
from flagfall.cli import main
from flagfall.cli.commands.curriculum import teach
from flagfall.kernel.hosting import Briefing
from flagfall.tasks.catalog import make_task, task_ids

SEEDS = range(3)
COMMAI = [task_id for family, task_id in task_ids() if family == "commai"]
SPEC = "learner"

STEPS = {
    **dict.fromkeys(("micro1", "micro2", "micro3", "micro4"), 2_000),
    **{task_id: 8_000 for task_id in COMMAI if task_id.startswith("micro5.")},
    "micro13.1": 100_000,
}
"""Steps within which a fresh learner learns a task, where these are not 30,000; several times the usual."""

Reply = Callable[[int, float], int]


def learner(seed: int) -> LearningAgent:
    agent = LearningAgent()
    agent.start(Briefing(0, 1, seed, ""))
    return agent


def learns(task_id: str, reply: Reply, seed: int) -> bool:
    limit = STEPS.get(task_id, 30_000)
    return teach(make_task(task_id), reply, threshold=5, limit=limit, seed=seed).passed


@pytest.mark.parametrize("task_id", COMMAI)
def test_a_fresh_learner_learns_every_task(task_id):
    assert all(learns(task_id, learner(seed).reply, seed) for seed in SEEDS)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_learner_learns_all_tasks_one_after_another(seed):
    reply = learner(seed).reply
    assert [task_id for task_id in COMMAI if not learns(task_id, reply, seed)] == []


def in_another_language(reply: Reply, seed: int) -> Reply:
    """The same agent among people whose letters, and some marks, mean other letters and marks."""
    meant = list(range(256))
    rng = random.Random(seed)
    for alphabet in (string.ascii_lowercase, string.ascii_uppercase):
        for letter, other in zip(alphabet, rng.sample(alphabet, len(alphabet)), strict=True):
            meant[ord(letter)] = ord(other)
    for one, other in (".?", ";|"):
        meant[ord(one)], meant[ord(other)] = ord(other), ord(one)
    return lambda byte, reward: meant.index(reply(meant[byte], reward))


@pytest.mark.parametrize(
    "task_id", ["micro3", "micro5.18", "micro6", "micro10", "micro12", "micro20", "mini1"]
)
def test_it_knows_no_word_of_the_tasks_beforehand(task_id):
    assert learns(task_id, in_another_language(learner(1).reply, 1), 1)


def test_it_learns_sooner_what_resembles_what_it_learned():
    def steps(reply: Reply) -> int:
        return teach(make_task("micro20"), reply, threshold=5, limit=30_000).steps

    learned = learner(0)
    for task_id in ("micro10", "micro11", "micro12", "micro14"):
        assert learns(task_id, learned.reply, 0)
    assert steps(learned.reply) < steps(learner(0).reply)


@pytest.mark.parametrize("task_id", ["micro1", "micro4", "micro5.1", "micro7.1", "mini0"])
def test_a_random_agent_learns_none_of_it(task_id):
    agent = RandomAgent()
    agent.start(Briefing(0, 1, 0, ""))
    lesson = teach(make_task(task_id), agent.reply, threshold=5, limit=20_000)
    mine = teach(make_task(task_id), learner(0).reply, threshold=5, limit=20_000)
    assert not lesson.passed
    assert mine.passed
    assert mine.reward / mine.steps > lesson.reward / lesson.steps


def answers_to(stream: list[tuple[int, float]], seed: int) -> list[int]:
    agent = learner(seed)
    return [agent.reply(byte, reward) for byte, reward in stream]


rewards = st.sampled_from([0, 0, 0, 0, 1, -1, 0.5])
noise = st.lists(st.tuples(st.integers(0, 255), rewards), max_size=300)
speech = st.lists(st.tuples(st.sampled_from(b"ab. ;:!   "), rewards), max_size=300)


@given(noise | speech)
def test_any_stream_is_answered_with_bytes_and_always_the_same_ones(stream):
    answers = answers_to(stream, 7)
    assert all(type(byte) is int and 0 <= byte <= 255 for byte in answers)
    assert answers_to(stream, 7) == answers


def test_start_begins_anew():
    stream = [(byte, reward) for byte in b"a. ;b." * 50 for reward in (0, -1, 1)]
    agent = learner(3)
    first = [agent.reply(byte, reward) for byte, reward in stream]
    agent.start(Briefing(0, 1, 3, ""))
    assert [agent.reply(byte, reward) for byte, reward in stream] == first


@pytest.mark.parametrize("byte", [ord(" "), ord("x")])
def test_a_teacher_that_never_ends_costs_no_memory(byte):
    agent = learner(0)
    for _ in range(20_000):
        agent.reply(byte, 0)
    assert len(agent._ear.text) + len(agent._said) < 10_000


# --- the parts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "rule"),
    [
        ([b"a", b"?", b"b"], TurnRule(length=1)),
        ([b"31", b"42", b"03"], TurnRule(length=2)),
        ([b"3;1", b"4;2", b"0;3"], TurnRule(ord(";"), length=1)),
        ([b"3;1.", b"44;2.", b"0.;3."], TurnRule(ord(";"), ord("."))),
        ([b"one?", b"another one?"], TurnRule(ending=ord("?"))),
        ([b"ab", b"abc"], None),
    ],
)
def test_the_simplest_rule_that_explains_all_texts(texts, rule):
    assert fit(texts) == rule


def test_punished_silence_tells_where_texts_end():
    ear = Ear()
    for text in (b"7.", b"3;1.", b"5;2.", b"2;9."):
        assert not any(ear.hear(byte) for byte in text)
        ear.silence_was_judged()
        ear.text.clear()
    assert ear.rule == TurnRule(ord(";"), ord("."))
    assert [ear.hear(byte) for byte in b"8.;4."] == [False] * 4 + [True]
    assert ear.split() == (b"8.", b"4")


def parsed(question: bytes) -> Sentence:
    sentence = Sentence.parse(question)
    assert sentence is not None
    return sentence


@pytest.mark.parametrize(
    ("examples", "question", "answer"),
    [
        ({b"say: ab": b"ab"}, b"say: cd", b"cd"),
        ({b"spell: ab": b"a b "}, b"spell: xyz", b"x y z "),
        ({b"join: ab by -": b"a-b"}, b"join: xyz by #", b"x#y#z"),
        ({b"a: ab a: cd turn:": b"cd ab"}, b"a: xy a: z turn:", b"z xy"),
        ({b"a: ab a: ac both:": b"abc"}, b"a: xy a: yz both:", b"xyz"),
        ({b"say: a or b": b"a", b"say: a and b": b"ab", b"say: c and d": b"cd"}, b"say: x and y", b"xy"),
    ],
)
def test_programs_are_found_from_few_examples(examples, question, answer):
    library = ProgramLibrary()
    for known, said in examples.items():
        library.learn(parsed(known), said)
    assert library.answer(parsed(question)) == answer


def test_a_program_that_was_wrong_gives_way_to_one_that_explains_everything():
    library = ProgramLibrary()
    library.learn(parsed(b"a: abc a: b with:"), b"abc")  # the first word, or both united?
    library.learn(parsed(b"a: abc a: d with:"), b"abcd")
    assert library.answer(parsed(b"a: xyz a: w with:")) == b"xyzw"


def test_one_of_two_answers_by_how_the_words_relate():
    relations = Relations()
    for word, answer in ((b"ABAB", b"yes"), (b"ABXB", b"no"), (b"AB", b"yes"), (b"BA", b"no")):
        relations.learn(parsed(b"is: AB; in: " + word), answer)
    for word, answer in ((b"ABABAB", b"yes"), (b"XXXX", b"no")):
        relations.learn(parsed(b"is: AB; in: " + word), answer)
    assert relations.answer(parsed(b"is: CD; in: CDCD")) == b"yes"
    assert relations.answer(parsed(b"is: CD; in: CCCC")) == b"no"


def test_relations_tell_apart_what_stands_after_different_particles():
    assert relate(parsed(b"d: AB and not C; v: ABC")) != relate(parsed(b"d: AB and not C; v: AB"))
    assert relate(parsed(b"d: AB and not C; v: ABC")) == relate(parsed(b"d: XY and not Z; v: XYZ"))


# --- the command -------------------------------------------------------------------------------------------


def test_the_command_prints_a_row_for_each_task(capsys):
    assert main(["curriculum", "--agent", SPEC, "--task", "micro4", "micro5.1"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip().startswith("micro")]
    assert [row[:2] for row in rows] == [["micro4", "yes"], ["micro5.1", "yes"]]


def test_the_command_gives_data_and_keeps_the_learner_if_asked_to(capsys):
    def steps(*words: str) -> list[int]:
        assert main(["curriculum", "--agent", SPEC, "--json", "--task", "micro4", "micro4", *words]) == 0
        lessons = json.loads(capsys.readouterr().out)["lessons"]
        assert all(lesson["passed"] and lesson["instances"] == 5 for lesson in lessons)
        return [lesson["steps"] for lesson in lessons]

    first, second = steps()
    assert first == second
    first, second = steps("--continue")
    assert second < first


def test_a_match_under_the_kernel_goes_like_the_row_of_the_table(capsys):
    assert main(["curriculum", "--agent", SPEC, "--json", "--task", "micro3", "--seed", "5"]) == 0
    [lesson] = json.loads(capsys.readouterr().out)["lessons"]
    words = "--task micro3 --seed 5 --scheduler consecutive:5 --clock virtual --json --quiet"
    assert main(["run", "--agent", SPEC, *words.split()]) == 0
    match = json.loads(capsys.readouterr().out)["matches"][0]
    assert match["turns"] == lesson["steps"]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--agent", SPEC, "--limit", "0"], "--limit must be at least 1, got 0"),
        (["--agent", SPEC, "--threshold", "0"], "--threshold must be at least 1, got 0"),
        (["--agent", SPEC, "--task", "micro0"], "unknown task 'micro0'"),
        (["--agent", "builtins:len"], "reply(byte, reward)"),
    ],
)
def test_what_cannot_be_is_refused(capsys, words, hint):
    assert main(["curriculum", *words]) == 2
    assert hint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("answer", "fault"),
    [("1 / 0", "ZeroDivisionError"), ("300", "answered 300, which is not a whole number")],
)
def test_an_agent_that_fails_is_named_with_its_fault(capsys, tmp_path, answer, fault):
    bot = tmp_path / "bot.py"
    bot.write_text(f"class Bot:\n    def reply(self, byte, reward):\n        return {answer}\n")
    assert main(["curriculum", "--agent", f"{bot}:Bot", "--task", "micro1", "--json"]) == 0
    [lesson] = json.loads(capsys.readouterr().out)["lessons"]
    assert not lesson["passed"]
    assert fault in lesson["fault"]
