"""Micro-tasks 6 to 20 against the traces, tables and figures of the specification of round 1."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise, product
from random import Random

import pytest

from flagfall.kernel.channels.codecs import SILENCE
from flagfall.kernel.outcomes import StepResult
from flagfall.tasks.commai.catalog import CATALOG, MICRO_TASKS, make_catalog
from flagfall.tasks.commai.micro.engine import MicroRules, MicroTask
from flagfall.tasks.commai.micro.questions import RIGHT, WRONG
from flagfall.tasks.commai.micro.sentences import (
    CONFIRMING,
    CORRECTING,
    SEQUENCES,
    SPELLING,
    Question,
    SentenceQuestions,
    Style,
)
from flagfall.tasks.commai.words import SYNONYMS, default_vocabulary

WORDS = default_vocabulary()
DOT = ord(".")


def micro(task_id: str) -> MicroTask:
    task = CATALOG[task_id]()
    assert isinstance(task, MicroTask)
    return task


def sentences(task: MicroTask) -> SentenceQuestions:
    assert isinstance(task.source, SentenceQuestions)
    return task.source


def questions(task_id: str, instances: int = 60, each: int = 10) -> list[list[Question]]:
    """The questions of some instances."""
    make = MICRO_TASKS[task_id].questions(WORDS)
    found: list[list[Question]] = []
    for seed in range(instances):
        source = make(Random(seed))
        assert isinstance(source, SentenceQuestions)
        found.append([])
        for _ in range(each):
            source.draw()
            found[-1].append(source.question)
    return found


def flat(task_id: str) -> list[Question]:
    return [question for instance in questions(task_id) for question in instance]


def accepted(
    question: Question, letters: str = "abcde ", longest: int = 3, *, fixes: bool = False
) -> set[str]:
    """Which answers are right, of all that are short."""
    source = SentenceQuestions(lambda: question, CORRECTING)
    source.fixes = fixes
    source.draw()
    answers = ["".join(text) + "." for size in range(longest + 1) for text in product(letters, repeat=size)]
    return {answer for answer in answers if source.judge(bytearray(answer.encode())) == RIGHT}


# --- the loop ----------------------------------------------------------------------------------------------


def test_trace_b_of_the_specification() -> None:
    """Specification 5.4, step by step: leading silence, feedback, the end of the instance."""
    letters = "oryabcdefgq"

    def source(_: Random) -> SentenceQuestions:
        asked = iter(letters)
        return SentenceQuestions(
            lambda: Question(f"say: {(letter := next(asked))}.", f"{letter}."), CONFIRMING
        )

    task = MicroTask("micro7.1", source)
    assert task.reset(0) == ord("s")

    def step(learner: str, teacher: str, reward: int, asked: int, streak: int) -> None:
        assert task.step(ord(learner)) == StepResult(ord(teacher), reward)
        assert (task.progress.asked, task.progress.streak) == (asked, streak)

    def speaks(text: str, asked: int, streak: int, last_step: int) -> None:
        for byte in text:
            step(" ", byte, 0, asked, streak)
        assert task.num_steps_taken() == last_step

    speaks("ay: o.", 0, 0, last_step=6)
    step(" ", " ", 0, 0, 0)
    step("o", " ", 0, 0, 0)
    step(".", "f", -1, 1, 0)
    speaks("alse! o.;say: r.", 1, 0, last_step=25)
    for right, (letter, following) in enumerate(pairwise(letters[1:]), start=1):
        step(letter, " ", 0, right, right - 1)
        step(".", "c", 1, right + 1, right)
        speaks(f"orrect! {letter}.;say: {following}.", right + 1, right, last_step=25 + 20 * right)
    assert task.num_steps_taken() == 205
    step("q", " ", 0, 10, 9)
    step(".", "c", 1, 11, 10)
    speaks("orr", 11, 10, last_step=210)
    assert task.step(ord("z")) == StepResult(ord("e"), -1)
    for byte in "ct! q.;":
        assert task.step(SILENCE) == StepResult(ord(byte), 0)
    assert task.num_steps_taken() == 218
    assert task.result() is None
    assert task.step(SILENCE) == StepResult(None, 0, terminated=True)
    assert task.result() is True
    assert task.progress.asked == 11


def plays(task: MicroTask, wrong_first: int, seed: int = 0) -> tuple[int, bool | None]:
    """Plays one instance, wrong so many times and then always right; its last question and result."""
    said = task.reset(seed)
    answer, listening, over = b"", True, False
    while not over:
        if not answer and listening and said == DOT:
            wrong = task.progress.asked < wrong_first
            answer = b"~." if wrong else sentences(task).question.answer.encode()
            listening = False
        elif said == ord(";"):
            listening = True
        byte, answer = (answer[0], answer[1:]) if answer else (SILENCE, b"")
        said, _, over, _, _ = task.step(byte)
    return task.progress.asked, task.result()


@pytest.mark.parametrize(
    ("wrong_first", "end"),
    [
        (0, (10, True)),
        (41, (51, True)),
        (42, (52, False)),
        (146, (156, False)),
        (147, (157, False)),
        (1000, (157, False)),
    ],
)
def test_limits_of_micro19(wrong_first: int, end: tuple[int, bool]) -> None:
    task = micro("micro19")
    assert plays(task, wrong_first) == end
    assert task.progress.soft_limit == 51
    assert task.progress.hard_limit == (156 if wrong_first > 42 else None)


@pytest.mark.parametrize(("task_id", "end"), [("micro10", 105), ("micro14", 105), ("micro20", 157)])
def test_limits_of_a_learner_that_should_know_at_once(task_id: str, end: int) -> None:
    assert plays(micro(task_id), 1000) == (end, False)
    assert plays(micro(task_id), 0) == (10, True)


@pytest.mark.parametrize(("task_id", "asked"), [("micro6", {8}), ("micro15", {8, 9})])
def test_limits_of_a_learner_that_has_to_be_told(task_id: str, asked: set[int]) -> None:
    """The soft limit counts from the question with which everything has been asked."""
    for seed in range(10):
        make, seen = MICRO_TASKS[task_id].questions(WORDS), set()
        source, known, count = make(Random(seed)), False, 0
        while not known:
            seen.add(source.draw())
            count += 1
            known = source.should_know(correct=False)
        assert len(seen) in asked
        task = MicroTask(task_id, make, MicroRules(failed_task_tolerance=2.0, max_time=10**6))
        assert plays(task, 10_000, seed) == (3 * (count + 51) + 1, False)
        assert task.progress.soft_limit == count + 50


def test_time_may_run_out_before_the_questions_do() -> None:
    """For a learner of micro15 that is always wrong (quirk 21)."""
    ends = []
    for seed in range(10):
        task = micro("micro15")
        plays(task, 10_000, seed)
        ends.append(task.metrics()["timed_out"])
        assert task.rules.failed_task_tolerance == 2.0
    assert True in ends


def test_a_silent_learner_of_sentences_takes_all_the_time() -> None:
    task = micro("micro15")
    task.reset(0)
    steps = 1
    while not task.step(SILENCE).terminated:
        steps += 1
    assert steps == 10_000
    assert task.metrics()["timed_out"] is True
    assert task.result() is False


def test_an_answer_ends_with_its_first_dot() -> None:
    source = SentenceQuestions(lambda: Question("say: ab.", "ab."), CONFIRMING)
    source.draw()
    heard = [b"a", b"ab", b"ab ", b"ab.", b" ab.", b"ab .", b".", b"abc."]
    verdicts = [None, None, None, RIGHT, WRONG, WRONG, WRONG, WRONG]
    assert [source.judge(bytearray(text)) for text in heard] == verdicts


@pytest.mark.parametrize(
    ("style", "right", "wrong"),
    [
        (CONFIRMING, b"correct! x.;", b"false! x.;"),
        (SPELLING, b"good job! x.;", b"wrong! x.;"),
        (CORRECTING, b"good job! ;", b"wrong! x.;"),
    ],
)
def test_styles_of_feedback(style: Style, right: bytes, wrong: bytes) -> None:
    source = SentenceQuestions(lambda: Question("say: x.", "x."), style)
    source.draw()
    assert source.feedback(correct=True) == right
    assert source.feedback(correct=False) == wrong


# --- questions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task_id", "pattern"),
    [
        ("micro6", r"random_map: \w+\."),
        ("micro7.1", r"say: [a-z]\."),
        ("micro7.2", r"say: [a-z]+\."),
        ("micro7.3", r"say: [a-z]+ [a-z]+\."),
        ("micro8", r"say:  {0,6}[a-z] {0,6}[a-z] {0,6}\."),
        ("micro9.1", r"spell: [a-z]\."),
        ("micro9.2", r"spell: [a-z]+\."),
        ("micro9.3", r"interleave: [a-z]+ by [-#,]\."),
        ("micro10", r"say: [a-z]+ say: [a-z]+( say: [a-z]+)?\."),
        ("micro11", r"say: [a-c][b-d] say: [a-c][b-d] (reverse|concatenate|interleave):\."),
        ("micro12", r"say: [a-d]{3} say: [a-d] (union|exclude):\."),
        ("micro13.1", r" say: (. (and|or) .|anything and not .|. or . but not .)\."),
        ("micro13.2", r"say: [a-z]{1,3}(( and [a-z]{1,3}){1,3}|( or [a-z]{1,3}){1,3})\."),
        ("micro14", r"after [a-y] comes what:\."),
        ("micro15", r"say next after: [a-z]+\."),
    ],
)
def test_questions_have_the_form_of_their_task(task_id: str, pattern: str) -> None:
    assert all(re.fullmatch(pattern, question.text) for question in flat(task_id))


def test_micro6_maps_eight_common_words() -> None:
    for instance in questions("micro6", instances=20, each=100):
        table = {question.text.removeprefix("random_map: "): question.answer for question in instance}
        assert len(table) == 8
        assert len(set(table.values())) == 8
        for word in [*table, *table.values()]:
            assert word.removesuffix(".") in WORDS.common


def test_micro8_squeezes_spaces() -> None:
    for question in flat("micro8"):
        assert question.answer == re.sub(" +", " ", question.text.removeprefix("say: ")).lstrip()
    gaps = Counter(
        len(gap) for question in flat("micro8") for gap in re.split(r"[a-z.]", question.text[5:])[:3]
    )
    assert gaps.keys() == set(range(7))
    assert min(gaps.values()) > 200


def test_micro9_and_10_examples() -> None:
    answers = {
        question.text: question.answer
        for task_id in ("micro9.2", "micro9.3", "micro10")
        for question in flat(task_id)
    }
    spelt = {text: answer for text, answer in answers.items() if text.startswith("spell")}
    assert all(answer.replace(" ", "") == text.removeprefix("spell: ") for text, answer in spelt.items())
    assert all(" ." in answer for answer in spelt.values())
    said = {text: answer for text, answer in answers.items() if text.startswith("say")}
    assert all(text.replace("say: ", "") == answer for text, answer in said.items())
    assert {text.count("say: ") for text in said} == {2, 3}


def test_micro11_and_12_answers() -> None:
    seen: Counter[str] = Counter()
    for question in [*flat("micro11"), *flat("micro12")]:
        _, first, _, second, operation, answer = f"{question.text} {question.answer}".split(maxsplit=5)
        seen[operation] += 1
        assert answer == {
            "reverse:.": f"{second} {first}.",
            "concatenate:.": f"{first}{second}.",
            "interleave:.": "".join(map("".join, zip(first, second, strict=False))) + ".",
            "union:.": first + second * (first.count(second) == 0) + ".",
            "exclude:.": "".join(letter for letter in first if letter != second) + ".",
        }.get(operation)
    assert len(seen) == 5
    assert min(seen.values()) > 100


def test_micro13_1_accepts_what_brute_force_found() -> None:
    forms: Counter[object] = Counter()
    for question in {question.text: question for question in flat("micro13.1")}.values():
        right = accepted(question)
        found = re.fullmatch(r" say: (.) (and|or) (.)(?: but not (.))?\.", question.text)
        if found is None:
            barred = question.text[-2]
            assert question.text == f" say: anything and not {barred}."
            letters = "abcde ".replace(barred, "")
            assert right == {
                "".join(text) + "." for size in (1, 2, 3) for text in product(letters, repeat=size)
            }
            assert question.hint in set("abcde") - {barred}
            forms["anything"] += 1
            continue
        a, join, b, barred = found.groups()
        either = {f"{a}.", f"{b}.", f"{a}{b}.", f"{b}{a}."}
        if join == "and":
            assert right == {f"{a}{b}.", f"{b}.", "."}  # the original looks for the answer within `ab.`
            assert question.hint is None
        elif barred is None:
            assert right == either
            assert question.answer in {f"{a}.", f"{b}."}
        else:
            assert a != b
            assert right == {answer for answer in either if barred not in answer}
            assert question.hint in {a, b} - {barred}
        forms[join, barred is not None] += 1
    assert len(forms) == 4


def test_with_fixes_micro13_1_wants_the_whole_of_and() -> None:
    for question in flat("micro13.1"):
        if " and " in question.text and "not" not in question.text:
            assert accepted(question, fixes=True) == {question.answer}
            break
    else:
        raise AssertionError


@pytest.mark.parametrize("fixes", [False, True])
def test_fixes_reach_the_questions_of_the_task(fixes: bool) -> None:
    task = make_catalog(fixes=fixes)["micro13.1"]()
    assert isinstance(task, MicroTask)
    task.reset(0)
    source = task.source
    assert isinstance(source, SentenceQuestions)
    while not re.fullmatch(" say: . and .\\.", source.question.text):
        source.draw()
    assert source.judge(bytearray(b".")) == (WRONG if fixes else RIGHT)


def test_micro13_1_draws_its_four_forms_alike() -> None:
    forms = Counter(re.sub(r"\b[a-e]\b", "x", question.text) for question in flat("micro13.1"))
    assert len(forms) == 4
    assert min(forms.values()) > 100
    thirds, pairs = Counter[str](), set[tuple[str, str]]()
    for instance in questions("micro13.1", instances=200):
        for question in instance:
            if found := re.fullmatch(r" say: (.) or (.) but not (.)\.", question.text):
                a, b, barred = found.groups()
                pairs.add((a, b))
                thirds[{a: "first", b: "second"}.get(barred, "other")] += 1
    assert all(share / thirds.total() == pytest.approx(1 / 3, abs=0.1) for share in thirds.values())
    assert len(pairs) == 5 * 4


def test_micro13_2_or_asks_for_any_word_in_whatever_else() -> None:
    sizes = set[tuple[int, int]]()
    for question in flat("micro13.2"):
        parts = question.text.removeprefix("say: ").removesuffix(".").split(" ")[::2]
        sizes.update((len(parts), len(part)) for part in parts)
        if question.accepts is None:
            assert question.answer == "".join(parts) + "."
            continue
        assert question.hint in parts
        source = SentenceQuestions(lambda question=question: question, CORRECTING)  # type: ignore[misc]
        source.draw()
        for part in parts:
            assert source.judge(bytearray(f"? {part} !.".encode())) == RIGHT
        assert source.judge(bytearray(b"?.")) == WRONG
        assert source.judge(bytearray("\xff.".encode("latin-1"))) == WRONG
    assert sizes == set(product((2, 3, 4), (1, 2, 3)))


def test_micro15_counts_in_four_sequences_mostly_backwards() -> None:
    assert [len(sequence) for sequence in SEQUENCES] == [10, 9, 9, 10]
    nexts: dict[bool, set[tuple[str, str]]] = {False: set(), True: set()}
    for sequence in SEQUENCES:
        nexts[False] |= set(pairwise(sequence))
        nexts[True] |= set(pairwise(sequence[::-1]))
    backwards = 0
    instances = questions("micro15", instances=600, each=5)
    for instance in instances:
        steps = {
            (question.text.removeprefix("say next after: ")[:-1], question.answer[:-1])
            for question in instance
        }
        assert steps <= nexts[False] or steps <= nexts[True]
        backwards += steps <= nexts[True]
    assert backwards / 600 == pytest.approx(2 / 3, abs=0.06)


@pytest.mark.parametrize("task_id", ["micro16", "micro19", "micro20"])
def test_an_instance_stays_with_one_source(task_id: str) -> None:
    """Seen from what the questions have in common."""

    def source(question: Question) -> str:
        text = question.text.partition(" - ")[2] or question.text
        return next(
            kind
            for kind, pattern in {
                "letters": r".* comes what:\.",
                "operation": r".*(reverse|concatenate|interleave):\.",
                "edit": r".*:\.",
                "spell": r"spell: .*",
                "words": r".*",
            }.items()
            if re.fullmatch(pattern, text)
        )

    kinds = [{source(question) for question in instance} for instance in questions(task_id)]
    assert {len(kind) for kind in kinds} == {1}
    assert len(set.union(*kinds)) == 4


@pytest.mark.parametrize("task_id", ["micro19", "micro20"])
def test_four_instances_have_four_sources(task_id: str) -> None:
    task = micro(task_id)
    kinds = []
    for seed in range(40):
        task.reset(seed)
        answer = sentences(task).question.text
        kinds.append(
            "letters"
            if "comes" in answer
            else "operation"
            if re.search(r"(rev|conc|interl)\w+:", answer)
            else answer[-2]
        )
    normal = ["words" if len(kind) == 1 and kind != ":" else kind for kind in kinds]
    for at in range(0, 40, 4):
        assert set(normal[at : at + 4]) == {"letters", "operation", ":", "words"}
    assert len({tuple(normal[at : at + 4]) for at in range(0, 40, 4)}) > 3


def test_micro19_uses_every_synonym_and_the_same_one_throughout_a_question() -> None:
    seen: Counter[str] = Counter()
    for question in flat("micro19"):
        for original, options in SYNONYMS.items():
            names = {name for name in options if re.search(rf"\b{name}\b", question.text)}
            assert len(names) <= 1, (original, question)
            seen.update(names)
    assert seen.keys() == {name for options in SYNONYMS.values() for name in options}


def test_micro20_explains_a_new_word_and_uses_it() -> None:
    explained: Counter[str] = Counter()
    for instance in questions("micro20", instances=200):
        meanings: dict[str, str] = {}
        for question in instance:
            found = re.fullmatch(r"(\w+) is as (\w+) - (.*)", question.text)
            assert found
            new, original, text = found.groups()
            assert new in WORDS.new
            assert re.search(rf"\b{new}\b", text)
            assert not re.search(rf"\b{original}\b", text)
            assert meanings.setdefault(original, new) == new
            said = re.findall(rf"(?:{new}|say): (\w+)", text)
            assert not any(name in word for word in said for name in meanings.values() if original == "say")
            if {original, text.split()[-1].removesuffix(":.")} & {"union", "exclude"}:
                explained["the word that comes twice" if original == "say" else "the operation"] += 1
        assert len(set(meanings.values())) == len(meanings)
    assert explained.total() > 200
    assert all(share / explained.total() == pytest.approx(1 / 2, abs=0.1) for share in explained.values())
