"""The dialogue of mini-tasks 0 to 5, step by step, with and without a world."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, ClassVar

import pytest

from flagfall.kernel.channels.codecs import SILENCE
from flagfall.kernel.outcomes import StepResult
from flagfall.tasks.commai.catalog import CATALOG, make_catalog
from flagfall.tasks.commai.mini.descriptions import parse
from flagfall.tasks.commai.mini.task import CONGRATULATIONS, MINI_SETS, Example, MiniTask, WarmUp, any_of
from flagfall.tasks.commai.world import WorldSwitch
from flagfall.tasks.schedulers import SequentialTaskScheduler

if TYPE_CHECKING:
    from flagfall.tasks.commai.world import World

QUESTION = "description: AB and CF; verify: CFCF."
WRONG = "Wrong. The right answer is: false."


def task(
    world: World | None = None, *, max_time: int = 3000, fits: bool = False, fixes: bool = False
) -> MiniTask:
    example = Example("AB and CF", "CFCF", fits)
    return MiniTask("mini", lambda _: example, max_time=max_time, world=world, fixes=fixes)


def talk(mini: MiniTask, said: str, seed: int = 0) -> str:
    """What the teacher says from the start, while the learner says this; `|` where the instance ended."""
    told = chr(mini.reset(seed))
    for byte in said:
        result = mini.step(ord(byte))
        assert result.reward == (1 if result.terminated and mini.result() else 0)
        if result.terminated:
            return told + "|"
        told += chr(result.observation)
    return told


def quiet(text: str = QUESTION) -> str:
    """What a learner says that hears a text out and answers its last byte next."""
    return " " * (len(text) - 1)


def closing(told: str) -> str:
    return told.removeprefix(QUESTION)


# --- the dialogue ------------------------------------------------------------------------------------------


def test_the_example_of_the_specification() -> None:
    """Specification 8.1: the dot heard in step 36, ten bytes, a space in step 46, the reward in step 47."""
    example = Example("ABC", "AB", fits=False)
    mini = MiniTask("mini1", lambda _: example)
    question = "description: ABC; verify: AB."
    seed = next(seed for seed in range(99) if Random(seed).choice(CONGRATULATIONS) == b"nice work.")
    first = mini.reset(seed)
    told = [first, *(mini.step(SILENCE).observation for _ in question[1:])]
    assert bytes(told).decode() == question
    mini.step(SILENCE)
    mini.step(SILENCE)
    for byte in "false":
        assert mini.step(ord(byte)) == StepResult(SILENCE, 0)
    assert mini.num_steps_taken() == 35
    assert mini.step(ord(".")) == StepResult(ord("n"), 0)
    assert mini.num_steps_taken() == 36
    for byte in "ice work.":
        assert mini.step(SILENCE) == StepResult(ord(byte), 0)
    assert mini.step(ord("x")) == StepResult(SILENCE, 0)
    assert mini.num_steps_taken() == 46
    assert mini.result() is None
    assert mini.step(ord("x")) == StepResult(None, 1, terminated=True)
    assert mini.result() is True
    assert mini.cumulative_reward == 1


@pytest.mark.parametrize("before", ["", " ", "   ", "x", "blah ", "true", "\xff"])
def test_anything_may_come_before_a_right_answer(before: str) -> None:
    told = talk(task(), quiet() + before + "false." + " " * 30)
    silence = " " * (len(before) + 5)
    assert closing(told)[: len(silence)] == silence
    assert closing(told)[len(silence) :] in {f"{text.decode()} |" for text in CONGRATULATIONS}


@pytest.mark.parametrize("answer", ["true.", "False.", "false .", "alse.", ".", "fals.e."])
def test_wrong_answers(answer: str) -> None:
    mini = task()
    told = talk(mini, quiet() + answer + " " * 60)
    silence = " " * answer.index(".")
    assert closing(told) == f"{silence}{WRONG} |"
    assert mini.result() is False
    assert mini.cumulative_reward == 0


def test_the_other_answer() -> None:
    mini = task(fits=True)
    assert closing(talk(mini, quiet() + "false." + " " * 60)).strip() == "Wrong. The right answer is: true. |"
    talk(mini, quiet() + "true." + " " * 60)
    assert mini.result() is True


def test_all_congratulations_are_heard() -> None:
    endings = {closing(talk(task(), quiet() + "false." + " " * 30, seed)).strip(" |") for seed in range(60)}
    assert endings == {text.decode() for text in CONGRATULATIONS}


def test_talking_into_the_description_is_harmless_without_a_dot() -> None:
    mini = task()
    talk(mini, "x" * (len(QUESTION) - 1) + "false." + " " * 30)
    assert mini.result() is True


def test_an_answer_begun_before_the_end_of_the_description_is_lost() -> None:
    mini = task()
    talk(mini, quiet()[:-1] + "false." + " " * 60)
    assert mini.result() is False
    talk(mini, quiet() + "false." + " " * 60)
    assert mini.result() is True


@pytest.mark.parametrize("at", [0, 5, len(QUESTION) - 2])
@pytest.mark.parametrize("before", ["", "false"])
def test_a_dot_in_the_description_is_judged_at_once(at: int, before: str) -> None:
    mini = task()
    said = (" " * at + before)[-at:] if at else ""
    assert talk(mini, said + "." + "false." * 20) == f"{QUESTION}{WRONG} |"
    assert mini.result() is False


PRAISED = {text.decode() for text in CONGRATULATIONS}


@pytest.mark.parametrize("into", [".", "x.", " .   ..", "true.", "xxxfalse.false."])
def test_a_dot_said_into_the_congratulation_turns_success_into_failure(into: str) -> None:
    mini = task()
    told = talk(mini, quiet() + "false." + into + " " * 80)
    if len(into) > len("bravo."):  # the dot may come when all is said
        seed = next(seed for seed in range(99) if Random(seed).choice(CONGRATULATIONS) == b"congratulations.")
        told = talk(mini, quiet() + "false." + into + " " * 80, seed)
    assert closing(told).strip() in {f"{praise}{WRONG} |" for praise in PRAISED}
    assert mini.result() is False
    assert mini.cumulative_reward == 0


@pytest.mark.parametrize("late", range(-2, 2))
def test_the_last_reply_into_the_congratulation_is_dropped(late: int) -> None:
    """The reply to the last byte but one still counts; those to the last byte and to the separator do not."""
    seed = next(seed for seed in range(99) if Random(seed).choice(CONGRATULATIONS) == b"nice work.")
    mini = task()
    told = talk(mini, quiet() + "false." + " " * (len("nice work.") - 1 + late) + "." + " " * 80, seed)
    spoilt = late < 0
    assert closing(told).strip() == f"nice work.{WRONG if spoilt else ''} |"
    assert mini.result() is not spoilt


@pytest.mark.parametrize("into", [".", "x.", "true.", "false."])
def test_a_failure_stands(into: str) -> None:
    mini = task()
    assert closing(talk(mini, quiet() + "true." + into * 60)).strip() == f"{WRONG} |"
    assert mini.result() is False


@pytest.mark.parametrize("into", [".", "x.", "true.", "false."])
def test_with_fixes_the_result_stands_with_the_first_dot(into: str) -> None:
    mini = task(fixes=True)
    told = talk(mini, quiet() + "false." + into * 10 + " " * 10)
    assert closing(told).strip() in {f"{text.decode()} |" for text in CONGRATULATIONS}
    assert mini.result() is True
    told = talk(mini, quiet() + "true." + into * 60)
    assert closing(told).strip() == f"{WRONG} |"
    assert mini.result() is False


def test_a_silent_learner_fails_after_three_thousand_steps() -> None:
    mini = task()
    told = talk(mini, " " * 4000)
    assert told == QUESTION + " " * (3000 - len(QUESTION)) + WRONG + " |"
    assert mini.result() is False
    assert mini.metrics()["timed_out"] is True
    assert mini.metrics()["description"] == "AB and CF"


def test_the_answer_in_the_call_of_the_timeout_is_still_judged() -> None:
    """Both messages are said, and the result is success; a dot said into them undoes it."""
    limit = len(QUESTION) + 5
    mini = task(max_time=limit)
    told = closing(talk(mini, quiet() + "false." + " " * 80))
    assert told.strip() in {f"{WRONG}{praise} |" for praise in PRAISED}
    assert mini.result() is True
    assert mini.cumulative_reward == 1
    assert mini.metrics()["timed_out"] is True
    told = closing(talk(mini, quiet() + "false.   false." + " " * 90))
    assert told.strip() in {f"{WRONG}{praise}{WRONG} |" for praise in PRAISED}
    assert mini.result() is False


@pytest.mark.parametrize("said", ["falsex", "xtrue.", "     .", "      "])
def test_any_other_reply_in_the_call_of_the_timeout_changes_nothing(said: str) -> None:
    mini = task(max_time=len(QUESTION) + 5)
    assert closing(talk(mini, quiet() + said + "." * 60)) == " " * 5 + WRONG + " |"
    assert mini.result() is False


def test_the_world_hears_the_call_of_the_timeout_and_cannot_answer() -> None:
    world = Parrot()
    mini = task(world, max_time=len(QUESTION) + 1)
    assert closing(talk(mini, quiet() + "hi" + "x" * 60)) == " " + WRONG + " |"
    assert world.heard[len(QUESTION)] == quiet() + "hi"
    assert world.heard[len(QUESTION) + 1] == quiet() + "h x"


def test_with_fixes_the_answer_in_the_call_of_the_timeout_is_not_judged() -> None:
    limit = len(QUESTION) + 5
    mini = task(max_time=limit, fixes=True)
    assert closing(talk(mini, quiet() + "false." + " " * 60)) == " " * 5 + WRONG + " |"
    assert mini.result() is False
    mini = task(max_time=limit + 1, fixes=True)
    talk(mini, quiet() + "false." + " " * 60)
    assert mini.result() is True


def test_a_description_delays_the_timeout() -> None:
    mini = task(max_time=3)
    assert talk(mini, "false." * 40) == f"{QUESTION}{WRONG} |"
    mini = task(max_time=3)
    assert talk(mini, " " * 200) == f"{QUESTION}{WRONG} |"
    assert mini.metrics()["timed_out"] is True


# --- the world ---------------------------------------------------------------------------------------------


class Parrot:
    """A world that answers what ends with `!`, `hi` or `I look.`, and remembers what it heard."""

    ANSWERS: ClassVar = {"!": "no.", "hi": "yo!", "I look.": "There is nothing here."}

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.starts = 0

    def start(self) -> None:
        self.starts += 1

    def hear(self, heard: str) -> str | None:
        self.heard.append(heard)
        return (
            "There is nothing here." if heard.endswith("I look.") else "yo!" if heard.endswith("hi") else None
        )

    def render(self) -> str:
        return ""


def test_the_world_answers_before_the_task_judges() -> None:
    mini = task(Parrot())
    told = talk(mini, quiet() + "I look." + " " * 90)
    assert closing(told) == " " * 6 + "There is nothing here." + WRONG + " |"
    assert mini.result() is False


def test_the_world_does_not_speak_into_the_task() -> None:
    world = Parrot()
    assert talk(task(world), "hi!" + " " * 40) == QUESTION + " " * 7
    assert world.heard[:4] == ["h", " i", "  !", " " * 4]
    assert talk(task(world), "I look." + "!" * 90) == QUESTION + WRONG + " |"


def test_a_description_spoken_out_is_no_obstacle() -> None:
    world = Parrot()
    mini = task(world)
    told = talk(mini, quiet() + "hi" + "   false." + " " * 90)
    assert closing(told).startswith(" yo!")
    assert mini.result() is True
    assert world.heard[len(QUESTION) + 1] == quiet() + "h  "[:3]


def test_what_is_said_into_the_worlds_answer_is_blanked_and_a_dot_there_judged() -> None:
    mini = task(Parrot())
    assert (
        closing(talk(mini, quiet() + "hifalse." + " " * 90)) == " yo!" + " " * 3 + WRONG + " |"
    )  # heard `lse.`
    mini = task(Parrot())
    assert closing(talk(mini, quiet() + "hi." + " " * 90)) == " yo!" + WRONG + " |"


def test_the_world_listens_to_the_last_but_one_byte_of_the_closing_sentence() -> None:
    world = Parrot()
    told = talk(task(world), quiet() + "true." + "z" * 90)
    judged = len(quiet()) + 5
    assert len(world.heard) == judged + len(WRONG) - 1
    assert world.heard[-1] == quiet() + "true" + " " * (len(WRONG) - 1) + "z"
    assert told.endswith("|")


def test_the_timeout_waits_for_the_world() -> None:
    mini = task(Parrot(), max_time=len(QUESTION) + 2)
    assert closing(talk(mini, quiet() + "hi" + " " * 90)) == " yo!" + WRONG + " |"
    assert mini.metrics()["timed_out"] is True


def test_a_catalog_with_a_world_has_it_started_once() -> None:
    world = Parrot()
    catalog = make_catalog(world=world)
    switch = WorldSwitch(SequentialTaskScheduler([catalog["mini1"](), catalog["mini2"]()]))
    for _ in range(4):
        mini = switch.next_task()
        assert mini is not None
        mini.reset(0)
        mini.step(SILENCE)
    assert world.starts == 1
    assert len(world.heard) == 4


# --- examples ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task_id", [f"mini{n}" for n in range(6)])
def test_what_is_asked_is_what_is_meant(task_id: str) -> None:
    mini = CATALOG[task_id]()
    assert isinstance(mini, MiniTask)
    for seed in range(300):
        first = mini.reset(seed)
        description, string, fits = mini.example
        assert first == ord("d")
        assert parse(description).accepts(string) == fits or (description == "anything" and not string)


def test_every_example_of_mini5_is_one_of_the_four() -> None:
    rng = Random(0)
    examples = [any_of(rng, rows=tuple(MINI_SETS.values())) for _ in range(2000)]
    ors = sum(" or " in example.description for example in examples)
    barred = sum("not" in example.description for example in examples)
    assert ors / 2000 == pytest.approx(0.95 * 2 / 3 / 4, abs=0.03)
    # One, two or three runs, each barred with a chance of one half.
    assert barred / 2000 == pytest.approx((1 / 2 + 3 / 4 + 7 / 8) / 3 / 4, abs=0.03)


def test_items_come_in_any_order() -> None:
    rng = Random(0)
    ends = Counter(
        example.description.endswith("anything")
        for example in (any_of(rng, rows=[MINI_SETS["mini4"]]) for _ in range(1000))
        if "anything" in example.description and " and " in example.description
    )
    assert min(ends.values()) > 200


def test_mini0_keeps_a_description_for_ten_instances_and_grows() -> None:
    draw, rng = WarmUp(), Random(0)
    examples = [draw(rng) for _ in range(1400)]
    descriptions = [example.description for example in examples]
    for at in range(0, 1400, 10):
        assert len(set(descriptions[at : at + 10])) == 1
    assert len(set(descriptions[:1000])) == 26
    assert {len(text) for text in descriptions[:1010]} == {1}
    assert {len(text) for text in descriptions[1010:]} == {2}
    lengths = Counter((example.fits, len(example.string)) for example in examples[:1001])
    assert lengths.keys() == {(False, 1), (False, 2), (True, 2), (True, 3)}
    assert all(
        count == pytest.approx(250, abs=50) for count in lengths.values()
    )  # 243, 251, 252, 255 measured
    later = {(example.fits, len(example.string)) for example in examples[1001:]}
    assert {length for fits, length in later if fits} >= {4, 6}
    assert {length for fits, length in later if not fits} >= {2, 3, 4, 5}


def test_the_count_of_mini0_belongs_to_the_task() -> None:
    mini, other = CATALOG["mini0"](), CATALOG["mini0"]()
    assert isinstance(mini, MiniTask)
    assert isinstance(other, MiniTask)
    seen = []
    for seed in range(20):
        mini.reset(seed)
        seen.append(mini.example.description)
    assert len(set(seen[:10])) == len(set(seen[10:])) == 1
    other.reset(5)
    assert isinstance(other._make_example, WarmUp)
    assert other._make_example.instances == 1
