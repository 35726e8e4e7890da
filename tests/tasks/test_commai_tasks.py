"""The CommAI tasks: all of them solved by an oracle and failed by silence, and their own ways one by one."""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING

import attrs
import pytest

from flagfall.errors import UsageError
from flagfall.kernel.channels.codecs import SILENCE
from flagfall.kernel.roles import is_task
from flagfall.tasks.commai.catalog import COMMAI_CATALOG, ORIGINAL_NAMES, commai_tasks
from flagfall.tasks.commai.conversation import BIT_CHANNEL, ConversationTask
from flagfall.tasks.commai.original.objects import BASKETS, OBJECTS, owners, properties
from flagfall.tasks.commai.words import NUMBERS, Scrambler, a, listed, number_forms, plural
from flagfall.tasks.commai.world import GridWorld
from tests.tasks.commai_oracles import ORACLES, SILENT, world_of

if TYPE_CHECKING:
    from collections.abc import Callable

SOLVED_BY_SILENCE = {"commai.repetition.be_silent", "commai.sample.be_silent"}
TOO_SHORT_IN_BITS = {"navigation.look"}
"""In 1000 bits nobody can listen, turn about and look."""
WITHOUT_A_DOT = {
    "sample.repeating_character",
    "sample.conflicting_messages",
    *(name for name in ORACLES if "two_associated_string" in name),
}
"""A translated word is heard with the character after it, so it cannot be the end of what is heard."""
JUDGES_LATENESS = {
    "repetition.repeat_character",
    "micro.repeat_1v1l",
    "objects.existence_1",
    "objects.existence_2",
    "counting.simple_counting",
}


def make(name: str) -> ConversationTask:
    task = COMMAI_CATALOG[f"commai.{name}"]()
    assert isinstance(task, ConversationTask)
    return task


@attrs.frozen
class Talked:
    """One instance: everything the teacher said, what it paid with the end, its result and its length."""

    spoken: str
    paid: float
    result: bool | None
    steps: int


def play(task: ConversationTask, oracle: Callable[[str, ConversationTask], str], seed: int = 0) -> Talked:
    """Plays one instance with somebody who only speaks when the teacher does not."""
    told = chr(task.reset(seed))
    since, answer = 0, b""
    while True:
        byte = SILENCE
        if not task.conversation.unsaid:
            if not answer:
                answer = asked(oracle, told[since:].encode("latin-1").decode("utf-8", "replace"), task)
                since = len(told) if answer else since
            byte, answer = answer[0] if answer else SILENCE, answer[1:]
        result = task.step(byte)
        if result.terminated:
            return Talked(told, result.reward, task.result(), task.num_steps_taken())
        told += chr(result.observation)


def asked(oracle: Callable[[str, ConversationTask], str], text: str, task: ConversationTask) -> bytes:
    """The answer to a text; nothing to what is no question."""
    try:
        words = oracle(text, task)
    except LookupError:
        words = SILENT
    return words.encode()


def silent(_text: str, _task: ConversationTask) -> str:
    return SILENT


def tells(*answers: str) -> Callable[[str, ConversationTask], str]:
    """Says one thing after the other."""
    rest = list(answers)
    return lambda *_: rest.pop(0) if rest else SILENT


# --- all of them -------------------------------------------------------------------------------------------


def test_every_task_has_an_oracle() -> None:
    assert {f"commai.{name}" for name in ORACLES} == set(COMMAI_CATALOG)


@pytest.mark.parametrize("name", ORACLES)
def test_an_oracle_solves_it(name: str) -> None:
    task = make(name)
    for seed in range(25):
        talked = play(task, ORACLES[name], seed)
        assert (talked.result, talked.paid) == (True, 1), (seed, talked)
        assert not task.metrics()["timed_out"] or task.id in SOLVED_BY_SILENCE


@pytest.mark.parametrize("name", sorted(ORACLES.keys() - TOO_SHORT_IN_BITS))
def test_an_oracle_solves_it_in_bits(name: str) -> None:
    """The limits that are too wide in bytes are wide enough in bits."""
    task = make(name)
    task.channel = BIT_CHANNEL
    for seed in range(5):
        talked = play(task, ORACLES[name], seed)
        assert (talked.result, talked.paid) == (True, 1), (seed, talked)


@pytest.mark.parametrize("name", sorted(ORACLES.keys() - WITHOUT_A_DOT - TOO_SHORT_IN_BITS))
def test_an_oracle_solves_it_in_another_language(name: str) -> None:
    scrambler = Scrambler(Random(0))
    task = make(name)
    task.channel = attrs.evolve(BIT_CHANNEL, scrambler=scrambler)

    def interpreted(text: str, one: ConversationTask) -> str:
        return scrambler.scramble(ORACLES[name](scrambler.unscramble(text), one))

    for seed in range(3):
        talked = play(task, interpreted, seed)
        assert (talked.result, talked.paid) == (True, 1), (seed, talked)


