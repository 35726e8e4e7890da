"""Sentences and descriptions read anew, and what breaks their rules is rejected.

Guaranteed to be rejected in micro-tasks 6 to 20: any other reward; a byte of a question that changes its form
or what it asks for; other feedback; another answer where one is right; another result; forms out of turn.
In mini-tasks: any other reward; a string that fits where it did not or the other way round; another closing
sentence, separator or result; a description out of its ten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from random import Random

import pytest

from flagfall.tasks.commai.byte_task import ByteTask
from flagfall.tasks.commai.catalog import CATALOG, MICRO_TASKS, make_catalog
from flagfall.tasks.commai.micro.engine import MicroRules, MicroTask
from flagfall.tasks.commai.micro.sentences import SentenceQuestions
from flagfall.tasks.commai.mini.task import MINI_EXAMPLES, MiniTask
from flagfall.tasks.commai.words import parse_vocabulary
from tests.conformance.round1_agents import AGENTS, Pupil, Record, Records, Silent, match, transcript
from tests.conformance.round1_checker import check
from tests.conformance.round1_mini import MINI_TASKS, read_question
from tests.conformance.round1_sentences import FORMS, RULES, SENTENCE_TASKS, WORDS, Vocabulary
from tests.conformance.round1_strings import naive_fit

NEW_TASKS = [*SENTENCE_TASKS, *MINI_TASKS]
Change = Callable[[Record], Iterable[Record]]


class Lapsing(Pupil):
    """Mostly right."""

    RIGHT = 0.9


class Babbling(Lapsing):
    """Mostly right, and now and then talks into the teacher."""

    def reply(self, said: int) -> int:
        byte = super().reply(said)
        return ord("q") if byte == ord(" ") and not self.answer and self.rng.random() < 0.002 else byte


def played(task: str, agent: type[Silent], steps: int = 700) -> Records:
    """Some finished instances, and the first step of one more."""
    records = transcript([task], agent, steps)
    while (last := max(at for at, record in enumerate(records) if record.get("event") == "start")) == 0:
        steps *= 2
        records = transcript([task], agent, steps)
    return [*records[: last + 2], {"event": "end", "task": task, "result": None}]


def steps_of(records: Records) -> list[int]:
    return [at for at, record in enumerate(records) if "t" in record]


def assert_rejected(records: Records, places: list[int], change: Change, tries: int = 3) -> None:
    """Some of the places altered, one at a time, in each way that `change` gives."""
    assert check(records) == []
    assert places
    altered = list(records)
    for at in Random(0).sample(places, min(tries, len(places))):
        for changed in change(records[at]):
            altered[at] = changed
            assert check(altered) != [], (records[at], changed)
        altered[at] = records[at]


# --- every sentence read for itself ------------------------------------------------------------------------


@pytest.mark.parametrize("task", SENTENCE_TASKS)
@pytest.mark.parametrize("right", [True, False])
def test_answers_and_feedback_follow_from_the_questions(task: str, right: bool) -> None:
    """600 questions of each task, answered rightly and wrongly."""
    made = CATALOG[task]()
    assert isinstance(made, MicroTask)
    for seed in range(60):
        made.reset(seed)
        source, rule = made.source, RULES[task](WORDS)
        assert isinstance(source, SentenceQuestions)
        for _ in range(10):
            question = source.question
            heard = question.answer if right else "~~~."
            verdict = source.judge(bytearray(heard.encode()))
            assert verdict is not None
            rule.ask(question.text)
            rule.judge(heard, verdict.correct, source.feedback(verdict.correct).decode().removesuffix(";"))
            assert verdict.correct or not right
            assert source.should_know(verdict.correct) == rule.knows
            source.draw()


@pytest.mark.parametrize("task", SENTENCE_TASKS)
def test_random_answers_are_judged_alike(task: str) -> None:
    made, rng = CATALOG[task](), Random(1)
    assert isinstance(made, MicroTask)
    for seed in range(30):
        made.reset(seed)
        source, rule = made.source, RULES[task](WORDS)
        assert isinstance(source, SentenceQuestions)
        for _ in range(20):
            letters = list(dict.fromkeys(source.question.answer[:-1] + "ae "))
            heard = "".join(rng.choices(letters, k=rng.randint(0, 4))) + "."
            verdict = source.judge(bytearray(heard.encode()))
            assert verdict is not None
            rule.ask(source.question.text)
            rule.judge(heard, verdict.correct, source.feedback(verdict.correct).decode().removesuffix(";"))
            source.draw()


@pytest.mark.parametrize("task", MINI_TASKS)
def test_descriptions_and_answers_follow_from_the_text(task: str) -> None:
    mini = CATALOG[task]()
    assert isinstance(mini, MiniTask)
    earlier: list[str] = []
    for seed in range(1100 if task == "mini0" else 300):
        mini.reset(seed)
        text = f"description: {mini.example.description}; verify: {mini.example.string}."
        note, fits = read_question(task, text, earlier)
        earlier.append(note)
        assert fits == mini.example.fits


def test_the_readers_own_examples() -> None:
    assert naive_fit(["AB", "CF"], "and", "ABABABCF")
    assert not naive_fit(["AB", "CF"], "and", "CFCF")
    assert naive_fit(["XX"], "and", "XXX")
    assert naive_fit(["C", "CAB", "ABC"], "or", "ABCAB")
    assert not naive_fit(["not AB", "CF", "anything"], "and", "GLEEABCF")


@pytest.mark.parametrize(
    ("task", "text"),
    [
        ("micro7.1", "say: ab."),
        ("micro7.2", "say: xqzzt."),
        ("micro8", "say:        a b."),
        ("micro9.3", "interleave: house by +."),
        ("micro10", "say: house."),
        ("micro11", "say: ba say: cd reverse:."),
        ("micro12", "say: abc say: e union:."),
        ("micro13.1", "say: a and b."),
        ("micro13.1", " say: a or a but not b."),
        ("micro13.2", "say: aa or b."),
        ("micro13.2", "say: a or b and c."),
        ("micro14", "after z comes what:."),
        ("micro15", "say next after: twenty-one."),
        ("micro6", "random_map: zero."),
        ("micro19", "say: house write: tree."),
        ("micro19", "say: hand say: tree."),
        ("micro20", "say: house say: tree."),
        ("micro20", "lamp is as say - lamp: house say: tree."),
        ("micro20", "the is as say - the: house the: tree."),
        ("micro20", "lamp is as say - lamp: lamps lamp: tree."),
    ],
)
def test_what_a_task_cannot_ask_is_refused(task: str, text: str) -> None:
    with pytest.raises(ValueError):
        RULES[task](WORDS).ask(text)


@pytest.mark.parametrize(
    ("task", "text"),
    [
        ("mini1", "description: A and B; verify: AB."),
        ("mini1", "description: A; verify: A."),
        ("mini1", "description: ABCD; verify: ABCD."),
        ("mini2", "description: A and B; verify: AB."),
        ("mini2", f"description: anything; verify: {'Q' * 16}."),
        ("mini2", "description: A or anything; verify: AB."),
        ("mini2", "description: A or A; verify: AA."),
        ("mini3", "description: not A and anything; verify: BB."),
        ("mini3", "description: anything; verify: BB."),
        ("mini3", "description: A and anything; verify: QQQQQQA."),
        ("mini3", "description: A and anything; verify: AQQQQQQA."),
        ("mini4", "description: not A; verify: BB."),
        ("mini4", "description: not AB and BC and anything; verify: BC."),
        ("mini5", "description: A and B or C; verify: BC."),
        ("mini0", "description: AB; verify: AB."),
        ("mini0", "description: A; verify: AAAAA."),
        ("mini0", "describe A; verify: AA."),
    ],
)
def test_what_a_mini_task_cannot_ask_is_refused(task: str, text: str) -> None:
    with pytest.raises(ValueError):
        read_question(task, text, [])


def test_the_empty_string_does_not_fit_anything_in_mini2() -> None:
    assert read_question("mini2", "description: anything; verify: .", []) == ("anything", False)
    assert read_question("mini5", "description: anything; verify: QQ.", []) == ("anything", True)


# --- matches -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", AGENTS)
def test_other_words_conform_to_their_own_list(agent: type[Silent]) -> None:
    lines = [f"{a}{b}{c}y" for a in "bcfgjklm" for b in "pqvwxz" for c in "bcdfghjkl"]
    catalog = make_catalog(parse_vocabulary(lines, "mine"))
    tasks: list[ByteTask] = [
        catalog[task]() for task in ("micro6", "micro7.2", "micro10", "micro19", "micro20")
    ]
    records = list(match(tasks, agent(Random(0)), 6000))
    assert check(records, words=Vocabulary(lines)) == []
    assert check(records) != []


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("max_time", [1, 2, 40, 41, 60, 300])
def test_timeouts_conform(agent: type[Silent], max_time: int) -> None:
    for task in ("micro7.1", "micro13.1", "mini1", "mini4"):
        short: list[ByteTask]
        if task in MINI_TASKS:
            short = [MiniTask(task, MINI_EXAMPLES[task](False), max_time=max_time)]
        else:
            short = [MicroTask(task, MICRO_TASKS[task].questions(), MicroRules(max_time=max_time))]
        assert check(list(match(short, agent(Random(1)), 500)), max_time=max_time) == []


# --- mutations ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", [Lapsing, Pupil])
@pytest.mark.parametrize("task", NEW_TASKS)
def test_a_changed_reward_is_rejected(task: str, agent: type[Silent]) -> None:
    records = played(task, agent)
    assert_rejected(
        records,
        steps_of(records),
        lambda record: [record | {"reward": reward} for reward in (-1, 0, 1) if reward != record["reward"]],
        tries=5,
    )
    paid = [at for at in steps_of(records) if records[at]["reward"] != 0]
    assert_rejected(
        records,
        paid,
        lambda record: [record | {"reward": reward} for reward in (-1, 0, 1) if reward != record["reward"]],
        tries=3,
    )


@pytest.mark.parametrize("agent", [Babbling, Lapsing])
@pytest.mark.parametrize("task", NEW_TASKS)
def test_a_byte_that_no_sentence_has_is_rejected(task: str, agent: type[Silent]) -> None:
    records = played(task, agent)
    assert_rejected(
        records, steps_of(records)[:-1], lambda record: [record | {"env": byte} for byte in "~?\0\xff"]
    )


@pytest.mark.parametrize("task", NEW_TASKS)
def test_another_terminator_or_separator_is_rejected(task: str) -> None:
    records = played(task, Babbling)
    places = [at for at in steps_of(records)[:-1] if records[at]["env"] in ".;"]
    assert_rejected(
        records,
        places,
        lambda record: [record | {"env": byte} for byte in ".; x" if byte != record["env"]],
        tries=3,
    )


@pytest.mark.parametrize("task", [task for task in SENTENCE_TASKS if not task.startswith("micro13")])
def test_another_answer_is_rejected_where_one_is_right(task: str) -> None:
    records = played(task, Pupil)
    places = [at for at in steps_of(records) if records[at]["agent"].isalnum()]
    assert_rejected(records, places, lambda record: [record | {"agent": byte} for byte in "~.#"])


@pytest.mark.parametrize("task", SENTENCE_TASKS)
def test_other_feedback_is_rejected(task: str) -> None:
    records = played(task, Babbling)
    begun = [at for at in steps_of(records)[:-1] if records[at]["reward"] != 0]
    for offset in (0, 3, 5):
        assert_rejected(
            records,
            [at + offset for at in begun if at + offset < len(records) - 3],
            lambda record: [record | {"env": byte} for byte in "xq" if byte != record["env"]],
            tries=2,
        )


@pytest.mark.parametrize("task", sorted(FORMS))
def test_another_question_is_rejected(task: str) -> None:
    """One letter of what is to be said: then the answer would have been another."""
    records = played(task, Pupil)
    told = "".join(record.get("env", "\n") for record in records)
    pattern = {"micro14": r"after (\w) comes", "micro9.3": r"interleave: (\w)"}.get(task, r": +(\w)")
    places = [found.start(1) for found in re.finditer(pattern, told)][:-1]
    assert_rejected(
        records, places, lambda record: [record | {"env": byte} for byte in "JQ7" if byte != record["env"]]
    )


@pytest.mark.parametrize("task", NEW_TASKS)
def test_another_result_is_rejected(task: str) -> None:
    for agent in (Lapsing, Pupil):
        records = played(task, agent)
        assert_rejected(
            records,
            [at for at, record in enumerate(records) if record.get("event") == "end"][:-1],
            lambda record: [
                record | {"result": other} for other in (True, False, None) if other is not record["result"]
            ],
            tries=2,
        )


@pytest.mark.parametrize("task", [task for task in SENTENCE_TASKS if task != "micro13.2"])
def test_a_lost_step_is_rejected_even_if_the_rest_is_numbered_anew(task: str) -> None:
    records = played(task, Pupil)
    for lost in Random(0).sample(steps_of(records)[:-1], 12):
        if re.match(" [ x]", "".join(record.get("env", "x") for record in records[lost : lost + 2])) or (
            records[lost - 1].get("env") == " " and records[lost]["env"] == " "
        ):
            continue  # one silence of several, or a space of micro8: the transcript may make sense without
        shorter = [
            record | {"t": record["t"] - 1} if record.get("t", -1) > records[lost]["t"] else record
            for record in records
            if record is not records[lost]
        ]
        assert check(shorter) != [], records[lost]


@pytest.mark.parametrize("task", ["micro19", "micro20"])
def test_a_form_out_of_turn_is_rejected(task: str) -> None:
    records = played(task, Pupil, steps=6000)
    starts = [at for at, record in enumerate(records) if record.get("event") == "start"]
    assert len(starts) > 8
    # The second four instances again after five of them: one form comes twice among four.
    for cut in range(1, 4):
        again = records[: starts[cut]] + records[starts[0] :]
        assert check(_numbered(records)) == []
        assert {violation.rule for violation in check(_numbered(again))} >= {"turn"}


def test_a_description_out_of_its_ten_is_rejected() -> None:
    records = transcript(["mini0"], Pupil, 2000)
    starts = [at for at, record in enumerate(records) if record.get("event") == "start"]
    assert check(records) == []
    assert {violation.rule for violation in check(_numbered(records[starts[7] :]))} >= {"question"}


def _numbered(records: Records) -> Records:
    """The records with t counted anew, and no reward owed at the start."""
    t, numbered = 0, []
    for record in records:
        if "t" in record:
            numbered.append(record | {"t": t} | ({"reward": 0} if t == 0 else {}))
            t += 1
        else:
            numbered.append(record)
    return numbered


@pytest.mark.parametrize("task", MINI_TASKS)
def test_another_right_answer_is_rejected(task: str) -> None:
    """The string altered so that the verdict on it changes."""
    records = played(task, Pupil, steps=1500)
    rejected = 0
    told = "".join(record.get("env", "\n") for record in records)
    for found in re.finditer(r"description: ([^;]*); verify: (\w+)\.", told):
        if found.start(2) > len(records) - 100:
            continue
        join = "or" if " or " in found[1] else "and"
        items = found[1].split(f" {join} ")
        for at in range(len(found[2])):
            altered = found[2][:at] + "#" + found[2][at + 1 :]
            if naive_fit(items, join, altered) != naive_fit(items, join, found[2]):
                foreign = next(letter for letter in "QWXZYVU" if letter not in found[1])
                place = found.start(2) + at
                changed = records[place] | {"env": foreign}
                assert check([*records[:place], changed, *records[place + 1 :]]) != []
                rejected += 1
                break
    assert rejected > 2


@pytest.mark.parametrize("task", MINI_TASKS)
def test_another_closing_sentence_is_rejected(task: str) -> None:
    records = played(task, Babbling)
    ends = [at for at, record in enumerate(records) if record.get("event") == "end"][:-1]
    for back in (1, 2, 4):
        assert_rejected(
            records,
            [at - back for at in ends],
            lambda record: [record | {"env": byte} for byte in ". xT" if byte != record["env"]],
            tries=3,
        )


@pytest.mark.parametrize(
    ("task", "other"),
    [
        ("micro7.1", "micro9.1"),
        ("micro10", "micro11"),
        ("micro16", "micro19"),
        ("mini1", "mini2"),
        ("micro12", "mini4"),
    ],
)
def test_the_wrong_task_is_rejected(task: str, other: str) -> None:
    records = transcript([task, other], Pupil, steps=1500)
    swap = {task: other, other: task}
    swapped = [record | {"task": swap[record["task"]]} if "task" in record else record for record in records]
    assert check(records) == []
    assert check(swapped) != []