@pytest.mark.parametrize("name", ORACLES)
def test_a_silent_learner_does_not_solve_it(name: str) -> None:
    task = make(name)
    talked = play(task, silent)
    assert task.metrics()["timed_out"]
    if task.id in SOLVED_BY_SILENCE:
        assert (talked.result, talked.paid) == (True, 1)
    else:
        assert not talked.result
        assert talked.paid == 0
    assert 0 <= talked.steps - task.conversation.max_time < 120


@pytest.mark.parametrize("name", ORACLES)
def test_a_seed_says_all(name: str) -> None:
    task = make(name)
    assert is_task(task)
    assert task.id == f"commai.{name}"
    first = play(make(name), ORACLES[name], 5)
    assert first == play(make(name), ORACLES[name], 5)
    assert make(name) is not task


def test_tasks_by_their_original_names() -> None:
    assert ORIGINAL_NAMES["tasks.competition.navigation.MovingTask"] == "commai.navigation.moving"
    for module in ("tasks.sample.sample_tasks", "tasks.sample_tasks"):
        assert ORIGINAL_NAMES[f"{module}.MovingTask"] == "commai.sample.moving"
    assert set(ORIGINAL_NAMES.values()) == set(COMMAI_CATALOG)


def test_tasks_may_share_a_world() -> None:
    world = GridWorld()
    turning, pick, letters = commai_tasks(
        ["commai.navigation.turning", "commai.navigation.pick_up", "commai.micro.repeat_1v1l"], world
    )
    assert turning.world is pick.world is world
    assert letters.world is None
    with pytest.raises(UsageError, match=r"turning"):
        commai_tasks(["commai.navigation.turnin"])


# --- wording -----------------------------------------------------------------------------------------------


def test_wording() -> None:
    assert [a(noun) for noun in ("apple", "pear", "onion", "yellow")] == [
        "an apple",
        "a pear",
        "an onion",
        "a yellow",
    ]
    assert [listed(list(items)) for items in ("a", "ab", "abc")] == ["a", "a and b", "a, b and c"]
    assert [plural("potato", count) for count in (0, 1, 2)] == ["potatos", "potato", "potatos"]
    assert [number_forms(value) for value in (0, 10, 11, -1)] == [
        ("0", "zero"),
        ("10", "ten"),
        ("11",),
        ("-1",),
    ]


def test_the_baskets() -> None:
    assert len(OBJECTS) == 13
    assert {owner: len(basket) for owner, basket in BASKETS.items()} == {"john": 11, "mary": 11}
    assert max(len(known) for basket in BASKETS.values() for known in basket.values()) < len(NUMBERS)
    assert set(properties("john")) | set(properties("mary")) == set(properties())
    assert owners("apple", "red") == ["mary"]


# --- repetition and counting -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "answer", "ending"),
    [
        ("repetition.repeat_character", "no.", r"\. +(wrong!|wrong\.|you failed!|incorrect\.) $"),
        ("repetition.repeat_multiple_times", "no.", r"correct answer is: (\w+ ?)+\. $"),
        ("repetition.verb", "no.", r"(wrong!|wrong\.|you failed!|incorrect\.) $"),
        ("counting.simple_counting", "2.", r"Wrong\. The right answer is: [a-z]+\. $"),
        ("micro.repeat_3v2l", "D.", r"wrong: [A-C]{1,2}\. $"),
        ("objects.existence_2", "yes.", r"Wrong\. I do (not )?have an? \w+\. $"),
    ],
)
def test_what_is_said_of_a_wrong_answer(name: str, answer: str, ending: str) -> None:
    for seed in range(5):
        talked = play(make(name), tells(answer), seed)
        assert (talked.result, talked.paid) == (False, 0)
        assert re.search(ending, talked.spoken), talked.spoken


@pytest.mark.parametrize("name", sorted(JUDGES_LATENESS))
def test_some_tasks_judge_lateness(name: str) -> None:
    assert play(make(name), silent).result is False


@pytest.mark.parametrize(
    "name", ["repetition.repeat_what_i_say", "micro.repeat_3v1l", "objects.count_properties"]
)
def test_anything_may_precede_an_answer(name: str) -> None:
    assert play(make(name), lambda *given: f"xx{ORACLES[name](*given)}").result is True


def test_nothing_may_precede_the_answer_to_a_choice() -> None:
    name = "repetition.repeat_disjunction"
    assert play(make(name), lambda *given: f"x{ORACLES[name](*given)}").result is False
    assert play(make(name), lambda *given: f"  {ORACLES[name](*given)}").result is True


def test_an_answer_begun_during_the_question_is_lost() -> None:
    task = make("repetition.repeat_what_i_say")
    task.reset(1)
    target = re.findall(r"(?:say|repeat) (.*)\.", f" {chr(task.reset(1))}{task.conversation.unsaid}")[0]
    unsaid = len(task.conversation.unsaid)
    reply = f"{target}.".rjust(unsaid + len(target))
    for char in reply:
        task.step(ord(char))
    assert not task.conversation.heard.endswith(f"{target}.")
    assert task.conversation.unsaid


def test_a_dot_into_the_question_is_an_answer() -> None:
    task = make("repetition.repeat_what_i_say")
    task.reset(0)
    unsaid = task.conversation.unsaid
    task.step(ord("."))
    assert task.conversation.unsaid.startswith(unsaid[1:])
    assert re.search(r"\.(wrong|you|incorrect)", task.conversation.unsaid)


def test_talking_breaks_the_silence() -> None:
    talked = play(make("repetition.be_silent"), tells("   x"))
    assert (talked.result, talked.paid) == (False, 0)
    assert talked.steps < 60


# --- objects -----------------------------------------------------------------------------------------------


def test_some_tasks_ask_again() -> None:
    task = make("objects.list_objects")
    oracle = ORACLES["objects.list_objects"]
    tries = iter(["none.", "apple pear."])
    talked = play(task, lambda text, one: next(tries, "") or oracle(text, one), 3)
    assert talked.result is True
    assert (
        len(re.findall("the right objects are: [a-z ]+. please try again. which objects are", talked.spoken))
        == 2
    )


def test_some_tasks_wait() -> None:
    task = make("objects.associate_property")
    talked = play(task, tells("none.", "nothing."))
    assert talked.result is None
    assert re.search(r"\?    +the right answer is: \w+\. $", talked.spoken)
    answers = iter(["none.", "nothing."])
    oracle = ORACLES["objects.associate_property"]
    question: list[str] = []

    def third_time_lucky(text: str, one: ConversationTask) -> str:
        question.append(text)
        return next(answers, "") or oracle(question[0], one)

    assert play(task, third_time_lucky).result is True


def test_the_game_goes_on_after_a_wrong_answer() -> None:
    talked = play(make("objects.existence_1"), tells("no!", "yes.", "no.", "yes.", "no."))
    assert talked.result is True
    assert re.search(r"Wrong, I do (not )?have (\w+)\. Do I have \2\?", talked.spoken)


# --- navigation --------------------------------------------------------------------------------------------


def test_the_last_word_is_the_worlds() -> None:
    talked = play(make("navigation.turning"), ORACLES["navigation.turning"])
    assert re.search(r"You turned (left|right), you are now facing (west|east)\. $", talked.spoken)


def test_the_last_word_may_be_the_teachers() -> None:
    talked = play(make("navigation.pick_up_in_front"), ORACLES["navigation.pick_up_in_front"])
    assert len(re.findall("You picked up", talked.spoken)) == 1


def test_looking_around_answers_twice() -> None:
    """Specification 5: the world's reply and the task's text are both said in byte mode."""
    talked = play(make("navigation.look_around"), tells("I look.", "I look.", "I move forward."))
    assert "There is nothing here.3 directions to go." in talked.spoken
    assert "There is nothing here.You already look here." in talked.spoken
    assert talked.spoken.endswith("You are not allowed to move. ")
    assert "You moved." not in talked.spoken
    assert talked.result is False


def test_looking_the_wrong_way_costs_nothing() -> None:
    oracle = ORACLES["navigation.look"]
    first: list[str] = []

    def hasty(text: str, task: ConversationTask) -> str:
        first.append(text)
        return "I look." if len(first) == 1 else oracle(first[0], task)

    talked = play(make("navigation.look"), hasty)
    assert talked.spoken.count("There is nothing here.") == 2
    assert talked.result is True


def test_lateness_in_the_world_is_not_judged() -> None:
    talked = play(make("navigation.moving"), silent)
    assert talked.result is None
    assert re.search(r"(time is out!|time out!) $", talked.spoken)


def test_giving_what_was_not_picked_up() -> None:
    task = make("navigation.pick_up_around_and_give")
    name = re.findall(r"There is an? (\w+)", chr(task.reset(0)) + task.conversation.unsaid)[0]
    world_of(task).start()
    task = make("navigation.pick_up_around_and_give")
    talked = play(task, tells(f"I give you a {name}."))
    assert f"You have to pick up the {name} first." in talked.spoken
    assert "You gave me" not in talked.spoken
    assert talked.result is None
    assert world_of(task).entities == {}
    assert world_of(task).accepted == set()
    assert world_of(task).learner_has[name] == -1


def test_what_was_put_down_may_be_cleared_away() -> None:
    for name in ("navigation.find_object_around", "sample.pick_an_apple"):
        task = make(name)
        task.reset(0)
        assert world_of(task).entities
        play(task, silent)
        assert world_of(task).entities == {}
        task.reset(0)
        task.reset(1)
        assert len(world_of(task).entities) in {2, 4}


def test_what_was_put_down_may_stay() -> None:
    task = make("navigation.pick_up")
    play(task, silent)
    assert len(world_of(task).entities) == 1


def test_counting_the_inventory_goes_on() -> None:
    talked = play(make("navigation.counting_inventory"), tells("zero.", "7.", "0."))
    assert talked.result is True
    assert re.search(r" You have 0 (\w+)s\.", talked.spoken)
    assert talked.spoken.endswith("Correct! ")


def test_counting_and_giving_fails_with_one_wrong_count() -> None:
    oracle = ORACLES["navigation.counting_inventory_giving"]
    task = make("navigation.counting_inventory_giving")
    wrong = iter(["nothing."])
    talked = play(task, lambda text, one: next(wrong, "") or oracle(text, one))
    assert talked.result is False
    assert re.search(r"Good! You gave me an? (\w+)\. How many \1s do you have now\?", talked.spoken)


@pytest.mark.parametrize("stage", range(4))
def test_counting_and_giving_may_stop_anywhere(stage: int) -> None:
    oracle = ORACLES["navigation.counting_inventory_giving"]
    answered = iter(range(stage))

    def tires(text: str, task: ConversationTask) -> str:
        return SILENT if next(answered, None) is None else oracle(text, task)

    talked = play(make("navigation.counting_inventory_giving"), tires)
    assert talked.result is None
    assert re.search(r"(time is out!|time out!) $", talked.spoken)


# --- guessing ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        ("guessing.guess_number", r"if you asked: .* number[.?], I would have said: (\d+)\. $"),
        (
            "guessing.guess_digits",
            r"if you asked: .* digit[.?], I would have said: \d\. the number is \d+\. $",
        ),
    ],
)
def test_a_number_that_nobody_asked_for_is_told(name: str, ending: str) -> None:
    assert re.search(ending, play(make(name), silent).spoken)


def test_digits_run_out() -> None:
    question = "please tell me the next digit."
    talked = play(make("guessing.guess_digits"), tells(*[question] * 7))
    assert re.search(r"the number has only (\d) digits\.", talked.spoken)
    assert "would have said" not in talked.spoken
    assert talked.spoken.endswith(". ")


def test_a_question_asked_into_the_opening_is_not_heard() -> None:
    task = make("guessing.guess_number")
    opening = chr(task.reset(0)) + task.conversation.unsaid
    question = "what is the number?"
    for char in question.ljust(len(opening)):
        result = task.step(ord(char))
    assert result.observation == SILENCE
    assert not task.conversation.heard.strip()


def test_pairs_last() -> None:
    """The same prime has the same target in every instance and in every task made."""
    name = "guessing.local_character_prime_target"
    primes = {play(make(name), ORACLES[name], seed).spoken[0] for seed in range(40)}
    assert len(primes) == 5


# --- samples -----------------------------------------------------------------------------------------------


def test_only_the_right_character_is_right() -> None:
    assert play(make("sample.repeating_character"), tells("!")).result is False


def test_the_loud_reply_is_not_interrupted() -> None:
    task = make("sample.conflicting_messages")
    loud = "I'm Heisenberg, you don't give me orders."
    assert play(task, tells("Say")).spoken.startswith(f"Say my name  {loud}     ")
    assert play(task, tells("my name")).spoken.count("Are you repeating everything I say?") == 1
    assert play(task, tells("Heisenberg")).spoken.endswith("You're Goddamn right. ")
    told = chr(task.reset(0))
    for char in "Say my name Heisenberg".ljust(60):
        result = task.step(ord(char))
        if result.terminated:
            break
        told += chr(result.observation)
    assert told == f"Say my name{loud} "
    assert (result.reward, task.result()) == (1, True)


def test_an_end_without_a_word_is_paid() -> None:
    talked = play(make("sample.yes_no"), ORACLES["sample.yes_no"])
    assert talked.spoken[-2:].strip(" yesno") in {"?", ""}
    assert talked.paid == 1
